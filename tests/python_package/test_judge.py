"""Judges without a worker: progress, exceptions, threads, forks, cancellation, the end of the interpreter."""

import asyncio
import gc
import threading
import traceback
import unittest
import unittest.mock
import weakref

import kernelgen
from kernelgen import _core
from support import KERNEL, TASK, FixedJudge, WaitingJudge, calls_end, fake_judge, run_script


class EvaluateTest(unittest.TestCase):
    def test_a_record_comes_with_its_task_and_candidate(self):
        record = fake_judge().evaluate(TASK, KERNEL, kernelgen.EvaluationOptions(mode="quick"))
        self.assertEqual((record.candidate_id, record.task_name, record.mode), (KERNEL.id, "relu", "quick"))
        self.assertEqual(record.score, 1.5)

    def test_paths_stand_for_tasks_and_candidates(self):
        with self.assertRaises(kernelgen.NotFound):
            fake_judge().evaluate("no/such/task.py", KERNEL)
        self.assertTrue(fake_judge().evaluate(TASK.path, KERNEL).correct)

    def test_impossible_options_are_refused_before_anything_begins(self):
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "call_timeout"):
            fake_judge().evaluate(TASK, KERNEL, kernelgen.EvaluationOptions(call_timeout=-3))

    def test_descriptions(self):
        self.assertEqual(fake_judge().describe(TASK).name, "relu")
        self.assertEqual(asyncio.run(fake_judge().describe_async(TASK)).content_id, TASK.content_id)

    def test_a_closed_judge_refuses(self):
        with fake_judge() as judge:
            judge.evaluate(TASK, KERNEL)
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "closed"):
            judge.evaluate(TASK, KERNEL)

    def test_a_judge_in_python_is_awaited_like_another(self):
        record = asyncio.run(FixedJudge().evaluate_async(TASK, kernelgen.Candidate("// fixed")))
        self.assertTrue(record.correct)
        self.assertEqual(record.candidate_id, kernelgen.Candidate("// fixed").id)

    def test_missing_parts_are_named(self):
        with self.assertRaises(kernelgen.MissingTool):
            kernelgen.open_local_judge(python="/no/such/python")
        with self.assertRaises(kernelgen.MissingTool):
            kernelgen.open_local_judge(installation="/no/such/prefix")
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "launch_prefix"):
            kernelgen.open_remote_judge([])


class ProgressTest(unittest.TestCase):
    def test_steps_are_reported(self):
        steps = []
        fake_judge().evaluate(TASK, KERNEL, progress=steps.append)
        self.assertEqual([step.phase for step in steps], ["compile", "admit", "correctness", "timing"])

    def test_an_exception_arrives_unchanged_and_ends_the_reports(self):
        mine, steps = KeyError("mine"), []

        def progress(step):
            steps.append(step)
            raise mine

        try:
            fake_judge().evaluate(TASK, KERNEL, progress=progress)
        except KeyError as error:
            self.assertIs(error, mine)
            self.assertIn("raise mine", "".join(traceback.format_exception(error)))
        self.assertEqual(len(steps), 1)

    def test_an_error_of_this_package_arrives_unchanged_too(self):
        mine = kernelgen.Busy("mine")

        def progress(step):
            raise mine

        with self.assertRaises(kernelgen.Busy) as raised:
            fake_judge().evaluate(TASK, KERNEL, progress=progress)
        self.assertIs(raised.exception, mine)

    def test_nothing_is_kept_after_an_evaluation(self):
        class Progress:
            def __call__(self, step):
                raise ValueError("mine")

        judge = fake_judge()
        progress = Progress()
        kept = weakref.ref(progress)
        try:
            judge.evaluate(TASK, KERNEL, progress=progress)
        except ValueError:
            pass
        del progress
        self.assertTrue(calls_end())
        judge.evaluate(TASK, KERNEL)
        gc.collect()
        self.assertIsNone(kept())


class AsyncTest(unittest.TestCase):
    def test_many_at_once(self):
        judge = fake_judge()

        async def evaluate_many():
            return await asyncio.gather(*[judge.evaluate_async(TASK, KERNEL) for _ in range(64)])

        self.assertEqual([record.score for record in asyncio.run(evaluate_many())], [1.5] * 64)

    def test_cancelling_a_task_stops_its_evaluation(self):
        judge = WaitingJudge()

        async def begin_and_cancel():
            task = asyncio.create_task(judge.evaluate_async(TASK, KERNEL))
            while not judge.began.is_set():
                await asyncio.sleep(0.01)
            task.cancel()
            await task

        with self.assertRaises(asyncio.CancelledError):
            asyncio.run(begin_and_cancel())
        self.assertTrue(judge.ended.wait(10))
        self.assertTrue(calls_end())

    def test_exceptions_arrive_at_the_awaiting_task(self):
        def progress(step):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            asyncio.run(fake_judge().evaluate_async(TASK, KERNEL, progress=progress))

    def test_a_loop_that_ends_early_is_no_problem(self):
        judge = WaitingJudge()

        async def begin():
            asyncio.ensure_future(judge.evaluate_async(TASK, KERNEL))
            while not judge.began.is_set():
                await asyncio.sleep(0.01)

        asyncio.run(begin())
        self.assertTrue(judge.ended.wait(10))


