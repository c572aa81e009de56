"""Contact sheets: many views at a glance, with what is known of them laid over, as PNG or as HTML.

>>> panels("boxes+ids,depth")
(('boxes', 'ids'), ('depth',))
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from PIL import Image

from sightline.errors import ConfigError, DataError
from sightline.hints import hint
from sightline.scenes import Scene, View
from sightline.show.drawing import LAYERS, layers, scale_bar
from sightline.show.frame import Arrow, ImageFrame, Point, frame_of, has_layer
from sightline.show.raster import depth_picture, depth_range, measure, png, raster
from sightline.show.sheet_page import html_pages
from sightline.show.svg import GROUND, INK, MUTED, RULE, line, rect, shorten, text_line
from sightline.store import Dataset, atomic_write
from sightline.store.selection import EVERYTHING, Selection, select
from sightline.text import counted

MARGIN: Final = 32
GUTTER: Final = 10
GAP: Final = 32
"""Between views, pixels; GUTTER is between the panels of one view."""

HEADER: Final = 64
TALLEST: Final = 12_000
"""Pixels of one PNG's height: more rows go into another, so that memory does not grow with the sheet."""

ACROSS: Final = 2080
STRETCH: Final = 2.0
"""Height over width of the tallest panel; a picture that is taller stands in it smaller."""

_USUAL: Final = (("boxes",), ("masks", "amodal"), ("depth",), ("stuff",), ("relations",))
_SAMPLE: Final = 8
_TOP: Final = 34
_LINE: Final = 18
_MOST_LINES: Final = 16
_LEVEL: Final = 3  # half the time of the usual 6 for photos, files 5 % larger

Panels = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ContactSheet:
    """What a contact sheet shows and where it was written."""

    files: tuple[Path, ...]
    scenes: int
    views: int
    panels: Panels
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "written": [str(file) for file in self.files],
            "scenes": self.scenes,
            "views": self.views,
            "overlays": ["+".join(layers) for layers in self.panels],
            "notes": list(self.notes),
        }


def panels(text: str) -> Panels:
    """Read panels from words: a comma begins another panel, a plus lays another layer over the same one.

    >>> panels("box")
    Traceback (most recent call last):
    sightline.errors.ConfigError: unknown overlay 'box', did you mean 'boxes'?
    """
    made = []
    for part in text.split(","):
        names = tuple(name.strip() for name in part.split("+"))
        for name in names:
            if name not in LAYERS:
                raise ConfigError(f"unknown overlay {name!r}{hint(name, LAYERS)}")
        made.append(names)
    return tuple(made)


