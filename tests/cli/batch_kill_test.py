#!/usr/bin/env python3
"""Kills `kgen batch` and its workers at random moments, and compares the campaign with one that nothing disturbed.

The model is a program that notes each request; the worker is scripted_worker.py, which notes each candidate. With
--spool-kills N a worker of a spool directory is killed as well.
"""

import argparse
import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import unittest

from scripted_campaign import ENDS, HERE, TASKS, Campaign, check_judgements, check_requests, count_requests

KGEN = SOURCE = None
KILLS = SPOOL_KILLS = PAIR_KILLS = 0
SEED = 0


class Lifetime:
    """Draws how long kgen lives. Machines differ, so the longest lifetime follows the progress of earlier ones."""

    def __init__(self, generator):
        self.random = generator
        self.longest = 0.4

    def draw(self):
        return self.random.uniform(0.005, self.longest)

    def note(self, progress):
        self.longest = min(5, max(0.05, self.longest * (0.95 if progress else 1.15)))


def wait(process, seconds):
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def kill_file(path):
    """Kills the process with the id in a file. True if there was one."""
    try:
        os.kill(int(path.read_text()), signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return False
    return True


class KillTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        self.random = random.Random(SEED)
        self.kills = collections.Counter()

    def disturb(self, campaign, lifetime, left):
        """Lets kgen run, with kills, until it ends by itself or the kills are used up."""
        while sum(self.kills.values()) < left:
            before = campaign.size()
            process = campaign.start()
            with process:
                ended = wait(process, lifetime.draw())
                # One death of a worker in a session: after two a candidate is given up, because it may be the cause.
                if not ended and "--spool" not in campaign.more and self.random.random() < 0.3:
                    self.kills["worker"] += kill_file(campaign.path / "judged.pid")
                    ended = wait(process, lifetime.draw())
                if not ended:
                    os.kill(process.pid, signal.SIGKILL)
                    self.kills["batch"] += 1
                process.stdout.read()
            lifetime.note(campaign.size() > before)
            if process.returncode in ENDS:
                return

    def check(self, campaign, expected):
        self.assertEqual(campaign.facts(), expected)
        self.twice += check_requests(self, campaign)
        check_judgements(self, campaign)

    def undisturbed(self):
        campaign = Campaign(KGEN, SOURCE, self.path / "whole")
        campaign.run_to_end()
        facts = campaign.facts()
        self.assertGreater(len(facts), TASKS * 8)
        return facts

    def kill(self, total, *options):
        """Campaigns one after the other, until so many processes were killed."""
        expected = self.undisturbed()
        lifetime, campaigns, self.twice = Lifetime(self.random), 0, 0
        while sum(self.kills.values()) < total:
            campaigns += 1
            campaign = Campaign(KGEN, SOURCE, self.path / str(campaigns), *options)
            self.disturb(campaign, lifetime, total)
            campaign.run_to_end()
            self.check(campaign, expected)
        print(f"seed {SEED}: {dict(self.kills)} killed in {campaigns} campaigns; {self.twice} requests marked unknown",
              file=sys.stderr)

    def test_kill_batch_and_worker(self):
        self.kill(KILLS)

    def test_kill_spool_worker(self):
        """The worker of a spool directory and kgen die in turns."""
        expected = self.undisturbed()
        campaigns, self.twice = 0, 0
        while sum(self.kills.values()) < SPOOL_KILLS:
            campaigns += 1
            spool = self.path / f"spool{campaigns}"
            spool.mkdir()
            campaign = Campaign(KGEN, SOURCE, self.path / f"spooled{campaigns}", "--spool", spool)
            process = worker = None
            deaths = 0
            while process is None or process.returncode not in ENDS:
                if process is None or process.poll() is not None:
                    process = campaign.start()
                if worker is None or worker.poll() is not None:
                    worker = subprocess.Popen([sys.executable, str(HERE / "scripted_worker.py"),
                                               str(campaign.path / "judged"), "--spool", str(spool)])
                if wait(process, self.random.uniform(0.05, 0.6)) or sum(self.kills.values()) >= SPOOL_KILLS:
                    process.wait(120)
                    process.stdout.close()
                    continue
                victim = self.random.choice(["batch", "spool worker"])
                killed = process if victim == "batch" else worker
                killed.kill()
                killed.wait()
                if victim == "batch":
                    process.stdout.close()
                self.kills[victim] += 1
                deaths += victim != "batch"
            worker.kill()
            worker.wait()
            self.assertEqual(campaign.facts(), expected)
            self.twice += check_requests(self, campaign)
            judged = campaign.lines("judged")
            # Without a death each is judged once, whatever happened to kgen.
            self.assertLessEqual(sum(count - 1 for count in judged.values()), deaths)
        print(f"seed {SEED}: {dict(self.kills)} killed in {campaigns} campaigns; {self.twice} requests marked unknown",
              file=sys.stderr)

    def test_kill_one_of_two_that_share_a_budget(self):
        """Two kgen share a budget that is too small; whichever dies, they never ask more often than it allows."""
        limit = 4 * TASKS
        campaigns = 0
        while sum(self.kills.values()) < PAIR_KILLS:
            campaigns += 1
            campaign = Campaign(KGEN, SOURCE, self.path / f"pair{campaigns}", "--max-requests", limit, "--parallel-tasks", 1)
            processes = [campaign.start() for _ in range(2)]
            for _ in range(4):
                victim = self.random.randrange(2)
                if not wait(processes[victim], self.random.uniform(0.05, 0.4)):
                    processes[victim].kill()
                    self.kills["batch"] += 1
                processes[victim].communicate(timeout=60)
                processes[victim] = campaign.start()
            outputs = [process.communicate(timeout=120)[0].decode() for process in processes]
            for process, output in zip(processes, outputs):
                self.assertIn(process.returncode, (*ENDS, 69, 73), output)
            self.assertLessEqual(campaign.lines("asked").total(), limit, outputs)
            sent = sum(counts["request_sent"] for task, events in campaign.journals().items()
                       for counts in count_requests(task, events).values())
            self.assertLessEqual(sent, limit, outputs)
            # The same command without the limit comes to the end.
            campaign.more = []
            campaign.run_to_end()
        print(f"seed {SEED}: {dict(self.kills)} killed in {campaigns} campaigns with a shared budget", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--spool-kills", type=int, default=10)
    parser.add_argument("--pair-kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options, rest = parser.parse_known_args()
    KGEN, SOURCE, SEED = options.kgen.resolve(), options.source.resolve(), options.seed
    KILLS, SPOOL_KILLS, PAIR_KILLS = options.kills, options.spool_kills, options.pair_kills
    unittest.main(argv=[sys.argv[0], *rest])
