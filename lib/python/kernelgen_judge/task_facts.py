"""Facts about a reference's work, from the operations of one call: pure functions on plain data.

`reference_trace.py` observes the call. FLOPs are counted by these rules: two for each multiply-add of a matrix product, a
convolution, attention or a recurrent layer (`product_flops`); one for each element of the larger of input and output for every
other operation that computes (`other_flops`). Views and copies count nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]

#: More different operations are counted and not listed; a call with more tensors is listed without the rest.
MAX_OPERATIONS, MAX_TENSORS = 64, 8

_PRODUCTS = frozenset(
    "linear bilinear matmul mm bmm mv dot addmm addmv addbmm baddbmm einsum tensordot chain_matmul multi_dot inner outer "
    "__matmul__ __rmatmul__".split()
)
_ATTENTION = frozenset("scaled_dot_product_attention multi_head_attention_forward".split())
_SCANS = frozenset("cumsum cumprod cummax cummin logcumsumexp cumsum_ cumprod_".split())
_NORMALIZATIONS = frozenset("layer_norm group_norm batch_norm instance_norm rms_norm local_response_norm normalize".split())
_LOSSES = frozenset("cross_entropy binary_cross_entropy binary_cross_entropy_with_logits kl_div cosine_similarity".split())
_REDUCTIONS = frozenset(
    "softmax log_softmax softmin logsumexp sum mean max min amax amin aminmax argmax argmin prod var std var_mean std_mean "
    "median nansum nanmean count_nonzero norm vector_norm matrix_norm all any".split()
)
_CONVOLUTIONS = ("conv", "conv_transpose")
_POOLINGS = ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool")
#: Between the two products of attention: softmax as a rule, and what is used in its place.
_ATTENTION_WEIGHTS = frozenset("softmax relu".split())
#: Functions that give each element of their result from one element of each operand, and drop no element.
_ELEMENTWISE = frozenset(
    "relu leaky_relu sigmoid tanh gelu selu elu celu relu6 hardsigmoid hardtanh hardswish softplus softsign silu mish logsigmoid exp "
    "log sqrt rsqrt pow square abs add mul sub rsub div true_divide neg clamp erf sin cos dropout reciprocal gt lt ge le".split()
)
#: Functions that compute nothing and keep every element.
_VIEWS = frozenset(
    "dim size numel stride transpose permute t view reshape flatten unflatten unsqueeze squeeze contiguous movedim swapaxes float to "
    "type type_as detach clone view_as reshape_as is_contiguous is_floating_point __get__ __len__ _set_grad_enabled".split()
)


def _stem(name: str) -> str:
    """"conv" for "conv2d": a name without its dimension."""
    for dimension in ("1d", "2d", "3d"):
        head, found, _ = name.partition(dimension)
        if found:
            return head
    return name


def _out_of_place(name: str) -> str:
    """"add" for "add_", "__get__" as it is."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def family_of(name: str) -> str | None:
    """The family of a torch function by its name; None for elementwise functions, views and unknown ones."""
    stem = _stem(name)
    if name in _ATTENTION:
        return "attention"
    if stem in _CONVOLUTIONS and stem != name or name in ("convolution", "_convolution"):
        return "convolution"
    if name in _PRODUCTS:
        return "gemm"
    if name in _SCANS:
        return "scan"
    if name in _NORMALIZATIONS:
        return "normalization"
    if name in _LOSSES or name.endswith("_loss"):
        return "loss"
    if name in _REDUCTIONS:
        return "reduction"
    if stem in _POOLINGS and stem != name:
        return "pooling"
    return None


@dataclass(frozen=True)
class Operation:
    """One call of a torch function."""

    name: str
    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()
    dtype: str = ""
    #: True if an operand is a weight or a buffer of the module.
    reads_state: bool = False

    @property
    def computes(self) -> bool:
        """False for views, copies and accessors."""
        if self.name in _PRODUCTS:
            return True
        return bool(self.outputs) and not self.name.startswith("__") and _out_of_place(self.name) not in _VIEWS


