"""The Python runner on a real GPU, end to end without a worker: one line a candidate, with what it answered and how long.

    python3 tests/gpu/runner_check.py [--support LIB] [--uuid GPU-...] [--only WORD] [--no-extension]

Ends with 0 when every candidate got the answer that it should get.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "lib" / "python")]
LIBRARY = "libexec/kernelgen/libkgen_runner_support.so"
BYTES_PER_SECOND = 4.3e12

TASK = """
import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(4096, 4096)]
def get_init_inputs():
    return []
"""
LINEAR = """
import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
        self.norm = nn.BatchNorm1d(n)
    def forward(self, x):
        return self.norm(torch.tanh(self.fc(x)))
def get_inputs():
    return [torch.randn(512, 1024)]
def get_init_inputs():
    return [1024]
"""
HEAD = "import torch, torch.nn as nn\nimport triton, triton.language as tl\n"


def candidate(forward: str, before: str = "", init: str = "pass") -> str:
    """A ModelNew without weights."""
    body = forward.strip().replace("\n", "\n        ")
    return (
        f"{HEAD}{before}\nclass ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
        f"    def forward(self, x):\n        {body}\n"
    )


TRITON = """
@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at + SHIFT, tl.maximum(tl.load(x + at, mask=at < n), 0.0), mask=at < n)
"""
CALL = """
y = torch.empty_like(x)
relu[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), BLOCK=4096)
return y
"""
EXTENSION = '''
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void relu_kernel(const float* x, float* y, long n) {
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
torch::Tensor relu(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda(), "x must be on the device");
  auto y = torch::empty_like(x);
  const long n = x.numel();
  relu_kernel<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline("relu_check", ["torch::Tensor relu(torch::Tensor x);"], [source.replace("BLOCK", "256")], functions=["relu"])
'''
ON_STREAM = (
    EXTENSION.replace("relu_check", "relu_on_stream")
    .replace("#include <cuda_runtime.h>", "#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAGuard.h>")
    .replace("BLOCK>>>", "BLOCK, 0, at::cuda::getCurrentCUDAStream()>>>")
    .replace("auto y =", "const at::cuda::OptionalCUDAGuard guard(x.device());\n  auto y =")
    .replace("  return y;", "  C10_CUDA_KERNEL_LAUNCH_CHECK();\n  return y + torch::zeros({1}, x.options()) * 2;")
)
#: Only the legacy stream is in order with it.
BLOCKING = (
    EXTENSION.replace("relu_check", "relu_blocking")
    .replace("BLOCK>>>", "BLOCK, 0, own>>>")
    .replace("const long n", "static cudaStream_t own = [] { cudaStream_t made; cudaStreamCreate(&made); return made; }();\n  const long n")
)
BROKEN = EXTENSION.replace("fmaxf(x[i], 0.f)", "fmaxf(x[i], nought)")
NO_LAUNCH = EXTENSION.replace('"256"', '"4096"')
ENDLESS = """
@triton.jit
def endless(y):
    while tl.load(y, volatile=True) < 1.0:
        pass
"""
SHARED = """
@triton.jit
def product(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i[:, None] * 4096 + i[None, :])
    tl.store(y + i[:, None] * 4096 + i[None, :], tl.dot(a, a, input_precision="tf32"))
