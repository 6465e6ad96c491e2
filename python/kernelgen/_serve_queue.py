"""The evaluations of a reward service: a fair queue with limits, what runs, and the answers that are kept.

Everything here happens in one event loop, and knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from ._serve_options import QueueLimits
from .errors import Cancelled, Error, Internal, NotFound, Timeout, Unavailable
from .judges import Benchmarker
from .options import EvaluationOptions
from .records import EvaluationRecord
from .tasks import Candidate, Task

log = logging.getLogger("kernelgen.serve")

QUEUED, RUNNING, FINISHED, FAILED, CANCELLED = "queued", "running", "finished", "failed", "cancelled"


@dataclass(frozen=True)
class Assignment:
    """What a judge is asked."""

    task: Task
    candidate: Candidate
    options: EvaluationOptions


@dataclass(eq=False)
class Evaluation:
    """One evaluation of a client, from its arrival until its answer is forgotten. Times are of time.monotonic()."""

    client: str
    assignment: Assignment | None
    """None once it has ended: only the answer is kept."""
    owner: str = ""
    """The token that may ask for the answer."""
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    state: str = QUEUED
    arrived: float = field(default_factory=time.monotonic)
    started: float | None = None
    ended: float | None = None
    record_json: str = ""
    score: float | None = None
    outcome: str = ""
    """The class of the record's outcome."""
    error: Error | None = None
    size: int = 0
    """Bytes of memory that the answer takes."""
    finished: asyncio.Event = field(default_factory=asyncio.Event)


class QueueFull(Exception):
    """The queue takes no further evaluation now. `reason` is a name for metrics."""

    def __init__(self, reason: str, message: str, retry_after: int):
        super().__init__(message)
        self.reason = reason
        self.retry_after = retry_after


