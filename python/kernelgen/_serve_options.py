"""Limits and permissions of a reward service."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class QueueLimits:
    """Limits of the evaluations of a service."""

    running: int = 4
    """Evaluations at once. They compile side by side, and wait for the device inside the worker."""
    queue: int = 1024
    """Evaluations that wait. Further ones are refused."""
    queue_per_client: int = 256
    """Evaluations of one client that wait. Further ones of this client are refused."""
    deadline: float = 1800.0
    """Seconds of one evaluation, from its start. Options of a client cannot extend it."""
    keep: int = 1000
    """Answers that are kept. The oldest ones go first."""
    keep_seconds: float = 600.0
    """Seconds for which an answer is kept."""
    keep_bytes: int = 1 << 28
    """Bytes of memory for answers that are kept. The oldest ones go first; one that is larger is not kept at all."""


@dataclass(frozen=True)
class ServiceOptions:
    """What a service takes, and from which clients."""

    tasks: tuple[str | os.PathLike[str], ...] = ()
    """Folders with task files that clients may name."""
    allow_task_text: bool = False
    """Whether clients may send tasks of their own. The judge runs the code of a task with the rights of the service."""
    allowed_options: tuple[str, ...] = ()
    """Options of evaluations that weaken a verdict and are allowed nevertheless: "rtol", "precision", ..."""
    tokens: tuple[str, ...] = ()
    """A client must send one of them. Without any, every client that reaches the service may ask."""
    trust_client_ids: bool = False
    """Whether the header X-Client-Id divides the share of a token. Without tokens it always counts."""
    allowed_hosts: tuple[str, ...] = ()
    """Names by which clients may address the service, in the header Host. Empty: any."""
    code_bytes: int = 1 << 18
    """Bytes of a candidate's source at most."""
    body_bytes: int = 1 << 20
    """Bytes of a request's body at most."""
    body_seconds: float = 30.0
    """Seconds in which a client must send its body."""
    limits: QueueLimits = QueueLimits()
