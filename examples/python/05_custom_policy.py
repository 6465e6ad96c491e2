"""A search strategy of your own: samples one after the other, until one is correct.

A policy only decides. Asking, judging, the journal and resuming are kernelgen's. Model and judge are scripted here.
"""

import sys
import tempfile

import kernelgen


class UntilCorrect(kernelgen.Policy):
    def __init__(self, limit: int):
        self.limit = limit

    def options(self):
        return {"limit": self.limit}

    def next(self, history):
        best = kernelgen.best_of(history)
        if best is not None:
            return kernelgen.Decision(best=best.action.id, finished=True, reason="a sample is correct")
        if len(history) == self.limit:
            return kernelgen.Decision(finished=True, reason="the limit was reached")
        return kernelgen.Decision([kernelgen.Action(f"sample{len(history) + 1}")])


class ThirdIsCorrect(kernelgen.Benchmarker):
    def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
        if "sample3" in candidate.source:
            return kernelgen.EvaluationRecord()
        return kernelgen.EvaluationRecord(
            outcome=kernelgen.Outcome(kernelgen.OutcomeKind.ACCURACY, "mismatch", "output: wrong"))


class Printer(kernelgen.FlowObserver):
    def on_event(self, event):
        print(event.time, event.type)


def main() -> int:
    model = kernelgen.ScriptedLLMClient(
        lambda request: f"```cpp\n// {request.id}\nint kgen_run(void*, const kgen_run_args*) {{ return 0; }}\n```")
    task = kernelgen.Task("task", "class Model: ...")
    with tempfile.TemporaryDirectory() as directory:
        outcome = kernelgen.run(task, model, ThirdIsCorrect(), policy=UntilCorrect(5), directory=directory,
                                budget=kernelgen.Budget(requests=10), observer=Printer())
        rows = kernelgen.to_table(kernelgen.read_history(directory))
    for row in rows:
        print(row["action"], row["outcome"])
    print(f"{outcome.best} of {len(outcome.history)}: {outcome.reason}")
    return 0 if outcome.best == "sample3" else 1


if __name__ == "__main__":
    sys.exit(main())
