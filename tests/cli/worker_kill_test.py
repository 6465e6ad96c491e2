#!/usr/bin/env python3
"""Real workers, what they have started, and monitors are killed at random moments of a batch; its end is as without.

The model's kernels are wrong, so nothing is timed and a busy machine changes no verdict.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import stat
import subprocess
import sys
import time
import unittest

from launched_campaign import LaunchedCampaign, WRONG

KILLS = 8


def processes():
    """(pid, parent, command line) of each process."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rsplit(") ", 1)[1].split()[1])
            yield int(entry.name), parent, (entry / "cmdline").read_bytes().decode(errors="replace")
        except (OSError, IndexError):
            continue


class Kills(LaunchedCampaign):
    def setUp(self):
        super().setUp()
        # Each reply is another candidate.
        model = self.path / "model"
        model.write_text("#!/bin/sh\ncat > /dev/null\necho '```cpp'\necho \"// $KGEN_REQUEST_ID\"\n"
                         f"echo \"$KGEN_REQUEST_ID\" >> {self.path / 'asked'}\ncat <<'END'{WRONG}```\nEND\n")
        model.chmod(model.stat().st_mode | stat.S_IXUSR)
        self.temporary = self.path / "tmp"
        self.temporary.mkdir()

    def start(self, *arguments):
        return subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={**os.environ, "TMPDIR": str(self.temporary)})

    def outcomes(self):
        """Of each attempt its candidate and verdict."""
        found = {}
        for journal in sorted(self.results.glob("*/events.jsonl")):
            for event in map(json.loads, journal.read_text().splitlines()):
                if event["type"] == "action_finished":
                    result = event["result"]
                    key = journal.parent.name, result["action"]["id"]
                    self.assertNotIn(key, found, "finished twice")
                    found[key] = result["candidate"]["id"], result["record"] and result["record"]["outcome"]["kind"]
        return found

    def below(self, roots):
        """Processes that these have started, and theirs."""
        known, tree = set(roots), list(processes())
        while True:
            more = {pid for pid, parent, _ in tree if parent in known} - known
            if not more:
                return known - set(roots)
            known |= more

    def monitors(self):
        """Watches the batch as two people would."""
        for arguments in (["--json"], ["--serve", "0"]):
            yield subprocess.Popen([self.kgen, "monitor", str(self.results), *arguments, "--config", "/dev/null"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_one(self, chance):
        """Kills a worker, something that it has started, or the monitors. False if there was nothing to kill."""
        workers = self.workers()
        below = sorted(self.below(workers))
        victim = chance.choice(("worker", "child", "monitor"))
        if victim == "monitor":
            self.end_monitors()
            self.watching = list(self.monitors())
            return True
        if not workers:
            return False
        try:
            os.kill(chance.choice(below if victim == "child" and below else workers), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def end_monitors(self):
        for each in self.watching:
            each.kill()
            each.wait()

    def test_kills_change_nothing(self):
        chance = random.Random(7)
        self.watching, kills, code = [], 0, None
        self.addCleanup(self.end_monitors)
        while code is None:
            running = self.start("--worker", "2 x env -u NOTHING")
            while running.poll() is None:
                time.sleep(chance.uniform(0.05, 0.8))
                kills += kills < KILLS and self.kill_one(chance)
            out, err = running.communicate()
            if running.returncode == 69:
                # Too many of them in a row ended it.
                self.assertIn("the same command goes on from here", err)
            else:
                code = running.returncode
        print(f"{kills} kills", file=sys.stderr)
        self.check_ended()
        self.end_monitors()
        self.watching = []
        self.assertEqual(code, 2, err)
        self.assertIn("3 runs: 3 failed", out)
        outcomes = self.outcomes()
        self.assertEqual(len(outcomes), 3 * self.samples)
        self.assertEqual({kind for _, kind in outcomes.values()}, {"accuracy"}, outcomes)
        # Nothing was asked twice.
        asked = (self.path / "asked").read_text().split()
        self.assertEqual(sorted(asked), sorted(set(asked)))
        self.assertEqual(self.claims(), [])
        left = [command for _, _, command in processes() if str(self.path) in command]
        self.assertEqual(left, [], "processes are left")
        self.assertEqual(list(self.temporary.iterdir()), [], "files are left")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--kills", type=int, default=KILLS)
    options, rest = parser.parse_known_args()
    LaunchedCampaign.kgen, KILLS = options.kgen, options.kills
    # There is time for all of them.
    Kills.samples = max(3, KILLS)
    unittest.main(argv=[sys.argv[0], *rest])
