"""A kernel that fails goes in, one that is correct comes out. It needs a model and a judge.

Both are scripted here; put kernelgen.open_model("openai:gpt-5") and kernelgen.open_local_judge() in their places.
"""

import sys

import kernelgen


class ScriptedJudge(kernelgen.Benchmarker):
    """Finds a kernel correct as soon as the missing declaration is there."""

    def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
        if "float scale = 2;" in candidate.source:
            return kernelgen.EvaluationRecord()
        return kernelgen.EvaluationRecord(outcome=kernelgen.Outcome(
            kernelgen.OutcomeKind.COMPILE, "undeclared_identifier", "'scale' was not declared in this scope"))


class ScriptedModel(kernelgen.LLMClient):
    """Answers on the second try. A client of your own asks a server here, and looks at `stop` while it waits."""

    def __init__(self):
        self.count = 0

    def complete(self, request, stop):
        self.count += 1
        if self.count == 1:
            return "I am afraid I cannot see the problem."
        return "```cpp\nfloat scale = 2;\nint kgen_run(void*, const kgen_run_args* args) { return use(args, scale); }\n```"


def main() -> int:
    task = kernelgen.Task("double", "class Model: ...")
    kernel = kernelgen.Candidate("int kgen_run(void*, const kgen_run_args* args) { return use(args, scale); }\n")
    outcome = kernelgen.repair(task, kernel, ScriptedModel(), ScriptedJudge(), max_attempts=3)
    if outcome.error is not None:
        print(outcome.error)
        return 1
    for id, result in outcome.history.items():
        print(f"{id}: {result.record.outcome if result.record else result.message}")
    print("best:", outcome.best)
    return 0 if outcome.best == "start/repair2" else 1


if __name__ == "__main__":
    sys.exit(main())
