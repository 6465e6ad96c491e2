#!/usr/bin/env python3
"""The words of the code are those of the field, so that a reader need not learn a dialect.

- Retired names stay out of the public headers and of the code in the manual.
- Comments call processes, threads and devices "it" or by their names; "who" and "somebody" are people.
- A public comment begins with what the thing is or does, not with "Of ..." or "As ...".
- A comment gives its reason in words, because the numbers of requirements are not in this repository.
"""

import ast
import io
import pathlib
import re
import sys
import tokenize

import tree

# Retired name -> its successor.
RETIRED = {
    "BeforeAdvice": "BeforeNextPrompt", "BoundSide": "Comparison", "BuildPlace": "BuildCache",
    "DeviceQueue": "DeviceLoad", "Elsewhere": "PreferOther, RequireOther", "Ended": "EarlyVerdict",
    "FileLook": "FileStatus", "GpuReading": "GpuInventory", "GpuSituation": "GpuEnvironment",
    "Handover": "BlockingQueue", "HoldFile": "RecordingLock", "HoldSigpipe": "SigpipeBlocker",
    "JudgeNeed": "JudgeState", "LastJudgement": "ComparisonMemo", "NotReached": "BelowTarget",
    "OutputReading": "OutputRequirement", "ReferenceTurn": "ReferenceOrder", "RunRow": "CachedRunReport",
    "Seen": "Observed", "SpoolPresence": "SpoolHeartbeat", "StageRequest": "CallRequest",
    "StagedCase": "PreparedCall", "Stager": "CallPreparer", "Standing": "RoundState", "Stretch": "ByteRange",
    "Turns": "FairSharedMutex", "Useless": "ExhaustedDevices", "WorkReading": "TaskFacts", "Workload": "TaskFacts", "WorkloadClass": "OperationFamily", "alone": "exclusive",
    "also": "aliases", "at_hand": "active_count", "bar": "quarantine", "beside": "shared", "bring": "restore",
    "compare_again": "output_digest", "die_as_told": "record_reported_crash", "do_it": "run_with_retry",
    "excuse": "reattribute_to_machine", "follow_line": "advance_repair_chain", "had_company": "overlapped",
    "has_company": "left_processes", "in_total": "total_ns", "late_ns": "off_stream_ns",
    "late_turns": "delayed_probes", "make_ncu_profiler": "make_local_profiler", "mid_message": "has_partial_message", "others_bytes": "foreign_bytes",
    "owed": "reference_pending", "park": "defer", "pretended.py": "compile_only_gpu.py",
    "classify_workload": "facts_of", "read_output_requirement": "returned", "read_work": "facts_of", "rescues": "escalations", "stop_at_score": "stop_score",
    "take_up": "resume_open_actions", "waking_ns": "wakeup_latency_ns",
}
RETIRED_NAME = re.compile(r"(?<![\w.-])(?:(" + "|".join(map(re.escape, RETIRED)) + r")|doubt_\w+)(?![\w-])")
PEOPLE = re.compile(r"\b(?:who|whom|whose|whoever|somebody|someone|nobody|anybody|anyone|everybody|everyone)\b", re.I)
RIDDLE = re.compile(r"(?:\\file )?(?:Of|As|Who) ")
NUMBER = re.compile(r"\brequirements? [A-Z]?\d|\([RB]\d{1,2}\)|\bDESIGN(?:\.md)? [\d(]")

# Data, not code: sources of others or of models, and sources that are wrong on purpose.
DATA = ("tests/data/", "docs/measurements/", "examples/kernels/h200/")

C_COMMENT = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(//[^\n]*|/\*(?:.|\n)*?\*/)')
SHELL_COMMENT = re.compile(r"(?m)(?:^|[ \t])(#(?!!)[^\n]*)")
CODE_SPAN = re.compile(r"```[^\n]*\n(.*?)```|`([^`\n]+)`", re.S)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def c_comments(text):
    """Yields (offset, comment)."""
    for match in C_COMMENT.finditer(text):
        if match.group(1):
            yield match.start(1), match.group(1)


def python_comments(text):
    """Yields (offset, comment or documentation string). Candidates that are wrong on purpose may be no Python."""
    try:
        module = ast.parse(text)
    except SyntaxError:
        return
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield starts[token.start[0] - 1] + token.start[1], token.string
    for node in ast.walk(module):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            yield starts[node.body[0].lineno - 1], text[starts[node.body[0].lineno - 1]:starts[node.body[0].end_lineno]]


def comments(path, text):
    if path.suffix in tree.CPP_SUFFIXES | {".cu"}:
        return c_comments(text)
    if path.suffix == ".py":
        return python_comments(text)
    if path.suffix in (".sh", ".cmake") or path.name == "CMakeLists.txt":
        return ((match.start(1), match.group(1)) for match in SHELL_COMMENT.finditer(text))
    return ()


def blocks(text):
    """Yields (offset, text) of each block of /// lines."""
    for match in re.finditer(r"(?m)^[ \t]*///(?!/)[^\n]*(?:\n[ \t]*///[^\n]*)*", text):
        yield match.start(), re.sub(r"\s*\n?[ \t]*///\s*", " ", match.group(0)).strip()


def code_parts(path, text):
    """Yields (offset, text) of the code in a public header or a page."""
    if path.suffix == ".md":
        for match in CODE_SPAN.finditer(text):
            yield match.start(), match.group(1) or match.group(2)
    else:
        yield 0, C_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def check_text(path, shown, text):
    """Yields (offset, problem) of one file."""
    is_header = shown.startswith("include/") and path.suffix == ".hpp"
    is_page = path.suffix == ".md" and path.name != "CHANGELOG.md"
    if is_header or is_page:
        for start, code in code_parts(path, text):
            for match in RETIRED_NAME.finditer(code):
                successor = RETIRED.get(match.group(1) or "", "check_plausibility_*")
                yield start + match.start(), f"{match.group(0)} is retired; its successor is {successor}"
    for start, comment in comments(path, text):
        for match in PEOPLE.finditer(comment):
            yield start + match.start(), f"\"{match.group(0)}\" is for people; processes and devices are \"it\""
        for match in NUMBER.finditer(comment):
            yield start + match.start(), f"\"{match.group(0)}\" is not in this repository; say the reason"
    if path.suffix == ".hpp":
        for start, block in blocks(text):
            if RIDDLE.match(block):
                yield start, f"\"{block[:20]}...\" does not say what the thing is or does"


def check(root):
    findings = []
    for path in tree.tracked_files(root):
        shown = path.relative_to(root).as_posix()
        if shown.startswith(DATA) or path == pathlib.Path(__file__).resolve():
            continue
        if path.suffix not in tree.CPP_SUFFIXES | {".cu", ".py", ".sh", ".cmake", ".md"} and path.name != "CMakeLists.txt":
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for offset, problem in check_text(path, shown, text):
            findings.append(f"{shown}:{text.count(chr(10), 0, offset) + 1}: {problem}")
    return findings


if __name__ == "__main__":
    sys.exit(tree.main(check, __doc__))
