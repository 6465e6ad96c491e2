"""Models: prompt in, reply out."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from ._calls import Begin, await_for, wait_for
from .errors import Unavailable

StopToken = _core.StopToken


@dataclass(frozen=True)
class Request:
    """One request to a model. `timeout` is in seconds, for all attempts together."""

    prompt: str
    id: str = "request"
    kind: str = "seed"
    temperature: float = 0.7
    effort: str = ""
    max_output_tokens: int | None = None
    timeout: float = 600.0
    fingerprint: str = ""


@dataclass(frozen=True)
class Reply:
    """The answer of a model. `finish` is "stop", "length", "refused" or "other"; tokens are None where unknown."""

    text: str
    finish: str = "stop"
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class LLMClient(abc.ABC):
    """Asks a model. Subclasses are called from several threads at once."""

    @abc.abstractmethod
    def complete(self, request: Request, stop: StopToken) -> Reply | str:
        """Asks once, and returns the reply. Should return or raise soon after `stop.stop_requested`.

        Raise Unavailable or Timeout for an endpoint that does not answer: the search pauses, and can be resumed. Raise
        PermissionDenied, PromptTooLong or InvalidArgument for a request that is refused. Any other exception ends the
        search, and is raised there.
        """

    def identity(self) -> str:
        """The model alone: "openai gpt-5". A search that is resumed must ask the same one. Never holds a key."""
        return f"python {type(self).__name__}"


class Model(LLMClient):
    """A client of the library, made by open_model()."""

    def __init__(self, native: _core.NativeModel):
        self._native = native

    def complete(self, request: Request | str, stop: StopToken | None = None) -> Reply:
        """Asks once. Ctrl-C ends the request. Raises what the class LLMClient lists."""
        return Reply(**wait_for(_completion(self, request, stop)))

    async def complete_async(self, request: Request | str) -> Reply:
        """Awaits a reply. Cancelling the task ends the request."""
        return Reply(**await await_for(_completion(self, request, None)))

    def identity(self) -> str:
        return self._native.identity()


def open_model(spec: str) -> Model:
    """The client that a text describes, as `kgen run --llm` takes it: "command:PROGRAM", "replay:FILE", "mailbox:DIR",
    "PROVIDER:MODEL" or "PROVIDER:MODEL@URL" (docs/models.md). Keys come from the environment.

    Raises InvalidArgument, with the known forms; MissingTool for a key that the environment lacks.
    """
    return Model(_core.open_model(spec))


class ScriptedLLMClient(LLMClient):
    """A model for tests: it answers from a list, or what a function says. Keeps the requests."""

    def __init__(self, replies: Sequence[str | Reply] | Callable[[Request], str | Reply]):
        self._replies = replies if callable(replies) else iter(list(replies))
        self.requests: list[Request] = []

    def complete(self, request: Request, stop: StopToken) -> Reply | str:
        self.requests.append(request)
        if callable(self._replies):
            return self._replies(request)
        reply = next(self._replies, None)
        if reply is None:
            raise Unavailable(f"the script has no reply left for \"{request.id}\"")
        return reply

    def identity(self) -> str:
        return "scripted"


def native_of(model: LLMClient) -> Any:
    """What the extension calls: a client of the library, or an object of Python."""
    return model._native if isinstance(model, Model) else model


def _completion(model: Model, request: Request | str, stop: StopToken | None) -> Begin:
    asked = Request(request) if isinstance(request, str) else request
    return lambda on_done: _core.start_complete(model._native, dict(vars(asked)), stop, on_done)
