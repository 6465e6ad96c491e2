"""The judge as the worker sees it: one request, one reply, over a socket; one task per process.

    load -> admit -> layout -> attach -> weights -> (state) -> { prepare_call -> check }* , time_reference , compile -> time_compiled

A request that fails is answered with an error and changes nothing; only a broken connection ends the process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

from kernelgen_common import frames
from kernelgen_common.gpu import GpuError

from .errors import OUT_OF_MEMORY, TaskError, is_out_of_memory, lacking_memory, one_line
from .session import RequestError, Session


def _failure(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "error": {"code": code, "message": one_line(message, 2000)}}


def answer(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    """The reply to one request, including its failure."""
    operation = request.get("op")
    try:
        handler = session.operations().get(operation if isinstance(operation, str) else "")
        if handler is None:
            return _failure("protocol", f"unknown operation: {operation!r:.80}")
        return {"ok": True, **handler(request)}
    except TaskError as error:
        if error.code == OUT_OF_MEMORY:
            return _lacks_memory(session, error.message)
        return _failure(error.code, error.message)
    except RequestError as error:
        return _failure(error.code, str(error))
    except KeyError as error:
        return _failure("protocol", f"{operation}: the request lacks {error}")
    except GpuError as error:
        return _device_failure(session, operation, error)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            return _lacks_memory(session, f"{operation}: the task needs more memory than there is")
        return _failure("no_space" if error.errno == errno.ENOSPC else "io", f"{operation}: {error}")
    except Exception as error:  # noqa: BLE001 - the worker decides what becomes of the evaluation
        if is_out_of_memory(error):
            return _lacks_memory(session, lacking_memory(f"{operation}: the reference", error).message)
        if "CUDA error" in str(error):
            return _device_failure(session, operation, error)
        place = traceback.extract_tb(error.__traceback__)[-1:]
        where = f" ({os.path.basename(place[0].filename)}:{place[0].lineno})" if place else ""
        return _failure("internal", f"{operation}: {type(error).__name__}: {error}{where}")


def _lacks_memory(session: Session, message: str) -> dict[str, Any]:
    """A failure with advice, if there is any."""
    advice = ""
    with contextlib.suppress(GpuError):
        advice = session.memory_advice()
    return _failure(OUT_OF_MEMORY, "; ".join(part for part in (message, advice) if part))


def _device_failure(session: Session, operation: Any, error: Exception) -> dict[str, Any]:
    """The reply for a failure of the device. The task's code is the cause, because no other code queues work in this process."""
    if is_out_of_memory(error):
        return _lacks_memory(session, f"{operation}: the reference needs more device memory than there is: {error}")
    return _failure("invalid_task", f"{operation}: device fault: {error}")


def silence() -> None:
    """Discards everything that a task prints, in Python or native code. Replies use a socket."""
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def waited_ns(tasks: str = "/proc/self/task") -> int | None:
    """For how long the threads of this process waited for a processor since they started; None where the kernel keeps no count.

    A file has "running waiting timeslices": Documentation/scheduler/sched-stats.rst of the kernel.
    """
    waited = 0
    counts = False
    for thread in os.listdir(tasks):
        # A thread may end after the directory was read.
        with contextlib.suppress(OSError), open(f"{tasks}/{thread}/schedstat", encoding="ascii") as file:
            running, waiting, _ = file.read().split()
            counts = counts or int(running) > 0
            waited += int(waiting)
    return waited if counts else None


class ProcessorUse:
    """The processor time of requests, and how long they waited for a processor. What happens after a reply is no part of it: the
    worker or a candidate may take the processor before this process has gone to sleep."""

    def __init__(self) -> None:
        self._running_ns = 0
        self._waiting_ns = 0
        self._counts = True

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        running, waited = time.process_time_ns(), waited_ns()
        yield
        self._running_ns += time.process_time_ns() - running
        after = waited_ns()
        if waited is None or after is None:
            self._counts = False
        else:
            # Threads that ended meanwhile are not counted.
            self._waiting_ns += max(after - waited, 0)

    def total(self) -> list[int] | None:
        """[running, waiting] in nanoseconds; None where the kernel keeps no count."""
        return [self._running_ns, self._waiting_ns] if self._counts else None


def serve(connection: socket.socket) -> int:
    """Answers requests until the worker closes the connection. Returns the exit status."""
    session = Session()
    use = ProcessorUse()
    while True:
        try:
            frame = frames.receive(connection)
        except (frames.FrameError, OSError):
            return 1
        if frame is None:
            return 0
        # The worker's memory files: only this process and the worker can open them.
        if frame.descriptors:
            frame.body["path"] = f"/proc/self/fd/{frame.descriptors[0]}"
        with use.counted():
            reply = answer(session, frame.body)
        frame.close()
        reply["id"] = frame.body.get("id")
        reply["processor_ns"] = use.total()
        descriptors = session.take_descriptors()
        try:
            _send(connection, reply, descriptors)
        except OSError:
            return 1
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def _send(connection: socket.socket, reply: dict[str, Any], descriptors: list[int]) -> None:
    """Sends one reply, with descriptors if it announces them."""
    if descriptors and reply.get("ok"):
        frames.send(connection, reply, descriptors)
        return
    try:
        data = frames.encode(reply)
    except (frames.FrameError, ValueError, TypeError) as error:
        data = frames.encode({"id": reply.get("id"), **_failure("internal", f"the reply cannot be sent: {error}")})
    connection.sendall(data)
