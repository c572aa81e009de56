"""Contact sheets as HTML pages: layers to turn on and off, views to search, filter and sort."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from statistics import fmean
from typing import Any, Final

from markupsafe import Markup
from PIL import Image

from sightline.show.drawing import LAYERS, crowded, layers, ramp_stops
from sightline.show.frame import ImageFrame
from sightline.show.markup import part_style, render_part
from sightline.show.raster import data_uri, depth_picture, depth_range
from sightline.show.svg import element, number

VIEWS_A_PAGE: Final = 200
"""More go on another page, so that neither memory nor the reader's browser pays for a large sheet."""

_HIGH: Final = 300.0
"""Units down every drawing, whatever its pixels: views of a row are equally high, so labels are of one size."""
_SHAPES: Final = (0.5, 3.0)
"""Width over height of the tallest and the widest frame; a picture beyond them stands in it smaller."""


def html_pages(
    frames: Iterable[ImageFrame],
    heads: tuple[str, str],
    on: Collection[str],
    names: Callable[[int], str],
    *,
    columns: int | None = None,
) -> Iterator[bytes]:
    """Write HTML files that need nothing else, one after the other.

    Args:
        frames: The views.
        heads: Title and subtitle.
        on: Layers that are turned on when the page opens.
        names: Number of a page, from 0 → its file name, for links between pages.
        columns: About how many views stand side by side; by default as many as fit.
    """
    style, script = (part_style("sightline.show", f"sheet.{kind}") for kind in ("css", "js"))
    rest, page = iter(frames), 0
    cards = list(map(_card, islice(rest, VIEWS_A_PAGE)))
    while True:
        coming = next(rest, None)
        text = render_part(
            "sightline.show",
            "sheet.html.j2",
            heads=heads,
            cards=cards,
            columns=columns,
            shape=fmean(card["shape"] for card in cards) if cards else 1.0,
            before=names(page - 1) if page else "",
            after=names(page + 1) if coming else "",
            style=style,
            script=Markup(script),  # noqa: S704 - our own file
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            toggles=[
                (name, words.capitalize(), name in on)
                for name, words in LAYERS.items()
                if name != "none" and any(card["has"][name] for card in cards)
            ],
            choices=_choices(cards),
            sized=any(shares for card in cards for shares in card["facts"]["sizes"].values()),
            gradient=f"linear-gradient(to right, {', '.join(ramp_stops())})",
        )
        yield text.encode("utf-8", errors="replace")
        if coming is None:
            return
        cards, page = [_card(coming), *map(_card, islice(rest, VIEWS_A_PAGE - 1))], page + 1


def _card(frame: ImageFrame) -> dict[str, Any]:
    """What the template shows of one view."""
    span = None if frame.depth is None else depth_range(frame.depth)
    wide, high = frame.size
    shown = frame.scaled(min(_HIGH / high, _HIGH * _SHAPES[1] / wide))
    groups = [element("g", marks, class_=name) for name, marks in layers(shown, live=True).items()]
    view_box = f"0 0 {number(shown.size[0])} {number(shown.size[1])}"
    depth = None if frame.depth is None or span is None else depth_picture(frame.depth, *span)
    facts = _facts(frame)
    return {
        "frame": replace(frame, image=None, depth=None),  # pixels of a whole page would not fit into memory
        "photo": None if frame.image is None else data_uri(frame.image, longest=960),
        "depth": depth and data_uri(depth, longest=960, form="png", resample=Image.Resampling.NEAREST),
        "span": span,
        "shape": round(min(max(wide / high, _SHAPES[0]), _SHAPES[1]), 4),
        "crowded": crowded(shown),
        "overlay": element("svg", *groups, viewBox=view_box, aria_hidden="true") if groups else "",
        "has": {name: frame.has(name) for name in LAYERS},
        "facts": facts,
        "json": json.dumps(facts, ensure_ascii=False, separators=(",", ":")),
    }


def _facts(frame: ImageFrame) -> dict[str, Any]:
    """What a view is searched, filtered and sorted by.

    ``sizes`` is category → shares of the image that its boxes cover; empty where nobody told the image's size.
    """
    sizes: dict[str, list[float]] = {}
    whole = frame.size[0] * frame.size[1]
    for o in frame.objects:
        boxes = sizes.setdefault(o.category, [])
        if o.box is not None and (frame.sized or frame.fractions):
            boxes.append(round((o.box[2] - o.box[0]) * (o.box[3] - o.box[1]) / whole, 6))
    relations = Counter(arrow.predicate for arrow in frame.arrows) + Counter(frame.others)
    flags = sorted({flag for o in frame.objects for flag in o.flags})
    words = [frame.scene, frame.view, frame.split, *(o.words for o in frame.objects), *relations, *flags]
    return {
        "text": " ".join(dict.fromkeys(words)).replace("_", " ").lower(),
        "boxes": sum(o.box is not None for o in frame.objects),
        "sizes": sizes,
        "relations": dict(relations),
        "flags": flags,
    }


def _choices(cards: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[str, int]]]:
    """What can be chosen of a page: field → values with the number of views that have each, commonest first."""
    counts = {
        name: Counter(value for card in cards for value in card["facts"][key])
        for name, key in (("category", "sizes"), ("relation", "relations"), ("flag", "flags"))
    }
    return {name: sorted(of.items(), key=lambda one: (-one[1], one[0])) for name, of in counts.items() if of}
