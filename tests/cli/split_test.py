#!/usr/bin/env python3
"""Runs the same search on one machine, and split over three that share only directories: flow, model and evaluation.

Only the model is fake: a script. Needs a Python with torch (KGEN_PYTHON).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

KGEN = SOURCE = None
PENDING = 75
ANSWER = """import os, sys
prompt = sys.stdin.read()
assert "class Model" in prompt, "the prompt lacks the reference"
kernel = open({kernel!r}).read()
if os.environ["KGEN_REQUEST_ID"].endswith("sample2"):
    kernel = kernel.replace("kgen_find", "kgen_look_up")
print("Here it is.\\n```cpp\\n" + kernel + "```")
"""


def records(directory):
    """The facts that must not depend on where a step ran."""
    found = {}
    for line in (directory / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "action_finished":
            result = event["result"]
            record = result["record"]
            found[result["action"]["id"]] = (result["action"], result["status"], result["candidate"]["id"],
                                             record["task_content_id"], record["outcome"]["kind"],
                                             record["outcome"]["detail"], record["tolerance"])
    return found


class SplitTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        self.answer = self.path / "answer.py"
        self.answer.write_text(ANSWER.format(kernel=str(SOURCE / "examples/kernels/relu.cpp")))

    def kgen(self, *arguments, machine):
        (self.path / machine).mkdir(exist_ok=True)
        return subprocess.run([str(KGEN), *map(str, arguments)], cwd=self.path / machine, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.path / "cache")})

    def run_command(self, llm, *more, machine):
        return self.kgen("run", SOURCE / "examples/tasks/relu.py", "--target", "cpp", "--policy", "one-shot",
                         "--samples", 2, "--goal", 0, "--llm", llm, *more, machine=machine)

    def answer_mail(self, mail):
        for prompt in mail.glob("*.prompt.md"):
            identifier = prompt.name.removesuffix(".prompt.md")
            reply = mail / f"{identifier}.reply.md"
            if not reply.exists():
                text = subprocess.run([sys.executable, str(self.answer)], input=prompt.read_text(), text=True,
                                      stdout=subprocess.PIPE, check=True, timeout=300,
                                      env={**os.environ, "KGEN_REQUEST_ID": identifier}).stdout
                reply.with_suffix(".part").write_text(text)
                reply.with_suffix(".part").rename(reply)

    def test_split_over_three_machines(self):
        whole = self.run_command(f"command:{sys.executable} {self.answer}", machine="one")
        self.assertEqual(whole.returncode, 0, whole.stderr)

        mail, spool = self.path / "mail", self.path / "spool"
        for visit in range(20):
            flow = self.run_command(f"mailbox:{mail}", "--spool", spool, "--no-wait", machine="flow")
            if flow.returncode != PENDING:
                break
            if mail.exists():
                self.answer_mail(mail)
            worker = self.kgen("worker", "--spool", spool, "--once", machine="device")
            self.assertEqual(worker.returncode, 0, worker.stderr)
        self.assertEqual(flow.returncode, 0, flow.stderr)
        self.assertGreater(visit, 1, "something was answered before it was asked for")

        expected = records(self.path / "one/results/relu")
        self.assertEqual({id: fields[4] for id, fields in expected.items()},
                         {"sample1": "correct", "sample2": "compile"})
        self.assertEqual(records(self.path / "flow/results/relu"), expected)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    KGEN, SOURCE = options.kgen.resolve(), options.source.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
