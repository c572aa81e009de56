"""How a deformable part model is taught, and the pictures it learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError

Form = Literal["dpm", "vdpm", "dpm-voc-vp"]

ASPECTS: Final = 3
"""Groups of aspect ratio of a plain DPM; each has a mirror image, so it has six components."""


@dataclass(frozen=True, slots=True)
class DpmPlan:
    """How the mixture of one class is learned. All sizes are equal for the forms that are compared.

    Attributes:
        category: The class.
        form: ``dpm``: six components by aspect ratio. ``vdpm``: one a section of the azimuth. ``dpm-voc-vp``: the
            same, its parts learned by a structured SVM with a loss on overlap and view.
        views: Sections of the azimuth; 0 for ``dpm``.
        positives: Objects to learn from, at most.
        negatives: Pictures without the class to find hard negatives in, at most.
        cells: Of a root filter, about.
        parts: Of a component.
        root_rounds: Rounds of latent placement and learning with roots alone.
        rounds: The same with parts.
        mining: Searches for hard negatives a round.
        hard: Negatives taken from a picture in each, for each component and its mirror image.
        cost: C of the SVM.
        overlap: Least overlap of a root with the object it is placed on.
        interval: Scales of the pyramid an octave.
        seed: Of the windows that the first filters are told apart from.
    """

    category: str
    form: Form = "vdpm"
    views: int = 8
    positives: int = 400
    negatives: int = 150
    cells: int = 64
    parts: int = 8
    root_rounds: int = 1
    rounds: int = 3
    mining: int = 2
    hard: int = 5
    cost: float = 0.01
    overlap: float = 0.7
    interval: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.form not in get_args(Form):
            raise ConfigError(f"form must be {', '.join(get_args(Form))}, not {self.form!r}")
        if (self.form == "dpm") != (self.views == 0) or self.views % 2 or self.views < 0:
            raise ConfigError(f"{self.form} with {self.views} views: an even number, and 0 for dpm alone")
        least = {"positives": 2, "negatives": 1, "cells": 12, "parts": 1, "mining": 1, "hard": 1, "interval": 1}
        for name, low in {**least, "root_rounds": 0, "rounds": 0}.items():
            if getattr(self, name) < low:
                raise ConfigError(f"{name} must be at least {low}, not {getattr(self, name)}")
        if not 0.0 < self.cost < 1e9 or not 0.0 < self.overlap <= 1.0:
            raise ConfigError("cost must be above 0 and overlap in (0, 1]")

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of what is done one after the other; each leaves a file."""
        roots = [f"roots-{n}" for n in range(1, self.root_rounds + 1)]
        return ("first", *roots, *(f"parts-{n}" for n in range(1, self.rounds + 1)), "boxes")


@dataclass(frozen=True)
class TrainingPicture:
    """A picture with its objects.

    Attributes:
        name: Unique among those learned from.
        load: Gives its pixels, (H, W, 3) uint8.
        boxes: (n, 4) xyxy, pixels.
        categories: n class names.
        angles: (n, 3) azimuth, elevation, theta, degrees.
        whole: (n,) objects to learn from: neither cut by the edge of the picture nor largely hidden.
    """

    name: str
    load: Callable[[], NDArray[np.uint8]]
    boxes: NDArray[np.float64]
    categories: tuple[str, ...]
    angles: NDArray[np.float64]
    whole: NDArray[np.bool_]
