"""One evaluation by KernelBench's own evaluator, in this process.

    python kernelbench_trial.py CHECKOUT TASK CODE BACKEND

Prints one JSON line: the result, and the seconds inside its eval function. Its package imports clients of language
models and the like before it gets to the evaluator; those that are not installed are replaced by empty modules, which
costs it nothing.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time
import types

#: What src/kernelbench/{__init__,utils,eval,timing,dataset}.py import and the evaluator never calls.
UNUSED = {"dotenv", "openai", "litellm", "tqdm", "requests", "pydantic", "datasets", "transformers", "modal", "pydra"}


class _BaseModel:
    """The part of pydantic.BaseModel that a plain record needs: members from class defaults and keyword arguments."""

    def __init__(self, **members):
        for name in getattr(type(self), "__annotations__", {}):
            default = getattr(type(self), name, None)
            value = members.get(name, default)
            setattr(self, name, dict(value) if isinstance(value, dict) else value)


class _EmptyModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last entry of sys.meta_path: used only for modules that are not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in UNUSED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        # `from litellm import completion` finds something; calling it fails.
        module.__getattr__ = lambda name: _nothing(spec.name, name)
        if spec.name == "dotenv":
            module.load_dotenv = lambda *args, **kwargs: False
        if spec.name == "pydantic":
            module.BaseModel = _BaseModel
        return module

    def exec_module(self, module):
        pass


def _nothing(module: str, name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {"__doc__": f"stands for {module}.{name}, which is not installed"})


def import_evaluator(checkout: pathlib.Path):
    """KernelBench's evaluation module."""
    for base in (checkout / "src", checkout):
        if (base / "kernelbench" / "eval.py").is_file():
            sys.path.insert(0, str(base))
            sys.meta_path.append(_EmptyModules())
            return importlib.import_module("kernelbench.eval")
    raise SystemExit(f"{checkout} is no KernelBench checkout: src/kernelbench/eval.py is missing")


def task_of(checkout: pathlib.Path, level: int, problem: int) -> pathlib.Path:
    """The file of a task."""
    found = sorted((checkout / "KernelBench" / f"level{level}").glob(f"{problem}_*.py"))
    if not found:
        raise SystemExit(f"{checkout} has no level{level}/{problem}")
    return found[0]


def run(python: str, checkout: pathlib.Path, task: pathlib.Path, code: pathlib.Path, backend: str, timeout: float,
        environment: dict[str, str] | None = None) -> tuple[dict, str]:
    """Runs this file in a process of its own, with additional environment variables. Returns the line, empty if it failed, and its
    standard error. Raises subprocess.TimeoutExpired."""
    process = subprocess.run([python, __file__, str(checkout), str(task), str(code), backend], env={**os.environ, **(environment or {})},
                             capture_output=True, text=True, timeout=timeout, check=False)
    lines = process.stdout.strip().splitlines()
    return json.loads(lines[-1]) if process.returncode == 0 and lines else {}, process.stderr


def main() -> None:
    checkout, task, code, backend = sys.argv[1:5]
    # It prints its progress; standard output must hold only the JSON line.
    output = os.dup(1)
    os.dup2(2, 1)
    evaluator = import_evaluator(pathlib.Path(checkout))
    import torch

    start = time.monotonic()
    result = evaluator.eval_kernel_against_ref(
        original_model_src=pathlib.Path(task).read_text(encoding="utf-8"),
        custom_model_src=pathlib.Path(code).read_text(encoding="utf-8"),
        num_correct_trials=5,
        num_perf_trials=100,
        measure_performance=True,
        build_dir=os.environ.get("TORCH_EXTENSIONS_DIR"),
        device=torch.device("cuda:0"),
        backend=backend,
    )
    line = {
        "compiled": bool(result and result.compiled),
        "correct": bool(result and result.correctness),
        "runtime_ms": result.runtime if result else None,
        "reference_ms": result.ref_runtime if result else None,
        "seconds_inside": time.monotonic() - start,
        "metadata": {key: str(value) for key, value in (result.metadata if result else {}).items()},
    }
    os.write(output, (json.dumps(line) + "\n").encode())


if __name__ == "__main__":
    main()
