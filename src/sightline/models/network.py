"""A torch network as a model: its device, its size, a hash of its weights, and how it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import nn

from sightline.threads import computing, suitable_threads

Net = TypeVar("Net", bound=nn.Module)


class NetworkModel(Generic[Net]):
    """What all models that are networks have in common; a skill is what each adds.

    Attributes:
        name: How tables call it.
        about: What its checkpoint says of how it was made; JSON values.
        device: Where it computes: by default on the card where there is one.
    """

    def __init__(self, net: Net, *, name: str, about: Mapping[str, Any] | None = None, device: str = "") -> None:
        self.name, self.about = name, dict(about or {})
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._net = net.to(self.device).eval()
        self._threads = 0

    @cached_property
    def parameters(self) -> int:
        """How many weights it has."""
        return sum(weight.numel() for weight in self._net.parameters())

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights and settings: answers kept from other ones are not the shipped model's.

        A checkpoint asked for by its path goes by the file's own hash instead, and its spec tells the settings.
        """
        digest = blake2b(self._settings().encode(), digest_size=16)
        for name, weight in self._net.state_dict().items():
            digest.update(name.encode())
            digest.update(weight.cpu().numpy().tobytes())
        return digest.hexdigest()

    def _settings(self) -> str:
        """What answers depend on beside the weights."""
        return ""

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Around the network: no gradients, and threads that suit what the machine does now."""
        self._threads = suitable_threads(self.parameters, own=self._threads)
        with torch.inference_mode(), computing(self._threads):
            yield


def named_by(path: str | Path, usual: str) -> str:
    """How tables call a checkpoint: by its file, and where that is called as by every training, by the folder too.

    >>> named_by("mine.safetensors", "sornet"), named_by("runs/long/sornet.safetensors", "sornet")
    ('mine', 'long/sornet')
    """
    file = Path(path)
    folder = file.absolute().parent.name
    return f"{folder}/{file.stem}" if file.stem == usual and folder else file.stem
