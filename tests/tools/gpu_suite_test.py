#!/usr/bin/env python3
"""The tests that need a GPU, as far as they can be tested without one: how they find things, judge, and count."""

import argparse
import contextlib
import io
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "gpu"))

import evaluate  # noqa: E402
import several_gpus  # noqa: E402


def record(kind="correct", detail="", call=1.2, device=1.1, full=44):
    return {
        "outcome": {"kind": kind, "detail": detail, "message": "what happened"},
        "compile": {"command": ["nvcc"]},
        "timing": {
            "speedup_call": {"value": call},
            "speedup_device": {"value": device} if device else None,
            "speedup_device_reason": "" if device else "not capturable",
            "full_comparisons": full,
        },
    }


def judged(case, answer, exit_code=0):
    return evaluate.judge_result(case, 1.0, exit_code, json.dumps(answer), "")


class Cases(unittest.TestCase):
    def test_each_names_files_that_exist(self):
        here = ROOT / "tests" / "gpu"
        for case in evaluate.CASES:
            self.assertTrue((here / "tasks" / f"{case.task}.py").is_file(), case)
            self.assertTrue((here / "candidates" / case.candidate).is_file(), case)

    def test_no_candidate_is_left_out(self):
        folder = ROOT / "tests" / "gpu" / "candidates"
        files = {path.name for path in folder.iterdir() if path.suffix in (".cu", ".hip", ".py")}
        self.assertEqual(files, {case.candidate for case in evaluate.CASES})

    def test_python_candidates_are_python(self):
        for path in (ROOT / "tests" / "gpu" / "candidates").glob("*.py"):
            compile(path.read_text(encoding="utf-8"), str(path), "exec")


class Judging(unittest.TestCase):
    right = evaluate.right("relu", "relu.cu", evaluate.was_captured)

    def test_a_right_answer_passes(self):
        self.assertEqual(judged(self.right, record()).failures, [])

    def test_a_right_candidate_that_is_called_wrong_fails(self):
        self.assertIn("expected correct", judged(self.right, record("accuracy", "mismatch"), 2).failures[0])

    def test_suspect_is_not_correct(self):
        self.assertTrue(judged(self.right, record("suspect", "busy machine"), 2).failures)

    def test_too_few_full_comparisons_fail(self):
        self.assertIn("only 12 full comparisons", judged(self.right, record(full=12)).failures)

    def test_a_missing_device_ratio_fails(self):
        self.assertIn("no speedup_device: not capturable", judged(self.right, record(device=None)).failures)

    def test_a_candidate_that_waits_must_not_have_been_captured(self):
        case = evaluate.right("relu", "relu_waits.cu", evaluate.was_not_captured)
        self.assertEqual(judged(case, record(device=None)).failures, [])
        self.assertIn("no reason why it was called instead of replayed", judged(case, record()).failures)

    def test_a_wrong_exit_code_fails(self):
        self.assertIn("exit code 0, but the record means 1", judged(self.right, record(call=0.5)).failures)
        wrong = evaluate.wrong("relu", "twice.cu", "accuracy:*")
        self.assertIn("exit code 0, but the record means 2", judged(wrong, record("accuracy", "nan"), 0).failures)
        self.assertEqual(judged(wrong, record("accuracy", "nan"), 2).failures, [])

    def test_a_hip_kernel_on_nvidia_is_labelled_and_ends_with_1(self):
        case = evaluate.right("relu", "relu.hip", evaluate.executed_on_nvidia)
        labelled = {**record(), "labels": ["executed on NVIDIA: its source, compiled for that GPU"]}
        self.assertEqual(judged(case, labelled, 1).failures, [])
        self.assertIn("exit code 0, but the record means 1", judged(case, labelled, 0).failures)
        self.assertIn("no label says so: []", judged(case, {**record(), "labels": []}).failures)

    def test_a_refusal_names_what_it_refuses(self):
        case = next(case for case in evaluate.CASES if case.candidate == "wave_sums.hip")
        refused = {**record("compile", "other"), "compile": {"log": "__shfl_down without a width depends on the 64 lanes of"}}
        self.assertEqual(judged(case, refused, 2).failures, [])
        unnamed = {**record("compile", "other"), "compile": {"log": "error"}}
        self.assertEqual(judged(case, unnamed, 2).failures, ["__shfl_down is not named"])

    def test_a_forged_clock_may_be_correct_but_must_not_pay(self):
        case = evaluate.Case("relu", "forged_events.cu", ("correct", "suspect:*"), (evaluate.gained_nothing(1.5),))
        self.assertEqual(judged(case, record(call=1.1, device=None)).failures, [])
        self.assertIn("speedup_call 40.00, more than 1.5", judged(case, record(call=40, device=None)).failures)
        self.assertEqual(judged(case, record("suspect", "clock", call=40), 2).failures, [])

    def test_what_is_no_record_fails_with_what_was_said(self):
        result = evaluate.judge_result(self.right, 1.0, 69, "", "kgen: there is no nvcc\n")
        self.assertEqual(result.outcome, "no record, exit 69")
        self.assertEqual(result.failures, ["kgen: there is no nvcc"])


