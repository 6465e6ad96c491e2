"""Every example of examples/python runs. Those that need a worker are in a class of their own."""

import asyncio
import concurrent.futures
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

import kernelgen
from support import FULL_RECORD, ROOT, code

EXAMPLES = ROOT / "examples/python"
TASK, KERNEL = ROOT / "tests/tasks/relu.py", ROOT / "tests/honest/relu_plain.cpp"
MODULE = ROOT / "tests/honest/relu_torch.py"
ARGUMENTS = {
    "01_evaluate_kernel.py": (KERNEL, TASK, "correctness_only"), "03_reward_function.py": (TASK, KERNEL),
    "10_custom_target.py": (TASK,)}
OTHERS = {"02_repair_loop.py", "04_kernelbench_drop_in.py", "05_custom_policy.py", "06_optuna_study.py",
          "08_evolution_evaluator.py", "09_verify_dataset.py"}
IN_A_TEST_OF_ITS_OWN = {"07_ray_judges.py"}
WRONG = kernelgen.Outcome(kernelgen.OutcomeKind.ACCURACY, "mismatch", "output: wrong")
BUSY = kernelgen.Outcome(kernelgen.OutcomeKind.SUSPECT, "busy machine", "other work on the machine")


def run_example(name: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    package = os.path.dirname(os.path.dirname(kernelgen.__file__))
    return subprocess.run([sys.executable, str(EXAMPLES / name), *map(str, arguments)], capture_output=True, text=True,
                          timeout=200, env={**os.environ, "PYTHONPATH": package, **environment})


def load_example(name: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("example_" + name[:2], EXAMPLES / name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def record_with(outcome: kernelgen.Outcome = kernelgen.Outcome(), speedup: float | None = None) -> kernelgen.EvaluationRecord:
    record = kernelgen.EvaluationRecord.from_json(FULL_RECORD)
    ratio = speedup and kernelgen.Ratio(speedup, speedup - 0.1, speedup + 0.1)
    timing = replace(record.timing, speedup_call=ratio, speedup_device=None, candidate_ns=(1_000_000, 3_000_000),
                     reference_ns=(4_000_000, 8_000_000)) if speedup else None
    return replace(record, outcome=outcome, timing=timing, labels=())


class FakeJudge(kernelgen.Benchmarker):
    """Gives the record that a function has for a candidate and the options, and keeps both."""

    def __init__(self, answer):
        self.answer = answer
        self.calls: list[tuple[kernelgen.Candidate, kernelgen.EvaluationOptions]] = []

    def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
        self.calls.append((candidate, options))
        if progress:
            progress(kernelgen.EvaluationProgress("compile"))
        return self.answer(candidate, options)


class ExamplesTest(unittest.TestCase):
    def test_every_example_is_run(self):
        self.assertEqual({path.name for path in EXAMPLES.glob("*.py")}, set(ARGUMENTS) | OTHERS | IN_A_TEST_OF_ITS_OWN)

    def test_a_repair_loop(self):
        done = run_example("02_repair_loop.py")
        self.assertIn("best: start/repair2", done.stdout, done.stderr)

    def test_a_policy(self):
        done = run_example("05_custom_policy.py")
        self.assertIn("sample3 of 3: a sample is correct", done.stdout, done.stderr)


class RewardTest(unittest.TestCase):
    def setUp(self):
        self.example = load_example("03_reward_function.py")

    def rewards(self, judge, completions):
        return asyncio.run(self.example.reward(judge, kernelgen.load_task(TASK), completions, "cpp",
                                               kernelgen.EvaluationOptions()))

    def test_64_completions_are_judged_at_once(self):
        meeting = threading.Barrier(64)

        def answer(candidate, options):
            # None passes before all 64 are under way.
            meeting.wait(30)
            number = int(candidate.source.split()[2])
            return record_with(speedup=1 + number / 64) if number % 2 == 0 else record_with(WRONG)

        rewards = self.rewards(FakeJudge(answer), [code(f"kernel {number} ") for number in range(64)])
        self.assertEqual([reward.value > 0 for reward in rewards], [number % 2 == 0 for number in range(64)])
        self.assertAlmostEqual(rewards[32].value, 0.2 + 1.5 / 5)
        self.assertEqual(rewards[33].reason, "accuracy:mismatch: output: wrong")

    def test_what_a_completion_holds_ends_no_batch(self):
        texts = ["", "\0", "```cpp\n\ud800\n```", "```" * 10000, code("right"), "```cpp\nint kgen_run(\0\n```"]
        rewards = self.rewards(FakeJudge(lambda candidate, options: record_with(speedup=9.0)), texts)
        self.assertEqual([reward.value for reward in rewards], [0, 0, 0, 0, 1, 0], rewards)

    def test_a_failure_of_the_machine_is_no_low_reward(self):
        def answer(candidate, options):
            if "lost" in candidate.source:
                raise kernelgen.Unavailable("the worker ended")
            return record_with(BUSY) if "busy" in candidate.source else record_with()

        rewards = self.rewards(FakeJudge(answer), [code("lost"), code("busy"), code("right")])
        self.assertEqual([reward.value for reward in rewards], [None, None, 0.2])
        self.assertEqual(rewards[0].reason, "no verdict: the worker ended")


class KernelBenchTest(unittest.TestCase):
    def setUp(self):
        self.example = load_example("04_kernelbench_drop_in.py")

    def result(self, answer, **arguments):
        self.judge = FakeJudge(answer)
        return self.example.eval_kernel_against_ref("class Model: ...", "class ModelNew: ...", judge=self.judge,
                                                    **arguments)

    def test_the_arguments_are_those_of_kernelbench_in_their_order(self):
        names = self.example.eval_kernel_against_ref.__code__.co_varnames
        self.assertEqual(names[:15], (
            "original_model_src", "custom_model_src", "seed_num", "num_correct_trials", "num_perf_trials", "measure_performance",
            "timing_method", "verbose", "build_dir", "device", "backend", "precision", "check_for_excessive_speedup",
            "excessive_speedup_threshold", "judge"))

    def test_times_are_means_in_milliseconds(self):
        result = self.result(lambda *_: record_with(speedup=3.0), measure_performance=True)
        self.assertTrue(result.compiled and result.correctness)
        self.assertEqual((result.runtime, result.ref_runtime), (2.0, 6.0))
        self.assertEqual(result.runtime_stats, {"mean": 2.0, "std": 1.0, "min": 1.0, "max": 3.0, "num_trials": 2})
        self.assertNotIn("excessive_speedup", result.metadata)
        self.assertEqual(str(self.judge.calls[0][1].mode), "full")

    def test_a_speedup_that_is_hard_to_believe_is_flagged(self):
        result = self.result(lambda *_: record_with(speedup=11.0), measure_performance=True)
        self.assertIs(result.metadata["excessive_speedup"], True)

    def test_errors_have_the_keys_of_kernelbench(self):
        for kind, key, compiled in (("compile", "compilation_error", False), ("crash", "runtime_error", True),
                                    ("accuracy", "correctness_issue", True), ("cheat", "correctness_issue", True)):
            outcome = kernelgen.Outcome(kernelgen.OutcomeKind(kind), "", "the reason")
            result = self.result(lambda *_: record_with(outcome))
            self.assertEqual((result.compiled, result.correctness, result.runtime), (compiled, False, -1.0))
            self.assertEqual((result.metadata[key], result.metadata[key + "_name"]), ("the reason", kind))
            json.dumps(result.metadata)

    def test_a_busy_machine_leaves_a_right_kernel_right(self):
        result = self.result(lambda _, options: record_with(BUSY if options.mode == "full" else kernelgen.Outcome()),
                             measure_performance=True)
        self.assertEqual((result.correctness, result.runtime), (True, -1.0))
        self.assertEqual(result.metadata["error_during_performance"], BUSY.message)

    def test_devices_and_precisions_have_the_names_of_kernelgen(self):
        for device, backend, name in ((None, "cuda", ""), (0, "cuda", "0"), ("cuda", "cuda", ""), ("cuda:1", "triton", "1"),
                                      ("cuda:1", "hip", "amd:1"), ("cpu", "cuda", "cpu")):
            self.result(lambda *_: record_with(), device=device, backend=backend, precision="torch.bfloat16")
            candidate, options = self.judge.calls[0]
            self.assertEqual((options.device, options.precision), (name, "bf16"))
            self.assertEqual(candidate.target, "triton" if backend == "triton" else "torch")


@unittest.skipUnless(is_installed("optuna"), "optuna is not installed")
class OptunaTest(unittest.TestCase):
    def setUp(self):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.CRITICAL)

    def test_a_study_finds_the_fastest_and_prunes_what_is_wrong(self):
        import optuna

        example = load_example("06_optuna_study.py")
        self.assertEqual(example.space_of(example.TEMPLATE), {"THREADS": ["1", "2"], "WIDTH": ["1", "4", "16", "24"]})

        def answer(candidate, options):
            lines = dict(line.split()[1:3] for line in candidate.source.splitlines() if line.startswith("#define"))
            if lines["WIDTH"] == "24":
                return record_with(WRONG)
            return record_with(speedup=float(lines["WIDTH"]) / float(lines["THREADS"]))

        judge = FakeJudge(answer)
        with tempfile.TemporaryDirectory() as directory:
            storage = f"sqlite:///{directory}/study.db"
            for seed in (1, 2):
                study = example.search(judge, kernelgen.load_task(TASK), example.TEMPLATE, 10, storage,
                                       sampler=optuna.samplers.TPESampler(seed=seed))
        self.assertEqual((study.best_params, study.best_value), ({"THREADS": "1", "WIDTH": "16"}, 16.0))
        self.assertEqual(len(study.trials), 20)
        pruned = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.PRUNED]
        self.assertEqual({trial.params["WIDTH"] for trial in pruned}, {"24"})
        self.assertEqual(pruned[0].user_attrs["outcome"], "accuracy:mismatch output: wrong")
        self.assertEqual(len(judge.calls), len({candidate.id for candidate, _ in judge.calls}), "a kernel was judged twice")

    def test_a_busy_machine_prunes_nothing(self):
        example = load_example("06_optuna_study.py")
        study = example.search(FakeJudge(lambda *_: record_with(BUSY)), kernelgen.load_task(TASK), example.TEMPLATE, 2)
        self.assertEqual([trial.state.name for trial in study.trials], ["FAIL", "FAIL"])


class EvolutionTest(unittest.TestCase):
    def setUp(self):
        self.example = load_example("08_evolution_evaluator.py")
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        # Whether OpenEvolve is installed here must not matter: None makes its import fail.
        stack.enter_context(mock.patch.dict(sys.modules, {"openevolve": None}))
        stack.enter_context(mock.patch.dict(os.environ, EVALUATOR_TASK=str(TASK), EVALUATOR_MODE="full"))
        self.directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def judged(self, *records):
        answers = iter(records)
        return mock.patch.object(kernelgen, "evaluate", FakeJudge(lambda *_: next(answers)).evaluate)

    def test_without_openevolve_texts_are_among_the_metrics(self):
        with self.judged(record_with(speedup=2.5)):
            result = self.example.evaluate(str(KERNEL))
        self.assertEqual((result["combined_score"], result["correct"], result["speedup"]), (2.5, 1, 2.5))
        self.assertRegex(result["feedback"], "^correct; .* us a call, PyTorch .* us")
        with self.judged(record_with(WRONG)):
            result = self.example.evaluate(str(KERNEL))
        self.assertEqual((result["combined_score"], result["correct"], result["speedup"]), (0, 0, 0))
        self.assertEqual(result["feedback"], "accuracy:mismatch: output: wrong")

    def test_openevolve_gets_artifacts(self):
        module = types.ModuleType("openevolve.evaluation_result")
        module.EvaluationResult = types.SimpleNamespace
        with mock.patch.dict(sys.modules, {"openevolve": types.ModuleType("openevolve"), module.__name__: module}), \
                self.judged(record_with(WRONG)):
            result = self.example.evaluate(str(KERNEL))
        self.assertEqual(result.metrics, {"combined_score": 0, "correct": 0, "speedup": 0})
        self.assertEqual(result.artifacts["feedback"], "accuracy:mismatch: output: wrong")

    def test_shinkaevolve_gets_two_files(self):
        with self.judged(record_with(speedup=2.5), record_with(WRONG)):
            for name in ("right", "wrong"):
                self.example.main(str(KERNEL), str(self.directory / name))
        read = {f"{path.parent.name}/{path.name}": json.loads(path.read_text()) for path in self.directory.rglob("*.json")}
        self.assertEqual(read["right/correct.json"], {"correct": True, "error": None})
        self.assertEqual(read["right/metrics.json"]["combined_score"], 2.5)
        self.assertIs(read["wrong/correct.json"]["correct"], False)
        self.assertIn("output: wrong", read["wrong/metrics.json"]["text_feedback"])

    def test_a_program_that_tells_no_target_is_wrong(self):
        program = self.directory / "program.txt"
        program.write_text("hello")
        self.assertRegex(self.example.evaluate(str(program))["feedback"], "no kernel: .*target")

    def test_a_busy_machine_is_asked_again_and_then_raised(self):
        with self.judged(record_with(BUSY), record_with(speedup=2.0)):
            self.assertEqual(self.example.evaluate(str(KERNEL))["combined_score"], 2.0)
        with self.judged(*[record_with(BUSY)] * 3), self.assertRaises(kernelgen.Busy):
            self.example.evaluate(str(KERNEL))


@unittest.skipUnless(is_installed("pyarrow"), "pyarrow is not installed")
class DatasetTest(unittest.TestCase):
    def setUp(self):
        self.example = load_example("09_verify_dataset.py")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.source, self.output = Path(directory.name) / "in.parquet", Path(directory.name) / "out"

    def verify(self, rows, answer, mode="full", at_once=4):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([dict(zip(("task", "code", "target"), row)) for row in rows]), self.source)
        judge = FakeJudge(answer)
        with contextlib.redirect_stderr(io.StringIO()):
            missing = asyncio.run(self.example.verify(judge, str(self.source), self.output, mode, at_once))
        return missing, judge, pq.read_table(self.output).to_pylist() if any(self.output.iterdir()) else []

    def test_rows_have_a_verdict_and_are_judged_once(self):
        def answer(candidate, options):
            return record_with(speedup=2.0) if "right" in candidate.source else record_with(WRONG)

        rows = [(str(TASK), f"right {number % 70}", "cpp") for number in range(140)] + [(TASK.read_text(), "wrong", "cpp")]
        missing, judge, table = self.verify(rows, answer)
        self.assertEqual((missing, len(judge.calls), len(table)), (0, 71, 71))
        right = next(row for row in table if row["code"] == "right 3")
        self.assertEqual([right[name] for name in ("outcome", "speedup", "speedup_low", "speedup_high")], ["correct", 2.0, 1.9, 2.1])
        self.assertEqual(kernelgen.EvaluationRecord.from_json(right["record"]).score, 2.0)
        wrong = next(row for row in table if row["code"] == "wrong")
        self.assertEqual((wrong["outcome"], wrong["message"], wrong["speedup"]), ("accuracy:mismatch", "output: wrong", None))
        # The next run judges the row that is new, and another mode is another verdict.
        missing, judge, table = self.verify([*rows, (str(TASK), "right too", "cpp")], answer)
        self.assertEqual(([candidate.source for candidate, _ in judge.calls], len(table)), (["right too"], 72))
        self.assertEqual(len(self.verify(rows[:1], answer, mode="quick")[1].calls), 1)

    def test_what_the_machine_failed_to_judge_is_tried_by_the_next_run(self):
        def answer(candidate, options):
            if "lost" in candidate.source:
                raise kernelgen.Unavailable("the worker ended")
            return record_with(BUSY)

        rows = [(str(TASK), "lost", "cpp"), (str(TASK), "busy", "cpp")]
        self.assertEqual(self.verify(rows, answer)[::2], (2, []))
        self.assertEqual(self.verify(rows, lambda *_: record_with())[0], 0)

    def test_a_fault_of_a_row_is_its_verdict(self):
        rows = [("no/such/task.py", "x", "cpp"), (str(TASK), "x", "fortran"), (None, "x", "cpp"), (str(TASK), None, "cpp")]
        missing, _, table = self.verify(rows, lambda *_: record_with())
        self.assertEqual(missing, 0)
        self.assertEqual([row["outcome"] for row in table][:2], ["error:not_found", "error:invalid_argument"], table)

    def test_no_more_than_asked_are_under_way(self):
        lock, running, most = threading.Lock(), set(), []

        def answer(candidate, options):
            with lock:
                running.add(candidate.id)
                most.append(len(running))
            threading.Event().wait(0.01)
            with lock:
                running.discard(candidate.id)
            return record_with()

        self.verify([(str(TASK), f"{number}", "cpp") for number in range(20)], answer, at_once=3)
        self.assertLessEqual(max(most), 3)


