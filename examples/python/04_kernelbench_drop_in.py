"""KernelBench's eval_kernel_against_ref(), judged by kernelgen.

The arguments and the result have KernelBench's names, so that a program needs another import only. Seeds and numbers of
trials for correctness do not count: kernelgen compares on several distributions and weight sets of its own
(docs/correctness.md), in a sandbox, and what it refuses besides a wrong result is in the metadata.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kernelgen


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


NOT_COMPILED = {"syntax", "import", "interface", "compile", "resource"}


def stats_of(nanoseconds: tuple[int, ...]) -> dict[str, float]:
    times = [value / 1e6 for value in nanoseconds]
    mean = sum(times) / len(times)
    deviation = (sum((time - mean) ** 2 for time in times) / len(times)) ** 0.5
    return {"mean": mean, "std": deviation, "min": min(times), "max": max(times), "num_trials": len(times)}


def result_of(record: kernelgen.EvaluationRecord) -> KernelExecResult:
    outcome = record.outcome
    result = KernelExecResult(
        compiled=str(outcome.kind) not in NOT_COMPILED, correctness=record.correct,
        metadata={"hardware": record.environment.device, "outcome": outcome.name, "labels": list(record.labels)})
    if not record.correct:
        result.metadata["error"] = outcome.message
    if record.correct and record.timing is not None:
        timing = record.timing
        result.runtime, result.ref_runtime = timing.candidate_median_ns / 1e6, timing.reference_median_ns / 1e6
        result.runtime_stats, result.ref_runtime_stats = stats_of(timing.candidate_ns), stats_of(timing.reference_ns)
        result.metadata["speedup"] = record.score
    return result


def eval_kernel_against_ref(original_model_src: str, custom_model_src: str, seed_num: int = 42,
                            num_correct_trials: int = 1, num_perf_trials: int = 10, verbose: bool = False,
                            measure_performance: bool = False, build_dir: object = None, device: object = None,
                            backend: str = "cuda", precision: object = None,
                            judge: kernelgen.Benchmarker | None = None) -> KernelExecResult:
    """Judges a ModelNew against a Model. Raises kernelgen.Error where the machine failed."""
    options = kernelgen.EvaluationOptions(
        mode="full" if measure_performance else "correctness_only", device=str(device or ""),
        measure=kernelgen.MeasureOptions(max_samples=max(num_perf_trials, 1)))
    candidate = kernelgen.Candidate(custom_model_src, "triton" if backend == "triton" else "torch")
    evaluate = judge.evaluate if judge is not None else kernelgen.evaluate
    return result_of(evaluate(kernelgen.Task("kernelbench", original_model_src), candidate, options))


def main(task: str, candidate: str) -> int:
    original = Path(task).read_text(encoding="utf-8")
    custom = Path(candidate).read_text(encoding="utf-8")
    right = eval_kernel_against_ref(original, custom, measure_performance=True)
    wrong = eval_kernel_against_ref(original, custom.replace("relu(", "sigmoid("))
    broken = eval_kernel_against_ref(original, custom + "\n)")
    for result in (right, wrong, broken):
        print(result.compiled, result.correctness, result.metadata["outcome"])
    # A busy machine gives no time, which is no fault of the candidate.
    is_right = right.correctness or right.metadata["outcome"].startswith("suspect")
    return 0 if is_right and not wrong.correctness and wrong.compiled and not broken.compiled else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
