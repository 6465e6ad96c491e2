"""The worker's side of the protocols of judge and Python runner, for tests: zygotes, judges, runners and the arena."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PYTHON_DIR = ROOT / "lib" / "python"
sys.path.insert(0, str(PYTHON_DIR))

from kernelgen_common import frames  # noqa: E402
from kernelgen_runner import protocol  # noqa: E402

SUPPORT = os.environ.get("KGEN_RUNNER_SUPPORT") or None
if SUPPORT is not None and not os.path.exists(SUPPORT):
    SUPPORT = None
TIMEOUT = 300.0
#: "fake": judges and runners work on the device of tests/support/fake_cuda.c, which LD_LIBRARY_PATH names.
DEVICE = os.environ.get("KGEN_TEST_DEVICE") or None
FAKE_UUID = "GPU-fafafafa-fafa-fafa-fafa-fafafafafafa"


def the_device() -> dict[str, Any] | None:
    """The device in a load request; None for the processor."""
    if DEVICE is None:
        return None
    return {"vendor": DEVICE, "uuid": FAKE_UUID, "l2_bytes": 1 << 20, "bytes_per_second": 0}


def runner_arguments() -> list[str]:
    """The arguments of a zygote of runners."""
    arguments = ["--support", SUPPORT] if SUPPORT else []
    return [*arguments, "--gpu", FAKE_UUID, "--gpu-vendor", DEVICE, "--gpu-variable", "CUDA_VISIBLE_DEVICES"] if DEVICE else arguments


class Zygote:
    """A zygote process; `fork` gives the worker's end of a child's socket."""

    def __init__(self, module: str, *arguments: str):
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-s", "-B", "-m", module, "--fd", str(theirs.fileno()), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(PYTHON_DIR), "HOME": "/nonexistent"}
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        ours.settimeout(TIMEOUT)
        self.connection = ours
        ready = frames.receive(ours)
        assert ready is not None
        self.ready = ready.body

    def fork(self, descriptors: list[int], **members: Any) -> int:
        """Forks a child and returns its process id."""
        frames.send(self.connection, {"op": "fork", "id": 1, **members}, descriptors)
        reply = frames.receive(self.connection)
        assert reply is not None and reply.body["ok"], reply
        return int(reply.body["pid"])

    def close(self) -> None:
        self.connection.close()
        self.process.wait(TIMEOUT)


class Judge:
    """One judge child."""

    def __init__(self, zygote: Zygote):
        self.connection, theirs = socket.socketpair()
        self.pid = zygote.fork([theirs.fileno()])
        theirs.close()
        self.connection.settimeout(TIMEOUT)
        self._next = 0
        #: Descriptors of the last reply, owned by the caller.
        self.descriptors: list[int] = []

    def ask(self, operation: str, **members: Any) -> dict[str, Any]:
        """Sends a request and returns its reply, even if it is an error."""
        self._next += 1
        frames.send(self.connection, {"op": operation, "id": self._next, **members})
        reply = frames.receive(self.connection)
        assert reply is not None and reply.body["id"] == self._next
        self.descriptors = reply.descriptors
        return reply.body

    def must(self, operation: str, **members: Any) -> dict[str, Any]:
        """The reply of a request that succeeds."""
        reply = self.ask(operation, **members)
        if not reply["ok"]:
            raise AssertionError(reply)
        return reply

    def close(self) -> None:
        self.connection.close()


class RunnerDied(Exception):
    """The runner's socket closed instead of answering."""


class Answer:
    """A reply record."""

    def __init__(self, data: bytes):
        fields = protocol.REPLY.unpack(data)
        self.op, self.sequence, self.status, self.detail, self.start_ns, self.end_ns = fields[2:8]
        self.arguments = fields[8:12]
        self.data = fields[14][: fields[12]]
        self.text = self.data.decode("utf-8", "replace")


class Runner:
    """One Python runner child."""

    def __init__(self, zygote: Zygote, **members: Any):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.status, status = os.pipe()
        zygote.fork([theirs.fileno(), status], **members)
        theirs.close()
        os.close(status)
        self.control.settimeout(TIMEOUT)
        self._sequence = 0
        self.hello = self._receive()

    def _receive(self) -> Answer:
        data = self.control.recv(4096)
        if not data:
            raise RunnerDied
        return Answer(data)

    def ask(self, op: int, *arguments: int, descriptors: tuple[int, ...] = ()) -> Answer:
        """The reply to a command. Raises RunnerDied."""
        self._sequence += 1
        values = (*arguments, *[0] * (6 - len(arguments)))
        data = protocol.COMMAND.pack(protocol.COMMAND_MAGIC, protocol.VERSION, op, self._sequence, *values)
        try:
            socket.send_fds(self.control, [data], list(descriptors))
            answer = self._receive()
        except (BrokenPipeError, ConnectionResetError):
            raise RunnerDied from None
        return answer

    def seal(self) -> None:
        """Has the supervisor end the start of processes, as the worker does after the first calls."""
        assert (told := self._read_status()) is not None and told[0] == 0
        os.kill(told[1], signal.SIGUSR1)
        assert self._read_status() == (2, 1)

    def _read_status(self) -> tuple[int, int] | None:
        if not select.select([self.status], [], [], TIMEOUT)[0]:
            return None
        record = os.read(self.status, 16)
        if len(record) < 16:
            return None
        return int.from_bytes(record[4:8], "little"), int.from_bytes(record[8:16], "little", signed=True)

    def statuses(self) -> list[tuple[int, int]]:
        """Every (what, value) record of the supervisor, read until the pipe ends."""
        found = []
        while (record := self._read_status()) is not None:
            found.append(record)
        return found

    def close(self) -> None:
        self.control.close()
        os.close(self.status)


