#!/usr/bin/env python3
"""Whole verdicts on a real GPU: right candidates, wrong ones and dishonest ones, through `kgen eval --json`.

    tests/gpu/evaluate.py --kgen build/bin/kgen [--only TEXT] [--json FILE]

One warm `kgen worker --spool` serves all of them, so that a candidate that damages it fails the test of the next; the
last ones start a worker of their own. One line each, then "N passed, N failed".
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
FEWEST_FULL_COMPARISONS = 44
#: For a kernel that never ends: long enough for an honest build or import.
CALL_TIMEOUT_S = 20

Check = Callable[[dict], "str | None"]


def was_timed(record: dict) -> str | None:
    """A right answer has a speedup that 44 full comparisons stand behind."""
    timing = record.get("timing")
    if not timing:
        return "it was not timed"
    if timing["full_comparisons"] < FEWEST_FULL_COMPARISONS:
        return f"only {timing['full_comparisons']} full comparisons"
    return None if timing["speedup_call"]["value"] > 0 else "no speedup_call"


def was_captured(record: dict) -> str | None:
    timing = record.get("timing") or {}
    return None if timing.get("speedup_device") else f"no speedup_device: {timing.get('speedup_device_reason')}"


def was_not_captured(record: dict) -> str | None:
    timing = record.get("timing") or {}
    # It is compared as a call with the reference as a graph then, and the record says so.
    return None if timing.get("speedup_device_reason") else "no reason why it was called instead of replayed"


def gained_nothing(limit: float) -> Check:
    """A clock may be attacked; the attack must not pay."""

    def check(record: dict) -> str | None:
        timing = record.get("timing") or {}
        for name in ("speedup_call", "speedup_device"):
            ratio = timing.get(name)
            if record["outcome"]["kind"] == "correct" and ratio and ratio["value"] > limit:
                return f"{name} {ratio['value']:.2f}, more than {limit}"
        return None

    return check


def compiled_with_resources(record: dict) -> str | None:
    return None if (record.get("compile") or {}).get("command") else "the record does not say how it was compiled"


def names_its_wait(record: dict) -> str | None:
    text = record["outcome"].get("message", "")
    return None if "a kernel reported 'never' in block 3, " in text else f"it does not name the wait: {text}"


def executed_on_nvidia(record: dict) -> str | None:
    """A time of a HIP kernel on an NVIDIA GPU says that it is none of an AMD GPU."""
    return None if is_stand_in(record) else f"no label says so: {record.get('labels')}"


def refused_by_name(name: str) -> Check:
    """The compiler's message says what it is that NVIDIA does otherwise."""

    def check(record: dict) -> str | None:
        text = json.dumps([record["outcome"], record.get("compile")])
        return None if f"{name} without a width depends on the 64 lanes" in text else f"{name} is not named"

    return check


@dataclass(frozen=True)
class Case:
    """One candidate and the classes that are right for it: patterns such as "accuracy:*"."""

    task: str
    candidate: str
    expected: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    options: tuple[str, ...] = ()
    own_worker: bool = False


def right(task: str, candidate: str, *checks: Check, **more) -> Case:
    return Case(task, candidate, ("correct",), (was_timed, *checks), **more)


def wrong(task: str, candidate: str, *expected: str, **more) -> Case:
    return Case(task, candidate, expected, **more)


ENDLESS = {"options": ("--timeout", "5")}

