"""Repairs and searches, with judges, models, policies and observers that are written in Python."""

import asyncio
import gc
import json
import os
import tempfile
import threading
import unittest
import unittest.mock
import weakref
from pathlib import Path

import kernelgen
from support import KERNEL, TASK, FixedJudge, calls_end, code, fake_judge

BROKEN = kernelgen.Candidate("int kgen_run(void*, const kgen_run_args*) { return x; }\n")


class Model(kernelgen.LLMClient):
    """Answers with what a function says."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []

    def complete(self, request, stop):
        self.requests.append(request)
        return self.answer(request, stop)


class Waiting(kernelgen.LLMClient):
    """Never answers."""

    def __init__(self):
        self.began = threading.Event()

    def complete(self, request, stop):
        self.began.set()
        while not stop.wait(10):
            pass
        raise kernelgen.Cancelled("stopped")


class UntilCorrect(kernelgen.Policy):
    """Samples one after the other, until one is correct."""

    def __init__(self, limit=5):
        self.limit = limit
        self.facts = []

    def options(self):
        return {"limit": self.limit}

    def decide(self, history, facts):
        self.facts.append(facts)
        return self.next(history)

    def next(self, history):
        best = kernelgen.best_of(history)
        if best is not None:
            return kernelgen.Decision(best=best.action.id, finished=True, reason="a sample is correct")
        if len(history) == self.limit:
            return kernelgen.Decision(finished=True, reason="the limit was reached")
        return kernelgen.Decision([kernelgen.Action(f"sample{len(history) + 1}", instructions="Be brief.")])


class RepairTest(unittest.TestCase):
    def test_a_model_in_python_repairs_a_candidate(self):
        model = Model(lambda request, stop: code("fixed"))
        outcome = kernelgen.repair(TASK, BROKEN, model, FixedJudge())
        self.assertEqual((outcome.best, list(outcome.history)), ("start/repair1", ["start", "start/repair1"]))
        self.assertIsNone(outcome.error)
        self.assertIn("fixed", outcome.best_result.candidate.source)
        self.assertIn("was not declared", model.requests[0].prompt)
        self.assertEqual(model.requests[0].kind, "repair")

    def test_attempts_are_limited(self):
        model = Model(lambda request, stop: code(request.id))
        outcome = kernelgen.repair(TASK, BROKEN, model, FixedJudge(), max_attempts=2)
        self.assertEqual((outcome.best, len(model.requests)), ("", 2))

    def test_a_known_record_is_not_asked_for_again(self):
        judge = FixedJudge()
        record = judge.evaluate(TASK, BROKEN)
        kernelgen.repair(TASK, BROKEN, kernelgen.ScriptedLLMClient([code("fixed")]), judge, record=record)
        self.assertEqual(len(judge.sources), 2)

    def test_a_judge_of_the_library_serves_as_well(self):
        outcome = kernelgen.repair(TASK, KERNEL, kernelgen.ScriptedLLMClient([]), fake_judge())
        self.assertEqual(outcome.best, "start")

    def test_replies_may_have_tokens(self):
        reply = kernelgen.Reply(code("fixed"), input_tokens=100, output_tokens=10, model="m")
        progress = []

        class Observer(kernelgen.FlowObserver):
            def on_progress(self, found):
                progress.append(found)

        kernelgen.repair(TASK, BROKEN, kernelgen.ScriptedLLMClient([reply]), FixedJudge(), observer=Observer())
        self.assertEqual((progress[-1].tokens, progress[-1].requests), (110, 1))

    def test_an_outage_of_the_model_is_in_the_outcome(self):
        def answer(request, stop):
            raise kernelgen.Unavailable("the server is down")

        outcome = kernelgen.repair(TASK, BROKEN, Model(answer), FixedJudge())
        self.assertIsInstance(outcome.error, kernelgen.Pending)
        self.assertIn("the server is down", str(outcome.error))

    def test_texts_with_half_of_a_surrogate_pair_fail_in_order(self):
        def answer(request, stop):
            raise kernelgen.PermissionDenied("no \ud800")

        outcome = kernelgen.repair(TASK, BROKEN, Model(answer), FixedJudge())
        self.assertIsInstance(outcome.error, kernelgen.PermissionDenied)
        self.assertIn("no \\ud800", str(outcome.error))
        outcome = kernelgen.repair(TASK, BROKEN, Model(lambda request, stop: code("fixed \ud800")), FixedJudge())
        self.assertIn("// fixed \ufffd\n", outcome.best_result.candidate.source)

        class Named(UntilCorrect):
            def name(self):
                return "\ud800"

        class Optioned(UntilCorrect):
            def options(self):
                return {"a": "\ud800"}

        for policy in (Named(), Optioned()):
            with self.assertRaisesRegex(kernelgen.InvalidArgument, "surrogate"):
                kernelgen.run(TASK, kernelgen.ScriptedLLMClient([]), FixedJudge(), policy=policy)

    def test_a_refusal_of_the_model_is_in_the_outcome(self):
        def answer(request, stop):
            raise kernelgen.PermissionDenied("the key is not accepted")

        outcome = kernelgen.repair(TASK, BROKEN, Model(answer), FixedJudge())
        self.assertIsInstance(outcome.error, kernelgen.PermissionDenied)

    def test_an_exception_of_the_model_arrives_unchanged(self):
        mine = ZeroDivisionError("mine")

        def answer(request, stop):
            raise mine

        with self.assertRaises(ZeroDivisionError) as raised:
            kernelgen.repair(TASK, BROKEN, Model(answer), FixedJudge())
        self.assertIs(raised.exception, mine)

    def test_an_exception_of_the_judge_arrives_unchanged(self):
        class Judge(kernelgen.Benchmarker):
            def evaluate(self, *arguments, **options):
                raise LookupError("mine")

        with self.assertRaisesRegex(LookupError, "mine"):
            kernelgen.repair(TASK, BROKEN, kernelgen.ScriptedLLMClient([]), Judge())

    def test_wrong_types_are_named(self):
        with self.assertRaisesRegex(TypeError, "Reply or a text"):
            kernelgen.repair(TASK, BROKEN, Model(lambda request, stop: 3), FixedJudge())

    def test_a_reply_with_an_unknown_end_is_refused(self):
        model = Model(lambda request, stop: kernelgen.Reply("x", finish="tired"))
        outcome = kernelgen.repair(TASK, BROKEN, model, FixedJudge())
        self.assertIn("tired", str(outcome.error or outcome.history["start/repair1"].message))

    def test_a_negative_limit_is_refused(self):
        model = kernelgen.ScriptedLLMClient([])
        for limit in (-1, 0, float("nan"), float("inf")):
            with self.subTest(limit), self.assertRaisesRegex(kernelgen.InvalidArgument, "request_timeout"):
                kernelgen.repair(TASK, BROKEN, model, FixedJudge(), request_timeout=limit)
            with self.subTest(limit), self.assertRaisesRegex(kernelgen.InvalidArgument, "request_timeout"):
                kernelgen.run(TASK, model, FixedJudge(), request_timeout=limit)

    def test_awaited_and_cancelled(self):
        model = Waiting()

        async def begin_and_cancel():
            task = asyncio.create_task(kernelgen.repair_async(TASK, BROKEN, model, FixedJudge()))
            while not model.began.is_set():
                await asyncio.sleep(0.01)
            task.cancel()
            await task

        with self.assertRaises(asyncio.CancelledError):
            asyncio.run(begin_and_cancel())
        self.assertTrue(calls_end())

    def test_stopped_from_another_thread(self):
        judge = FixedJudge()
        for call in (lambda model, stop: kernelgen.repair(TASK, BROKEN, model, judge, stop=stop),
                     lambda model, stop: kernelgen.run(TASK, model, judge, policy=UntilCorrect(), stop=stop)):
            model, source = Waiting(), kernelgen.StopSource()
            stopper = threading.Thread(target=lambda: (model.began.wait(), source.request_stop()))
            stopper.start()
            with self.assertRaises(kernelgen.Cancelled):
                call(model, source.token)
            stopper.join()
            self.assertTrue(calls_end())
            # The source stays stopped: a later call asks nothing.
            model.began.clear()
            with self.assertRaisesRegex(kernelgen.Cancelled, "before it began"):
                call(model, source.token)
            self.assertFalse(model.began.is_set())

    def test_one_source_stops_several_calls_and_no_other(self):
        source, model, other = kernelgen.StopSource(), Waiting(), kernelgen.StopSource()
        ended = []

        def search():
            try:
                kernelgen.repair(TASK, BROKEN, model, FixedJudge(), stop=source.token)
            except kernelgen.Cancelled as error:
                ended.append(error)

        searches = [threading.Thread(target=search) for _ in range(3)]
        for thread in searches:
            thread.start()
        model.began.wait()
        source.request_stop()
        source.request_stop()
        for thread in searches:
            thread.join()
        self.assertEqual(len(ended), 3)
        self.assertTrue(source.token.stop_requested)
        outcome = kernelgen.repair(TASK, BROKEN, Model(lambda request, stop: code("fixed")), FixedJudge(),
                                   stop=other.token)
        self.assertEqual(outcome.best, "start/repair1")

    def test_a_token_of_a_callback_stops_calls_inside_it(self):
        """What a judge of Python asks of another one ends with the search around it."""
        inner = Waiting()

        class Asking(kernelgen.Benchmarker):
            def evaluate(self, task, candidate, options=None, *, progress=None, stop=None):
                kernelgen.repair(TASK, BROKEN, inner, FixedJudge(), stop=stop)

        source = kernelgen.StopSource()
        threading.Thread(target=lambda: (inner.began.wait(), source.request_stop())).start()
        with self.assertRaises(kernelgen.Cancelled):
            kernelgen.repair(TASK, BROKEN, Model(lambda request, stop: code("fixed")), Asking(), stop=source.token)
        self.assertTrue(calls_end())

    def test_nothing_is_kept_after_an_exception(self):
        judge, model = FixedJudge(), Model(lambda request, stop: 1 / 0)
        kept = [weakref.ref(judge), weakref.ref(model)]
        with self.assertRaises(ZeroDivisionError):
            kernelgen.repair(TASK, BROKEN, model, judge)
        del judge, model
        self.assertTrue(calls_end())
        fake_judge().evaluate(TASK, KERNEL)
        gc.collect()
        self.assertEqual([reference() for reference in kept], [None, None])


class RunTest(unittest.TestCase):
    def test_a_policy_in_python_searches(self):
        policy = UntilCorrect()
        model = Model(lambda request, stop: code("fixed" if "sample3" in request.id else request.id))
        outcome = kernelgen.run(TASK, model, FixedJudge(), policy=policy)
        self.assertEqual((outcome.best, outcome.reason), ("sample3", "a sample is correct"))
        self.assertEqual(len(outcome.history), 3)
        self.assertIn("Be brief.", model.requests[0].prompt)
        self.assertEqual((policy.facts[0].target, policy.facts[0].task.name), ("cpp", "relu"))

    def test_every_policy_of_the_library_searches(self):
        policies = (kernelgen.HybridPolicy(seeds=1), kernelgen.EvolvePolicy(islands=1, generations=1), "hybrid",
                    "evolve", kernelgen.ReflectPolicy(attempts=1), kernelgen.RoundsPolicy(rounds=1), kernelgen.OneShotPolicy(2))
        for policy in policies:
            with self.subTest(str(policy)):
                model = Model(lambda request, stop: code(f"fixed {request.id}"))
                outcome = kernelgen.run(TASK, model, FixedJudge(), policy=policy, budget=kernelgen.Budget(requests=4))
                self.assertTrue(outcome.best)
                self.assertLessEqual(len(model.requests), 4)

    def test_a_kernel_to_start_from(self):
        model = Model(lambda request, stop: "no idea")
        outcome = kernelgen.run(TASK, model, FixedJudge(), policy=kernelgen.HybridPolicy(seeds=0, has_start=True),
                                start=kernelgen.Candidate("// fixed"), budget=kernelgen.Budget(requests=2))
        self.assertEqual(outcome.best, "start")

    def test_a_search_is_journaled_and_resumed(self):
        with tempfile.TemporaryDirectory() as directory:
            # A check of the winner would be one more event at the end.
            arguments = {"policy": UntilCorrect(), "directory": directory, "sanitize_winner": False}

            def fail(request, stop):
                raise kernelgen.Unavailable("the server is down")

            with self.assertRaisesRegex(kernelgen.Pending, "the server is down"):
                kernelgen.run(TASK, Model(fail), FixedJudge(), **arguments)
            model = Model(lambda request, stop: code("fixed"))
            outcome = kernelgen.run(TASK, model, FixedJudge(), **arguments)
            self.assertEqual((outcome.best, len(model.requests)), ("sample1", 1))
            types = [event.type for event in kernelgen.read_journal(directory)]
            self.assertEqual((types[0], types[-1]), ("run_started", "run_finished"))
            self.assertIn("run_resumed", types)
            self.assertEqual(kernelgen.read_history(directory), outcome.history)
            with self.assertRaisesRegex(kernelgen.InvalidArgument, "limit"):
                kernelgen.run(TASK, model, FixedJudge(), policy=UntilCorrect(7), directory=directory)

    def test_an_exception_of_the_policy_leaves_a_search_that_goes_on(self):
        class Failing(UntilCorrect):
            fails = True

            def name(self):
                return "UntilCorrect"

            def next(self, history):
                if history and self.fails:
                    raise ArithmeticError("mine")
                return super().next(history)

        model = Model(lambda request, stop: code("fixed" if "sample2" in request.id else "first"))
        with tempfile.TemporaryDirectory() as directory:
            policy = Failing()
            with self.assertRaisesRegex(ArithmeticError, "mine"):
                kernelgen.run(TASK, model, FixedJudge(), policy=policy, directory=directory)
            policy.fails = False
            outcome = kernelgen.run(TASK, model, FixedJudge(), policy=policy, directory=directory)
            self.assertEqual((outcome.best, len(model.requests)), ("sample2", 2))

    def test_impossible_decisions_are_refused(self):
        class Wrong(kernelgen.Policy):
            def __init__(self, decision):
                self.decision = decision

            def next(self, history):
                return self.decision

        cases = (
            (TypeError, "not a Decision", None), (TypeError, "not an Action", kernelgen.Decision(["sample1"])),
            (kernelgen.InvalidArgument, "no-such", kernelgen.Decision(best="no-such", finished=True)),
            (kernelgen.InvalidArgument, "poem", kernelgen.Decision([kernelgen.Action("a", "poem")])),
            (kernelgen.Internal, "returned no action", kernelgen.Decision()))
        for kind, text, decision in cases:
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                kernelgen.run(TASK, kernelgen.ScriptedLLMClient([]), FixedJudge(), policy=Wrong(decision))

    def test_exceptions_of_an_observer_arrive_unchanged(self):
        model = kernelgen.ScriptedLLMClient(lambda request: code("fixed"))
        for method in ("on_event", "on_evaluation_step", "on_progress"):
            def fail(self, *arguments):
                raise BufferError(method)

            observer = type("Observer", (kernelgen.FlowObserver,), {method: fail})()
            with self.subTest(method), self.assertRaisesRegex(BufferError, method):
                kernelgen.run(TASK, model, FixedJudge(), policy=UntilCorrect(), observer=observer)

    def test_an_observer_learns_what_happens(self):
        class Observer(kernelgen.FlowObserver):
            def __init__(self):
                self.events, self.steps = [], []

            def on_event(self, event):
                self.events.append(event)

            def on_evaluation_step(self, action_id, phase, detail):
                self.steps.append((action_id, phase))

        observer = Observer()
        kernelgen.run(TASK, Model(lambda request, stop: code("fixed")), FixedJudge(), policy=UntilCorrect(),
                      observer=observer, sanitize_winner=False)
        self.assertIn("reply_arrived", [event.type for event in observer.events])
        self.assertEqual(observer.steps, [("sample1", "compile")])

    def test_impossible_arguments_are_refused(self):
        def run(**arguments):
            return kernelgen.run(TASK, kernelgen.ScriptedLLMClient([]), FixedJudge(), **arguments)

        for kind, text, arguments in (
                (kernelgen.InvalidArgument, "budget", {"budget": kernelgen.Budget(requests=-1)}),
                (kernelgen.InvalidArgument, "budget", {"budget": kernelgen.Budget(time=-2)}),
                (kernelgen.InvalidArgument, "luck", {"policy": "luck"}),
                (kernelgen.InvalidArgument, "fortran", {"target": "fortran"}),
                (kernelgen.InvalidArgument, "call_timeout", {"options": kernelgen.EvaluationOptions(call_timeout=-1)})):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                run(**arguments)

    def test_a_missing_journal_is_not_found(self):
        with self.assertRaises(kernelgen.NotFound):
            kernelgen.read_journal("no/such/run")

    def test_awaited(self):
        model = Model(lambda request, stop: code("fixed"))
        outcome = asyncio.run(kernelgen.run_async(TASK, model, FixedJudge(), policy=UntilCorrect()))
        self.assertEqual(outcome.best, "sample1")

    def test_long_histories_are_converted_once(self):
        class Counting(kernelgen.Policy):
            def __init__(self):
                self.seen = {}
                self.repeated = 0

            def next(self, history):
                for id, result in history.items():
                    if id in self.seen and self.seen[id] is not result:
                        self.repeated += 1
                    self.seen[id] = result
                if len(history) == 60:
                    return kernelgen.Decision(best=kernelgen.best_of(history).action.id, finished=True, reason="enough")
                return kernelgen.Decision([kernelgen.Action(f"s{len(history):03}")])

        policy = Counting()
        kernelgen.run(TASK, Model(lambda request, stop: code(f"fixed {request.id}")), FixedJudge(), policy=policy)
        self.assertEqual((len(policy.seen), policy.repeated), (60, 0))


class AuditTest(unittest.TestCase):
    def folder(self, claims):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = Path(directory.name)
        path.joinpath("right.cpp").write_text("// fixed\n", encoding="utf-8")
        path.joinpath("wrong.cpp").write_text("// broken\n", encoding="utf-8")
        path.joinpath("claims.json").write_text(json.dumps(claims), encoding="utf-8")
        return path

    def test_claims_are_compared_with_what_a_judge_finds(self):
        folder, steps = self.folder({"wrong.cpp": {"correct": True}}), []
        report = kernelgen.audit([folder], FixedJudge(), task=TASK.path, times=2, progress=steps.append)
        verdicts = {Path(finding.name).name: finding.verdict for finding in report.findings}
        self.assertEqual(verdicts, {"right.cpp": "no claim", "wrong.cpp": "wrong"})
        self.assertEqual((report.counts["wrong"], report.times), (1, 2))
        self.assertEqual(report.findings[1].measurement.failure, "compile:undeclared_identifier")
        self.assertEqual(steps[-1].over, steps[-1].planned)

    def test_records_are_kept_and_used_again(self):
        folder, judge = self.folder({}), FixedJudge()
        records = folder / "records"
        for _ in range(2):
            asyncio.run(kernelgen.audit_async([folder], judge, task=TASK.path, times=1, records_directory=records))
        self.assertEqual(len(judge.sources), 2)

    def test_an_exception_of_the_progress_arrives_unchanged(self):
        def fail(step):
            raise BufferError("mine")

        with self.assertRaisesRegex(BufferError, "mine"):
            kernelgen.audit([self.folder({})], FixedJudge(), task=TASK.path, progress=fail)

    def test_what_cannot_be_audited_is_refused(self):
        with self.assertRaises(kernelgen.NotFound):
            kernelgen.audit(["no/such/folder"], FixedJudge())
        for arguments in ({"times": 0}, {"parallel": 0}, {"margin": -1}):
            with self.subTest(str(arguments)), self.assertRaises(kernelgen.InvalidArgument):
                kernelgen.audit([self.folder({})], FixedJudge(), task=TASK.path, **arguments)


class ModelTest(unittest.TestCase):
    def test_a_client_of_the_library_is_opened_by_its_text(self):
        model = kernelgen.open_model("command:cat")
        self.assertEqual(model.complete("hello").text, "hello")
        self.assertIn("cat", model.identity())
        self.assertEqual(asyncio.run(model.complete_async("hello")).text, "hello")

    def test_unknown_models_are_refused_with_the_known_forms(self):
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "command:"):
            kernelgen.open_model("oracle")

    def test_a_key_that_is_missing_is_named(self):
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("OPENAI_API_KEY", None)
            with self.assertRaisesRegex(kernelgen.MissingTool, "OPENAI_API_KEY"):
                kernelgen.open_model("openai:gpt-5")

    def test_a_negative_limit_is_refused(self):
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "timeout"):
            kernelgen.open_model("command:cat").complete(kernelgen.Request("hello", timeout=-1))

    def test_a_request_that_takes_too_long_is_a_timeout(self):
        with self.assertRaises(TimeoutError):
            kernelgen.open_model("command:sleep 20").complete(kernelgen.Request("hello", timeout=0.1))

    def test_a_program_that_fails_is_an_error(self):
        with self.assertRaises(kernelgen.Error):
            kernelgen.open_model("command:false").complete("hello")

    def test_a_client_of_the_library_answers_in_a_search(self):
        with tempfile.TemporaryDirectory() as directory:
            reply = Path(directory) / "reply"
            reply.write_text(code("fixed"), encoding="utf-8")
            outcome = kernelgen.repair(TASK, BROKEN, kernelgen.open_model(f"command:cat {reply}"), FixedJudge())
        self.assertEqual(outcome.best, "start/repair1")

    def test_a_script_that_is_used_up_is_an_outage(self):
        with self.assertRaises(kernelgen.Unavailable):
            kernelgen.ScriptedLLMClient([]).complete(kernelgen.Request("hello"), None)


if __name__ == "__main__":
    unittest.main()
