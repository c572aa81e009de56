"""ViewNet as a model that takes the viewpoint exam: skills *detect*, with angles, and *viewpoint*."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.viewpoint import COARSE, MEAN, BoxLogits, ViewNet, ViewNetConfig, kept, peaks
from sightline.models.network import NetworkModel, named_by
from sightline.scenes.types import View
from sightline.skills import BoxedObjects, Detections, ViewAngles

SHIPPED: Final = Path(__file__).parent / "weights" / "viewnet-tiny.safetensors"
"""The checkpoint that comes with Sightline; its card lies beside it."""

MOST: Final = 32
"""Boxes looked at in a picture."""
_NEAR: Final = 30.0
"""Degrees of azimuth for which its confidence is told: what a right answer may be off."""
LEAST: Final = 0.01
"""Score of a box that is told at all."""


class FinderModel(NetworkModel[ViewNet]):
    """A ViewNet that was taught no viewpoints; skill *detect*."""

    @property
    def config(self) -> ViewNetConfig:
        """The shape of the network."""
        return self._net.config

    def facts(self) -> dict[str, Any]:
        """Shape, and what the checkpoint says of its training."""
        shape = {name: getattr(self.config, name) for name in ("classes", "widths", "depths", "bins", "side")}
        return {"parameters": self.parameters, **shape, **self.about}

    def detect(self, view: View) -> Detections:
        """Find objects, and say from which side each is seen where that was taught."""
        picture, scale = fitted(view.image(), self.config.side)
        with self._computing():
            [found] = detected(self._net, picture.to(self.device))
        return Detections(
            np.clip(found.boxes / np.tile(scale.double().numpy(), 2), 0.0, 1.0),
            found.scores,
            tuple(self.config.classes[i] for i in found.classes.tolist()),
            angles=found.angles,
        )


class ViewNetModel(FinderModel):
    """A trained ViewNet; skills *detect* and *viewpoint*."""

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        """Say from which side each object is seen; NaN for a class it does not know."""
        places = [self.config.classes.index(c) if c in self.config.classes else -1 for c in objects.categories]
        angles, sure = np.full((len(objects), 3), np.nan), np.full(len(objects), np.nan)
        known = np.flatnonzero(np.array(places) >= 0)
        if len(known):
            judged = self.judge(objects.view.image(), _fractions(objects)[known])
            classes = torch.tensor(places)[known.tolist()][None].to(self.device)
            angles[known] = judged.angles(classes)[0].cpu().double().numpy()
            sure[known] = judged.certainty(classes, _NEAR)[0].cpu().double().numpy()
        return ViewAngles(angles, confidence=sure)

    def judge(self, image: NDArray[np.uint8], boxes: NDArray[np.float64]) -> BoxLogits:
        """Class and viewpoint of boxes (n, 4), fractions of a picture (H, W, 3) uint8: logits (1, n, …)."""
        picture, scale = fitted(image, self.config.side)
        given = torch.from_numpy(np.ascontiguousarray(boxes)).float() * torch.cat((scale, scale))
        with self._computing():
            return self._net.judge(self._net(picture.to(self.device)), given[None].to(self.device))


class Found(NamedTuple):
    """Objects of a picture, likeliest first: (n, 4) boxes in fractions, scores, classes, (n, 3) angles.

    There are no angles, (0, 3), where no viewpoints were taught.
    """

    boxes: NDArray[np.float64]
    scores: NDArray[np.float64]
    classes: NDArray[np.int64]
    angles: NDArray[np.float64]


def detected(net: ViewNet, pictures: Tensor) -> list[Found]:
    """Find the objects of pictures (B, 3, H, W) of [0, 1].

    A score is the chance that something of the class has its middle there, times the class's chance in its box.
    """
    maps = net(pictures)
    likely = peaks(maps, MOST)
    judged = net.judge(maps, likely.boxes)
    sure = judged.classes.softmax(dim=-1).gather(-1, likely.classes[..., None])[..., 0]
    angles = judged.angles(likely.classes).cpu() if net.config.bins else None
    parts = (likely.boxes.cpu(), (likely.scores * sure).cpu(), likely.classes.cpu())
    found = []
    for i, (boxes, scores, classes) in enumerate(zip(*parts, strict=True)):
        rows = torch.nonzero((scores >= LEAST) & (boxes[:, 2:] > boxes[:, :2]).all(dim=1))[:, 0]
        rows = rows[kept(boxes[rows], scores[rows], classes[rows])]
        boxed, scored = (part[rows].double().numpy() for part in (boxes, scores))
        seen = np.zeros((0, 3)) if angles is None else angles[i][rows].double().numpy()
        found.append(Found(boxed, scored, classes[rows].numpy(), seen))
    return found


def fitted(image: NDArray[np.uint8], side: int) -> tuple[Tensor, Tensor]:
    """A picture (H, W, 3) uint8 as (1, 3, h, w) of [0, 1], its longer side `side`, filled up to multiples of 32.

    Beside it (2,) the shares of the width and the height that the picture itself takes up.
    """
    return fitted_all(torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 255.0, side)


def fitted_all(pixels: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Pictures (B, 3, H, W) of [0, 1] likewise, all at once."""
    height, width = pixels.shape[2:]
    scale = side / max(height, width)
    small = max(1, round(height * scale)), max(1, round(width * scale))
    if small != (height, width):
        pixels = functional.interpolate(pixels, small, mode="bilinear", antialias=True, align_corners=False)
    high, wide = (-(-length // COARSE) * COARSE for length in small)
    padded = functional.pad(pixels, (0, wide - small[1], 0, high - small[0]), value=MEAN)
    return padded, torch.tensor((small[1] / wide, small[0] / high), device=pixels.device)


def _fractions(objects: BoxedObjects) -> NDArray[np.float64]:
    if objects.view.size is not None:
        return objects.boxes
    height, width = objects.view.image().shape[:2]
    return objects.boxes / np.array((width, height, width, height), np.float64)


def load_file(path: str | Path, /, device: str = "") -> FinderModel:
    """A checkpoint as a model: one that detects, and says viewpoints if it was taught them."""
    net, facts = load_checkpoint(path, ViewNet)
    made = ViewNetModel if net.config.bins else FinderModel
    return made(net, name=named_by(path, "viewnet"), about=facts, device=device)


def shipped(device: str = "") -> ViewNetModel:
    """The checkpoint that comes with Sightline."""
    net, facts = load_checkpoint(SHIPPED, ViewNet)
    return ViewNetModel(net, name="viewnet", about=facts, device=device)
