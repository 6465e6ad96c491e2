#!/usr/bin/env python3
"""How many answers of less precision the judge refuses in class strict, and how many honest ones it accepts.

Every task is admitted as the judge does it. Then its reference runs in float32 once more in each of many ways: honest ones with
another order of summation or another formula for a function, and downgrades with fewer bits or less work. Each answer is compared on
every admitted distribution; one refusal is enough. Rules with a constant multiple of the reference's
own error are evaluated beside it. The tables are those of docs/measurements/tolerances.md.

    PYTHONPATH=lib/python bench/tolerances.py [--only NAME] [--details]
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib" / "python"))

from kernelgen_judge.admission import admit  # noqa: E402
from kernelgen_judge.check import ROUNDING_LOTS  # noqa: E402
from kernelgen_judge.compare import Expected  # noqa: E402
from kernelgen_judge.distributions import is_about_range, slack_of  # noqa: E402
from kernelgen_judge.oracle import Oracle, OracleBudget  # noqa: E402
from kernelgen_judge.rounding import COMPOSED  # noqa: E402
from kernelgen_judge.task import CallInputs, CallResult, Reference, Task, TaskSource, load_task  # noqa: E402

aten = torch.ops.aten

# -- tasks ------------------------------------------------------------------------------------------------------------

_HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def _text(init: str, forward: str, inputs: str, arguments: str = "x") -> str:
    return (
        f"{_HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
        f"    def forward(self, {arguments}):\n        {forward}\ndef get_inputs():\n    return {inputs}\ndef get_init_inputs():\n    return []\n"
    )


def _own_tasks() -> dict[str, str]:
    image = "[torch.randn(4, 32, 24, 24)]"
    tasks = {
        f"matmul K={k} {kind}": _text("pass", "return a @ b", f"[torch.{kind}(32, {k}), torch.{kind}({k}, 32)]", "a, b")
        for k in (64, 512, 4096, 65536)
        for kind in ("rand", "randn")
    }
    for k in (128, 1024, 8192):
        tasks[f"linear K={k}"] = _text(f"self.f = nn.Linear({k}, 64)", "return self.f(x)", f"[torch.rand(32, {k})]")
    for kind in ("rand", "randn"):
        tasks[f"sum K=65536 {kind}"] = _text("pass", "return x.sum(1)", f"[torch.{kind}(128, 65536)]")
        tasks[f"mean K=4096 {kind}"] = _text("pass", "return x.mean(1)", f"[torch.{kind}(256, 4096)]")
        tasks[f"layer norm {kind}"] = _text("self.f = nn.LayerNorm(1024)", "return self.f(x)", f"[torch.{kind}(64, 1024)]")
    tasks |= {
        "linear, gelu": _text("self.f = nn.Linear(512, 256)", "return F.gelu(self.f(x))", "[torch.rand(64, 512)]"),
        "linear, softmax": _text("self.f = nn.Linear(512, 256)", "return torch.softmax(self.f(x), -1)", "[torch.rand(64, 512)]"),
        "linear, logsumexp": _text("self.f = nn.Linear(512, 256)", "return torch.logsumexp(self.f(x), -1)", "[torch.rand(128, 512)]"),
        "three layers": _text(
            "self.f = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 64))",
            "return self.f(x)", "[torch.rand(64, 256)]"),
        "softmax": _text("pass", "return torch.softmax(x, -1)", "[torch.randn(64, 4096)]"),
        "log softmax": _text("pass", "return torch.log_softmax(x, -1)", "[torch.randn(64, 4096)]"),
        "gelu": _text("pass", "return F.gelu(x)", "[torch.randn(128, 512)]"),
        "tanh": _text("pass", "return torch.tanh(x)", "[torch.randn(128, 512)]"),
        "sigmoid": _text("pass", "return torch.sigmoid(x)", "[torch.randn(128, 512)]"),
        "swish": _text("pass", "return x * torch.sigmoid(x)", "[torch.rand(128, 512)]"),
        "softplus": _text("pass", "return F.softplus(x)", "[torch.randn(128, 512)]"),
        "cumsum": _text("pass", "return torch.cumsum(x, 1)", "[torch.rand(64, 2048)]"),
        "group norm": _text("self.f = nn.GroupNorm(8, 32)", "return self.f(x)", image),
        "batch norm": _text("self.f = nn.BatchNorm2d(32)", "return self.f(x)", image),
        "rms norm": _text("pass", "return x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5)", image),
        "l2 normalize": _text("pass", "return x / torch.norm(x, p=2, dim=1, keepdim=True)", "[torch.rand(64, 4096)]"),
        "conv 3x3": _text("self.f = nn.Conv2d(32, 32, 3, padding=1)", "return self.f(x)", image),
        "conv, batch norm, relu": _text(
            "self.f = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())", "return self.f(x)", image),
        "conv, group norm, mean": _text(
            "self.f = nn.Sequential(nn.Conv2d(32, 32, 3), nn.GroupNorm(8, 32))", "return torch.tanh(self.f(x)).mean((2, 3))", image),
        "conv transpose": _text("self.f = nn.ConvTranspose2d(32, 16, 4, stride=2)", "return self.f(x)", image),
        "conv 1d": _text("self.f = nn.Conv1d(64, 64, 5)", "return self.f(x)", "[torch.rand(8, 64, 128)]"),
        "conv 3d": _text("self.f = nn.Conv3d(8, 16, 3)", "return self.f(x)", "[torch.rand(2, 8, 12, 12, 12)]"),
        "deep conv": _text(
            "self.f = nn.Sequential(*[m for _ in range(6) for m in (nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())])",
            "return self.f(x)", image),
        "residual conv": _text(
            "self.f, self.g = nn.Conv2d(32, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)",
            "return F.relu(x + self.g(F.relu(self.f(x))))", image),
        "attention": _text(
            "self.f = nn.Linear(128, 384)",
            "q, k, v = self.f(x).split(128, -1); return torch.softmax(q @ k.transpose(1, 2) / 128**0.5, -1) @ v",
            "[torch.randn(4, 64, 128)]"),
        "transformer layer": _text(
            "self.f = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)", "return self.f(x)", "[torch.randn(4, 32, 128)]"),
        "recurrence": _text(
            "self.f, self.g = nn.Linear(64, 128), nn.Linear(128, 128)",
            "h = torch.zeros(8, 128, dtype=x.dtype)\n        for t in range(x.shape[0]): h = torch.tanh(self.f(x[t]) + self.g(h))\n        return h",
            "[torch.randn(64, 8, 64)]"),
        "gru": _text("self.f = nn.GRU(64, 128, 2)", "return self.f(x)[0]", "[torch.randn(32, 8, 64)]"),
        "lstm": _text("self.f = nn.LSTM(64, 128, 2)", "return self.f(x)[0]", "[torch.randn(32, 8, 64)]"),
        "mse of products": _text("self.f = nn.Linear(512, 256)", "return (self.f(x) - y).square().mean()", "[torch.rand(64, 512), torch.rand(64, 256)]", "x, y"),
    }  # fmt: skip
    return tasks


# -- ways to compute --------------------------------------------------------------------------------------------------


def rounded(x: torch.Tensor, bits: int) -> torch.Tensor:
    """float32 with this many bits of mantissa, ties to even."""
    if x.dtype != torch.float32:
        return x
    drop = 23 - bits
    raw = x.contiguous().view(torch.int32)
    raw = (raw + ((1 << (drop - 1)) - 1) + ((raw >> drop) & 1)) & ~((1 << drop) - 1)
    return torch.where(x.isfinite(), raw.view(torch.float32), x)


class Intermediates(TorchDispatchMode):
    """Rounds the result of every operation."""

    def __init__(self, bits: int):
        super().__init__()
        self.bits = bits

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        returns = func._schema.returns
        if torch.is_tensor(result) and result.dtype == torch.float32 and not (returns and returns[0].alias_info):
            return rounded(result, self.bits)
        return result


_PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1, "convolution": 0}


class Operands(TorchDispatchMode):
    """Rounds the operands of products and convolutions."""

    def __init__(self, bits: int):
        super().__init__()
        self.bits = bits

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        first = _PRODUCTS.get(func.overloadpacket.__name__)
        if first is not None:
            args = [rounded(a, self.bits) if i in (first, first + 1) else a for i, a in enumerate(args)]
        return func(*args, **(kwargs or {}))


class Replaced(TorchDispatchMode):
    """Computes sums, products and functions in another way; norms and softmax are taken apart first."""

    def __init__(self, product: Callable | None, total: Callable, functions: dict[str, Callable], convolution: Callable | None = None):
        super().__init__()
        self.product, self.total, self.functions, self.convolution = product, total, functions, convolution
        self.composed = COMPOSED if functions or total is not pairwise else {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        if name in self.functions:
            return self.functions[name](*args, **kwargs)
        if name in self.composed:
            with self:
                return self.composed[name](*args, **kwargs)
        if self.product is not None and name in ("mm", "bmm"):
            return self.product(args[0], args[1])
        if self.product is not None and name in ("addmm", "baddbmm") and not kwargs:
            return args[0] + self.product(args[1], args[2])
        if name in ("sum", "mean") and args[0].dtype == torch.float32:
            return self._sum(name, *args, **kwargs)
        if name == "convolution":
            return (self.convolution or by_channels(self.total))(*args)
        return func(*args, **kwargs)

    def _sum(self, name, x, dim=None, keepdim=False, dtype=None):
        dims = list(range(x.dim())) if dim is None or dim == [] else [d % x.dim() for d in ([dim] if isinstance(dim, int) else dim)]
        rest = [d for d in range(x.dim()) if d not in dims]
        flat = x.permute(rest + dims).reshape([x.shape[d] for d in rest] + [-1])
        found = self.total(flat)
        if name == "mean":
            found = found / flat.shape[-1]
        return found.reshape([1 if d in dims else x.shape[d] for d in range(x.dim())]) if keepdim else found


def pairwise(x):
    return x.sum(-1)


def sequential(x):
    columns = x.reshape(-1, x.shape[-1]).t().contiguous()
    total = torch.zeros(columns.shape[1])
    for k in range(columns.shape[0]):
        total += columns[k]
    return total.view(x.shape[:-1])


def kahan(x):
    columns = x.reshape(-1, x.shape[-1]).t().contiguous()
    total, carry = torch.zeros(columns.shape[1]), torch.zeros(columns.shape[1])
    for k in range(columns.shape[0]):
        y = columns[k] - carry
        t = total + y
        carry = (t - total) - y
        total = t
    return total.view(x.shape[:-1])


def blocked(x):
    """Blocks of 256 elements one after the other, then the blocks one after the other."""
    pad = -x.shape[-1] % 256
    return sequential(sequential(torch.nn.functional.pad(x, (0, pad)).unflatten(-1, (-1, 256))))


def shuffled(x):
    return sequential(x[..., torch.randperm(x.shape[-1], generator=torch.Generator().manual_seed(3))])


def sequential_product(a, b):
    total = torch.zeros(*a.shape[:-1], b.shape[-1])
    for k in range(a.shape[-1]):
        total.addcmul_(a[..., k : k + 1], b[..., k : k + 1, :])
    return total


def unfused_product(a, b):
    total = torch.zeros(*a.shape[:-1], b.shape[-1])
    for k in range(a.shape[-1]):
        total = total + a[..., k : k + 1] * b[..., k : k + 1, :]
    return total


def split_product(parts):
    def product(a, b):
        parts_here = min(parts, a.shape[-1])
        return sum(a[..., i::parts_here] @ b[..., i::parts_here, :] for i in range(parts_here))
    return product


def by_channels(total):
    """A convolution that adds input channels one after the other (or as `total` does)."""
    def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
        if groups != 1:
            return aten.convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
        parts = [
            aten.convolution(x[:, c : c + 1], weight[c : c + 1] if transposed else weight[:, c : c + 1], None, stride, padding,
                             dilation, transposed, output_padding, 1)
            for c in range(x.shape[1])
        ]  # fmt: skip
        found = total(torch.stack(parts, -1))
        return found if bias is None else found + bias.view(1, -1, *[1] * (x.dim() - 2))
    return convolution


def winograd(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """F(2x2, 3x3) where it applies."""
    fits = x.dim() == 4 and tuple(weight.shape[2:]) == (3, 3) and list(stride) == [1, 1] and not transposed and groups == 1
    if not fits:
        return aten.convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    pad = padding[0]
    height, width = x.shape[2] + 2 * pad - 2, x.shape[3] + 2 * pad - 2
    x = torch.nn.functional.pad(x, (pad, pad + width % 2, pad, pad + height % 2))
    bt = torch.tensor([[1.0, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    g = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    at = torch.tensor([[1.0, 1, 1, 0], [0, 1, -1, -1]])
    tiles = x.unfold(2, 4, 2).unfold(3, 4, 2)
    d = bt @ tiles @ bt.t()
    u = g @ weight @ g.t()
    m = torch.einsum("nchwij,ocij->nohwij", d, u)
    y = (at @ m @ at.t()).permute(0, 1, 2, 4, 3, 5)
    y = y.reshape(y.shape[0], y.shape[1], y.shape[2] * 2, -1)[:, :, :height, :width]
    return y if bias is None else y + bias.view(1, -1, 1, 1)


LOG2E = 1.4426950408889634


def exp2_of(x):
    return torch.exp2(x * LOG2E)


def erf_by_polynomial(x):
    """Abramowitz and Stegun 7.1.26, right to 1.5e-7."""
    t = 1 / (1 + 0.3275911 * x.abs())
    y = 1 - (((((1.061405429 * t - 1.453152027) * t) + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * torch.exp(-x * x)
    return torch.sign(x) * y


FUNCTIONS = {
    "exp": exp2_of,
    "tanh": lambda x: 1 - 2 / (1 + torch.exp(2 * x)),
    "sigmoid": lambda x: 1 / (1 + torch.exp(-x)),
    "gelu": lambda x, approximate="none": x * (0.5 + 0.5 * torch.erf(x * 0.7071067811865476)),
    "rsqrt": lambda x: 1 / torch.sqrt(x),
    "softplus": lambda x, *a: torch.clamp(x, min=0) + torch.log1p(torch.exp(-x.abs())),
    "_softmax": lambda x, dim, half: (lambda e: e * (1 / e.sum(dim, keepdim=True)))(exp2_of(x - x.amax(dim, keepdim=True))),
    "_log_softmax": lambda x, dim, half: x - (x.amax(dim, keepdim=True) + exp2_of(x - x.amax(dim, keepdim=True)).sum(dim, keepdim=True).log()),
}  # fmt: skip
ONE_PASS = {
    "var_mean": lambda x, dim=None, correction=1, keepdim=False: _one_pass(x, dim, correction, keepdim),
    "native_layer_norm": lambda x, shape, w, b, eps: _normalized(x, list(range(x.dim() - len(shape), x.dim())), w, b, eps),
}
ERF = {"gelu": lambda x, approximate="none": 0.5 * x * (1 + erf_by_polynomial(x * 0.7071067811865476))}


def _one_pass(x, dim, correction, keepdim):
    mean, square = x.mean(dim, keepdim=keepdim), (x * x).mean(dim, keepdim=keepdim)
    count = x.numel() // mean.numel()
    return (square - mean * mean) * (count / (count - correction)), mean


def _normalized(x, dims, w, b, eps):
    variance, mean = _one_pass(x, dims, 0, True)
    return (x - mean) * torch.rsqrt(variance + eps) * w + b, mean, variance


FAST = {
    "tanh": lambda x: rounded(torch.tanh(x), 10), "exp": lambda x: rounded(torch.exp(x), 12), "rsqrt": lambda x: rounded(torch.rsqrt(x), 12),
    "sigmoid": lambda x: rounded(torch.sigmoid(x), 12), "gelu": lambda x, approximate="none": torch.nn.functional.gelu(x, approximate="tanh"),
    "_softmax": lambda x, dim, half: (lambda e: e / e.sum(dim, keepdim=True))(rounded(torch.exp(x - x.amax(dim, keepdim=True)), 12)),
    "_log_softmax": lambda x, dim, half: (lambda s: s - rounded(rounded(torch.exp(s), 12).sum(dim, keepdim=True), 12).log())(x - x.amax(dim, keepdim=True)),
    "softplus": lambda x, *a: rounded(torch.nn.functional.softplus(x), 12),
}  # fmt: skip


def truncated(x):
    """A sum without one term of 128."""
    kept = torch.arange(x.shape[-1]) % 128 != 5 if x.shape[-1] >= 128 else slice(None)
    return x[..., kept].sum(-1)


def truncated_product(a, b):
    kept = torch.arange(a.shape[-1]) % 128 != 5 if a.shape[-1] >= 128 else slice(None)
    return a[..., kept] @ b[..., kept, :]


Way = Callable[[Reference, CallInputs], tuple[Reference, CallInputs, contextlib.AbstractContextManager]]


def _mode(make: Callable[[], contextlib.AbstractContextManager]) -> Way:
    return lambda reference, inputs: (reference, inputs, make())


def _round_weights(bits: int) -> Way:
    def way(reference, inputs):
        module = copy.deepcopy(reference.module)
        for parameter in module.parameters():
            parameter.data.copy_(rounded(parameter.data, bits))
        return Reference(reference.task, module), inputs, contextlib.nullcontext()
    return way


def _low_rank(reference, inputs):
    module = copy.deepcopy(reference.module)
    for parameter in module.parameters():
        if parameter.dim() >= 2 and min(parameter.shape[0], parameter[0].numel()) >= 16:
            u, s, v = torch.linalg.svd(parameter.data.flatten(1), full_matrices=False)
            kept = max(1, len(s) * 15 // 16)
            parameter.data.copy_(((u[:, :kept] * s[:kept]) @ v[:kept]).view_as(parameter))
    return Reference(reference.task, module), inputs, contextlib.nullcontext()


def _round_inputs(bits: int) -> Way:
    return lambda reference, inputs: (
        reference, CallInputs(inputs.structure, {n: rounded(t, bits) for n, t in inputs.tensors.items()}), contextlib.nullcontext()
    )  # fmt: skip


DOWNGRADES: dict[str, Way] = {
    **{f"weights, {label}": _round_weights(bits) for label, bits in (("bf16", 7), ("TF32", 10), ("14 bits", 14), ("16 bits", 16))},
    **{f"inputs, {label}": _round_inputs(bits) for label, bits in (("bf16", 7), ("TF32", 10), ("14 bits", 14), ("16 bits", 16))},
    **{f"operands of products, {label}": _mode(lambda bits=bits: Operands(bits)) for label, bits in (("TF32", 10), ("14 bits", 14), ("16 bits", 16))},
    **{f"all results, {label}": _mode(lambda bits=bits: Intermediates(bits)) for label, bits in (("bf16", 7), ("TF32", 10), ("14 bits", 14), ("16 bits", 16))},
    "variance in one pass": _mode(lambda: Replaced(None, pairwise, ONE_PASS, aten.convolution)),
    "fast functions": _mode(lambda: Replaced(None, pairwise, FAST, aten.convolution)),
    "weights of 15/16 rank": _low_rank,
    "one term of 128 left out": _mode(lambda: Replaced(truncated_product, truncated, {}, aten.convolution)),
}  # fmt: skip
HONEST: dict[str, Way] = {
    "sequential": _mode(lambda: Replaced(sequential_product, sequential, {})),
    "sequential, no FMA": _mode(lambda: Replaced(unfused_product, sequential, {})),
    "shuffled": _mode(lambda: Replaced(split_product(7), shuffled, {})),
    "blocks of 256": _mode(lambda: Replaced(split_product(2), blocked, {})),
    "split-K, 16 parts": _mode(lambda: Replaced(split_product(16), pairwise, {}, aten.convolution)),
    "Kahan": _mode(lambda: Replaced(None, kahan, {}, aten.convolution)),
    "Winograd": _mode(lambda: Replaced(None, pairwise, {}, winograd)),
    "other formulas": _mode(lambda: Replaced(None, pairwise, FUNCTIONS, aten.convolution)),
    "other formulas, sequential": _mode(lambda: Replaced(sequential_product, sequential, FUNCTIONS)),
    "erf by a polynomial": _mode(lambda: Replaced(None, pairwise, ERF, aten.convolution)),
}


# -- the trial --------------------------------------------------------------------------------------------------------


MULTIPLES = (256, 128, 64, 32, 16, 8)


@dataclass
class Count:
    tried: int = 0
    now: int = 0
    constant: dict[int, int] = field(default_factory=lambda: dict.fromkeys(MULTIPLES, 0))
    wrong: list[str] = field(default_factory=list)
    worst: tuple[float, str] = (0.0, "")


def _refused_at(prepared: Expected, comparison, multiple: float) -> bool:
    """The tolerance, and a constant multiple of the reference's own error."""
    for error in comparison.outputs:
        target = prepared.targets[error.output]
        if error.max_error_ratio > 1.0:
            return True
        if error.rms_error_vs_float64 is not None and target.own_error is not None:
            eps = torch.finfo(target.dtype).eps
            if error.rms_error_vs_float64 > max(multiple * target._at_least(target.own_error, eps), 8 * eps):
                return True
    return not comparison.outputs


