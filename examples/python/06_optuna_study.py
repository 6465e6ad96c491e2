"""An Optuna study over the constants of a kernel: it looks for the values that make the kernel fastest.

A constant is tunable if its line lists values: `#define WIDTH 4  // tune: 1 4 8`. Wrong kernels are pruned, with their
outcome among the attributes of the trial; a busy machine fails a trial. A study in a file goes on where it was stopped.

    pip install optuna
    python 06_optuna_study.py TASK.py [KERNEL.cpp] [TRIALS] [sqlite:///study.db]
"""

import re
import sys

import kernelgen
import optuna
from optuna.trial import TrialState

COMPLETE, PRUNED = TrialState.COMPLETE, TrialState.PRUNED
# For tasks/relu.py. It has no loop for a rest, so a WIDTH that does not divide the number of elements makes it wrong.
TEMPLATE = """
#include <kernelgen/abi.h>
#define THREADS 1  // tune: 1 2
#define WIDTH 4    // tune: 1 4 16 24
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}
KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const auto blocks = static_cast<int64_t>(kgen_at(&args->outputs, 0)->nbytes / sizeof(float)) / WIDTH;
#pragma omp parallel for num_threads(THREADS)
  for (int64_t i = 0; i < blocks; ++i)
    for (int64_t j = i * WIDTH; j < (i + 1) * WIDTH; ++j) y[j] = x[j] > 0 ? x[j] : 0;
  return 0;
}
"""
TUNABLE = re.compile(r"^(#define +(\w+) +)(\S+)( *// tune: *)(.+)$", re.MULTILINE)


def space_of(template: str) -> dict[str, list[str]]:
    return {match[2]: match[5].split() for match in TUNABLE.finditer(template)}


def fill(template: str, values: dict[str, str]) -> str:
    return TUNABLE.sub(lambda match: f"{match[1]}{values[match[2]]}{match[4]}{match[5]}", template)


def search(judge: kernelgen.Benchmarker, task: kernelgen.Task, template: str, trials: int, storage: str | None = None,
           options: kernelgen.EvaluationOptions = kernelgen.EvaluationOptions(),
           sampler: optuna.samplers.BaseSampler | None = None) -> optuna.Study:
    """Maximizes the speedup over the reference."""
    space = space_of(template)
    study = optuna.create_study(direction="maximize", storage=storage, study_name=task.name, load_if_exists=True,
                                sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        values = {name: trial.suggest_categorical(name, choices) for name, choices in space.items()}
        # Samplers repeat themselves where there are few values, and another verdict would tell nothing new.
        for earlier in trial.study.get_trials(deepcopy=False, states=(COMPLETE, PRUNED)):
            if earlier.params == values:
                if earlier.value is None:
                    raise optuna.TrialPruned("as before")
                return earlier.value
        record = judge.evaluate(task, kernelgen.Candidate(fill(template, values)), options)
        if record.outcome.could_not_be_measured:
            raise kernelgen.Busy(record.outcome.message)
        trial.set_user_attr("outcome", f"{record.outcome} {record.outcome.message}")
        if record.score is None:
            raise optuna.TrialPruned(record.outcome.name)
        return record.score

    # A machine that is busy or fails makes a failed trial, and the study goes on.
    study.optimize(objective, n_trials=trials, catch=(kernelgen.Busy, kernelgen.Unavailable, kernelgen.Timeout))
    return study


def main(task: str, kernel: str = "", trials: str = "8", storage: str | None = None) -> int:
    template = kernelgen.load_candidate(kernel).source if kernel else TEMPLATE
    with kernelgen.open_local_judge() as judge:
        study = search(judge, kernelgen.load_task(task), template, int(trials), storage)
    for trial in study.trials:
        print(trial.params, trial.state.name.lower(), trial.value, trial.user_attrs.get("outcome", ""))
    if not any(trial.state == COMPLETE for trial in study.trials):
        return 1
    print(f"best: {study.best_params}, {study.best_value:.2f} times as fast as PyTorch")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