def memory_file(content: bytes = b"", size: int | None = None) -> int:
    """A memory file with this content, or of this size."""
    descriptor = os.memfd_create("test", os.MFD_CLOEXEC)
    if size is not None:
        os.ftruncate(descriptor, size)
    elif content:
        os.pwrite(descriptor, content, 0)
    return descriptor


def path_of(descriptor: int) -> str:
    return f"/proc/{os.getpid()}/fd/{descriptor}"


class Bench:
    """A task in a judge with its arena, and the work of a worker before and between calls."""

    def __init__(self, judge: Judge, text: str, **options: Any):
        self.judge = judge
        request = {
            "task": {"name": "test_task", "path": "", "text": text, "level": "unknown"},
            "precision": "strict",
            "threads": 1,
            "shrink": [],
            "budget": {"float64_seconds": 5, "float64_bytes": 1 << 30},
            "seed": os.urandom(8).hex(),
            "support_library": SUPPORT,
            "device": the_device(),
            **options,
        }
        self.description = judge.must("load", **request)["description"]
        self.layout = judge.must("layout")
        #: That of the prepared call.
        self.slot = 0
        self.arena = memory_file(size=self.layout["bytes"])
        judge.must("attach", path=path_of(self.arena), bytes=self.layout["bytes"])
        #: The memory of the tensors: the arena, or that of the fake device, which is a memory file as well.
        self.device_arena = judge.descriptors[0] if judge.descriptors else None
        self.tensors = self.arena if self.device_arena is None else self.device_arena

    def prepare_call(self, **options: Any) -> dict[str, Any]:
        request = {"distribution": "own", "seed": None, "repeat": False, "canary": False, **options}
        reply = self.judge.must("prepare_call", **request)
        self.slot = reply["slot"]
        return reply

    def check(self, mode: str = "full") -> dict[str, Any]:
        return dict(self.judge.must("check", mode=mode)["outcome"])

    def place(self, role: str, name: str) -> dict[str, Any]:
        """Where a tensor lies, from the native job."""
        for line in self.layout["native_job"].splitlines():
            words = line.split()
            if words[0] == "tensor" and words[1] == role and words[2] == name:
                rank = int(words[4])
                numbers = [int(word) for word in words[5:]]
                segment, segment_bytes, offset, nbytes = numbers[2 * rank :]
                if role in ("input", "draw", "output"):
                    segment += self.slot * self.layout["slot_bytes"]
                return {
                    "dtype": words[3],
                    "shape": numbers[:rank],
                    "strides": numbers[rank : 2 * rank],
                    "begin": segment + offset,
                    "segment": segment,
                    "segment_bytes": segment_bytes,
                    "nbytes": nbytes,
                }
        raise KeyError(name)

    def read(self, role: str, name: str) -> bytes:
        place = self.place(role, name)
        return os.pread(self.tensors, place["nbytes"], place["begin"])

    def write(self, role: str, name: str, data: bytes, at: int = 0) -> None:
        os.pwrite(self.tensors, data, self.place(role, name)["begin"] + at)

    def close(self) -> None:
        os.close(self.arena)
        if self.device_arena is not None:
            os.close(self.device_arena)


def open_job(runner: Runner, bench: Bench) -> Answer:
    """JOB."""
    job = memory_file(json.dumps(bench.layout["python_job"]).encode())
    device = () if bench.device_arena is None else (bench.device_arena,)
    try:
        return runner.ask(protocol.OP_JOB, descriptors=(job, bench.arena, *device))
    finally:
        os.close(job)


def load_candidate(runner: Runner, bench: Bench, source: str, memory: int = 0) -> Answer:
    """JOB, and LOAD with a candidate's source."""
    opened = open_job(runner, bench)
    if opened.status != protocol.OK:
        return opened
    code = memory_file(source.encode())
    try:
        return runner.ask(protocol.OP_LOAD, protocol.CODE_PYTHON, memory, descriptors=(code,))
    finally:
        os.close(code)


def exchange_weights(runner: Runner, bench: Bench) -> tuple[dict[str, Any], Answer | None]:
    """Builds ModelNew twice and has its state matched: (weights reply, the failed reply if there was one)."""
    reply: dict[str, Any] = {}
    for index in (1, 2):
        draw = bench.judge.must("weights", set=index)
        built = runner.ask(protocol.OP_CONSTRUCT, index, int(draw["seed"]), int(draw["transform"]))
        if built.status != protocol.OK:
            return reply, built
        size = built.arguments[0]
        state = memory_file(size=max(size, 1))
        answer = runner.ask(protocol.OP_EXPORT_STATE, index, size, descriptors=(state,))
        assert answer.status == protocol.OK, answer.text
        reply = bench.judge.must("state", set=index, path=path_of(state), bytes=size)
        os.close(state)
    return reply, None
