"""The depth rule: the object whose box holds the smaller mean depth is closer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sightline.errors import ConfigError, DataError
from sightline.exams.relations.pairs import PairTable
from sightline.models.adapters.depth_maps import (
    DepthFolder,
    MissingMapError,
    mean_in_boxes,
    onnx_depth_network,
    plane,
)
from sightline.models.adapters.image_names import scene_ids
from sightline.models.baselines.rules import Floats, Margin, Overlap, Rule
from sightline.scenes import View
from sightline.skills import EstimateDepth, Pairs, RelationsStudy


class DepthRule(Rule):
    """Mean depth inside each box, from any depth source; the coupled occlusion rule as everywhere.

    Args:
        source: Where the maps come from. It is asked for a view whose id is the scene's.
        inverse: True for maps where larger is closer (MiDaS).
        margin: In the unit of the maps; published Δ_d = 0.02, on MiDaS' scale without normalising each image.
        overlap: See `Rule`.
        name: How tables call it; empty for by its spec.
    """

    kind = "depth"

    def __init__(
        self,
        source: EstimateDepth,
        *,
        inverse: bool = False,
        margin: Margin = 0.02,
        overlap: Overlap = "auto",
        name: str = "",
    ) -> None:
        super().__init__(margin, overlap)
        self.name = name
        self.source = source
        self.inverse = inverse
        self._view: Callable[[str], View] | None = None

    @property
    def stored_answers(self) -> bool:
        """Whether the maps are files: then they are of the pictures as they are, not of changed ones."""
        return isinstance(self.source, DepthFolder)

    @property
    def fingerprint(self) -> str:
        """What its source says of itself; empty where its files are hashed."""
        return str(getattr(self.source, "fingerprint", ""))

    def estimate_depth(self, view: View) -> Floats:
        """(H, W) depth of a picture, as its source gives it."""
        return plane(self.source.estimate_depth(view), self.name or self.kind)

    def prepare_relations(self, study: RelationsStudy) -> None:
        """Tune what is to be tuned, on maps of the training photos where these are there."""
        self._view = study.view
        super().prepare_relations(study)
        self._view = None  # it holds on to the data

    def lead(self, pairs: Pairs) -> Floats:
        """By how much the first object's mean depth is smaller than the second's (larger, if inverse)."""
        a, b = scene_ids(pairs)
        map_a = self.estimate_depth(replace(pairs.view_a, id=a))
        map_b = map_a if a == b else self.estimate_depth(replace(pairs.view_b, id=b))
        return self._sign(mean_in_boxes(map_b, pairs.boxes_b) - mean_in_boxes(map_a, pairs.boxes_a))

    def table_lead(self, table: PairTable) -> Floats:
        """The same for annotated pairs; NaN where there is no map and no photo to make one of."""
        means = np.full(len(table.boxes), np.nan)
        used = np.union1d(table.first, table.second)
        used = used[np.argsort(table.object_scene[used], kind="stable")]
        scenes, start = np.unique(table.object_scene[used], return_index=True)
        for scene, rows in zip(table.scenes[scenes], np.split(used, start[1:]), strict=True):
            with suppress(MissingMapError, DataError):  # a photo of the training split may be missing
                view = View(str(scene), units="normalised") if self._view is None else self._view(str(scene))
                depth_map = self.estimate_depth(view)
                means[rows] = mean_in_boxes(depth_map, table.boxes[rows])
        return self._sign(means[table.second] - means[table.first])

    def facts(self) -> dict[str, Any]:
        """The margin and overlap in use, and what the source says of itself."""
        own: dict[str, Any] = dict(getattr(self.source, "facts", dict)())
        return {**super().facts(), **({"depth": own} if own else {})}

    def _sign(self, farther: Floats) -> Floats:
        return -farther if self.inverse else farther


def depth(
    folder: Path | None = None,
    onnx: Path | None = None,
    inverse: bool = False,
    margin: Margin = 0.02,
    overlap: Overlap = "auto",
) -> DepthRule:
    """The depth rule on a folder of depth maps, or on an ONNX network's maps of the photos."""
    if (folder is None) == (onnx is None):
        raise ConfigError("depth needs either folder=PATH (depth maps) or onnx=PATH (a depth network)")
    if onnx is not None:
        return onnx_depth(onnx, inverse, margin, overlap)
    assert folder is not None
    source = DepthFolder(folder, zero_is_unknown=not inverse)
    return DepthRule(source, inverse=inverse, margin=margin, overlap=overlap)


def onnx_depth(path: Path, inverse: bool = False, margin: Margin = 0.02, overlap: Overlap = "auto") -> DepthRule:
    """The depth rule on an ONNX network's maps of the photos.

    Margin and overlap are tuned on training photos; where the data has none, ``overlap=auto`` means 0.
    """
    return DepthRule(onnx_depth_network(path), inverse=inverse, margin=margin, overlap=overlap)
