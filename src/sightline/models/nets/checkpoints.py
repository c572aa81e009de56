"""Checkpoints: safetensors whose header says which network they are of, so that nothing else is loaded into it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from sightline.errors import ConfigError, ModelError
from sightline.models.nets.sornet import Sornet, SornetConfig

KIND: Final = "sightline-sornet-1"
"""What stands in the header under ``kind``."""


class Checkpoint(NamedTuple):
    """A network with what its file says of how it was made."""

    net: Sornet
    told: dict[str, Any]


def dump_sornet(
    net: Sornet,
    told: Mapping[str, Any] | None = None,
    *,
    half: bool = False,
    weights: Mapping[str, Tensor] | None = None,
) -> bytes:
    """A network as the bytes of a safetensors file.

    Args:
        net: The network.
        told: What else a reader should know: data, steps, scores; JSON values.
        half: Keep the weights in half precision: half the file, scores the same to the third digit.
        weights: Other values for its weights, such as a running mean of them.

    Raises:
        ModelError: Those are not the weights of this network, or no numbers.
    """
    kind = torch.float16 if half else torch.float32
    state = net.state_dict() if weights is None else weights
    _check("these weights cannot be kept", _unfilled(net.config).state_dict(), state)
    tensors = {name: value.detach().to("cpu", kind).contiguous() for name, value in state.items()}
    header = {"kind": KIND, "config": json.dumps(asdict(net.config)), "told": json.dumps(dict(told or {}))}
    return _ordered(save(tensors, header))


def load_sornet(path: str | Path) -> Checkpoint:
    """The network in a file, in single precision on the CPU, ready to answer.

    Raises:
        ModelError: No such file, no SORNet checkpoint, or weights that do not fit the network it names or are no
            numbers.
    """
    file = Path(path)
    try:
        with safe_open(file, framework="pt") as opened:
            header, names = opened.metadata() or {}, list(opened.keys())
            net, told = _described(file, header, names), _told(file, header)
            tensors = {name: opened.get_tensor(name).float() for name in names}
    except FileNotFoundError:
        raise ModelError(f"{file}: no such file") from None
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{file}: not a readable safetensors file: {error}") from error
    _check(str(file), net.state_dict(), tensors)
    net.load_state_dict(tensors, assign=True)
    return Checkpoint(net.eval(), told)


def _ordered(content: bytes) -> bytes:
    """The same file, its header in order: safetensors shuffles that, and equal networks should have equal files."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def _unfilled(config: SornetConfig) -> Sornet:
    """A network that has shapes and no weights: costs no memory, and draws no random numbers."""
    with torch.device("meta"):
        return Sornet(config)


def _described(file: Path, header: Mapping[str, str], names: list[str]) -> Sornet:
    """The network a header describes, without weights."""
    if header.get("kind") != KIND:
        found = header.get("kind") or f"a header without a kind, tensors such as {next(iter(names), 'none')!r}"
        raise ModelError(f"{file}: a checkpoint of another architecture: expected kind {KIND!r}, found {found}")
    if "config" not in header:
        raise ModelError(f"{file}: damaged header: no config")
    try:
        values = json.loads(header["config"])
        listed = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return _unfilled(SornetConfig(**cast("dict[str, Any]", listed)))
    except (ValueError, TypeError, AttributeError, RuntimeError, ConfigError) as error:
        raise ModelError(f"{file}: damaged header: config: {error}") from error


def _told(file: Path, header: Mapping[str, str]) -> dict[str, Any]:
    try:
        return dict(json.loads(header.get("told", "{}")))
    except (ValueError, TypeError) as error:
        raise ModelError(f"{file}: damaged header: told: {error}") from error


def _check(where: str, expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    if missing := sorted(expected.keys() - found.keys()):
        raise ModelError(f"{where}: weights are missing: {_some(missing)}")
    if further := sorted(found.keys() - expected.keys()):
        raise ModelError(f"{where}: weights of another architecture: {_some(further)}")
    for name, value in expected.items():
        if value.shape != found[name].shape:
            shapes = f"expected {tuple(value.shape)}, found {tuple(found[name].shape)}"
            raise ModelError(f"{where}: weights of another size: {name}: {shapes}")
    if strange := sorted(name for name, value in found.items() if not value.isfinite().all()):
        raise ModelError(f"{where}: weights that are no numbers: {_some(strange)}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
