"""A process that has finished slow imports, and forks a copy of itself for every request.

Children are forked twice, so that they become children of the worker (a subreaper) and die without holding a pipe of another process open.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from kernelgen_common import frames

_RESTORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD)

_PR_SET_DUMPABLE = 4

ChildMain = Callable[[dict[str, Any], list[int]], int]


def serve(
    connection: socket.socket, ready: dict[str, Any], child_main: ChildMain, idle: Callable[[], None] | None = None
) -> int:
    """Announces itself, then forks a child per request until the worker closes the connection.

    child_main gets the request and its descriptors, in a process without open files of the zygote.
    idle is called once, when a request was answered and none waits.
    Returns the exit status of the zygote. It is tied to the connection and not to the thread of the worker's that started it,
    which may end long before.
    """
    close_to_others()
    # The garbage collectors of children skip the objects that exist now, so that their pages stay shared.
    gc.collect()
    gc.freeze()
    try:
        frames.send(connection, {"ready": True, "protocol": 1, **ready})
        while True:
            frame = frames.receive(connection)
            if frame is None:
                return 0
            _answer(connection, frame, child_main)
            if idle is not None and not select.select([connection], [], [], 0)[0]:
                idle()
                idle = None
    except (frames.FrameError, OSError) as error:
        print(f"kernelgen zygote: {error}", file=sys.stderr)
        return 1


def _answer(connection: socket.socket, frame: frames.Frame, child_main: ChildMain) -> None:
    request = frame.body.get("id")
    reply: dict[str, Any] = {"id": request}
    try:
        if frame.body.get("op") != "fork" or not frame.descriptors:
            raise ValueError("the only request is fork, with descriptors")
        reply.update(ok=True, pid=_fork_twice(connection, frame, child_main))
    except (ValueError, OSError) as error:
        code = "protocol" if isinstance(error, ValueError) else "unavailable"
        reply.update(ok=False, error={"code": code, "message": str(error)})
    finally:
        frame.close()
    frames.send(connection, reply)


def _fork_twice(connection: socket.socket, frame: frames.Frame, child_main: ChildMain) -> int:
    """Forks the child of a child; returns its process id."""
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        try:
            os.close(reader)
            child = os.fork()
            if child == 0:
                os.close(writer)
                connection.close()
                _run_child(frame, child_main)
            os.write(writer, child.to_bytes(8, "little"))
        finally:
            os._exit(0)
    os.close(writer)
    try:
        data = os.read(reader, 8)
    finally:
        os.close(reader)
        os.waitpid(middle, 0)
    if len(data) != 8:
        raise OSError("the child could not be forked")
    return int.from_bytes(data, "little")


def _run_child(frame: frames.Frame, child_main: ChildMain) -> None:
    """Never returns."""
    status = 70
    try:
        for number in _RESTORED_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        _reseed()
        status = child_main(frame.body, frame.descriptors)
    except SystemExit as request:
        status = request.code if isinstance(request.code, int) else 1
    except BaseException as error:  # noqa: BLE001 - the last line of a process
        print(f"kernelgen child: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        try:
            sys.stderr.flush()
        finally:
            os._exit(status)


def close_to_others() -> None:
    """Closes the memory and the descriptors of this process and its children to other processes of the user: candidates are such
    processes where a machine has no namespaces. A runner opens itself again, for the worker."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _reseed() -> None:
    """Reseeds the random state, so that children do not share the inherited one."""
    random.seed(os.urandom(16))
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)


def import_hidden_dependencies() -> None:
    """Makes torch import and initialize parts that every child would otherwise load at its first use.

    On one thread: a pool of threads that exists before a fork hangs the child.
    """
    import torch

    torch.set_num_threads(1)
    with torch.no_grad():
        module = torch.nn.Linear(4, 4)
        module(torch.zeros(1, 4))
        # MKL's vector mathematics chooses its code in the first call. Where two threads make it at once, a part of the results has
        # an error of some 20 ulp: in a fifth of the processes that were forked without this call.
        torch.ones(4).exp()
    torch.manual_seed(0)
