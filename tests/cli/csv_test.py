#!/usr/bin/env python3
"""The tables of a results directory are plain CSV, which Python's csv.DictReader reads."""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

KGEN = None


def events(requests, reason):
    """Writes a run with answered requests of 100 and 10 tokens each, and one that an outage deferred."""
    yield {"type": "run_started", "task": {"name": "t"}, "target": "cpp", "policy": "hybrid", "model": "openai m"}
    for number in range(1, requests + 2):
        action = {"id": f"seed{number}", "kind": "seed"}
        yield {"type": "action_issued", "number": number, "action": action, "prompt": {"text": "write"}}
        yield {"type": "request_sent", "number": number}
        if number > requests:
            yield {"type": "request_deferred", "number": number, "code": "unavailable", "message": "HTTP 429: quota",
                   "endpoint": "node7:8000"}
            break
        yield {"type": "reply_arrived", "number": number, "endpoint": "node7:8000",
               "reply": {"text": "no code", "usage": {"input_tokens": 100, "output_tokens": 10}}}
        yield {"type": "action_finished",
               "result": {"action": action, "number": number, "status": "no_code", "message": "no code"}}
    yield {"type": "run_finished", "reason": reason, "reached": False}


class CsvTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.results = pathlib.Path(directory.name)
        self.write("relu", events(2, "done, \"mostly\"\nover"))
        self.write("relu/again", events(3, ""))
        self.write("gru", events(1, "all samples are done"))
        done = subprocess.run([str(KGEN), "report", str(self.results)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def write(self, name, lines):
        run = self.results / name
        run.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps({"schema": 1, "time": "2025-01-31T12:00:00.000Z", **line}) + "\n" for line in lines)
        (run / "events.jsonl").write_text(text)

    def rows(self, name):
        with open(self.results / name, newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
        for row in rows:
            # A row that is too long has the key None, a missing cell the value None.
            self.assertNotIn(None, row)
            self.assertNotIn(None, row.values())
        return rows

    def test_summary_has_one_row_a_run(self):
        rows = self.rows("summary.csv")
        self.assertEqual([(row["task"], row["run"]) for row in rows], [("gru", ""), ("relu", ""), ("relu", "again")])
        self.assertEqual([row["status"] for row in rows], ["failed"] * 3)
        self.assertEqual(rows[1]["reason"], 'done, "mostly" over')

    def test_usage_has_one_row_a_request_and_adds_up(self):
        rows = self.rows("usage.csv")
        self.assertEqual(len(rows), 2 + 3 + 1 + 3)
        self.assertEqual({row["status"] for row in rows}, {"answered", "deferred"})
        self.assertEqual({row["endpoint"] for row in rows}, {"node7:8000"})
        total = sum(int(row["total_tokens"] or 0) for row in rows)
        self.assertEqual(total, 6 * 110)
        totals = json.loads((self.results / "summary.json").read_text())["totals"]
        self.assertEqual(totals["usage"]["total_tokens"], total)
        self.assertEqual(totals["usage"]["requests"], len(rows))
        self.assertEqual(totals["usage"]["deferred"], 3)
        self.assertEqual(totals["runs"], 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    KGEN = options.kgen.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
