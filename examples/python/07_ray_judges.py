"""A pool of judges on Ray: one actor for each device, on as many nodes as the cluster has.

An actor that is killed, or lost with its node, loses nothing: its evaluation is done again by another one, and a new actor
takes its place as soon as there is room.

    pip install ray
    python 07_ray_judges.py TASK.py KERNEL...
"""

import sys
from collections import deque
from collections.abc import Callable, Sequence

import kernelgen
import ray

Work = tuple[kernelgen.Task, kernelgen.Candidate]
ATTEMPTS = 3


@ray.remote
class JudgeActor:
    """A judge with a device of its own: Ray shows the process no other GPU."""
    def __init__(self, open_judge: Callable[[], kernelgen.Benchmarker]):
        self.judge = open_judge()

    def is_ready(self) -> bool:
        return True

    def evaluate(self, work: Work, options: kernelgen.EvaluationOptions) -> str:
        return self.judge.evaluate(*work, options).to_json()


class JudgePool:
    def __init__(self, size: int, resources: dict[str, float],
                 open_judge: Callable[[], kernelgen.Benchmarker] = kernelgen.open_local_judge):
        self.resources, self.open_judge = resources, open_judge
        self.actors = [self.start_actor() for _ in range(size)]

    def start_actor(self) -> ray.actor.ActorHandle:
        return JudgeActor.options(**self.resources).remote(self.open_judge)

    def replace_actor(self, actor: ray.actor.ActorHandle) -> ray.actor.ActorHandle:
        ray.kill(actor)  # Its node may only be out of reach.
        self.actors[self.actors.index(actor)] = new_actor = self.start_actor()
        return new_actor

    def evaluate(self, work: Sequence[Work], options: kernelgen.EvaluationOptions) -> list[kernelgen.EvaluationRecord]:
        """Records in the order of the work. An error of the machinery is raised, also once a task lost three actors."""
        records: dict[int, kernelgen.EvaluationRecord] = {}
        attempts = [0] * len(work)
        waiting = deque(range(len(work)))
        # An actor gets work once it has started: one that waits for a node that is lost must not hold any.
        running: dict[ray.ObjectRef, tuple] = {actor.is_ready.remote(): (actor, None) for actor in self.actors}
        while len(records) < len(work):
            for done in ray.wait(list(running))[0]:
                actor, index = running.pop(done)
                try:
                    answer = ray.get(done)
                    if index is not None:
                        records[index] = kernelgen.EvaluationRecord.from_json(answer)
                except ray.exceptions.RayActorError:
                    new_actor = self.replace_actor(actor)
                    running[new_actor.is_ready.remote()] = (new_actor, None)
                    if index is not None:
                        waiting.appendleft(index)
                        attempts[index] += 1
                        if attempts[index] == ATTEMPTS:
                            raise
                    continue
                if waiting:
                    index = waiting.popleft()
                    running[actor.evaluate.remote(work[index], options)] = (actor, index)
        return [records[index] for index in range(len(work))]


def main(task: str, *kernels: str) -> int:
    ray.init(log_to_driver=False)
    gpus = int(ray.cluster_resources().get("GPU", 0))
    # Two actors on one CPU disturb each other's times, so nothing is timed there.
    pool = JudgePool(gpus, {"num_gpus": 1}) if gpus else JudgePool(2, {"num_cpus": 1})
    options = kernelgen.EvaluationOptions(mode="full" if gpus else "correctness_only")
    work = [(kernelgen.load_task(task), kernelgen.load_candidate(kernel)) for kernel in kernels]
    for kernel, record in zip(kernels, pool.evaluate(work, options)):
        print(kernel, record.outcome, record.outcome.message)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
