#!/usr/bin/env python3
"""A batch that starts its workers by commands: workers that come, go, are killed, cannot be started, and end with it."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from launched_campaign import LaunchedCampaign

#: Looks like ssh: the worker survives the command that started it.
SHIELD = "sh -c 'setsid \"$0\" \"$@\" & wait'"


class LaunchedWorkers(LaunchedCampaign):
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
        self.interrupt(running)
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
        done = subprocess.run([self.kgen, "worker", "--spool", str(self.spool), "--client", name, "--lease", "2"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(time.monotonic() - began, 1.9)
        client.unlink()
        done = subprocess.run([self.kgen, "worker", "--spool", str(self.spool), "--client", name],
                              capture_output=True, text=True, timeout=50, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_nodes_whose_clocks_differ_and_a_file_system_that_shows_changes_late(self):
        self.samples = 3

        def node(clock):
            return f"env LD_PRELOAD={options.preloaded / 'libnetwork_files.so'} KGEN_TEST_ATTRIBUTES_S=30 KGEN_TEST_CLOCK_S={clock}"

        done = self.batch("--worker", node(-1200), "--worker", node(1200))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("3 runs: 3 failed", done.stdout)
        records = [json.loads(path.read_text())["record"] for path in self.spool.glob("evaluate-*.result.json")]
        self.assertEqual({record["outcome"]["kind"] for record in records}, {"accuracy"})
        self.assertEqual([label for record in records for label in record["labels"] if label.startswith("judged again")], [])
        self.check_ended()

    def test_a_worker_that_joined_ends_when_it_is_idle(self):
        self.spool.mkdir(parents=True)
        done = subprocess.run([self.kgen, "worker", "--spool", str(self.spool), "--idle-timeout", "0.5"],
                              capture_output=True, text=True, timeout=50, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--preloaded", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    LaunchedCampaign.kgen = options.kgen
    unittest.main(argv=[sys.argv[0], *rest])
