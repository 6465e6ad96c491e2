"""Records as HTML, for notebooks. All text is escaped: messages and logs hold what candidates and compilers wrote."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .records import EvaluationRecord, Ratio


def _duration(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def _speedup(ratio: Ratio) -> str:
    return f"{ratio.value:.3g}x ({ratio.low:.3g} to {ratio.high:.3g})"


def html_of_record(record: EvaluationRecord) -> str:
    """A table with the outcome, its message and its times."""
    rows = [("outcome", record.outcome.name)]
    if record.outcome.message:
        rows.append(("message", record.outcome.message))
    if record.timing is not None:
        timing = record.timing
        rows.append(("speedup per call", _speedup(timing.speedup_call)))
        if timing.speedup_device is not None:
            rows.append(("speedup on the device", _speedup(timing.speedup_device)))
        rows.append(("reference", _duration(timing.reference_median_ns)))
        rows.append(("candidate", _duration(timing.candidate_median_ns)))
    if record.labels:
        rows.append(("labels", ", ".join(record.labels)))
    if record.environment.device:
        rows.append(("device", record.environment.device))
    mark = "#1a7f37" if record.correct else "#cf222e"
    cells = "".join(
        f"<tr><th style=\"text-align:left\">{escape(name)}</th><td style=\"text-align:left\">{escape(value)}</td></tr>"
        for name, value in rows)
    title = f"{record.task_name or 'evaluation'} ({record.target})"
    return (f"<table style=\"border-left:4px solid {mark}\"><caption style=\"text-align:left\">{escape(title)}"
            f"</caption>{cells}</table>")
