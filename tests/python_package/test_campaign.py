"""Campaigns, prices, and selections of tasks."""

import asyncio
import importlib.util
import json
import math
import os
import subprocess
import tempfile
import threading
import unittest
import unittest.mock
import warnings
from pathlib import Path

import kernelgen
from kernelgen.options import plain
from support import KGEN, ROOT, TASK, FixedJudge, WaitingJudge, calls_end, code, fake_judge

TASKS = [TASK, kernelgen.Task("other", TASK.text + "# another\n")]
PRICES = kernelgen.Prices(2.0, 10.0)
ONE = kernelgen.OneShotPolicy(samples=1)
HAS_GPU = any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/kfd"))


class Model(kernelgen.LLMClient):
    """Answers what works; each reply has 100 + 10 tokens."""

    def __init__(self, name="m", terms=kernelgen.ModelTerms()):
        self.name = name
        self.known = terms
        self.requests = []

    def complete(self, request, stop):
        self.requests.append(request)
        return kernelgen.Reply(code("fixed"), input_tokens=100, output_tokens=10)

    def identity(self):
        return f"test {self.name}"

    def terms(self, kind):
        return self.known


class CampaignTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def run_campaign(self, models, judge=None, tasks=TASKS, **arguments):
        return kernelgen.campaign(tasks, models, judge or FixedJudge(),
                                  **{"directory": self.directory, "policy": ONE, **arguments})

    def test_every_task_has_a_run(self):
        outcome = self.run_campaign(Model())
        self.assertEqual([(run.name, run.status, run.best) for run in outcome.runs],
                         [("relu", "partial", "sample1"), ("other", "partial", "sample1")])
        self.assertEqual(outcome.counts, {"partial": 2})
        self.assertEqual((outcome.spent.requests, outcome.spent.tokens, outcome.spent.evaluations), (2, 220, 2))
        self.assertTrue(all(run.is_over and run.error is None for run in outcome.runs))
        history = kernelgen.read_history(outcome.runs[0].directory)
        self.assertIn("fixed", history["sample1"].candidate.source)

    def test_every_target_and_model_has_a_run(self):
        outcome = self.run_campaign([Model("a"), Model("b")], tasks=[TASK], targets=["cpp", "torch", "cpp"], name="x")
        self.assertEqual([run.name for run in outcome.runs],
                         ["relu/x-cpp-a", "relu/x-cpp-b", "relu/x-torch-a", "relu/x-torch-b"])
        self.assertEqual({(run.target, run.model) for run in outcome.runs},
                         {(target, f"test {model}") for target in ("cpp", "torch") for model in "ab"})

    def test_directories_are_those_of_kgen(self):
        self.run_campaign(Model(), name="first")
        self.assertTrue((self.directory / "relu/first/events.jsonl").exists(),
                        list(self.directory.rglob("*")))
        plan = json.loads((self.directory / "campaign.json").read_text())
        self.assertEqual([run["name"] for run in plan["runs"]], ["relu/first", "other/first"])

    def test_what_is_over_is_not_asked_again(self):
        self.run_campaign(Model())
        model = Model()
        outcome = self.run_campaign(model)
        self.assertEqual((outcome.counts, model.requests), ({"partial": 2}, []))

    def test_a_campaign_goes_on_from_its_journals(self):
        class Down(Model):
            def complete(self, request, stop):
                if request.id.startswith("other"):
                    raise kernelgen.Unavailable("the server is down")
                return super().complete(request, stop)

        outcome = self.run_campaign(Down())
        self.assertEqual([run.status for run in outcome.runs], ["partial", "paused"])
        self.assertIn("the server is down", outcome.runs[1].reason)
        model = Model()
        outcome = self.run_campaign(model)
        self.assertEqual(([run.status for run in outcome.runs], len(model.requests)), (["partial", "partial"], 1))

    def test_failed_runs_begin_anew_on_request(self):
        wrong = Model()
        wrong.complete = lambda request, stop: code("wrong")
        self.assertEqual(self.run_campaign(wrong).counts, {"failed": 2})
        self.assertEqual(self.run_campaign(Model()).counts, {"failed": 2})
        self.assertEqual(self.run_campaign(Model(), retry="failed").counts, {"partial": 2})

    def test_a_failure_of_one_run_is_its_own(self):
        class Judge(FixedJudge):
            def evaluate(self, task, *arguments, **options):
                if task.name == "other":
                    raise kernelgen.InvalidTask("it cannot be used")
                return super().evaluate(task, *arguments, **options)

        outcome = self.run_campaign(Model(), Judge())
        self.assertEqual([run.is_over for run in outcome.runs], [True, False], outcome)
        self.assertEqual(outcome.runs[1].status, "error")
        self.assertIsInstance(outcome.runs[1].error, kernelgen.InvalidTask)

    def test_requests_are_limited(self):
        outcome = self.run_campaign(Model(), limits=kernelgen.CampaignLimits(requests=1), parallel_runs=1)
        self.assertEqual([run.status for run in outcome.runs], ["partial", "budget exhausted"])

    def test_cost_is_counted_and_limited(self):
        search = kernelgen.SearchOptions(prices=PRICES, max_output_tokens=1000)
        outcome = self.run_campaign(Model(), search=search, limits=kernelgen.CampaignLimits(cost=10.0))
        self.assertAlmostEqual(outcome.spent.cost, 2 * (100 * 2 + 10 * 10) / 1e6)
        self.assertAlmostEqual(outcome.runs[0].spent.cost, (100 * 2 + 10 * 10) / 1e6)
        outcome = self.run_campaign(Model(), search=search, limits=kernelgen.CampaignLimits(cost=0.0), name="poor")
        self.assertEqual(outcome.counts, {"budget exhausted": 2})

    def test_a_model_may_know_its_prices(self):
        model = Model(terms=kernelgen.ModelTerms(PRICES, 500))
        outcome = self.run_campaign(model, limits=kernelgen.CampaignLimits(cost=10.0))
        self.assertAlmostEqual(outcome.spent.cost, 2 * (100 * 2 + 10 * 10) / 1e6)
        self.assertEqual({request.max_output_tokens for request in model.requests}, {500})

    def test_limits_need_what_they_count_with(self):
        for limits, search, text in (
                (kernelgen.CampaignLimits(cost=1.0), {}, "a limit of cost needs option prices"),
                (kernelgen.CampaignLimits(cost=1.0), {"prices": PRICES}, "max_output_tokens"),
                (kernelgen.CampaignLimits(tokens=100), {}, "max_output_tokens"),
                (kernelgen.CampaignLimits(requests=-1), {}, "negative limit"),
                (kernelgen.CampaignLimits(cost=math.nan), {"prices": PRICES}, "limits has .* no number"),
                (kernelgen.CampaignLimits(time=math.nan), {}, "limits.time"),
                (kernelgen.CampaignLimits(), {"budget": kernelgen.Budget(cost=math.nan), "prices": PRICES}, "budget"),
                (kernelgen.CampaignLimits(), {"prices": kernelgen.Prices(-1.0, 1.0)}, "per_million_input")):
            with self.subTest(text), self.assertRaisesRegex(kernelgen.InvalidArgument, text):
                self.run_campaign(Model(), limits=limits, search=kernelgen.SearchOptions(**search))

    def test_impossible_campaigns_are_refused(self):
        for text, arguments in (("two models", {"models": [Model("a"), Model("a")]}), ("retry", {"retry": "some"}),
                                ("order", {"order": "random"}), ("parallel_runs", {"parallel_runs": 0}),
                                ("target", {"targets": ["fortran"]}), ("", {"tasks": [TASK, TASK]}),
                                ("letters", {"name": "../up"})):
            with self.subTest(text), self.assertRaisesRegex(kernelgen.InvalidArgument, text):
                self.run_campaign(**{"models": Model(), **arguments})

    def test_natural_mistakes_are_told_with_what_to_do(self):
        class Watch(kernelgen.FlowObserver):
            pass

        invalid = kernelgen.InvalidArgument
        for kind, text, arguments in (
                (TypeError, r'give open_model\("openai:gpt-5"\)|give open_model\(.openai:gpt-5.\)',
                 {"models": "openai:gpt-5"}),
                (TypeError, "open_model", {"models": ["openai:gpt-5"]}),
                (TypeError, "give an object of an LLMClient", {"models": [Model]}),
                (TypeError, r"give search=SearchOptions\(prices=...\)", {"prices": PRICES}),
                (TypeError, r"is the class OneShotPolicy; give an object: OneShotPolicy\(\)",
                 {"policy": kernelgen.OneShotPolicy}),
                (TypeError, "option policy is dict", {"policy": {}}),
                (TypeError, "option observer is Watch; give an object of a CampaignObserver", {"observer": Watch()}),
                (TypeError, r"option limits is dict; give CampaignLimits\(...\)", {"limits": {"cost": 1.0}}),
                (TypeError, r"option search is EvaluationOptions; give SearchOptions\(...\)",
                 {"search": kernelgen.EvaluationOptions()}),
                (TypeError, "option search.budget is dict", {"search": kernelgen.SearchOptions(budget={})}),
                (TypeError, "option judge is str", {"judge": "results"}),
                (invalid, "option tasks is empty", {"tasks": []}), (invalid, "option models is empty", {"models": []}),
                (invalid, "option targets is empty", {"targets": []}),
                (invalid, "option directory is empty", {"directory": ""})):
            with self.subTest(text), self.assertRaisesRegex(kind, text) as raised:
                self.run_campaign(**{"models": Model(), **arguments})
            self.assertNotIn("\n", str(raised.exception))

    def test_a_single_task_and_a_single_target_are_a_list_of_one(self):
        outcome = self.run_campaign(Model(), tasks=TASK, targets="cpp")
        self.assertEqual([(run.name, run.target) for run in outcome.runs], [("relu", "cpp")])
        outcome = self.run_campaign(Model(), tasks=ROOT / "examples/tasks/relu.py", name="path")
        self.assertEqual([run.name for run in outcome.runs], ["relu/path"])

    def test_options_beyond_their_ranges_are_refused(self):
        for name, value in (("max_output_tokens", -5), ("max_output_tokens", 0), ("max_prompt_tokens", 0),
                            ("parallel_requests", 0), ("parallel_requests", 257), ("parallel_evaluations", -1),
                            ("parallel_evaluations", 0), ("goal", math.nan), ("goal", -1.0)):
            with self.subTest(name, value=value), \
                    self.assertRaisesRegex(kernelgen.InvalidArgument, f"option {name} is"):
                self.run_campaign(Model(), search=kernelgen.SearchOptions(**{name: value}))

    @unittest.skipIf(HAS_GPU, "this machine has a GPU")
    def test_a_missing_gpu_is_noticed_before_the_first_request(self):
        model = Model()
        with kernelgen.open_local_judge() as judge:
            with self.assertRaisesRegex(kernelgen.MissingDevice, "target cuda needs a GPU"):
                self.run_campaign(model, judge, targets=["cuda"])
            with self.assertRaisesRegex(kernelgen.MissingDevice, "target cuda needs a GPU"):
                kernelgen.run(TASK, model, judge, target="cuda", policy=ONE)
        self.assertEqual(model.requests, [])
        # Elsewhere there may be one.
        self.assertEqual(self.run_campaign(model, tasks=[TASK], targets=["cuda"]).counts, {"partial": 1})

    def test_profiles_are_a_part_of_the_policy(self):
        # Only a judge of the library takes profiles. This one cannot judge, but the journal begins before that.
        judge = kernelgen.open_local_judge(python="/bin/false")
        self.addCleanup(judge.close)
        policies = (kernelgen.HybridPolicy(early_exit=True), "evolve", "reflect", kernelgen.RoundsPolicy(rounds=1))
        for number, policy in enumerate(policies):
            for profiles, use in ((True, "before the next prompt"), (False, "never")):
                outcome = self.run_campaign(
                    Model(), judge, tasks=[TASK], policy=policy, name=f"p{number}-{profiles}",
                    search=kernelgen.SearchOptions(profiles=profiles))
                options = self.options_of(outcome.runs[0])
                with self.subTest(str(policy), profiles=profiles):
                    self.assertEqual(options["policy.profiles"], use)
                    self.assertEqual(options.get("policy.early_exit", "yes"), "yes")

    def test_policies_take_the_goal_and_the_strategies_of_kgen(self):
        search = kernelgen.SearchOptions(goal=3.0, budget=kernelgen.Budget(requests=1))
        outcome = self.run_campaign(Model(), tasks=[TASK], policy="reflect", search=search, name="reflect")
        self.assertEqual(float(self.options_of(outcome.runs[0])["policy.stop_score"]), 3.0)
        outcome = self.run_campaign(Model(), tasks=[TASK], policy="rounds", search=search, name="rounds")
        self.assertTrue(self.options_of(outcome.runs[0])["policy.strategy"])
        outcome = self.run_campaign(Model(), tasks=[TASK], policy=kernelgen.RoundsPolicy(strategy=""), search=search,
                                    name="without")
        self.assertFalse(self.options_of(outcome.runs[0])["policy.strategy"])

    def options_of(self, run):
        with open(Path(run.directory) / "events.jsonl", encoding="utf-8") as journal:
            return dict(json.loads(journal.readline())["options"])

    @unittest.skipUnless(importlib.util.find_spec("torch"), "the judge of kgen needs torch")
    def test_kgen_batch_goes_on_with_what_python_began(self):
        program = self.directory / "answer.sh"
        program.write_text("#!/bin/sh\ncat > /dev/null\nprintf '```cpp\\nint kgen_run(x\\n```\\n'\n")
        program.chmod(0o755)
        results, spec = self.directory / "results", f"command:{program}"
        for name, policy in (("rounds", kernelgen.RoundsPolicy(rounds=2)),
                             ("reflect", kernelgen.ReflectPolicy(samples=1)), ("one-shot", kernelgen.OneShotPolicy())):
            with self.subTest(name):
                outcome = kernelgen.campaign(
                    ROOT / "examples/tasks/relu.py", kernelgen.open_model(spec), FixedJudge(), directory=results,
                    policy=policy, name=name, limits=kernelgen.CampaignLimits(requests=1))
                self.assertEqual(outcome.counts, {"budget exhausted": 1}, outcome)
                rest = {"rounds": ["--rounds", "2"], "reflect": ["--samples", "1"]}.get(name, [])
                ended = subprocess.run(
                    [*KGEN, "batch", str(ROOT / "examples/tasks/relu.py"), "--target", "cpp", "--llm", spec,
                     "--results", str(results), "--name", name, "--policy", name, *rest, "--json"],
                    capture_output=True, text=True, timeout=120)
                run = json.loads(ended.stdout)["runs"][0]
                self.assertEqual(run["status"], "failed", ended.stdout + ended.stderr)
                events = [event.type for event in kernelgen.read_journal(results / "relu" / name)]
                self.assertIn("run_resumed", events)
                self.assertGreater(len(kernelgen.read_history(results / "relu" / name)), 1)

    def test_a_call_waits_for_one_that_is_ending(self):
        class Slow(WaitingJudge):
            def evaluate(self, *arguments, stop=None, **options):
                try:
                    return super().evaluate(*arguments, stop=stop, **options)
                finally:
                    free.wait(20)

        async def cancel_one():
            running = asyncio.create_task(kernelgen.campaign_async(
                TASKS, Model(), judge, directory=self.directory, policy=ONE))
            await asyncio.to_thread(judge.began.wait, 20)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running

        async def give_up():
            waiting = asyncio.create_task(kernelgen.campaign_async(
                TASKS, Model(), FixedJudge(), directory=self.directory, policy=ONE))
            await asyncio.sleep(0.2)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting

        free, judge = threading.Event(), Slow()
        asyncio.run(cancel_one())
        asyncio.run(give_up())
        timer = threading.Timer(0.5, free.set)
        timer.start()
        self.assertEqual(self.run_campaign(Model()).counts, {"partial": 2})
        timer.join()
        self.assertTrue(calls_end())

    def test_an_observer_sees_what_happens(self):
        seen = []

        class Observer(kernelgen.CampaignObserver):
            def on_run_started(self, run):
                seen.append(("started", run.name, run.status))

            def on_attempt(self, run, result):
                seen.append(("attempt", run.name, result.action.id, result.correct))

            def on_better_kernel(self, run):
                seen.append(("better", run.name, run.best))

            def on_run_ended(self, run):
                seen.append(("ended", run.name, run.status))

            def on_progress(self, spent, used_fraction):
                used.append((spent.requests, used_fraction))

            def on_budget_warning(self):
                seen.append("warning")

        used = []
        # A check of the winner would be one more attempt.
        self.run_campaign(Model(), tasks=[TASK], observer=Observer(), limits=kernelgen.CampaignLimits(requests=1),
                          search=kernelgen.SearchOptions(sanitize_winner=False))
        self.assertEqual([one for one in seen if one != "warning"], [
            ("started", "relu", "running"), ("attempt", "relu", "sample1", True), ("better", "relu", "sample1"),
            ("ended", "relu", "partial")])
        self.assertIn("warning", seen)
        self.assertEqual(used[-1], (1, 1.0))

    def test_an_exception_of_an_observer_arrives_unchanged(self):
        class Observer(kernelgen.CampaignObserver):
            def on_attempt(self, run, result):
                raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            self.run_campaign(Model(), observer=Observer())
        self.assertTrue(calls_end())

    def test_a_policy_in_python_keeps_runs_apart(self):
        class Policy(kernelgen.Policy):
            def next(self, history):
                best = kernelgen.best_of(history)
                if best is not None:
                    self_names.add(best.candidate.source)
                    return kernelgen.Decision(best=best.action.id, finished=True)
                return kernelgen.Decision([kernelgen.Action("a")])

        self_names = set()
        model = Model()
        model.complete = lambda request, stop: code(f"fixed {request.id}")
        outcome = self.run_campaign(model, policy=Policy())
        self.assertEqual((outcome.counts, len(self_names)), ({"partial": 2}, 2))

    def test_it_can_be_cancelled(self):
        judge = WaitingJudge()

        async def main():
            running = asyncio.create_task(kernelgen.campaign_async(
                TASKS, Model(), judge, directory=self.directory, policy=ONE))
            await asyncio.to_thread(judge.began.wait, 20)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running

        asyncio.run(main())
        self.assertTrue(judge.ended.wait(10) and calls_end())
        model = Model()
        self.assertEqual(self.run_campaign(model).counts, {"partial": 2})

    def test_the_rest_is_estimated(self):
        arguments = {"directory": self.directory, "policy": kernelgen.OneShotPolicy(samples=3),
                     "search": kernelgen.SearchOptions(max_output_tokens=100)}
        estimate = kernelgen.estimate_campaign(TASKS, Model(), fake_judge(), **arguments)
        self.assertEqual((estimate.counts, estimate.selected, estimate.known_runs), ({"not begun": 2}, 2, 0))
        self.assertEqual((estimate.requests, estimate.max_actions, estimate.reply_tokens),
                         (kernelgen.ExpectedAmount(None, 6.0), 3, 100))
        self.assertFalse(list(self.directory.iterdir()))
        kernelgen.campaign(TASKS[:1], Model(), FixedJudge(), **arguments)
        estimate = kernelgen.estimate_campaign(TASKS, Model(), fake_judge(), **arguments)
        self.assertEqual((estimate.selected, estimate.known_runs), (1, 1))
        self.assertIsNotNone(estimate.requests.expected)

    def test_search_options_are_the_arguments_of_run(self):
        import inspect

        parameters = inspect.signature(kernelgen.run).parameters
        self.assertLessEqual(set(plain(kernelgen.SearchOptions())), set(parameters))
        for name, value in vars(kernelgen.SearchOptions()).items():
            self.assertEqual(parameters[name].default, value, name)


