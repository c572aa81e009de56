"""Draw a scene of the predicates exam: numbered views, patches, where a model looked, its judgements in words.

A model with a method ``attention(queries) -> (n, views, rows, columns)`` of non-negative weights tells, for each of
the n objects asked about, how much it drew from each cell of each view. The cells cover the whole picture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import ModelError
from sightline.exams.hooks import model_call
from sightline.scenes import Scene
from sightline.scenes.labels import PREDICATES
from sightline.show.drawing import WHITE, disc, picture, spread
from sightline.show.frame import ImageFrame, frame_of
from sightline.show.raster import data_uri
from sightline.show.svg import MUTED, document, text_line
from sightline.skills import UNKNOWN, Queries

Kind = Literal["false_positive", "false_negative", "unknown", "true_positive"]

KINDS: Final[dict[Kind, tuple[str, str]]] = {
    "false_positive": ("✗", "said, but not so"),
    "false_negative": ("○", "missed"),
    "unknown": ("?", "could not say"),
    "true_positive": ("✓", "rightly said"),
}
"""Kind → its mark and what it means, in the order shown: mistakes first. Rightly denied facts are not listed."""

PHRASES: Final[dict[str, str]] = {
    "left": "left of",
    "right": "right of",
    "front": "in front of",
    "behind": "behind",
    "contains": "contains",
    "supports": "supports",
    "can_contain": "can contain",
    "can_support": "can support",
}
"""Predicate → the words between subject and object."""

_WIDTH: Final = 480.0
"""Units across a view, whatever its pixels, so that the numbers on it are of one size."""

_PATCH: Final = 96
_HEAT: Final = 240
_LOOKS: Final = ("size", "color", "material", "shape")

_COLD: Final = np.array((122.0, 18.0, 60.0))
_WARM: Final = np.array((240.0, 96.0, 20.0))
_HOT: Final = np.array((255.0, 240.0, 150.0))
_GREY: Final = 0.75
"""How much of the photo's own colour is taken away, so that the heat's colours are its own."""


@dataclass(frozen=True, slots=True)
class PredicateOutcome:
    """All judgements of one predicate in one scene.

    Attributes:
        predicate: As in `scenes.labels.PREDICATES`.
        pairs: Kind → (subject, object) numbers from 1, by subject and then object; every kind is there.
        asked: Judgements; `right` of them as the truth has it, rightly denied ones included.
    """

    predicate: str
    pairs: dict[Kind, tuple[tuple[int, int], ...]]
    asked: int
    right: int

    @property
    def wrong(self) -> int:
        """Judgements that are not right; "could not say" is one of them."""
        return self.asked - self.right

    def sentences(self, kind: Kind) -> tuple[str, ...]:
        """One sentence a subject.

        >>> PredicateOutcome("front", {"unknown": ((1, 2), (1, 4), (3, 1))}, 12, 9).sentences("unknown")
        ('1 in front of 2, 4', '3 in front of 1')
        """
        by_subject: dict[int, list[str]] = {}
        for subject, other in self.pairs[kind]:
            by_subject.setdefault(subject, []).append(str(other))
        return tuple(f"{s} {PHRASES[self.predicate]} {', '.join(others)}" for s, others in by_subject.items())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        listed: dict[str, Any] = {kind: [list(pair) for pair in pairs] for kind, pairs in self.pairs.items()}
        return {"asked": self.asked, "right": self.right, **listed}


def outcomes(truth: NDArray[np.bool_], answers: NDArray[np.int8]) -> tuple[PredicateOutcome, ...]:
    """Sort the judgements of one scene.

    Args:
        truth: (n, n, 8) whether [subject, object, predicate] holds.
        answers: (n, n, 8) a model's verdicts: 1, 0 or `UNKNOWN`. The diagonal is not looked at.

    Returns:
        One outcome a predicate, in their usual order.
    """
    n, made = len(truth), []
    asked = ~np.eye(n, dtype=bool)
    for k, predicate in enumerate(PREDICATES):
        holds, said = truth[:, :, k], answers[:, :, k]
        sorted_by_kind: dict[Kind, NDArray[np.bool_]] = {
            "false_positive": (said == 1) & ~holds,
            "false_negative": (said == 0) & holds,
            "unknown": said == UNKNOWN,
            "true_positive": (said == 1) & holds,
        }
        pairs = {
            kind: tuple((i + 1, j + 1) for i, j in np.argwhere(mask & asked).tolist())
            for kind, mask in sorted_by_kind.items()
        }
        made.append(PredicateOutcome(predicate, pairs, n * (n - 1), int(((said == holds) & asked).sum())))
    return tuple(made)


class SizedPicture(NamedTuple):
    """A picture as a ``data:`` URI with its size in pixels, so that a page leaves it room before it is decoded."""

    uri: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class AskedObject:
    """An object a model was asked about.

    Attributes:
        number: From 1, in the scene's order; what the sentences call it.
        words: Its look: ``small brown metal cube``.
        patch: Its canonical view as a ``data:`` URI.
        hidden: Its hidden share in the first view; None where nothing tells.
        heat: A picture a view with the model's attention for it laid over; empty without attention.
    """

    number: int
    words: str
    patch: str = field(repr=False)
    hidden: float | None = None
    heat: tuple[SizedPicture, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class NumberedView:
    """A view with the objects' numbers on it, as SVG markup."""

    name: str
    svg: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SceneExample:
    """All there is to show of one scene and one model's answers on it.

    Attributes:
        scene_id: The scene.
        views: In the order the model saw them.
        objects: What it was asked about.
        outcomes: One a predicate.
    """

    scene_id: str
    views: tuple[NumberedView, ...]
    objects: tuple[AskedObject, ...]
    outcomes: tuple[PredicateOutcome, ...]

    @property
    def asked(self) -> int:
        """Judgements in all."""
        return sum(outcome.asked for outcome in self.outcomes)

    @property
    def right(self) -> int:
        """Judgements that are right."""
        return sum(outcome.right for outcome in self.outcomes)

    @property
    def wrong(self) -> int:
        """Judgements that are not right, unknown ones included."""
        return self.asked - self.right

    def count(self, kind: Kind) -> int:
        """Judgements of one kind."""
        return sum(len(outcome.pairs[kind]) for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; pictures are left out."""
        return {
            "scene_id": self.scene_id,
            "asked": self.asked,
            "right": self.right,
            **{kind: self.count(kind) for kind in KINDS},
            "views": [view.name for view in self.views],
            "objects": [{"number": o.number, "look": o.words, "hidden": o.hidden} for o in self.objects],
            "predicates": {outcome.predicate: outcome.to_dict() for outcome in self.outcomes},
        }


def scene_example(
    scene: Scene,
    queries: Queries,
    truth: NDArray[np.bool_],
    answers: NDArray[np.int8],
    *,
    hidden: Sequence[float] | NDArray[np.float64] = (),
    attention: NDArray[np.float64] | None = None,
) -> SceneExample:
    """Gather and draw what is to be shown of a scene.

    Args:
        scene: The scene with its sightings, which tell where the numbers go; without them the views stay bare.
        queries: What the model was shown; its objects are the scene's, in the same order.
        truth: (n, n, 8) whether [subject, object, predicate] holds.
        answers: (n, n, 8) verdicts: 1, 0 or −1.
        hidden: Hidden share of each object in the scene's first view, NaN where unknown; may be empty.
        attention: (n, views, rows, columns) weights ≥ 0, as `attention_of` returns them.
    """
    frames = [frame_of(scene, scene.view(view.id)) for view in queries.views]
    names = [_words(look) for look in queries.appearance]
    heat = [()] * len(queries) if attention is None else [_heat(frames, weights) for weights in attention]
    shares = [*hidden] or [math.nan] * len(queries)
    objects = tuple(
        AskedObject(i + 1, names[i], _patch(patch), None if math.isnan(shares[i]) else float(shares[i]), heat[i])
        for i, patch in enumerate(queries.patches)
    )
    views = tuple(NumberedView(frame.view, _numbered(frame, names)) for frame in frames)
    return SceneExample(scene.id, views, objects, outcomes(truth, answers))


def _words(look: Mapping[str, str]) -> str:
    return " ".join(look[key] for key in _LOOKS if key in look).replace("_", " ") or "object"


def _numbered(frame: ImageFrame, names: Sequence[str]) -> str:
    """The photo with a disc and a number on every object that can be seen in it."""
    drawn = frame.scaled(_WIDTH / frame.size[0])
    bounds = (0.0, 0.0, *drawn.size)
    body = [picture(drawn, bounds)]
    if frame.image is None:
        body.append(text_line(_WIDTH / 2, drawn.size[1] - 14, "no picture", fill=MUTED, anchor="middle"))
    for i, spot in enumerate(spread([o.spot for o in drawn.objects], bounds)):
        if spot is not None:
            hidden = (drawn.objects[i].hidden or 0.0) >= 1
            title = f"{i + 1}: {names[i]}{', hidden' * hidden}"
            body.append(disc(spot, str(i + 1), WHITE, title, bold=True, hidden=hidden))
    said = "; ".join(f"{i + 1} {name}" for i, name in enumerate(names))
    return document(*drawn.size, f"{frame.scene}, view {frame.view}", said, *body)


def _patch(pixels: NDArray[np.uint8]) -> str:
    """The patch, enlarged in whole steps so that its pixels stay what they are."""
    return data_uri(Image.fromarray(pixels).resize((_PATCH, _PATCH), Image.Resampling.NEAREST), form="png")


def _heat(frames: Sequence[ImageFrame], weights: NDArray[np.float64]) -> tuple[SizedPicture, ...]:
    """One object's attention over each view that has a picture."""
    pictures = []
    for frame, share in zip(frames, scaled_heat(weights), strict=True):
        if frame.image is not None:
            drawn = heated(_small(frame.image), share)
            pictures.append(SizedPicture(data_uri(drawn), drawn.shape[1], drawn.shape[0]))
    return tuple(pictures)


def _small(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    shrunk = Image.fromarray(pixels)
    shrunk.thumbnail((_HEAT, _HEAT))
    return np.asarray(shrunk)


def attention_of(model: object, queries: Queries, name: str) -> NDArray[np.float64] | None:
    """The model's attention, (n, views, rows, columns); None where it has none to show.

    Raises:
        ModelError: It fails, or returns something else.
    """
    ask = getattr(model, "attention", None)
    if not callable(ask):
        return None
    with model_call(model, "attention"):
        given: Any = ask(queries)
    try:
        heat = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{name}: attention() must return numbers, not {type(given).__name__}") from None
    expected = (len(queries), len(queries.views))
    if heat.ndim != 4 or heat.shape[:2] != expected or 0 in heat.shape[2:]:
        raise ModelError(
            f"{name}: attention() returned shape {heat.shape}, "
            f"expected ({expected[0]}, {expected[1]}, rows, columns)"
        )
    if not np.isfinite(heat).all() or (heat.size and heat.min() < 0):
        raise ModelError(f"{name}: attention() returned a weight that is negative or no number")
    return heat


def heated(pixels: NDArray[np.uint8], heat: NDArray[np.float64], *, strength: float = 0.85) -> NDArray[np.uint8]:
    """The photo, almost grey, with the heat over it: unseen where there is none, ever paler and denser to 1.

    Args:
        pixels: (h, w, 3) sRGB.
        heat: (rows, columns) in [0, 1], stretched smoothly over the whole photo.
        strength: Opacity where the heat is 1.
    """
    high, wide = pixels.shape[:2]
    stretched = Image.fromarray(heat.astype(np.float32)).resize((wide, high), Image.Resampling.BILINEAR)
    share = np.clip(np.asarray(stretched, dtype=np.float64), 0, 1)[..., None]
    ground = pixels.astype(np.float64)
    ground += _GREY * (ground.mean(axis=2, keepdims=True) - ground)
    colour = np.where(share < 0.5, _mixed(_COLD, _WARM, 2 * share), _mixed(_WARM, _HOT, 2 * share - 1))
    return np.round(ground + strength * share * (colour - ground)).astype(np.uint8)


def scaled_heat(heat: NDArray[np.float64]) -> NDArray[np.float64]:
    """One object's attention over all views, (views, rows, columns), from 0 at its least to 1 at its most.

    All views share one scale, so that a view the model does not draw from stays cold. A floor that is everywhere
    tells nothing and would tint the whole picture; attention that is the same everywhere is all 0.

    >>> scaled_heat(np.array([[[2.0, 5.0]], [[1.0, 3.0]]])).tolist()
    [[[0.25, 1.0]], [[0.0, 0.5]]]
    """
    least, span = heat.min(), np.ptp(heat)
    scaled: NDArray[np.float64] = (heat - least) / span if span > 0 else np.zeros_like(heat)
    return scaled


def _mixed(a: NDArray[np.float64], b: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    return a + share * (b - a)
