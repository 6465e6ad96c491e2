"""Synthetic journals, for tests of what reads them."""

import datetime
import json

START = datetime.datetime(2025, 1, 31, tzinfo=datetime.timezone.utc)


class Journal:
    """Appends events to a journal, five seconds after each other, or at the present time."""

    def __init__(self, directory, model="openai gpt-5", live=False):
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "events.jsonl"
        self.time = START
        self.live = live
        self.best = None
        self.add("run_started", kernelgen_version="0.1.0", task={"name": directory.name}, target="cpp", policy="hybrid",
                 model=model)
        self.add("task_described")

    def add(self, kind, **members):
        self.time += datetime.timedelta(seconds=5)
        time = datetime.datetime.now(datetime.timezone.utc) if self.live else self.time
        text = time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"schema": 1, "type": kind, "time": text, **members}) + "\n")

    def ask(self, number, name=None):
        action = {"id": name or f"seed{number}", "kind": "seed"}
        self.add("action_issued", number=number, action=action, prompt={"text": "a prompt", "estimated_tokens": 1000})
        self.add("request_sent", number=number)
        return action

    def answer(self, number):
        self.add("reply_arrived", number=number, cost=0.01,
                 reply={"text": "a reply", "usage": {"input_tokens": 1000, "output_tokens": 200}})

    def attempt(self, number, score=None, outcome=("accuracy", "mismatch", "12 of 1024 elements differ"), name=None):
        action = self.ask(number, name)
        self.answer(number)
        record = {"environment": {"device": "cpu: a processor"},
                  "phases": [{"name": "wait for the device", "milliseconds": 1}, {"name": "timing", "milliseconds": 900}]}
        if score is None:
            record["outcome"] = dict(zip(("kind", "detail", "message"), outcome))
        else:
            record["timing"] = {"speedup_call": {"value": score, "low": score, "high": score}}
        self.add("action_finished", result={"action": action, "number": number, "status": "evaluated", "record": record})
        if score is not None and score > (self.best or 0):
            self.best = score
            self.add("best_changed", action_id=action["id"])

    def finish(self, reason="all steps are done", reached=False):
        self.add("run_finished", reason=reason, reached=reached)


def make_campaign(results, tasks=12, attempts=5):
    """A campaign with runs in every state."""
    for task in range(1, tasks + 1):
        journal = Journal(results / f"{task}_Task")
        for number in range(1, attempts + 1):
            journal.attempt(number, 0.5 + task / 10 + number / 20 if (task + number) % 3 == 0 else None)
        if task % 4 == 0:
            journal.ask(attempts + 1)
        else:
            journal.finish("goal reached" if task % 3 else "no seed is correct", reached=task % 3 != 0)