class Running(unittest.TestCase):
    """`evaluate.py` with a program that answers as kgen does."""

    KGEN = """#!{python}
import json, os, sys, time
if sys.argv[1] == "worker":
    time.sleep({worker_s})
name = os.path.basename(sys.argv[sys.argv.index("--code") + 1])
if name == "endless.cu":
    time.sleep(60)
right = name == "relu.cu"
print(json.dumps({{"outcome": {{"kind": "correct" if right else "timeout", "detail": "", "message": ""}},
    "compile": {{"command": ["nvcc"]}},
    "device": sys.argv[sys.argv.index("--device") + 1] if "--device" in sys.argv else None,
    "timing": {{"speedup_call": {{"value": 2}}, "speedup_device": {{"value": 2}}, "full_comparisons": 44}}}}))
sys.exit(0 if right else 2)
"""

    def run_cases(self, cases, worker_s, limit):
        with tempfile.TemporaryDirectory() as folder:
            kgen = pathlib.Path(folder) / "kgen"
            kgen.write_text(self.KGEN.format(python=sys.executable, worker_s=worker_s))
            kgen.chmod(kgen.stat().st_mode | stat.S_IXUSR)
            options = argparse.Namespace(kgen=str(kgen), device=None, limit=limit)
            with open(os.devnull, "w", encoding="utf-8") as nothing, contextlib.redirect_stdout(nothing):
                return evaluate.run_all(cases, options, pathlib.Path(folder))

    def test_a_hip_kernel_names_the_gpu(self):
        result, = self.run_cases([evaluate.right("relu", "relu.hip")], 60, limit=20)
        self.assertEqual(result.record["device"], "nvidia:0")
        result, = self.run_cases([evaluate.right("relu", "relu.cu")], 60, limit=20)
        self.assertIsNone(result.record["device"])

    def test_each_case_is_judged_and_a_program_that_hangs_is_a_failure(self):
        cases = [evaluate.right("relu", "relu.cu"), evaluate.wrong("relu", "twice.cu", "accuracy:*"),
                 evaluate.wrong("relu", "endless.cu", "timeout")]
        results = self.run_cases(cases, 60, limit=2)
        self.assertEqual([bool(result.failures) for result in results], [False, True, True])
        self.assertEqual(results[2].failures, ["nothing within 2 s"])

    def test_a_worker_that_ends_is_told_at_once(self):
        cases = [evaluate.wrong("relu", "endless.cu", "timeout"), evaluate.right("relu", "relu.cu")]
        results = self.run_cases(cases, 0, limit=60)
        self.assertEqual(results[0].failures, ["the worker ended", "the worker ended after it"])
        self.assertLess(results[0].seconds, 30)


class FakeNode(several_gpus.Bench):
    """Answers as one worker on these GPUs should, except for what the test plants."""

    def __init__(self, models="aa", place=None, outcomes=None, named=None):
        self.gpus = [{"index": i, "uuid": f"GPU-{i}", "name": model, "architecture": "sm_90", "multiprocessors": 132}
                     for i, model in enumerate(models)]
        self.shared = [gpu["uuid"] for gpu in self.gpus if several_gpus.are_alike(gpu, self.gpus[0])]
        self.worker = self
        self.sent = []
        self.place = place or (lambda number: self.shared[number % len(self.shared)])
        self.named = named or (lambda uuid: uuid)
        self.outcomes = {"twice.cu": ("accuracy", "mismatch"), "zeros_torch.py": ("accuracy", "mismatch"),
                         "illegal_address.cu": ("device_fault", "illegal_address"), **(outcomes or {})}

    def send(self, name, device=""):
        self.sent.append((name, self.named(device) if device else self.place(len(self.sent))))
        return len(self.sent) - 1

    def wait(self, request):
        name, uuid = self.sent[request]
        kind, detail = self.outcomes.get(name, ("correct", ""))
        return several_gpus.Answer(sent=0, answered=1, record={
            "outcome": {"kind": kind, "detail": detail, "message": ""}, "environment": {"device_uuid": uuid},
            "timing": {"speedup_call": {"value": 1.5}}})

    def run(self, *arguments):
        index = int(arguments[-1])
        if index >= len(self.gpus):
            return subprocess.CompletedProcess(arguments, 69, "", "there is no GPU")
        record = {"outcome": {}, "environment": {"device_uuid": self.named(self.gpus[index]["uuid"])}}
        return subprocess.CompletedProcess(arguments, 0, json.dumps(record), "")


