"""Results as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .flow_records import ActionResult
from .records import EvaluationRecord, Ratio


def _ratio(prefix: str, ratio: Ratio | None) -> dict[str, float | None]:
    if ratio is None:
        return {prefix: None, f"{prefix}_low": None, f"{prefix}_high": None}
    return {prefix: ratio.value, f"{prefix}_low": ratio.low, f"{prefix}_high": ratio.high}


def _row(record: EvaluationRecord) -> dict[str, Any]:
    timing = record.timing
    return {
        "id": record.id,
        "started": record.started,
        "task": record.task_name,
        "target": record.target,
        "candidate_id": record.candidate_id,
        "outcome": record.outcome.name,
        "correct": record.correct,
        "score": record.score,
        **_ratio("speedup_call", timing.speedup_call if timing else None),
        **_ratio("speedup_device", timing.speedup_device if timing else None),
        "reference_ns": timing.reference_median_ns if timing else None,
        "candidate_ns": timing.candidate_median_ns if timing else None,
        "precision": str(record.precision),
        "mode": str(record.mode),
        "device": record.environment.device,
        "torch": record.environment.torch,
        "labels": "; ".join(record.labels),
        "message": record.outcome.message,
        "milliseconds": sum((phase.milliseconds for phase in record.phases), 0.0),
    }


def to_table(results: Iterable[EvaluationRecord | ActionResult] | Mapping[str, ActionResult]) -> list[dict[str, Any]]:
    """Rows for pandas.DataFrame(rows) or polars.DataFrame(rows, infer_schema_length=None): a dictionary for each record,
    all with the same keys.

    Takes records, results of actions, or a history. Rows of a search have its action and its status besides. Times are
    in nanoseconds; what is unknown is None.
    """
    rows = []
    items = list(results.values() if isinstance(results, Mapping) else results)
    has_actions = any(isinstance(item, ActionResult) for item in items)
    for item in items:
        if isinstance(item, EvaluationRecord):
            row = _row(item)
            if has_actions:
                row = {"action": None, "status": None, **row}
        else:
            row = {"action": item.action.id, "status": str(item.status), **_row(item.record or EvaluationRecord())}
            if item.record is None:
                row |= {"outcome": None, "correct": False, "target": None, "precision": None, "mode": None,
                        "message": item.message}
        rows.append(row)
    return rows
