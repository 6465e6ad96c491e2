"""Compares the cost of a verdict on a GPU: KernelBench's own evaluator and kgen, in one run on one machine. Prints medians.

    python bench/gpu/side_by_side.py --kgen build/bin/kgen --kernelbench CHECKOUT
    python bench/gpu/side_by_side.py --kgen build/bin/kgen --kernelbench CHECKOUT --only mixed --skip-kernelbench
    python bench/gpu/side_by_side.py --kgen build/bin/kgen --kernelbench CHECKOUT --only mixed --gpus 1
    python bench/gpu/side_by_side.py ... --only mixed --skip-kernelbench --count 200 --timeline out.svg

KernelBench runs in a fresh process per verdict, with 5 correctness and 100 timed trials; its time is that of the whole
process. kgen answers through one `kgen worker`; its time is from sending the request to receiving the record. Warm means:
the worker is up, the task is admitted, a standby runner is ready (--settle seconds after the verdict before). The
candidate is new in every trial (a comment with a random number makes its text new), unless the row says "cached".
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import kernelbench_trial
import mixed
import timeline
from worker_client import Worker, busy_and_waiting, load_task, make_candidate

HERE = pathlib.Path(__file__).resolve().parent
RELU_TASK = HERE / "tasks" / "relu_4096.py"


def fresh(source: str, target: str) -> str:
    """The same program as a new text: the change is inside the kernel, so that a cache by content misses."""
    mark = secrets.token_hex(8)
    if target == "cuda":
        return f"// {mark}\n{source}"
    if "load_inline(" in source:
        return source.replace("__global__ void", f"// {mark}\n__global__ void", 1)
    at = source.index("\n", source.index("):", source.index("@triton.jit"))) + 1
    return f"{source[:at]}    # {mark}\n{source[at:]}"


class Bench:
    """State of all rows: options, a scratch folder, one warm worker, the results."""

    def __init__(self, options: argparse.Namespace, scratch: pathlib.Path):
        self.options = options
        self.scratch = scratch
        self.results: dict[str, dict] = {}
        self.log = open(scratch / "worker.log", "wb")
        self._worker: Worker | None = None

    @property
    def worker(self) -> Worker:
        if self._worker is None:
            self._worker = self.new_worker(self.scratch / "cache")
        return self._worker

    def new_worker(self, cache: pathlib.Path) -> Worker:
        worker = Worker(self.options.kgen, str(cache), self.options.python, log=self.log)
        say(f"  worker: {worker.hello['device']}")
        return worker

    def end_worker(self) -> None:
        """Ends the worker; the next row starts a new one."""
        if self._worker is not None:
            self._worker.close()
        self._worker = None

    def level1(self, problem: int) -> pathlib.Path:
        return kernelbench_trial.task_of(self.options.kernelbench, 1, problem)

    # KernelBench ------------------------------------------------------------------------------------------------

    def kernelbench(self, row: str, task: pathlib.Path, source: str, backend: str, environment: dict,
                    repeat: int) -> None:
        """Runs fresh processes, one after the other, with additional environment variables."""
        if self.options.skip_kernelbench:
            return
        code = self.scratch / "kernelbench.py"
        code.write_text(source, encoding="utf-8")
        for _ in range(repeat):
            start = time.monotonic()
            found, said = kernelbench_trial.run(
                self.options.python or sys.executable, self.options.kernelbench, task, code, backend, self.options.timeout, environment)
            seconds = time.monotonic() - start
            reason = found.get("metadata") or (said.strip().splitlines() or ["it said nothing"])[-1]
            verdict = "correct" if found.get("correct") else f"failed: {reason}"
            if not found:
                say(said[-2000:])
            self.note(row, "kernelbench", seconds, verdict, found)

    # kgen -------------------------------------------------------------------------------------------------------

    def warm_up(self, task: dict, target: str, source: str) -> None:
        """Admits the task, and builds what only the first candidate of a kind builds (such as a precompiled header)."""
        answer = self.worker.judge(task, target, fresh(source, target))
        say(f"  warm-up: {answer.outcome} in {answer.seconds:.2f} s; {phase_line(answer)}")
        time.sleep(self.options.settle)

    def kgen(self, row: str, task: dict, target: str, source) -> None:
        """`source` is a text (cached) or a function that returns a new text for each trial."""
        for _ in range(self.options.repeat):
            answer = self.worker.judge(task, target, source() if callable(source) else source)
            self.note(row, "kgen", answer.seconds, answer.outcome, {"phases": phases_of(answer)})
            say(f"    {phase_line(answer)}")
            time.sleep(self.options.settle)

    def note(self, row: str, system: str, seconds: float, verdict: str, details: dict) -> None:
        entry = self.results.setdefault(row, {}).setdefault(system, {"seconds": [], "verdicts": [], "details": []})
        entry["seconds"].append(seconds)
        entry["verdicts"].append(verdict)
        entry["details"].append(details)
        say(f"  {row}: {system} {seconds:.2f} s, {verdict}")


class Utilization:
    """The share of time in which some kernel ran on each GPU, by nvidia-smi's own sampling; nothing where there is none."""

    def __init__(self):
        self.means: dict[str, float] = {}
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> "Utilization":
        if shutil.which("nvidia-smi"):
            self._process = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=uuid,utilization.gpu", "--format=csv,noheader,nounits", "--loop-ms=200"],
                stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *ignored) -> None:
        if self._process is None:
            return
        self._process.terminate()
        self.read(self._process.communicate()[0])

    def read(self, told: str) -> None:
        samples: dict[str, list[int]] = {}
        for line in told.splitlines():
            uuid, _, percent = line.partition(", ")
            if percent.strip().isdigit():
                samples.setdefault(uuid, []).append(int(percent))
        self.means = {uuid: statistics.mean(values) / 100 for uuid, values in samples.items()}


