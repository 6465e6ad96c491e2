"""A task: the reference module, how it is built, its inputs, its calls, and what is known about them.

    task = load_task(TaskSource("relu", text), precision="strict", shrink=[("rows", 16)], seed=secret)
    reference = task.build(construction_seed)
    inputs = task.make_inputs(input_seed)
    result = reference.run(inputs, forward_seed)

Everything raises TaskError, and nothing else, for what the task's own code does. Nothing here knows of sockets.
"""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass, field
from typing import Any, Iterator, Sequence

import torch
from torch import nn

from kernelgen_common.seeding import seed_everything
from kernelgen_common.weight_transforms import transformed

from . import precision as precision_class
from .device import CPU, Device
from .errors import TaskError
from .module_state import StateSnapshot, StateTensor, state_tensors
from .randomness import CallTrace, draw_name, replaying, tracing
from .reference_trace import ReferenceTrace
from .source import CappedText, TaskSource, load_module, quiet, task_errors
from .task_facts import Observed, TensorSize, facts_of
from .values import (
    Flat,
    ScalarSpec,
    TensorSpec,
    argument_names,
    clone_with_strides,
    flatten_arguments,
    flatten_output,
    same_bits,
    spec_of,
    unflatten,
)

__all__ = ["CallInputs", "CallResult", "Reference", "Task", "TaskError", "TaskSource", "load_task"]

#: A processor takes long to draw weights and other state of so many bytes.
_LARGE_STATE = 64 << 20

_LEVELS = {"1": "single_operator", "2": "fusion", "3": "network", "4": "network"}


@dataclass
class CallInputs:
    """Inputs of one call: the structure of the argument list and its tensors by path name."""

    structure: Any
    tensors: dict[str, torch.Tensor]

    def arguments(self) -> list[Any]:
        return unflatten(self.structure, self.tensors)

    def clone(self, names: set[str] | None = None) -> "CallInputs":
        """A copy in which the tensors of `names` (default: all) have storage of their own, with equal strides."""
        tensors = {
            name: clone_with_strides(tensor) if names is None or name in names else tensor
            for name, tensor in self.tensors.items()
        }
        return CallInputs(self.structure, tensors)

    def replace(self, tensors: dict[str, torch.Tensor]) -> "CallInputs":
        """The same call with some tensors replaced."""
        return CallInputs(self.structure, {**self.tensors, **tensors})


@dataclass
class CallResult:
    """The result of one call of the reference."""

    outputs: Flat
    #: Random draws made in forward(), in order; filled when the call was traced.
    draws: list[torch.Tensor] = field(default_factory=list)
    trace: CallTrace | None = None
    seconds: float = 0.0
    #: True if forward() returned memory of the module's state, of which `outputs` have copies.
    returns_state: bool = False

    def named_draws(self) -> dict[str, torch.Tensor]:
        return {draw_name(index): tensor for index, tensor in enumerate(self.draws)}


