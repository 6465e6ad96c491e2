#!/usr/bin/env python3
"""Batches and workers under a real Slurm, with the files of examples/slurm, on a node that pretends GPUs.

The fake driver of tests/support/fake_cuda.c is behind it: Slurm gives each worker a GPU (CUDA_VISIBLE_DEVICES), and records say which
one judged. The kernels are wrong, so nothing is timed and a busy machine changes no verdict.
"""

import argparse
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

import cluster

GPUS = 3
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
#include <unistd.h>
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const struct kgen_prepare_args*, struct kgen_prepare_result*) { return 0; }
KGEN_API int kgen_run(void*, const struct kgen_run_args*) { %s return 0; }
KGEN_API void kgen_destroy(void*) {}
"""
#: Runs until its worker is told to end; the time limit of a call is beyond that of the test.
SLOW = WRONG % "sleep(500);"


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slurm = cluster.Cluster(gpus=GPUS)
        cls.slurm.environment.update(LD_LIBRARY_PATH=options.fake_cuda, KGEN_FAKE_CUDA_GPUS=",".join(["Fake GPU"] * GPUS),
                                     PATH=f"{pathlib.Path(options.kgen).parent}:{cluster.PATH}", XDG_CONFIG_HOME="/dev/null")
        cls.addClassCleanup(cls.slurm.stop)
        cls.slurm.start()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kgen-slurm-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(self.cancel_all)
        self.path = pathlib.Path(folder.name)
        (self.path / "tasks").mkdir()
        for factor in range(1, 7):
            (self.path / f"tasks/t{factor}.py").write_text(TASK.format(factor=factor))
        (self.path / "wrong.cu").write_text(WRONG % "")
        self.model = self.path / "model"
        self.seconds = self.path / "seconds"
        self.seconds.write_text("0")
        self.model.write_text(f"#!/bin/sh\ncat > /dev/null\nsleep $(cat {self.seconds})\necho asked >> {self.path}/asked\n"
                              f"cat <<'END'\n```cuda\n{WRONG % ''}```\nEND\n")
        self.model.chmod(self.model.stat().st_mode | stat.S_IXUSR)
        self.spool = self.path / "spool"
        self.results = self.path / "results"
        self.output = self.path / "output"

    def cancel_all(self):
        self.slurm.run("scontrol", "update", f"NodeName={self.slurm.host}", "State=RESUME", check=False)
        self.slurm.run("scancel", "--user=root", check=False)
        self.slurm.wait_until(lambda: not self.slurm.run("squeue", "-h").stdout, "all jobs end", 60)

    def batch_arguments(self, *more):
        return [self.path / "tasks", "--target", "cuda", "--policy", "one-shot", "--samples", "1", "--llm",
                f"command:{self.model}", "--results", self.results, "--cache-dir", self.path / "cache", "--no-sanitize", "--config",
                "/dev/null", *more]

    def submit(self, file, *arguments, sbatch=()):
        return self.slurm.sbatch(f"--output={self.output}-%j", *sbatch, options.examples / file, *arguments)

    def outputs(self):
        return "".join(path.read_text() for path in sorted(self.path.glob("output-*")))

    def wait_for_job(self, job, states=("COMPLETED",), seconds=240):
        try:
            self.slurm.wait_until(lambda: set(self.slurm.job_state(job)) & set(states), f"job {job} is {states}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.slurm.run('squeue', '--states=all').stdout}\n{self.outputs()}") from None

    def verdicts(self, spool):
        """The devices of the records by their outcomes' kinds."""
        records = [json.loads(path.read_text())["record"] for path in spool.glob("evaluate-*.result.json")]
        self.assertEqual({record["outcome"]["kind"] for record in records}, {"accuracy"})
        return [record["environment"]["device_uuid"] for record in records]

    def ask(self, code="wrong.cu", *more):
        """A client that leaves a request, as a batch does."""
        return subprocess.Popen([options.kgen, "eval", "--problem", self.path / "tasks/t1.py", "--code", self.path / code, "--spool",
                                 self.spool, "--config", "/dev/null", *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def wait_for_claim(self):
        self.slurm.wait_until(lambda: list(self.spool.glob("evaluate-*.claim.*")), "a worker has the request", 120)
        return next(self.spool.glob("evaluate-*.claim.*")).name

    def finish(self, client):
        text = client.communicate(timeout=240)[0]
        self.assertIn("accuracy", text, self.outputs())
        return text

    def test_a_campaign_in_one_allocation_uses_all_its_gpus(self):
        job = self.submit("campaign.sbatch", *self.batch_arguments(), sbatch=(f"--gres=gpu:{GPUS}", f"-n{GPUS}"))
        # The exit code of a batch without a correct kernel is 2.
        self.wait_for_job(job, ("FAILED", "COMPLETED"))
        self.assertIn("6 runs: 6 failed", self.outputs())
        self.assertEqual(len(set(self.verdicts(self.results / ".spool"))), GPUS)
        self.assertEqual(list((self.results / ".spool").glob("*.worker.json")), [])

    def test_a_campaign_that_hits_its_time_limit_goes_on(self):
        # One task at a time and 15 s for a reply: more than a minute leaves before the signal.
        self.seconds.write_text("15")
        job = self.submit("campaign.sbatch", *self.batch_arguments("--parallel-tasks", "1", "--first", "4"),
                          sbatch=("--time=1", "--signal=B:USR1@50"))
        self.slurm.wait_until(lambda: "interrupted; the same command goes on" in self.outputs(), "it was interrupted", 120)
        self.wait_for_job(job, ("PENDING",))
        asked = self.path / "asked"
        before = len(asked.read_text().splitlines()) if asked.exists() else 0
        self.assertLess(before, 4)
        self.seconds.write_text("0")
        self.wait_for_job(job, ("FAILED", "COMPLETED"))
        self.assertIn("4 runs: 4 failed", self.outputs())
        # No reply that had arrived was asked for again.
        self.assertEqual(len(asked.read_text().splitlines()), 4)

    def test_workers_that_join_serve_a_batch_on_the_login_node(self):
        batch = subprocess.Popen([options.kgen, "batch", *self.batch_arguments("--gpu", "h100", "--spool", self.spool,
                                                                              "--parallel-tasks", "6")],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(batch.kill)
        job = self.submit("workers.sbatch", self.spool, "--cache-dir", self.path / "cache",
                          sbatch=(f"--array=1-{GPUS}", "--export=ALL,KGEN_IDLE_TIMEOUT=3"))
        text = batch.communicate(timeout=240)[0]
        self.assertEqual(batch.returncode, 2, text)
        self.assertIn("6 runs: 6 failed", text)
        self.assertEqual(len(set(self.verdicts(self.spool))), GPUS)
        # They end by themselves.
        self.slurm.wait_until(lambda: set(self.slurm.job_state(job)) == {"COMPLETED"}, "the workers have ended", 60)

    def test_a_cancelled_worker_gives_its_request_back(self):
        (self.path / "slow.cu").write_text(SLOW)
        client = self.ask("slow.cu", "--timeout", "400")
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        first = self.submit("workers.sbatch", self.spool, "--cache-dir", self.path / "cache")
        claim = self.wait_for_claim()
        self.slurm.run("scancel", first)
        self.slurm.wait_until(lambda: list(self.spool.glob("evaluate-*.request.json")), "the request is given back", 60)
        self.assertFalse((self.spool / claim).exists())
        self.assertEqual(list(self.spool.glob("*.expired.*")), [])

    def test_a_requeued_worker_and_a_drained_node(self):
        self.slurm.run("scontrol", "update", f"NodeName={self.slurm.host}", "State=DRAIN", "Reason=test")
        client = self.ask()
        self.addCleanup(client.kill)
        job = self.submit("workers.sbatch", self.spool, "--cache-dir", self.path / "cache")
        self.slurm.wait_until(lambda: re.search("drain", self.slurm.node_state()), "the node is drained", 20)
        self.assertEqual(self.slurm.job_state(job), ["PENDING"])
        self.slurm.run("scontrol", "update", f"NodeName={self.slurm.host}", "State=RESUME")
        self.finish(client)
        # It waits for more; Slurm takes it off the node, and starts it again.
        self.slurm.run("scontrol", "requeue", f"{job}_1")
        self.slurm.wait_until(lambda: self.slurm.job_state(job) == ["PENDING"], "it waits again", 60)
        self.slurm.wait_until(lambda: not list(self.spool.glob("*.worker.json")), "the first one has ended", 30)
        second = self.path / "tasks/t1.py"
        second.write_text(TASK.format(factor=11))
        client = self.ask()
        self.addCleanup(client.kill)
        self.finish(client)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--fake-cuda", required=True, help="the folder of the driver")
    parser.add_argument("--examples", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    missing = cluster.missing_programs()
    if missing or os.geteuid() != 0:
        print("skipped:", f"{', '.join(missing)} are missing (tools/setup.sh --dev)" if missing else "not root")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
