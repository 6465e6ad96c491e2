"""A reward function for reinforcement learning: a batch of completions in, a reward and a reason for each out.

A completion is hostile text: what it does in its sandbox cannot reach the judge, and what is caught cheating gets no
reward (docs/trust.md). A machine that fails or is busy never makes a low reward: the value is None then, which training
masks, and the other rewards of the batch are kept.

    python 03_reward_function.py TASK.py KERNEL.cpp
"""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import kernelgen


@dataclass(frozen=True)
class Reward:
    value: float | None
    reason: str


def reward_of(record: kernelgen.EvaluationRecord) -> Reward:
    """0 for what is wrong, 0.2 for what is right, and more the faster it is."""
    if record.outcome.could_not_be_measured:
        return Reward(None, f"no verdict: {record.outcome.message}")
    if not record.correct:
        return Reward(0.0, f"{record.outcome}: {record.outcome.message}")
    return Reward(0.2 + min(record.score or 0.0, 4.0) / 5, "correct")


async def reward(judge: kernelgen.Benchmarker, task: kernelgen.Task, completions: list[str], target: str,
                 options: kernelgen.EvaluationOptions) -> list[Reward]:
    """Judges a batch. Evaluations wait for the device inside the worker, so all may be begun at once."""
    async def judge_one(completion: str) -> Reward:
        # Half a surrogate pair, which no UTF-8 has, must not end the whole batch.
        found = kernelgen.extract_code(completion.encode("utf-8", "replace").decode(), target)
        if found.code is None:
            return Reward(0.0, f"no code: {found.problem}")
        try:
            record = await judge.evaluate_async(task, kernelgen.Candidate(found.code, target), options)
        except (kernelgen.Unavailable, kernelgen.Timeout) as error:
            return Reward(None, f"no verdict: {error}")
        return reward_of(record)

    return await asyncio.gather(*[judge_one(completion) for completion in completions])


def main(task: str, kernel: str) -> int:
    source = Path(kernel).read_text(encoding="utf-8")
    completions = [
        f"Here it is:\n```cpp\n{source}\n```",
        f"```cpp\n{source.replace('> 0 ?', '> 1 ?')}\n```",
        "```cpp\nint kgen_run(\n```",
        "I would rather talk about the weather.",
    ]
    options = kernelgen.EvaluationOptions(mode="correctness_only")
    with kernelgen.open_local_judge() as judge:
        rewards = asyncio.run(reward(judge, kernelgen.load_task(task), completions, "cpp", options))
    for one in rewards:
        print("none" if one.value is None else f"{one.value:.1f}", "", one.reason)
    return 0 if [one.value for one in rewards] == [0.2, 0, 0, 0] else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
