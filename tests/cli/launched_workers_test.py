#!/usr/bin/env python3
"""A batch that starts its workers by commands: workers that come, go, are killed, cannot be started, and end with it.

The model's kernels are wrong, so nothing is timed and a busy machine changes no verdict.
"""

import argparse
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

TASK = """
import torch, torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * {factor}
def get_inputs():
    return [torch.randn(16, 64)]
def get_init_inputs():
    return []
"""

WRONG = """
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const struct kgen_prepare_args*, struct kgen_prepare_result*) { return 0; }
KGEN_API int kgen_run(void*, const struct kgen_run_args*) { return 0; }
KGEN_API void kgen_destroy(void*) {}
"""

#: Looks like ssh: the worker survives the command that started it.
SHIELD = "sh -c 'setsid \"$0\" \"$@\" & wait'"


class LaunchedWorkers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kgen-launched-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.addCleanup(self.end_workers)
        (self.path / "tasks").mkdir()
        for factor in (1, 2, 3):
            (self.path / f"tasks/t{factor}.py").write_text(TASK.format(factor=factor))
        model = self.path / "model"
        model.write_text(f"#!/bin/sh\ncat > /dev/null\ncat <<'END'\n```cpp\n{WRONG}```\nEND\n")
        model.chmod(model.stat().st_mode | stat.S_IXUSR)
        self.spool = self.path / "results/.spool"

    def command(self, *arguments):
        return [options.kgen, "batch", str(self.path / "tasks"), "--target", "cpp", "--device", "cpu", "--policy", "one-shot",
                "--samples", "1", "--llm", f"command:{self.path / 'model'}", "--results", str(self.path / "results"),
                "--cache-dir", str(self.path / "cache"), "--config", "/dev/null", *arguments]

    def batch(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300, check=False)

    def start(self, *arguments):
        return subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def workers(self):
        """Numbers of the processes that serve this test's directory."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if words[1:2] == ["worker"] and any(str(self.path) in word for word in words):
                found.append(int(entry.name))
        return found

    def end_workers(self):
        for pid in self.workers():
            os.kill(pid, signal.SIGKILL)

    def wait_until(self, is_true, what, seconds=120):
        deadline = time.monotonic() + seconds
        while not is_true():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def heartbeats(self):
        return list(self.spool.glob("*.worker.json")) if self.spool.exists() else []

    def claims(self):
        return list(self.spool.glob("*.claim.*")) if self.spool.exists() else []

    def check_ended(self):
        self.wait_until(lambda: not self.workers(), "the workers end", 20)
        self.assertEqual(list(self.spool.glob("*.client.json")) + self.heartbeats(), [])

    def test_work_goes_through_the_workers_and_they_end_with_it(self):
        done = self.batch("--worker", "2 x env -u NOTHING")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("3 runs: 3 failed", done.stdout)
        self.assertEqual(len(list(self.spool.glob("evaluate-*.result.json"))), 3)
        self.check_ended()
        records = [json.loads(path.read_text()) for path in self.spool.glob("evaluate-*.result.json")]
        self.assertEqual({record["record"]["outcome"]["kind"] for record in records}, {"accuracy"})

    def test_a_worker_that_is_killed_is_started_again(self):
        running = self.start("--worker", "env -u NOTHING", "--worker", SHIELD)
        self.wait_until(lambda: len(self.heartbeats()) == 2, "two workers")
        first = [pid for pid in self.workers() if os.getpgid(pid) == pid and os.stat(f"/proc/{pid}")]
        os.kill(first[0], signal.SIGKILL)
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 2, err)
        self.assertIn("3 runs: 3 failed", out)
        self.check_ended()

    def test_workers_that_cannot_start_are_given_up_with_the_reason(self):
        done = self.batch("--worker", "2 x sh -c 'echo no such partition >&2; exit 3'")
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("ended (exit 3: no such partition); it is started again in 2 s", done.stderr)
        last = done.stderr.splitlines()[-1]
        self.assertRegex(last, "^kgen: no worker can be started: each of 2 ended 3 times without an answer, the last one was "
                               "worker [12] .*: exit 3: no such partition; the same command goes on from here$")
        self.check_ended()
        again = self.batch("--worker", "env -u NOTHING")
        self.assertEqual(again.returncode, 2, again.stderr)

    def test_commands_that_are_none(self):
        for command, code, words in (("no-such-program -n1", 69, "cannot run no-such-program"),
                                     ("0 x env", 64, "expected 1 to 1024 workers, not 0"),
                                     ("8 x", 64, "expected a command that starts a worker"),
                                     ("ssh 'node1", 64, "quote that stays open")):
            done = self.batch("--worker", command)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)
        self.assertIn("cannot be combined", self.batch("--worker", "env", "--launch-prefix", "env").stderr)

    def test_an_interrupted_batch_ends_its_workers_and_goes_on_later(self):
        running = self.start("--worker", "env -u NOTHING", "--worker", SHIELD)
        self.wait_until(self.claims, "a claim")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130, out + err)
        self.check_ended()
        self.assertEqual(self.claims(), [])
        self.assertEqual(self.batch("--worker", "env -u NOTHING").returncode, 2)

    def test_a_batch_that_is_killed_leaves_no_worker(self):
        running = self.start("--worker", "env -u NOTHING")
        self.wait_until(self.claims, "a claim")
        running.kill()
        running.communicate(timeout=60)
        self.wait_until(lambda: not self.workers(), "the worker ends", 20)
        # Where no signal arrives, the heartbeat of the client decides.
        (client,) = self.spool.glob("*.client.json")
        name = client.name[:-len(".client.json")]
        began = time.monotonic()
        done = subprocess.run([options.kgen, "worker", "--spool", str(self.spool), "--client", name, "--lease", "2"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(time.monotonic() - began, 1.9)
        client.unlink()
        done = subprocess.run([options.kgen, "worker", "--spool", str(self.spool), "--client", name],
                              capture_output=True, text=True, timeout=50, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_worker_that_joined_ends_when_it_is_idle(self):
        self.spool.mkdir(parents=True)
        done = subprocess.run([options.kgen, "worker", "--spool", str(self.spool), "--idle-timeout", "0.5"],
                              capture_output=True, text=True, timeout=50, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
