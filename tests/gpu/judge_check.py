"""The judge on a real GPU: stages tasks, plays right and wrong candidates in the arena, and says what everything costs.

    PYTHONPATH=lib/python python tests/gpu/judge_check.py --support build/libexec/kernelgen/libkgen_runner_support.so

Needs torch with CUDA and the runner's support library; no runner and no compiler. Every task is judged in a process of its
own, forked as the judge's zygote forks. The exit status is the number of tasks of which something was not as it should be,
or 125 where there is no GPU.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from kernelgen_common.gpu import Gpu, tensor_at
from kernelgen_judge.session import Session

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "tasks"
SKIPPED = 125
TASKS = ("relu", "softmax", "gru_hidden", "batchnorm", "matmul_gelu")

HEAD = "import torch\nimport torch.nn as nn\n"
UNCAPTURABLE = HEAD + """
class Model(nn.Module):
    def forward(self, x):
        return x * (2.0 if float(x.sum()) > 0 else 3.0)
def get_inputs():
    return [torch.randn(512, 512)]
"""
DRAWN_ELSEWHERE = HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = [torch.arange(4096.0)]
    def forward(self, x, index):
        return x[index] * self.table[0]
def get_inputs():
    generator = torch.Generator().manual_seed(torch.initial_seed() & 0xFFFF)
    return [torch.randn(512, 4096, generator=generator), torch.randint(512, (64,), generator=generator)]
"""
MIXED = HEAD + """
class Model(nn.Module):
    def forward(self, x, y):
        y.mul_(2)
        return {"half": x.half(), "where": x > 0, "wide": x.double().cumsum(0), "pair": torch.view_as_complex(y.view(64, -1, 2))}
def get_inputs():
    return [torch.randn(333, 77), torch.randn(64, 64)]
"""
LARGE = HEAD + """
rows = 16384
columns = 98304
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(rows, columns)]
"""
OWN = {"uncapturable": UNCAPTURABLE, "drawn_elsewhere": DRAWN_ELSEWHERE, "mixed": MIXED}


