"""How classifiers and segmenters are taught with removed objects: frozen records, kept beside the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from sightline.errors import ConfigError
from sightline.models.nets.segmenter import SIZES
from sightline.training.plan import TrainingPlan

ClassRemoval = Literal["none", "rand", "const"]
PixelRemoval = Literal["none", "random", "sizebased", "hardnegative"]


@dataclass(frozen=True, slots=True)
class ClassifierPlan(TrainingPlan):
    """Everything the training of a classifier depends on but its scenes.

    Attributes:
        backbone: ``vgg19`` or ``mobilenet_v2``; `width`, `shrink`: see `ClassifierConfig`.
        start: File with ImageNet's weights for the features; empty begins at random.
        removal: ``none``; ``rand``: of every picture one edit is added, its class drawn alike, that label dropped;
            ``const``: of a part of the batch the whole edit sets are added, with the hinge loss.
        share: Part of the batch whose edit sets are added (``const``).
        hinge: Weight of the hinge loss (``const``); chosen of 0.03, 0.1, 0.3 and 1 (docs/results/context.md).
        edited: Whether edits count in the cross-entropy too (``const``); of ``rand`` they always do.
        flips: Mirror half of the pictures, edits with them.
    """

    batch: int = 64
    optimizer: Literal["adam", "adamw", "muon"] = "adamw"
    backbone: Literal["vgg19", "mobilenet_v2"] = "vgg19"
    width: int = 512
    shrink: int = 1
    start: str = ""
    removal: ClassRemoval = "none"
    share: float = 0.5
    hinge: float = 0.03
    edited: bool = True
    flips: bool = True

    LEAST: ClassVar[Mapping[str, int]] = {**TrainingPlan.LEAST, "width": 1, "shrink": 1}
    SHARES: ClassVar[tuple[str, ...]] = (*TrainingPlan.SHARES, "share")
    NOT_NEGATIVE: ClassVar[tuple[str, ...]] = (*TrainingPlan.NOT_NEGATIVE, "hinge")

    def edit_sets(self) -> int:
        """How many pictures of a batch come with their whole edit sets."""
        return round(self.share * self.batch) if self.removal == "const" else 0


@dataclass(frozen=True, slots=True)
class SegmenterPlan(TrainingPlan):
    """Everything the training of a segmenter depends on but its scenes.

    Attributes:
        size: A name of `models.nets.segmenter.SIZES`.
        removal: ``none``, or how the class is drawn whose removal is added of every picture: ``random`` alike,
            ``sizebased`` ∝ 1 / its area in the picture, ``hardnegative`` ∝ 1 / its average loss so far.
        negative: Weight of the negative loss on removed pixels; 0 leaves them out (*Ignore*).
        flips: Mirror half of the pictures, edits with them.
    """

    batch: int = 16
    optimizer: Literal["adam", "adamw", "muon"] = "adamw"
    size: str = "r50"
    removal: PixelRemoval = "none"
    negative: float = 0.0
    flips: bool = True

    NOT_NEGATIVE: ClassVar[tuple[str, ...]] = (*TrainingPlan.NOT_NEGATIVE, "negative")

    def __post_init__(self) -> None:
        TrainingPlan.__post_init__(self)
        if self.size not in SIZES:
            raise ConfigError(f"size of a segmenter must be one of {', '.join(SIZES)}, not {self.size!r}")
