"""Judges one kernel against one PyTorch module, as `kgen eval` does.

    python 01_evaluate_kernel.py KERNEL TASK.py [full|quick|correctness_only]
"""

import sys

import kernelgen


def main(kernel: str, task: str, mode: str = "full") -> int:
    options = kernelgen.EvaluationOptions(mode=mode)
    record = kernelgen.evaluate(task, kernel, options, progress=lambda step: print(step.phase, file=sys.stderr))
    # What the kernel did is no exception: it is the outcome of the experiment.
    print(record.outcome, record.outcome.message)
    if record.timing is not None:
        print(f"{record.timing.speedup_call.value:.2f} times as fast as PyTorch")
    return 0 if record.correct else 2


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:4]))
    except kernelgen.Error as error:
        sys.exit(f"{error.code}: {error}")
