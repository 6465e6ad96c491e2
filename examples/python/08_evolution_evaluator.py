"""An evaluator for OpenEvolve and for ShinkaEvolve, which need not be installed. The programs they evolve are kernels.

OpenEvolve (tried with 0.4.1) imports this file and calls evaluate(program_path). With its package present it gets an
EvaluationResult, and shows its artifacts to the model; in a dictionary, which it takes as well, texts are among the metrics.
An exception makes it try again. Set `cascade_evaluation: false`: a wrong kernel is never timed, so stages would save nothing.

ShinkaEvolve (sources of August 2026) runs `python 08_evolution_evaluator.py --program_path FILE --results_dir DIRECTORY`,
and reads metrics.json and correct.json there. Its run_shinka_eval() writes them for a function in Python, which it calls in
its own process; a kernel has to be judged in a sandbox, so they are written here.

The environment says what to judge: EVALUATOR_TASK (a task file) and EVALUATOR_MODE (full, quick or correctness_only).
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import kernelgen

ATTEMPTS = 3


def measure(program_path: str, judge: Any = kernelgen) -> tuple[dict[str, float], dict[str, str]]:
    """Metrics, and texts for the model. Raises kernelgen.Error where the machine failed or is busy."""
    options = kernelgen.EvaluationOptions(mode=os.environ.get("EVALUATOR_MODE", "full"))
    try:
        candidate = kernelgen.load_candidate(program_path)
    except kernelgen.InvalidArgument as error:
        return {"combined_score": 0.0, "correct": 0.0, "speedup": 0.0}, {"feedback": f"no kernel: {error}"}
    for _ in range(ATTEMPTS):
        record = judge.evaluate(os.environ["EVALUATOR_TASK"], candidate, options)
        if not record.outcome.could_not_be_measured:
            return metrics_of(record), artifacts_of(record, candidate.source)
    raise kernelgen.Busy(record.outcome.message)


def metrics_of(record: kernelgen.EvaluationRecord) -> dict[str, float]:
    """A right kernel has the score of its speedup, or 1 without a time; a wrong one has 0."""
    correct, speedup = float(record.correct), record.score or 0.0
    return {"combined_score": speedup or correct, "correct": correct, "speedup": speedup}


def artifacts_of(record: kernelgen.EvaluationRecord, source: str) -> dict[str, str]:
    if not record.correct:
        error = kernelgen.classify_error(record, source)
        texts = {"feedback": f"{record.outcome}: {record.outcome.message}", "advice": error.advice}
        if record.compile is not None:
            texts["compiler"] = record.compile.log[:4000]
        return {name: text for name, text in texts.items() if text}
    if record.timing is None:
        return {"feedback": "correct; not timed"}
    times = record.timing.candidate_median_ns / 1e3, record.timing.reference_median_ns / 1e3
    return {"feedback": "correct; {:.1f} us a call, PyTorch {:.1f} us".format(*times)}


def evaluate(program_path: str) -> Any:
    """What OpenEvolve calls."""
    metrics, artifacts = measure(program_path)
    try:
        from openevolve.evaluation_result import EvaluationResult
    except ImportError:
        return {**metrics, **artifacts}
    return EvaluationResult(metrics=metrics, artifacts=artifacts)


def main(program_path: str, results_dir: str) -> int:
    """What ShinkaEvolve starts. Where the machine failed there are no files, and its log has the reason."""
    metrics, artifacts = measure(program_path)
    text, correct = "\n\n".join(artifacts.values()), metrics["correct"] == 1
    directory = Path(results_dir)
    directory.mkdir(parents=True, exist_ok=True)
    results = {"metrics": {"combined_score": metrics["combined_score"], "public": {"speedup": metrics["speedup"]},
                           "private": {}, "text_feedback": text},
               "correct": {"correct": correct, "error": None if correct else text}}
    for name, result in results.items():
        (directory / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", default="results")
    try:
        sys.exit(main(**vars(parser.parse_args())))
    except kernelgen.Error as error:
        sys.exit(f"{error.code}: {error}")