class Reference:
    """One built Model. Its state can be put back to what it was after construction."""

    def __init__(self, task: "Task", module: nn.Module):
        self.task = task
        self.module = module
        self.state, self.aliases = state_tensors(module)
        self._snapshot: StateSnapshot | None = None

    def tensors(self, role: str) -> dict[str, torch.Tensor]:
        """Tensors of a role ("parameter", "buffer", "attribute") by dotted name, detached, sharing memory."""
        return {entry.name: entry.tensor.detach() for entry in self.state if entry.role == role}

    def remember(self) -> None:
        """Keeps a copy of the state for `restore`; called once, before the first call. Costs one copy of the weights."""
        if self._snapshot is None:
            self._snapshot = StateSnapshot(self.module)

    def changed(self) -> list[StateTensor]:
        """Tensors of the module that have changed since `remember`."""
        return self._snapshot.changed() if self._snapshot is not None else []

    def restore(self) -> None:
        """Puts back the state that calls change (BatchNorm's running statistics)."""
        if self._snapshot is not None:
            self._snapshot.restore(set(self.task.mutated_state))

    def run(
        self,
        inputs: CallInputs,
        forward_seed: int | None,
        *,
        trace: bool = False,
        replay: list[torch.Tensor] | None = None,
        restore: bool = True,
    ) -> CallResult:
        """One call under no_grad, as KernelBench makes it, with the state restored before it and fresh memory for every output.

        Inputs that the reference writes are copied first, so `inputs` stays as it is. `trace` records draws (it is always on for
        tasks with a forward() that draws); `replay` provides given draws. Without a seed the generators go on from where they are.
        `seconds` covers forward() only.
        """
        if restore:
            self.restore()
        trace = (trace or self.task.randomness == "traced") and replay is None
        return self.forward(inputs.clone(set(self.task.mutated_inputs)), forward_seed, trace, replay)

    def forward(
        self,
        inputs: CallInputs,
        forward_seed: int | None,
        trace: bool,
        replay: list[torch.Tensor] | None = None,
        observer: ReferenceTrace | None = None,
    ) -> CallResult:
        """One call on the tensors of `inputs` themselves, which forward() may write, within `observer`. See `run`."""
        task = self.task
        arguments = inputs.arguments()
        task.device.apply_flags(task.precision)
        tracer = tracing() if trace else None
        mode = tracer or (replaying(replay) if replay is not None else contextlib.nullcontext())
        with quiet(task.sink), task_errors(f"{task.source.name}: forward() failed", task.filename), torch.no_grad():
            if forward_seed is not None:
                seed_everything(forward_seed)
            if tracer:
                tracer.start()
            task.device.synchronize()
            with mode, observer or contextlib.nullcontext():
                started = time.perf_counter()
                value = self.module(*arguments)
                # This is inside task_errors, because a device reports failures when it is waited for.
                task.device.synchronize()
                seconds = time.perf_counter() - started
            if observer:
                observer.finish(value)
            record = tracer.finish() if tracer else None
            outputs = flatten_output(value)
        returns_state = self._own_memory(outputs, inputs)
        return CallResult(outputs, record.draws if record else [], record, seconds, returns_state)

    def _own_memory(self, outputs: Flat, inputs: CallInputs) -> bool:
        """Copies outputs that alias inputs or state: a later call must not change them. All are on the device then. Returns whether one
        aliased state."""
        given = {t.untyped_storage().data_ptr() for t in inputs.tensors.values()}
        state = {entry.tensor.untyped_storage().data_ptr() for entry in state_tensors(self.module)[0]}
        returns_state = False
        for name, tensor in outputs.tensors.items():
            tensor = outputs.tensors[name] = self.task.device.move(tensor)
            place = tensor.untyped_storage().data_ptr()
            returns_state = returns_state or (tensor.numel() > 0 and place in state)
            if place in given or place in state:
                outputs.tensors[name] = tensor.clone()
        return returns_state


@contextlib.contextmanager
def _constructing_on(device: Device) -> Iterator[None]:
    """A context in which constructors make their tensors on a device."""
    enabled = torch.backends.cudnn.enabled
    # With cuDNN, recurrent layers on a GPU pack their weights into one block, and a weight is known by its memory. They are packed
    # when the module is moved.
    torch.backends.cudnn.enabled = enabled and not device.is_gpu
    try:
        with device.drawing():
            yield
    finally:
        torch.backends.cudnn.enabled = enabled


