"""How a ViewNet is trained: one frozen record, written beside the weights it led to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from sightline.models.nets.viewpoint import viewnet_config
from sightline.training.augmentation import Augmentation
from sightline.training.plan import TrainingPlan
from sightline.worlds.cad import SUBTYPES

CLASSES = tuple(SUBTYPES)
"""PASCAL3D+'s twelve rigid classes."""


def view_augmentation() -> Augmentation:
    """The usual changes of views: colours, contrast, noise and blur of a sensor; larger, smaller and moved."""
    return Augmentation(hue=0.1, swap=0.2, zoom=0.3, shift=0.12, blur=0.8, grey=0.15, stretch=0.0, matte=0.0)


@dataclass(frozen=True, slots=True)
class ViewNetPlan(TrainingPlan):
    """Everything the training of a ViewNet depends on but its views.

    Attributes:
        size: ``tiny``, ``base`` or ``large``.
        side: Longer side of the pictures, pixels; 0 for the size's own.
        augmentation: How pictures are changed; None leaves them as they are.
        flips: Share of the pictures that are mirrored, azimuth and theta with them.
        jitter: Share of its sides by which the edges of a box that is judged are moved, at most.
        least: Pixels of an object that must be visible for it to be learned.
        compiled: Whether the network goes through torch.compile.
        viewpoints: Whether viewpoints are learned, or boxes and classes alone.
    """

    optimizer: Literal["adam", "adamw", "muon"] = "adamw"
    size: str = "tiny"
    side: int = 0
    augmentation: Augmentation | None = field(default_factory=view_augmentation)
    flips: float = 0.5
    jitter: float = 0.08
    least: int = 24
    compiled: bool = False
    viewpoints: bool = True

    SHARES: ClassVar[tuple[str, ...]] = (*TrainingPlan.SHARES, "flips", "jitter")
    LEAST: ClassVar[Mapping[str, int]] = {**TrainingPlan.LEAST, "side": 0, "least": 1}

    @property
    def resolution_side(self) -> int:
        """Longer side of the pictures, pixels."""
        return self.side or viewnet_config(self.size, CLASSES).side
