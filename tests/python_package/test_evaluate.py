"""Evaluations by a real worker. Times are not looked at, so other tests may run beside these."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import kernelgen
from support import ROOT, run_script

UNTIMED = kernelgen.EvaluationOptions(mode="correctness_only", threads=1)
TASK = kernelgen.load_task(ROOT / "tests/tasks/relu.py")
KERNEL = kernelgen.load_candidate(ROOT / "tests/honest/relu_plain.cpp")
SLOW = kernelgen.Candidate(
    "#include <unistd.h>\n" + KERNEL.source.replace("const auto* x =", "sleep(20);\n  const auto* x ="))


def children_of(process: int) -> list[str]:
    """The command lines of the processes below a process."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(entry.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            command = entry.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
        if parent == process:
            found += [command, *children_of(int(entry.name))]
    return found


class WorkerTest(unittest.TestCase):
    judge: kernelgen.Judge

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.judge = kernelgen.open_local_judge(cache_dir=cls.directory.name)

    @classmethod
    def tearDownClass(cls):
        cls.judge.close()
        cls.directory.cleanup()

    def test_a_right_kernel(self):
        phases = []
        record = self.judge.evaluate(TASK, KERNEL, UNTIMED, progress=lambda step: phases.append(step.phase))
        self.assertTrue(record.correct, record.outcome)
        self.assertEqual(record.task.inputs[0].name, "x")
        self.assertIn("correctness", phases)
        self.assertIsNone(record.score)

    def test_what_a_kernel_did_is_no_exception(self):
        wrong = KERNEL.source.replace("x[i] > 0 ?", "x[i] > 1 ?")
        for source, name in ((wrong, "accuracy:mismatch"), ("int kgen_run( {", "compile:"), ("", "syntax")):
            with self.subTest(name):
                record = self.judge.evaluate(TASK, kernelgen.Candidate(source), UNTIMED)
                self.assertTrue(record.outcome.name.startswith(name), record.outcome)

    def test_descriptions_have_shapes(self):
        description = self.judge.describe(TASK, UNTIMED)
        self.assertEqual(description.inputs[0].dtype, "float32")
        self.assertGreater(description.facts.output_bytes, 0)

    def test_a_task_that_cannot_be_used(self):
        with self.assertRaises(kernelgen.InvalidTask):
            self.judge.evaluate(kernelgen.Task("broken", "class Model: pass\n"), KERNEL, UNTIMED)

    def test_several_awaits_share_the_worker(self):
        async def evaluate_both():
            return await asyncio.gather(*[self.judge.evaluate_async(TASK, KERNEL, UNTIMED) for _ in range(2)])

        self.assertEqual([record.correct for record in asyncio.run(evaluate_both())], [True, True])

    def test_a_device_that_is_not_there(self):
        with self.assertRaises((kernelgen.MissingDevice, kernelgen.InvalidArgument)):
            self.judge.evaluate(TASK, KERNEL, kernelgen.EvaluationOptions(mode="correctness_only", device="nvidia:9"))

    def test_cancelling_leaves_a_judge_that_works(self):
        began = threading.Event()

        async def begin_and_cancel():
            task = asyncio.create_task(self.judge.evaluate_async(
                TASK, SLOW, UNTIMED, progress=lambda step: step.phase == "correctness" and began.set()))
            while not (began.is_set() or task.done()):
                await asyncio.sleep(0.01)
            task.cancel()
            await task

        with self.assertRaises(asyncio.CancelledError):
            asyncio.run(begin_and_cancel())
        source = kernelgen.StopSource()
        with self.assertRaises(kernelgen.Cancelled):
            self.judge.evaluate(TASK, SLOW, UNTIMED, stop=source.token,
                                progress=lambda step: step.phase == "correctness" and source.request_stop())
        self.assertTrue(self.judge.evaluate(TASK, KERNEL, UNTIMED).correct)


