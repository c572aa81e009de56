"""The four published relationship networks as models that take the relations exam: skill *relate*, from pixels."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import ModelError
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.vrd import SeenPairs, VrdNet
from sightline.models.network import NetworkModel, named_by
from sightline.models.relations.classes import LearnedClasses
from sightline.models.relations.cues import checked_fractions
from sightline.models.viewnet import fitted_all
from sightline.scenes.types import View
from sightline.skills import SILENT, Judgements, Pairs, RelationsSpec, Setting


class SeenModel(NetworkModel[VrdNet]):
    """A trained ViP-CNN, PPR-FCN, DRNet or VTransE; it says its likeliest labels."""

    @cached_property
    def _classes(self) -> LearnedClasses:
        return LearnedClasses(self._net.config.classes)

    @property
    def unable(self) -> dict[Setting, str]:
        """Pairs across images, where the network needs a box around both objects."""
        architecture = self._net.config.architecture
        why = f"{architecture} looks at the box around both objects, and across images there is none"
        return {"across_images": why} if self._net.within_only else {}

    def check_relations(self, spec: RelationsSpec) -> None:
        """Count unknown classes."""
        self._classes.count(spec.categories)

    def facts(self) -> dict[str, Any]:
        """Shape, what the checkpoint says of its training, and how many classes were new to it."""
        config = self._net.config
        shape = {"architecture": config.architecture, "width": config.width, "side": config.side}
        return {"parameters": self.parameters, **shape, **self.about, **self._classes.facts()}

    def relate(self, pairs: Pairs) -> Judgements:
        """The likeliest labels of every pair."""
        if not len(pairs):
            return Judgements(np.zeros(0, dtype=np.int8), np.zeros(0, dtype=np.int8))
        across = pairs.setting == "across_images"
        pictures, boxes_a, boxes_b = self._seen(pairs, across=across)
        image = torch.zeros(len(pairs), dtype=torch.long)
        inputs = SeenPairs(
            pictures,
            image,
            image + int(across),
            boxes_a,
            boxes_b,
            torch.from_numpy(self._classes.places(pairs.categories_a)),
            torch.from_numpy(self._classes.places(pairs.categories_b)),
        )
        with self._computing():
            logits = self._net(SeenPairs(*(part.to(self.device) for part in inputs)))
        depth, occlusion = (head.argmax(-1).to("cpu", torch.int8).numpy() for head in logits)
        if across:
            occlusion = np.full(len(pairs), SILENT, dtype=np.int8)
        return Judgements(depth, occlusion)

    def _seen(self, pairs: Pairs, *, across: bool) -> tuple[Tensor, Tensor, Tensor]:
        """One picture or two, alike in size, and the boxes in fractions of what they were filled up to."""
        side = self._net.config.side
        pictures, ends = [], []
        for view, boxes in ((pairs.view_a, pairs.boxes_a), (pairs.view_b, pairs.boxes_b)):
            picture, share = squared(_image(view), side)
            pictures.append(picture)
            fractions = np.ascontiguousarray(checked_fractions(boxes, self.name))
            ends.append(torch.from_numpy(fractions).float() * torch.cat((share, share)))
        return torch.cat(pictures[: 1 + across]), ends[0], ends[1]


def squared(image: NDArray[np.uint8], side: int) -> tuple[Tensor, Tensor]:
    """A picture as (1, 3, S, S) of [0, 1] with its longer side `side`, filled up; and (2,) the shares it takes."""
    return squared_all(torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 255.0, side)


def squared_all(pixels: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Pictures (B, 3, H, W) of [0, 1] likewise, all at once."""
    picture, share = fitted_all(pixels, side)
    height, width = picture.shape[2:]
    whole = max(height, width)
    filled = torch.nn.functional.pad(picture, (0, whole - width, 0, whole - height), value=0.5)
    return filled, share * torch.tensor((width / whole, height / whole), device=share.device)


def _image(view: View) -> NDArray[np.uint8]:
    if view.load_image is None:
        raise ModelError(f"{view.id}: there is no picture, and this network looks at it")
    return view.image()


def load_file(path: str | Path, /, device: str = "") -> SeenModel:
    """A checkpoint as a model."""
    net, facts = load_checkpoint(path, VrdNet)
    return SeenModel(net, name=named_by(path, "relations"), about=facts, device=device)
