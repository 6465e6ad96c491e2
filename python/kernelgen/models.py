"""Models: prompt in, reply out."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from ._calls import Begin, await_for, overrides, wait_for
from .enums import PromptKind
from .errors import Unavailable

StopToken = _core.StopToken


@dataclass(frozen=True)
class Prices:
    """Prices of a million tokens, in any one currency. None: the same as other input."""

    per_million_input: float
    per_million_output: float
    per_million_cached: float | None = None
    per_million_cache_write: float | None = None


@dataclass(frozen=True)
class ModelTerms:
    """Prices and the longest reply of a model, as far as they are known before it is asked."""

    prices: Prices | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True)
class ModelFacts:
    """Prices and limits of one model. They change, so `source` has the date and the place of these."""

    name: str
    prices: Prices | None = None
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    source: str = ""


@dataclass(frozen=True)
class Provider:
    """A provider, or a kind of server, and its models. `key_variable` of the environment holds the key."""

    name: str
    protocol: str
    base_url: str = ""
    base_url_variable: str = ""
    key_variable: str = ""
    needs_key: bool = False
    models: tuple[ModelFacts, ...] = ()


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
    cache_write_tokens: int | None = None


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

    def terms(self, kind: str) -> ModelTerms:
        """Prices and the longest reply, for prompts of a kind ("seed", "repair", ...). Asked once, when a search
        begins."""
        return ModelTerms()


class Model(LLMClient):
    """A client of the library, made by open_model(). A forked child that uses it gets connections of its own.

    A subclass may override complete(), identity() and terms().
    """

    def __init__(self, native: _core.NativeModel):
        self._native = native

    def complete(self, request: Request | str, stop: StopToken | None = None) -> Reply:
        """Asks once. Ctrl-C ends the request. Raises what the class LLMClient lists."""
        return Reply(**wait_for(_completion(self._native, request), stop))

    async def complete_async(self, request: Request | str) -> Reply:
        """Awaits a reply. Cancelling the task ends the request."""
        return Reply(**await await_for(_completion(native_of(self), request)))

    def identity(self) -> str:
        return self._native.identity()

    def terms(self, kind: str = PromptKind.SEED) -> ModelTerms:
        found = self._native.terms(str(kind))
        return ModelTerms(_prices_from(found["prices"]), found["max_output_tokens"])


def providers(file: str | os.PathLike[str] = "") -> list[Provider]:
    """The providers that open_model() knows, with their models, prices and limits; a file adds and replaces some.

    Raises InvalidArgument, with the place, for a file that cannot be read (docs/models.md). A missing file adds
    nothing.
    """
    return [
        Provider(**{**one, "models": tuple(
            ModelFacts(**{**facts, "prices": _prices_from(facts["prices"])}) for facts in one["models"])})
        for one in _core.providers(os.fspath(file))]


def _prices_from(values: dict[str, Any] | None) -> Prices | None:
    return Prices(**values) if values is not None else None


def open_model(spec: str, *, providers: str | os.PathLike[str] = "") -> Model:
    """The client that a text describes, as `kgen run --llm` takes it: "command:PROGRAM", "replay:FILE", "mailbox:DIR",
    "PROVIDER:MODEL" or "PROVIDER:MODEL@URL" (docs/models.md). Keys come from the environment.
    `providers` is a file with providers, models and prices of yours.

    Raises InvalidArgument, with the known forms; MissingTool for a key that the environment lacks.
    """
    return Model(_core.open_model(spec, os.fspath(providers)))


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
    if isinstance(model, Model) and not overrides(model, Model, ("complete", "identity", "terms")):
        return model._native
    return model


def _completion(model: Any, request: Request | str) -> Begin:
    asked = Request(request) if isinstance(request, str) else request
    return lambda on_done: _core.start_complete(model, dict(vars(asked)), on_done)