@dataclass
class Task:
    """A loaded and probed task. Lists of specs are in the order of the ABI's table."""

    source: TaskSource
    precision: str
    shrink: list[tuple[str, int]]
    module: Any
    sink: CappedText
    device: Device = CPU
    #: True if inputs are drawn on the device; False once the task's code failed there, so that they are drawn on the CPU and
    #: moved.
    draws_on_device: bool = True
    #: True if large weights that are only tried are made on the device; False once the constructor failed there.
    constructs_on_device: bool = True
    #: Bytes that a call of the reference takes at its peak, outputs included; 0 where they are not counted.
    call_bytes: int = 0
    #: Bytes that an answer keeps in use beyond its outputs: a view keeps all of what it is a part of.
    kept_bytes: int = 0
    level: str = "unknown"
    mode: str = "train"
    randomness: str = "none"
    init: Flat = field(default_factory=lambda: Flat({"list": []}))
    input_structure: Any = None
    inputs: list[TensorSpec] = field(default_factory=list)
    parameters: list[TensorSpec] = field(default_factory=list)
    buffers: list[TensorSpec] = field(default_factory=list)
    attributes: list[TensorSpec] = field(default_factory=list)
    draws: list[TensorSpec] = field(default_factory=list)
    outputs: list[TensorSpec] = field(default_factory=list)
    output_structure: Any = None
    input_scalars: list[ScalarSpec] = field(default_factory=list)
    init_scalars: list[ScalarSpec] = field(default_factory=list)
    output_scalars: list[ScalarSpec] = field(default_factory=list)
    mutated_inputs: list[str] = field(default_factory=list)
    mutated_buffers: list[str] = field(default_factory=list)
    #: All tensors of the module that forward() changes: buffers, and (rarely) attributes or parameters.
    mutated_state: list[str] = field(default_factory=list)
    #: True if what a call leaves in the module's state may change what the next call gives, or the next call may change what it has given.
    #: BatchNorm's running statistics do neither.
    carries_state: bool = True
    #: Further names of shared tensors: {"decoder.weight": "encoder.weight"}.
    aliases: dict[str, str] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    #: How far from the truth honest answers may be, by distribution and output: compare.Allowance. Admission fills it.
    allowances: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: True if outputs may depend on an order of equal elements that torch leaves open.
    leaves_ties_open: bool = False
    #: What the operations of a call tell, as task_facts.facts_of gives it.
    facts: dict[str, Any] = field(default_factory=dict)
    #: Seconds of the first call of the reference, which is rather slow.
    probe_seconds: float = 0.0

    @property
    def filename(self) -> str:
        return self.module.__file__

    @property
    def has_independent_calls(self) -> bool:
        """True if calls can follow each other as if each were the first, up to the state of a random generator."""
        return not self.carries_state and not self.mutated_inputs and self.randomness != "stochastic"

    @property
    def absent_inputs(self) -> list[str]:
        return [scalar.name for scalar in self.input_scalars if scalar.type == "none"]

    def build(self, seed: int, transform: int = 0) -> Reference:
        """A fresh Model under a construction seed, cast to the precision class, in the mode that the task leaves it.

        `transform`: number of the weight transform under which it is constructed.
        Always built on the CPU: a device has another random stream, and a ModelNew is built there too.
        """
        return self._build(seed, transform, CPU)

    def build_to_try(self, seed: int, transform: int) -> Reference:
        """A Model like that of build(), for weights that no candidate makes. Large ones are drawn on the device, because that is much
        faster; they come from its random stream."""
        device = self.device
        if device.is_gpu and self.constructs_on_device and self.facts["state_bytes"] >= _LARGE_STATE:
            try:
                return self._build(seed, transform, device)
            except TaskError:
                # The constructor uses a generator of the CPU or an array of numpy, or the device lacks memory.
                self.constructs_on_device = False
                device.release_cache()
        return self.build(seed, transform)

    def _build(self, seed: int, transform: int, place: Device) -> Reference:
        """`place`: the device on which the constructor makes its tensors."""
        constructing = task_errors(f"{self.source.name}: constructing Model failed", self.filename)
        with quiet(self.sink), constructing, torch.no_grad():
            arguments = unflatten(self.init.structure, {k: v.clone() for k, v in self.init.tensors.items()})
            self.device.apply_flags(self.precision)
            seed_everything(seed)
            with _constructing_on(place), transformed(transform, seed, place.torch.type) as finish:
                module = self.module.Model(*arguments)
                finish([])
            dtype = precision_class.cast_dtype(self.precision)
            if dtype is not None:
                module = module.to(dtype)
            module = self.device.move_module(module)
            self.device.synchronize()
            reference = Reference(self, module)
        reference.remember()
        return reference

    def make_inputs(self, seed: int) -> CallInputs:
        """get_inputs() under a seed. Shapes, dtypes and structure are the same for every seed, else TaskError."""
        flat = self._call_get_inputs(seed)
        if self.inputs and flat.specs() != self.inputs:
            differing = next((a.name for a, b in zip(flat.specs(), self.inputs) if a != b), "their number")
            raise TaskError(f"{self.source.name}: get_inputs() gives other shapes under another seed ({differing})")
        return CallInputs(self.input_structure if self.inputs else flat.structure, flat.tensors)

    def _call_get_inputs(self, seed: int) -> Flat:
        if self.draws_on_device:
            try:
                return self._draw(seed, self.device.drawing())
            except TaskError:
                if not self.device.is_gpu:
                    raise
            # The code uses a generator of the CPU or an array of numpy. Inputs are drawn on the CPU, then moved.
            self.draws_on_device = False
            self.device.release_cache()
        return self._draw(seed, contextlib.nullcontext())

    def _draw(self, seed: int, place: contextlib.AbstractContextManager[Any]) -> Flat:
        with quiet(self.sink), task_errors(f"{self.source.name}: get_inputs() failed", self.filename):
            seed_everything(seed)
            with place:
                values = self.module.get_inputs()
            if not isinstance(values, (list, tuple)):
                raise TaskError(f"get_inputs() must return a list, not {type(values).__qualname__}")
            names = argument_names(self.module.Model.forward, len(values) + 1)[1:]
            flat = flatten_arguments(values, names)
            for name, tensor in flat.tensors.items():
                flat.tensors[name] = self.device.move(tensor)
            self.device.synchronize()
        storages: dict[int, str] = {}
        for name, tensor in flat.tensors.items():
            cast = precision_class.cast(tensor, self.precision)
            shared = cast.numel() > 0 and cast.untyped_storage().data_ptr() in storages
            storages.setdefault(cast.untyped_storage().data_ptr(), name)
            flat.tensors[name] = _exchangeable(cast, copied=shared)
        return flat

    def describe(self) -> dict[str, Any]:
        """The TaskDescription as include/kernelgen/core/task.hpp has it."""
        scalars = self.input_scalars + self.init_scalars
        lists = ("inputs", "parameters", "buffers", "attributes", "draws", "outputs")
        return {
            "name": self.source.name,
            "content_id": self.source.content_id,
            "level": self.level,
            "mode": self.mode,
            "randomness": self.randomness,
            "precision": self.precision,
            **{key: [spec.to_json() for spec in getattr(self, key)] for key in lists},
            "scalars": [scalar.to_json() for scalar in scalars],
            "mutated_inputs": list(self.mutated_inputs),
            "mutated_buffers": list(self.mutated_buffers),
            "labels": list(self.labels),
            "facts": self.facts or None,
        }