CASES = [
    # Right, each kind of candidate.
    right("relu", "relu.cu", was_captured, compiled_with_resources),
    right("softmax", "softmax.cu", was_captured),
    right("linear", "linear.cu", was_captured),
    right("two_outputs", "two_outputs.cu", was_captured),
    right("row_sums", "grid_barrier.cu"),
    right("relu", "relu_two_streams.cu", was_captured),
    right("relu", "relu_graph_of_its_own.cu"),
    right("relu", "relu_waits.cu", was_not_captured),
    right("relu", "relu_triton.py", was_captured),
    right("softmax", "softmax_triton.py", was_captured),
    right("relu", "relu_torch.py", was_captured),
    right("relu", "waits_torch.py", was_not_captured),
    right("linear", "linear_packed.py", was_captured),
    right("matmul", "matmul_torch.py", was_captured),
    right("relu", "relu_load_inline.py"),
    # Wrong answers.
    wrong("relu", "twice.cu", "accuracy:mismatch"),
    wrong("relu", "echo.cu", "accuracy:mismatch"),
    wrong("relu_of_rand", "echo.cu", "off_distribution:mismatch"),
    wrong("relu", "nan.cu", "accuracy:nan"),
    wrong("relu", "last_elements.cu", "accuracy:*"),
    wrong("relu", "nothing.cu", "accuracy:*"),
    wrong("relu", "uninitialized.cu", "accuracy:*"),
    wrong("row_sums", "racing_sums.cu", "race", "accuracy:mismatch"),
    wrong("row_sums", "row_sums_autotuned_atomic.py", "accuracy:mismatch"),
    wrong("matmul", "tf32_torch.py", "accuracy:mismatch"),
    wrong("relu", "half_torch.py", "accuracy:dtype"),
    wrong("relu", "shape_torch.py", "accuracy:shape"),
    wrong("relu", "on_cpu_torch.py", "accuracy:*", "interface"),
    wrong("relu", "empty_like_torch.py", "accuracy:*"),
    wrong("relu", "zeros_torch.py", "accuracy:mismatch"),
    wrong("two_outputs", "first_output_torch.py", "accuracy:mismatch"),
    wrong("linear", "own_weights_torch.py", "weight_sync"),
    # Writes where it must not.
    wrong("relu", "overwrites_input.cu", "mutated_input"),
    wrong("relu", "overwrites_input_torch.py", "mutated_input"),
    wrong("relu", "out_of_bounds.cu", "crash:out_of_bounds", "device_fault:*"),
    wrong("relu", "before_the_output.cu", "crash:out_of_bounds", "device_fault:*"),
    # Faults of the device, and what they leave behind.
    wrong("relu", "illegal_address.cu", "device_fault:*"),
    right("relu", "relu.cu"),
    wrong("relu", "triton_out_of_bounds.py", "device_fault:*"),
    right("relu", "relu_triton.py"),
    wrong("relu", "misaligned.cu", "device_fault:*"),
    wrong("relu", "traps.cu", "device_fault:*"),
    wrong("relu", "reports.cu", "device_fault:reported", checks=(names_its_wait,)),
    wrong("relu", "reports_and_returns.cu", "launch:error", checks=(names_its_wait,)),
    wrong("relu", "endless.cu", "timeout", **ENDLESS),
    right("relu", "relu.cu"),
    wrong("relu", "endless_torch.py", "timeout", **ENDLESS),
    right("relu", "relu_torch.py"),
    # Does not build, load or launch.
    wrong("relu", "syntax.cu", "compile:*"),
    wrong("relu", "no_run.cu", "interface"),
    wrong("relu", "no_model.py", "interface"),
    wrong("relu", "load_inline_broken.py", "compile:*", "import"),
    wrong("relu", "triton_unknown_function.py", "compile:*", "launch:*"),
    wrong("matmul", "triton_too_much_shared.py", "resource:shared_memory"),
    wrong("relu", "too_many_threads.cu", "launch:*"),
    wrong("relu", "too_much_shared.cu", "launch:*", "resource:shared_memory"),
    wrong("relu", "huge_allocation.cu", "out_of_memory", "launch:error"),
    wrong("relu", "huge_torch.py", "out_of_memory"),
    wrong("relu", "exits.cu", "crash:exit 0"),
    wrong("relu", "exits_torch.py", "crash:exit 0"),
    # Dishonest.
    wrong("big_relu", "side_stream.cu", "cheat:*", "suspect:*"),
    wrong("big_relu", "side_stream_torch.py", "cheat:*", "suspect:*", "accuracy:*"),
    wrong("big_relu", "keeps_busy.cu", "cheat:*", "suspect:*", "timeout"),
    wrong("relu", "writes_late.cu", "accuracy:*", "cheat:*", "race"),
    wrong("relu", "cached_by_pointer.cu", "accuracy:*"),
    wrong("relu", "remembers_answer.cu", "accuracy:mismatch"),
    wrong("relu", "cached_by_pointer_torch.py", "accuracy:mismatch"),
    wrong("relu", "cached_by_shape_torch.py", "accuracy:mismatch"),
    # By lot, transforms come between the timed calls.
    wrong("relu", "honest_at_first_torch.py", "accuracy:mismatch", "off_distribution:mismatch"),
    wrong("relu", "lazy_torch.py", "accuracy:*", "interface", "launch:*"),
    Case("big_relu", "forged_events.cu", ("correct", "suspect:*", "cheat:*"), (gained_nothing(1.5),)),
    Case("big_relu", "forged_timer_torch.py", ("correct", "suspect:*", "cheat:*"), (gained_nothing(1.5),)),
    # The graph's own events, moved: worth a quarter of the time outside, at most; the rest is noise.
    Case("relu", "moves_marks_torch.py", ("correct", "suspect:*", "cheat:*"), (gained_nothing(1.45),)),
    # HIP kernels, executed on NVIDIA.
    wrong("relu", "twice.hip", "accuracy:mismatch", checks=(executed_on_nvidia,)),
    wrong("row_sums", "wave_sums.hip", "compile:*", checks=(refused_by_name("__shfl_down"),)),
    wrong("relu", "illegal_address.hip", "device_fault:*"),
    right("relu", "relu.hip", was_captured, executed_on_nvidia),
    # As a user types it: each starts a worker.
    right("relu", "relu.cu", own_worker=True),
    wrong("relu", "zeros_torch.py", "accuracy:mismatch", own_worker=True),
]