class FairQueue:
    """Evaluations that wait. Clients take turns, and the evaluations of one client keep their order."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, OrderedDict[str, Evaluation]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def length_of(self, client: str) -> int:
        """Evaluations of one client that wait."""
        return len(self._clients.get(client, ()))

    @property
    def clients(self) -> int:
        """Clients with evaluations that wait."""
        return len(self._clients)

    def push(self, evaluation: Evaluation) -> None:
        """Adds an evaluation. A client that had none takes its turn after all others."""
        self._clients.setdefault(evaluation.client, OrderedDict())[evaluation.id] = evaluation
        self._length += 1

    def pop(self) -> Evaluation:
        """Removes the oldest evaluation of the next client."""
        client, waiting = next(iter(self._clients.items()))
        _, evaluation = waiting.popitem(last=False)
        self._clients.move_to_end(client)
        self._forget_if_empty(client)
        self._length -= 1
        return evaluation

    def remove(self, evaluation: Evaluation) -> None:
        """Removes an evaluation before its turn."""
        del self._clients[evaluation.client][evaluation.id]
        self._forget_if_empty(evaluation.client)
        self._length -= 1

    def _forget_if_empty(self, client: str) -> None:
        if not self._clients[client]:
            del self._clients[client]


class EvaluationQueue:
    """Runs evaluations in a fair order, and keeps their answers for a while."""

    def __init__(self, judge: Benchmarker, limits: QueueLimits, on_end: Callable[[Evaluation], None]):
        """`on_end` is called with every evaluation that ended, whatever the reason."""
        self.limits = limits
        self._judge = judge
        self._on_end = on_end
        self._waiting = FairQueue()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._unfinished: dict[str, Evaluation] = {}
        self._kept: OrderedDict[str, Evaluation] = OrderedDict()
        self._kept_bytes = 0
        self._mean_seconds = 1.0
        self.stopping = False

    @property
    def queue_length(self) -> int:
        """Evaluations that wait."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """Evaluations that are under way."""
        return len(self._running)

    @property
    def kept_bytes(self) -> int:
        """Bytes of memory of the answers that are kept."""
        return self._kept_bytes

    def check_room(self, client: str) -> None:
        """Raises QueueFull where the queue would take nothing of this client, and Unavailable during a stop."""
        if self.stopping:
            raise Unavailable("the service is stopping")
        if len(self._running) < self.limits.running:
            return
        if self.queue_length >= self.limits.queue:
            raise QueueFull("queue_full", f"{self.limits.queue} evaluations wait already; ask again later",
                            self._seconds_until_turn())
        if self._waiting.length_of(client) >= self.limits.queue_per_client:
            raise QueueFull(
                "client_limit",
                f"{self.limits.queue_per_client} evaluations of this client wait already; ask again later",
                self._seconds_until_turn())

    def submit(self, evaluation: Evaluation) -> None:
        """Adds an evaluation, which starts at once where there is room. Raises what check_room() raises."""
        self.check_room(evaluation.client)
        self._unfinished[evaluation.id] = evaluation
        self._waiting.push(evaluation)
        self._start_next()

    def find(self, identifier: str, owner: str) -> Evaluation:
        """The evaluation with this id. Raises NotFound for one of another owner, or one that was
        forgotten."""
        self._forget_old()
        evaluation = self._unfinished.get(identifier) or self._kept.get(identifier)
        if evaluation is None or evaluation.owner != owner:
            raise NotFound(f"there is no evaluation {identifier[:40]!r}; answers are kept for "
                           f"{self.limits.keep_seconds:g} s, and at most {self.limits.keep} of them or "
                           f"{self.limits.keep_bytes} bytes")
        return evaluation

    def cancel(self, evaluation: Evaluation, error: Error | None = None) -> None:
        """Ends an evaluation that waits or runs. One that has ended stays as it is."""
        if evaluation.state == QUEUED:
            self._waiting.remove(evaluation)
        elif evaluation.state != RUNNING:
            return
        self._end(evaluation, CANCELLED, error or Cancelled("the evaluation was cancelled"))
        if evaluation.id in self._running:
            # It keeps its place until the judge has let go of it.
            self._running[evaluation.id].cancel()

    async def stop(self, patience: float = 5.0) -> None:
        """Takes nothing more, cancels everything, and waits at most so many seconds for what runs."""
        self.stopping = True
        for evaluation in list(self._unfinished.values()):
            self.cancel(evaluation, Unavailable("the service is stopping"))
        if self._running:
            await asyncio.wait(list(self._running.values()), timeout=patience)

    def _start_next(self) -> None:
        while self._waiting and len(self._running) < self.limits.running:
            evaluation = self._waiting.pop()
            evaluation.state = RUNNING
            evaluation.started = time.monotonic()
            work = asyncio.create_task(self._run(evaluation))
            self._running[evaluation.id] = work
            # A task that is cancelled before its first step runs nothing of its function.
            work.add_done_callback(functools.partial(self._note_end_of_run, evaluation))

    def _note_end_of_run(self, evaluation: Evaluation, _: asyncio.Task[None]) -> None:
        del self._running[evaluation.id]
        self._end(evaluation, CANCELLED, Cancelled("the evaluation was cancelled"))
        self._start_next()

    async def _run(self, evaluation: Evaluation) -> None:
        work = evaluation.assignment
        if work is None:
            return  # It was cancelled meanwhile.
        try:
            call = self._judge.evaluate_async(work.task, work.candidate, work.options)
            record = await asyncio.wait_for(call, self.limits.deadline)
            self._end(evaluation, FINISHED, record=record)
        except Error as error:
            self._end(evaluation, FAILED, error)
        except asyncio.TimeoutError:
            self._end(evaluation, FAILED, Timeout(f"the evaluation took longer than {self.limits.deadline:g} s"))
        except Exception as error:
            log.exception("evaluation %s ended with an exception of the judge", evaluation.id)
            self._end(evaluation, FAILED, Internal(
                f"the judge raised {type(error).__name__}; the service's log has more"))

    def _end(self, evaluation: Evaluation, state: str, error: Error | None = None,
             record: EvaluationRecord | None = None) -> None:
        if self._unfinished.pop(evaluation.id, None) is None:
            return  # It was cancelled, and that was its answer.
        evaluation.state, evaluation.error, evaluation.assignment = state, error, None
        evaluation.ended = time.monotonic()
        if record is not None:
            evaluation.record_json, evaluation.score = record.to_json(), record.score
            evaluation.outcome = str(record.outcome.kind)
        if evaluation.started is not None:
            self._mean_seconds += 0.1 * (evaluation.ended - evaluation.started - self._mean_seconds)
        evaluation.size = sys.getsizeof(evaluation.record_json) + sys.getsizeof(str(error))
        # An answer that has no room alone would take it from all others, and then be forgotten like them.
        if evaluation.size <= self.limits.keep_bytes:
            self._kept[evaluation.id] = evaluation
            self._kept_bytes += evaluation.size
        self._forget_old()
        self._on_end(evaluation)
        evaluation.finished.set()

    def _forget_old(self) -> None:
        oldest = time.monotonic() - self.limits.keep_seconds
        while self._kept:
            first = next(iter(self._kept.values()))
            has_room = len(self._kept) <= self.limits.keep and self._kept_bytes <= self.limits.keep_bytes
            if has_room and first.ended is not None and first.ended >= oldest:
                return
            del self._kept[first.id]
            self._kept_bytes -= first.size

    def _seconds_until_turn(self) -> int:
        """Whole seconds in which about every client that waits gets a turn, and so has room again."""
        return max(1, min(60, math.ceil(self._mean_seconds * self._waiting.clients / self.limits.running)))
