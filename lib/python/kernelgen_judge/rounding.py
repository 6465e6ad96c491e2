"""Rounding that honest answers may have, simulated in a run of the float64 reference.

`Tf32Operands` cuts the operands of convolutions and recurrent layers (in the class tf32 also those of matrix products) to TF32:
the distance of its result from the plain float64 result is the error of the precision class itself, whatever algorithm
a library chose for the reference. `SequentialRounding` adds to each operation the rounding of float32 that a plain
sequential sum would have: the distance is what an honest answer with the worst usual order of summation has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Iterator

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

#: Bits that TF32 drops of the mantissa. They are cut, as tensor cores cut those of a plain float32.
_DROPPED = {torch.float32: (torch.int32, 23 - 10), torch.float64: (torch.int64, 52 - 10)}
_RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
_CONVOLUTIONS = frozenset({"convolution", "_convolution", "convolution_overrideable"})
#: Matrix products, and the position of their first operand: before it stands what is added.
_PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1, "addbmm": 1, "addmv": 1}
_CUDNN_RECURRENT = "_cudnn_rnn"


def to_tf32(tensor: torch.Tensor) -> torch.Tensor:
    """The values with the 10 bits of mantissa that TF32 has; other dtypes unchanged."""
    if tensor.dtype not in _DROPPED:
        return tensor
    integer, dropped = _DROPPED[tensor.dtype]
    cut = tensor.contiguous().view(integer).bitwise_and(-(1 << dropped)).view(tensor.dtype)
    return torch.where(tensor.isfinite(), cut, tensor)


class DispatchMode(TorchDispatchMode):
    """A mode of torch that does without torch.compile, because its import takes seconds."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class _InsideRecurrentLayer(TorchFunctionMode):
    """Notes that a recurrent layer runs: its products are not those of a linear layer."""

    def __init__(self, operands: "Tf32Operands"):
        super().__init__()
        self._operands = operands

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") not in _RECURRENT:
            return func(*args, **(kwargs or {}))
        before, self._operands.products = self._operands.products, True
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self._operands.products = before


class Tf32Operands(DispatchMode):
    """A mode in which operands are cut to TF32 where the precision class allows it. `found` says whether any was."""

    def __init__(self, products: bool):
        super().__init__()
        self.products = products
        self.found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in _CONVOLUTIONS:
            args = self._cut(args, 0, 2)
        elif name == _CUDNN_RECURRENT:
            args = self._cut(args, 0, len(args))
        elif self.products and name in _PRODUCTS:
            args = self._cut(args, _PRODUCTS[name], _PRODUCTS[name] + 2)
        return func(*args, **(kwargs or {}))

    def _cut(self, args: Any, start: int, end: int) -> list[Any]:
        self.found = True
        return [_mapped(value) if start <= index < end else value for index, value in enumerate(args)]

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        with _InsideRecurrentLayer(self), self:
            yield


def _mapped(value: Any) -> Any:
    if torch.is_tensor(value):
        return to_tf32(value)
    return [_mapped(item) for item in value] if isinstance(value, (list, tuple)) else value


# -- sequential sums ------------------------------------------------------------------------------------------------

