"""Waiting for calls of the extension, and awaiting them."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any

from . import _core
from .errors import Cancelled

# Without this, threads of calls would meet an interpreter that is being taken apart.
atexit.register(_core.stop_all_calls)
# A forked child has none of these threads.
os.register_at_fork(after_in_child=_core.forget_calls_after_fork)

Begin = Callable[[Callable[[], None] | None], _core.Call]
"""Begins a call. Its argument is called at the end, on a thread of the call."""

_CANCELLATION_PATIENCE = 0.14
"""Seconds that a call which is cancelled gets to end before its task does."""


def overrides(instance: object, base: type, methods: tuple[str, ...]) -> bool:
    """Whether an instance of a class has one of its methods from somewhere else: from a subclass, or as its own
    attribute. The library then calls the object in place of what is behind it."""
    kind, own = type(instance), vars(instance)
    return any(name in own or getattr(kind, name) is not getattr(base, name) for name in methods)


def wait_for(begin: Begin, stop: _core.StopToken | None = None) -> Any:
    """Runs a call to its end. Ctrl-C stops it, and so does `stop`: the call then raises Cancelled."""
    if stop is None:
        return begin(None).wait()
    if stop.stop_requested:
        raise Cancelled("stopped before it began")
    call = begin(None)
    call.follow(stop)
    return call.wait()


async def await_for(begin: Begin) -> Any:
    """Awaits the end of a call. Cancelling the task stops the call."""
    import asyncio

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def note_end() -> None:
        if not ended.done():
            ended.set_result(None)

    def on_done() -> None:
        try:
            loop.call_soon_threadsafe(note_end)
        except RuntimeError:
            pass  # The loop was closed meanwhile, so nothing waits any more.

    call = begin(on_done)
    try:
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        call.cancel()
        # On a busy machine a worker may take longer to clean up; it then does so while the task ends.
        await asyncio.wait([ended], timeout=_CANCELLATION_PATIENCE)
        raise
    return call.result()