def contact_sheet(
    data: Dataset,
    out: str | Path,
    *,
    overlay: str = "",
    scenes: int = 24,
    ids: Sequence[str] = (),
    split: str = "",
    views: Sequence[str] = (),
    columns: int | None = None,
    width: int = 480,
    wanted: Selection = EVERYTHING,
) -> ContactSheet:
    """Draw scenes of a dataset onto a sheet.

    Memory is bounded: pixels are loaded view by view, and a sheet too tall for one file goes on in
    ``<name>-2.png``, ``<name>-3.png`` and so on. All files appear together when the last is done.

    Args:
        data: Any dataset; views without a picture are drawn on a blank.
        out: ``*.png``, or ``*.html`` for a page on which layers can be turned on and off.
        overlay: See `panels`; by default whatever there is among boxes, masks, depth, stuff and relations.
        scenes: How many, from the first.
        ids: Show these scenes instead.
        split: Of one split only.
        views: Names of the views to show; by default all.
        columns: Views side by side; by default as many as fit. On a page about so many.
        width: Width of a panel of a PNG, pixels.
        wanted: Which scenes by what is in them, and in which order; not with `ids`.

    Raises:
        ConfigError: For an overlay, view or file type that does not exist.
        DataError: For a scene that does not exist, or where there is nothing to show.
    """
    path = Path(out)
    kind = path.suffix.lower()
    if kind not in (".png", ".html", ".htm"):
        raise ConfigError(f"a contact sheet is a .png or .html file, not {path.name!r}")
    given = panels(overlay) if overlay else None
    found = found_scenes(data, ids, wanted, split)
    total = len(data) if ids or found is None else len(found)
    shown = len(ids) or min(scenes, total)
    subtitle = f"{shown:,} of {total:,} scenes" + (" that fit" if found and not ids else "")
    if split and found is None:
        subtitle = f"up to {shown:,} scenes of {split}"

    def chosen() -> Iterator[tuple[Scene, View]]:
        return chosen_views(data, found, None if ids else scenes, split, views)

    plan = SheetPlan(given or _usual(chosen()), width, columns, data.source or data.path.name, subtitle)
    layered = {name: kind != ".png" or any(name in names for names in plan.panels) for name in ("depth", "stuff")}
    drawn: list[tuple[str, tuple[str, ...]]] = []  # scene and notes of every view

    def frames() -> Iterator[ImageFrame]:
        for scene, view in chosen():
            frame = frame_of(scene, view, **layered)
            drawn.append((frame.scene, frame.notes))
            yield frame

    if kind == ".png":
        made = png_pages(frames(), plan)
    else:
        on = {name for names in given or (("boxes",),) for name in names}
        heads = (plan.title, subtitle)
        made = html_pages(frames(), heads, on, lambda page: _numbered(path, page).name, columns=columns)
    written = publish(made, path)
    notes = tuple(note for _, some in drawn for note in some)
    return ContactSheet(written, len({scene for scene, _ in drawn}), len(drawn), plan.panels, notes)


def found_scenes(data: Dataset, ids: Sequence[str], wanted: Selection, split: str) -> list[str] | None:
    """Ids of the scenes that were asked for by id or by what is in them; None where all were.

    Raises:
        ConfigError: Both ways at once.
        DataError: No scene has all that was asked for.
    """
    if ids and wanted != EVERYTHING:
        raise ConfigError("scenes are chosen by id or by what is in them, not both")
    found = list(ids) if ids else None if wanted == EVERYTHING else select(data, wanted, split)
    if found == []:
        raise DataError("no scene has all that was asked for", file=data.path)
    return found


def chosen_views(
    data: Dataset, found: list[str] | None, most: int | None, split: str, views: Sequence[str]
) -> Iterator[tuple[Scene, View]]:
    """The wanted views, or all, of so many scenes at most of those found; an error where there is none."""
    scenes = data.scenes(split or None) if found is None else map(data.scene, found)
    return _views(islice(scenes, most), views, data.path)


def _views(scenes: Iterable[Scene], wanted: Sequence[str], path: Path) -> Iterator[tuple[Scene, View]]:
    """The wanted views of scenes, or all; an error where there is none."""
    seen: dict[str, None] = {}
    nothing = True
    for scene in scenes:
        seen.update(dict.fromkeys(view.id for view in scene.views))
        for view in scene.views:
            if not wanted or view.id in wanted:
                nothing = False
                yield scene, view
    if nothing and seen:
        raise ConfigError(f"no scene has a view {', '.join(wanted)} (there are {', '.join(seen)})")
    if nothing:
        raise DataError("there is no scene to show", file=path)


def _usual(chosen: Iterator[tuple[Scene, View]]) -> Panels:
    """The usual panels less the layers for which the first views have nothing."""
    missing = {name for names in _USUAL for name in names}
    for scene, view in islice(chosen, _SAMPLE):
        missing = {name for name in missing if not has_layer(scene, view, name)}
        if not missing:
            break
    usual = (tuple(name for name in names if name not in missing) for names in _USUAL)
    return tuple(names for names in usual if names) or (("none",),)


def _numbered(path: Path, page: int) -> Path:
    return path if page == 0 else path.with_stem(f"{path.stem}-{page + 1}")


