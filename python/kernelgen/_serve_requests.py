"""What a client of a reward service may ask, and the clients themselves."""

from __future__ import annotations

import dataclasses
import hmac
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from .errors import InvalidArgument, NotFound, PermissionDenied
from .options import EvaluationOptions
from .tasks import Task, load_task

OPTIONS_THAT_WEAKEN = ("allow_weak_isolation", "atol", "measure", "memory_limit", "precision", "rtol", "shrink")
"""Options with which a verdict says less, or with which a candidate may harm the machine. A service refuses them unless
it was started with their names."""

_TASK_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*")
_CLIENT_NAME = re.compile(r"[A-Za-z0-9_.:@-]{1,64}")
_SHORTEST_TOKEN = 16

_options = TypeAdapter(EvaluationOptions)


class EvaluationRequest(BaseModel):
    """A candidate to judge. Exactly one of `task` and `task_text` is given."""

    model_config = ConfigDict(extra="forbid")

    task: str | None = Field(None, description="Name of a task in the folders of the service: relu, level1/softmax.")
    task_text: str | None = Field(
        None, description="Text of a task file. Only where the service was started with --allow-task-text.")
    code: str = Field(description="Source of the candidate.")
    target: str = Field("cpp", description="cpp, cuda, hip, hipkittens, triton or torch.")
    language: str | None = Field(None, description="c for C in a cpp candidate.")
    options: dict[str, Any] = Field(
        default_factory=dict, description="Members of EvaluationOptions that differ from their defaults.")


def read_request(body: bytes) -> EvaluationRequest:
    """A request from JSON. Raises InvalidArgument with the first reason why it is none."""
    try:
        return EvaluationRequest.model_validate_json(body)
    except ValidationError as error:
        raise InvalidArgument(_first_reason("the request", error)) from None


def read_options(values: Mapping[str, Any], allowed: Iterable[str]) -> EvaluationOptions:
    """Options of a request. Raises InvalidArgument for one that does not exist, is not possible, or is not allowed."""
    defaults = EvaluationOptions()
    _check_names("options", values, defaults)
    try:
        options = _options.validate_python(dict(values))
    except ValidationError as error:
        raise InvalidArgument(_first_reason("options", error)) from None
    for name in OPTIONS_THAT_WEAKEN:
        if name not in allowed and getattr(options, name) != getattr(defaults, name):
            raise InvalidArgument(
                f"option {name} is not for clients of this service; leave it out, or start the service with "
                f"--allow-option {name}")
    options.check()
    return options


def _check_names(place: str, values: Mapping[str, Any], defaults: Any) -> None:
    for name, value in values.items():
        if name not in defaults.__dataclass_fields__:
            raise InvalidArgument(f"{place} has no {name[:40]!r}; it has {', '.join(defaults.__dataclass_fields__)}")
        inner = getattr(defaults, name)
        if dataclasses.is_dataclass(inner) and isinstance(value, Mapping):
            _check_names(f"{place}.{name}", value, inner)


def _first_reason(subject: str, error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part)[:40] for part in first["loc"])
    return f"{subject} cannot be read: {where + ': ' if where else ''}{first['msg']}"


class TaskFolders:
    """Folders with task files that clients may name."""

    def __init__(self, folders: Iterable[str | os.PathLike[str]]):
        """Raises NotFound for a folder that is not there."""
        self._folders = [Path(folder).resolve() for folder in folders]
        for folder in self._folders:
            if not folder.is_dir():
                raise NotFound(f"there is no folder {folder}; --tasks must name one")

    def load(self, name: str) -> Task:
        """The task with this name: its path below a folder, without ".py". The first folder that has it counts.

        Raises InvalidArgument for what is no name of a task, and NotFound.
        """
        if len(name) > 200 or not _TASK_NAME.fullmatch(name):
            raise InvalidArgument(
                f"task is {name[:40]!r}; it must be a name such as relu or level1/softmax, and no path")
        for folder in self._folders:
            # A link that leads out of the folder is not followed.
            file = (folder / f"{name}.py").resolve()
            if file.is_relative_to(folder) and file.is_file():
                return load_task(file)
        raise NotFound(f"there is no task {name!r} in the folders of this service")


def task_of_text(text: str) -> Task:
    """A task that no file holds. Its name follows from its text, because a name of the client could be a path."""
    task = Task("task", text)
    return dataclasses.replace(task, name=f"task-{task.content_id[:12]}")


def read_tokens(path: str | os.PathLike[str]) -> list[str]:
    """The tokens of a file, one a line. Raises NotFound, PermissionDenied and InvalidArgument; none names a token."""
    try:
        text = Path(path).read_text(encoding="ascii")
    except FileNotFoundError:
        raise NotFound(f"there is no {path}; --token-file must name a file with one token per line") from None
    except PermissionError:
        raise PermissionDenied(f"{path} may not be read") from None
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"{path} is no file of tokens; it must have one token per line, in ASCII") from None
    lines = [line.strip() for line in text.splitlines()]
    tokens = [line for line in lines if line and not line.startswith("#")]
    if not tokens or min(map(len, tokens)) < _SHORTEST_TOKEN:
        raise InvalidArgument(f"{path} must have one token per line, each of {_SHORTEST_TOKEN} characters or more")
    return tokens


class Clients:
    """Tells clients apart, and knows which of them may ask."""

    def __init__(self, tokens: Iterable[str], trust_client_ids: bool):
        self._tokens = [token.encode() for token in tokens]
        self._trust_client_ids = trust_client_ids

    def owner_of(self, authorization: str) -> str | None:
        """The token behind a header "Authorization: Bearer TOKEN", by its number; "" without tokens; None: refused."""
        if not self._tokens:
            return ""
        scheme, _, given = authorization.partition(" ")
        owner = None
        # Every token is compared, so that the time tells nothing about which one matched.
        for number, token in enumerate(self._tokens, 1):
            if hmac.compare_digest(token, given.strip().encode("latin-1", "replace")) and scheme.lower() == "bearer":
                owner = f"token {number}"
        return owner

    def client_of(self, owner: str, address: str, client_id: str) -> str:
        """The name under which a request takes its turns. Raises InvalidArgument for an X-Client-Id that is no name."""
        if not client_id or not self._trust_client_ids:
            return owner or address
        if not _CLIENT_NAME.fullmatch(client_id):
            raise InvalidArgument("X-Client-Id must be 1 to 64 letters, digits or any of _ . : @ -")
        return f"{owner} {client_id}".strip()