class PythonJudgeTest(unittest.TestCase):
    def evaluate_with(self, function):
        class Judge(kernelgen.Benchmarker):
            def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
                return function(task, candidate, options, progress, stop)

        return asyncio.run(Judge().evaluate_async(TASK, KERNEL, kernelgen.EvaluationOptions(rtol=0.5)))

    def test_it_gets_what_was_asked(self):
        def evaluate(task, candidate, options, progress, stop):
            self.assertEqual((task, candidate, options.rtol), (TASK, KERNEL, 0.5))
            self.assertFalse(stop.stop_requested)
            return kernelgen.EvaluationRecord()

        self.assertTrue(self.evaluate_with(evaluate).correct)

    def test_its_exceptions_arrive_unchanged(self):
        mine = RuntimeError("mine")

        def evaluate(*_):
            raise mine

        with self.assertRaises(RuntimeError) as raised:
            self.evaluate_with(evaluate)
        self.assertIs(raised.exception, mine)

    def test_its_errors_of_the_machinery_arrive_by_class(self):
        def evaluate(*_):
            raise kernelgen.MissingDevice("no GPU")

        with self.assertRaisesRegex(kernelgen.MissingDevice, "no GPU"):
            self.evaluate_with(evaluate)

    def test_what_is_no_record_is_a_type_error(self):
        with self.assertRaisesRegex(TypeError, "EvaluationRecord"):
            self.evaluate_with(lambda *_: "correct")

    def test_it_may_ask_a_judge_of_the_library(self):
        inner = fake_judge()
        record = self.evaluate_with(lambda task, candidate, options, progress, stop: inner.evaluate(
            task, candidate, options, progress=progress, stop=stop))
        self.assertEqual(record.score, 1.5)

    def test_a_stop_reaches_the_judge_behind_it(self):
        inner, began = WaitingJudge(), threading.Event()

        class Outer(kernelgen.Benchmarker):
            def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
                began.set()
                call = _core.start_evaluate(inner, vars(task), vars(candidate), {}, None, None)
                call.follow(stop)
                return kernelgen.EvaluationRecord.from_json(call.wait())

        async def begin_and_cancel():
            task = asyncio.create_task(Outer().evaluate_async(TASK, KERNEL))
            while not inner.began.is_set():
                await asyncio.sleep(0.01)
            task.cancel()
            await task

        with self.assertRaises(asyncio.CancelledError):
            asyncio.run(begin_and_cancel())
        self.assertTrue(inner.ended.wait(10))


class SubclassTest(unittest.TestCase):
    """Subclasses of the judge of the library."""

    def test_its_own_methods_are_called(self):
        class Counting(kernelgen.Judge):
            count = 0

            def evaluate(self, *arguments, **options):
                self.count += 1
                return super().evaluate(*arguments, **options)

        judge = Counting(fake_judge()._native)
        self.assertEqual(judge.evaluate(TASK, KERNEL).score, 1.5)
        self.assertEqual(asyncio.run(judge.evaluate_async(TASK, KERNEL)).score, 1.5)
        self.assertEqual(kernelgen.repair(TASK, KERNEL, kernelgen.ScriptedLLMClient([]), judge).best, "start")
        self.assertEqual(judge.count, 3)

    def test_a_method_of_the_object_is_called(self):
        judge, record = fake_judge(), kernelgen.EvaluationRecord()
        with unittest.mock.patch.object(judge, "evaluate", return_value=record) as evaluate:
            asyncio.run(judge.evaluate_async(TASK, KERNEL))
        evaluate.assert_called_once()

    def test_without_methods_of_its_own_it_is_asked_directly(self):
        class Same(kernelgen.Judge):
            pass

        judge = Same(fake_judge()._native)
        self.assertIs(kernelgen.judges.native_of(judge), judge._native)


class ThreadsTest(unittest.TestCase):
    def test_several_threads_share_a_judge(self):
        judge, scores = fake_judge(), []

        def work():
            for _ in range(20):
                scores.append(judge.evaluate(TASK, KERNEL).score)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(scores, [1.5] * 160)

    def test_other_threads_go_on_while_one_evaluates(self):
        judge = WaitingJudge()
        waiting = _core.start_evaluate(judge, vars(TASK), vars(KERNEL), {}, None, None)
        self.assertTrue(judge.began.wait(10))
        self.assertEqual(fake_judge().evaluate(TASK, KERNEL).score, 1.5)
        waiting.cancel()
        with self.assertRaises(kernelgen.Cancelled):
            waiting.wait()


