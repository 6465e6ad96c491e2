"""A campaign of `kgen batch` with programs as model and worker, which note what they are asked."""

import collections
import hashlib
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
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

    def __init__(self, kgen, source, path, *more):
        self.kgen = kgen
        self.path = path
        self.results = path / "results"
        self.more = [str(word) for word in more]
        (path / "tasks").mkdir(parents=True)
        for number in range(1, TASKS + 1):
            task = (source / "examples/tasks/relu.py").read_text()
            (path / f"tasks/{number}_task.py").write_text(f"# task {number}\n{task}")
        self.model = path / "model.sh"
        self.model.write_text(MODEL)
        self.model.chmod(0o755)
        for name in ("asked", "judged"):
            (path / name).touch()

    def start(self, environment=None, **process):
        """Starts kgen in a process group of its own."""
        worker = ["--launch-prefix", f"{sys.executable} {HERE / 'scripted_worker.py'} {self.path / 'judged'}"]
        command = [str(self.kgen), "batch", str(self.path / "tasks"), "--target", "cpp", "--llm",
                   f"command:{self.model} {self.path / 'asked'}", "--results", str(self.results), "--seeds", "2",
                   "--goal", "9", "--no-sanitize", *([] if "--parallel-tasks" in self.more else ["--parallel-tasks", "2"]),
                   *([] if "--spool" in self.more else worker), *self.more]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True, **process,
                                env={**os.environ, "XDG_CACHE_HOME": str(self.path / "cache"),
                                     "XDG_CONFIG_HOME": "/dev/null", "TMPDIR": str(self.path), **(environment or {})})

    def run(self, environment=None, **process):
        """Runs kgen to its end; its exit code and its output."""
        started = self.start(environment, **process)
        output = started.communicate(timeout=120)[0].decode()
        return started.returncode, output

    def run_to_end(self):
        output = ""
        for _ in range(20):
            code, output = self.run()
            if code in ENDS:
                return output
        raise AssertionError(f"the campaign does not end: {output}")

    def lines(self, name):
        return collections.Counter((self.path / name).read_text().split("\n")[:-1])

    def journals(self):
        """The events of each run, by its directory's name."""
        return {journal.parent.name: [json.loads(line) for line in journal.read_text().splitlines()]
                for journal in sorted(self.results.glob("*/events.jsonl"))}

    def size(self):
        return sum(file.stat().st_size for file in self.results.glob("*/events.jsonl"))

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
            directory = self.results / task
            for name in ("best_code.cpp", "best_result.json", "best_prompt.txt"):
                file = directory / name
                text = file.read_bytes() if file.exists() else b"missing"
                facts[task, name] = hashlib.sha256(text).hexdigest()
            if (directory / "best_result.json").exists():
                best = json.loads((directory / "best_result.json").read_text())
                best["labels"] = [text for text in best.get("labels", []) if not text.startswith("second try: ")]
                best["problem"] = pathlib.Path(best["problem"]).name
                # Its number follows from which reply came first; what it holds does not.
                best["code_path"] = hashlib.sha256((directory / pathlib.Path(best["code_path"]).name).read_bytes()).hexdigest()
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


def check_requests(test, campaign):
    """Nothing was asked more often than the journals say. The number of requests that they mark as unknown."""
    asked, unknown = campaign.lines("asked"), 0
    for task, events in campaign.journals().items():
        for request, counts in count_requests(task, events).items():
            with test.subTest(request=request):
                test.assertEqual(counts["reply_arrived"], 1)
                test.assertEqual(counts["request_sent"], 1 + counts["request_unknown"] + counts["request_deferred"])
                test.assertLessEqual(asked.pop(request, 0), counts["request_sent"])
                unknown += counts["request_unknown"]
    test.assertEqual(asked, {}, "asked without a journal")
    return unknown


def check_judgements(test, campaign):
    """Nothing was judged more often than the journals say."""
    judged = campaign.lines("judged")
    for events in campaign.journals().values():
        for candidate, allowed in count_judgements(events).items():
            with test.subTest(candidate=candidate):
                test.assertLessEqual(judged.pop(candidate, 0), allowed)
    test.assertEqual(judged, {}, "judged without a journal")