@dataclass
class RecurrentCall:
    """One call of a recurrent layer of torch.nn, or one cell with all its calls."""

    kind: str
    layers: int
    directions: int
    steps: int
    hidden_size: int
    #: Rows that go through the layers: steps times batch.
    rows: int
    #: Elements of the matrices of each layer and direction, in order.
    weights: list[int]
    weight_bytes: int
    #: The input of the task that the call reads unchanged; "" if there is none.
    input: str = ""

    @property
    def flops(self) -> int:
        return 2 * self.rows * sum(self.weights)

    @property
    def least_flops(self) -> int:
        """Without the backward direction of the last layer, of which a kernel that returns the last step needs one step."""
        weights = self.weights[:-1] if self.directions == 2 else self.weights
        return 2 * self.rows * sum(weights)


@dataclass
class Observed:
    """What one call of the reference did."""

    operations: list[Operation] = field(default_factory=list)
    #: Operations beyond those that are kept.
    unlisted: int = 0
    product_flops: int = 0
    other_flops: int = 0
    recurrent: list[RecurrentCall] = field(default_factory=list)
    #: The kind of the cells that a loop calls, their number and hidden size: ("gru", 2, 96).
    cells: tuple[str, int, int] | None = None
    #: Steps of the longest loop that carries state; 0 if there is none.
    loop_steps: int = 0
    #: "full_sequence", "final_state_only", "other", or None where this is not known.
    returns: str | None = None
    #: Names of the inputs and of the tensors of the module that an operation read.
    read: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class TensorSize:
    """An input, or a tensor of the module."""

    name: str
    nbytes: int
    #: False if a kernel need not read everything of it: masks, many zeros, buffers that the reference only updates.
    is_dense: bool = True


def _elements(shape: Shape) -> int:
    return math.prod(shape)


def product_flops(name: str, inputs: list[Shape], output: Shape) -> int | None:
    """FLOPs of an operation of ATen that is made of multiply-adds; None for any other."""
    if name in ("mm", "bmm", "mv", "dot"):
        return 2 * _elements(output) * inputs[0][-1]
    if name in ("addmm", "baddbmm", "addmv"):
        return 2 * _elements(output) * inputs[1][-1]
    if name == "addbmm":
        return 2 * _elements(output) * inputs[1][0] * inputs[1][-1]
    if name == "_trilinear":
        return 2 * _elements(inputs[0]) * inputs[1][-1]
    if "scaled_dot_product" in name or name == "_flash_attention_forward":
        queries, keys, values = inputs[:3]
        return 2 * _elements(queries) * keys[-2] + 2 * _elements(queries[:-1]) * keys[-2] * values[-1]
    return None


def convolution_flops(inputs: list[Shape], output: Shape, transposed: bool) -> int:
    """FLOPs of a convolution: every output element, or input element of a transposed one, meets one filter of the weight."""
    made = inputs[0] if transposed else output
    return 2 * _elements(made) * _elements(inputs[1][1:])


def group_operations(operations: list[Operation]) -> tuple[list[dict[str, Any]], int]:
    """The operations that compute, equal ones counted together, in the order of their first call; and how many are not listed."""
    counts = Counter(operation for operation in operations if operation.computes)
    listed = list(counts.items())[:MAX_OPERATIONS]
    rows = [
        {
            "name": operation.name[:80],
            "count": count,
            "inputs": [list(shape) for shape in operation.inputs[:MAX_TENSORS]],
            "outputs": [list(shape) for shape in operation.outputs[:MAX_TENSORS]],
            "dtype": operation.dtype,
        }
        for operation, count in listed
    ]
    return rows, sum(counts.values()) - sum(count for _, count in listed)


def has_written_attention(operations: list[Operation]) -> bool:
    """True for two products of activations, the second of which multiplies by the softmax of the first."""
    scores: set[Shape] = set()
    weighted: set[Shape] = set()
    for operation in operations:
        if family_of(operation.name) == "gemm" and not operation.reads_state:
            if weighted.intersection(operation.inputs):
                return True
            scores.update(operation.outputs)
        elif operation.name in _ATTENTION_WEIGHTS:
            weighted.update(scores.intersection(operation.inputs))
    return False


