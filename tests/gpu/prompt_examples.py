#!/usr/bin/env python3
"""The code that prompts show, judged on a real GPU: what is called right is right, what is called wrong is wrong.

    tests/gpu/prompt_examples.py --kgen build/bin/kgen [--records DIR] [--only TEXT]

One line for each example, then "N passed, N failed". The same examples without a GPU: tests/cli/prompt_examples_test.py
and family_examples_test.py.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))

import family_examples_test as families  # noqa: E402 - lies in another folder
import prompt_examples_test as examples  # noqa: E402

CUDA_HEAD = """#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_threads = 16;

"""
CUDA_TAIL = """
}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  result->workspace_bytes = 2 * sizeof(float) * static_cast<uint64_t>(kgen_dim(kgen_find(&args->inputs, "state"), 1));
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "state");
  const auto* state = static_cast<const float*>(input->data);
  const auto* weight = static_cast<const float*>(kgen_find(&args->parameters, "weight")->data);
  auto* output = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  auto* states = static_cast<float*>(args->workspace);
  int units = static_cast<int>(kgen_dim(input, 1));
  int steps = static_cast<int>(kgen_integer(&args->init_scalars, "steps", 0));
  const auto stream = static_cast<cudaStream_t>(args->stream);
  const dim3 grid((units + k_threads - 1) / k_threads), block(k_threads);
  const size_t bytes = sizeof(float) * units;
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row) {
    cudaMemcpyAsync(states, state + row * units, bytes, cudaMemcpyDeviceToDevice, stream);
    CALL
  }
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "a launch failed");
}

KGEN_API void kgen_destroy(void*) {}
"""
CUDA_RIGHT = """void* arguments[] = {&weight, &states, &units, &steps};
    cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(recur), grid, block, arguments, 0, stream);
    cudaMemcpyAsync(output + row * units, states + steps % 2 * units, bytes, cudaMemcpyDeviceToDevice, stream);"""
CUDA_WRONG = """recur_wrong<<<grid, block, 0, stream>>>(weight, states, units, steps);
    cudaMemcpyAsync(output + row * units, states, bytes, cudaMemcpyDeviceToDevice, stream);"""
WRONG = ("accuracy", "race", "off_distribution")


def cases() -> list[tuple[str, str, str, str, str, bool]]:
    """(name, code, ending, task, target, whether it is right)"""
    blocks, block_with, recurrence = examples.blocks, examples.block_with, "partials/recurrence_example"
    triton = examples.TRITON_HEAD
    found = [(f"form of {target}", blocks(f"examples/{target}")[0], ending, task, target, True)
             for target, ending, task in (("cuda", ".cu", "scale"), ("triton", ".py", "scale"),
                                          ("torch", ".py", "linear_scaled"))]
    found.append(("right recurrence of triton", triton + block_with(recurrence, "def recur(") + examples.TRITON_RIGHT,
                  ".py", "recurrence", "triton", True))
    found.append(("wrong recurrence of triton", triton + block_with(recurrence, "def recur_wrong(") +
                  examples.TRITON_WRONG, ".py", "recurrence", "triton", False))
    for part, call, right in (("void recur(const float*", CUDA_RIGHT, True), ("void recur_wrong(const float*", CUDA_WRONG, False)):
        code = next(block for block in blocks(recurrence) if "__global__" in block and part in block)
        found.append((f"{'right' if right else 'wrong'} recurrence of cuda",
                      CUDA_HEAD + code + CUDA_TAIL.replace("CALL", call), ".cu", "recurrence", "cuda", right))
    for name, task in families.TASKS.items():
        ending, target = (".py", "triton") if name.startswith("triton/") else (".cu", "cuda")
        code = families.shown(name, {"is_cuda"}, families.TRITON if target == "triton" else families.CUDA)
        found.append((f"{name.replace('/', ' ')} of {target}", code, ending, task, target, True))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgen", default=os.environ.get("KGEN"), help="the program; else what KGEN names")
    parser.add_argument("--records", type=pathlib.Path, help="a folder for the records")
    parser.add_argument("--only", default="", metavar="TEXT", help="examples with this in their name")
    options = parser.parse_args()
    if not options.kgen:
        parser.error("--kgen is needed")
    if options.records:
        options.records.mkdir(parents=True, exist_ok=True)
    examples.ARGUMENTS.source = ROOT
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, code, ending, task, target, right in (case for case in cases() if options.only in case[0]):
            file = pathlib.Path(scratch) / (name.replace(" ", "_") + ending)
            file.write_text(code, encoding="utf-8")
            output = (options.records or pathlib.Path(scratch)) / (file.stem + ".json")
            done = subprocess.run([options.kgen, "eval", "--code", str(file), "--problem",
                                   str(ROOT / "tests/data/prompt_examples" / f"{task}.py"), "--target", target,
                                   "--output", str(output), "--cache-dir", scratch + "/cache"],
                                  capture_output=True, text=True, check=False, timeout=240, env=environment)
            outcome = json.loads(output.read_text())["outcome"] if output.exists() else {"kind": "none", "message": done.stderr}
            fine = outcome["kind"] == "correct" if right else outcome["kind"] in WRONG
            passed, failed = passed + fine, failed + (not fine)
            print(f"{'ok' if fine else 'FAILED'}  {name}: {outcome['kind']} {'' if fine else outcome['message']}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
