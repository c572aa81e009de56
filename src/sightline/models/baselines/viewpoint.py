"""Say viewpoints without looking: what is common for a class among the objects that may be learned from."""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.geometry import azimuth_bins
from sightline.models.baselines.statements import FOLDS, fold_of
from sightline.skills import BoxedObjects, ViewAngles, ViewpointStudy

_NOTHING = (0.0, 0.0, 0.0)
"""Azimuth, elevation and theta where nothing is there to learn from."""


class ViewPrior:
    """Gives every object of a class the same azimuth, or one at random; elevation and theta are the class's median.

    Where there is no split to learn from, scenes are dealt into folds by their ids, and an object is answered by
    the other folds. A class that nobody has seen is answered by all classes, and where there is nothing at all to
    learn from, as in a set of one scene, everything is seen from the front, level.

    Args:
        by: ``commonest``: the middle of the section that most objects are seen from. ``mean``: the mean direction.
            ``uniform``: any azimuth, the same for the same place in the same scene.
        views: Sections of the azimuth.
    """

    cross_fits = True

    def __init__(self, by: Literal["commonest", "mean", "uniform"] = "commonest", views: int = 8) -> None:
        self.by, self.views = by, views
        self._study: ViewpointStudy | None = None
        self._known: dict[tuple[int, str], tuple[float, float, float]] = {}

    def prepare_viewpoint(self, study: ViewpointStudy) -> None:
        """Keep the objects to learn from."""
        self._study, self._known = study, {}

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        """The prior of each object's class."""
        if self._study is None:
            raise ModelError("the blind priors of viewpoints have nothing to learn from: sightline exam viewpoint")
        fold = fold_of(objects.scene_id) if self._study.own else FOLDS
        angles = np.array([self._prior(fold, name) for name in objects.categories], dtype=np.float64).reshape(-1, 3)
        if self.by == "uniform":
            angles[:, 0] = [_any_azimuth(f"{objects.view.id}|{place}") for place in range(len(objects))]
        return ViewAngles(angles)

    def facts(self) -> dict[str, object]:
        """How many objects it has learned from."""
        return {"by": self.by, "objects": 0 if self._study is None else len(self._study.categories)}

    def _prior(self, fold: int, category: str) -> tuple[float, float, float]:
        if (fold, category) not in self._known:
            assert self._study is not None
            other = np.array([fold_of(scene) != fold for scene in self._study.scenes], dtype=bool)
            of = np.array([name == category for name in self._study.categories], dtype=bool)
            rows = of & other if (of & other).any() else other
            self._known[fold, category] = self._common(self._study.angles[rows]) if rows.any() else _NOTHING
        return self._known[fold, category]

    def _common(self, angles: NDArray[np.float64]) -> tuple[float, float, float]:
        azimuths = angles[:, 0]
        if self.by == "mean":
            turns = np.exp(1j * np.deg2rad(azimuths))
            azimuth = float(np.rad2deg(np.angle(turns.mean()))) % 360.0
        else:
            counts = np.bincount(azimuth_bins(azimuths, self.views), minlength=self.views)
            azimuth = float(counts.argmax()) * 360.0 / self.views
        return azimuth, float(np.nanmedian(angles[:, 1])), float(np.nanmedian(angles[:, 2]))


def _any_azimuth(key: str) -> float:
    number = int.from_bytes(blake2b(key.encode(), digest_size=4).digest(), "big")
    return 360.0 * number / 2**32
