"""Checkpoints: safetensors files that are opened by the kind of network in their header, and by nothing else."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, NamedTuple, Protocol, TypeVar, cast, overload

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sightline.errors import ConfigError, ModelError
from sightline.hints import did_you_mean


class Network(Protocol):
    """A torch module that can be kept: it names its kind, and one frozen dataclass says its shape."""

    kind: ClassVar[str]
    config: Any


NetT = TypeVar("NetT", bound=Network)


@dataclass(frozen=True, slots=True)
class NetworkEntry:
    """Where the parts of one kind of network are, each as ``module:name``; imported when such a file is opened.

    Attributes:
        config: The dataclass of its shape; the network is made of that alone.
        net: The network.
        model: Opens such a file as a model; further arguments are options of a spec.
    """

    config: str
    net: str
    model: str


_NETS: Final = "sightline.models.nets"
_DPM: Final = "sightline.models.dpm"

NETWORKS: Final[Mapping[str, NetworkEntry]] = MappingProxyType(
    {
        "sightline-sornet-1": NetworkEntry(
            f"{_NETS}.sornet:SornetConfig", f"{_NETS}.sornet:Sornet", "sightline.models.sornet:load_file"
        ),
        "sightline-classifier-1": NetworkEntry(
            f"{_NETS}.classifier:ClassifierConfig",
            f"{_NETS}.classifier:Classifier",
            "sightline.models.picture_nets:load_classifier",
        ),
        "sightline-upernet-1": NetworkEntry(
            f"{_NETS}.segmenter:SegmenterConfig",
            f"{_NETS}.segmenter:Upernet",
            "sightline.models.picture_nets:load_segmenter",
        ),
        "sightline-inpainter-1": NetworkEntry(
            f"{_NETS}.inpainter:InpainterConfig",
            f"{_NETS}.inpainter:Inpainter",
            "sightline.models.fills.network:NetworkFill",
        ),
        "sightline-dpm-1": NetworkEntry(
            f"{_DPM}.filters:DpmConfig", f"{_DPM}.filters:Dpm", f"{_DPM}.model:load_file"
        ),
        "sightline-tabletop-1": NetworkEntry(
            f"{_NETS}.tabletop:TabletopConfig",
            f"{_NETS}.tabletop:TabletopNet",
            "sightline.models.tabletop:load_file",
        ),
        "sightline-viewnet-1": NetworkEntry(
            f"{_NETS}.viewpoint:ViewNetConfig", f"{_NETS}.viewpoint:ViewNet", "sightline.models.viewnet:load_file"
        ),
        "sightline-pairs-1": NetworkEntry(
            f"{_NETS}.pairs:PairNetConfig", f"{_NETS}.pairs:PairNet", "sightline.models.relations.model:load_file"
        ),
        "sightline-vrd-1": NetworkEntry(
            f"{_NETS}.vrd:VrdNetConfig", f"{_NETS}.vrd:VrdNet", "sightline.models.relations.seen:load_file"
        ),
        "sightline-paper-mlp-1": NetworkEntry(
            f"{_NETS}.pairs:PaperMlpConfig", f"{_NETS}.pairs:PaperMlp", "sightline.models.relations.mlp:load_file"
        ),
    }
)
"""Every kind of network, as it stands in a header under ``kind``."""


class Checkpoint(NamedTuple, Generic[NetT]):
    """A network with what its file says of how it was made."""

    net: NetT
    facts: dict[str, Any]


def dump_checkpoint(
    net: Network,
    facts: Mapping[str, Any] | None = None,
    *,
    half: bool = False,
    weights: Mapping[str, Tensor] | None = None,
) -> bytes:
    """Write a network as the bytes of a safetensors file.

    Args:
        net: The network.
        facts: What else a reader should know: data, steps, scores; JSON values.
        half: Keep the weights in half precision: half the file, scores the same to the third digit.
        weights: Other values for its weights, such as a running mean of them.

    Raises:
        ModelError: Those are not the weights of this network, or no numbers.
    """
    kind = torch.float16 if half else torch.float32
    state = cast("nn.Module", net).state_dict() if weights is None else weights
    _check("these weights cannot be kept", _unfilled(type(net), net.config).state_dict(), state)
    tensors = {name: value.detach().to("cpu", kind).contiguous() for name, value in state.items()}
    header = {"kind": net.kind, "config": json.dumps(asdict(net.config)), "told": json.dumps(dict(facts or {}))}
    return _ordered(save(tensors, header))


@overload
def load_checkpoint(path: str | Path) -> Checkpoint[Any]: ...
@overload
def load_checkpoint(path: str | Path, expected: type[NetT]) -> Checkpoint[NetT]: ...
def load_checkpoint(path: str | Path, expected: type[Network] | None = None) -> Checkpoint[Any]:
    """Load the network in a file, whatever its kind, in single precision on the CPU, ready to answer.

    Args:
        path: The file.
        expected: Class of the only network that will do.

    Raises:
        ModelError: No such file, no checkpoint of a known or the expected kind, or weights that do not fit the
            network it names or are no numbers.
    """
    file = Path(path)
    with _opened(file) as opened:
        header, names = opened.metadata() or {}, list(opened.keys())
        net, facts = _described(file, header, names, expected), _facts(file, header)
        tensors = {name: opened.get_tensor(name).float() for name in names}
    _check(str(file), net.state_dict(), tensors)
    net.load_state_dict(tensors, assign=True)
    return Checkpoint(net.eval(), facts)


def model_loader(path: str | Path) -> Callable[..., Any]:
    """Find what opens a file as a model, by the kind in its header.

    Raises:
        ModelError: No such file, or no checkpoint of a known kind.
    """
    file = Path(path)
    with _opened(file) as opened:
        entry = _entry(file, opened.metadata() or {}, list(opened.keys()))
    loader: Callable[..., Any] = _imported(entry.model)
    return loader


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    try:
        with safe_open(file, framework="pt") as opened:
            yield opened
    except FileNotFoundError:
        raise ModelError(f"{file}: no such file") from None
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{file}: not a readable safetensors file: {error}") from error


def _ordered(content: bytes) -> bytes:
    """The same file, its header in order: safetensors shuffles that, and equal networks should have equal files."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _unfilled(made: Callable[[Any], Any], config: Any) -> nn.Module:
    """A network that has shapes and no weights: costs no memory, and draws no random numbers."""
    with torch.device("meta"), _NoNormalDraws():
        return cast("nn.Module", made(config))