def publish(made: Iterable[bytes], path: Path) -> tuple[Path, ...]:
    """Write the files under hidden names, then give all of them their own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged: list[Path] = []
    token = secrets.token_hex(6)
    try:
        for page, content in enumerate(made):
            final = _numbered(path, page)
            staged.append(final.with_name(f".{final.name}.{token}.tmp"))
            atomic_write(staged[-1], content)
        written = tuple(_numbered(path, page) for page in range(len(staged)))
        for temporary, final in zip(staged, written, strict=True):
            temporary.replace(final)
    finally:
        for temporary in staged:
            temporary.unlink(missing_ok=True)
    return written


@dataclass(frozen=True, slots=True)
class SheetPlan:
    """How a sheet is laid out: layers of each panel, panel width in pixels, views side by side; and its words."""

    panels: Panels
    width: int = 480
    columns: int | None = None
    title: str = ""
    subtitle: str = ""

    @property
    def across(self) -> int:
        """Views side by side: as told, or as many as fit `ACROSS` pixels."""
        return self.columns or max(1, (ACROSS - 2 * MARGIN + GAP) // (self.cell + GAP))

    @property
    def cell(self) -> int:
        """Width of one view's panels together."""
        return len(self.panels) * (self.width + GUTTER) - GUTTER


def panel(frame: ImageFrame, names: Sequence[str], width: int) -> Image.Image:
    """Draw a view with the layers laid over it: `width` pixels wide, or less where it would be too tall."""
    scale = min(width / frame.size[0], STRETCH * width / frame.size[1])
    size = (max(1, round(frame.size[0] * scale)), max(1, round(frame.size[1] * scale)))
    span = depth_range(frame.depth) if "depth" in names and frame.depth is not None else None
    base, ground = _base(frame, names, size, span or (0.0, 1.0))
    wanted = {*names, "ids"} if "relations" in names else set(names)  # arrows need ends
    marks = ground + "".join(layers(frame.scaled(scale), wanted).values())
    drawn = raster(marks, size, [] if base is None else [(base, (0, 0))])
    if span is not None:
        corner = (0, max(0, size[1] - 48), min(size[0], 200), size[1])  # to rasterise no more than it needs
        foot = drawn.crop(corner)
        drawn.paste(raster(scale_bar(span, foot.size), foot.size, [(foot, (0, 0))]), (0, size[1] - foot.height))
    return drawn


def _base(
    frame: ImageFrame, names: Sequence[str], size: tuple[int, int], span: Point
) -> tuple[Image.Image | None, str]:
    """The pixels of a panel, or else a blank."""
    if "depth" in names and frame.depth is not None:
        coloured = depth_picture(frame.depth, *span).convert("RGB")
        return coloured.resize(size, Image.Resampling.BILINEAR), ""
    if frame.image is not None:
        picture = Image.fromarray(frame.image).resize(size, Image.Resampling.LANCZOS)
        if {"masks", "amodal", "stuff"} & set(names):  # almost without colour, so that those laid over show
            picture = Image.blend(picture, picture.convert("L").convert("RGB"), 0.85)
        return picture, ""
    ground = rect(0.5, 0.5, size[0] - 1, size[1] - 1, fill=GROUND, stroke=RULE)
    missing = "no depth map" if tuple(names) == ("depth",) else ""
    return None, ground + text_line(size[0] / 2, size[1] - 10, missing, fill=MUTED, anchor="middle")


def png_pages(frames: Iterable[ImageFrame], plan: SheetPlan) -> Iterator[bytes]:
    """Draw PNG files, one after the other; in memory is one file's pixels.

    Views fill columns, each the one that is shortest by then, so that none leaves a hole beside a taller one.
    """
    placed: list[tuple[Image.Image, int, int]] = []  # a view's drawing, its column, its top
    feet = [HEADER] * plan.across
    for frame in frames:
        cell = _cell(frame, plan)
        column = feet.index(min(feet))
        if placed and feet[column] + cell.height + GAP > TALLEST:
            yield _page(placed, plan)
            placed, feet, column = [], [HEADER] * plan.across, 0
        placed.append((cell, column, feet[column]))
        feet[column] += cell.height + GAP
    yield _page(placed, plan)