class ForkTest(unittest.TestCase):
    """Forks happen in a program of their own: the test's process has threads of other tests."""

    def test_a_child_that_forked_after_the_import_evaluates(self):
        done = run_script("""
            import os
            from support import *
            judge = fake_judge()
            judge.evaluate(TASK, KERNEL)
            child = os.fork()
            if child == 0:
                os._exit(0 if judge.evaluate(TASK, KERNEL).score == 1.5 else 1)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), judge.evaluate(TASK, KERNEL).score)
            """)
        self.assertEqual(done.stdout, "0 1.5\n", done.stderr)

    def test_a_call_of_the_parent_is_unavailable_in_a_child(self):
        done = run_script("""
            import os
            from support import *
            from kernelgen import _core
            judge = WaitingJudge()
            call = _core.start_evaluate(judge, vars(TASK), vars(KERNEL), {}, None, None)
            judge.began.wait(10)
            child = os.fork()
            if child == 0:
                try:
                    call.wait()
                except kernelgen.Unavailable:
                    os._exit(0 if fake_judge().evaluate(TASK, KERNEL).score == 1.5 else 1)
                os._exit(2)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            call.cancel()
            try:
                call.wait()
            except kernelgen.Cancelled as error:
                print("cancelled")
            """)
        self.assertEqual(done.stdout, "0\ncancelled\n", done.stderr)

    def test_a_child_ends_by_itself_while_the_parent_evaluates(self):
        done = run_script("""
            import multiprocessing
            from support import *
            from kernelgen import _core
            judge = WaitingJudge()
            call = _core.start_evaluate(judge, vars(TASK), vars(KERNEL), {}, None, None)
            judge.began.wait(10)
            child = multiprocessing.get_context("fork").Process(target=print, args=("child",), daemon=True)
            child.start()
            child.join(30)
            print(child.exitcode)
            """)
        self.assertEqual(done.stdout, "child\n0\n", done.stderr)


class InterruptTest(unittest.TestCase):
    def test_control_c_ends_an_evaluation(self):
        done = run_script("""
            import os, signal, threading
            from support import *
            judge = WaitingJudge()
            def interrupt():
                judge.began.wait(10)
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=interrupt).start()
            outcome = None
            try:
                outcome = kernelgen.repair(TASK, KERNEL, kernelgen.ScriptedLLMClient([]), judge)
            except KeyboardInterrupt:
                print("interrupted", judge.ended.wait(10), calls_end(), outcome)
            """)
        self.assertEqual(done.stdout, "interrupted True True None\n", done.stderr)

    def test_an_exception_of_another_signal_arrives(self):
        done = run_script("""
            import os, signal, threading
            from support import *
            judge = WaitingJudge()
            def alarm(number, frame):
                raise TimeoutError("my alarm")
            signal.signal(signal.SIGUSR1, alarm)
            def send():
                judge.began.wait(10)
                os.kill(os.getpid(), signal.SIGUSR1)
            threading.Thread(target=send).start()
            try:
                kernelgen.repair(TASK, KERNEL, kernelgen.ScriptedLLMClient([]), judge)
            except TimeoutError as error:
                print(error)
            """)
        self.assertEqual(done.stdout, "my alarm\n", done.stderr)


class ExitTest(unittest.TestCase):
    def test_the_interpreter_ends_while_an_evaluation_runs(self):
        done = run_script("""
            import threading
            from support import *
            judge = WaitingJudge()
            def work():
                try:
                    kernelgen.repair(TASK, KERNEL, kernelgen.ScriptedLLMClient([]), judge)
                except kernelgen.Cancelled:
                    pass
            threading.Thread(target=work, daemon=True).start()
            judge.began.wait(10)
            print("end", flush=True)
            """)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "end\n", ""))

    def test_the_interpreter_ends_while_a_call_is_forgotten(self):
        done = run_script("""
            import os
            from support import *
            from kernelgen import _core
            judge = WaitingJudge()
            call = _core.start_evaluate(judge, vars(TASK), vars(KERNEL), {}, None, None)
            judge.began.wait(10)
            """)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_nothing_begins_after_the_end_began(self):
        done = run_script("""
            import atexit
            from support import *
            judge = fake_judge()
            def late():
                try:
                    judge.evaluate(TASK, KERNEL)
                except kernelgen.Cancelled as error:
                    print(error)
            kernelgen._core.stop_all_calls()
            late()
            """)
        self.assertIn("ending", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
