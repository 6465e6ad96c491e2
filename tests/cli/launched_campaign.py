"""Batches that start their workers by commands: three tasks, a model that is a program, and what is left of them afterwards.

The model's kernels are wrong, so nothing is timed and a busy machine changes no verdict.
"""

import os
import pathlib
import shlex
import signal
import stat
import subprocess
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


class LaunchedCampaign(unittest.TestCase):
    #: The program under test, kgen.
    kgen = None
    #: Kernels of each task.
    samples = 1

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
        self.results = self.path / "results"
        self.spool = self.results / ".spool"

    def command(self, *arguments):
        return [self.kgen, "batch", str(self.path / "tasks"), "--target", "cpp", "--device", "cpu", "--policy", "one-shot",
                "--samples", str(self.samples), "--llm", f"command:{shlex.quote(str(self.path / 'model'))}", "--results", str(self.results),
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

    def interrupt(self, running):
        """Interrupts a batch that judges; nothing is left of it."""
        self.wait_until(self.claims, "a claim")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130, out + err)
        self.check_ended()
        self.assertEqual(self.claims(), [])

    def check_ended(self):
        self.wait_until(lambda: not self.workers(), "the workers end", 20)
        self.assertEqual(list(self.spool.glob("*.client.json")) + self.heartbeats(), [])