def families_of(operations: list[Operation]) -> list[str]:
    """The families of a call's operations, by name; none if it has elementwise functions only."""
    names = {operation.name for operation in operations}
    found = [family for family in map(family_of, names) if family]
    if has_written_attention(operations):
        found.append("attention")
    # A normalization, written out.
    if names & {"sqrt", "rsqrt"} and names & {"mean", "var"}:
        found.append("normalization")
    return sorted(set(found))


def recurrence_of(observed: Observed) -> dict[str, Any] | None:
    """The recurrence: its layers of torch.nn if there are any, else the loop that carries state."""
    calls = observed.recurrent
    if calls:
        return {
            "kind": calls[0].kind,
            "layers": sum(call.layers for call in calls),
            "directions": max(call.directions for call in calls),
            "steps": max(call.steps for call in calls),
            "hidden_size": calls[0].hidden_size,
            "returns": observed.returns,
        }
    if observed.loop_steps:
        kind, layers, hidden = observed.cells or ("loop", 1, None)
        return {
            "kind": kind,
            "layers": layers,
            "directions": 1,
            "steps": observed.loop_steps,
            "hidden_size": hidden,
            "returns": observed.returns,
        }
    return None


def _single_layer(observed: Observed) -> RecurrentCall | None:
    """The only recurrence, if it reads an input of the task."""
    calls = observed.recurrent
    return calls[0] if len(calls) == 1 and calls[0].input and not observed.loop_steps and not observed.cells else None


def _known(operations: list[Operation]) -> bool:
    """True if every operation uses all elements of its operands."""
    return all(
        _out_of_place(operation.name) in _ELEMENTWISE | _VIEWS
        or family_of(operation.name) in ("gemm", "convolution", "reduction", "normalization", "loss", "scan")
        for operation in operations
    )


def least_flops(observed: Observed, inputs: list[TensorSize], outputs: int) -> int | None:
    """FLOPs that no kernel can save: of the only recurrent layer, or of the only product of dense inputs of which all results are
    returned. None where they are not known."""
    layer = _single_layer(observed)
    if layer:
        return layer.least_flops
    families = [family_of(operation.name) for operation in observed.operations]
    single = families.count("gemm") == 1 and set(families) <= {"gemm", None}
    dense = all(tensor.is_dense for tensor in inputs)
    if not single or not dense or outputs != 1 or observed.recurrent or not _known(observed.operations):
        return None
    return observed.product_flops


def least_read_bytes(observed: Observed, inputs: list[TensorSize], state: list[TensorSize]) -> int | None:
    """Bytes of inputs and weights that every kernel must read; None where they are not known. It is rather too few."""
    layer = _single_layer(observed)
    if layer:
        return layer.weight_bytes + sum(tensor.nbytes for tensor in inputs if tensor.name == layer.input)
    families = {family_of(operation.name) for operation in observed.operations}
    if observed.unlisted or observed.recurrent or observed.loop_steps or not _known(observed.operations):
        return None
    if {"gemm", "convolution"} <= families or not all(tensor.is_dense for tensor in inputs):
        return None
    # The strides of a convolution may leave inputs out.
    counted = state if "convolution" in families else inputs + state
    return sum(tensor.nbytes for tensor in counted if tensor.is_dense and tensor.name in observed.read)


def facts_of(observed: Observed, inputs: list[TensorSize], state: list[TensorSize], outputs: list[int]) -> dict[str, Any]:
    """The TaskFacts of include/kernelgen/core/task.hpp. `outputs`: their bytes."""
    listed, more = group_operations(observed.operations)
    return {
        "operations": listed,
        "unlisted_operations": more + observed.unlisted,
        "product_flops": observed.product_flops,
        "other_flops": observed.other_flops,
        "input_bytes": sum(tensor.nbytes for tensor in inputs),
        "state_bytes": sum(tensor.nbytes for tensor in state),
        "output_bytes": sum(outputs),
        "families": families_of(observed.operations),
        "recurrence": recurrence_of(observed),
        "least_flops": least_flops(observed, inputs, len(outputs)),
        "least_read_bytes": least_read_bytes(observed, inputs, state),
    }
