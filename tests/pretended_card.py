"""A CUDA card that is none: tensors that say they are not on the CPU, and mix with none that are.

Within `pretended_card()` torch makes and moves such tensors where it is asked for ``cuda``; their device is
``meta``, for torch without CUDA can name no place on a card. The CPU computes what is done with them, and what a
card would refuse is refused: tensors of both devices in one operation, and arrays of tensors that were not brought
back. So code that runs on a card is run to its results where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

CARD = torch.device("meta")
CPU = torch.device("cpu")

# What copies from one device to another, and what a card takes from the CPU: indices.
_COPIES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}
_INDEXED = {torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default, torch.ops.aten.index_put.default}


class CardTensor(torch.Tensor):
    """A tensor that says it is on the card; `held` has its numbers."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> CardTensor:
        layout = {"strides": held.stride(), "storage_offset": held.storage_offset(), "dtype": held.dtype}
        made = torch.Tensor._make_wrapper_subclass(cls, held.shape, device=CARD, **layout)
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        if func not in _COPIES:
            first = args[0] if func in _INDEXED else None
            if not isinstance(first, CardTensor):
                _refuse_two_devices(func, given)
        asked = [one for one in (*args, *kwargs.values()) if isinstance(one, torch.device)]
        on_card = _is_card(asked[0]) if asked else CardTensor in map(type, given)
        if func is torch.ops.aten.copy_.default:
            on_card = isinstance(args[0], CardTensor)
        of = {id(one.held): one for one in given if isinstance(one, CardTensor)}
        args, kwargs = tree_map(_held, (args, kwargs))
        made = func(*args, **kwargs)
        return tree_map(lambda one: of[id(one)] if id(one) in of else _on_card(one), made) if on_card else made

    def __repr__(self) -> str:
        return f"CardTensor({self.held!r})"


def _held(one: Any) -> Any:
    return one.held if isinstance(one, CardTensor) else CPU if isinstance(one, torch.device) else one


def _on_card(one: Any) -> Any:
    return CardTensor(one) if isinstance(one, torch.Tensor) and not isinstance(one, CardTensor) else one


def _refuse_two_devices(func: Any, given: list[torch.Tensor]) -> None:
    if any(one.is_meta and not isinstance(one, CardTensor) for one in given):
        raise RuntimeError(f"{func} was given a tensor that torch made on the card by itself, without its numbers")
    others = [one for one in given if not isinstance(one, CardTensor) and one.dim() > 0]
    if others:  # numbers alone may come from the CPU
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but {func} was given the card and the CPU"
        )


class _Factories(TorchFunctionMode):
    """Make and move tensors where torch would need a card."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.tolist:
            return _held(args[0]).tolist()
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            args = (args[0], _with_tensors(args[1]), *args[2:])
        asked = [kwargs.get("device"), *(args[1:2] if func is torch.Tensor.to else ())]
        if not any(_is_card(one) for one in asked):
            return func(*args, **kwargs)
        if "device" in kwargs:
            kwargs["device"] = CPU
        if func is not torch.Tensor.to:
            return _on_card(func(*args, **kwargs))
        args = tuple(CPU if _is_card(one) else one for one in args)
        given = args[0]
        moved = func(_held(given.detach()), *args[1:], **kwargs)
        return given if isinstance(given, CardTensor) and moved is given.held else _on_card(moved.clone())


class _OwnFactories(TorchDispatchMode):
    """Make what torch makes on the device by itself, such as the 0 of a gradient."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        if given or not _is_card(kwargs.get("device")):
            return func(*args, **kwargs)
        return _on_card(func(*args, **{**kwargs, "device": CPU}))


def _with_tensors(index: Any) -> Any:
    """An index with its lists as tensors, which torch would make on the device."""
    if isinstance(index, tuple):
        return tuple(_with_tensors(one) for one in index)
    return torch.as_tensor(index) if isinstance(index, (list, np.ndarray)) else index


def _is_card(device: Any) -> bool:
    return isinstance(device, (str, torch.device)) and torch.device(device).type in ("cuda", CARD.type)


@contextmanager
def pretended_card() -> Iterator[torch.device]:
    """Within the block torch has a card, which is given."""
    with _Factories(), _OwnFactories():
        yield CARD