def _overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether two elements may share memory other than through expanded dimensions."""
    dims = sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size > 1 and stride != 0)
    reach = 0
    for stride, size in dims:
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _exchangeable(tensor: torch.Tensor, copied: bool) -> torch.Tensor:
    """An input in a form that can be prepared: no gradient, no self-overlap, no storage shared with another input."""
    tensor = tensor.detach()
    if _overlaps_itself(tensor):
        return tensor.clone(memory_format=torch.contiguous_format)
    return clone_with_strides(tensor) if copied else tensor


def _constructor_arguments(task: Task, seed: int) -> None:
    """Fills task.init from get_init_inputs(); a missing function means no arguments."""
    function = task.module.__dict__.get("get_init_inputs")
    if function is None:
        return
    with quiet(task.sink), task_errors(f"{task.source.name}: get_init_inputs() failed", task.filename):
        seed_everything(seed)
        values = function()
        if not isinstance(values, (list, tuple)):
            raise TaskError(f"get_init_inputs() must return a list, not {type(values).__qualname__}")
        names = argument_names(task.module.Model.__init__, len(values) + 1)[1:]
        task.init = flatten_arguments(values, names)
    task.init_scalars = task.init.scalars


def _guess_level(task: Task, module: nn.Module, trace: CallTrace) -> str:
    """The level of a task: from an override, a directory levelN in the path, or the number of operations in forward()."""
    if task.source.level != "unknown":
        return task.source.level
    match = re.search(r"(?:^|[/\\])level([1-4])(?:[/\\]|$)", task.source.path)
    if match:
        return _LEVELS[match.group(1)]
    networks = (nn.RNNBase, nn.MultiheadAttention, nn.Transformer, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    if any(isinstance(part, networks) for part in module.modules()):
        return "network"
    operations = len(trace.functions)
    return "single_operator" if operations <= 1 else "fusion" if operations <= 10 else "network"


#: Functions that give indices, and do not say which of equal elements comes first; and functions that take indices.
_TIES_OPEN = frozenset("topk sort argsort kthvalue median nanmedian mode cummax cummin unique".split())
_TAKES_INDICES = frozenset("gather take take_along_dim index_select index_add index_add_ scatter scatter_ scatter_add one_hot embedding".split())
_TAKES_INDICES |= {"__getitem__", "__setitem__", "index_put", "index_put_", "scatter_add_", "scatter_reduce"}


def _leaves_ties_open(functions: set[str], outputs: list[TensorSpec]) -> bool:
    """True if a function of forward() gives indices of elements of which equal ones may have any order, and these are used."""
    open_ones = {name for name in functions if name in _TIES_OPEN or "max_pool" in name and "indices" in name}
    integers = any(spec.dtype.startswith(("int", "uint")) for spec in outputs)
    return bool(open_ones) and (integers or not _TAKES_INDICES.isdisjoint(functions))


#: A kernel may use that this share of an input is zero.
_SPARSE_SHARE = 0.05


def _is_dense(tensor: torch.Tensor) -> bool:
    """False for an input of which a kernel need not read everything, or knows something: masks, zeros, a constant."""
    repeated = any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape))
    if tensor.dtype == torch.bool or tensor.numel() == 0 or repeated or tensor.numel() > 1 and bool((tensor == tensor.reshape(-1)[0]).all()):
        return False
    return int((tensor == 0).sum()) <= _SPARSE_SHARE * tensor.numel() or not tensor.is_floating_point()


def _facts(task: Task, observed: Observed, inputs: CallInputs) -> dict[str, Any]:
    given = [TensorSize(name, tensor.nbytes, _is_dense(tensor)) for name, tensor in inputs.tensors.items()]
    state = [TensorSize(spec.name, spec.elements * spec.itemsize) for spec in task.parameters]
    state += [TensorSize(spec.name, spec.elements * spec.itemsize, False) for spec in task.buffers + task.attributes]
    return facts_of(observed, given, state, [spec.elements * spec.itemsize for spec in task.outputs])


def _carries_state(reference: Reference, inputs: CallInputs, others: CallInputs, forward_seed: int) -> bool:
    """Whether calls that find what calls before them have left give other bits than first calls, or return the state itself."""
    first = {id(given): reference.run(given, forward_seed, trace=True) for given in (inputs, others)}
    if any(call.returns_state for call in first.values()):
        return True
    reference.restore()
    # Each after itself and after the other one: a running maximum rises in one order, and a counter always.
    for given in (inputs, others, others, inputs, others):
        later = reference.run(given, forward_seed, trace=True, restore=False)
        if not _same_answer(first[id(given)].outputs, later.outputs):
            return True
    return False


def _same_answer(one: Flat, other: Flat) -> bool:
    if (one.structure, one.scalars, one.tensors.keys()) != (other.structure, other.scalars, other.tensors.keys()):
        return False
    return all(same_bits(tensor, other.tensors[name]) for name, tensor in one.tensors.items())


def _probe(task: Task, seed: int) -> None:
    """Builds the reference and calls it: specs, mode, mutation, draws, level."""
    reference = task.build(seed)
    first = task._call_get_inputs(seed ^ 0x5DEECE66D)
    task.input_structure, task.inputs, task.input_scalars = first.structure, first.specs(), first.scalars
    inputs = CallInputs(first.structure, first.tensors)
    task.mode = "train" if reference.module.training else "eval"
    task.aliases = reference.aliases
    for role, target in (("parameter", task.parameters), ("buffer", task.buffers), ("attribute", task.attributes)):
        target.extend(entry.spec for entry in reference.state if entry.role == role)
    given = inputs.clone()
    observer = ReferenceTrace(given.tensors, {entry.name: entry.tensor for entry in reference.state})
    with task.device.watching_memory() as peak:
        result = reference.forward(given, seed + 1, trace=True, observer=observer)
    task.call_bytes = max(peak, default=0)
    task.mutated_inputs = [name for name, tensor in given.tensors.items() if not same_bits(tensor, inputs.tensors[name])]
    changed = reference.changed()
    task.mutated_state = [entry.name for entry in changed]
    task.mutated_buffers = [entry.name for entry in changed if entry.role == "buffer"]
    task.outputs, task.output_structure = result.outputs.specs(), result.outputs.structure
    task.output_scalars = result.outputs.scalars
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in result.outputs.tensors.values()}
    task.kept_bytes = max(0, sum(storages.values()) - sum(spec.elements * spec.itemsize for spec in task.outputs))
    task.facts = _facts(task, observer.observed, inputs)
    trace = result.trace
    task.draws = [spec_of(name, tensor) for name, tensor in result.named_draws().items()]
    task.randomness = "stochastic" if trace.stochastic else "traced" if trace.draws else "none"
    task.level = _guess_level(task, reference.module, trace)
    task.leaves_ties_open = _leaves_ties_open(trace.names, task.outputs)
    task.probe_seconds = result.seconds
    task.carries_state = bool(changed) and _carries_state(reference, inputs, task.make_inputs(seed ^ 0x2545F491), seed + 1)
    others = [entry.name for entry in changed if entry.role != "buffer"]
    if others:
        task.labels.append("forward() changes " + ", ".join(others[:4]))
    if task.randomness == "stochastic":
        task.labels.append("stochastic: forward() draws random numbers that cannot be handed over (live dropout)")
    if task.shrink:
        task.labels.append("shrunk: " + ", ".join(f"{name}={value}" for name, value in task.shrink))


def load_task(
    source: TaskSource,
    *,
    precision: str = "strict",
    shrink: Sequence[tuple[str, int]] = (),
    seed: int = 0,
    device: Device = CPU,
) -> Task:
    """Loads a task and calls its reference once. Raises TaskError with one line.

    `shrink` replaces integer constants at module top level before execution. `seed` is the secret that constructor
    arguments and the probe's tensors come from; it decides no value that is compared later. Modules and inputs live on
    `device`; constructor arguments stay on the CPU.
    """
    precision_class.cast_dtype(precision)
    sink = CappedText()
    shrink = [(str(name), int(value)) for name, value in shrink]
    module = load_module(source, shrink, sink)
    task = Task(source=source, precision=precision, shrink=shrink, module=module, sink=sink, device=device)
    _constructor_arguments(task, seed)
    _probe(task, seed)
    return task