def _page(placed: Sequence[tuple[Image.Image, int, int]], plan: SheetPlan) -> bytes:
    wide = 2 * MARGIN + plan.across * (plan.cell + GAP) - GAP
    room = wide - 2 * MARGIN
    title = shorten(plan.title, room, 24)
    after = room - measure(title, 24) - 16
    words = text_line(MARGIN, 44, title, size=24)
    if after > 60:
        words += text_line(wide - MARGIN - after, 44, shorten(plan.subtitle, after, 15), size=15, fill=MUTED)
    foot = max((top + cell.height for cell, _, top in placed), default=HEADER)
    sheet = Image.new("RGB", (wide, foot + MARGIN), "#ffffff")
    sheet.paste(raster(words, (wide, HEADER)))
    for cell, column, top in placed:
        sheet.paste(cell, (MARGIN + column * (plan.cell + GAP), top))
    return png(sheet, level=_LEVEL)


def _cell(frame: ImageFrame, plan: SheetPlan) -> Image.Image:
    """A view: what it is, a rule, its panels with their titles, and beneath them its relations in words."""
    drawn = [panel(frame, names, plan.width) for names in plan.panels]
    listed = any("relations" in names for names in plan.panels)
    arrows, rest = _lines(frame) if listed else ((), "")
    rows = -(-len(arrows) // len(drawn))
    lines = rows + bool(rest)
    words = []
    for i, names in enumerate(plan.panels):
        left = i * (plan.width + GUTTER)
        words.append(text_line(left, 17, ", ".join(LAYERS[name] for name in names), size=13, fill=MUTED))
        for k, arrow in enumerate(arrows[i * rows : (i + 1) * rows]):
            words.append(_sentence(frame, arrow, (left, 23 + _LINE * (k + 1)), plan.width))
    words.append(text_line(0, 23 + _LINE * lines, shorten(rest, plan.cell, 13), size=13, fill=MUTED))
    foot = raster("".join(words), (plan.cell, 24 + (6 + _LINE * lines if lines else 0)))
    high = max(one.height for one in drawn)
    cell = Image.new("RGB", (plan.cell, _TOP + high + foot.height), "#ffffff")
    cell.paste(raster(_heading(frame, plan.cell), (plan.cell, _TOP)))
    for i, one in enumerate(drawn):
        cell.paste(one, (i * (plan.width + GUTTER) + (plan.width - one.width) // 2, _TOP))
    cell.paste(foot, (0, _TOP + high))
    return cell


def _heading(frame: ImageFrame, wide: int) -> str:
    objects = len(frame.objects)
    facts = ["" if frame.view == "0" else frame.view, counted(objects, "object"), frame.split]
    if frame.image is None:
        facts.append("picture unreadable" if frame.notes else "no picture" + ", size unknown" * (not frame.sized))
    right = " · ".join(fact for fact in facts if fact)
    name = shorten(frame.scene, wide, 16)
    words = text_line(0, 18, name, size=16)
    if measure(name, 16) + measure(right, 13) + 16 <= wide:
        words += text_line(wide, 18, right, size=13, fill=MUTED, anchor="end")
    return words + line(0, 26.5, wide, 26.5)


def _lines(frame: ImageFrame) -> tuple[Sequence[Arrow], str]:
    """The relations that are told one by one, and a line about the rest."""
    more = len(frame.arrows) - _MOST_LINES
    rest = [f"{more} more drawn"] if more > 0 else []
    rest += [f"{count} {word.replace('_', ' ')}" for word, count in frame.others.items()]
    return frame.arrows[:_MOST_LINES], "and " + ", ".join(rest) if rest else ""


def _sentence(frame: ImageFrame, arrow: Arrow, place: Point, room: int) -> str:
    x, y = place
    dash = rect(x, y - 7, 14, 4, rx=2, fill=arrow.colour)
    ends = [frame.objects[end] for end in (arrow.subject, arrow.object)]
    subject, other = (f"{o.tag} {o.category.replace('_', ' ')}" for o in ends)
    words = f"{subject}  {arrow.predicate.replace('_', ' ')}  {other}"
    return dash + text_line(x + 22, y, shorten(words, room - 22, 13), size=13, fill=INK)
