"""What a model may be able to do: the protocols an exam asks for, and the plain data they exchange.

A model is any object with one or more of these methods; nothing to inherit. What is handed to a model never
contains truth: views come without depth and id maps, pairs without labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.scenes import View

Setting = Literal["within_image", "across_images"]

SILENT = -1
"""Code of "no answer": the model said nothing about this pair (not the same as *unsure*)."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Ordered object pairs of one image, or of two, for a model to judge.

    Attributes:
        cluster_id: The image or image pair the question comes from.
        setting: Whether both objects stand in one image.
        view_a: The image of the first objects; `view_b` that of the second (the same one within an image).
        boxes_a: (n, 4) xyxy in fractions of the image; `boxes_b` likewise.
        categories_a: n class names; `categories_b` likewise.
    """

    cluster_id: str
    setting: Setting
    view_a: View
    view_b: View
    boxes_a: NDArray[np.float64]
    boxes_b: NDArray[np.float64]
    categories_a: tuple[str, ...]
    categories_b: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.boxes_a)


@dataclass(frozen=True, slots=True)
class Judgements:
    """A model's word on n ordered pairs: codes of `Depth` and `Occlusion`, or `SILENT`.

    Across images the occlusion codes are not looked at.
    """

    depth: NDArray[np.int8]
    occlusion: NDArray[np.int8]

    @classmethod
    def checked(cls, given: object, n: int, model: str) -> Judgements:
        """The given answer if it keeps the protocol, else a ModelError that says how it does not."""
        if not isinstance(given, Judgements):
            raise ModelError(f"{model}: relate() must return Judgements, not {type(given).__name__}")
        for name in ("depth", "occlusion"):
            codes = np.asarray(getattr(given, name))
            if codes.shape != (n,):
                raise ModelError(f"{model}: relate() returned {name} of shape {codes.shape}, expected ({n},)")
            if n and not (np.issubdtype(codes.dtype, np.integer) and codes.min() >= SILENT and codes.max() <= 3):
                raise ModelError(f"{model}: relate() returned a {name} code outside −1…3")
        return cls(np.asarray(given.depth, dtype=np.int8), np.asarray(given.occlusion, dtype=np.int8))


@dataclass(frozen=True, slots=True)
class Detections:
    """Objects a model found in one view, best first or not.

    Attributes:
        boxes: (n, 4) xyxy in fractions of the image.
        scores: (n,) confidence, higher is surer.
        categories: n class names.
        groups: (n,) True where a box covers a group rather than one object.
    """

    boxes: NDArray[np.float64]
    scores: NDArray[np.float64]
    categories: tuple[str, ...]
    groups: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))


@runtime_checkable
class Relate(Protocol):
    """Skill *relate*: judge ordered pairs of given boxes."""

    def relate(self, pairs: Pairs) -> Judgements:
        """Depth and occlusion of every pair."""


@runtime_checkable
class Detect(Protocol):
    """Skill *detect*: find objects in a view."""

    def detect(self, view: View) -> Detections:
        """All objects found."""


SKILLS: dict[str, type[Relate] | type[Detect]] = {"relate": Relate, "detect": Detect}


def skills_of(model: object) -> tuple[str, ...]:
    """Names of the skills an object has.

    >>> class Mute:
    ...     def relate(self, pairs): ...
    >>> skills_of(Mute())
    ('relate',)
    """
    return tuple(name for name, protocol in SKILLS.items() if isinstance(model, protocol))
