#!/usr/bin/env python3
"""Tests of the program kgen: exit codes, one-line errors, help, and docs/cli.md.

With KERNELGEN_ACCEPT_GOLDEN=1 the help texts in docs/cli.md are rewritten instead of compared.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

KGEN = SOURCE = None
HELP_BLOCK = re.compile(r"(<!-- help: (\w*) ?-->\n```text\n)(.*?)(```)", re.S)
WITHOUT_TORCH = """#!/bin/sh
case "$*" in *torch*) echo "python 3.11.7"; echo "torch !No module named 'torch'";; *) exit 1;; esac
"""


class KgenTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = pathlib.Path(self.directory.name)
        self.kernel = self.path / "kernel.cpp"
        self.kernel.write_text("// a kernel\n")
        self.task = SOURCE / "examples/tasks/relu.py"

    def run_kgen(self, *arguments, environment=None, **options):
        return subprocess.run([str(KGEN), *map(str, arguments)], stdin=subprocess.DEVNULL,
                              stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, text=True,
                              timeout=300, cwd=self.path, **options,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.path), **(environment or {})})

    def check_error(self, code, text, *arguments, **options):
        result = self.run_kgen(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, text)
        self.assertEqual(result.stderr.count("\n"), 1, "an error is one line: " + result.stderr)
        self.assertTrue(result.stderr.startswith("kgen: "), result.stderr)
        self.assertFalse(result.stdout)

    def eval(self, *more, code=None, task=None):
        return ("eval", "--code", code or self.kernel, "--problem", task or self.task, *more)

    def test_no_command(self):
        self.check_error(64, "command")

    def test_unknown_command(self):
        self.check_error(64, r"unknown command evaluate; did you mean eval\? \(see kgen --help\)", "evaluate")

    def test_unknown_option(self):
        self.check_error(64, r"unknown option --colour \(see kgen eval --help\)", *self.eval("--colour"))
        self.check_error(64, r"unknown option --probelm; did you mean --problem or --profile\?", *self.eval("--probelm", "x"))

    def test_missing_option(self):
        self.check_error(64, "--code is required", "eval")
        self.check_error(64, "--problem is required", "eval", "--code", self.kernel)

    def test_missing_code(self):
        self.check_error(64, "cannot read .*nothing.cpp: No such file", *self.eval(code=self.path / "nothing.cpp"))

    def test_code_is_a_directory(self):
        self.check_error(64, "directory", *self.eval(code=self.path))

    def test_missing_task(self):
        self.check_error(64, "nothing.py", *self.eval(task="nothing.py"))

    def test_task_by_name_without_kernelbench(self):
        self.check_error(64, "KERNELBENCH_DIR", *self.eval(task="level3/40"))

    def test_unknown_target(self):
        self.check_error(64, "--target: expected cpp, cuda, hip, hipkittens, torch or triton, not vulkan", *self.eval("--target", "vulkan"))

    def test_target_that_cannot_be_guessed(self):
        strange = self.path / "kernel.txt"
        strange.write_text("")
        self.check_error(64, "pass --target", *self.eval(code=strange))

    def test_a_search_for_hip_needs_a_device_with_times(self):
        run = ("run", self.task, "--target", "hip", "--llm", f"mailbox:{self.path}/mail", "--results", self.path / "results")
        self.check_error(64, "target hip needs a GPU, not the cpu: there it has no time to be improved", *run, "--device", "cpu")
        self.check_error(69, "target hip needs a GPU: there is no GPU here: ", *run,
                         environment={"LD_LIBRARY_PATH": str(self.path)})

    def test_a_hipkittens_kernel_without_a_gpu(self):
        (self.path / "libcuda.so.1").write_text("no library")
        self.check_error(69, "there is no GPU here: ", *self.eval("--target", "hipkittens"),
                         environment={"LD_LIBRARY_PATH": str(self.path)})
        device_code = self.path / "kernel.hip"
        device_code.write_text("// kittens")
        self.check_error(69, "there is no GPU here: ", *self.eval(code=device_code),
                         environment={"LD_LIBRARY_PATH": str(self.path)})
        self.check_error(64, "hipkittens kernels need a GPU, not the cpu: they are written for matrix instructions",
                         *self.eval("--device", "cpu", code=device_code))

    def test_a_cuda_kernel_without_a_gpu(self):
        (self.path / "libcuda.so.1").write_text("no library")
        device_code = self.path / "kernel.cu"
        device_code.write_text("")
        self.check_error(69, "there is no GPU here: there is no GPU driver", *self.eval(code=device_code),
                         environment={"LD_LIBRARY_PATH": str(self.path)})

    def test_unknown_precision(self):
        self.check_error(64, "--precision: expected strict, default, .* not fp8; did you mean fp16",
                         *self.eval("--precision", "fp8"))

    def test_bad_numbers(self):
        for option, value in (("--timeout", "0"), ("--timeout", "soon"), ("--threads", "-1"), ("--rtol", "-1"),
                              ("--memory-limit", "8 potatoes"), ("--shrink", "batch"), ("--shrink", "batch=many"),
                              ("--shrink", "batch=0")):
            with self.subTest(option=option, value=value):
                self.check_error(64, option, *self.eval(option, value))

    def test_output_that_cannot_be_written(self):
        self.check_error(64, "cannot write .*No such file", *self.eval("--output", self.path / "no/r.json"))
        self.check_error(64, "is a directory", *self.eval("--output", self.path))

    def test_no_cache_directory(self):
        self.check_error(64, "--cache-dir", "doctor", environment={"HOME": ""})

    def test_missing_python(self):
        result = self.run_kgen("doctor", "--json", environment={"KGEN_PYTHON": "/no/such/python"})
        self.assertEqual(result.returncode, 69)
        self.assertEqual(self.finding(result, "python")["status"], "missing")

    def test_eval_with_a_missing_python(self):
        self.check_error(69, "/no/such/python: no such program", *self.eval(),
                         environment={"KGEN_PYTHON": "/no/such/python"})

    def test_eval_with_a_cache_that_cannot_be_made(self):
        self.check_error(64, "/dev/null/cache", *self.eval("--cache-dir", "/dev/null/cache"))

    def test_python_without_torch(self):
        python = self.path / "python"
        python.write_text(WITHOUT_TORCH)
        python.chmod(0o755)
        result = self.run_kgen("doctor", "--json", environment={"KGEN_PYTHON": str(python)})
        self.assertEqual(result.returncode, 69)
        torch = self.finding(result, "torch")
        self.assertEqual((torch["status"], torch["detail"]), ("missing", "No module named 'torch'"))
        self.assertIn("tools/setup.sh", torch["remedy"])

    def finding(self, result, name):
        return next(f for f in json.loads(result.stdout)["findings"] if f["name"] == name)

    def test_worker_of_an_empty_spool(self):
        spool = self.path / "spool"
        self.check_error(64, "the spool .*/spool does not exist; pass --create to make it", "worker", "--spool", spool,
                         "--once")
        self.assertFalse(spool.exists())
        result = self.run_kgen("worker", "--spool", spool, "--once", "--create")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(list(spool.iterdir()), [])

    def test_worker_answers_a_broken_request(self):
        spool = self.path / "spool"
        spool.mkdir()
        (spool / "bad.request.json").write_text("{")
        result = self.run_kgen("worker", "--spool", spool, "--once")
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertTrue(result.stderr.startswith("bad: error: bad message: "), result.stderr)
        answer = json.loads((spool / "bad.result.json").read_text())
        self.assertEqual((answer["type"], answer["error"]["code"]), ("error", "protocol"))

    def test_worker_that_cannot_judge_leaves_the_request(self):
        spool = self.path / "spool"
        self.check_error(75, "result.json yet", *self.eval("--spool", spool, "--no-wait"))
        before = list(spool.iterdir())
        self.check_error(69, "/no/such/python", "worker", "--spool", spool, "--once",
                         environment={"KGEN_PYTHON": "/no/such/python"})
        self.assertEqual(list(spool.iterdir()), before)

    def test_worker_of_a_spool_that_cannot_be(self):
        self.check_error(64, "--spool", "worker", "--once")
        self.check_error(64, "opening the spool", "worker", "--spool", self.kernel, "--once")
        self.check_error(64, "--status: expected a value", "worker", "--status", "")
        self.check_error(64, "nothing is not a spool: it does not exist", "worker", "--status", self.path / "nothing")
        self.check_error(64, "is not a spool: it is not a directory", "worker", "--status", self.kernel)

    def test_status_of_a_spool(self):
        spool = self.path / "spool"
        self.check_error(75, "result.json yet", *self.eval("--spool", spool, "--no-wait"))
        shown = self.run_kgen("worker", "--status", spool)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertRegex(shown.stdout, r"^no worker, 1 request waits, 0 being judged, 0 answered\n"
                                       r"waits +evaluate-\w+ for \d+ s\nstart one  kgen worker --spool ")
        for request in spool.iterdir():
            request.unlink()
        process = subprocess.Popen([str(KGEN), "worker", "--spool", str(spool), "--jobs", "3"], cwd=self.path,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={"PATH": os.environ["PATH"], "HOME": str(self.path)})
        try:
            deadline = time.monotonic() + 300
            workers = []
            while not workers and time.monotonic() < deadline:
                workers = json.loads(self.run_kgen("worker", "--status", spool, "--json").stdout)["workers"]
            self.assertEqual([(one["pid"], one["jobs"]) for one in workers], [(process.pid, 3)])
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=20)

    def test_worker_of_a_spool_is_told_to_stop(self):
        spool = self.path / "spool"
        process = subprocess.Popen([str(KGEN), "worker", "--spool", str(spool), "--create"], cwd=self.path,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={"PATH": os.environ["PATH"], "HOME": str(self.path)})
        deadline = time.monotonic() + 300
        while not spool.is_dir() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.communicate(timeout=20), ("", ""))
        self.assertEqual(process.returncode, 0)

    def test_full_standard_output(self):
        with open("/dev/full", "w") as full:
            result = self.run_kgen("doctor", stdout=full, environment={"KGEN_PYTHON": "/no/such/python"})
        self.assertEqual(result.returncode, 69)
        self.assertEqual(result.stderr, "kgen: cannot write to standard output\n")

    def test_a_reader_that_has_seen_enough(self):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "w") as pipe:
            result = self.run_kgen("--help", stdout=pipe)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_interrupt(self):
        python = self.path / "python"
        python.write_text("#!/bin/sh\nsleep 60\n")
        python.chmod(0o755)
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([str(KGEN), "doctor"], cwd=self.path, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True,
                                       env={"PATH": os.environ["PATH"], "HOME": str(self.path),
                                            "KGEN_PYTHON": str(python)})
            try:
                process.communicate(timeout=1)
            except subprocess.TimeoutExpired:
                pass
            process.send_signal(signal_number)
            # Less than its Python sleeps.
            _, errors = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 130, errors)

    def test_prompt_usage(self):
        prompt = ("prompt", self.task, "--phase", "seed", "--target", "cpp")
        self.check_error(64, "task is required", "prompt")
        self.check_error(64, "--phase is required", "prompt", self.task)
        self.check_error(64, "--phase: expected seed, repair, .* not ponder ", "prompt", self.task, "--phase", "ponder",
                         "--target", "cpp")
        self.check_error(64, "--target: expected .* not vulkan", "prompt", self.task, "--phase", "seed", "--target", "vulkan")
        self.check_error(64, "nothing.py", "prompt", "nothing.py", *prompt[2:])
        self.check_error(64, "--result needs --candidate", *prompt, "--result", self.kernel)
        self.check_error(64, "cannot read .*none.cpp", *prompt, "--candidate", "none.cpp")
        self.check_error(64, "cannot read the templates in none", *prompt, "--prompts", "none")
        self.check_error(64, "--precision: expected .* not fp8", *prompt, "--precision", "fp8")
        self.check_error(64, "--max-tokens: expected a whole number of at least 1, not 0", *prompt, "--max-tokens", "0")

    def test_detect(self):
        kernel = SOURCE / "tests/data/detect/triton_unsynchronized_hidden.py"
        result = self.run_kgen("detect", kernel)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.startswith("persistent\nwhy "), result.stdout)
        self.assertIn("unsynchronized_state in line ", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)
        report = json.loads(self.run_kgen("detect", kernel, "--json").stdout)
        self.assertEqual(report["verdict"], "persistent")
        self.assertEqual([warning["name"] for warning in report["warnings"]], ["unsynchronized_state"])
        forced = json.loads(self.run_kgen("detect", kernel, "--json", "--target", "cuda").stdout)
        self.assertEqual(forced["verdict"], "unknown")

    def test_detect_errors(self):
        self.check_error(64, "file is required .see kgen detect --help.", "detect")
        self.check_error(64, "nothing.cu: No such file", "detect", self.path / "nothing.cu")
        self.check_error(64, "--target: expected .* not vulkan", "detect", self.kernel, "--target", "vulkan")
        strange = self.path / "kernel.txt"
        strange.write_text("")
        self.check_error(64, "pass --target", "detect", strange)

    def make_results(self):
        """One run failed, and another one has a damaged journal."""
        started = {"schema": 1, "type": "run_started", "time": "2025-01-31T00:00:00.000Z", "kernelgen_version": "0.1.0",
                   "task": {"name": "relu"}, "target": "cpp", "policy": "hybrid", "options": [], "model": "mailbox:m"}
        finished = {"schema": 1, "type": "run_finished", "time": "2025-01-31T00:01:30.000Z",
                    "reason": "no seed is correct", "reached": False}
        results = self.path / "results"
        for name, text in (("relu", json.dumps(started) + "\n" + json.dumps(finished) + "\n"), ("broken", "{}\n")):
            (results / name).mkdir(parents=True)
            (results / name / "events.jsonl").write_text(text)
        return results

    def test_report(self):
        results = self.make_results()
        table = self.run_kgen("report", results)
        self.assertEqual((table.returncode, table.stderr), (0, ""))
        self.assertRegex(table.stdout, r"(?m)^relu +failed +- .* 1\.5 ")
        self.assertRegex(table.stdout, r"(?m)^damaged: .*broken/events.jsonl, line 1: not an event")
        self.assertEqual({path.name for path in results.iterdir() if path.is_file()},
                         {".lock", "summary.json", "summary.csv", "usage.csv", "detailed_report.txt",
                          "detailed_report.json", "detailed_report.html"})
        self.assertTrue((results / "relu/figures/score.svg").is_file())
        printed = self.run_kgen("report", results, "--json")
        self.assertEqual((printed.returncode, printed.stdout), (0, (results / "summary.json").read_text()))
        self.assertEqual([run["status"] for run in json.loads(printed.stdout)["runs"]], ["damaged", "failed"])

    def test_report_of_what_is_no_results_directory(self):
        self.check_error(64, "results is no results directory: it does not exist", "report")
        results = self.make_results()
        self.check_error(64, "nothing is no results directory: it does not exist", "report", "nothing")
        self.check_error(64, "it is a run", "report", results / "relu")
        self.check_error(64, "it is no directory", "report", results / "relu/events.jsonl")

    def make_comparable_results(self):
        """Two results directories: a task that both failed, and one that only the first one has."""
        directories = []
        for name, tasks in (("one", ("relu", "sum")), ("two", ("relu",))):
            directories.append(self.path / name)
            for task in tasks:
                started = {"schema": 1, "type": "run_started", "time": "2025-01-31T00:00:00.000Z", "kernelgen_version": "0.1.0",
                           "task": {"name": task}, "target": "cpp", "policy": "hybrid", "options": [], "model": "mailbox:m"}
                finished = {"schema": 1, "type": "run_finished", "time": "2025-01-31T00:01:30.000Z",
                            "reason": "no seed is correct", "reached": False}
                (directories[-1] / task).mkdir(parents=True)
                (directories[-1] / task / "events.jsonl").write_text(json.dumps(started) + "\n" + json.dumps(finished) + "\n")
        return directories

    def test_compare(self):
        one, two = self.make_comparable_results()
        table = self.run_kgen("compare", one, two)
        self.assertEqual((table.returncode, table.stderr), (0, ""))
        self.assertIn("B against A, 1 task of both\n", table.stdout)
        self.assertIn("B won 0, lost 0, tied 0; neither correct 1, no time 0\n", table.stdout)
        self.assertIn("only in A (1): sum\n", table.stdout)
        report = json.loads(self.run_kgen("compare", "--json", one, two).stdout)
        self.assertEqual([each["directory"] for each in report["sets"]], [str(one), str(two)])
        self.assertEqual(report["comparisons"][0]["neither_correct"], 1)
        self.assertEqual(sorted(path.name for path in one.iterdir()), ["relu", "sum"])

    def test_compare_of_what_cannot_be_compared(self):
        one, two = self.make_comparable_results()
        self.check_error(64, "directory is required", "compare")
        self.check_error(64, "one directory alone is compared by a property of its runs, such as --by model", "compare", one)
        self.check_error(64, "have the same model; there is nothing to compare", "compare", one, "--by", "model")
        self.check_error(64, "--by compares the runs of a single directory", "compare", one, two, "--by", "model")
        self.check_error(64, "one is named twice; compare it with another one", "compare", one, one)
        self.check_error(64, "nothing is no results directory: it does not exist", "compare", one, "nothing")
        (two / "relu").rename(two / "other")
        self.check_error(64, "have no task in common .the first task of each: relu, other", "compare", one, two)

    def test_devices(self):
        fake = {"LD_LIBRARY_PATH": str(FAKE_CUDA)}
        result = self.run_kgen("devices", "--json", environment=fake)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        gpu, = json.loads(result.stdout)["gpus"]
        self.assertEqual((gpu["vendor"], gpu["multiprocessors"]), ("fake", 4))
        self.assertGreater(gpu["measured_bytes_per_second"], 0)
        self.assertIn("a time is no result", self.run_kgen("devices", environment=fake).stdout)

    def test_a_profile_needs_a_gpu_of_a_known_maker(self):
        fake = {"LD_LIBRARY_PATH": str(FAKE_CUDA)}
        arguments = ["profile", "--problem", SOURCE / "examples/tasks/relu.py"]
        result = self.run_kgen(*arguments, environment=fake)
        self.assertEqual(result.returncode, 69)
        self.assertIn("there is no profiler for Fake GPU", result.stderr)

    def test_a_machine_without_a_gpu(self):
        (self.path / "libcuda.so.1").write_text("no library")
        result = self.run_kgen("devices", environment={"LD_LIBRARY_PATH": str(self.path)})
        self.assertEqual(result.returncode, 0)
        self.assertIn("no GPU: there is no GPU driver", result.stdout)

    def test_version(self):
        result = self.run_kgen("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^kgen \d+\.\d+\.\d+\n$")

    def test_help_is_in_the_manual(self):
        page = SOURCE / "docs/cli.md"
        text = page.read_text()
        commands = [match.group(2) for match in HELP_BLOCK.finditer(text)]
        top = self.run_kgen("--help").stdout
        listed = re.findall(r"^  (\w+) ", top.split("Commands:")[1], re.M)
        self.assertEqual(commands, ["", *listed], "docs/cli.md shows every command, in the order of kgen --help")

        def fresh(match):
            result = self.run_kgen(*match.group(2).split(), "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            return match.group(1) + result.stdout + match.group(4)

        renewed = HELP_BLOCK.sub(fresh, text)
        if os.environ.get("KERNELGEN_ACCEPT_GOLDEN") == "1":
            page.write_text(renewed)
        else:
            self.assertEqual(renewed, text, "KERNELGEN_ACCEPT_GOLDEN=1 renews the help in docs/cli.md")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--fake-cuda", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    KGEN, SOURCE, FAKE_CUDA = options.kgen.resolve(), options.source.resolve(), options.fake_cuda.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
