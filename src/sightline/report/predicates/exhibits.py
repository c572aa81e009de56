"""One scene on show: its views, the patches a model was asked about, and what became of its judgements."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import DataError
from sightline.report.contact.exhibit import exhibit
from sightline.report.contact.panel import spread
from sightline.report.predicates.attention import heated, scaled_heat
from sightline.report.predicates.outcomes import KINDS, Kind, Outcome, outcomes
from sightline.scenes import Scene, View
from sightline.show.svg import document, element, hover, text_line
from sightline.skills import Queries

_WIDTH: Final = 480.0
"""Units across a view, whatever its pixels, so that the numbers on it are of one size."""

_PATCH: Final = 96
_DARK: Final = "#10141a"
_HEAT: Final = 240
_LOOKS: Final = ("size", "color", "material", "shape")


@dataclass(frozen=True, slots=True)
class Asked:
    """An object a model was asked about.

    Attributes:
        number: From 1, in the scene's order; what the sentences call it.
        words: Its look: ``small brown metal cube``.
        patch: Its canonical view as a ``data:`` URI.
        hidden: Its hidden share in the first view; None where nothing tells.
        heat: A ``data:`` URI a view with the model's attention for it laid over; empty without attention.
    """

    number: int
    words: str
    patch: str = field(repr=False)
    hidden: float | None = None
    heat: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Shown:
    """A view with the objects' numbers on it, as SVG markup."""

    name: str
    svg: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SceneExhibit:
    """All there is to show of one scene and one model's answers on it.

    Attributes:
        scene_id: The scene.
        views: In the order the model saw them.
        objects: What it was asked about.
        outcomes: One a predicate.
    """

    scene_id: str
    views: tuple[Shown, ...]
    objects: tuple[Asked, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def asked(self) -> int:
        """Judgements in all."""
        return sum(found.asked for found in self.outcomes)

    @property
    def right(self) -> int:
        """Judgements that are right."""
        return sum(found.right for found in self.outcomes)

    @property
    def wrong(self) -> int:
        """Judgements that are not right, unknown ones included."""
        return self.asked - self.right

    def count(self, kind: Kind) -> int:
        """Judgements of one kind."""
        return sum(len(found.pairs[kind]) for found in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; pictures are left out."""
        return {
            "scene_id": self.scene_id,
            "asked": self.asked,
            "right": self.right,
            **{kind: self.count(kind) for kind in KINDS},
            "views": [view.name for view in self.views],
            "objects": [{"number": o.number, "look": o.words, "hidden": o.hidden} for o in self.objects],
            "predicates": {found.predicate: found.to_dict() for found in self.outcomes},
        }


def scene_exhibit(
    scene: Scene,
    queries: Queries,
    truth: NDArray[np.bool_],
    answers: NDArray[np.int8],
    *,
    hidden: Sequence[float] | NDArray[np.float64] = (),
    attention: NDArray[np.float64] | None = None,
) -> SceneExhibit:
    """Gather what is to be shown of a scene.

    Args:
        scene: The scene with its sightings, which tell where the numbers go; without them the views stay bare.
        queries: What the model was shown; its objects are the scene's, in the same order.
        truth: (n, n, 8) whether [subject, object, predicate] holds.
        answers: (n, n, 8) verdicts: 1, 0 or −1.
        hidden: Hidden share of each object in the scene's first view, NaN where unknown; may be empty.
        attention: (n, views, rows, columns) weights ≥ 0, as `attention_of` returns them.
    """
    pictures = [_pixels(view) for view in queries.views]
    words = [_words(look) for look in queries.looks]
    heat = [_heat(pictures, own) for own in attention] if attention is not None else [()] * len(queries)
    shares = [*hidden] or [math.nan] * len(queries)
    objects = tuple(
        Asked(i + 1, words[i], _patch(patch), None if math.isnan(shares[i]) else float(shares[i]), heat[i])
        for i, patch in enumerate(queries.patches)
    )
    views = tuple(_view(scene, view, words, pixels) for view, pixels in zip(queries.views, pictures, strict=True))
    return SceneExhibit(scene.id, views, objects, outcomes(truth, answers))


def _words(look: Mapping[str, str]) -> str:
    return " ".join(look[key] for key in _LOOKS if key in look).replace("_", " ") or "object"


def _pixels(view: View) -> NDArray[np.uint8] | None:
    try:
        return None if view.load_image is None else view.image()
    except DataError:
        return None  # a lost photo must not cost the reader the report


def _view(scene: Scene, view: View, words: Sequence[str], pixels: NDArray[np.uint8] | None) -> Shown:
    """The photo with a disc and a number on every object that can be seen in it."""
    told = exhibit(scene, scene.view(view.id), depth=False)
    scale = _WIDTH / told.size[0]
    high = told.size[1] * scale
    spots = [t.spot and (t.spot[0] * scale, t.spot[1] * scale) for t in told.things]
    size = {"width": _WIDTH, "height": high}
    body = [element("rect", **size, fill="var(--soft, #f4f5f6)")]
    if pixels is None:
        body.append(text_line(_WIDTH / 2, high - 14, "no picture", fill="var(--muted)", anchor="middle"))
    else:
        body.append(element("image", href=_uri(pixels, 640), **size))
    for i, spot in enumerate(spread(spots, (round(_WIDTH), round(high)))):
        if spot is not None:
            body.append(_disc(i + 1, words[i], spot, hidden=(told.things[i].hidden or 0.0) >= 1))
    said = "; ".join(f"{i + 1} {w}" for i, w in enumerate(words))
    return Shown(view.id, document(_WIDTH, high, f"{scene.id}, view {view.id}", said, *body))


def _disc(number: int, words: str, spot: tuple[float, float], *, hidden: bool) -> str:
    """A number on an object; dashed and faint where nothing of the object can be seen."""
    x, y = spot
    ink = {"fill_opacity": 0.55, "stroke_dasharray": "3 2"} if hidden else {"fill_opacity": 0.92}
    disc = element(
        "circle",
        hover(f"{number}: {words}{', hidden' * hidden}"),
        cx=float(x),
        cy=float(y),
        r=9.5,
        fill="#ffffff",
        stroke=_DARK,
        stroke_width=1.2,
        **ink,
    )
    return disc + text_line(x, y + 4.4, number, size=12.5, fill=_DARK, anchor="middle", bold=True)


def _patch(pixels: NDArray[np.uint8]) -> str:
    """The patch, enlarged in whole steps so that its pixels stay what they are."""
    picture = Image.fromarray(pixels)
    picture = picture.resize((_PATCH, _PATCH), Image.Resampling.NEAREST)
    return _encoded(picture, "png")


def _heat(pictures: Sequence[NDArray[np.uint8] | None], own: NDArray[np.float64]) -> tuple[str, ...]:
    """One object's attention over each view that has a picture."""
    shares = scaled_heat(own)
    return tuple(
        _uri(heated(_small(pixels, _HEAT), share), _HEAT)
        for pixels, share in zip(pictures, shares, strict=True)
        if pixels is not None
    )


def _small(pixels: NDArray[np.uint8], longest: int) -> NDArray[np.uint8]:
    picture = Image.fromarray(pixels)
    picture.thumbnail((longest, longest))
    return np.asarray(picture)


def _uri(pixels: NDArray[np.uint8], longest: int) -> str:
    return _encoded(Image.fromarray(_small(pixels, longest)), "jpeg", quality=82, optimize=True)


def _encoded(picture: Image.Image, form: str, **options: Any) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, format=form, **options)
    return f"data:image/{form};base64," + base64.b64encode(buffer.getvalue()).decode()
