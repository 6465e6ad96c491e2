#!/usr/bin/env python3
"""`kgen batch` where the disk is full, the results directory cannot be written, vanishes, has no locks, or is of another
version: one clear line, the right exit code, and the same command goes on."""

import argparse
import json
import os
import pathlib
import resource
import sys
import tempfile
import time
import unittest

from scripted_campaign import ENDS, Campaign, check_judgements, check_requests

KGEN = SOURCE = PRELOADED = None
USAGE, MACHINE_LACKS, IN_USE = 64, 69, 73


def limit_files(size):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


class FaultsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        self.campaign = Campaign(KGEN, SOURCE, self.path / "campaign")
        self.results = self.campaign.results

    def complaint(self, output):
        """The only line in which kgen says why it ends."""
        lines = [line for line in output.splitlines() if line.startswith("kgen: ")]
        self.assertEqual(len(lines), 1, output)
        return lines[0]

    def expected(self):
        whole = Campaign(KGEN, SOURCE, self.path / "whole")
        whole.run_to_end()
        return whole.facts()

    def test_a_full_disk_loses_nothing(self):
        for size in (3_000, 9_000, 20_000, 30_000, 45_000):
            with self.subTest(size=size):
                code, output = self.campaign.run(preexec_fn=limit_files(size))
                self.assertEqual(code, MACHINE_LACKS, output)
                self.assertIn("File too large", self.complaint(output))
        self.campaign.run_to_end()
        self.assertEqual(self.campaign.facts(), self.expected())
        unknown = check_requests(self, self.campaign)
        check_judgements(self, self.campaign)
        # A reply that the journal could not take was put into a file, and its request is marked.
        kept = list(self.campaign.path.glob("*.txt"))
        self.assertLessEqual(len(kept), unknown)

    def test_a_directory_that_cannot_be_written(self):
        for results in ("/proc/kgen-results", "/dev/null/results"):
            with self.subTest(results=results):
                campaign = Campaign(KGEN, SOURCE, self.path / results.replace("/", "_"))
                campaign.results = pathlib.Path(results)
                code, output = campaign.run()
                self.assertEqual(code, USAGE, output)
                self.assertIn(results, self.complaint(output))
                self.assertEqual(campaign.lines("asked"), {})

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_directory_without_permission(self):
        self.results.mkdir()
        self.results.chmod(0o500)
        code, output = self.campaign.run()
        self.results.chmod(0o700)
        self.assertEqual(code, USAGE, output)
        self.assertIn("Permission denied", self.complaint(output))
        self.campaign.run_to_end()
        self.assertEqual(self.campaign.facts(), self.expected())

    def test_a_directory_that_vanishes(self):
        text = self.campaign.model.read_text()
        vanish = f'[ "$(wc -l < "$1")" -ne 8 ] || mv {self.results} {self.path / "moved"}\n'
        self.campaign.model.write_text(text.replace("cat > /dev/null\n", "cat > /dev/null\n" + vanish))
        code, output = self.campaign.run()
        self.assertEqual(code, USAGE, output)
        self.assertIn("No such file or directory", self.complaint(output))
        # It is back: the same command goes on.
        for file in self.results.rglob("*") if self.results.exists() else ():
            self.assertNotEqual(file.name, "events.jsonl", "a second campaign was begun")
        if self.results.exists():
            self.results.rename(self.path / "empty")
        (self.path / "moved").rename(self.results)
        self.campaign.model.write_text(text)
        self.campaign.run_to_end()
        self.assertEqual(self.campaign.facts(), self.expected())
        check_requests(self, self.campaign)
        check_judgements(self, self.campaign)

    def test_a_file_system_without_locks(self):
        for more in ([], ["--max-requests", "100"]):
            with self.subTest(more=more):
                self.campaign.more = more
                code, output = self.campaign.run({"LD_PRELOAD": str(PRELOADED / "libno_locks.so")})
                self.assertEqual(code, MACHINE_LACKS, output)
                complaint = self.complaint(output)
                self.assertIn("the file system has no locks", complaint)
                self.assertEqual(self.campaign.lines("asked"), {})
        self.campaign.more = []
        self.campaign.run_to_end()

    def test_two_nodes_whose_clocks_differ_and_a_network_file_system_that_shows_changes_late(self):
        self.campaign.more = ["--max-requests", "1000"]
        # NFS keeps attributes for 30 s by default.
        both = [self.campaign.start({"LD_PRELOAD": str(PRELOADED / "libnetwork_files.so"), "KGEN_TEST_ATTRIBUTES_S": "30",
                                     "KGEN_TEST_CLOCK_S": clock}) for clock in ("-1200", "1200")]
        for process in both:
            output = process.communicate(timeout=120)[0].decode()
            self.assertIn(process.returncode, (*ENDS, IN_USE), output)
        self.campaign.run_to_end()
        self.assertEqual(self.campaign.facts(), self.expected())
        # Nothing was asked twice, and nothing judged twice.
        self.assertEqual(check_requests(self, self.campaign), 0)
        self.assertEqual(set(self.campaign.lines("asked").values()), {1})
        self.assertEqual(set(self.campaign.lines("judged").values()), {1})
        # Reports of a process that sees the files are complete.
        summary = json.loads((self.results / "summary.json").read_text())
        self.assertEqual(summary["totals"]["usage"]["requests"], self.campaign.lines("asked").total())

    def test_results_of_another_version(self):
        self.campaign.run_to_end()
        for journal in self.results.glob("*/events.jsonl"):
            journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:12]))
        journal = self.results / "1_task/events.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        for change, reason in (({"schema": 2}, "event schema 2 is not known; this kernelgen reads up to 1"),
                               ({"kernelgen_version": "0.0.1"}, "this run was started with kernelgen 0.0.1, not ")):
            with self.subTest(change=change):
                journal.write_text(json.dumps({**json.loads(lines[0]), **change}) + "\n" + "".join(lines[1:]))
                code, output = self.campaign.run()
                self.assertIn(code, (USAGE, MACHINE_LACKS), output)
                self.assertIn(reason, self.complaint(output))
                self.assertIn("1_task", self.complaint(output))
        # The others went on.
        journal.write_text("".join(lines))
        self.campaign.run_to_end()
        self.assertEqual(self.campaign.facts(), self.expected())

    def test_two_at_once_with_other_limits(self):
        self.campaign.more = ["--max-requests", "1000"]
        text = self.campaign.model.read_text()
        held = self.path / "held"
        self.campaign.model.write_text(text.replace("cat > /dev/null\n", f"cat > /dev/null\n: > {held}\nsleep 2\n"))
        first = self.campaign.start()
        while not held.exists() and first.poll() is None:
            time.sleep(0.02)
        for more, difference in ((["--max-requests", "10"], "limit of requests 1000, and this one has 10"),
                                 ([], "limit of requests 1000, and this one has none"),
                                 (["--max-requests", "1000", "--rtol", "0.5"],
                                  "option rtol default, and this one has 0.5")):
            with self.subTest(more=more):
                self.campaign.more = more
                code, output = self.campaign.run()
                self.assertEqual(code, IN_USE, output)
                self.assertIn(f"another kgen (process {first.pid} on ", self.complaint(output))
                self.assertIn(difference, self.complaint(output))
        first.kill()
        first.communicate()
        self.campaign.model.write_text(text)
        self.campaign.more = ["--max-requests", "1001"]
        self.campaign.run_to_end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--preloaded", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    KGEN, SOURCE, PRELOADED = options.kgen.resolve(), options.source.resolve(), options.preloaded.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
