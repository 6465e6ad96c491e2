#!/usr/bin/env python3
"""Kills `kgen batch` and its workers at random moments, and compares the campaign with one that nothing disturbed.

The model is a program that notes each request; the worker is scripted_worker.py, which notes each candidate. With
--spool-kills N a worker of a spool directory is killed as well.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
KGEN = SOURCE = None
KILLS = SPOOL_KILLS = PAIR_KILLS = 0
SEED = 0
TASKS = 3
#: Codes with which a campaign has come to its end.
ENDS = (0, 1, 2)

MODEL = """#!/bin/sh
# Notes the request, and answers with a kernel whose score follows from the request's name.
printf '%s\\n' "$KGEN_REQUEST_ID" >> "$1"
cat > /dev/null
sleep 0.03
case "$KGEN_REQUEST_ID" in
  *analysis) printf '{"worth_optimizing": true, "plan": "fuse"}'; exit ;;
  *critic*) printf 'No critique.'; exit ;;
  *seed1) verdict="wrong" ;;
  *seed2) verdict="score 1.2" ;;
  *optimize) verdict="score 1.5" ;;
  *) verdict="score 1.1" ;;
esac
printf '```cpp\\n// %s %s\\n#include <kernelgen/abi.h>\\n' "$verdict" "$KGEN_REQUEST_ID"
printf 'KGEN_API int kgen_run(void*, const kgen_run_args*) { return 0; }\\n```\\n'
"""


class Campaign:
    """A campaign in a directory of its own."""

    def __init__(self, path, *more):
        self.path = path
        self.more = [str(word) for word in more]
        (path / "tasks").mkdir(parents=True)
        for number in range(1, TASKS + 1):
            task = (SOURCE / "examples/tasks/relu.py").read_text()
            (path / f"tasks/{number}_task.py").write_text(f"# task {number}\n{task}")
        self.model = path / "model.sh"
        self.model.write_text(MODEL)
        self.model.chmod(0o755)
        for name in ("asked", "judged"):
            (path / name).touch()

    def start(self):
        """Starts kgen in a process group of its own."""
        worker = ["--launch-prefix", f"{sys.executable} {HERE / 'scripted_worker.py'} {self.path / 'judged'}"]
        command = [str(KGEN), "batch", str(self.path / "tasks"), "--target", "cpp", "--llm",
                   f"command:{self.model} {self.path / 'asked'}", "--results", str(self.path / "results"), "--seeds", "2",
                   "--goal", "9", "--no-sanitize", *(["--parallel-tasks", "2"] if "--parallel-tasks" not in self.more else []), *([] if "--spool" in self.more else worker),
                   *self.more]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True,
                                env={**os.environ, "XDG_CACHE_HOME": str(self.path / "cache"),
                                     "XDG_CONFIG_HOME": "/dev/null", "TMPDIR": str(self.path)})

    def run_to_end(self):
        output = ""
        for _ in range(20):
            process = self.start()
            output = process.communicate(timeout=120)[0].decode()
            if process.returncode in ENDS:
                return output
        raise AssertionError(f"the campaign does not end: {output}")

    def lines(self, name):
        return collections.Counter((self.path / name).read_text().split("\n")[:-1])

    def journals(self):
        """The events of each run, by its directory's name."""
        return {journal.parent.name: [json.loads(line) for line in journal.read_text().splitlines()]
                for journal in sorted((self.path / "results").glob("*/events.jsonl"))}

    def size(self):
        return sum(file.stat().st_size for file in (self.path / "results").glob("*/events.jsonl"))

    def facts(self):
        """The facts that must be the same however often the campaign was killed: records and best kernels."""
        facts = {}
        for task, events in self.journals().items():
            for event in events:
                if event["type"] == "action_finished":
                    result = event["result"]
                    if result["record"]:
                        labels = result["record"].get("labels", [])
                        result["record"]["labels"] = [text for text in labels if not text.startswith("second try: ")]
                    key = task, result["action"]["id"]
                    assert key not in facts, f"{key} finished twice"
                    facts[key] = json.dumps([result["action"], result["status"], result["candidate"], result["record"],
                                             result["message"]], sort_keys=True)
            directory = self.path / "results" / task
            for name in ("best_code.cpp", "best_result.json", "best_prompt.txt"):
                file = directory / name
                text = file.read_bytes() if file.exists() else b"missing"
                facts[task, name] = hashlib.sha256(text).hexdigest()
            if (directory / "best_result.json").exists():
                best = json.loads((directory / "best_result.json").read_text())
                best["labels"] = [text for text in best.get("labels", []) if not text.startswith("second try: ")]
                facts[task, "best_result.json"] = json.dumps(best, sort_keys=True)
        return facts


def count_requests(task, events):
    """Of each request its numbers of events, by the id that the model got."""
    ids, counts = {}, collections.defaultdict(collections.Counter)
    for event in events:
        if event["type"] == "action_issued":
            ids[event["number"]] = f"{task}.{event['action']['id']}".replace("/", "-")
        if event["type"] in ("request_sent", "request_unknown", "request_deferred", "reply_arrived"):
            counts[ids[event["number"]]][event["type"]] += 1
    return counts


def count_judgements(events):
    """Of each candidate how often it may have been judged: once in each session that it was open in, and once more for
    each death of a worker that its record tells."""
    allowed, session, arrived = collections.Counter(), 0, {}
    for event in events:
        if event["type"] in ("run_started", "run_resumed"):
            session += 1
        if event["type"] == "reply_arrived":
            arrived[event["number"]] = session
        if event["type"] == "action_finished" and event["result"]["candidate"]:
            result = event["result"]
            labels = (result["record"] or {}).get("labels", [])
            allowed[result["candidate"]["id"]] += session - arrived[result["number"]] + 1 + sum(
                text.startswith("second try: ") for text in labels)
    return allowed


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
    """Kills the process whose id is in a file. True if there was one."""
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
        asked, judged = campaign.lines("asked"), campaign.lines("judged")
        for task, events in campaign.journals().items():
            for request, counts in count_requests(task, events).items():
                with self.subTest(request=request):
                    self.assertEqual(counts["reply_arrived"], 1)
                    self.assertEqual(counts["request_sent"], 1 + counts["request_unknown"] + counts["request_deferred"])
                    # What was asked more than once is marked.
                    self.assertLessEqual(asked.pop(request, 0), counts["request_sent"])
                    self.twice += counts["request_unknown"]
            for candidate, allowed in count_judgements(events).items():
                with self.subTest(candidate=candidate):
                    self.assertLessEqual(judged.pop(candidate, 0), allowed)
        self.assertEqual(asked, {}, "asked without a journal")
        self.assertEqual(judged, {}, "judged without a journal")

    def undisturbed(self):
        campaign = Campaign(self.path / "whole")
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
            campaign = Campaign(self.path / str(campaigns), *options)
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
            campaign = Campaign(self.path / f"spooled{campaigns}", "--spool", spool)
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
            judged = campaign.lines("judged")
            # Without a death each is judged once, whatever happened to kgen.
            self.assertLessEqual(sum(count - 1 for count in judged.values()), deaths)
        print(f"seed {SEED}: {dict(self.kills)} killed in {campaigns} campaigns", file=sys.stderr)

    def test_kill_one_of_two_that_share_a_budget(self):
        """Two kgen share a budget that is too small; whichever dies, they never ask more often than it allows."""
        limit = 4 * TASKS
        campaigns = 0
        while sum(self.kills.values()) < PAIR_KILLS:
            campaigns += 1
            campaign = Campaign(self.path / f"pair{campaigns}", "--max-requests", limit, "--parallel-tasks", 1)
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
