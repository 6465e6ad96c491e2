"""The records of apps/runner/runner_protocol.h, and the socket they travel on."""

from __future__ import annotations

import array
import ctypes
import os
import socket
import struct
from dataclasses import dataclass, field

COMMAND_MAGIC = 0x4352474B
REPLY_MAGIC = 0x5252474B
VERSION = 2
ABI_VERSION = 1
TEXT_BYTES = 4096 - 80

OP_HELLO, OP_LOAD, OP_CONSTRUCT, OP_EXPORT_STATE, OP_PREPARE, OP_RUN = range(1, 7)
OP_DESTROY, OP_CRASH, OP_ECHO, OP_BUILD, OP_JOB, OP_EXAMINE, OP_COMPILE_FOR = range(7, 14)
OK, SYNTAX, IMPORT, INTERFACE, FAILED, EXCEPTION, OUT_OF_MEMORY, STRUCTURE, WORKSPACE, PROTOCOL = range(10)
NOT_CAPTURABLE, DEVICE_FAULT = 10, 11
RUN_POISON, RUN_IN_PLACE, RUN_GRAPH = 1, 2, 4
PROBE_WORD = 0x45424F52504E4547
CODE_PYTHON = 1
#: The weight set of a call that does nothing, before a candidate is loaded.
REHEARSAL = 0

COMMAND = struct.Struct("<IHHQ6Q")
REPLY = struct.Struct("<IHHQIIqq4QII4016s")
_MAX_DESCRIPTORS = 4


@dataclass
class Command:
    """One command; the receiver owns the descriptors."""

    op: int
    sequence: int
    arguments: tuple[int, ...]
    descriptors: list[int] = field(default_factory=list)

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []


@dataclass
class Reply:
    """A reply. Texts are cut to the size of a record. `data` takes the place of the text."""

    status: int = OK
    text: str = ""
    data: bytes = b""
    detail: int = 0
    start_ns: int = 0
    end_ns: int = 0
    arguments: tuple[int, int, int, int] = (0, 0, 0, 0)


class Failure(Exception):
    """Ends a command with a status other than OK."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.reply = Reply(status, text)


def parse_command(data: bytes) -> Command | None:
    """The command in a packet; None for anything else."""
    if len(data) != COMMAND.size:
        return None
    magic, version, op, sequence, *arguments = COMMAND.unpack(data)
    if magic != COMMAND_MAGIC or version != VERSION:
        return None
    return Command(op, sequence, tuple(arguments))


def pack_reply(op: int, sequence: int, reply: Reply) -> bytes:
    """The 4096 bytes of a reply."""
    text = (reply.data or reply.text.encode("utf-8", "backslashreplace"))[:TEXT_BYTES]
    head = (REPLY_MAGIC, VERSION, op, sequence, reply.status, reply.detail & 0xFFFFFFFF, reply.start_ns, reply.end_ns)
    return REPLY.pack(*head, *reply.arguments, len(text), 0, text)


class Channel:
    """The control socket. Its methods are bound before a candidate is imported."""

    def __init__(self, control: socket.socket):
        self._receive = control.recvmsg
        self._send = control.send
        self._space = socket.CMSG_SPACE(_MAX_DESCRIPTORS * array.array("i").itemsize)
        self.descriptor = control.fileno()
        self._probe = ctypes.c_uint64(PROBE_WORD)

    def say_hello(self, isolation: int) -> None:
        """Sends the first reply, unasked: the process is ready, in a sandbox with these properties."""
        arguments = (ABI_VERSION, isolation, os.getpid(), ctypes.addressof(self._probe))
        self.send(OP_HELLO, 0, Reply(arguments=arguments))

    def receive(self) -> Command | None:
        """The next command; None when the worker is gone. Packets that are no commands are ignored."""
        while True:
            data, control, _, _ = self._receive(COMMAND.size + 1, self._space, socket.MSG_CMSG_CLOEXEC)
            descriptors = [number for item in control for number in _numbers(item)]
            if not data:
                return None
            command = parse_command(data)
            if command is not None:
                command.descriptors = descriptors
                return command
            for descriptor in descriptors:
                os.close(descriptor)

    def send(self, op: int, sequence: int, reply: Reply) -> None:
        """Answers. Raises OSError when the worker is gone."""
        self._send(pack_reply(op, sequence, reply))


def _numbers(item: tuple[int, int, bytes]) -> list[int]:
    level, kind, payload = item
    if level != socket.SOL_SOCKET or kind != socket.SCM_RIGHTS:
        return []
    numbers = array.array("i")
    numbers.frombytes(payload[: len(payload) - len(payload) % numbers.itemsize])
    return list(numbers)
