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
import threading
import types
import unittest
from dataclasses import replace

import kernelgen
from support import FULL_RECORD, ROOT, code

EXAMPLES = ROOT / "examples/python"
TASK, KERNEL = ROOT / "tests/tasks/relu.py", ROOT / "tests/honest/relu_plain.cpp"
MODULE = ROOT / "tests/honest/relu_torch.py"
ARGUMENTS = {
    "01_evaluate_kernel.py": (KERNEL, TASK, "correctness_only"), "03_reward_function.py": (TASK, KERNEL)}
OTHERS = {"02_repair_loop.py", "04_kernelbench_drop_in.py", "05_custom_policy.py"}
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
        self.assertEqual({path.name for path in EXAMPLES.glob("*.py")}, set(ARGUMENTS) | OTHERS)

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


if __name__ == "__main__":
    unittest.main()