class TaskSelectionTest(unittest.TestCase):
    def test_tasks_of_a_folder(self):
        tasks = kernelgen.select_tasks([ROOT / "examples/tasks"])
        self.assertIn("relu", [task.name for task in tasks])
        self.assertEqual(len({task.name for task in tasks}), len(tasks))
        self.assertTrue(all("class Model" in task.text for task in tasks))
        self.assertEqual(kernelgen.select_tasks([ROOT / "examples/tasks"], first=1), tasks[:1])
        sample = kernelgen.select_tasks([ROOT / "examples/tasks"], sample=2, seed=7)
        self.assertEqual((len(sample), sample), (2, kernelgen.select_tasks([ROOT / "examples/tasks"], sample=2, seed=7)))

    def test_lists(self):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "tasks.txt"
            file.write_text(f"{ROOT}/examples/tasks/relu.py  # one\n")
            self.assertEqual([task.name for task in kernelgen.select_tasks(list_files=[file])], ["relu"])

    def test_a_single_source_is_a_list_of_one(self):
        self.assertEqual([task.name for task in kernelgen.select_tasks(ROOT / "examples/tasks/relu.py")], ["relu"])
        self.assertIn("relu", [task.name for task in kernelgen.select_tasks(str(ROOT / "examples/tasks"))])

    def test_what_cannot_be_read_is_left_out_with_a_warning(self):
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "good.py").write_text(TASK.text)
            (Path(directory) / "bad.py").write_bytes(b"\xff")
            with self.assertWarnsRegex(UserWarning, "^bad is left out: .*UTF-8"):
                tasks = kernelgen.select_tasks(directory)
            self.assertEqual([task.name for task in tasks], ["good"])
            (Path(directory) / "good.py").unlink()
            with warnings.catch_warnings(), self.assertRaises(kernelgen.Error):
                warnings.simplefilter("error")
                kernelgen.select_tasks(directory)

    def test_levels_are_found_by_the_environment(self):
        with tempfile.TemporaryDirectory() as directory:
            level = Path(directory) / "KernelBench/level1"
            level.mkdir(parents=True)
            (level / "1_first.py").write_text(TASK.text)
            with unittest.mock.patch.dict(os.environ, KERNELBENCH_DIR=directory):
                self.assertEqual([task.name for task in kernelgen.select_tasks("level1")], ["1_first"])
                self.assertEqual(kernelgen.load_task("level1/1").name, "1_first")

    def test_what_cannot_be_meant(self):
        with self.assertRaises(kernelgen.NotFound):
            kernelgen.select_tasks(["no/such/folder"])
        with self.assertRaises(kernelgen.InvalidArgument):
            kernelgen.select_tasks()


