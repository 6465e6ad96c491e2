"""The HTTP side of a reward service: endpoints, limits of requests, answers, metrics."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from . import _core
from ._serve_options import ServiceOptions
from ._serve_queue import FINISHED, Assignment, Evaluation, EvaluationQueue, QueueFull
from ._serve_requests import Clients, EvaluationRequest, TaskFolders, read_options, read_request, task_of_text
from .errors import Error, InvalidArgument
from .judges import Benchmarker
from .tasks import Candidate, Task

log = logging.getLogger("kernelgen.serve")

STATUS = {
    "invalid_argument": 400, "invalid_task": 422, "unsuitable_device": 422, "missing_device": 422, "not_found": 404,
    "cancelled": 409, "unsupported": 501, "protocol": 502, "unavailable": 503, "busy": 503, "pending": 503,
    "timeout": 504, "no_space": 507, "out_of_memory": 507}
"""The HTTP status of each code of an error. Codes that are not here are 500."""

_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300, 600, 1800)
_LONGEST_WAIT = 86400


class Refusal(Exception):
    """A request that is refused before it becomes an evaluation. `reason` is a name for metrics."""

    def __init__(self, status: int, reason: str, message: str, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.status, self.reason, self.headers = status, reason, headers or {}


class Metrics:
    """What a service counts, for Prometheus."""

    def __init__(self, evaluations: Callable[[], EvaluationQueue]):
        self.registry = CollectorRegistry()
        waiting = Gauge("kernelgen_queue_length", "Evaluations that wait.", registry=self.registry)
        waiting.set_function(lambda: evaluations().queue_length)
        running = Gauge("kernelgen_running", "Evaluations that are under way.", registry=self.registry)
        running.set_function(lambda: evaluations().running)
        kept = Gauge("kernelgen_kept_answer_bytes", "Memory of the answers that are kept.", registry=self.registry)
        kept.set_function(lambda: evaluations().kept_bytes)
        self.evaluations = Counter(
            "kernelgen_evaluations", "Evaluations with a verdict, by the class of the outcome.", ["outcome"],
            registry=self.registry)
        self.failures = Counter(
            "kernelgen_failures", "Evaluations without a verdict, by the code of the error.", ["code"],
            registry=self.registry)
        self.refused = Counter(
            "kernelgen_refused_requests", "Requests that were refused, by reason.", ["reason"], registry=self.registry)
        self.seconds = Histogram(
            "kernelgen_evaluation_seconds", "Seconds of evaluations that started, without the time in the queue.",
            buckets=_SECONDS, registry=self.registry)
        self.queue_seconds = Histogram(
            "kernelgen_queue_seconds", "Seconds in the queue of evaluations that started.", buckets=_SECONDS,
            registry=self.registry)

    def note_end(self, evaluation: Evaluation) -> None:
        """Counts an evaluation that ended."""
        if evaluation.error is not None:
            self.failures.labels(evaluation.error.code).inc()
        else:
            self.evaluations.labels(evaluation.outcome).inc()
        if evaluation.started is not None and evaluation.ended is not None:
            self.seconds.observe(evaluation.ended - evaluation.started)
            self.queue_seconds.observe(evaluation.started - evaluation.arrived)


def answer_of(evaluation: Evaluation) -> Response:
    """The answer about an evaluation: its record, the error that ended it, or how far it is."""
    head = {"id": evaluation.id, "state": evaluation.state}
    if evaluation.error is not None:
        code = evaluation.error.code
        return _error_response(STATUS.get(code, 500), code, str(evaluation.error), head)
    if evaluation.state == FINISHED:
        # The record is passed on as the judge wrote it.
        text = json.dumps({**head, "score": evaluation.score})[:-1] + f', "record": {evaluation.record_json}}}'
        return Response(text, media_type="application/json")
    return Response(json.dumps(head), 202, {"Location": f"/v1/evaluations/{evaluation.id}"}, "application/json")


def _error_response(status: int, code: str, message: str, head: dict[str, str] | None = None,
                    headers: dict[str, str] | None = None) -> Response:
    headers = {"Retry-After": "5", **(headers or {})} if status == 503 else headers
    return Response(json.dumps({**(head or {}), "error": {"code": code, "message": message}}), status, headers,
                    "application/json")


class Service:
    """The state behind the endpoints."""

    def __init__(self, judge: Benchmarker, options: ServiceOptions):
        self.options = options
        self.folders = TaskFolders(options.tasks)
        self.clients = Clients(options.tokens, options.trust_client_ids or not options.tokens)
        self.metrics = Metrics(lambda: self.evaluations)
        self.evaluations = EvaluationQueue(judge, options.limits, self._note_end)

    def _note_end(self, evaluation: Evaluation) -> None:
        self.metrics.note_end(evaluation)
        seconds = (evaluation.ended or 0) - evaluation.arrived
        log.info("evaluation %s of client %s: %s after %.2f s", evaluation.id, evaluation.client,
                 evaluation.error.code if evaluation.error else evaluation.outcome, seconds)

    def authorize(self, request: Request) -> str:
        """The owner that a request speaks for. Refuses one without a right token."""
        # A page in a browser that reaches a loopback address by a name of its own has that name in Host.
        if self.options.allowed_hosts and request.url.hostname not in self.options.allowed_hosts:
            raise Refusal(403, "host", "this service is for this machine; address it as 127.0.0.1 or localhost")
        owner = self.clients.owner_of(request.headers.get("authorization", ""))
        if owner is None:
            raise Refusal(401, "unauthorized", "this service needs a token: Authorization: Bearer TOKEN",
                          {"WWW-Authenticate": "Bearer"})
        return owner

    def find(self, request: Request, identifier: str) -> Evaluation:
        """An evaluation of the one that asks. Those of other tokens do not exist for it."""
        return self.evaluations.find(identifier, self.authorize(request))

    async def submit(self, request: Request) -> Evaluation:
        """Puts the evaluation of a request into the queue."""
        owner = self.authorize(request)
        address = request.client.host if request.client else "local"
        client = self.clients.client_of(owner, address, request.headers.get("x-client-id", ""))
        # A client that has to wait learns it before it sends its code.
        self.evaluations.check_room(client)
        asked = read_request(await self._read_body(request))
        if len(asked.code.encode()) > self.options.code_bytes:
            raise Refusal(413, "code_too_large", f"code is larger than {self.options.code_bytes} bytes")
        work = Assignment(self._task_of(asked), Candidate(asked.code, asked.target, asked.language),
                          read_options(asked.options, self.options.allowed_options))
        evaluation = Evaluation(client, work, owner)
        self.evaluations.submit(evaluation)
        return evaluation

    def _task_of(self, asked: EvaluationRequest) -> Task:
        if (asked.task is None) == (asked.task_text is None):
            raise InvalidArgument("a request must have either task, a name, or task_text, the text of a task file")
        if asked.task is not None:
            return self.folders.load(asked.task)
        if not self.options.allow_task_text:
            raise Refusal(
                403, "task_text", "this service takes tasks by name only; --allow-task-text would allow their text")
        return task_of_text(asked.task_text or "")

    async def _read_body(self, request: Request) -> bytes:
        # Pages in a browser can send other types to a loopback address without asking first.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "media_type", "the body must be JSON, with Content-Type: application/json")
        too_large = Refusal(413, "body_too_large", f"the body is larger than {self.options.body_bytes} bytes",
                            {"Connection": "close"})
        if int(request.headers.get("content-length", "0")) > self.options.body_bytes:
            raise too_large

        async def read() -> bytes:
            body = bytearray()
            async for chunk in request.stream():
                body += chunk
                if len(body) > self.options.body_bytes:
                    raise too_large
            return bytes(body)

        try:
            return await asyncio.wait_for(read(), self.options.body_seconds)
        except asyncio.TimeoutError:
            raise Refusal(408, "body_too_slow", f"the body took longer than {self.options.body_seconds:g} s",
                          {"Connection": "close"}) from None


async def _wait_for_end(evaluation: Evaluation, request: Request, seconds: float | None) -> bool:
    """Waits for the end of an evaluation, or so many seconds. False if the client went away meanwhile."""
    if evaluation.finished.is_set() or seconds == 0:
        return True

    async def wait_for_disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    ended = asyncio.ensure_future(evaluation.finished.wait())
    gone = asyncio.ensure_future(wait_for_disconnect())
    try:
        await asyncio.wait([ended, gone], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return evaluation.finished.is_set() or not gone.done()
    finally:
        ended.cancel()
        gone.cancel()


_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The verdict: id, state, score and record (docs/records.md)."},
    202: {"description": "It waits or runs: id and state."},
    400: {"description": "The request cannot work."}, 401: {"description": "The token is missing or wrong."},
    404: {"description": "There is no such task or evaluation."}, 409: {"description": "The evaluation was cancelled."},
    413: {"description": "The body or the code is too large."},
    429: {"description": "Too many evaluations wait; Retry-After has seconds."},
    503: {"description": "The judge or the service is not available."}, 504: {"description": "A deadline passed."}}


def _answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: _ANSWERS[status] for status in statuses}


def make_app(judge: Benchmarker, options: ServiceOptions) -> tuple[FastAPI, Service]:
    """The application and the service behind it. Raises NotFound for a folder of tasks that is not there."""
    service = Service(judge, options)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await service.evaluations.stop()

    app = FastAPI(title="kernelgen", version=_core.version(), lifespan=lifespan, redoc_url=None,
                  description="Judges candidates. A reward is read from `score` and `record.outcome`.")
    _add_endpoints(app, service)
    _add_error_handlers(app, service)
    return app, service


def _add_endpoints(app: FastAPI, service: Service) -> None:
    body = {"requestBody": {"required": True, "content": {
        "application/json": {"schema": EvaluationRequest.model_json_schema()}}}}

    @app.post("/v1/evaluations", summary="Judge a candidate", openapi_extra=body,
              responses=_answers(200, 202, 400, 401, 404, 409, 413, 429, 503, 504))
    async def evaluate(request: Request, wait: float | None = Query(
            None, ge=0, le=_LONGEST_WAIT,
            description="Seconds to wait for the verdict. Not given: until there is one.")) -> Response:
        """Answers with the verdict, or with 202 once `wait` has passed.

        A client that disconnects while it waits cancels its evaluation.
        """
        evaluation = await service.submit(request)
        if not await _wait_for_end(evaluation, request, wait):
            service.evaluations.cancel(evaluation)
        return answer_of(evaluation)

    @app.get("/v1/evaluations/{identifier}", summary="Ask for an answer",
             responses=_answers(200, 202, 401, 404, 409, 503, 504))
    async def find(request: Request, identifier: str, wait: float = Query(
            0, ge=0, le=_LONGEST_WAIT, description="Seconds to wait for the verdict.")) -> Response:
        """Answers like the request that began the evaluation."""
        evaluation = service.find(request, identifier)
        await _wait_for_end(evaluation, request, wait)
        return answer_of(evaluation)

    @app.delete("/v1/evaluations/{identifier}", summary="Cancel an evaluation", responses=_answers(200, 401, 404))
    async def cancel(request: Request, identifier: str) -> dict[str, str]:
        """Ends an evaluation that waits or runs. One that has ended stays as it is."""
        evaluation = service.find(request, identifier)
        service.evaluations.cancel(evaluation)
        return {"id": evaluation.id, "state": evaluation.state}

    @app.get("/healthz", summary="Whether the service takes evaluations", responses=_answers(200, 503))
    async def health() -> Response:
        evaluations = service.evaluations
        state = {"status": "stopping" if evaluations.stopping else "ok", "version": _core.version(),
                 "queued": evaluations.queue_length, "running": evaluations.running}
        return Response(json.dumps(state), 503 if evaluations.stopping else 200, media_type="application/json")

    @app.get("/metrics", summary="Metrics for Prometheus", responses=_answers(200, 401))
    async def metrics(request: Request) -> Response:
        service.authorize(request)
        return Response(generate_latest(service.metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _add_error_handlers(app: FastAPI, service: Service) -> None:
    def count(reason: str) -> None:
        service.metrics.refused.labels(reason).inc()

    @app.exception_handler(Refusal)
    async def refuse(_: Request, refusal: Refusal) -> Response:
        count(refusal.reason)
        return _error_response(refusal.status, refusal.reason, str(refusal), headers=refusal.headers)

    @app.exception_handler(QueueFull)
    async def refuse_for_now(_: Request, full: QueueFull) -> Response:
        count(full.reason)
        return _error_response(429, full.reason, str(full), headers={"Retry-After": str(full.retry_after)})

    @app.exception_handler(Error)
    async def refuse_by_code(_: Request, error: Error) -> Response:
        count(error.code)
        return _error_response(STATUS.get(error.code, 500), error.code, str(error))

    @app.exception_handler(RequestValidationError)
    async def refuse_parameters(_: Request, error: RequestValidationError) -> Response:
        count("invalid_argument")
        first = error.errors()[0]
        return _error_response(400, "invalid_argument", f"{first['loc'][-1]}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def refuse_by_status(_: Request, error: HTTPException) -> Response:
        return _error_response(error.status_code, "not_found" if error.status_code == 404 else "invalid_argument",
                               str(error.detail), headers=dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def report_bug(_: Request, error: Exception) -> Response:
        return _error_response(500, "internal", f"the service raised {type(error).__name__}; its log has more")

    @app.exception_handler(ClientDisconnect)
    async def note_disconnect(_: Request, error: ClientDisconnect) -> Response:
        count("disconnected")
        return _error_response(400, "disconnected", "the client went away before it had sent its request")
