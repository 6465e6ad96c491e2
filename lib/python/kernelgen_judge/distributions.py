"""Input distributions: the task's own under a secret seed, and transforms that keep the properties the task relies on.

A transform keeps dtype, shape, strides, value set (integers, booleans and few-valued floats are left alone), exact zeros
and non-finite values, symmetry, row sums (probabilities), a modulus of one, and equality of inputs that are equal. It does
not keep sign, range or distinctness: that relu's input is never negative is an accident of torch.rand, and so is that no row is
zero or there twice. Where the reference does depend on that (log, a loss on probabilities), it raises or gives NaN, and
admission drops the transform.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Callable

import torch

from .arithmetic import all_finite, chunk_of, one_thread
from .task import CallInputs, Task
from .target import real_numbers
from .values import assign, clone_with_strides, empty_like_spec, same_bits, spec_of

OWN = "own"
#: The transform that makes ties.
REPEATS = "repeats"
_FEW = 16
_SAMPLE = 1 << 22
#: An offset at which the difference of two means of squares has lost its digits, and a mean has not; and the same for references
#: that lose too many themselves.
_FAR_DEVIATIONS, _NEAR_DEVIATIONS = 256.0, 20.0
#: Offsets at which exp() overflows in float32, and at which all of its results are zero.
_RANGE_DEVIATIONS, _OVERFLOW, _UNDERFLOW = 60.0, 100.0, 115.0


@dataclass(frozen=True)
class TensorFacts:
    """Facts about one input tensor that hold for both seeds."""

    name: str
    #: "free": any transform; "elementwise": only maps of single elements; "rows": only rearrangement within rows;
    #: "fixed": left as the task draws it.
    freedom: str = "free"
    why: str = ""
    zeros: bool = False
    nonfinite: bool = False
    symmetric: bool = False
    constant_row_sums: bool = False
    minimum: float = 0.0
    maximum: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0
    #: True for complex numbers; the numbers above are those of both parts together.
    complex: bool = False
    #: Name of an earlier input with the same contents, which is transformed in the same way.
    same_as: str = ""

    @staticmethod
    def from_json(data: dict[str, Any]) -> "TensorFacts":
        known = {item.name for item in fields(TensorFacts)}
        return TensorFacts(**{key: value for key, value in data.items() if key in known})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _is_symmetric(tensor: torch.Tensor) -> bool:
    square = tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] and tensor.shape[-1] > 1
    return square and torch.equal(tensor, tensor.transpose(-1, -2))


def _is_hermitian(tensor: torch.Tensor) -> bool:
    square = tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] and tensor.shape[-1] > 1
    return square and torch.equal(tensor, tensor.mH) and not torch.equal(tensor, tensor.mT)


def _has_unit_modulus(tensor: torch.Tensor) -> bool:
    """Whether all numbers are rotations."""
    return bool(((tensor.reshape(-1)[:_SAMPLE].abs() - 1).abs() <= 1e-4).all())


#: Relations between the two parts of complex numbers, which no transform keeps.
_COMPLEX_RELATIONS: dict[str, Callable[[torch.Tensor], bool]] = {
    "the numbers are rotations": _has_unit_modulus,
    "equal to its conjugate transpose": _is_hermitian,
}


def _has_constant_row_sums(tensor: torch.Tensor) -> bool:
    """Whether rows along the last dimension are non-negative and share one sum, as probabilities do."""
    if tensor.is_complex() or tensor.dim() == 0 or tensor.shape[-1] < 2 or bool((tensor < 0).any()):
        return False
    sums = _row_sums(tensor)
    precise = 1e-4 if tensor.dtype in (torch.float32, torch.float64) else 1e-2
    first = float(sums.reshape(-1)[0])
    # A single row always has a constant sum; only the sum 1 has a meaning.
    if sums.numel() == 1 and abs(first - 1.0) > precise:
        return False
    return first > 0 and bool(((sums - first).abs() <= precise * first).all())


def _row_sums(tensor: torch.Tensor) -> torch.Tensor:
    """Sums along the last dimension in float64; some rows at a time, because a device makes a float64 copy of them."""
    if tensor.device.type == "cpu" or tensor.numel() <= chunk_of(tensor):
        return tensor.sum(dim=-1, dtype=torch.float64)
    rows = tensor.reshape(-1, tensor.shape[-1])
    step = max(1, chunk_of(tensor) // rows.shape[1])
    return torch.cat([part.sum(dim=-1, dtype=torch.float64) for part in rows.split(step)])


def _few_valued(tensor: torch.Tensor) -> bool:
    if tensor.numel() < 4 * _FEW:
        return False
    sample = tensor.reshape(-1)[: 1 << 16]
    if sample.unique().numel() > _FEW:
        return False
    return tensor.reshape(-1)[:_SAMPLE].unique().numel() <= _FEW


def inspect_tensor(name: str, tensor: torch.Tensor, other: torch.Tensor) -> TensorFacts:
    """Facts from the same input under two seeds."""
    if tensor.numel() == 0:
        return TensorFacts(name, "fixed", "empty")
    if not (tensor.is_floating_point() or tensor.dtype in (torch.complex64, torch.complex128)):
        return TensorFacts(name, "fixed", "integers and booleans keep their value set")
    some = tensor if all_finite(tensor) else tensor[tensor.isfinite()]
    if some.numel() == 0:
        return TensorFacts(name, "fixed", "no finite value")
    count, some = some.numel(), real_numbers(some)
    double = some.reshape(-1)[:_SAMPLE].double()
    deviation = float(double.std()) if double.numel() > 1 else 0.0
    numbers = {
        "minimum": float(some.min()),
        "maximum": float(some.max()),
        "mean": float(double.mean()),
        "deviation": deviation,
        "zeros": bool((tensor == 0).any()),
        "nonfinite": count != tensor.numel(),
        "complex": tensor.is_complex(),
        "symmetric": _is_symmetric(tensor) and _is_symmetric(other),
        "constant_row_sums": _has_constant_row_sums(tensor) and _has_constant_row_sums(other),
    }
    if same_bits(tensor, other):
        return TensorFacts(name, "fixed", "the same under every seed", **numbers)
    if tensor.is_complex():
        why = next((why for why, holds in _COMPLEX_RELATIONS.items() if holds(tensor) and holds(other)), "")
        return TensorFacts(name, "fixed" if why else "elementwise" if numbers["symmetric"] else "free", why, **numbers)
    if _few_valued(tensor) and _few_valued(other):
        return TensorFacts(name, "fixed", f"at most {_FEW} different values", **numbers)
    if numbers["constant_row_sums"]:
        return TensorFacts(name, "rows", "rows share one sum", **numbers)
    if numbers["symmetric"]:
        return TensorFacts(name, "elementwise", "symmetric", **numbers)
    return TensorFacts(name, **numbers)


def inspect_inputs(first: CallInputs, second: CallInputs) -> list[TensorFacts]:
    """Facts of every input tensor, from two seeds."""
    with one_thread():
        return _inspect_all(first, second)


def _inspect_all(first: CallInputs, second: CallInputs) -> list[TensorFacts]:
    found: list[TensorFacts] = []
    for name, tensor in first.tensors.items():
        facts = inspect_tensor(name, tensor, second.tensors[name])
        for earlier in found:
            if facts.freedom != "fixed" and same_bits(first.tensors[earlier.name], tensor):
                facts = TensorFacts(**{**asdict(facts), "same_as": earlier.name})
                break
        found.append(facts)
    return found


_Transform = Callable[[torch.Tensor, TensorFacts, torch.Generator], torch.Tensor]


def _negate(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    return -x


def _zero_mean(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    return x - facts.mean


def _scale_up(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    return x * 5.0


def _scale_down(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    return x * 0.03


def _heavy_tails(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    """About one element in 128, at random positions, is multiplied by 8 to 24 and half of them change their sign."""
    flat = x.clone(memory_format=torch.contiguous_format).reshape(-1)
    count = max(1, flat.numel() // 128)
    device = generator.device
    where = torch.randint(flat.numel(), (count,), generator=generator, device=device)
    factor = torch.rand(count, generator=generator, device=device).mul_(16.0).add_(8.0)
    factor *= torch.randint(2, (count,), generator=generator, device=device) * 2 - 1
    flat[where] = x.reshape(-1)[where] * factor.to(x.dtype)
    return flat.view(x.shape)


def _row_scales(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    """Each slice along the first dimension gets a factor between 1/16 and 16."""
    factor = torch.exp2(torch.rand(x.shape[0], generator=generator, device=generator.device) * 8 - 4).to(x.dtype)
    return x * factor.view(-1, *([1] * (x.dim() - 1)))


def _permute(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    return x[..., torch.randperm(x.shape[-1], generator=generator, device=generator.device)]


def _sharpen(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    """Rows with the same sums, but most of the weight on few elements."""
    powered = x.double() ** 3
    sums = x.double().sum(dim=-1, keepdim=True)
    return (powered * (sums / powered.sum(dim=-1, keepdim=True))).to(x.dtype)


def _offset_by(deviations: float, least: float = 0.0) -> _Transform:
    """A transform that adds a number much larger than the values' differences."""

    def transform(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
        return x + math.copysign(max(abs(deviations) * facts.deviation, least), deviations)

    return transform


def _slices_offset_by(dim: int, deviations: float) -> _Transform:
    """A transform that adds another number, of either sign, to each slice along a dimension."""

    def transform(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
        device, count = generator.device, x.shape[dim]
        size = torch.rand(count, generator=generator, device=device).add_(1.0).mul_(0.5 * deviations * facts.deviation)
        size *= torch.randint(2, (count,), generator=generator, device=device) * 2 - 1
        return x + size.to(x.dtype).view([-1 if at == dim else 1 for at in range(x.dim())])

    return transform


def _zero_slices(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    """Every eighth slice along the first dimension, and along the second one, becomes zero; at least one, and never all."""
    x = x.clone(memory_format=torch.contiguous_format)
    for dim in range(min(2, x.dim())):
        size = x.shape[dim]
        if size > 1:
            x.index_fill_(dim, torch.randperm(size, generator=generator, device=generator.device)[: max(1, size // 8)], 0.0)
    return x


def _repeats(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    """Half of the slices along the first dimension equal another one; along the last one, a quarter equal the one before them and
    some another one."""
    for dim in {0, x.dim() - 1}:
        size, device = x.shape[dim], generator.device
        lots = torch.rand(size, generator=generator, device=device)
        other = torch.randint(size, (size,), generator=generator, device=device)
        places = torch.arange(size, device=device)
        if dim == x.dim() - 1:
            found = torch.where(lots < 0.25, (places - 1).clamp_min(0), torch.where(lots < 0.4, other, places))
        else:
            found = torch.where(lots < 0.5, other, places)
        # One at least, also where there are few.
        found[-1] = found[0]
        x = x.index_select(dim, found)
    return x


def _widen_to(size: float) -> _Transform:
    """A transform to values of both signs, most of which are about as large as `size`."""

    def transform(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
        return (x - facts.mean) * (size * max(1.0, 1.0 / facts.deviation))

    return transform


def _places(x: torch.Tensor, share: int, least: int, generator: torch.Generator) -> torch.Tensor:
    """Places in a tensor, one in `share`, at least so many where there are so many."""
    count = min(x.numel(), max(least, x.numel() // share))
    if x.numel() > _SAMPLE:
        # Two in one place are rare, and all are not worth a permutation of everything.
        return torch.randint(x.numel(), (count,), generator=generator, device=generator.device)
    return torch.randperm(x.numel(), generator=generator, device=generator.device)[:count]


def _spikes_of(size: float) -> _Transform:
    """A transform that puts a few values as large as `size` at random places: the sign alternates, so that there are always both."""

    def transform(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
        flat = x.clone(memory_format=torch.contiguous_format).reshape(-1)
        where = _places(x, 4096, 2, generator)
        values = torch.rand(where.numel(), generator=generator, device=generator.device).add_(1.0) * size * max(1.0, facts.deviation)
        values[1::2] *= -1
        flat[where] = values.to(x.dtype)
        return flat.view(x.shape)

    return transform


def _special(x: torch.Tensor, facts: TensorFacts, generator: torch.Generator) -> torch.Tensor:
    """NaN, infinities, zeros, subnormals and the largest numbers at random places."""
    flat = x.clone(memory_format=torch.contiguous_format).reshape(-1)
    info = torch.finfo(x.dtype)
    some = [math.nan, math.inf, -math.inf, info.max, -info.max, info.tiny / 8, -info.tiny / 8, -0.0]
    where = _places(x, 1024, len(some), generator)
    flat[where] = torch.tensor(some, dtype=x.dtype, device=x.device).repeat(-(-where.numel() // len(some)))[: where.numel()]
    return flat.view(x.shape)


@dataclass(frozen=True)
class _Rule:
    transform: _Transform
    freedoms: frozenset[str]
    applies: Callable[[torch.Size, TensorFacts], bool]


def _always(shape: torch.Size, facts: TensorFacts) -> bool:
    return True


def _varies(shape: torch.Size, facts: TensorFacts) -> bool:
    return facts.deviation > 0


def _varies_little(shape: torch.Size, facts: TensorFacts) -> bool:
    """True where an offset for the range of exp() is no smaller than what the task draws itself."""
    return 0 < facts.deviation < _OVERFLOW


def _has_slices(shape: torch.Size, facts: TensorFacts) -> bool:
    return len(shape) >= 2 and shape[0] > 1


def _has_varying_slices(shape: torch.Size, facts: TensorFacts) -> bool:
    return facts.deviation > 0 and _has_slices(shape, facts)


def _has_varying_channels(shape: torch.Size, facts: TensorFacts) -> bool:
    return facts.deviation > 0 and len(shape) >= 2 and shape[1] > 1


def _has_places(shape: torch.Size, facts: TensorFacts) -> bool:
    return len(shape) >= 1 and shape.numel() > 3


def _may_repeat(shape: torch.Size, facts: TensorFacts) -> bool:
    """True unless zeros, or values that are not finite, would move."""
    return _has_places(shape, facts) and not facts.zeros and not facts.nonfinite


def _is_real(shape: torch.Size, facts: TensorFacts) -> bool:
    """True for real numbers: arithmetic with complex ones that are not finite has no one result."""
    return not facts.complex


def _shifted(shape: torch.Size, facts: TensorFacts) -> bool:
    return abs(facts.mean) > 0.1 * facts.deviation and facts.deviation > 0


_FREE = frozenset({"free"})
_ELEMENTWISE = frozenset({"free", "elementwise"})
_ROWS = frozenset({"rows"})

#: Rules by transform, the most informative first, because admission may run out of time.
_RULES: dict[str, list[_Rule]] = {
    "zero_mean": [_Rule(_zero_mean, _ELEMENTWISE, _shifted), _Rule(_sharpen, _ROWS, _always)],
    "negate": [_Rule(_negate, _ELEMENTWISE, _always)],
    # Extremes. The first of each family that the reference can be judged on is enough.
    "spikes_1e8": [_Rule(_spikes_of(1e8), _FREE, _varies)],
    "spikes_1e4": [_Rule(_spikes_of(1e4), _FREE, _varies)],
    "spikes_100": [_Rule(_spikes_of(100.0), _FREE, _varies)],
    "offset_far": [_Rule(_offset_by(_RANGE_DEVIATIONS, _OVERFLOW), _ELEMENTWISE, _varies_little)],
    "offset_below": [_Rule(_offset_by(-_RANGE_DEVIATIONS, _UNDERFLOW), _ELEMENTWISE, _varies_little)],
    "offset": [_Rule(_offset_by(_FAR_DEVIATIONS), _ELEMENTWISE, _varies)],
    "offset_near": [_Rule(_offset_by(_NEAR_DEVIATIONS), _ELEMENTWISE, _varies)],
    "slices_far": [_Rule(_slices_offset_by(0, _FAR_DEVIATIONS), _FREE, _has_varying_slices)],
    "slices_near": [_Rule(_slices_offset_by(0, _NEAR_DEVIATIONS), _FREE, _has_varying_slices)],
    "channels_far": [_Rule(_slices_offset_by(1, _FAR_DEVIATIONS), _FREE, _has_varying_channels)],
    "channels_near": [_Rule(_slices_offset_by(1, _NEAR_DEVIATIONS), _FREE, _has_varying_channels)],
    "zero_slices": [_Rule(_zero_slices, _FREE, _has_places)],
    REPEATS: [_Rule(_repeats, _FREE, _may_repeat)],
    "wide_1e4": [_Rule(_widen_to(1e4), _ELEMENTWISE, _varies)],
    "wide_100": [_Rule(_widen_to(100.0), _ELEMENTWISE, _varies)],
    "heavy_tails": [
        _Rule(_heavy_tails, _FREE, lambda shape, facts: shape.numel() >= 128),
        _Rule(_sharpen, _ROWS, _always),
    ],
    "scale_up": [_Rule(_scale_up, _ELEMENTWISE, _always), _Rule(_permute, _ROWS, _always)],
    "row_scales": [_Rule(_row_scales, _FREE, _has_slices)],
    "scale_down": [_Rule(_scale_down, _ELEMENTWISE, _always)],
    "sharpen": [_Rule(_sharpen, _ROWS, _always)],
}
TRANSFORMS = tuple(_RULES)
#: Values that a task's own inputs seldom hold. Only where they do, a difference on them makes a candidate wrong.
SPECIAL = "special"
_RULES[SPECIAL] = [_Rule(_special, _FREE, _is_real)]
#: Distributions on which what sequential sums cost limits the error. On larger inputs, algorithms with equally good sums differ more
#: than sums do; and equal terms are rounded alike, so that their errors add up.
NOT_LARGER = frozenset({OWN, "zero_mean", "negate", "scale_down"})
_OFF_CENTRE = frozenset({"offset", "slices", "channels"})
_RANGES = frozenset({"spikes", "far", "below", "wide"})
_RANGE_SLACK, _OFF_CENTRE_SLACK = 32.0, 2.0


def family_of(name: str) -> str:
    """The family of extremes that a transform belongs to; "" for the others."""
    if name in ("offset_far", "offset_below"):
        return name.removeprefix("offset_")
    family = name.partition("_")[0]
    return family if family in _OFF_CENTRE | _RANGES else ""


def is_off_centre(name: str) -> bool:
    """True for transforms that put values far from zero, relative to their differences."""
    return family_of(name) in _OFF_CENTRE


def is_about_range(name: str) -> bool:
    """True for transforms that show overflow, and lost or cut values."""
    return family_of(name) in _RANGES


def slack_of(name: str) -> float:
    """How much looser the tolerance is on a distribution. Extremes that are there for overflow, cancellation of huge numbers and cut
    values make gross errors; algorithms that are equally good differ on them far more than on a task's own inputs. Far from zero, a
    running mean costs more than two passes, and far less than means of squares."""
    return _RANGE_SLACK if is_about_range(name) else _OFF_CENTRE_SLACK if is_off_centre(name) else 1.0


def has_special_probe(task: Task, facts: list[TensorFacts]) -> bool:
    """True if special values can be put into an input."""
    shapes = {spec.name: torch.Size(spec.shape) for spec in task.inputs}
    return any(_rule_for(SPECIAL, shapes[item.name], item) for item in facts)


def _rule_for(name: str, shape: torch.Size, facts: TensorFacts) -> _Rule | None:
    fitting = (rule for rule in _RULES[name] if facts.freedom in rule.freedoms and rule.applies(shape, facts))
    return next(fitting, None)


def applicable(task: Task, facts: list[TensorFacts]) -> list[str]:
    """Names of the transforms that change at least one input, the most informative first."""
    shapes = {spec.name: torch.Size(spec.shape) for spec in task.inputs}
    names = [name for name in TRANSFORMS if any(_rule_for(name, shapes[item.name], item) for item in facts)]
    # "sharpen" counts on its own only if no other transform applies.
    return names if names == ["sharpen"] else [name for name in names if name != "sharpen"]


def _generator(seed: int, name: str, tensor: str, device: torch.device) -> torch.Generator:
    digest = hashlib.sha256(f"{seed}/{name}/{tensor}".encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "little") >> 1)


def transform_tensor(name: str, tensor: torch.Tensor, facts: TensorFacts, seed: int) -> torch.Tensor:
    """The transformed tensor, with equal strides; the tensor itself where the transform does not apply."""
    rule = _rule_for(name, tensor.shape, facts)
    if rule is None:
        return tensor
    work = tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
    generator = _generator(seed, name, facts.same_as or facts.name, tensor.device)
    if tensor.is_complex():
        # At the same places of both parts.
        state = generator.get_state()
        real = rule.transform(work.real.contiguous(), facts, generator)
        value = torch.complex(real, rule.transform(work.imag.contiguous(), facts, generator.set_state(state)))
    else:
        value = rule.transform(work, facts, generator)
    if family_of(name) and work.dtype != tensor.dtype:
        value = value.clamp(-torch.finfo(tensor.dtype).max / 16, torch.finfo(tensor.dtype).max / 16)
    value = value.to(tensor.dtype)
    if facts.zeros:
        value = torch.where(tensor == 0, tensor, value)
    if facts.nonfinite:
        value = torch.where(tensor.isfinite(), value, tensor)
    if tensor.is_contiguous() and value.is_contiguous():
        return value
    result = empty_like_spec(spec_of(facts.name, tensor), tensor.device)
    assign(result, value)
    return result


def make_inputs(task: Task, facts: list[TensorFacts], distribution: str, seed: int) -> CallInputs:
    """Inputs of a distribution under a seed. Raises TaskError where get_inputs() does, KeyError for an unknown name."""
    inputs = task.make_inputs(seed)
    if distribution == OWN:
        return inputs
    if distribution not in _RULES:
        raise KeyError(distribution)
    with one_thread():
        changed = {item.name: transform_tensor(distribution, inputs.tensors[item.name], item, seed) for item in facts}
    return inputs.replace(changed)


def clone_inputs(inputs: CallInputs) -> CallInputs:
    """A deep copy with equal strides."""
    return CallInputs(inputs.structure, {name: clone_with_strides(value) for name, value in inputs.tensors.items()})
