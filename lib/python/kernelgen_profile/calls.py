"""Makes a callable from a job: the task's inputs, and the reference or a candidate on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from kernelgen_common import dtypes
from kernelgen_judge.device import CPU, Device, GpuDevice
from kernelgen_judge.errors import TaskError
from kernelgen_judge.precision import cast_dtype
from kernelgen_judge.task import CallInputs, Reference, Task, TaskSource, load_task
from kernelgen_judge.values import TensorSpec, flatten_output, unflatten
from kernelgen_runner.candidate import Candidate
from kernelgen_runner.protocol import Failure

from .native import Native, NativeError

if TYPE_CHECKING:
    from .shaken import Placer

#: Any seed works, because no outputs are compared.
_SEED = 20


class CandidateError(Exception):
    """The candidate failed; the message is its own."""


class TorchDevice(GpuDevice):
    """A GPU used only through torch, because there is no runner to share memory with."""

    is_gpu = True

    def __init__(self, name: str):
        self.torch = torch.device(name)
        self._on_cuda = self.torch.type == "cuda"
        if self._on_cuda and self.torch.index is None:
            # As tensors have it: "cuda" is another device than "cuda:0" where the two are compared.
            self.torch = torch.device("cuda", torch.cuda.current_device())
        self.label = f"profiled {name}"

    def synchronize(self) -> None:
        if self._on_cuda:
            torch.cuda.synchronize()


class Profiled:
    """A module that can be called again and again on the same inputs."""

    def __init__(self, job: dict[str, Any]):
        """Raises TaskError, CandidateError."""
        self.device = _open_device(str(job.get("device", "cpu")))
        given = job["task"]
        source = TaskSource(str(given["name"]), str(given["text"]), str(given.get("path") or ""))
        shrink = [(str(name), int(value)) for name, value in job.get("shrink", [])]
        precision = str(job.get("precision", "strict"))
        self.task = load_task(source, precision=precision, shrink=shrink, seed=_SEED, device=self.device)
        self._inputs = self.task.make_inputs(_SEED + 1)
        self.device.apply_flags(self.task.precision)
        self._outputs = {spec.name: self._empty(spec) for spec in self.task.outputs}
        #: The native candidate, or else the module.
        self._native = self._load(str(job["artifact"])) if "artifact" in job else None
        self._module = None if self._native else self._build(job)

    def call(self) -> None:
        """Queues one call; `device.synchronize()` waits for its end. Raises CandidateError."""
        self._guarded(self._call, self._inputs)

    def call_placed(self, placer: "Placer") -> dict[str, torch.Tensor]:
        """The outputs of a call on equal inputs at other addresses, waited for. Raises CandidateError."""
        inputs = self._inputs.replace({
            name: placer.copy(name, tensor) for name, tensor in self._inputs.tensors.items()
        })  # fmt: skip
        outputs = self._outputs
        if self._native:
            outputs = {name: placer.poison(name, tensor) for name, tensor in self._outputs.items()}
            self._native.place("inputs", inputs.tensors)
            self._native.place("outputs", outputs)
        value = self._guarded(self._call, inputs)
        self.device.synchronize()
        return outputs if self._native else flatten_output(value).tensors

    def _call(self, inputs: CallInputs) -> Any:
        if self._native:
            return self._native.run()
        return self._module(*inputs.arguments())

    def _guarded(self, work: Callable[[CallInputs], Any], inputs: CallInputs) -> Any:
        try:
            with torch.no_grad():
                return work(inputs)
        except NativeError as error:
            raise CandidateError(str(error)) from None
        except Exception as error:  # noqa: BLE001 - whatever a module raises
            raise CandidateError(f"{type(error).__name__}: {error}") from None

    def call_watched(self, calls: int) -> dict[str, Any]:
        """Calls it while a tool outside watches; the result says only that all calls ended. Raises CandidateError."""
        for _ in range(calls):
            self.call()
            self.device.synchronize()
        return {"schema": 1, "calls": calls}

    def _build(self, job: dict[str, Any]) -> torch.nn.Module:
        return self._candidate(str(job["source"])) if "source" in job else self.task.build(_SEED + 2).module

    def _candidate(self, source: str) -> torch.nn.Module:
        init = self.task.init
        arguments = unflatten(init.structure, {name: tensor.clone() for name, tensor in init.tensors.items()})
        try:
            candidate = Candidate(source.encode("utf-8", "surrogatepass"))
            module = candidate.construct(arguments, _SEED + 2, cast_dtype(self.task.precision))
            return candidate.move(module, self.device.torch)
        except Failure as failure:
            raise CandidateError(str(failure)) from None

    def _load(self, path: str) -> Native:
        task, reference = self.task, self.task.build(_SEED + 2)
        tensors = {
            "inputs": self._inputs.tensors,
            "parameters": reference.tensors("parameter"),
            "buffers": reference.tensors("buffer"),
            "attributes": reference.tensors("attribute"),
            "draws": _draws(task, reference, self._inputs),
            "outputs": self._outputs,
        }
        stream = self.device.stream() if isinstance(self.device, TorchDevice) else 0
        try:
            return Native(path, tensors, task.input_scalars, task.init_scalars, self.device.torch, stream)
        except NativeError as error:
            raise CandidateError(str(error)) from None

    def _empty(self, spec: TensorSpec) -> torch.Tensor:
        return torch.empty(spec.shape, dtype=dtypes.parse(spec.dtype), device=self.device.torch)


def _draws(task: Task, reference: Reference, inputs: CallInputs) -> dict[str, torch.Tensor]:
    return reference.run(inputs, _SEED + 3, trace=True).named_draws() if task.draws else {}


def _open_device(name: str) -> Device:
    if name == "cpu":
        return CPU
    if not torch.cuda.is_available():
        version = torch.version.cuda or "no CUDA"
        raise TaskError(f"torch {torch.__version__} ({version}) sees no GPU", "missing_device")
    return TorchDevice(name)
