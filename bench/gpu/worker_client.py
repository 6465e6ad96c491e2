"""A client of `kgen worker` (docs/protocol.md) that records the time of each message: the cost of a verdict for its user."""

from __future__ import annotations

import hashlib
import json
import pathlib
import struct
import subprocess
import threading
import time
from dataclasses import dataclass, field

_MAGIC = b"KGF1"
_HEADER = struct.Struct("<4sI")


class WorkerError(RuntimeError):
    """The worker ended, broke the protocol, or answered a request with an error: there is no result."""


@dataclass
class Answer:
    """The messages for one request, with their times by time.monotonic()."""

    sent: float
    answered: float = 0.0
    record: dict | None = None
    description: dict | None = None
    error: dict | None = None
    #: (time, phase) of every progress message at the beginning of a phase.
    phases: list[tuple[float, str]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.answered - self.sent

    @property
    def intervals(self) -> list[tuple[float, float, str]]:
        """(begin, end, name) of every phase: each ends where the next begins, the last with the answer."""
        ends = [at for at, _ in self.phases[1:]] + [self.answered]
        return [(at, end, phase) for (at, phase), end in zip(self.phases, ends)]

    def began(self, *phases: str, otherwise: float) -> float:
        """Time at which the first of these phases began."""
        return next((at for at, phase in self.phases if phase in phases), otherwise)

    @property
    def device(self) -> str | None:
        """The UUID of the GPU that gave the verdict."""
        return ((self.record or {}).get("environment") or {}).get("device_uuid") or None

    @property
    def outcome(self) -> str:
        """ "correct", "accuracy:mismatch"; "error: ..." where the machinery failed."""
        if self.record is None:
            return f"error: {(self.error or {}).get('message', 'no record')}"
        outcome = self.record["outcome"]
        return outcome["kind"] + (f":{outcome['detail']}" if outcome["detail"] else "")


def encode(message: dict) -> bytes:
    body = json.dumps(message).encode()
    return _HEADER.pack(_MAGIC, len(body)) + body


def read_frame(stream) -> dict | None:
    """Reads the next message of a binary stream; None at its end."""
    header = stream.read(_HEADER.size)
    if not header:
        return None
    if len(header) < _HEADER.size:
        raise WorkerError("the worker ended inside a message")
    magic, length = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise WorkerError(f"not a frame of the worker protocol: {header!r}")
    body = stream.read(length)
    if len(body) < length:
        raise WorkerError("the worker ended inside a message")
    return json.loads(body)


def text_task(name: str, text: str, level: str = "unknown") -> dict:
    content_id = hashlib.sha256(text.encode()).hexdigest()
    return {"name": name, "path": "", "text": text, "content_id": content_id, "level": level}


def load_task(path: str | pathlib.Path, level: str = "unknown") -> dict:
    return text_task(pathlib.Path(path).stem, pathlib.Path(path).read_text(encoding="utf-8"), level)


def make_candidate(target: str, source: str) -> dict:
    return {"target": target, "source": source, "id": hashlib.sha256(f"{target}\0{source}".encode()).hexdigest()}


class Worker:
    """One `kgen worker`. Requests may overlap; `wait` blocks until the given one is answered."""

    def __init__(self, kgen: str, cache_dir: str, python: str | None = None, log=None):
        command = [kgen, "worker", "--cache-dir", cache_dir]
        if python:
            command += ["--python", python]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self._changed = threading.Condition()
        self._answers: dict[int, Answer] = {}
        self._next_id = 1
        self._failure: str | None = None
        hello = read_frame(self._process.stdout)
        if hello is None or hello.get("type") != "hello":
            self._process.kill()
            self._process.communicate()
            raise WorkerError(f"the worker did not say hello but {hello}")
        self.hello = hello
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def evaluate(self, task: dict, candidate: dict, options: dict | None = None) -> int:
        request = {"task": task, "candidate": candidate, "options": options or {}}
        return self._send({"type": "evaluate", "request": request})

    def describe(self, task: dict, options: dict | None = None) -> int:
        return self._send({"type": "describe", "task": task, "options": options or {}})

    def cancel(self, request_id: int) -> None:
        """Cancels a request; it is still answered, usually by an error."""
        self._write({"type": "cancel", "id": request_id})

    def wait(self, request_id: int) -> Answer:
        with self._changed:
            answer = self._answers[request_id]
            self._changed.wait_for(lambda: answer.answered or self._failure)
            if not answer.answered:
                raise WorkerError(self._failure)
            return answer

    def wait_for_phase(self, request_id: int, phase: str) -> None:
        """Waits until a request has reached a phase, or is answered."""
        with self._changed:
            answer = self._answers[request_id]
            self._changed.wait_for(
                lambda: answer.answered or self._failure or any(reached == phase for _, reached in answer.phases))

    def judge(self, task: dict, target: str, source: str, options: dict | None = None) -> Answer:
        return self.wait(self.evaluate(task, make_candidate(target, source), options))

    def close(self) -> None:
        """Ends the worker and waits for it."""
        try:
            self._process.stdin.write(encode({"type": "shutdown"}))
            self._process.stdin.close()
        except (BrokenPipeError, ValueError):
            pass  # It has ended, or was closed before.
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=5)
        self._process.stdout.close()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *ignored) -> None:
        self.close()

    def _send(self, message: dict) -> int:
        request_id = self._next_id
        self._next_id += 1
        with self._changed:
            self._answers[request_id] = Answer(sent=time.monotonic())
        self._write({**message, "id": request_id})
        return request_id

    def _write(self, message: dict) -> None:
        self._process.stdin.write(encode(message))
        self._process.stdin.flush()

    def _read(self) -> None:
        failure = "the worker ended"
        try:
            while (message := read_frame(self._process.stdout)) is not None:
                self._take(message, time.monotonic())
        except (WorkerError, ValueError) as error:
            failure = str(error)
        with self._changed:
            self._failure = failure
            self._changed.notify_all()

    def _take(self, message: dict, now: float) -> None:
        with self._changed:
            answer = self._answers.get(message.get("id"))
            if answer is None:
                return
            kind = message["type"]
            if kind == "progress":
                phase = message["progress"]["phase"]
                if not answer.phases or answer.phases[-1][1] != phase:
                    answer.phases.append((now, phase))
                    self._changed.notify_all()
            elif kind in ("record", "description", "error"):
                setattr(answer, kind, message[kind])
                answer.answered = now
                self._changed.notify_all()


def busy_and_waiting(answers: list[Answer], device_phases) -> tuple[float, float]:
    """Total time with open requests, and the part of it in which at least one was in a phase that uses the device."""

    def union(intervals: list[tuple[float, float]]) -> float:
        total, end = 0.0, float("-inf")
        for start, stop in sorted(intervals):
            total += max(0.0, stop - max(start, end))
            end = max(end, stop)
        return total

    uses = []
    for answer in answers:
        uses += [(start, end) for start, end, phase in answer.intervals if device_phases(phase)]
    return union(uses), union([(answer.sent, answer.answered) for answer in answers])
