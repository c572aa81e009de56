"""What ``sightline train context`` can be asked for; without torch, so that the command line can name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ContextNet = Literal["light", "vgg19", "upernet"]
Strategy = Literal[
    "none",
    "rand",
    "const",
    "random",
    "sizebased",
    "hardnegative",
    "random-negative",
    "sizebased-negative",
    "hardnegative-negative",
]


@dataclass(frozen=True, kw_only=True)
class ContextOptions:
    """What is to be taught with removed objects, and how; None stands for the usual setting.

    Attributes:
        net: MobileNetV2 (light) or VGG-19 as classifiers, UperNet as a segmenter.
        removal: See `ClassifierPlan` and `SegmenterPlan`; ``-negative`` adds the negative loss. By default ``rand``
            for classifiers and ``hardnegative-negative`` for UperNet; of that ``sizebased`` with the fill ``kept``.
        worlds: Whose scenes; each gives the same share.
        scenes: Drawn once and shown epoch after epoch.
        fill: What holes are filled with, see `painters.PAINTERS`.
        part: All scenes, or those of two classes and more.
        classes: Of UperNet: what it learns to tell apart, the rest being `scenes.OTHER`; `part` counts these. All
            by default, of which `part` counts things alone.
        size: Of UperNet: tiny, small (ResNet-18) or base (ResNet-50).
        start: ImageNet's weights for the light network, torchvision's file.
    """

    net: ContextNet = "light"
    removal: Strategy | None = None
    worlds: tuple[str, ...] = ()
    scenes: int | None = None
    fill: str = "exact"
    part: Literal["full", "cooccur"] = "full"
    classes: tuple[str, ...] = ()
    size: str | None = None
    start: str | None = None
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    seed: int = 0
    workers: int = 0