class ProcessTest(unittest.TestCase):
    def run_until(self, phase: str, script: str) -> subprocess.Popen:
        """Starts a program that evaluates a slow kernel, and waits for a phase of its evaluation."""
        text = "\n".join([
            "from support import *", "from test_evaluate import SLOW, TASK, UNTIMED",
            "def progress(step): print(step.phase, flush=True)", script])
        paths = os.pathsep.join([str(Path(kernelgen.__file__).parents[1]), str(Path(__file__).parent)])
        program = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env={**os.environ, "PYTHONPATH": paths})
        for line in program.stdout:
            if line.strip() == phase:
                return program
        self.fail(f"it ended before {phase!r}: {program.stderr.read()}")

    def assert_no_process_is_left(self, cache: str):
        """The worker ends when its input does, and everything else with it. Only its own command line has its cache."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            left = [entry for entry in Path("/proc").glob("[0-9]*/cmdline") if cache.encode() in _read(entry)]
            if not left:
                return
            time.sleep(0.05)
        self.fail(f"left: {left}")

    def test_control_c_ends_an_evaluation_and_its_processes(self):
        with tempfile.TemporaryDirectory() as cache:
            program = self.run_until("correctness", f"""
judge = kernelgen.open_local_judge(cache_dir={cache!r})
try:
    judge.evaluate(TASK, SLOW, UNTIMED, progress=progress)
except KeyboardInterrupt:
    print("interrupted", flush=True)
""")
            self.assertTrue(children_of(program.pid))
            sent = time.monotonic()
            program.send_signal(signal.SIGINT)
            line = program.stdout.readline()
            print(f"KeyboardInterrupt after {(time.monotonic() - sent) * 1000:.0f} ms")
            self.assertEqual(line, "interrupted\n")
            self.assertEqual((program.wait(30), program.stderr.read()), (0, ""))
            self.assert_no_process_is_left(cache)
            program.stdout.close()
            program.stderr.close()

    def test_the_interpreter_ends_while_an_evaluation_runs(self):
        with tempfile.TemporaryDirectory() as cache:
            program = self.run_until("correctness", f"""
import threading, time
judge = kernelgen.open_local_judge(cache_dir={cache!r})
began = threading.Event()
def report(step):
    progress(step)
    if step.phase == "correctness": began.set()
def work():
    try:
        judge.evaluate(TASK, SLOW, UNTIMED, progress=report)
    except kernelgen.Cancelled:
        pass
threading.Thread(target=work, daemon=True).start()
began.wait()
time.sleep(0.5)
""")
            self.assertTrue(children_of(program.pid))
            self.assertEqual((program.wait(30), program.stderr.read()), (0, ""))
            self.assert_no_process_is_left(cache)
            program.stdout.close()
            program.stderr.close()

    def test_a_forked_child_gets_a_worker_of_its_own(self):
        with tempfile.TemporaryDirectory() as cache:
            done = run_script(f"""
                import os
                from support import *
                from test_evaluate import KERNEL, TASK, UNTIMED
                judge = kernelgen.open_local_judge(cache_dir={cache!r})
                first = judge.evaluate(TASK, KERNEL, UNTIMED).correct
                child = os.fork()
                if child == 0:
                    os._exit(0 if judge.evaluate(TASK, KERNEL, UNTIMED).correct else 1)
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                print(first, status, judge.evaluate(TASK, KERNEL, UNTIMED).correct)
                """, timeout=150)
            self.assertEqual(done.stdout, "True 0 True\n", done.stderr)

    def test_a_python_without_torch_is_a_missing_tool(self):
        with tempfile.TemporaryDirectory() as directory:
            python = Path(directory) / "python"
            python.write_text(f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n", encoding="utf-8")
            python.chmod(0o755)
            with kernelgen.open_local_judge(python=str(python), cache_dir=directory) as judge:
                with self.assertRaisesRegex(kernelgen.Error, "torch"):
                    judge.evaluate(TASK, KERNEL, UNTIMED)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    unittest.main()
