"""A small client of the reward service for tests, and a service in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import kernelgen
from kernelgen import serve
from support import ROOT

TASKS = ROOT / "tests/tasks"
EVALUATIONS = "/v1/evaluations"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def error(self) -> str:
        return self.json["error"]["code"]


def ask(code: str = "// right", **more) -> bytes:
    """The body of a request."""
    return json.dumps({"task": "relu", "code": code, **more}).encode()


class Client:
    """Sends requests to a Unix socket, each over a connection of its own."""

    def __init__(self, path: str):
        self.path = path

    async def send(self, method: str, target: str, body: bytes = b"", **headers: str):
        """Sends a request; its connection, as reader and writer."""
        reader, writer = await asyncio.open_unix_connection(self.path, limit=1 << 24)
        lines = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(body)),
                 "Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
        head = "".join(f"{name}: {text}\r\n" for name, text in lines.items())
        writer.write(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return reader, writer

    async def request(self, method: str, target: str, body: bytes = b"", **headers: str) -> Answer:
        reader, writer = await self.send(method, target, body, **headers)
        try:
            head, _, text = (await asyncio.wait_for(reader.read(), 60)).partition(b"\r\n\r\n")
        finally:
            writer.close()
        first, *lines = head.decode().split("\r\n")
        return Answer(int(first.split()[1]), dict(line.lower().split(": ", 1) for line in lines), text.decode())

    def __call__(self, *arguments, **headers) -> Answer:
        """One request, without an event loop."""
        return asyncio.run(self.request(*arguments, **headers))

    def evaluate(self, code: str = "// right", target: str = EVALUATIONS, client: str = "", **more) -> Answer:
        return self("POST", target, ask(code, **more), **({"X_Client_Id": client} if client else {}))

    def metric(self, line: str) -> float:
        """The value of a metric; 0 for one that was not counted yet."""
        values = dict(text.rsplit(" ", 1) for text in self("GET", "/metrics").text.splitlines() if text[0] != "#")
        return float(values.get(line, 0))


@contextlib.contextmanager
def running_service(judge: kernelgen.Benchmarker, limits: serve.QueueLimits = serve.QueueLimits(), **options):
    """A service in a thread, at a Unix socket. Gives a client of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "socket")
        server = serve.make_server(judge, serve.ServiceOptions(**{"tasks": (TASKS,), "limits": limits, **options}))
        listener = serve.listen_at_path(path)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield Client(path)
        finally:
            server.should_exit = True
            thread.join(20)
            listener.close()


def wait_until(condition, timeout: float = 10) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("the condition did not become true")
        time.sleep(0.005)


def answers(path: str) -> bool:
    """Whether a service listens at a Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0