def use_first_gpus(count: int) -> None:
    """Restricts this process and its children to `count` GPUs, to compare one GPU with several on one machine."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = seen.split(",") if seen else [str(index) for index in range(count)]
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(names[:count])


def shared_gpus(kgen: str, cache: pathlib.Path) -> list[str]:
    """The UUIDs of the GPUs that share the requests without a device."""
    told = subprocess.run([kgen, "devices", "--json", "--cache-dir", str(cache)], capture_output=True, text=True,
                          timeout=300, check=True).stdout
    gpus = json.loads(told)["gpus"]
    return [gpu["uuid"] for gpu in gpus
            if all(gpu[key] == gpus[0][key] for key in ("name", "architecture", "multiprocessors"))]


def by_device(answers: list, kernels_ran: dict[str, float], waiting: float) -> dict[str, dict]:
    """Utilization of each GPU while a verdict was awaited."""
    devices = {}
    for uuid in sorted({answer.device for answer in answers if answer.device}):
        there = [answer for answer in answers if answer.device == uuid]
        devices[uuid] = {"verdicts": len(there), "idle_share": 1 - busy_and_waiting(there, timeline.uses_device)[0] / waiting,
                         "kernel_running_share": kernels_ran.get(uuid)}
    return devices


def phases_of(answer) -> list:
    return (answer.record or {}).get("phases", [])


def phase_line(answer) -> str:
    return ", ".join(f"{phase['name']} {phase['milliseconds']:.0f} ms" for phase in phases_of(answer))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def read_candidate(name: str) -> str:
    return (HERE / "candidates" / name).read_text(encoding="utf-8")


def row_cuda(bench: Bench) -> None:
    """The same function as a native candidate; KernelBench knows CUDA through load_inline only."""
    task, source = load_task(RELU_TASK), read_candidate("elementwise.cu")
    bench.warm_up(task, "cuda", source)
    bench.kgen("CUDA ReLU 4096 x 4096, fresh build", task, "cuda", lambda: fresh(source, "cuda"))
    known = fresh(source, "cuda")
    bench.worker.judge(task, "cuda", known)
    time.sleep(bench.options.settle)
    bench.kgen("CUDA ReLU 4096 x 4096, cached", task, "cuda", known)


def row_load_inline(bench: Bench) -> None:
    task, source = load_task(RELU_TASK), read_candidate("relu_load_inline.py")
    row = "the same as load_inline, fresh build"
    folders = [tempfile.mkdtemp(dir=bench.scratch) for _ in range(bench.options.slow_repeat)]
    for folder in folders:
        bench.kernelbench(row, RELU_TASK, source, "cuda", {"TORCH_EXTENSIONS_DIR": folder}, 1)
    built = {"TORCH_EXTENSIONS_DIR": folders[-1]}
    bench.kernelbench("the same as load_inline, cached", RELU_TASK, source, "cuda", built, bench.options.repeat)
    bench.warm_up(task, "torch", source)
    bench.kgen(row, task, "torch", lambda: fresh(source, "torch"))
    known = fresh(source, "torch")
    bench.worker.judge(task, "torch", known)
    time.sleep(bench.options.settle)
    bench.kgen("the same as load_inline, cached", task, "torch", known)


def row_triton(bench: Bench) -> None:
    task, source = load_task(RELU_TASK), read_candidate("elementwise.py")
    cached, cold = "Triton ReLU 4096 x 4096, JIT cached", "Triton ReLU 4096 x 4096, JIT cold"
    kept = {"TRITON_CACHE_DIR": str(bench.scratch / "triton")}
    # The first process finds an empty folder and fills it.
    bench.kernelbench(cold, RELU_TASK, source, "triton", kept, 1)
    bench.kernelbench(cached, RELU_TASK, source, "triton", kept, bench.options.repeat)
    bench.warm_up(task, "triton", source)
    known = fresh(source, "triton")
    bench.worker.judge(task, "triton", known)
    time.sleep(bench.options.settle)
    bench.kgen(cached, task, "triton", known)
    bench.kgen(cold, task, "triton", lambda: fresh(source, "triton"))


def row_triton_19(bench: Bench) -> None:
    path = bench.level1(19)
    task, source = load_task(path, "single_operator"), read_candidate("elementwise.py")
    cached, cold = "Triton ReLU, level1/19 as it stands, JIT cached", "Triton ReLU, level1/19 as it stands, JIT cold"
    kept = {"TRITON_CACHE_DIR": str(bench.scratch / "triton")}
    bench.kernelbench(cached, path, source, "triton", kept, bench.options.slow_repeat)
    bench.warm_up(task, "triton", source)
    known = fresh(source, "triton")
    bench.worker.judge(task, "triton", known)
    time.sleep(bench.options.settle)
    bench.kgen(cached, task, "triton", known)
    bench.kgen(cold, task, "triton", lambda: fresh(source, "triton"))


def row_admit_19(bench: Bench) -> None:
    """Uses a worker of its own with an empty cache, because admissions are cached."""
    task = load_task(bench.level1(19), "single_operator")
    with bench.new_worker(pathlib.Path(tempfile.mkdtemp(dir=bench.scratch))) as worker:
        answer = worker.wait(worker.describe(task))
    verdict = "admitted" if answer.description else f"error: {answer.error}"
    bench.note("admitting level1/19, worker just started", "kgen", answer.seconds, verdict, {})


def row_mixed(bench: Bench) -> None:
    """All forty at once through one warm worker, to measure its queue; --count repeats them as new texts."""
    chosen = mixed.candidates()
    chosen = [chosen[index % len(chosen)] for index in range(bench.options.count or len(chosen))]
    tasks = {problem: load_task(bench.level1(problem), "single_operator") for problem in {c.problem for c in chosen}}
    gpus = shared_gpus(bench.options.kgen, bench.scratch / "cache")
    for problem, task in sorted(tasks.items()):
        # Each GPU starts a judge of its own.
        for request in [bench.worker.describe(task, {"device": uuid}) for uuid in gpus]:
            answer = bench.worker.wait(request)
            say(f"  level1/{problem}: {'admitted' if answer.description else answer.error} in {answer.seconds:.1f} s")
    if bench.options.order == "shuffled":
        random.Random(1).shuffle(chosen)
    time.sleep(bench.options.settle)
    with Utilization() as utilization:
        ids = [bench.worker.evaluate(tasks[c.problem], make_candidate(c.target, fresh(c.source, c.target)))
               for c in chosen]
        answers = []
        for request, candidate in zip(ids, chosen):
            answers.append(bench.worker.wait(request))
            say(f"  {candidate.name}: {answers[-1].outcome} after {answers[-1].seconds:.1f} s")
    _, waiting = busy_and_waiting(answers, timeline.uses_device)
    as_expected = 0
    listing = []
    for candidate, answer in zip(chosen, answers):
        expected = (answer.outcome == "correct") == candidate.right and answer.record is not None
        as_expected += expected
        listing.append({"name": candidate.name, "target": candidate.target, "problem": candidate.problem,
                        "right": candidate.right, "outcome": answer.outcome, "device": answer.device,
                        "phases": phases_of(answer)})
        say(f"    {candidate.target:6} level1/{candidate.problem:<3} {candidate.name:26} {answer.outcome}"
            f"{'' if expected else '   <-- not what it is'}; {phase_line(answer)}")
    if bench.options.timeline:
        names = [f"{candidate.target} level1/{candidate.problem} {candidate.name}" for candidate in chosen]
        bench.options.timeline.write_text(timeline.draw(answers, names), encoding="utf-8")
    spent = timeline.totals(answers)
    say("  seconds of all: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent.items()))
    row = f"{len(chosen)} mixed level-1 candidates" + (f", {len(gpus)} GPUs" if len(gpus) > 1 else "")
    bench.results[row] = {
        "kgen": {"seconds": [waiting], "verdicts": [f"{as_expected} of {len(chosen)} as expected"], "details": listing},
        "per_hour": len(chosen) * 3600 / waiting,
        "devices": by_device(answers, utilization.means, waiting),
        "seconds_by_phase": spent,
    }


ROWS = {
    "cuda": row_cuda,
    "load_inline": row_load_inline,
    "triton": row_triton,
    "admit-19": row_admit_19,
    "triton-19": row_triton_19,
    "mixed": row_mixed,
}


#: A native candidate has no other form for KernelBench.
LOAD_INLINE_FORM = {
    "CUDA ReLU 4096 x 4096, fresh build": "the same as load_inline, fresh build",
    "CUDA ReLU 4096 x 4096, cached": "the same as load_inline, cached",
}


def table(results: dict[str, dict]) -> str:
    """Markdown: one line per row, medians in seconds."""
    lines = ["| work | KernelBench | kgen | ratio | verdicts |", "|---|---|---|---|---|"]
    for row, result in results.items():
        theirs = result.get("kernelbench") or results.get(LOAD_INLINE_FORM.get(row), {}).get("kernelbench")
        ours = result.get("kgen")
        cells = [f"{statistics.median(side['seconds']):.2f} s" if side else "-" for side in (theirs, ours)]
        ratio = "-"
        # A failed evaluation did less work than a verdict.
        if theirs and ours and {*theirs["verdicts"], *ours["verdicts"]} == {"correct"}:
            ratio = f"{statistics.median(theirs['seconds']) / statistics.median(ours['seconds']):.1f}"
        if "per_hour" in result:
            cells[1] += f"; {result['per_hour']:.0f} per hour"
            for device in result["devices"].values():
                cells[1] += f"; {device['verdicts']} verdicts, idle {100 * device['idle_share']:.0f} %"
                if device["kernel_running_share"] is not None:
                    cells[1] += f", a kernel ran {100 * device['kernel_running_share']:.0f} % of the time"
        verdicts = sorted({verdict[:60] for side in (theirs, ours) if side for verdict in side["verdicts"]})
        lines.append(f"| {row} | {cells[0]} | {cells[1]} | {ratio} | {'; '.join(verdicts)} |")
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", required=True, help="the program")
    parser.add_argument("--kernelbench", required=True, type=pathlib.Path, metavar="CHECKOUT")
    parser.add_argument("--only", action="append", choices=sorted(ROWS), help="this row; may be repeated")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="trials of the fast rows (%(default)s)")
    parser.add_argument("--slow-repeat", type=int, default=1, metavar="N",
                        help="trials of KernelBench's slow rows, up to 70 s each (%(default)s)")
    parser.add_argument("--skip-kernelbench", action="store_true", help="measure kgen only")
    parser.add_argument("--gpus", type=int, metavar="N", help="use the first N GPUs only; else all that are like the first")
    parser.add_argument("--order", choices=("shuffled", "task"), default="shuffled",
                        help="order of the mixed candidates (%(default)s)")
    parser.add_argument("--count", type=int, default=0, metavar="N",
                        help="so many mixed candidates, each again as a new text; else each once")
    parser.add_argument("--timeline", type=pathlib.Path, metavar="FILE", help="draw the mixed candidates there, as SVG")
    parser.add_argument("--settle", type=float, default=1.0, metavar="S",
                        help="seconds between two verdicts, for the standby to start (%(default)s)")
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="limit of one KernelBench process")
    parser.add_argument("--python", help="the Python with torch, for both; else this one and KGEN_PYTHON")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write everything that was measured there")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folder")
    options = parser.parse_args()
    options.kernelbench = options.kernelbench.resolve()
    if min(options.repeat, options.slow_repeat) < 1:
        parser.error("a row needs at least one trial")
    if options.gpus is not None and options.gpus < 1:
        parser.error("--gpus needs at least one")
    if options.count < 0:
        parser.error("--count needs at least one")
    return options


def main() -> int:
    options = parse_arguments()
    if options.gpus:
        use_first_gpus(options.gpus)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="kgen-side-by-side-"))
    bench = Bench(options, scratch)
    failed = []
    try:
        for name, row in ROWS.items():
            if options.only and name not in options.only:
                continue
            say(f"{name}:")
            try:
                row(bench)
            except Exception as error:  # A failing row must not lose the rows before it.
                failed.append(name)
                say(f"  {name} failed: {error!r}")
                bench.end_worker()
    finally:
        bench.end_worker()
        bench.log.close()
        if options.json:
            options.json.write_text(json.dumps(bench.results, indent=1), encoding="utf-8")
        log = (scratch / "worker.log").read_text(encoding="utf-8", errors="replace")
        if log:
            say(f"the worker said:\n{log[-4000:]}")
        if options.keep:
            say(f"kept {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    print(table(bench.results))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