_EPS = torch.finfo(torch.float32).eps
#: The rms of one rounding to nearest, as a multiple of eps.
_ONE_ROUNDING = 0.2
#: The rms error of a sum of equal terms, one after the other, as a multiple of eps, of the terms' number and of the sum: all of them
#: are rounded alike while the sum stays within a power of two. (At most a quarter.)
_ALIKE = 0.1
#: The rms of an operation without a sum, in eps: functions of fast libraries are right to about one unit in the last place.
_FUNCTION = 0.5
#: Functions that are often computed as a difference of numbers near one.
_NEAR_ONE = frozenset("tanh erf erfc expm1 log1p log softplus elu selu mish log_sigmoid_forward _log_softmax sin cos".split())
_SUMS = frozenset({"sum", "mean", "avg_pool1d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "cumsum"})
#: Operations that hide their sums.
_OPAQUE = ("rnn", "attention", "fft", "linalg_", "_cdist", "_pdist", "grid_sampler", "_trilinear", "embedding_bag")


class NotSimulated(Exception):
    """The rounding of an operation cannot be simulated."""


def _softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


def _log_softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    shifted = x - x.amax(dim, keepdim=True)
    return shifted - shifted.exp().sum(dim, keepdim=True).log()


def _logsumexp(x: torch.Tensor, dim: list[int], keepdim: bool = False) -> torch.Tensor:
    most = x.amax(dim, keepdim=True)
    found = (x - most).exp().sum(dim, keepdim=True).log() + most
    return found if keepdim else found.amax(dim)


def _var_mean(x: torch.Tensor, dim: Any = None, correction: Any = None, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    dims = list(range(x.dim())) if dim is None else dim
    mean = x.mean(dims, keepdim=True)
    count = x.numel() // max(1, mean.numel())
    variance = (x - mean).square().sum(dims, keepdim=keepdim) / max(0, count - (1 if correction is None else correction))
    return variance, mean if keepdim else mean.amax(dims)


def _normalize(x: torch.Tensor, dims: list[int], eps: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    variance, mean = _var_mean(x, dims, 0, True)
    scale = (variance + eps).rsqrt()
    return (x - mean) * scale, mean, scale


def _scaled(x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, shape: list[int]) -> torch.Tensor:
    x = x if weight is None else x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def _layer_norm(x: torch.Tensor, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    y, mean, scale = _normalize(x, list(range(x.dim() - len(shape), x.dim())), eps)
    return _scaled(y, weight, bias, list(shape)), mean, scale


def _group_norm(x: torch.Tensor, weight: Any, bias: Any, n: int, channels: int, rest: int, groups: int, eps: float) -> Any:
    y, mean, scale = _normalize(x.reshape(n, groups, -1), [2], eps)
    affine = [1, channels] + [1] * (x.dim() - 2)
    return _scaled(y.reshape(x.shape), weight, bias, affine), mean.reshape(n, groups), scale.reshape(n, groups)


def _batch_norm(x: torch.Tensor, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float) -> Any:
    shape = [1, x.shape[1]] + [1] * (x.dim() - 2)
    if training:
        y, mean, scale = _normalize(x, [dim for dim in range(x.dim()) if dim != 1], eps)
    else:
        scale = (variance + eps).rsqrt()
        y = (x - mean.reshape(shape)) * scale.reshape(shape)
    return _scaled(y, weight, bias, shape), mean.reshape(-1), scale.reshape(-1)


def _vector_norm(x: torch.Tensor, order: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> torch.Tensor:
    dims = list(range(x.dim())) if dim is None else dim
    if order == 2:
        return x.square().sum(dims, keepdim=keepdim).sqrt()
    if order == 1:
        return x.abs().sum(dims, keepdim=keepdim)
    raise NotSimulated(f"a norm of order {order}")


#: Operations that are taken apart, so that their sums are seen. (torch._decomp has them too, and takes seconds to import.)
COMPOSED: dict[str, Callable[..., Any]] = {
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "var_mean": _var_mean,
    "var": lambda *args, **kwargs: _var_mean(*args, **kwargs)[0],
    "std": lambda *args, **kwargs: _var_mean(*args, **kwargs)[0].sqrt(),
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    "native_batch_norm": _batch_norm,
    "linalg_vector_norm": _vector_norm,
}


class SequentialRounding(DispatchMode):
    """A mode in which float64 results get the rounding of float32 with plain sequential sums.

    One after the other, K terms x give a sum y with an error of about 0.2 eps * sqrt(K/3 * (y^2 + sum x^2)): partial sums of
    terms of one sign grow like k, of both signs like sqrt(k). The same operation on squared operands gives sum x^2.
    """

    def __init__(self, seed: int):
        super().__init__()
        self._seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        if name in COMPOSED and args[0].dtype == torch.float64:
            with self:
                return COMPOSED[name](*args, **kwargs)
        if any(word in name for word in _OPAQUE):
            raise NotSimulated(name)
        return self._rounded(func, name, args, kwargs)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        # Other backends have operations that cannot be taken apart.
        with sdpa_kernel(SDPBackend.MATH), torch.backends.cudnn.flags(enabled=False), self:
            yield

    def _rounded(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        squares = self._squares(func, name, args, kwargs)
        result = func(*args, **kwargs)
        returns = func._schema.returns
        if returns and returns[0].alias_info is not None and not returns[0].alias_info.is_write:
            return result
        if torch.is_tensor(result) and result.dtype == torch.float64:
            if squares is not None:
                terms, total = squares
                mean_square = total * terms if name == "mean" else total / terms
                size = result.square().add_(total).mul_(max(1.0, terms / 3)).sqrt_()
                if name in ("sum", "mean"):
                    divisor = terms if name == "mean" else 1
                    size = torch.hypot(size, _swallowed(func, args, kwargs, result, divisor) / (_ONE_ROUNDING * _EPS))
                    size = torch.where(_alike(result, terms, mean_square, name), terms * _ALIKE / _ONE_ROUNDING * result.abs(), size)
                self._add_noise(result, size, _ONE_ROUNDING)
            else:
                self._add_noise(result, result.abs().add_(1.0) if name.rstrip("_") in _NEAR_ONE else result, _FUNCTION)
        return result

    def _squares(self, func: Any, name: str, args: Any, kwargs: Any) -> tuple[int, torch.Tensor] | None:
        """(number of terms, sum of their squares) of a linear operation; None for others. A mean's are divided as it is."""
        if not args or not torch.is_tensor(args[0]) or args[0].dtype != torch.float64:
            return None
        if name in _SUMS:
            x = args[0]
            total = func(x.square(), *args[1:], **kwargs)
            terms = x.shape[args[1]] if name == "cumsum" and x.dim() else max(1, x.numel() // max(1, total.numel()))
            return terms, total if name in ("sum", "cumsum") else total / terms
        if name in _CONVOLUTIONS:
            x, weight, transposed, groups = args[0], args[1], args[6], args[8]
            total = func(x.square(), weight.square(), None, *args[3:], **kwargs)
            return weight.numel() // max(1, weight.shape[1] * groups if transposed else weight.shape[0]), total
        if name in _PRODUCTS:
            first = _PRODUCTS[name]
            a, b = args[first].square(), args[first + 1].square()
            if name == "addbmm":
                raise NotSimulated(name)
            plain = getattr(torch.ops.aten, name[3:] if name.startswith("add") else name.replace("baddbmm", "bmm"))
            return a.shape[-1], plain(a, b)
        return None

    def _add_noise(self, result: torch.Tensor, size: torch.Tensor, factor: float) -> None:
        generator = self._generators.get(result.device)
        if generator is None:
            generator = self._generators[result.device] = torch.Generator(result.device).manual_seed(self._seed)
        # A processor draws float32 in a third of the time.
        noise = torch.empty_like(result, dtype=torch.float32).normal_(generator=generator).to(result.dtype)
        result.addcmul_(noise, size.nan_to_num(0.0, 0.0, 0.0), value=factor * _EPS)


def _alike(result: torch.Tensor, terms: int, mean_square: torch.Tensor, name: str) -> torch.Tensor:
    """Where the terms of a sum or mean differ by less than the sum can show, so that each addition is rounded alike."""
    mean = result if name == "mean" else result / terms
    return mean_square - mean.square() < (_EPS * terms * mean).square()


def _swallowed(func: Any, args: Any, kwargs: Any, result: torch.Tensor, divisor: int) -> torch.Tensor:
    """What a sum loses if its large terms come first: terms that are too small to change it."""
    x = args[0]
    dims = [dim % x.dim() for dim in args[1]] if len(args) > 1 and args[1] else range(x.dim())
    total = result.reshape([1 if dim in dims else size for dim, size in enumerate(x.shape)])
    small = torch.where(x.abs() < total.abs() * (divisor * _EPS / 4), x, torch.zeros_like(x))
    return func(small, *args[1:], **kwargs)
