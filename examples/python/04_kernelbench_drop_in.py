"""KernelBench's eval_kernel_against_ref(), judged by kernelgen.

Arguments, their order and the result are those of kernelbench/eval.py as of March 2026, so that a program changes its
import only. `seed_num`, `num_correct_trials`, `timing_method` and `build_dir` do not count: kernelgen compares on several
distributions and weight sets of its own (docs/correctness.md), times in pairs, and keeps what it builds in its cache.

    python 04_kernelbench_drop_in.py PROBLEM.py CANDIDATE.py [measure]
"""

import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import kernelgen

NOT_COMPILED = {"syntax", "import", "interface", "compile", "resource"}
NOT_RUN = {"launch", "device_fault", "timeout", "out_of_memory", "crash"}
PRECISIONS = {"None": "strict", "float32": "strict", "float16": "fp16", "bfloat16": "bf16"}


@dataclass
class KernelExecResult:
    """Times are in milliseconds; -1: not measured."""

    compiled: bool = False
    correctness: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    runtime: float = -1.0
    runtime_stats: dict[str, float] = field(default_factory=dict)
    ref_runtime: float = -1.0
    ref_runtime_stats: dict[str, float] = field(default_factory=dict)


def stats_of(nanoseconds: tuple[int, ...]) -> dict[str, float]:
    times = [value / 1e6 for value in nanoseconds]
    return {"mean": fmean(times), "std": pstdev(times), "min": min(times), "max": max(times), "num_trials": len(times)}


def result_of(record: kernelgen.EvaluationRecord) -> KernelExecResult:
    outcome, kind = record.outcome, str(record.outcome.kind)
    result = KernelExecResult(kind not in NOT_COMPILED, record.correct, {
        "hardware": record.environment.device, "outcome": outcome.name, "labels": list(record.labels)})
    if not record.correct:
        key = "compilation_error" if not result.compiled else "runtime_error" if kind in NOT_RUN else "correctness_issue"
        result.metadata |= {key: outcome.message, f"{key}_name": outcome.name}
    elif record.timing is not None:
        result.runtime_stats = stats_of(record.timing.candidate_ns)
        result.ref_runtime_stats = stats_of(record.timing.reference_ns)
        result.runtime, result.ref_runtime = result.runtime_stats["mean"], result.ref_runtime_stats["mean"]
        result.metadata["speedup"] = record.score
    return result


def device_of(device: object, backend: str) -> str:
    """The name that kernelgen has for 1, "cuda:1" or torch.device("cuda:1")."""
    name = "" if device is None else str(device).removeprefix("cuda").removeprefix(":")
    return f"amd:{name}" if backend == "hip" and name.isdigit() else name


def eval_kernel_against_ref(original_model_src: str, custom_model_src: str, seed_num: int = 42,
                            num_correct_trials: int = 1, num_perf_trials: int = 10, measure_performance: bool = False,
                            timing_method: str = "cuda_event", verbose: bool = False, build_dir: object = None,
                            device: object = None, backend: str = "cuda", precision: object = None,
                            check_for_excessive_speedup: bool = True, excessive_speedup_threshold: float = 10,
                            judge: kernelgen.Benchmarker | None = None) -> KernelExecResult:
    """Judges a ModelNew against a Model. Raises kernelgen.Error where the machine failed, which is no verdict."""
    task = kernelgen.Task("kernelbench", original_model_src)
    candidate = kernelgen.Candidate(custom_model_src, "triton" if backend == "triton" else "torch")
    options = kernelgen.EvaluationOptions(
        "full" if measure_performance else "correctness_only", PRECISIONS[str(precision).removeprefix("torch.")],
        device=device_of(device, backend), measure=kernelgen.MeasureOptions(max_samples=max(num_perf_trials, 1)))
    progress = (lambda step: print("[Eval]", step.phase)) if verbose else None
    evaluate = partial((judge or kernelgen).evaluate, task, candidate, progress=progress)
    record = evaluate(options)
    result = result_of(record)
    if record.outcome.could_not_be_measured:
        # A busy machine gives no time, which is no fault of the candidate. KernelBench, too, keeps what it knows then.
        result = result_of(evaluate(replace(options, mode="correctness_only")))
        result.metadata["error_during_performance"] = record.outcome.message
    if check_for_excessive_speedup and (result.metadata.get("speedup") or 0) > excessive_speedup_threshold:
        result.metadata["excessive_speedup"] = True
    return result


def main(task: str, candidate: str, measure: str = "") -> int:
    original, custom = (Path(path).read_text(encoding="utf-8") for path in (task, candidate))
    result = eval_kernel_against_ref(original, custom, measure_performance=measure == "measure")
    print(result.correctness, result.runtime, result.ref_runtime, result.metadata)
    return 0 if result.correctness else 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