class Check:
    """One task: a session, and what was found wrong with it."""

    def __init__(self, name: str, text: str, options: argparse.Namespace):
        self.name, self.text, self.options = name, text, options
        self.session = Session()
        self.times: dict[str, float] = {}
        self.problems: list[str] = []

    def timed(self, what: str, call: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        value = call()
        self.times[what] = time.perf_counter() - started
        return value

    def expect(self, what: str, condition: bool, found: object = "") -> None:
        if not condition:
            self.problems.append(f"{what}: {found!r:.300}")

    # -- the candidate --------------------------------------------------------------------------------------------

    def arena(self, role: str) -> list[tuple[Any, torch.Tensor]]:
        preparer = self.session._preparer
        return [(segment, preparer._arena.view(segment)) for segment in self.session._layout.of(role)]

    def answer(self) -> None:
        """A right candidate: the reference's own outputs, and its writes to inputs."""
        chosen = self.session._preparer.current
        for segment, view in self.arena("output"):
            view.copy_(chosen.expected.outputs.tensors[segment.name])

    def outcome(self, mode: str = "full") -> str:
        found = self.session.check({"mode": mode})["outcome"]
        self.message = found["message"]
        return found["kind"] + (":" + found["detail"] if found["detail"] else "")

    def must_be(self, what: str, wanted: str, mode: str = "full", words: str = "") -> None:
        found = self.outcome(mode)
        self.expect(f"{what} is {found}, not {wanted}", found == wanted and words in self.message, self.message)

    # -- steps ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        options = self.options
        device = {"vendor": options.vendor, "uuid": options.uuid, "l2_bytes": 0, "bytes_per_second": 0}
        request = {"task": {"name": self.name, "text": self.text}, "threads": 1, "support_library": options.support}
        request.update(device=device, budget={"float64_seconds": 20, "float64_bytes": 1 << 32}, shrink=options.shrink)
        self.timed("load", lambda: self.session.load(request))
        admission = self.timed("admit", lambda: self.session.admit({}))["admission"]
        self.distributions = admission["distributions"]
        print(f"  {self.name}: {', '.join(self.distributions)}; float64 {admission['float64']}; labels {admission['labels']}; "
              f"sensitive to {admission.get('sensitive_bytes')} bytes; dropped {admission['dropped']}")  # fmt: skip
        self.attach()
        for index in (2, 1):
            self.session.weights({"set": index})
            self.session.prepare_call({})
            self.must_be(f"nothing written under weight set {index}", "accuracy:mismatch", words="not written")
            self.session.prepare_call({})
            self.answer()
            self.must_be(f"the right answer under weight set {index}", "correct")
        for distribution in self.distributions:
            self.session.prepare_call({"distribution": distribution})
            self.answer()
            self.must_be(f"the right answer on {distribution}", "correct")
        self.wrong_answers()
        self.spoiled()
        self.baselines()
        self.costs()

    def attach(self) -> None:
        layout = self.session.layout({})
        host = os.memfd_create("arena")
        os.ftruncate(host, layout["bytes"])
        request = {"path": f"/proc/self/fd/{host}", "bytes": layout["bytes"]}
        reply = self.timed("attach", lambda: self.session.attach(request))
        descriptors = self.session.take_descriptors()
        self.expect("attach hands over a descriptor", reply["device_fd"] and len(descriptors) == 1, reply)
        gpu = self.session._device.gpu
        address = gpu.import_shared(descriptors[0], layout["device_bytes"])
        again = tensor_at(address, layout["device_bytes"], self.session._device.torch)
        self.expect("both mappings show the same", torch.equal(again[:4096], self.session._preparer._arena._all[:4096]))
        del again
        gpu.free_shared(address)
        for descriptor in [*descriptors, host]:
            os.close(descriptor)

    def stage_and_answer(self, **request: Any) -> None:
        self.session.prepare_call(request)
        self.answer()

    def wrong_answers(self) -> None:
        floating = [view for _, view in self.arena("output") if view.is_floating_point()]
        first = floating[0]

        def spoil(change: Callable[[], None], what: str, wanted: str, mode: str = "full", words: str = "") -> None:
            self.stage_and_answer()
            change()
            self.must_be(what, wanted, mode, words)

        def one(value: float) -> Callable[[], None]:
            return lambda: first.view(-1)[first.numel() // 2 :][:1].fill_(value)

        spoil(lambda: first.mul_(314), "314 times the answer", "accuracy:mismatch")
        spoil(lambda: first.zero_(), "zeros", "accuracy:mismatch")
        spoil(lambda: first.zero_(), "zeros, sampled", "accuracy:mismatch", "sample")
        spoil(one(float("nan")), "one NaN", "accuracy:nan")
        spoil(one(float("inf")), "one infinity", "accuracy:nan")
        spoil(one(1e4), "one element of 1e4", "accuracy:mismatch")
        self.stage_and_answer()
        before = [view.clone() for _, view in self.arena("output")]
        self.must_be("the answer before", "correct")
        self.session.prepare_call({})
        for (_, view), old in zip(self.arena("output"), before):
            view.copy_(old)
        self.must_be("a stale answer", "accuracy:mismatch", words="stale")
        one_digest = self.session.output_digest({})["digest"]
        self.expect("equal bytes, equal digests", self.session.output_digest({})["digest"] == one_digest)
        self.arena("output")[-1][1].view(-1)[-1:].view(torch.uint8)[-1:].bitwise_xor_(1)
        self.expect("other bytes, another digest", self.session.output_digest({})["digest"] != one_digest)

    def spoiled(self) -> None:
        arena, layout = self.session._preparer._arena, self.session._layout
        written = set(self.session._task.mutated_inputs)
        for role in ("input", "parameter"):
            names = [segment for segment in layout.of(role) if segment.name not in written and segment.nbytes]
            for segment in names[:2]:
                self.stage_and_answer()
                arena.raw(segment)[segment.nbytes // 2] ^= 1
                self.must_be(f"{role} {segment.name} overwritten", "mutated_input", words=segment.name)
        segment = layout.of("output")[-1]
        for place in (segment.begin - 1, segment.begin + segment.nbytes):
            self.stage_and_answer()
            arena._all[place] ^= 1
            self.must_be("a write beside an output", "crash:out_of_bounds", words=segment.name)
        for request in ({}, {"repeat": True}, {"canary": True}):
            self.stage_and_answer(**request)
            self.must_be(f"the right answer after all that, {request}", "correct")

    def baselines(self) -> None:
        eager = self.session.time_reference({"seconds": 1.0, "min_samples": 20, "max_samples": 200})
        self.times["eager"] = statistics.median(eager["samples_ns"]) * 1e-9
        graph = self.session.time_reference({"seconds": 1.0, "min_samples": 20, "max_samples": 200, "graph": True})
        reason = graph.get("reason", "")
        if graph["samples_ns"]:
            self.times["graph"] = statistics.median(graph["samples_ns"]) * 1e-9
        else:
            print(f"  {self.name}: no graph: {reason}")
        if self.options.vendor == "nvidia":
            self.expect("a graph where one can be", bool(reason) == (self.name == "uncapturable"), reason)
            reply = self.session.prepare_call({"graph": True})
            self.expect("a prepared call has a reference time", reply["reference_ns"] > 0, reply)
        self.session.weights({"set": 2})
        self.stage_and_answer(graph=True)
        self.must_be("the right answer beside graphs", "correct")
        self.session._device.release_cache()
        self.stage_and_answer(canary=True)
        self.must_be("the right answer after giving memory back", "correct")

    def costs(self) -> None:
        """Medians of what happens for every timed call."""
        found: dict[str, list[float]] = {}
        request = {"canary": True, "graph": "graph" in self.times}

        def clocked(what: str, call: Callable[[], Any]) -> None:
            started = time.perf_counter()
            call()
            found.setdefault(what, []).append(time.perf_counter() - started)

        for _ in range(20):
            clocked("prepare_call", lambda: self.session.prepare_call(request))
            self.answer()
            self.session._device.synchronize()
            clocked("check", lambda: self.session.check({"mode": "full"}))
        self.times.update({what: statistics.median(samples) for what, samples in found.items()})


def check_task(name: str, text: str, options: argparse.Namespace) -> int:
    """Judges one task; 0 if everything was as it should be."""
    check = Check(name, text, options)
    try:
        check.run()
    except Exception:  # noqa: BLE001 - the report is the purpose
        check.problems.append(traceback.format_exc())
    columns = " ".join(f"{what} {seconds * 1e3:.3f}" for what, seconds in check.times.items())
    print(f"{'FAILED' if check.problems else 'ok':6} {name:16} [ms] {columns}")
    if options.vendor == "nvidia" and torch.cuda.is_initialized():
        sets = sum(check.session._preparer._most_sets) if check.session._preparer else 0
        most, kept = torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20
        print(f"  memory: allocated at most {most} MiB, reserved {kept} MiB, {sets} input sets")
    for problem in check.problems:
        print(f"  {problem}")
    sys.stdout.flush()
    return 1 if check.problems else 0


def check_precision(name: str, text: str, options: argparse.Namespace) -> int:
    """The reference's own float64 error in every precision class: TF32 must show, and only where it is asked for."""
    errors = {}
    for precision in ("strict", "default", "tf32", "fp16", "bf16"):
        session = Session()
        device = {"vendor": options.vendor, "uuid": options.uuid, "l2_bytes": 0, "bytes_per_second": 0}
        session.load({"task": {"name": name, "text": text}, "threads": 1, "support_library": options.support,
                      "device": device, "precision": precision})  # fmt: skip
        found = session.admit({})["admission"]["float64_errors"]
        errors[precision] = max(found.get("own", {"": float("nan")}).values())
    print(f"       {name:16} float64 error " + " ".join(f"{precision} {error:.2g}" for precision, error in errors.items()))
    if options.vendor != "nvidia":
        return 0
    right = errors["strict"] < 5e-6 and errors["default"] < 5e-6 and errors["tf32"] > 5e-5
    if not right:
        print("FAILED TF32 is not where it should be")
    return 0 if right else 1


def forked(work: Callable[[], int]) -> int:
    """The answer of `work` in a child process; 1 if it died."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = work()
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        print(f"FAILED a process ended with {code}")
    return 0 if code == 0 else 1


def first_device(options: argparse.Namespace) -> None:
    """Fills in vendor and UUID, asked in a process of its own: this one must not touch the driver before it forks."""
    reader, writer = os.pipe()

    def ask() -> int:
        facts = Gpu(options.support, options.uuid).facts
        os.write(writer, f"{facts.vendor} {facts.uuid} {facts.name}".encode())
        return 0

    if forked(ask) != 0:
        print("there is no GPU: skipped")
        raise SystemExit(SKIPPED)
    os.close(writer)
    options.vendor, options.uuid, name = os.read(reader, 4096).decode().split(" ", 2)
    print(f"{name} ({options.vendor}, {options.uuid}), torch {torch.__version__}, Python {sys.version.split()[0]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--support", default=os.environ.get("KGEN_RUNNER_SUPPORT"), help="libkgen_runner_support.so")
    parser.add_argument("--uuid", default="", help="which GPU; the first one by default")
    parser.add_argument("--tasks", nargs="*", default=[*TASKS, *OWN], help="which tasks; `large` has 6.4 GB in and out")
    options = parser.parse_args()
    if not options.support:
        parser.error("--support is needed")
    options.shrink = []
    first_device(options)
    failed = 0
    for name in options.tasks:
        text = {**OWN, "large": LARGE}.get(name) or (EXAMPLES / f"{name}.py").read_text()
        failed += forked(lambda name=name, text=text: check_task(name, text, options))
    matmul = (EXAMPLES / "matmul_gelu.py").read_text()
    failed += forked(lambda: check_precision("matmul_gelu", matmul, options))
    print(f"{len(options.tasks) + 1 - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
