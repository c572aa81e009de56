"""Trained classifiers and segmenters as models: our own weights, or a folder of transformers."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from sightline.errors import MissingExtraError, ModelError
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.classifier import Classifier, picture_batches, standardised
from sightline.models.nets.segmenter import Upernet
from sightline.scenes import View
from sightline.skills import ClassScores, LabelMaps
from sightline.threads import computing, suitable_threads

AT_ONCE: Final = 16
"""Pictures a network is shown together."""
REST: Final = ("background", "other")
"""Classes of a segmenter that stand for whatever is none of the others."""


class _PictureNet:
    """What classifiers and segmenters have in common: a network on a device, and what is known of it."""

    def __init__(self, net: nn.Module, name: str, about: Mapping[str, Any], device: str) -> None:
        self.name, self.about = name, dict(about)
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.net = net.to(self.device).eval()
        self._threads = 0

    @cached_property
    def parameters(self) -> int:
        """How many weights it has."""
        return sum(weight.numel() for weight in self.net.parameters())

    def facts(self) -> dict[str, Any]:
        """How many weights, and what the file says of its training."""
        return {"parameters": self.parameters, **self.about}

    @contextmanager
    def _computing(self) -> Iterator[None]:
        self._threads = suitable_threads(self.parameters, own=self._threads)
        with torch.inference_mode(), computing(self._threads):
            yield


class ClassifierModel(_PictureNet):
    """A trained classifier; skill *classify*.

    Args:
        net: The network.
        name: How tables call it.
        about: What its file says of how it was made.
        device: Where it computes; the card where there is one.
    """

    def __init__(
        self, net: Classifier, *, name: str = "classifier", about: Mapping[str, Any] | None = None, device: str = ""
    ) -> None:
        super().__init__(net, name, about or {}, device)
        self.classes = net.config.classes
        self._size = (net.config.size, net.config.size)

    def classify(self, views: Sequence[View]) -> ClassScores:
        """A logit for every picture and class."""
        pictures = [view.image() for view in views]
        with self._computing():
            rows = [self.net(b).float().cpu() for b in picture_batches(pictures, self._size, AT_ONCE, self.device)]
        scores = torch.cat(rows).double().numpy() if rows else np.zeros((0, len(self.classes)))
        return ClassScores(self.classes, scores)


class SegmenterModel(_PictureNet):
    """A trained segmenter; skill *segment*.

    Args:
        net: Pictures (B, H, W, 3) uint8 in, logits (B, C, H, W) out.
        classes: Names of the channels.
        image: (width, height) a picture is resized to.
        name: How tables call it.
        about: What its file says of how it was made.
        device: Where it computes; the card where there is one.
    """

    def __init__(
        self,
        net: nn.Module,
        classes: tuple[str, ...],
        image: tuple[int, int],
        *,
        name: str = "segmenter",
        about: Mapping[str, Any] | None = None,
        device: str = "",
    ) -> None:
        super().__init__(net, name, about or {}, device)
        self.classes, self._size = classes, image[::-1]

    def segment(self, views: Sequence[View]) -> LabelMaps:
        """The class with the highest logit at every pixel, logits being enlarged bilinearly to the picture."""
        return self.segment_among(views, self.classes)

    def segment_among(self, views: Sequence[View], classes: Sequence[str]) -> LabelMaps:
        """The same of some classes alone, and of those that stand for all else (`REST`)."""
        left_out = [place for place, name in enumerate(self.classes) if name not in {*classes, *REST}]
        pictures = [view.image() for view in views]
        maps = []
        with self._computing():
            batches = picture_batches(pictures, self._size, AT_ONCE, self.device)
            logits = (one for batch in batches for one in self.net(batch).float())
            for pixels, one in zip(pictures, logits, strict=True):
                size = pixels.shape[:2]
                whole = functional.interpolate(one[None], size, mode="bilinear", align_corners=False)
                whole[:, left_out] = -torch.inf
                maps.append(whole[0].argmax(dim=0).to("cpu", torch.int32).numpy())
        return LabelMaps(self.classes, tuple(maps))


class _HubNet(nn.Module):
    """A network of transformers that takes pictures as ours do."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, h, w) logits."""
        logits: torch.Tensor = self.net(standardised(images)).logits
        return logits


def load_classifier(path: Path, /, device: str = "") -> ClassifierModel:
    """A file of a trained classifier as a model."""
    net, facts = load_checkpoint(path, Classifier)
    return ClassifierModel(net, name=_called(path), about=facts, device=device)


def load_segmenter(path: Path, /, device: str = "") -> SegmenterModel:
    """A file of a trained segmenter as a model; a folder is taken as one of transformers."""
    if Path(path).is_dir():
        return hub_segmenter(Path(path), device)
    net, facts = load_checkpoint(path, Upernet)
    config = net.config
    return SegmenterModel(net, config.classes, config.image, name=_called(path), about=facts, device=device)


def classifier(path: Path, device: str = "") -> ClassifierModel:
    """The same by the spec ``classifier:FILE``."""
    return load_classifier(path, device)


def segmenter(path: Path, device: str = "") -> SegmenterModel:
    """The same by the spec ``segmenter:FILE``, or ``segmenter:FOLDER`` of transformers."""
    return load_segmenter(path, device)


def hub_segmenter(folder: Path, device: str = "") -> SegmenterModel:
    """A semantic segmenter of transformers in a local folder, such as UperNet; its classes are those of its config.

    Raises:
        MissingExtraError: transformers is not installed.
        ModelError: It is not a folder of such a network.
    """
    try:
        transformers = importlib.import_module("transformers")
    except ImportError:
        raise MissingExtraError("transformers", extra="vlm") from None
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        kind = (
            transformers.UperNetForSemanticSegmentation
            if config.model_type == "upernet"
            else transformers.AutoModelForSemanticSegmentation
        )
        net = kind.from_pretrained(folder, local_files_only=True)
    except Exception as error:
        raise ModelError(f"{folder}: not a semantic segmenter of transformers: {error}") from None
    names = tuple(config.id2label[place] for place in sorted(config.id2label))
    return SegmenterModel(_HubNet(net), names, (512, 512), name=folder.name, device=device)


def _called(path: str | Path) -> str:
    """How tables call a file: by its folder too where it is called as every training calls it.

    >>> _called("runs/const-1/classifier.safetensors"), _called("mine.safetensors")
    ('const-1', 'mine')
    """
    file = Path(path)
    folder = file.absolute().parent.name
    return folder if file.stem in ("classifier", "segmenter") and folder else file.stem
