"""Draws which evaluations had each GPU, and what they waited for: a timeline of one worker, as SVG."""

from __future__ import annotations

import html
from dataclasses import dataclass

from worker_client import Answer

#: Kinds of phases with their colors, in the order of the legend. A phase is of the first kind of which it begins with a word; all
#: others check the candidate.
KINDS = (
    ("compiles or builds", "#9aa7b8", ("compile", "build")),
    ("waits for judge or device", "#f3d9a4", ("wait",)),
    ("admits the task", "#c9a0dc", ("admit",)),
    ("reference alone", "#8fc7c2", ("reference",)),
    ("loads", "#6f9bd1", ("load", "weights")),
    ("times", "#d1605e", ("timing", "device timing", "device again")),
)
CHECKS = ("checks", "#6aa56e")
WIDTH, LEFT, ROW, GAP = 1100, 90, 9, 14


@dataclass(frozen=True)
class Span:
    """A phase of an evaluation, in seconds after the first request."""

    start: float
    end: float
    phase: str
    name: str


def kind_of(phase: str) -> tuple[str, str]:
    """The kind of a phase, and its color."""
    for name, color, words in KINDS:
        if phase.startswith(words):
            return name, color
    return CHECKS


def spans_of(answers: list[Answer], names: list[str]) -> dict[str, list[list[Span]]]:
    """The evaluations of each GPU, each as its phases, in the order in which they began. One without a device, such as a candidate
    that does not compile, is under ""."""
    begin = min((answer.sent for answer in answers), default=0.0)
    found: dict[str, list[list[Span]]] = {}
    for answer, name in zip(answers, names):
        spans = [Span(start - begin, end - begin, phase, name) for start, end, phase in answer.intervals]
        if spans:
            found.setdefault(answer.device or "", []).append(spans)
    return {device: sorted(found[device], key=lambda spans: spans[0].start) for device in sorted(found)}


def rows_of(evaluations: list[list[Span]]) -> list[list[Span]]:
    """The same in few rows: each evaluation in the first row that is free when it begins."""
    rows: list[list[Span]] = []
    for spans in evaluations:
        row = next((row for row in rows if row[-1].end <= spans[0].start), None)
        if row is None:
            rows.append(row := [])
        row.extend(spans)
    return rows


def totals(answers: list[Answer]) -> dict[str, float]:
    """Seconds of all evaluations by kind of phase, the largest first."""
    found: dict[str, float] = {}
    for answer in answers:
        for start, end, phase in answer.intervals:
            name = kind_of(phase)[0]
            found[name] = found.get(name, 0.0) + end - start
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def draw(answers: list[Answer], names: list[str], seconds: float = 60.0) -> str:
    """The first seconds as SVG. Each GPU has a group of rows; a row is one evaluation after the other."""
    devices = {device: rows_of(evaluations) for device, evaluations in spans_of(answers, names).items()}
    last = max((span.end for rows in devices.values() for row in rows for span in row), default=0.0)
    shown = max(min(seconds, last), 1e-3)
    scale = (WIDTH - LEFT - 10) / shown
    parts, y = [], 40.0
    for device, rows in devices.items():
        label = html.escape(device[-6:] or "no device")
        parts.append(f'<text x="4" y="{y + ROW:.0f}">{label}</text>')
        for row in rows:
            for span in row:
                if span.start >= shown:
                    continue
                width = max((min(span.end, shown) - span.start) * scale, 0.3)
                title = html.escape(f"{span.name}: {span.phase}, {span.end - span.start:.2f} s")
                parts.append(f'<rect x="{LEFT + span.start * scale:.1f}" y="{y:.0f}" width="{width:.1f}" height="{ROW - 1}" '
                             f'fill="{kind_of(span.phase)[1]}"><title>{title}</title></rect>')
            y += ROW
        y += GAP
    for second in range(int(shown) + 1):
        if shown > 20 and second % 5:
            continue
        x = LEFT + second * scale
        parts.append(f'<line x1="{x:.1f}" y1="34" x2="{x:.1f}" y2="{y - GAP:.0f}" stroke="#ddd" stroke-width="0.5"/>')
        parts.append(f'<text x="{x:.1f}" y="{y:.0f}" text-anchor="middle">{second} s</text>')
    x = float(LEFT)
    for name, color in [(name, color) for name, color, _ in KINDS] + [CHECKS]:
        parts.append(f'<rect x="{x:.0f}" y="12" width="10" height="10" fill="{color}"/><text x="{x + 14:.0f}" y="21">{name}</text>')
        x += 30 + 6.2 * len(name)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 8:.0f}" font-family="sans-serif" font-size="11">\n'
            '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")
