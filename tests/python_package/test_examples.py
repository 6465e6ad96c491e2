"""Every example of examples/python runs. Those that need a worker are in a class of their own."""

import concurrent.futures
import os
import subprocess
import sys
import unittest

import kernelgen
from support import ROOT

EXAMPLES = ROOT / "examples/python"
TASK, KERNEL = ROOT / "tests/tasks/relu.py", ROOT / "tests/honest/relu_plain.cpp"
MODULE = ROOT / "tests/honest/relu_torch.py"
ARGUMENTS = {
    "01_evaluate_kernel.py": (KERNEL, TASK, "correctness_only"), "02_repair_loop.py": (), "03_reward_function.py": (TASK, KERNEL),
    "04_kernelbench_drop_in.py": (TASK, MODULE), "05_custom_policy.py": ()}


def run_example(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    package = os.path.dirname(os.path.dirname(kernelgen.__file__))
    return subprocess.run([sys.executable, str(EXAMPLES / name), *map(str, arguments)], capture_output=True, text=True,
                          timeout=200, env={**os.environ, "PYTHONPATH": package})


class ExamplesTest(unittest.TestCase):
    def test_every_example_is_run(self):
        self.assertEqual({path.name for path in EXAMPLES.glob("*.py")}, set(ARGUMENTS))

    def test_a_repair_loop(self):
        done = run_example("02_repair_loop.py")
        self.assertIn("best: start/repair2", done.stdout, done.stderr)

    def test_a_policy(self):
        done = run_example("05_custom_policy.py")
        self.assertIn("sample3 of 3: a sample is correct", done.stdout, done.stderr)


class ExamplesWithWorkerTest(unittest.TestCase):
    """The examples run side by side: most of their time is a worker's start, which uses one core."""

    @classmethod
    def setUpClass(cls):
        names = [name for name, arguments in ARGUMENTS.items() if arguments]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            cls.done = dict(zip(names, pool.map(lambda name: run_example(name, *ARGUMENTS[name]), names)))

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
        self.assertRegex(self.run_with_arguments("04_kernelbench_drop_in.py"), "True False accuracy")


if __name__ == "__main__":
    unittest.main()
