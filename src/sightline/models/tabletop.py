"""The small tabletop network as two models: one that detects, and the depth rule on its maps."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from sightline.models.adapters.depth_maps import MissingMapError
from sightline.models.baselines.depth import DepthRule
from sightline.models.baselines.rules import Margin, Overlap
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.tabletop import TabletopMaps, TabletopNet
from sightline.models.network import NetworkModel
from sightline.scenes import View
from sightline.skills import Detections

SHIPPED: Final = Path(__file__).parent / "weights" / "tabletop-tiny.safetensors"
"""The checkpoint that comes with Sightline; `tools/train_tabletop.py` makes it."""

CATEGORY: Final = "thing"
"""What it calls everything it finds: it tells no classes apart."""

_MOST: Final = 32
"""Boxes of a picture."""


class TabletopDetector(NetworkModel[TabletopNet]):
    """Finds things on a table, without telling classes apart; skill *detect*.

    Args:
        net: The network.
        threshold: Confidence from which a box is given.
        name: How tables call it.
    """

    def __init__(
        self, net: TabletopNet, *, threshold: float = 0.3, name: str = "small_detector", **more: Any
    ) -> None:
        super().__init__(net, name=name, **more)
        self.threshold = threshold

    def _settings(self) -> str:
        return f"threshold {self.threshold}"

    def detect(self, view: View) -> Detections:
        """Boxes around what it finds: where its centre map has a peak, as large as the extent map says there."""
        maps = self.maps(view)
        confidence = torch.sigmoid(maps.centre[0])
        peak = nn.functional.max_pool2d(confidence[None, None], 3, stride=1, padding=1)[0, 0]
        rows, columns = torch.nonzero((confidence == peak) & (confidence >= self.threshold), as_tuple=True)
        order = torch.argsort(confidence[rows, columns], descending=True)[:_MOST]
        rows, columns = rows[order], columns[order]
        height, width = confidence.shape
        middle = torch.stack([(columns + 0.5) / width, (rows + 0.5) / height], dim=1)
        half = maps.extent[0][:, rows, columns].T.exp() / 2
        boxes = torch.cat([middle - half, middle + half], dim=1).clamp(0.0, 1.0)
        scores = confidence[rows, columns].double().cpu().numpy()
        return Detections(boxes.double().cpu().numpy(), scores, (CATEGORY,) * len(scores))

    def maps(self, view: View) -> TabletopMaps:
        """What the network says of a view's picture."""
        picture = Image.fromarray(view.image()).resize(self._net.config.image, Image.Resampling.BILINEAR)
        with self._computing():
            maps: TabletopMaps = self._net(_tensor(picture).to(self.device))
        return maps


class TabletopDepth:
    """Depth maps of a tabletop network, metres; skill *estimate_depth*.

    Args:
        model: The network as a model.
    """

    def __init__(self, model: TabletopDetector) -> None:
        self.model = model

    @property
    def fingerprint(self) -> str:
        """That of the network."""
        return self.model.fingerprint

    def estimate_depth(self, view: View) -> NDArray[np.float64]:
        """(h, w) depth of the view's picture, metres."""
        if view.load_image is None:
            raise MissingMapError(f"no photo of image {view.id} to make a depth map of")
        depth: NDArray[np.float64] = self.model.maps(view).depth[0].exp().double().cpu().numpy()
        return depth


def small_detector(threshold: float = 0.3, path: Path = SHIPPED) -> TabletopDetector:
    """The detector that comes with Sightline."""
    return TabletopDetector(_net(path), threshold=threshold)


def small_depth(margin: Margin = 0.02, overlap: Overlap = "auto", path: Path = SHIPPED) -> DepthRule:
    """The depth rule on maps of the depth network that comes with Sightline."""
    source = TabletopDepth(small_detector(path=path))
    return DepthRule(source, margin=margin, overlap=overlap, name="small_depth")


def load_file(path: str | Path, threshold: float = 0.3) -> TabletopDetector:
    """A tabletop network from its file, as a detector."""
    return small_detector(threshold, Path(path))


@cache
def _net(path: Path) -> TabletopNet:
    return load_checkpoint(path, TabletopNet).net


def _tensor(picture: Image.Image) -> Tensor:
    return torch.from_numpy(np.array(picture, dtype=np.float32) / 255.0).permute(2, 0, 1)[None]