class _NoNormalDraws(TorchFunctionMode):
    """Draw no weights from a normal distribution: without numbers torch loads its compiler for it, 2 s."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (nn.init.normal_, Tensor.normal_):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def _entry(
    file: Path, header: Mapping[str, str], names: list[str], expected: type[Network] | None = None
) -> NetworkEntry:
    """The entry of the kind in a header."""
    kind = header.get("kind", "")
    known = NETWORKS if expected is None else {expected.kind: NETWORKS[expected.kind]}
    if kind not in known:
        stated = kind or f"a header without a kind, tensors such as {next(iter(names), 'none')!r}"
        wanted = " or ".join(map(repr, known))
        raise ModelError(
            f"{file}: a checkpoint of another architecture: expected kind {wanted}, found {stated}"
            f"{did_you_mean(kind, known)}"
        )
    return known[kind]


def _described(
    file: Path, header: Mapping[str, str], names: list[str], expected: type[Network] | None
) -> nn.Module:
    """The network a header describes, without weights."""
    entry = _entry(file, header, names, expected)
    if "config" not in header:
        raise ModelError(f"{file}: damaged header: no config")
    try:
        values = json.loads(header["config"])
        listed = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return _unfilled(_imported(entry.net), _imported(entry.config)(**listed))
    except (ValueError, TypeError, AttributeError, RuntimeError, ConfigError) as error:
        raise ModelError(f"{file}: damaged header: config: {error}") from error


def _facts(file: Path, header: Mapping[str, str]) -> dict[str, Any]:
    try:
        return dict(json.loads(header.get("told", "{}")))
    except (ValueError, TypeError) as error:
        raise ModelError(f"{file}: damaged header: told: {error}") from error


def _check(where: str, expected: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    if missing := sorted(expected.keys() - given.keys()):
        raise ModelError(f"{where}: weights are missing: {_some(missing)}")
    if further := sorted(given.keys() - expected.keys()):
        raise ModelError(f"{where}: weights of another architecture: {_some(further)}")
    for name, value in expected.items():
        if value.shape != given[name].shape:
            shapes = f"expected {tuple(value.shape)}, found {tuple(given[name].shape)}"
            raise ModelError(f"{where}: weights of another size: {name}: {shapes}")
    if strange := sorted(name for name, value in given.items() if not value.isfinite().all()):
        raise ModelError(f"{where}: weights that are no numbers: {_some(strange)}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