class SeveralGpus(unittest.TestCase):
    def failures(self, node):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            failed = several_gpus.run_all(node)
        self.assertEqual(len(said.getvalue().splitlines()), len(several_gpus.CASES))
        self.assertEqual(said.getvalue().count("FAILED"), failed)
        return [line.split(":")[0].removeprefix("FAILED ") for line in said.getvalue().splitlines() if "FAILED" in line]

    def test_candidates_exist(self):
        for name in (*several_gpus.RIGHT, *several_gpus.FOUR, "illegal_address.cu"):
            self.assertTrue((ROOT / "tests" / "gpu" / "candidates" / name).is_file(), name)

    def test_a_worker_that_does_it_right_passes(self):
        for models in ("a", "aa", "aba", "aaaaaaaa"):
            self.assertEqual(self.failures(FakeNode(models)), [], models)

    def test_one_gpu_for_all_is_told(self):
        self.assertEqual(self.failures(FakeNode(place=lambda number: "GPU-0")), ["four at once"])

    def test_a_gpu_of_another_model_is_told(self):
        node = FakeNode("aba", place=lambda number: f"GPU-{number % 3}")
        self.assertEqual(self.failures(node), ["four at once"])

    def test_a_device_that_was_not_asked_for_is_told(self):
        self.assertEqual(self.failures(FakeNode(named=lambda uuid: "GPU-0")),
                         ["every kind on every gpu", "a fault stays where it is", "a named device is used"])

    def test_a_wrong_verdict_is_told(self):
        self.assertEqual(self.failures(FakeNode(outcomes={"twice.cu": ("correct", "")})), ["four at once"])
        self.assertEqual(self.failures(FakeNode(outcomes={"relu_triton.py": ("suspect", "busy machine")})),
                         ["four at once", "every kind on every gpu"])
        self.assertEqual(self.failures(FakeNode(outcomes={"illegal_address.cu": ("correct", "")})),
                         ["a fault stays where it is"])


class Script(unittest.TestCase):
    """tools/gpu_test.sh in a tree of its own, with a Python and a torch that reports a missing GPU."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tools").mkdir()
        (self.root / "tests" / "gpu").mkdir(parents=True)
        for name in ("common.sh", "gpu_test.sh"):
            shutil.copy(ROOT / "tools" / name, self.root / "tools" / name)
        self.program("build/bin/kgen", "#!/bin/sh\n")
        self.program("python", f'#!/bin/sh\nif [ "$1" = -c ]; then echo "A GPU"; else exec {sys.executable} "$@"; fi\n')

    def program(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def script(self, name, text):
        (self.root / "tests" / "gpu" / name).write_text(text)

    def run_it(self, *arguments, python="python"):
        environment = {**os.environ, "KGEN_PYTHON": str(self.root / python)}
        return subprocess.run([str(self.root / "tools" / "gpu_test.sh"), *arguments], env=environment, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)

    def test_scripts_and_their_cases_are_counted(self):
        self.script("a.py", "print('7 passed, 0 failed')")
        self.script("b.py", "import os; print(os.environ['KGEN'])")
        done = self.run_it()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "8 passed, 0 failed")
        self.assertIn(f"    {(self.root / 'build/bin/kgen').resolve()}", done.stdout)

    def test_failures_are_counted_and_named(self):
        self.script("a.py", "print('7 passed, 2 failed'); raise SystemExit(1)")
        self.script("b.py", "raise SystemExit(3)")
        self.script("c.py", "print('5 passed, 0 failed', flush=True); import os; os.abort()")
        done = self.run_it()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "12 passed, 4 failed")
        self.assertIn("FAILED  b: exit status 3", done.stdout)

    def test_a_script_that_hangs_is_ended(self):
        self.script("a.py", "import time; time.sleep(60)")
        done = self.run_it("--limit", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED  a: not done within 1 s", done.stdout)

    def test_probes_do_not_count(self):
        self.script("a_probe.py", "raise SystemExit(1)")
        self.script("b.py", "")
        self.assertEqual(self.run_it().stdout.splitlines()[-1], "1 passed, 0 failed")

    def test_one_of_them(self):
        self.script("a.py", "raise SystemExit(1)")
        self.script("b.py", "")
        self.assertEqual(self.run_it("--only", "b").returncode, 0)
        self.assertEqual(self.run_it("--only", "c").returncode, 69)

    def test_a_bundle_is_unpacked(self):
        (self.root / "build" / "bin" / "kgen").unlink()
        self.program("made/kernelgen/bin/kgen", "#!/bin/sh\n")
        subprocess.run(["tar", "-czf", str(self.root / "build" / "kernelgen-bundle-1.tar.gz"), "-C",
                        str(self.root / "made"), "kernelgen"], check=True)
        self.script("a.py", "import os; assert os.path.exists(os.environ['KGEN'])")
        self.assertEqual(self.run_it().stdout.splitlines()[-1], "1 passed, 0 failed")

    def test_what_is_missing_is_named(self):
        self.script("a.py", "")
        self.program("blind", "#!/bin/sh\necho\n")
        done = self.run_it(python="blind")
        self.assertEqual((done.returncode, "sees no GPU" in done.stdout), (69, True))
        self.program("poor", "#!/bin/sh\necho 'No module named torch' >&2\nexit 1\n")
        done = self.run_it(python="poor")
        self.assertEqual((done.returncode, "has no torch" in done.stdout), (69, True))
        (self.root / "build" / "bin" / "kgen").unlink()
        done = self.run_it()
        self.assertEqual((done.returncode, "There is no kgen to test" in done.stdout), (69, True))


if __name__ == "__main__":
    unittest.main()
