"""Precision classes: PyTorch's global switches and the dtype that module and inputs are cast to."""

from __future__ import annotations

import warnings

import torch

from .errors import TaskError

CLASSES = ("strict", "default", "tf32", "fp16", "bf16")
_CAST = {"fp16": torch.float16, "bf16": torch.bfloat16}


def cast_dtype(precision: str) -> torch.dtype | None:
    """The dtype that floating inputs and the module are cast to (as KernelBench's `precision` does), or None."""
    if precision not in CLASSES:
        raise TaskError(f"no precision class {precision!r}; there are: {', '.join(CLASSES)}", "invalid_argument")
    return _CAST.get(precision)


def tf32_products(precision: str) -> bool | None:
    """On a device with TF32: None if nothing runs in it, True if products of matrices do as well, False if only convolutions
    and recurrent layers do."""
    return {"default": False, "tf32": True}.get(precision)


def apply_flags(precision: str) -> None:
    """Sets TF32 for the class. Cheap; called before every reference call, since task code may have changed it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tf32 = precision == "tf32"
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = precision != "strict"


def apply_device_flags(precision: str) -> None:
    """Calls apply_flags, and restores PyTorch's defaults for GPU settings that a task may have changed, because they do not
    belong in a baseline."""
    apply_flags(precision)
    torch.backends.cudnn.enabled = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = False
    if torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(False)


def cast(tensor: torch.Tensor, precision: str) -> torch.Tensor:
    """A floating tensor in the class's dtype; others unchanged."""
    dtype = cast_dtype(precision)
    if dtype is None or not tensor.is_floating_point() or tensor.dtype == dtype:
        return tensor
    return tensor.to(dtype)