@dataclass
class Result:
    case: Case
    seconds: float
    outcome: str
    failures: list[str] = field(default_factory=list)
    record: dict | None = None

    def line(self) -> str:
        timing = (self.record or {}).get("timing") or {}
        ratios = [f"{timing[name]['value']:.3f}" if timing.get(name) else "-"
                  for name in ("speedup_call", "speedup_device")]
        state = "FAILED" if self.failures else "ok"
        text = (f"{state:6} {self.case.task:12} {self.case.candidate:32} {self.outcome:34} {self.seconds:6.2f} s  "
                f"call {ratios[0]:>7} device {ratios[1]:>7}")
        return "\n         ".join([text, *self.failures])


def outcome_of(record: dict) -> str:
    outcome = record["outcome"]
    return outcome["kind"] + (f":{outcome['detail']}" if outcome["detail"] else "")


def is_stand_in(record: dict) -> bool:
    return any(label.startswith("executed on NVIDIA") for label in record.get("labels", []))


def exit_code_of(record: dict) -> int:
    """What `kgen eval` promises: 0 correct and faster or no different, 1 correct but slower or timed on a GPU that it is not
    for, 75 not measured, 2 the rest."""
    if outcome_of(record) in ("suspect:busy machine", "suspect:memory in use"):
        return 75
    if record["outcome"]["kind"] != "correct":
        return 2
    if is_stand_in(record):
        return 1
    timing = record.get("timing")
    speedup = timing["speedup_call"] if timing else {"value": 0}
    return 0 if speedup.get("high", speedup["value"]) >= 1 else 1


def judge_result(case: Case, seconds: float, exit_code: int, output: str, errors: str) -> Result:
    """What is wrong with what `kgen eval` answered."""
    try:
        record = json.loads(output)
        outcome = outcome_of(record)
    except (json.JSONDecodeError, KeyError, TypeError):
        return Result(case, seconds, f"no record, exit {exit_code}", [errors.strip()[-1500:] or output[-1500:]])
    result = Result(case, seconds, outcome, record=record)
    if not any(fnmatch.fnmatchcase(outcome, pattern) for pattern in case.expected):
        result.failures.append(f"expected {' or '.join(case.expected)}; it says: {record['outcome']['message']}")
        return result
    if outcome == "suspect:busy machine":
        result.failures.append(f"nobody else is here: {record['outcome']['message']}")
    if exit_code != exit_code_of(record):
        result.failures.append(f"exit code {exit_code}, but the record means {exit_code_of(record)}")
    result.failures += [found for found in (check(record) for check in case.checks) if found]
    return result


