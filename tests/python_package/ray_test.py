#!/usr/bin/env python3
"""The pool of judges of examples/python/07_ray_judges.py on a real Ray, which pip installs on the first run.

    ray_test.py --package DIRECTORY_WITH_KERNELGEN --venv DIRECTORY
"""

import argparse
import fcntl
import importlib.util
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/python/07_ray_judges.py"
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements-ray.txt")
TASK = ROOT / "tests/tasks/relu.py"
KERNELS = [ROOT / "tests/honest/relu_plain.cpp", ROOT / "tests/honest/relu_torch.py"]
SKIPPED = 77


def prepare(directory: pathlib.Path, package: pathlib.Path) -> str:
    """Makes the environment if it is missing or old. Returns why that was not possible, or an empty text."""
    torch = importlib.util.find_spec("torch")
    paths = [str(package.resolve())] + ([str(pathlib.Path(torch.origin).parents[1])] if torch else [])
    wanted = "\n".join([sys.version, *paths, REQUIREMENTS.read_text()])
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = directory / "installed"
        if stamp.exists() and stamp.read_text() == wanted:
            return ""
        stamp.unlink(missing_ok=True)
        shutil.rmtree(directory / "environment", ignore_errors=True)
        python = directory / "environment/bin/python"
        for command in ([sys.executable, "-m", "venv", directory / "environment"],
                        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]):
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
            if done.returncode != 0:
                return f"Ray cannot be installed: {done.stdout}{done.stderr}"
        site = next((directory / "environment/lib").glob("python*/site-packages"))
        (site / "kernelgen-and-torch.pth").write_text("\n".join(paths) + "\n")
        stamp.write_text(wanted)
        return ""


def load_example():
    # Ray sends what is defined in a module by the module's name, so its processes have to find the example.
    spec = importlib.util.spec_from_file_location("ray_judges", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ray_judges"] = module
    spec.loader.exec_module(module)
    import ray

    ray.cloudpickle.register_pickle_by_value(module)
    return module


def make_judge(directory: pathlib.Path):
    """A judge that writes down each process that begins, waits for the file `go`, and names the kernel in its answer."""
    import kernelgen

    class WaitingJudge(kernelgen.Benchmarker):
        def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
            with open(directory / candidate.source, "a") as file:
                file.write(f"{os.getpid()}\n")
            while not (directory / "go").exists():
                time.sleep(0.02)
            return kernelgen.EvaluationRecord(candidate_id=candidate.id)

    return WaitingJudge()


class PoolTest(unittest.TestCase):
    def setUp(self):
        import kernelgen
        import ray
        import ray.cluster_utils

        self.kernelgen, self.ray = kernelgen, ray
        self.example = load_example()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.work = [(kernelgen.load_task(TASK), kernelgen.Candidate(f"kernel{number}")) for number in range(6)]

    def start_pool(self, nodes: int):
        """Two actors, on as many nodes of one processor each, or both on one."""
        self.cluster = self.ray.cluster_utils.Cluster()
        self.addCleanup(self.cluster.shutdown)
        self.nodes = [self.cluster.add_node(num_cpus=2 // nodes) for _ in range(nodes)]
        self.ray.init(address=self.cluster.address, log_to_driver=False)
        self.addCleanup(self.ray.shutdown)
        directory, make = self.directory, make_judge
        return self.example.JudgePool(2, {"num_cpus": 1}, lambda: make(directory))

    def begin(self, pool):
        """Evaluates on a thread, and returns when both actors are at work."""
        self.result = []

        def evaluate():
            try:
                self.result.append(pool.evaluate(self.work, self.kernelgen.EvaluationOptions()))
            except BaseException as error:
                self.result.append(error)

        self.thread = threading.Thread(target=evaluate, daemon=True)
        self.thread.start()
        self.wait_for(lambda: len(self.pids()) == 2)

    def pids(self) -> dict[str, list[int]]:
        return {path.name: [int(line) for line in path.read_text().split()] for path in self.directory.glob("kernel*")}

    def wait_for(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"{self.pids()} {self.result}")
            time.sleep(0.05)

    def finish(self):
        (self.directory / "go").touch()
        self.thread.join(120)
        self.assertFalse(self.thread.is_alive())
        return self.result[0]

    def test_the_evaluation_of_a_killed_actor_is_done_again(self):
        self.begin(self.start_pool(nodes=1))
        killed = self.pids()["kernel0"][0]
        os.kill(killed, signal.SIGKILL)
        self.wait_for(lambda: len(self.pids()["kernel0"]) == 2)
        records = self.finish()
        self.assertEqual([record.candidate_id for record in records], [candidate.id for _, candidate in self.work])
        self.assertNotEqual(self.pids()["kernel0"][1], killed)
        self.assertEqual([len(self.pids()[f"kernel{number}"]) for number in range(1, 6)], [1] * 5)

    def test_the_evaluation_of_a_lost_node_is_done_by_another(self):
        self.begin(self.start_pool(nodes=2))
        self.cluster.remove_node(self.nodes[1])
        records = self.finish()
        self.assertEqual([record.candidate_id for record in records], [candidate.id for _, candidate in self.work])
        self.assertEqual(sum(len(pids) for pids in self.pids().values()), 7)

    def test_a_task_that_loses_three_actors_is_an_error(self):
        self.begin(self.start_pool(nodes=1))
        for attempt in range(1, 4):
            self.wait_for(lambda: len(self.pids()["kernel0"]) == attempt)
            os.kill(self.pids()["kernel0"][-1], signal.SIGKILL)
        self.thread.join(60)
        self.assertIsInstance(self.result[0], self.ray.exceptions.ActorDiedError)

    def test_the_command_line(self):
        done = subprocess.run([sys.executable, str(EXAMPLE), str(TASK), *map(str, KERNELS)], capture_output=True, text=True,
                              timeout=300)
        self.assertEqual([line.split()[1] for line in done.stdout.splitlines()], ["correct", "correct"], done.stderr)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", type=pathlib.Path, required=True)
    parser.add_argument("--venv", type=pathlib.Path, required=True)
    parser.add_argument("--inside", action="store_true", help="this runs in the environment")
    arguments, rest = parser.parse_known_args()
    if arguments.inside:
        return 0 if unittest.main(argv=[sys.argv[0], *rest], verbosity=2, exit=False).result.wasSuccessful() else 1
    problem = prepare(arguments.venv, arguments.package)
    if problem:
        print(problem)
        return SKIPPED
    python = arguments.venv / "environment/bin/python"
    # Ray would keep a token in the home directory, and report to its makers that it is used.
    environment = {"KGEN_PYTHON": sys.executable, **os.environ, "RAY_USAGE_STATS_ENABLED": "0",
                   "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return subprocess.run([str(python), "-B", *sys.argv, "--inside"], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
