"""Numbers of single objects that are made from pictures: depth in box and image (D), appearance of both (A)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, ModelError
from sightline.models.adapters.depth_maps import DepthFolder, onnx_depth_network
from sightline.scenes.types import View
from sightline.skills import EstimateDepth

Floats = NDArray[np.float32]
DEPTH_NUMBERS: Final = 8
"""Mean, standard deviation, least and greatest depth in the box, then in the whole image."""


class ObjectCues(Protocol):
    """Makes numbers of objects."""

    def numbers(self, view: View, boxes: NDArray[np.float64]) -> Floats:
        """(n, F) numbers of n objects, boxes (n, 4) xyxy in fractions of the view's image."""

    @property
    def size(self) -> int:
        """F, how many numbers an object has."""


class DepthCues:
    """Cue D: four figures of a depth map in the box and in the image, not normalised by image.

    Args:
        source: Where the maps come from.
    """

    def __init__(self, source: EstimateDepth) -> None:
        self.source = source

    @property
    def size(self) -> int:
        """Eight numbers an object, sixteen a pair."""
        return DEPTH_NUMBERS

    def numbers(self, view: View, boxes: NDArray[np.float64]) -> Floats:
        """Figures of n boxes; pixels without a depth are left out, and a box without any has the image's."""
        depth = self.source.estimate_depth(view)
        return depth_numbers(depth, boxes)


def depth_numbers(depth: NDArray[np.float64], boxes: NDArray[np.float64]) -> Floats:
    """Mean, standard deviation, least and greatest depth in boxes (n, 4) of a map (H, W), then of the map: (n, 8).

    >>> depth_numbers(np.array([[1.0, 3.0], [5.0, 7.0]]), np.array([[0.0, 0.0, 1.0, 0.5]]))[0, :4].tolist()
    [2.0, 1.0, 1.0, 3.0]
    """
    height, width = depth.shape
    whole = _figures(depth)
    if whole is None:
        raise ModelError("a depth map without a single known depth")
    rows = []
    for x0, y0, x1, y1 in boxes:
        left, top = min(int(x0 * width), width - 1), min(int(y0 * height), height - 1)
        right, bottom = max(int(np.ceil(x1 * width)), left + 1), max(int(np.ceil(y1 * height)), top + 1)
        rows.append((_figures(depth[top:bottom, left:right]) or whole) + whole)
    return np.array(rows, dtype=np.float32).reshape(-1, DEPTH_NUMBERS)


def _figures(depth: NDArray[np.float64]) -> tuple[float, ...] | None:
    known = depth[np.isfinite(depth)]
    return (known.mean(), known.std(), known.min(), known.max()) if known.size else None


class JoinedCues:
    """Several cues side by side."""

    def __init__(self, parts: list[ObjectCues]) -> None:
        self.parts = parts

    @property
    def size(self) -> int:
        """Numbers of all parts."""
        return sum(part.size for part in self.parts)

    def numbers(self, view: View, boxes: NDArray[np.float64]) -> Floats:
        """(n, F) numbers of all parts, one after another."""
        return np.concatenate([part.numbers(view, boxes) for part in self.parts], axis=1)


def object_cues(
    cues: str,
    depth: Path | None,
    backbone: Path | None,
    who: str,
    *,
    size: int | None = None,
    given: str = "{who}:{option}=PATH",
) -> ObjectCues | None:
    """Open what makes the numbers of cues d and a; None for a network without them.

    Args:
        cues: The network's.
        depth: Folder of depth maps, or an ONNX depth network.
        backbone: Checkpoint of a detector or classifier, whose features are pooled.
        who: Named in errors.
        size: Numbers of an object that the network was trained on; None for one that is still to be.
        given: How one writes what is missing.

    Raises:
        ConfigError: Something is missing, or not needed.
        ModelError: A backbone with more or fewer features than the network was trained on.
    """
    for cue, path, option in (("d", depth, "depth"), ("a", backbone, "backbone")):
        if cue in cues and path is None:
            example = given.format(who=who, option=option)
            raise ConfigError(f"{who}: has the cue {cue} and needs the option {option}, as in {example}")
        if cue not in cues and path is not None:
            raise ConfigError(f"{who}: has cues {cues}, so the option {option} is not for it")
    parts: list[ObjectCues] = []
    if depth is not None:
        source: Any = DepthFolder(depth) if depth.is_dir() else onnx_depth_network(depth)
        parts.append(DepthCues(source))
    if backbone is not None:
        from sightline.models.relations.appearance import AppearanceCues  # needs torch

        appearance = AppearanceCues(backbone)
        expected = appearance.size if size is None else size - sum(part.size for part in parts)
        if appearance.size != expected:
            widths = f"expected {expected // 2} features for cue a, found {appearance.size // 2}"
            raise ModelError(f"{backbone}: not the backbone that {who} was trained on: {widths}")
        parts.append(appearance)
    return JoinedCues(parts) if parts else None
