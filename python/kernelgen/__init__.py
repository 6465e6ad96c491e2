"""kernelgen: judges GPU kernels, and searches for fast ones with language models.

    import kernelgen

    record = kernelgen.evaluate("relu.py", "relu.cpp")
    print(record.outcome, record.score)

Failures of the machinery are exceptions (kernelgen.Error and its subclasses). What a candidate did is never one: it is
`record.outcome`. Times are in seconds where you give them, and carry their unit in the name where you read them.
"""

from __future__ import annotations

from . import _core
from .enums import (
    ActionStatus,
    BaselineKind,
    EvaluationMode,
    LibraryUse,
    OutcomeKind,
    Precision,
    PromptKind,
    Target,
)
from .errors import (
    Busy,
    Cancelled,
    Error,
    Internal,
    InvalidArgument,
    InvalidTask,
    Io,
    MissingDevice,
    MissingTool,
    NoSpace,
    NotFound,
    OutOfMemory,
    Pending,
    PermissionDenied,
    PromptTooLong,
    Protocol,
    Timeout,
    Unavailable,
    UnsuitableDevice,
    Unsupported,
)
from .flow import (
    FlowObserver,
    FlowOutcome,
    FlowProgress,
    RepairOutcome,
    read_history,
    read_journal,
    repair,
    repair_async,
    run,
    run_async,
)
from .flow_records import Action, ActionResult, Analysis, Event, Headroom, Profile
from .judges import (
    Benchmarker,
    EvaluationProgress,
    Judge,
    StopToken,
    describe,
    evaluate,
    evaluate_async,
    open_local_judge,
    open_remote_judge,
)
from .models import LLMClient, Model, Reply, Request, ScriptedLLMClient, open_model
from .options import BaselineOptions, Budget, EvaluationOptions, MeasureOptions, SanitizerOptions
from .policies import (
    Decision,
    EvolvePolicy,
    HybridPolicy,
    OneShotPolicy,
    Policy,
    ReflectPolicy,
    RoundsPolicy,
    SearchFacts,
    best_of,
)
from .prompts import (
    Attempt,
    ErrorReport,
    ExtractedCode,
    PersistenceReport,
    Prompt,
    PromptBuilder,
    classify_error,
    detect,
    error_classes,
    extract_code,
    read_analysis,
)
from .records import (
    CompileReport,
    Diagnostic,
    EnvironmentReport,
    EvaluationRecord,
    Outcome,
    Ratio,
    TaskDescription,
    TensorSpec,
    TimingReport,
)
from .table import to_table
from .tasks import Candidate, Task, load_candidate, load_task, targets

__version__ = _core.version()


def find_installation(prefix: str = "") -> dict[str, str]:
    """Paths of the parts that evaluations start: "worker", "sandbox", "prompts_dir", ...

    Raises MissingTool, naming the first part that is not there.
    """
    return _core.installation(prefix)


__all__ = [
    "Action", "ActionResult", "ActionStatus", "Analysis", "Attempt", "BaselineKind", "BaselineOptions", "Benchmarker",
    "Budget", "Busy", "Cancelled", "Candidate", "CompileReport", "Decision", "Diagnostic", "EnvironmentReport", "Error",
    "ErrorReport", "EvaluationMode", "EvaluationOptions", "EvaluationProgress", "EvaluationRecord", "Event",
    "EvolvePolicy", "ExtractedCode", "FlowObserver", "FlowOutcome", "FlowProgress", "Headroom", "HybridPolicy",
    "Internal", "InvalidArgument", "InvalidTask", "Io", "Judge", "LLMClient", "LibraryUse", "MeasureOptions",
    "MissingDevice", "MissingTool", "Model", "NoSpace", "NotFound", "OneShotPolicy", "OutOfMemory", "Outcome",
    "OutcomeKind", "Pending", "PermissionDenied", "PersistenceReport", "Policy", "Precision", "Profile", "Prompt",
    "PromptBuilder", "PromptKind", "PromptTooLong", "Protocol", "Ratio", "ReflectPolicy", "RepairOutcome", "Reply",
    "Request", "RoundsPolicy", "SanitizerOptions", "ScriptedLLMClient", "SearchFacts", "StopToken", "Target", "Task",
    "TaskDescription", "TensorSpec", "Timeout", "TimingReport", "Unavailable", "UnsuitableDevice", "Unsupported",
    "__version__", "best_of", "classify_error", "describe", "detect", "error_classes", "evaluate", "evaluate_async",
    "extract_code", "find_installation", "load_candidate", "load_task", "open_local_judge", "open_model",
    "open_remote_judge", "read_analysis", "read_history", "read_journal", "repair", "repair_async", "run", "run_async",
    "targets", "to_table"]