@dataclass
class Judged:
    """How one answer was judged on all distributions."""

    now: bool = False
    why: str = ""
    #: By constant multiple.
    constant: dict[int, bool] = field(default_factory=lambda: dict.fromkeys(MULTIPLES, False))
    #: Largest error in multiples of the reference's, and as a share of what is allowed now.
    multiple: float = 0.0
    share: float = 0.0


class Trial:
    def __init__(self, name: str, task: Task):
        self.name, self.task = name, task
        self.admission = admit(task, seed=5)
        self.reference = task.build(77)
        self.cases = []
        self.oracle = oracle = Oracle(self.reference, OracleBudget(240.0), 0.0)
        known = self.admission.known_allowances()
        for distribution in self.admission.distributions:
            inputs = self.admission.make_inputs(task, distribution, 123)
            call = self.reference.run(inputs, 9)
            truth = oracle.run(inputs, 9, call.draws)
            plain = Expected(call.outputs, truth, None, known.get(distribution))
            prepared = Expected(call.outputs, truth, None, known.get(distribution), slack_of(distribution))
            self.cases.append((distribution, inputs, call, plain, prepared))

    def _is_wrong(self, distribution: str, inputs: CallInputs, call: CallResult, prepared: Expected, outputs: dict[str, torch.Tensor]) -> str:
        """The reason why an answer is refused, in the steps of check.Checker; "" if it is not."""
        comparison = prepared.compare(outputs)
        for lot in range(ROUNDING_LOTS):
            if comparison.correct or comparison.detail != "mismatch" or is_about_range(distribution):
                break
            rounded = self.oracle.run_rounded(inputs, 9, call.draws, lot)
            if rounded is None:
                break
            prepared.allow_rounding(rounded)
            comparison = prepared.compare(outputs)
        return "" if comparison.correct else comparison.message

    def judge(self, way: Way) -> Judged | None:
        """None where the way gives the reference's own answer."""
        judged, differs = Judged(), False
        for distribution, inputs, call, plain, prepared in self.cases:
            reference, changed, mode = way(self.reference, inputs)
            reference.remember()
            with mode:
                outputs = reference.run(changed, 9).outputs.tensors
            differs = differs or any(not torch.equal(t, call.outputs.tensors[n]) for n, t in outputs.items())
            comparison = plain.compare(outputs)
            why = "" if judged.now else self._is_wrong(distribution, inputs, call, prepared, outputs)
            if why:
                judged.now, judged.why = True, f"{distribution}: {why}"
            for multiple in MULTIPLES:
                judged.constant[multiple] |= _refused_at(plain, comparison, multiple)
            for error in comparison.outputs:
                if error.rms_error_vs_float64 and error.reference_rms_error_vs_float64:
                    judged.multiple = max(judged.multiple, error.rms_error_vs_float64 / error.reference_rms_error_vs_float64)
                    allowed = prepared.targets[error.output].allowed_error()[0]
                    if prepared.targets[error.output].limits_error:
                        judged.share = max(judged.share, error.rms_error_vs_float64 / allowed)
        return judged if differs else None