class ExamplesWithWorkerTest(unittest.TestCase):
    """The examples run side by side: most of their time is a worker's start, which uses one core."""

    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            cls.done = dict(zip(ARGUMENTS, pool.map(lambda name: run_example(name, *ARGUMENTS[name]), ARGUMENTS)))

    def run_with_arguments(self, name: str) -> str:
        done = self.done[name]
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_kernel_is_evaluated(self):
        self.assertRegex(self.run_with_arguments("01_evaluate_kernel.py"), "^correct")

    def test_a_custom_target_is_evaluated(self):
        self.assertEqual(self.run_with_arguments("10_custom_target.py"), "expression: correct\n")

    def test_a_task_that_is_missing_is_reported_by_its_code(self):
        done = run_example("01_evaluate_kernel.py", KERNEL, "no/such/task.py")
        self.assertRegex(done.stderr, "not_found: .*no/such/task.py")

    def test_rewards(self):
        self.assertRegex(self.run_with_arguments("03_reward_function.py"), "0.2  correct\n0.0  accuracy:mismatch")

    def test_kernelbench(self):
        example = load_example("04_kernelbench_drop_in.py")
        task, module = TASK.read_text(encoding="utf-8"), MODULE.read_text(encoding="utf-8")
        sources = (module, module.replace("relu(", "sigmoid("), module + "\n)", module.replace("ModelNew", "ModelOld"))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(example.main(str(TASK), str(MODULE)), 0)
        self.assertRegex(output.getvalue(), "^True -1.0 -1.0 .*'outcome': 'correct'")
        results = [example.eval_kernel_against_ref(task, source) for source in sources]
        self.assertEqual([(result.compiled, result.correctness) for result in results],
                         [(True, True), (True, False), (False, False), (False, False)])
        self.assertRegex(results[1].metadata["correctness_issue"], "elements")
        self.assertEqual(results[2].metadata["compilation_error_name"], "syntax")

    def test_an_evaluator_for_evolution(self):
        with tempfile.TemporaryDirectory() as directory:
            done = run_example("08_evolution_evaluator.py", "--program_path", KERNEL, "--results_dir", directory,
                               EVALUATOR_TASK=str(TASK), EVALUATOR_MODE="correctness_only")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(Path(directory, "correct.json").read_text()), {"correct": True, "error": None})


if __name__ == "__main__":
    unittest.main()
