"""Campaigns: many searches under one budget, which go on from their journals (docs/campaigns.md)."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from . import _core
from ._calls import Begin, await_for, wait_for
from .errors import Error, InvalidArgument, error_from
from .flow_records import ActionResult, action_result_from
from .judges import AnyTask, Benchmarker, StopToken, default_judge
from .judges import native_of as native_judge
from .models import LLMClient, Prices
from .models import native_of as native_model
from .options import Budget, EvaluationOptions, check_group, plain
from .policies import AnyPolicy, HybridPolicy
from .policies import native_of as native_policy
from .tasks import Task, kernelbench_of, task_of

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class CampaignLimits:
    """Limits of a whole campaign, in all its sessions. None: no limit.

    The most that a request can use is reserved before it is sent, so tokens and cost need
    SearchOptions.max_output_tokens, or a model that tells its longest reply.
    """

    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None
    time: float | None = None
    """Seconds in which at least one of the runs was in progress."""


@dataclass(frozen=True)
class SearchOptions:
    """What the searches of a campaign have in common. The same as the arguments of run()."""

    options: EvaluationOptions = EvaluationOptions()
    budget: Budget = Budget()
    """Limits of each search."""
    prices: Prices | None = None
    """Prices of all requests; None: those that each model knows."""
    goal: float = 1.0
    max_prompt_tokens: int | None = None
    max_output_tokens: int | None = None
    effort: str = ""
    request_timeout: float = 600.0
    parallel_requests: int = 4
    parallel_evaluations: int | None = None
    profiles: bool = False
    sanitize_winner: bool = True
    prompt_overrides: str | os.PathLike[str] = ""


@dataclass(frozen=True)
class ResourceUsage:
    """What was used, in all sessions. `time` is in seconds."""

    tokens: int = 0
    requests: int = 0
    evaluations: int = 0
    cost: float = 0.0
    time: float = 0.0


@dataclass(frozen=True)
class CampaignRun:
    """What the journal of a run tells.

    `status` is "not begun", "running", "success", "partial", "failed", "paused", "budget exhausted", "busy" or "error".
    `reason` says in one line why it ended or stopped, and `difference` how the wanted options differ from those of its
    journal. Read the run with read_history(directory).
    """

    name: str
    directory: str
    status: str
    target: str
    model: str
    goal: float
    best: str
    best_score: float | None
    spent: ResourceUsage
    finished_actions: int
    max_actions: int | None
    device_time: float
    reason: str
    error: Error | None
    difference: str

    @property
    def is_over(self) -> bool:
        """Whether the search is over. It is then not taken up again, unless with `retry`."""
        return self.status in ("success", "partial", "failed")


@dataclass(frozen=True)
class CampaignOutcome:
    """The result of a campaign. A run that is not over goes on when the campaign is called again."""

    runs: tuple[CampaignRun, ...]
    spent: ResourceUsage

    @property
    def counts(self) -> dict[str, int]:
        """The number of runs with each status."""
        found: dict[str, int] = {}
        for run in self.runs:
            found[run.status] = found.get(run.status, 0) + 1
        return found


@dataclass(frozen=True)
class ExpectedAmount:
    """An expected value and an upper bound. None: unknown."""

    expected: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class CampaignEstimate:
    """What the rest of a campaign will take, beside what its journals say it has taken."""

    counts: dict[str, int]
    selected: int
    requests: ExpectedAmount
    tokens: ExpectedAmount
    cost: ExpectedAmount
    device_seconds: ExpectedAmount
    seconds: ExpectedAmount
    known_runs: int
    max_actions: int | None
    prompt_tokens: int | None
    reply_tokens: int | None


class CampaignObserver:
    """Watches a campaign. Override what you want to know.

    The methods are called on threads of the campaign, never on two at once, and runs wait for them. What one raises
    ends the campaign, and is raised there.
    """

    def on_progress(self, spent: ResourceUsage, used_fraction: float) -> None:
        """What all runs have used, and the largest used fraction of a limit; told before each other notice."""

    def on_run_started(self, run: CampaignRun) -> None:
        """A run is started or goes on."""

    def on_attempt(self, run: CampaignRun, result: ActionResult) -> None:
        """A step of a run has ended."""

    def on_better_kernel(self, run: CampaignRun) -> None:
        """A run has a new best kernel."""

    def on_pause(self, run: CampaignRun, action_id: str, reason: str, seconds: float) -> None:
        """A step of a run waits before it is tried again."""

    def on_run_ended(self, run: CampaignRun) -> None:
        """A run ended or stopped; its status says how."""

    def on_budget_warning(self) -> None:
        """At least 80 % of a limit are used. Told once a session."""


Paths = Sequence[str | os.PathLike[str]] | str | os.PathLike[str]
"""Several, or a single one."""


def select_tasks(sources: Paths = (), *, list_files: Paths = (), start: int | None = None,
                 end: int | None = None, first: int | None = None, sample: int | None = None, seed: int = 0,
                 kernelbench_dir: str | os.PathLike[str] = "") -> list[Task]:
    """Tasks from files, folders, levels of KernelBench ("level1", "level3/33-42") and lists, as `kgen batch` takes
    them.

    `start` and `end` choose by the numbers of files, `first` takes the front of the list, and `sample` draws so many;
    the same seed draws the same tasks. Names are unique. Without `kernelbench_dir`, the checkout is that of
    KERNELBENCH_DIR in the environment. A task that cannot be read is left out, with a warning; its error is raised
    where none is left. Raises NotFound, with names that come close, and InvalidArgument.
    """
    found, unreadable = _core.select_tasks({
        "sources": [os.fspath(source) for source in _listed(sources)],
        "list_files": [os.fspath(file) for file in _listed(list_files)],
        "start": start, "end": end, "first": first, "sample": sample, "seed": seed,
        "kernelbench_dir": kernelbench_of(kernelbench_dir)})
    errors = [(name, error_from(*parts)) for name, parts in unreadable]
    if errors and not found:
        raise errors[0][1]
    for name, error in errors:
        warnings.warn(f"{name} is left out: {error}", stacklevel=2)
    return [Task(**task) for task in found]


def _listed(values: Any) -> list[Any]:
    """A single path, text or task as a list of one."""
    return [values] if isinstance(values, (str, os.PathLike, Task)) else list(values)


def _models_of(models: Sequence[LLMClient] | LLMClient) -> list[LLMClient]:
    if isinstance(models, str):
        raise TypeError(f"option models is the text {models!r}; give open_model({models!r})")
    asked = [models] if isinstance(models, LLMClient) else list(models)
    for model in asked:
        if not isinstance(model, LLMClient):
            hint = f"open_model({model!r})" if isinstance(model, str) else "an object of an LLMClient"
            raise TypeError(f"one of option models is {type(model).__name__}; give {hint}")
    return asked


def _check_arguments(judge: Benchmarker | None, directory: str | os.PathLike[str], search: SearchOptions,
                     limits: CampaignLimits, **lists: list[Any]) -> None:
    """Refuses natural mistakes, each with a line that says what to give."""
    for name, values in lists.items():
        if not values:
            raise InvalidArgument(f"option {name} is empty; give at least one of them")
    if judge is not None and not isinstance(judge, Benchmarker):
        raise TypeError(f"option judge is {type(judge).__name__}; give open_local_judge() or another Benchmarker")
    if not os.fspath(directory):
        raise InvalidArgument("option directory is empty; name a results directory, such as \"results\"")
    check_group("search", search, SearchOptions)
    check_group("search.options", search.options, EvaluationOptions)
    check_group("search.budget", search.budget, Budget)
    check_group("limits", limits, CampaignLimits)


def _with_hints(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Says of an argument that belongs to SearchOptions where it is given."""
    fields = set(SearchOptions.__dataclass_fields__)

    @functools.wraps(function)
    def call(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        for name in options:
            if name in fields:
                raise TypeError(f"{function.__name__}() has no option {name}; give search=SearchOptions({name}=...)")
        return function(*arguments, **options)

    return call


def _run_from(values: dict[str, Any]) -> CampaignRun:
    error = values["error"]
    return CampaignRun(**{**values, "spent": ResourceUsage(**values["spent"]),
                          "error": error_from(*error) if error is not None else None})


def _outcome_from(values: dict[str, Any]) -> CampaignOutcome:
    return CampaignOutcome(tuple(_run_from(run) for run in values["runs"]), ResourceUsage(**values["spent"]))


def _estimate_from(values: dict[str, Any]) -> CampaignEstimate:
    amounts: dict[str, Any] = {
        name: ExpectedAmount(*value) if isinstance(value, tuple) else value for name, value in values.items()}
    return CampaignEstimate(**amounts)


def _notify(observer: CampaignObserver | None) -> Callable[..., object] | None:
    if observer is None:
        return None
    if not isinstance(observer, CampaignObserver):
        raise TypeError(f"option observer is {type(observer).__name__}; give an object of a CampaignObserver of yours")
    take: dict[str, Callable[..., object]] = {
        "progress": lambda spent, used: observer.on_progress(ResourceUsage(**spent), used),
        "run_started": lambda run: observer.on_run_started(_run_from(run)),
        "attempt": lambda run, result: observer.on_attempt(_run_from(run), action_result_from(result)),
        "better_kernel": lambda run: observer.on_better_kernel(_run_from(run)),
        "pause": lambda run, *values: observer.on_pause(_run_from(run), *values),
        "run_ended": lambda run: observer.on_run_ended(_run_from(run)),
        "budget_warning": observer.on_budget_warning,
    }
    return lambda kind, *values: take[kind](*values)


def _arguments(tasks: Sequence[AnyTask] | AnyTask, models: Sequence[LLMClient] | LLMClient, judge: Benchmarker | None,
               directory: str | os.PathLike[str], targets: Sequence[str] | str, policy: AnyPolicy,
               search: SearchOptions, limits: CampaignLimits, name: str, parallel_runs: int, retry: str, order: str,
               continues: bool) -> tuple[list[Any], Any, Any, dict[str, Any]]:
    asked, chosen, wanted = _models_of(models), _listed(tasks), _listed(targets)
    _check_arguments(judge, directory, search, limits, tasks=chosen, models=asked, targets=wanted)
    request = {
        **plain(search), "prompt_overrides": os.fspath(search.prompt_overrides),
        "tasks": [vars(task_of(task)) for task in chosen],
        "targets": [str(target) for target in wanted], "directory": os.fspath(directory), "limits": plain(limits),
        "name": name, "parallel_runs": parallel_runs, "retry": retry, "order": order, "continues": continues}
    native = native_judge(judge if judge is not None else default_judge())
    return [native_model(model) for model in asked], native, native_policy(policy), request


def _campaign_call(observer: CampaignObserver | None, *arguments: Any) -> Begin:
    models, judge, policy, request = _arguments(*arguments)
    return lambda on_done: _core.start_campaign(models, judge, policy, request, _notify(observer), on_done)


@_with_hints
def campaign(tasks: Sequence[AnyTask] | AnyTask, models: Sequence[LLMClient] | LLMClient,
             judge: Benchmarker | None = None, *, directory: str | os.PathLike[str],
             targets: Sequence[str] | str = ("cpp",), policy: AnyPolicy = HybridPolicy(),
             search: SearchOptions = SearchOptions(),
             limits: CampaignLimits = CampaignLimits(), name: str = "", parallel_runs: int = 4,
             retry: str = "unfinished", order: str = "given", continues: bool = False,
             observer: CampaignObserver | None = None, stop: StopToken | None = None) -> CampaignOutcome:
    """Searches for fast kernels of many tasks: every task with every target and model, several at once, under one
    budget.

    `directory` is a results directory as `kgen batch` has it: `kgen monitor`, `kgen report` and `kgen compare` read it,
    and the same campaign goes on from its journals after any end, also one that `kgen batch` began with the same
    options. Processes with the same directory share the runs and the budget. `retry` says which runs are taken up
    ("unfinished", "paused", "failed", "all"), `order` in which order ("given", "value"), and `continues` goes on with
    runs that are over, with other options. A failure of one run is in its summary, and does not affect the others.
    A call waits for calls of this process that were stopped and still write the same directory.

    All runs share one `policy` of yours: several threads call it at once, for different runs, so it must keep nothing
    of one run, and guard what it counts for all of them.

    Raises InvalidArgument for two models of one name, options that are not possible, a limit of cost without prices, a
    limit of tokens without max_output_tokens; Busy where another process spends the budget with other options; Cancelled
    where `stop` ended it; what your callbacks raise.
    """
    return _outcome_from(wait_for(_campaign_call(
        observer, tasks, models, judge, directory, targets, policy, search, limits, name, parallel_runs, retry, order,
        continues), stop))


async def campaign_async(tasks: Sequence[AnyTask] | AnyTask, models: Sequence[LLMClient] | LLMClient,
                         judge: Benchmarker | None = None, *, directory: str | os.PathLike[str],
                         targets: Sequence[str] | str = ("cpp",), policy: AnyPolicy = HybridPolicy(),
                         search: SearchOptions = SearchOptions(), limits: CampaignLimits = CampaignLimits(),
                         name: str = "", parallel_runs: int = 4, retry: str = "unfinished", order: str = "given",
                         continues: bool = False, observer: CampaignObserver | None = None) -> CampaignOutcome:
    """Awaits campaign(). Cancelling the task stops it; it can be resumed."""
    return _outcome_from(await await_for(_campaign_call(
        observer, tasks, models, judge, directory, targets, policy, search, limits, name, parallel_runs, retry, order,
        continues)))


@_with_hints
def estimate_campaign(tasks: Sequence[AnyTask] | AnyTask, models: Sequence[LLMClient] | LLMClient,
                      judge: Benchmarker | None = None, *, directory: str | os.PathLike[str],
                      targets: Sequence[str] | str = ("cpp",), policy: AnyPolicy = HybridPolicy(),
                      search: SearchOptions = SearchOptions(), limits: CampaignLimits = CampaignLimits(),
                      name: str = "", parallel_runs: int = 4, retry: str = "unfinished", order: str = "given",
                      continues: bool = False) -> CampaignEstimate:
    """What campaign() will take with the same arguments, from its journals and the bounds of its policy. Sends and
    judges nothing."""
    arguments = _arguments(tasks, models, judge, directory, targets, policy, search, limits, name, parallel_runs, retry,
                           order, continues)
    return _estimate_from(wait_for(lambda on_done: _core.start_estimate(*arguments, on_done)))
