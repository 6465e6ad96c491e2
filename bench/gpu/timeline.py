"""Draws which evaluations had each GPU, and how many others compiled and waited: a timeline of one worker, as SVG."""

from __future__ import annotations

import html
from dataclasses import dataclass

from worker_client import Answer

#: Kinds of phases with their colors, in the order of the legend. A phase is of the first kind of which it begins with a word; all
#: others check the candidate.
KINDS = (
    ("compiles or builds", "#9aa7b8", ("compile", "build")),
    ("waits for judge or device", "#f3d9a4", ("wait",)),
    ("starts judge, admits task", "#c9a0dc", ("admit", "start")),
    ("reference alone", "#8fc7c2", ("reference",)),
    ("loads", "#6f9bd1", ("load", "weights")),
    ("times", "#d1605e", ("timing", "device timing", "device again")),
)
CHECKS = ("checks", "#6aa56e")
#: Phases without the device, the more frequent kind first.
PREPARING = [(name, color) for name, color, _ in (KINDS[1], KINDS[0], KINDS[2])]
WIDTH, LEFT, RIGHT, ROW, COUNTS, GAP = 1100, 90, 24, 18, 48, 18


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


def uses_device(phase: str) -> bool:
    """False for a phase without the device, which may work for another evaluation meanwhile."""
    return kind_of(phase) not in PREPARING


def spans_of(answers: list[Answer], names: list[str]) -> dict[str, list[Span]]:
    """The phases of all evaluations of each GPU, in the order in which they began. One without a device, such as a candidate that
    does not compile, is under ""."""
    begin = min((answer.sent for answer in answers), default=0.0)
    found: dict[str, list[Span]] = {}
    for answer, name in zip(answers, names):
        spans = [Span(start - begin, end - begin, phase, name) for start, end, phase in answer.intervals]
        if spans:
            found.setdefault(answer.device or "", []).extend(spans)
    return {device: sorted(found[device], key=lambda span: span.start) for device in sorted(found)}


def counts(spans: list[Span], shown: float) -> list[tuple[float, int]]:
    """How many of the phases last, from each of these times on, up to `shown`."""
    changes: dict[float, int] = {0.0: 0}
    for span in spans:
        if span.start < shown:
            changes[span.start] = changes.get(span.start, 0) + 1
            changes[min(span.end, shown)] = changes.get(min(span.end, shown), 0) - 1
    found, count = [], 0
    for time in sorted(changes):
        count += changes[time]
        found.append((time, count))
    return found


def totals(answers: list[Answer]) -> dict[str, float]:
    """Seconds of all evaluations by kind of phase, the largest first."""
    found: dict[str, float] = {}
    for answer in answers:
        for start, end, phase in answer.intervals:
            name = kind_of(phase)[0]
            found[name] = found.get(name, 0.0) + end - start
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def draw(answers: list[Answer], names: list[str], seconds: float = 60.0) -> str:
    """The first seconds as SVG. Each GPU has a row with the phases of the evaluation that has it, and below it how many others
    compile, and wait."""
    devices = spans_of(answers, names)
    shown = max(min(seconds, max((span.end for spans in devices.values() for span in spans), default=0.0)), 1e-3)
    scale = (WIDTH - LEFT - RIGHT) / shown
    waiting = {device: _stacked(spans, shown) for device, spans in devices.items()}
    most = max((count for layers in waiting.values() for _, layer in layers for _, count in layer), default=0) or 1
    parts, y = [], 40.0
    for device, spans in devices.items():
        parts.append(f'<text x="4" y="{y + ROW - 5:.0f}">{html.escape(device[-6:] or "no device")}</text>')
        for span in (span for span in spans if span.start < shown and uses_device(span.phase)):
            width = max((min(span.end, shown) - span.start) * scale, 0.3)
            title = html.escape(f"{span.name}: {span.phase}, {span.end - span.start:.2f} s")
            parts.append(f'<rect x="{LEFT + span.start * scale:.1f}" y="{y:.0f}" width="{width:.1f}" height="{ROW}" '
                         f'fill="{kind_of(span.phase)[1]}"><title>{title}</title></rect>')
        y += ROW + COUNTS + 4
        for color, layer in waiting[device]:
            edge = [(LEFT + time * scale, y - COUNTS * count / most) for time, count in layer]
            steps = "".join(f"H{x:.1f}V{height:.1f}" for x, height in edge)
            parts.append(f'<path d="M{LEFT},{y:.0f}{steps}H{LEFT + shown * scale:.1f}V{y:.0f}Z" fill="{color}"/>')
        parts.append(f'<text x="4" y="{y - COUNTS + 9:.0f}">{most} others</text><text x="4" y="{y:.0f}">0</text>')
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


def _stacked(spans: list[Span], shown: float) -> list[tuple[str, list[tuple[float, int]]]]:
    """Color and counts of the preparing kinds of phases, the tallest first: each is counted with those after it."""
    return [(color, counts([span for span in spans if kind_of(span.phase) in PREPARING[index:]], shown))
            for index, (_, color) in enumerate(PREPARING)]
