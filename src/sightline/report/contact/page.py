"""A contact sheet as one or more HTML pages that need nothing else."""

from __future__ import annotations

import base64
import io
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from typing import Any, Final

import numpy as np
from markupsafe import Markup
from PIL import Image

from sightline.report.contact.colours import UNKNOWN_DEPTH, css, depth_range, kind_colour, ramp
from sightline.report.contact.exhibit import Exhibit
from sightline.report.contact.overlay import hatches, overlay
from sightline.report.pages import environment

VIEWS_A_PAGE: Final = 200
"""More go on another page, so that neither memory nor the reader's browser pays for a large sheet."""

TOGGLES: Final = {
    "boxes": "Boxes",
    "masks": "Visible masks",
    "amodal": "Hidden parts",
    "depth": "Depth",
    "relations": "Relations",
    "ids": "Ids",
}
_LONGEST: Final = 960

_TEMPLATES: Final = environment("sightline.report.contact")


@dataclass(frozen=True, slots=True)
class Links:
    """Names of the pages before and after this one, beside it; empty where there is none."""

    before: str = ""
    after: str = ""


def pages(
    shown: Iterable[Exhibit], on: Collection[str], columns: int | None, title: str, subtitle: str, names: Any
) -> Iterator[bytes]:
    """HTML files, one after the other.

    Args:
        shown: The views.
        on: Layers that are turned on when the page opens.
        columns: Views side by side; by default as many as fit.
        title: Of the sheet.
        subtitle: What is shown.
        names: Number of a page, from 0 → its file name, for links between pages.
    """
    template = _TEMPLATES.get_template("contact.html.j2")
    style = files("sightline.report.contact").joinpath("templates", "contact.css").read_text(encoding="utf-8")
    rest, number = iter(shown), 0
    cards = list(map(_card, islice(rest, VIEWS_A_PAGE)))
    while True:
        coming = next(rest, None)
        links = Links(names(number - 1) if number else "", names(number + 1) if coming else "")
        there = [name for name in TOGGLES if any(card["has"][name] for card in cards)]
        text = template.render(
            title=title,
            subtitle=subtitle,
            cards=cards,
            columns=columns,
            links=links,
            style=style,
            toggles=[(name, TOGGLES[name], name in on) for name in there],
            hatches=hatches(),
            gradient=_gradient(),
            drawn=Markup,
        )
        yield text.encode("utf-8", errors="replace")
        if coming is None:
            return
        cards, number = [_card(coming), *map(_card, islice(rest, VIEWS_A_PAGE - 1))], number + 1


def _card(shown: Exhibit) -> dict[str, Any]:
    span = None if shown.depth is None else depth_range(shown.depth)
    things = shown.things
    return {
        "scene": shown.scene,
        "view": shown.view,
        "split": shown.split,
        "size": shown.size,
        "sized": shown.sized,
        "notes": shown.notes,
        "photo": None if shown.image is None else _uri(Image.fromarray(shown.image), "JPEG", quality=85),
        "depth": None if shown.depth is None or span is None else _depth(shown.depth, *span),
        "span": span,
        "overlay": overlay(shown),
        "has": {name: shown.has(name) for name in TOGGLES},
        "things": [(t.tag, t.words, css(t.colour), t.hidden) for t in things],
        "links": [
            (things[k.subject], k.predicate.replace("_", " "), things[k.object], css(kind_colour(k.predicate)))
            for k in shown.links
        ],
        "others": [(word.replace("_", " "), count) for word, count in shown.others.items()],
    }


def _depth(depth: Any, near: float, far: float) -> str:
    """The map as a PNG with a palette: 255 steps from near to far, the last colour for unknown."""
    share = np.clip(np.nan_to_num((depth - near) / max(far - near, 1e-9)), 0, 1)
    steps = np.where(np.isfinite(depth), np.round(share * 254), 255).astype(np.uint8)
    picture = Image.fromarray(steps, mode="P")
    picture.putpalette(np.vstack((ramp()[:255], [UNKNOWN_DEPTH])).astype(np.uint8).tobytes())
    return _uri(picture, "PNG", resample=Image.Resampling.NEAREST, optimize=True)


def _uri(picture: Image.Image, form: str, resample: Any = Image.Resampling.LANCZOS, **options: Any) -> str:
    picture.thumbnail((_LONGEST, _LONGEST), resample)
    buffer = io.BytesIO()
    picture.save(buffer, format=form, **options)
    return f"data:image/{form.lower()};base64," + base64.b64encode(buffer.getvalue()).decode()


def _gradient() -> str:
    stops = [css((int(r), int(g), int(b))) for r, g, b in ramp()[:: 255 // 5]]
    return "linear-gradient(to right, " + ", ".join(stops) + ")"
