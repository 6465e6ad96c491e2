"""kernelgen: judges GPU kernels, and searches for fast ones with language models.

    import kernelgen

    record = kernelgen.evaluate("relu.py", "relu.cpp")
    print(record.outcome, record.score)

Failures of the machinery are exceptions (kernelgen.Error and its subclasses). What a candidate did is never one: it is
`record.outcome`. Times are in seconds where you give them, and carry their unit in the name where you read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import campaigns, compilers, errors, judges, models, options, policies, profiles, records, tasks
    from .audits import AuditFinding, AuditReport, AuditStep, audit, audit_async
    from .campaigns import (
        CampaignEstimate,
        CampaignLimits,
        CampaignObserver,
        CampaignOutcome,
        CampaignRun,
        ExpectedAmount,
        ResourceUsage,
        SearchOptions,
        campaign,
        campaign_async,
        estimate_campaign,
        select_tasks,
    )
    from .compilers import (
        CompileFailed,
        CompileRequest,
        Compiled,
        KernelCompiler,
        LocalCompiler,
        open_local_compiler,
        register_target,
    )
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
        StopSource,
        StopToken,
        describe,
        evaluate,
        evaluate_async,
        open_local_judge,
        open_remote_judge,
    )
    from .models import (
        LLMClient,
        Model,
        ModelFacts,
        ModelTerms,
        Prices,
        Provider,
        Reply,
        Request,
        ScriptedLLMClient,
        open_model,
        providers,
    )
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
    from .profiles import (
        ProfileFinding,
        ProfileReport,
        profile,
        profile_async,
        read_profile_reports,
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
    __version__: str

_NAMES = {
    "audits": "AuditFinding AuditReport AuditStep audit audit_async",
    "campaigns":
        "CampaignEstimate CampaignLimits CampaignObserver CampaignOutcome CampaignRun ExpectedAmount "
        "ResourceUsage SearchOptions campaign campaign_async estimate_campaign select_tasks",
    "compilers":
        "CompileFailed CompileRequest Compiled KernelCompiler LocalCompiler open_local_compiler "
        "register_target",
    "enums": "ActionStatus BaselineKind EvaluationMode LibraryUse OutcomeKind Precision PromptKind Target",
    "errors":
        "Busy Cancelled Error Internal InvalidArgument InvalidTask Io MissingDevice MissingTool NoSpace "
        "NotFound OutOfMemory Pending PermissionDenied PromptTooLong Protocol Timeout Unavailable "
        "UnsuitableDevice Unsupported",
    "flow":
        "FlowObserver FlowOutcome FlowProgress RepairOutcome read_history read_journal repair repair_async "
        "run run_async",
    "flow_records": "Action ActionResult Analysis Event Headroom Profile",
    "judges":
        "Benchmarker EvaluationProgress Judge StopSource StopToken describe evaluate evaluate_async "
        "open_local_judge open_remote_judge",
    "models":
        "LLMClient Model ModelFacts ModelTerms Prices Provider Reply Request ScriptedLLMClient open_model "
        "providers",
    "options": "BaselineOptions Budget EvaluationOptions MeasureOptions SanitizerOptions",
    "policies":
        "Decision EvolvePolicy HybridPolicy OneShotPolicy Policy ReflectPolicy RoundsPolicy SearchFacts "
        "best_of",
    "profiles":
        "ProfileFinding ProfileReport profile profile_async read_profile_reports",
    "prompts":
        "Attempt ErrorReport ExtractedCode PersistenceReport Prompt PromptBuilder classify_error detect "
        "error_classes extract_code read_analysis",
    "records":
        "CompileReport Diagnostic EnvironmentReport EvaluationRecord Outcome Ratio TaskDescription TensorSpec "
        "TimingReport",
    "table": "to_table",
    "tasks": "Candidate Task load_candidate load_task targets",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


# A check of types takes the names from above; with this function, it would take every name.
if not TYPE_CHECKING:
    def __getattr__(name: str) -> object:
        """Imports the module of a name when it is first used: most programs use few of them."""
        import importlib

        if name == "__version__":
            from . import _core

            value: object = _core.version()
        elif name in _MODULES:
            value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
        elif name in _NAMES:
            return importlib.import_module(f".{name}", __name__)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULES, "__version__"})


def find_installation(prefix: str = "") -> dict[str, str]:
    """Paths of the parts that evaluations start: "worker", "sandbox", "prompts_dir", ...

    Raises MissingTool, naming the first part that is not there.
    """
    from . import _core

    return _core.installation(prefix)


__all__ = [
    "Action", "ActionResult", "ActionStatus", "Analysis", "Attempt", "AuditFinding", "AuditReport", "AuditStep",
    "BaselineKind", "BaselineOptions", "Benchmarker", "Budget", "Busy", "CampaignEstimate", "CampaignLimits",
    "CampaignObserver", "CampaignOutcome", "CampaignRun", "Cancelled", "Candidate", "CompileFailed", "CompileReport",
    "CompileRequest", "Compiled", "Decision", "Diagnostic", "EnvironmentReport", "Error", "ErrorReport",
    "EvaluationMode", "EvaluationOptions", "EvaluationProgress", "EvaluationRecord", "Event", "EvolvePolicy",
    "ExpectedAmount", "ExtractedCode", "FlowObserver", "FlowOutcome", "FlowProgress", "Headroom", "HybridPolicy",
    "Internal", "InvalidArgument", "InvalidTask", "Io", "Judge", "KernelCompiler", "LLMClient", "LibraryUse",
    "LocalCompiler", "MeasureOptions", "MissingDevice", "MissingTool", "Model", "ModelFacts", "ModelTerms", "NoSpace",
    "NotFound", "OneShotPolicy", "OutOfMemory", "Outcome", "OutcomeKind", "Pending", "PermissionDenied",
    "PersistenceReport", "Policy", "Precision", "Prices", "Profile", "ProfileFinding", "ProfileReport", "Prompt",
    "PromptBuilder", "PromptKind", "PromptTooLong", "Protocol", "Provider", "Ratio", "ReflectPolicy", "RepairOutcome",
    "Reply", "Request", "ResourceUsage", "RoundsPolicy", "SanitizerOptions", "ScriptedLLMClient", "SearchFacts",
    "SearchOptions", "StopSource", "StopToken", "Target", "Task", "TaskDescription", "TensorSpec", "Timeout",
    "TimingReport", "Unavailable", "UnsuitableDevice", "Unsupported", "__version__", "audit", "audit_async", "best_of", "campaign",
    "campaign_async", "classify_error", "describe", "detect", "error_classes", "estimate_campaign", "evaluate",
    "evaluate_async", "extract_code", "find_installation", "load_candidate", "load_task", "open_local_compiler",
    "open_local_judge", "open_model", "open_remote_judge", "profile", "profile_async", "providers", "read_analysis",
    "read_history", "read_journal", "read_profile_reports", "register_target", "repair", "repair_async", "run",
    "run_async", "select_tasks", "targets", "to_table"]