def environment() -> dict[str, str]:
    """Ours without what would make the program under test load other Python modules than its own."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


class SpoolWorker:
    """`kgen worker --spool`, started again where it ended."""

    def __init__(self, kgen: str, spool: pathlib.Path, cache: pathlib.Path):
        self.spool, self.cache = spool, cache
        self._command = [kgen, "worker", "--spool", str(spool), "--cache-dir", str(cache)]
        self._log = open(spool.parent / "worker.log", "ab")
        self._process: subprocess.Popen | None = None

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def ensure(self) -> bool:
        """False where it had ended in between."""
        had_ended = self._process is not None and not self.alive()
        if not self.alive():
            self._process = subprocess.Popen(self._command, stdout=self._log, stderr=self._log, env=environment())
        return not had_ended

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def __enter__(self) -> "SpoolWorker":
        return self

    def __exit__(self, *ignored) -> None:
        self.stop()
        self._log.close()


def run_case(case: Case, options: argparse.Namespace, worker: SpoolWorker) -> Result:
    limit = () if "--timeout" in case.options else ("--timeout", str(CALL_TIMEOUT_S))
    place = ("--cache-dir", str(worker.cache)) if case.own_worker else ("--spool", str(worker.spool))
    command = [options.kgen, "eval", "--json", "--code", str(HERE / "candidates" / case.candidate),
               "--problem", str(HERE / "tasks" / f"{case.task}.py"), *limit, *case.options, *place]
    # Without a name, kernels for AMD GPUs get no other one.
    device = options.device or ("nvidia:0" if case.candidate.endswith(".hip") else None)
    if device:
        command += ["--device", device]
    # The spool hands out what it answered before, and judges again what has lost its answer: both go, requests first.
    for old in [*worker.spool.glob("*.request.json"), *worker.spool.glob("*.result.json")]:
        old.unlink()
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    while True:
        try:
            output, errors = process.communicate(timeout=1)
            return judge_result(case, time.monotonic() - start, process.returncode, output, errors)
        except subprocess.TimeoutExpired:
            # No other worker serves the spool: requests of a dead worker stay unanswered.
            why = "the worker ended" if not case.own_worker and not worker.alive() else None
            if time.monotonic() - start > options.limit:
                why = f"nothing within {options.limit:.0f} s"
            if why:
                process.kill()
                process.communicate()
                return Result(case, time.monotonic() - start, "no answer", [why])


def run_all(cases: list[Case], options: argparse.Namespace, scratch: pathlib.Path) -> list[Result]:
    spool, cache = scratch / "spool", scratch / "cache"
    spool.mkdir()
    results = []
    with SpoolWorker(options.kgen, spool, cache) as worker:
        for case in cases:
            if case.own_worker:
                worker.stop()
            elif not worker.ensure():
                results[-1].failures.append("the worker ended after it")
                print(results[-1].line(), flush=True)
            results.append(run_case(case, options, worker))
            print(results[-1].line(), flush=True)
    return results


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", default=os.environ.get("KGEN"), help="the program; else what KGEN names")
    parser.add_argument("--device", help="as for kgen eval; else what it chooses")
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases whose name contains it; may be repeated")
    parser.add_argument("--limit", type=float, default=180, metavar="S", help="of one verdict (%(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all records there")
    parser.add_argument("--list", action="store_true", help="show the cases and end")
    options = parser.parse_args()
    if not options.kgen:
        parser.error("--kgen is needed")
    return options


def main() -> int:
    options = parse_arguments()
    wanted = options.only or [""]
    cases = [c for c in CASES if any(text in f"{c.task} {c.candidate}" for text in wanted)]
    if options.list:
        for case in cases:
            print(f"{case.task:12} {case.candidate:32} {' or '.join(case.expected)}")
        return 0
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="kgen-gpu-verdicts-"))
    try:
        results = run_all(cases, options, scratch)
        failed = [result for result in results if result.failures]
        if options.json:
            records = [{"task": r.case.task, "candidate": r.case.candidate, "seconds": r.seconds, "outcome": r.outcome,
                        "failures": r.failures, "record": r.record} for r in results]
            options.json.write_text(json.dumps(records, indent=1), encoding="utf-8")
        if failed and (scratch / "worker.log").exists():
            print((scratch / "worker.log").read_text(encoding="utf-8", errors="replace")[-4000:])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
