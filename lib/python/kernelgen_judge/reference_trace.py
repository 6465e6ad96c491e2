"""Observes the operations of one call of a reference: torch functions with their shapes, and below them the operations of ATen.

    with ReferenceTrace(inputs, state) as trace:
        result = module(*arguments)
    trace.finish(result)
    trace.observed.product_flops

Only shapes and names are kept, no tensors. What the call computes is the same as without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from .recurrence_trace import RecurrenceTrace
from .rounding import DispatchMode
from .task_facts import Observed, Operation, RecurrentCall, convolution_flops, product_flops

#: Operations of one call that are kept.
_MAX_CALLS = 1 << 16
_LAYERS = {"gru": "gru", "lstm": "lstm", "rnn_tanh": "rnn", "rnn_relu": "rnn"}
_CELLS = {"gru_cell": "gru", "lstm_cell": "lstm", "rnn_tanh_cell": "rnn", "rnn_relu_cell": "rnn"}
#: Operations of ATen that compute nothing.
_FREE = frozenset(
    "view _unsafe_view reshape expand t transpose permute select slice unbind split split_with_sizes unsafe_split squeeze unsqueeze alias "
    "clone copy_ detach empty empty_like zeros ones full as_strided unfold lift_fresh _to_copy stack cat empty_strided".split()
)


def _tensors(values: Any) -> list[torch.Tensor]:
    """The tensors among arguments or results, in lists and tuples, too."""
    found: list[torch.Tensor] = []
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


def _shapes(tensors: Iterable[torch.Tensor]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(tensor.shape) for tensor in tensors)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


class _Dispatch(DispatchMode):
    """Hands every operation of ATen to the trace."""

    def __init__(self, trace: "ReferenceTrace"):
        super().__init__()
        self._trace = trace

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self._trace.note_aten(func.overloadpacket.__name__, args, kwargs or {}, result)
        return result


class ReferenceTrace(TorchFunctionMode):
    """Observes one call. `inputs` and `state`: the tensors that the call reads, by name."""

    def __init__(self, inputs: dict[str, torch.Tensor], state: dict[str, torch.Tensor]):
        super().__init__()
        self.observed = Observed()
        self._recurrence = RecurrenceTrace()
        self._dispatch = _Dispatch(self)
        self._inputs = {_storage(tensor): (name, tensor.numel()) for name, tensor in inputs.items()}
        self._state = {_storage(tensor): name for name, tensor in state.items()}
        self._cells: dict[int, tuple[str, int]] = {}

    def __enter__(self) -> "ReferenceTrace":
        super().__enter__()
        self._dispatch.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._dispatch.__exit__(*exception)
        super().__exit__(*exception)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = getattr(func, "__name__", ""), kwargs or {}
        if name in _LAYERS or name in _CELLS:
            # Its own steps are not observed: they are one operation, and thousands for ATen.
            with _disable_current_modes():
                result = func(*args, **kwargs)
        else:
            result = func(*args, **kwargs)
        # Another mode around this one must not see what is asked of the tensors here.
        with torch._C.DisableTorchFunction():
            if name in _LAYERS or name in _CELLS:
                self._note_layer(name, args, result)
            self._note_function(name, args, kwargs, result)
        return result

    def _note_function(self, name: str, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        outputs = _tensors(result)
        operands = _tensors([args, list(kwargs.values())])
        if name == "add_" and operands[0].dim() == 0 and _storage(operands[0]) in self._state:
            # A counter of calls, as BatchNorm has it.
            return
        self._read(operands if outputs else [])
        if len(self.observed.operations) == _MAX_CALLS:
            self.observed.unlisted += 1
            return
        dtype = str(outputs[0].dtype).removeprefix("torch.") if outputs else ""
        reads_state = any(_storage(tensor) in self._state for tensor in operands)
        self.observed.operations.append(Operation(name, _shapes(operands), _shapes(outputs), dtype, reads_state))

    def _read(self, operands: list[torch.Tensor]) -> None:
        for storage in map(_storage, operands):
            if storage in self._state:
                self.observed.read.add(self._state[storage])
            elif storage in self._inputs:
                self.observed.read.add(self._inputs[storage][0])

    # -- operations of ATen ---------------------------------------------------------------------------------------

    def note_aten(self, name: str, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        tensors, outputs = _tensors([args, list(kwargs.values())]), _tensors(result)
        self._count(name, args, tensors, outputs)
        self._recurrence.observe(name, [tensor for tensor in tensors if _storage(tensor) not in self._state], args, outputs)

    def _count(self, name: str, args: Any, tensors: list[torch.Tensor], outputs: list[torch.Tensor]) -> None:
        if not outputs or not tensors or name in _FREE:
            return
        shapes, output = list(_shapes(tensors)), tuple(outputs[0].shape)
        if "convolution" in name:
            transposed = bool(args[6]) if name == "convolution" and len(args) > 6 else "transpose" in name
            self.observed.product_flops += convolution_flops(shapes, output, transposed)
            return
        flops = product_flops(name, shapes, output)
        if flops is not None:
            self.observed.product_flops += flops
        else:
            self.observed.other_flops += max(tensors[0].numel(), outputs[0].numel())

    # -- recurrent layers -----------------------------------------------------------------------------------------

    def _note_layer(self, name: str, args: Any, result: Any) -> None:
        if name in _CELLS:
            self._note_cell(name, args, result)
            return
        # The second argument of a packed sequence is its batch sizes: torch.gru(data, batch_sizes, hx, weights, ...).
        packed = isinstance(args[1], torch.Tensor) and not args[1].is_floating_point()
        data, weights = args[0], _tensors(args[3] if packed or isinstance(args[2], bool) else args[2])
        layers, bidirectional = int(args[5] if packed else args[4]), bool(args[8] if packed else args[7])
        first = not packed and bool(args[8])
        groups = layers * (2 if bidirectional else 1)
        matrices = [[t for t in weights[i * len(weights) // groups : (i + 1) * len(weights) // groups] if t.dim() == 2] for i in range(groups)]
        call = RecurrentCall(
            kind=_LAYERS[name],
            layers=layers,
            directions=2 if bidirectional else 1,
            steps=int(args[1].numel()) if packed else int(data.shape[1 if first and data.dim() == 3 else 0]),
            hidden_size=int(matrices[0][1].shape[1]),
            rows=data.numel() // max(1, int(data.shape[-1])),
            weights=[sum(matrix.numel() for matrix in group) for group in matrices],
            weight_bytes=sum(matrix.nbytes for group in matrices for matrix in group),
            input=self._whole_input(data),
        )
        self.observed.recurrent.append(call)
        self.observed.product_flops += call.flops
        outputs = _tensors(result)
        self._recurrence.layer(outputs[0], outputs[1:], call.steps)

    def _whole_input(self, data: torch.Tensor) -> str:
        """The name of the input that the tensor is, unchanged."""
        name, elements = self._inputs.get(_storage(data), ("", 0))
        return name if elements == data.numel() else ""

    def _note_cell(self, name: str, args: Any, result: Any) -> None:
        matrices = [tensor for tensor in _tensors(args) if tensor.dim() == 2 and _storage(tensor) in self._state]
        operands = [tensor for tensor in _tensors(args) if _storage(tensor) not in self._state]
        hidden = int(operands[-1].shape[-1])
        self.observed.product_flops += 2 * (operands[0].numel() // operands[0].shape[-1]) * sum(matrix.numel() for matrix in matrices)
        if matrices:
            self._cells[_storage(matrices[0])] = (_CELLS[name], hidden)
        self._recurrence.observe(name, operands, (), _tensors(result))

    # -- the end --------------------------------------------------------------------------------------------------

    def finish(self, result: Any) -> None:
        """Completes what was observed, given what the call returned."""
        observed = self.observed
        observed.loop_steps = self._recurrence.steps
        observed.returns = self._recurrence.returned(_tensors(list(result.values()) if isinstance(result, dict) else result))
        if self._cells and observed.loop_steps:
            kind, hidden = next(iter(self._cells.values()))
            observed.cells = (kind, len(self._cells), hidden)
