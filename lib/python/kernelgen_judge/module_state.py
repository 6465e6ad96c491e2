"""Every tensor that a module holds: parameters, buffers (persistent or not) and plain attributes, by dotted name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import nn

from .errors import TaskError
from .values import DTYPE_NAMES, TensorSpec, assign, clone_with_strides, key_path, same_bits, spec_of

_INTERNAL = frozenset(
    "_parameters _buffers _modules _non_persistent_buffers_set _backward_pre_hooks _backward_hooks _forward_hooks "
    "_forward_pre_hooks _state_dict_hooks _load_state_dict_pre_hooks _flat_weights _flat_weight_refs".split()
)
_MAX_DEPTH = 6


@dataclass
class StateTensor:
    """One tensor of a module. `put` replaces the object at its place, for attributes that forward() rebinds."""

    name: str
    role: str  # "parameter", "buffer" or "attribute"
    tensor: torch.Tensor
    put: Callable[[torch.Tensor], None]

    @property
    def spec(self) -> TensorSpec:
        return spec_of(self.name, self.tensor)


class _Collector:
    def __init__(self) -> None:
        self.found: list[StateTensor] = []
        self.aliases: dict[str, str] = {}
        self._seen: dict[int, str] = {}

    def add(self, name: str, role: str, tensor: torch.Tensor, put: Callable[[torch.Tensor], None]) -> None:
        if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
            raise TaskError(f"{name}: lazily created parameters are not supported", "unsupported")
        if id(tensor) in self._seen:
            self.aliases[name] = self._seen[id(tensor)]
            return
        if tensor.layout != torch.strided or tensor.dtype not in DTYPE_NAMES:
            raise TaskError(f"{role} {name}: {tensor.layout} tensors of dtype {tensor.dtype} are not supported", "unsupported")
        self._seen[id(tensor)] = name
        self.found.append(StateTensor(name, role, tensor, put))

    def registered(self, module: nn.Module, prefix: str) -> None:
        for role, table_name in (("parameter", "_parameters"), ("buffer", "_buffers")):
            for owner_name, owner in module.named_modules(prefix=prefix):
                table = getattr(owner, table_name)
                for key, tensor in table.items():
                    if tensor is not None:
                        self.add(f"{owner_name}.{key}" if owner_name else key, role, tensor, _item_setter(table, key))

    def plain(self, module: nn.Module, prefix: str, depth: int = 0) -> None:
        for owner_name, owner in module.named_modules(prefix=prefix):
            for key, value in list(vars(owner).items()):
                if key not in _INTERNAL:
                    name = f"{owner_name}.{key}" if owner_name else key
                    self.value(value, name, _item_setter(vars(owner), key), depth)

    def value(self, value: Any, name: str, put: Callable[[torch.Tensor], None], depth: int) -> None:
        if depth > _MAX_DEPTH:
            return
        if isinstance(value, torch.Tensor):
            self.add(name, "attribute", value, put)
        elif isinstance(value, nn.Module):  # a module kept in a plain list, unknown to its parent
            if id(value) not in self._seen:
                self._seen[id(value)] = name
                self.registered(value, name)
                self.plain(value, name, depth + 1)
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                setter = _item_setter(value, index) if isinstance(value, list) else _no_setter
                self.value(item, f"{name}[{index}]", setter, depth + 1)
        elif isinstance(value, dict):
            for key, item in value.items():
                self.value(item, key_path(name, key), _item_setter(value, key), depth + 1)


def _item_setter(container: Any, key: Any) -> Callable[[torch.Tensor], None]:
    def put(tensor: torch.Tensor) -> None:
        container[key] = tensor

    return put


def _no_setter(tensor: torch.Tensor) -> None:
    """A tuple cannot be changed in place, not even by forward()."""


def state_tensors(module: nn.Module) -> tuple[list[StateTensor], dict[str, str]]:
    """All tensors of a module, each object once, and the further names of shared ones (tied weights)."""
    collector = _Collector()
    collector._seen.update({id(owner): name for name, owner in module.named_modules()})
    collector.registered(module, "")
    collector.plain(module, "")
    return collector.found, collector.aliases


class StateSnapshot:
    """A snapshot of the values of a module's tensors. It finds changes and restores values."""

    def __init__(self, module: nn.Module):
        self._module = module
        self._entries = [(entry, clone_with_strides(entry.tensor.detach())) for entry in state_tensors(module)[0]]

    def changed(self) -> list[StateTensor]:
        """Entries with a tensor that has changed, or was replaced or removed."""
        now = {entry.name: entry.tensor for entry in state_tensors(self._module)[0]}
        return [
            entry
            for entry, value in self._entries
            if entry.name not in now or not same_bits(now[entry.name].detach(), value)
        ]

    def restore(self, names: set[str] | None = None) -> None:
        """Puts back the values of `names` (default: all), into the same tensor objects at the same places."""
        together: dict[torch.dtype, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
        with torch.no_grad():
            for entry, value in self._entries:
                if names is None or entry.name in names:
                    if entry.tensor.device.type != "cpu" and value.is_contiguous():
                        targets, sources = together.setdefault(value.dtype, ([], []))
                        targets.append(entry.tensor.data)
                        sources.append(value)
                    elif entry.tensor.numel():
                        assign(entry.tensor.data, value)
                    entry.put(entry.tensor)
            # A network has hundreds of buffers, and a launch for each would take longer than many a call.
            for targets, sources in together.values():
                torch._foreach_copy_(targets, sources)