"""


class Check:
    """Zygotes, and what was found wrong."""

    def __init__(self, options: argparse.Namespace):
        import harness
        from kernelgen_runner import protocol

        self.harness, self.protocol, self.options = harness, protocol, options
        self.wrong: list[str] = []
        began = time.monotonic()
        self.judges = harness.Zygote("kernelgen_judge")
        arguments = ["--support", options.support, "--gpu", options.uuid, "--gpu-vendor", options.vendor]
        arguments += ["--gpu-variable", "CUDA_VISIBLE_DEVICES"] if options.vendor == "nvidia" else []
        arguments += [part for node in sorted(glob.glob("/dev/nvidia*")) for part in ("--gpu-node", node)]
        self.runners = harness.Zygote("kernelgen_runner", *arguments)
        print(f"zygotes ready after {time.monotonic() - began:.1f} s: {self.runners.ready}", flush=True)

    def bench(self, task: str) -> Any:
        """A task, admitted to nothing but the exchange."""
        device = {"vendor": self.options.vendor, "uuid": self.options.uuid, "l2_bytes": 50 << 20}
        device["bytes_per_second"] = BYTES_PER_SECOND
        judge = self.harness.Judge(self.judges)
        return self.harness.Bench(judge, task, device=device, support_library=self.options.support)

    def runner(self, builds: str | None = None) -> Any:
        """A standby that has said hello."""
        began = time.monotonic()
        runner = self.harness.Runner(self.runners, **({"builds": builds} if builds else {}))
        self.hello_ms = (time.monotonic() - began) * 1e3
        return runner

    def expect(self, name: str, wanted: str, got: str, text: str) -> None:
        """Prints one line."""
        fine = got == wanted or (wanted.endswith("*") and got.startswith(wanted[:-1]))
        if not fine:
            self.wrong.append(name)
        print(f"{'ok   ' if fine else 'WRONG'} {name:<34} {got:<22} {text}", flush=True)

    def try_candidate(
        self, name: str, source: str, wanted: str, bench: Any, graph: bool = False, builds: str | None = None
    ) -> None:
        """LOAD, CONSTRUCT, a few calls."""
        if self.options.only and self.options.only not in name:
            return
        runner = self.runner(builds)
        try:
            got, text = self.follow(runner, source, bench, graph)
        except self.harness.RunnerDied:
            got, text = "died", ""
        except AssertionError as error:
            got, text = "judge", str(error)
        finally:
            runner.close()
        self.expect(name, wanted, got, f"hello {self.hello_ms:.0f} ms; {text}")

    def follow(self, runner: Any, source: str, bench: Any, graph: bool) -> tuple[str, str]:
        """What a worker does: (what came of it, times or reasons)."""
        protocol = self.protocol
        if runner.hello.status != protocol.OK:
            return f"status {runner.hello.status}", runner.hello.text
        began = time.monotonic()
        loaded = self.harness.load_candidate(runner, bench, source)
        load_ms = (time.monotonic() - began) * 1e3
        if loaded.status != protocol.OK:
            return f"status {loaded.status}", f"load {load_ms:.0f} ms; " + one_line(loaded.text)
        began = time.monotonic()
        weights, failed = self.harness.exchange_weights(runner, bench)
        if failed is not None:
            return f"status {failed.status}", one_line(failed.text)
        weights_ms = (time.monotonic() - began) * 1e3
        bench.judge.must("weights", set=1)
        return self.call(runner, bench, graph, f"load {load_ms:.0f} ms, weights {weights_ms:.0f} ms")

    def call(self, runner: Any, bench: Any, graph: bool, text: str) -> tuple[str, str]:
        protocol, firsts, times, hosts, off_stream = self.protocol, 0.0, [], [], []
        for number in range(12):
            prepared = bench.prepare_call()
            flags = protocol.RUN_POISON if number < 3 else protocol.RUN_GRAPH if graph else 0
            began = time.monotonic()
            answer = runner.ask(protocol.OP_RUN, 1 + number % 2 if number < 2 else 1, int(prepared["forward_seed"]), flags, 0, 1)
            if number == 0:
                firsts = (time.monotonic() - began) * 1e3
            if answer.status != protocol.OK:
                return f"status {answer.status}", f"detail {answer.detail}; {one_line(answer.text)}"
            if number != 1:  # the second set has other weights than the judge's
                outcome = bench.check()
                if outcome["kind"] != "correct":
                    return f"{outcome['kind']}:{outcome['detail']}", one_line(str(outcome["message"]))
            if number > 3:
                times.append(answer.arguments[3])
                hosts.append(answer.end_ns - answer.start_ns)
                off_stream.append(answer.arguments[1])
        middle = [statistics.median(column) / 1e3 for column in (times, hosts, off_stream)]
        text += f"; first call {firsts:.0f} ms; device {middle[0]:.1f} us, host {middle[1]:.1f} us, off-stream {middle[2]:.1f} us"
        return "correct", text

    def endless(self, bench: Any) -> None:
        """A kernel that never ends is killed with its runner, and the device serves the next one."""
        if self.options.only and self.options.only not in "an endless kernel":
            return
        runner = self.runner()
        source = candidate("y = torch.zeros_like(x)\nendless[(1,)](y)\nreturn y", ENDLESS)
        self.harness.load_candidate(runner, bench, source)
        self.harness.exchange_weights(runner, bench)
        prepared = bench.prepare_call()
        packed = (self.protocol.OP_RUN, 99, 1, int(prepared["forward_seed"]), 0, 0, 1, 0)
        runner.control.send(self.protocol.COMMAND.pack(self.protocol.COMMAND_MAGIC, self.protocol.VERSION, *packed))
        time.sleep(3)
        began = time.monotonic()
        supervisor = int.from_bytes(os.read(runner.status, 16)[8:16], "little", signed=True)
        os.kill(supervisor, signal.SIGKILL)
        runner.statuses()
        gone_ms = (time.monotonic() - began) * 1e3
        runner.close()
        following = self.runner()
        self.expect("an endless kernel", "killed", "killed", f"gone after {gone_ms:.0f} ms, next hello {self.hello_ms:.0f} ms")
        following.close()

    def close(self) -> None:
        self.runners.close()
        self.judges.close()


def one_line(text: str) -> str:
    """For a table."""
    return " / ".join(text.split("\n"))[:700]


def run(check: Check, extension: bool) -> None:
    """Every candidate."""
    relu, linear = check.bench(TASK), check.bench(LINEAR)
    triton = TRITON.replace(" + SHIFT", "")
    check.try_candidate("torch", candidate("return torch.relu(x)"), "correct", relu)
    check.try_candidate("torch, as a graph", candidate("return torch.relu(x)"), "correct", relu, graph=True)
    check.try_candidate("weights and buffers", LINEAR.replace("Model(", "ModelNew("), "correct", linear)
    check.try_candidate("weights and buffers, as a graph", LINEAR.replace("Model(", "ModelNew("), "correct", linear, graph=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as builds:
        check.try_candidate("triton, cold", candidate(CALL, triton), "correct", relu, builds=builds)
        check.try_candidate("triton, built before", candidate(CALL, triton), "correct", relu, builds=builds)
    check.try_candidate("triton, as a graph", candidate(CALL, triton), "correct", relu, graph=True)
    check.try_candidate("empty_like", candidate("return torch.empty_like(x)"), "accuracy:nan", relu)
    check.try_candidate("on another stream", candidate(
        "s = self.s\nwith torch.cuda.stream(s):\n    y = torch.relu(x)\n    z = torch.relu(x)\nreturn y", init="self.s = torch.cuda.Stream()"
    ), "correct", relu)  # fmt: skip
    check.try_candidate("not capturable", candidate("x.sum().item(); return torch.relu(x)"), "status 10", relu, graph=True)
    check.try_candidate("a graph of its own, before any product", candidate(
        "graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    y = torch.mm(x, x)\ngraph.replay()\nreturn torch.relu(x)"
    ), "correct", relu)  # fmt: skip
    check.try_candidate("backward, as a graph", candidate(
        "with torch.enable_grad():\n    z = x.detach().requires_grad_()\n    g, = torch.autograd.grad(torch.relu(z).sum(), z)\nreturn x * g"
    ), "correct", relu, graph=True)  # fmt: skip
    check.try_candidate("out of memory", candidate("return torch.empty(1 << 45, device=x.device)"), "status 6", relu)
    far = TRITON.replace("SHIFT", "(1 << 44)")
    check.try_candidate("out of bounds", candidate(CALL, far), "status 11", relu)
    check.try_candidate("too much shared memory", candidate(
        "y = torch.zeros_like(x)\nproduct[(1,)](x, y, BLOCK=256)\nreturn y", SHARED
    ), "status 5", relu)  # fmt: skip
    unknown = candidate(CALL, triton.replace("tl.maximum", "tl.tanh"))
    check.try_candidate("triton does not compile", unknown, "status 5", relu)
    compiled = candidate("return self.f(x)", init="self.f = torch.compile(torch.relu)")
    check.try_candidate("torch.compile", compiled, "correct", relu)
    check.endless(relu)
    if extension:
        extensions(check, relu)


def extensions(check: Check, relu: Any) -> None:
    """load_inline, unchanged, through our compilers."""
    plain = candidate("return module.relu(x)", EXTENSION)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as builds:
        check.try_candidate("load_inline, fresh", plain, "correct", relu, builds=builds)
        check.try_candidate("load_inline, built before", plain, "correct", relu, builds=builds)
        check.try_candidate("on no stream of its own, as a graph", plain, "correct", relu, True, builds)
    check.try_candidate("load_inline, as a graph", candidate("return module.relu(x)", ON_STREAM), "correct", relu, True)
    check.try_candidate("a blocking stream of its own", candidate("return module.relu(x)", BLOCKING), "correct", relu)
    check.try_candidate("load_inline does not compile", candidate("return module.relu(x)", BROKEN), "status 2", relu)
    check.try_candidate("a launch that is refused", candidate("return module.relu(x)", NO_LAUNCH), "status 5", relu)


def main() -> int:
    """Runs everything that was asked for."""
    parser = argparse.ArgumentParser(description="The Python runner on a real GPU.")
    parser.add_argument("--support", default=os.environ.get("KGEN_RUNNER_SUPPORT"), help="path of libkgen_runner_support.so")
    parser.add_argument("--uuid", help="the GPU; default: the first")
    parser.add_argument("--only", default="", help="candidates whose name contains this")
    parser.add_argument("--no-extension", action="store_true", help="without load_inline")
    options = parser.parse_args()
    found = sorted(str(path) for path in ROOT.glob(f"build*/{LIBRARY}"))
    options.support = options.support or (found[0] if found else None)
    if options.support is None:
        parser.error("no libkgen_runner_support.so was found: --support")
    os.environ["KGEN_RUNNER_SUPPORT"] = options.support
    facts = json.loads(os.popen(f"{sys.executable} -c {FACTS!r} {options.support}").read())
    options.uuid, options.vendor = options.uuid or facts["uuid"], facts["vendor"]
    print(f"{facts['name']} {options.uuid} {facts['architecture']}", flush=True)
    check = Check(options)
    run(check, not options.no_extension)
    check.close()
    print(f"wrong: {', '.join(check.wrong)}" if check.wrong else "all as expected", flush=True)
    return 1 if check.wrong else 0


#: In a process of its own: this one forks, and must not know a driver.
FACTS = (
    f"import sys, json; sys.path.insert(0, '{ROOT}/lib/python'); from kernelgen_common.gpu import Gpu;"
    "print(json.dumps(Gpu(sys.argv[1], '').facts._asdict()))"
)

if __name__ == "__main__":
    sys.exit(main())
