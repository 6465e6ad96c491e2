#!/usr/bin/env python3
"""Draws a search for people: a row per step, with what was wrong or a bar as long as the kernel is fast.

    tools/draw_search.py RESULTS-DIRECTORY TASK > docs/figures/search.svg

It reads `detailed_report.json`, which `kgen run` and `kgen report` write. `figures/score.svg` of a run shows the scores of
any number of steps; this picture is for few, with their names and messages. tools/record_demo.sh makes the run that the
README shows.
"""

import argparse
import html
import json
import pathlib
import sys

WIDTH = 800
ROW = 46
TOP = 74
NAME = 20
BAR = 190
BAR_END = 700
LINE_OF_TEXT = 88  # characters of a message

STYLE = """
    text { font-family: sans-serif; font-size: 14px; fill: #1f2328; }
    .title { font-size: 17px; font-weight: bold; }
    .name { font-family: monospace; font-size: 13px; }
    .small { font-size: 12px; fill: #59636e; }
    .score { font-weight: bold; }
    .page { fill: #ffffff; }
    .failed { font-weight: bold; fill: #bc4c00; }
    .bar { fill: #80ccff; }
    .best { fill: #4ac26b; }
    .reference { stroke: #59636e; stroke-width: 1.5; stroke-dasharray: 5 4; }
    .rule { stroke: #d1d9e0; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .small { fill: #9198a1; }
      .page { fill: #0d1117; }
      .failed { fill: #f0883e; }
      .bar { fill: #1f6feb; }
      .best { fill: #238636; }
      .reference { stroke: #9198a1; }
      .rule { stroke: #3d444d; }
    }
"""


def shortened(text, limit):
    """At most `limit` characters, cut between words."""
    if len(text) <= limit:
        return text
    return text[:limit - 3].rsplit(" ", 1)[0].rstrip(" ,;:(") + " ..."


def text_at(x, y, content, style="", anchor="start"):
    return (f'  <text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"' + (f' class="{style}"' if style else "") +
            f">{html.escape(content, quote=False)}</text>")


def row_of(attempt, index, run, scale):
    """One step: its name, and a bar or words."""
    y = TOP + index * ROW
    middle = y + ROW / 2 + 5
    parts = [f'  <line class="rule" x1="{NAME}" x2="{WIDTH - NAME}" y1="{y}" y2="{y}"/>',
             text_at(NAME, middle, attempt["id"], "name")]
    if attempt["score"] is not None:
        best = attempt["id"] == run["best"]
        end = BAR + attempt["score"] * scale
        parts.append(f'  <rect class="{"best" if best else "bar"}" x="{BAR}" y="{y + 11}" width="{end - BAR:.1f}" '
                     f'height="{ROW - 22}" rx="3"/>')
        parts.append(text_at(max(end, BAR + scale) + 8, middle, f'{attempt["score"]:.2f}x', "score"))
    else:
        # An analysis or a critique is advice, and nothing has failed.
        is_advice = attempt["status"] != "evaluated" and attempt["class"] in ("analyzed", "criticized")
        parts.append(text_at(BAR, y + 19, "advice" if is_advice else attempt["class"], "" if is_advice else "failed"))
        parts.append(text_at(BAR, y + 37, shortened(attempt["message"], LINE_OF_TEXT), "small"))
    return parts


def draw(run):
    """The SVG of one run of a detailed report."""
    attempts = run["attempts"]
    best = f'{run["score"]:.2f} times as fast as PyTorch' if run["score"] is not None else "no kernel with a score"
    highest = max([1.0, *(attempt["score"] or 0.0 for attempt in attempts)])
    scale = (BAR_END - BAR) / highest
    height = TOP + len(attempts) * ROW + 34
    one = BAR + scale
    steps = "; ".join(f'{attempt["id"]}: ' + (attempt["class"] if attempt["score"] is None else f'{attempt["score"]:.2f}x')
                      for attempt in attempts)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
             'role="img" aria-labelledby="title desc">',
             f'  <title id="title">{html.escape(run["task"])}: {best}</title>',
             f'  <desc id="desc">{html.escape(steps)}</desc>',
             f"  <style>{STYLE}  </style>",
             f'  <rect class="page" width="{WIDTH}" height="{height}" rx="8"/>',
             text_at(NAME, 32, f'kgen run {run["task"]}.py: {best}', "title"),
             text_at(NAME, 54, "each step is a reply of a model, compiled, checked and timed beside PyTorch", "small")]
    for index, attempt in enumerate(attempts):
        lines += row_of(attempt, index, run, scale)
    # The line of the reference is seen beside bars only, as words need the same place.
    for index, attempt in enumerate(attempts):
        if attempt["score"] is not None:
            y = TOP + index * ROW
            lines.append(f'  <line class="reference" x1="{one:.1f}" x2="{one:.1f}" y1="{y + 4}" y2="{y + ROW - 4}"/>')
    foot = TOP + len(attempts) * ROW
    lines.append(f'  <line class="rule" x1="{NAME}" x2="{WIDTH - NAME}" y1="{foot}" y2="{foot}"/>')
    said = "dashed: PyTorch eager"
    if run["score"] is not None:
        said += (f', {run["reference_ms"]:.2f} ms a call; best kernel {run["kernel_ms"]:.2f} ms, '
                 f'95 % interval {run["score_low"]:.2f}x to {run["score_high"]:.2f}x')
    lines += [text_at(NAME, foot + 22, said, "small"), "</svg>"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("task")
    arguments = parser.parse_args()
    report = arguments.results / "detailed_report.json"
    runs = {run["task"]: run for run in json.loads(report.read_text(encoding="utf-8"))["runs"] if not run["run"]}
    if arguments.task not in runs:
        sys.exit(f"draw_search: {report} has no run of {arguments.task}; there is: {', '.join(runs) or 'none'}")
    sys.stdout.write(draw(runs[arguments.task]))


if __name__ == "__main__":
    main()