class PricesTest(unittest.TestCase):
    def test_providers_have_models_with_prices(self):
        known = {provider.name: provider for provider in kernelgen.providers()}
        self.assertIn("openai", known)
        self.assertTrue(known["openai"].key_variable)
        priced = [model for provider in known.values() for model in provider.models if model.prices is not None]
        self.assertTrue(priced)
        self.assertTrue(all(model.prices.per_million_output > 0 and model.source for model in priced))

    def test_a_file_adds_a_provider(self):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "providers.json"
            file.write_text(json.dumps({"providers": [{
                "name": "mine", "base_url": "http://localhost:1/v1",
                "models": [{"name": "m", "prices": {"input": 1, "output": 2}, "max_output_tokens": 3}]}]}))
            mine = [provider for provider in kernelgen.providers(file) if provider.name == "mine"]
            self.assertEqual(mine[0].models[0].prices, kernelgen.Prices(1.0, 2.0))
            model = kernelgen.open_model("mine:m", providers=file)
            self.assertEqual(model.terms(), kernelgen.ModelTerms(kernelgen.Prices(1.0, 2.0), 3))
            file.write_text("{")
            with self.assertRaises(kernelgen.InvalidArgument):
                kernelgen.providers(file)
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "kind"):
            model.terms("poem")

    def test_a_search_ends_at_its_cost(self):
        policy = kernelgen.OneShotPolicy(samples=5)
        outcome = kernelgen.run(TASK, Model(), FixedJudge(), policy=policy, prices=PRICES, parallel_requests=1,
                                budget=kernelgen.Budget(cost=500e-6), max_output_tokens=1)
        self.assertLess(len(outcome.history), 5)
        self.assertIn("cost", outcome.reason)

    def test_a_limit_of_cost_needs_prices(self):
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "a limit of cost needs option prices: .*test m"):
            kernelgen.run(TASK, Model(), FixedJudge(), policy=ONE, budget=kernelgen.Budget(cost=1.0))

    def test_terms_of_a_wrong_type_are_named(self):
        with self.assertRaisesRegex(TypeError, "Model.terms.. returned dict"):
            kernelgen.run(TASK, Model(terms={}), FixedJudge(), policy=ONE)


if __name__ == "__main__":
    unittest.main()
