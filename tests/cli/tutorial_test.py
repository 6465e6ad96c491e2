#!/usr/bin/env python3
"""The search of docs/tutorial_cpu.md, with its command line, takes the steps that the page shows.

The recorded replies belong to exactly the prompts of today's templates: where those change, the recording has to be made
anew from the replies in it, as this test then says.
"""

import argparse
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = argparse.Namespace()
#: kgen's exit code on a busy machine; the same command goes on.
PAUSED = 75


class Tutorial(unittest.TestCase):
    def test_search(self):
        page = (ARGUMENTS.source / "docs/tutorial_cpu.md").read_text()
        shown = re.search(r"^\$ kgen (run .*replay:.*)\n((?:.*\n)*?)```", page, re.M)
        self.assertIsNotNone(shown, "the page shows no search with recorded replies")
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            shutil.copytree(ARGUMENTS.source / "examples/tutorial", directory, dirs_exist_ok=True)
            for _ in range(3):
                done = subprocess.run([str(ARGUMENTS.kgen), *shlex.split(shown[1])], cwd=directory, capture_output=True,
                                      text=True, timeout=400, check=False)
                if done.returncode != PAUSED:
                    break
            self.assertIn(done.returncode, (0, 1), f"{done.stdout}\n{done.stderr}\nwith other prompts: "
                          "tools/renew_recording.sh makes a new recording of the same replies")
            run = json.loads((directory / "results/detailed_report.json").read_text())["runs"][0]
        taken = [attempt["id"] for attempt in run["attempts"]]
        self.assertEqual(taken, re.findall(r"^ \d:\d\d +\d+/\d+  (seed\S*)", shown[2], re.M))
        self.assertEqual([attempt["class"] for attempt in run["attempts"]],
                         ["compile:undeclared_identifier", "correct", "analyzed", "correct"])
        # Which of the two is faster is up to the machine.
        correct = [attempt for attempt in run["attempts"] if attempt["class"] == "correct"]
        self.assertEqual(run["best"], max(correct, key=lambda attempt: attempt["score"])["id"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    ARGUMENTS.source = ARGUMENTS.source.resolve()
    ARGUMENTS.kgen = ARGUMENTS.kgen.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