def _try_all(name: str, trial: Trial, counts: dict[str, Count], details: bool) -> None:
    for ways, is_wrong in ((HONEST, False), (DOWNGRADES, True)):
        for label, way in ways.items():
            judged = trial.judge(way)
            if judged is None:
                continue
            count = counts[label]
            count.tried, count.now = count.tried + 1, count.now + judged.now
            count.worst = max(count.worst, (judged.share, name))
            for multiple, refused in judged.constant.items():
                count.constant[multiple] += refused
            if judged.now != is_wrong:
                count.wrong.append(name)
            if details or judged.now > is_wrong:
                verdict = "refused" if judged.now else "accepted"
                print(f"  {label}: {verdict}; {judged.multiple:.3g} times the reference's error, {judged.share:.3g} of what is allowed {judged.why}")


def _print_table(title: str, ways: dict[str, Way], counts: dict[str, Count]) -> None:
    columns = " | ".join(f"refused at {multiple}" for multiple in MULTIPLES)
    print(f"\n| {title} | tasks | {columns} | refused now | worst share of what is allowed | judged wrongly now |")
    print("|---" * (len(MULTIPLES) + 5) + "|")
    for label in ways:
        count = counts[label]
        numbers = " | ".join(str(count.constant[multiple]) for multiple in MULTIPLES)
        share = f"{count.worst[0]:.2f} ({count.worst[1]})" if count.worst[0] < 100 else "over 100"
        print(f"| {label} | {count.tried} | {numbers} | {count.now} | {share} | {', '.join(count.wrong)} |")
    total = [sum(counts[label].constant[multiple] for label in ways) for multiple in MULTIPLES]
    tried, now = sum(counts[label].tried for label in ways), sum(counts[label].now for label in ways)
    print(f"| together | {tried} | {' | '.join(map(str, total))} | {now} | | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only tasks with this in their name")
    parser.add_argument("--details", action="store_true", help="every answer")
    options = parser.parse_args()
    counts = {name: Count() for name in [*HONEST, *DOWNGRADES]}
    tasks = {name: text for name, text in _own_tasks().items() if options.only in name}
    for name, text in tasks.items():
        trial = Trial(name, load_task(TaskSource(name, text), precision="strict", seed=3))
        stated = ", ".join(f"{found['rounding']:.2g}" for found in trial.admission.allowances["own"].values())
        print(f"# {name}: {len(trial.cases)} distributions; sequential sums {stated}; {'; '.join(trial.admission.labels)}", flush=True)
        _try_all(name, trial, counts, options.details)
    print(f"\n{len(tasks)} tasks")
    _print_table("honest answer", HONEST, counts)
    _print_table("downgrade", DOWNGRADES, counts)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
