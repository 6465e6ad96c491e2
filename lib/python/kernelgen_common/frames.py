"""Frames over a stream socket: magic "KGF1", u32 little-endian body length, UTF-8 JSON object. Descriptors travel with the
magic."""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from dataclasses import dataclass, field
from typing import Any

MAGIC = b"KGF1"
MAX_BODY = 64 << 20
MAX_DESCRIPTORS = 8
_HEADER = struct.Struct("<4sI")
_CHUNK = 1 << 16


class FrameError(Exception):
    """The peer violated the protocol; the connection cannot be used any more."""


@dataclass
class Frame:
    """One message and the descriptors that came with it. The receiver owns the descriptors."""

    body: dict[str, Any]
    descriptors: list[int] = field(default_factory=list)

    def close(self) -> None:
        """Closes the remaining descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []


def encode(body: dict[str, Any]) -> bytes:
    """The bytes of one frame. Raises FrameError when the body is too long, ValueError for NaN or infinity."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    data = text.encode("utf-8", "backslashreplace")
    if len(data) > MAX_BODY:
        raise FrameError(f"a frame of {len(data)} bytes is longer than {MAX_BODY}")
    return _HEADER.pack(MAGIC, len(data)) + data


def decode_header(header: bytes) -> int:
    """The body length that an 8-byte header announces. Raises FrameError."""
    magic, length = _HEADER.unpack(header)
    if magic != MAGIC:
        raise FrameError("bad magic")
    if length > MAX_BODY:
        raise FrameError(f"a frame of {length} bytes is longer than {MAX_BODY}")
    return int(length)


def decode_body(data: bytes) -> dict[str, Any]:
    """The JSON object in a body. Raises FrameError."""
    try:
        body = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise FrameError("a frame is not a JSON object")
    return body


def send(connection: socket.socket, body: dict[str, Any], descriptors: list[int] | None = None) -> None:
    """Sends one frame. Raises OSError when the peer is gone."""
    data = encode(body)
    sent = 0
    if descriptors:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        sent = connection.sendmsg([data[:1]], rights, socket.MSG_NOSIGNAL)
    connection.sendall(memoryview(data)[sent:], socket.MSG_NOSIGNAL)


def receive(connection: socket.socket) -> Frame | None:
    """The next frame; None when the peer closed between two frames. Raises FrameError, OSError."""
    descriptors: list[int] = []
    try:
        header = _read(connection, _HEADER.size, descriptors)
        if not header:
            _close_all(descriptors)
            return None
        if len(header) < _HEADER.size:
            raise FrameError("the connection ended inside a header")
        length = decode_header(header)
        data = _read(connection, length, descriptors)
        if len(data) < length:
            raise FrameError("the connection ended inside a frame")
        return Frame(decode_body(data), descriptors)
    except BaseException:
        _close_all(descriptors)
        raise


def _close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
    descriptors.clear()


def _read(connection: socket.socket, count: int, descriptors: list[int]) -> bytes:
    """Reads count bytes, fewer at the end of the stream, and collects descriptors on the way."""
    data = bytearray()
    space = socket.CMSG_SPACE(MAX_DESCRIPTORS * array.array("i").itemsize)
    while len(data) < count:
        chunk, control, flags, _ = connection.recvmsg(min(count - len(data), _CHUNK), space, socket.MSG_CMSG_CLOEXEC)
        descriptors.extend(_descriptors_in(control))
        if flags & socket.MSG_CTRUNC or len(descriptors) > MAX_DESCRIPTORS:
            raise FrameError("too many descriptors with one frame")
        if not chunk:
            break
        data += chunk
    return bytes(data)


def _descriptors_in(control: list[tuple[int, int, bytes]]) -> list[int]:
    found: list[int] = []
    for level, kind, payload in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers = array.array("i")
            numbers.frombytes(payload[: len(payload) - len(payload) % numbers.itemsize])
            found.extend(numbers)
    return found
