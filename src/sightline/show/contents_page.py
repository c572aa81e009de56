"""What a dataset holds as tables and charts: for a page, and for a terminal its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np

from sightline.show.chart import SMALL, WIDTH, bars, heat_grid, histogram
from sightline.show.page import ExamPart, Figure, FigureRow, Page, Section
from sightline.show.table import Cell, Row, Table, percent
from sightline.store.contents import NO_MAJORITY, SHARES, Contents, Spread
from sightline.text import counted

_ROWS: Final = 12
_BARS: Final = 25


def contents_page(
    contents: Contents,
    splits: Mapping[str, Contents],
    title: str,
    made: str,
    facts: Sequence[tuple[str, str]] = (),
    command: str = "",
    more: Sequence[ExamPart] = (),
) -> Page:
    """A page of statistics.

    Args:
        contents: Of the whole dataset.
        splits: Of each split, where there are several.
        title: The dataset's name.
        made: When, ISO 8601 in UTC.
        facts: (name, value) in short of where the data is.
        command: Command line that does it again.
        more: Further parts, below.
    """
    part = ExamPart(
        "contents",
        "What is in it",
        facts=tuple(facts),
        sections=tuple(sections(contents)),
        commands=(command,) if command else (),
        document=contents.to_dict(),
    )
    table = overview(contents, splits)
    return Page(title, made, tuple(lead(contents)), table, (part, *more), kind="dataset statistics")


def lead(contents: Contents) -> Iterator[str]:
    """What the dataset holds in two sentences."""
    images = counted(contents.views, "image")
    scenes = "" if contents.views == contents.scenes else f"{counted(contents.scenes, 'scene')} in "
    kinds = counted(len(contents.categories), "category", "categories")
    yield f"{scenes}{images}, {counted(contents.objects, 'object')} of {kinds}."
    if contents.boxes:
        share = contents.box_shares
        covers = (
            "" if share is None else f"; half of the boxes cover less than {percent(share.median, 2)} of theirs"
        )
        yield f"An image has {contents.boxes / contents.views:.1f} boxes in the mean{covers}."


def overview(contents: Contents, splits: Mapping[str, Contents]) -> Table:
    """Counts, one column a split; what is nowhere is left out."""
    columns = {**splits, "all": contents} if splits else {"": contents}
    rows: dict[str, Callable[[Contents], int]] = {
        "scenes": lambda c: c.scenes,
        "images": lambda c: c.views,
        "with a picture": lambda c: c.pictures,
        "with a depth map": lambda c: c.depth_maps,
        "with a camera": lambda c: c.cameras,
        "objects": lambda c: c.objects,
        "categories": lambda c: len(c.categories),
        "boxes": lambda c: c.boxes,
        "visible masks": lambda c: c.masks["visible"],
        "amodal masks": lambda c: c.masks["amodal"],
        "viewpoints": lambda c: sum(c.viewpoints.values()),
        "relations": lambda c: sum(sum(of.values()) for of in c.relations.values()),
        "predicates": lambda c: len({name for of in c.relations.values() for name in of} - {NO_MAJORITY}),
        "relations with behind or front": _in_depth,
        "relations across two scenes": lambda c: c.across,
        "relations with votes": lambda c: c.voted,
    }
    made = {name: [value(of) for of in columns.values()] for name, value in rows.items()}
    return Table(
        "Contents",
        ("", *(name or "no split" for name in columns)) if splits else ("", "number"),
        tuple(Row(name, tuple(Cell(f"{n:,}") for n in counts)) for name, counts in made.items() if any(counts)),
    )


def _in_depth(contents: Contents) -> int:
    """Relations whose predicate has *behind* or *front* in its name, as the 2.5VRD paper's Table 3 counts them."""
    told = [(name, n) for of in contents.relations.values() for name, n in of.items()]
    return sum(n for name, n in told if "behind" in name or "front" in name)


def sections(contents: Contents) -> Iterator[Section]:
    """Tables and charts of everything that is there."""
    yield Section("images", "Images", content=tuple(_images(contents)))
    if contents.objects:
        yield Section("categories", "Categories", content=tuple(_categories(contents)))
    if contents.boxes:
        yield Section("boxes", "Boxes", content=tuple(_boxes(contents)))
    if contents.attributes:
        yield Section("attributes", "Attributes", content=tuple(_attributes(contents)))
    if contents.relations:
        yield Section("relations", "Relations", content=tuple(_relations(contents)))


def _images(contents: Contents) -> Iterator[Table | FigureRow]:
    yield _spreads("Sizes of images, pixels", {"width": contents.width, "height": contents.height}, "{:,.0f}")
    figures = []
    if contents.sizes.distinct > 1:
        figures.append(_bars("Commonest sizes", contents.sizes.commonest, contents.sizes.distinct, 10))
    if contents.boxes:
        title = "Boxes an image"
        drawn = histogram(contents.boxes_a_view, title=title, x_label="boxes", counted="image")
        figures.append(Figure(title, drawn))
    yield FigureRow("", tuple(figures))


def _categories(contents: Contents) -> Iterator[Table | FigureRow]:
    yield _counts("Commonest categories", "category", "objects", contents.categories, contents.objects)
    rows = [
        Row(
            _words(f"{t.first} · {t.second}"),
            (Cell(f"{t.scenes:,}"), Cell(percent(t.scenes / contents.scenes)), Cell(f"{t.lift:.1f}")),
        )
        for t in contents.together[:_ROWS]
    ]
    note = "Lift: how many times more scenes have both than if the two were independent."
    yield Table("Categories that go together", ("", "scenes", "of all scenes", "lift"), tuple(rows), note=note)
    yield from _company(contents)
    yield FigureRow("", (_bars("Objects by category", contents.categories),))
    ratios = contents.cooccurrence
    if len(ratios) > 2 and any(row[b] > 0.0 for a, row in ratios.items() for b in row if a != b):
        drawn = cooccurrence_grid(ratios, contents.class_scenes)
        note = (
            "NC(c, d) of the commonest classes, no stuff, no parts: of the scenes with c the share that also has d."
        )
        yield FigureRow("", (Figure("Which classes stand together", drawn, note),))


def _company(contents: Contents) -> Iterator[Table]:
    """Scenes of Full, Co-occur and Single: with any class, with two or more, with one."""
    counts = contents.classes_a_scene
    chosen = {
        "Full: one class or more": sum(n for k, n in counts.items() if k >= 1),
        "Co-occur: two or more": sum(n for k, n in counts.items() if k >= 2),
        "Single: one": counts.get(1, 0),
    }
    if chosen["Full: one class or more"]:
        yield _counts("Scenes by number of classes", "", "scenes", chosen, contents.scenes)


def cooccurrence_grid(ratios: Mapping[str, Mapping[str, float]], scenes: Mapping[str, int]) -> str:
    """Draw NC: of the scenes with a class, down, the share that also has another, across; with how many scenes."""
    names, title = list(ratios), "Normalised co-occurrence"
    values = np.array([list(row.values()) for row in ratios.values()])
    counts = np.array([[0 if a == b else scenes[a] for b in names] for a in names])
    short = [_words(name) for name in names]
    return heat_grid(values, counts, short, short, title, row_name="of scenes with", col_name="share that also has")


def _boxes(contents: Contents) -> Iterator[Table | FigureRow]:
    shares = {"share of the image": contents.box_shares, "hidden share of the object": contents.hidden}
    yield _spreads("Sizes of boxes", shares, "{:.2%}")
    yield _spreads("Shapes of boxes", {"width over height": contents.box_aspects}, "{:.2f}")
    yield _counts("Flags", "flag", "boxes", contents.flags, contents.boxes)
    figures = []
    if contents.box_share_bins:
        lows = ("0", *(f"{100 * end:g}" for end in SHARES))
        ends = [f"{low} to {100 * end:g} %" for low, end in zip(lows, SHARES, strict=False)]
        title = "Boxes by the share of the image they cover"
        figures.append(Figure(title, bars(ends, [float(n) for n in contents.box_share_bins.values()], title=title)))
    if contents.viewpoints:
        title = "Boxes by the azimuth their object is seen from"
        names = [f"{azimuth}°" for azimuth in contents.viewpoints]
        drawn = bars(names, [float(n) for n in contents.viewpoints.values()], title=title)
        figures.append(Figure(title, drawn, "0° is the front; each bar takes 45°."))
    yield FigureRow("", tuple(figures))


def _attributes(contents: Contents) -> Iterator[Table | FigureRow]:
    told = {name: of for name, of in contents.attributes.items() if of.distinct < max(of.total, 2)}
    rows = [
        Row(name, (Cell(f"{of.total:,}"), Cell(f"{of.distinct:,}"), Cell(", ".join(islice(of.commonest, 4)))))
        for name, of in islice(told.items(), _ROWS)
    ]
    columns = ("attribute", "objects", "values", "commonest")
    apart = [name for name in contents.attributes if name not in told]
    note = f"Different in every object that has one: {', '.join(apart)}." if apart else ""
    yield Table("Attributes", columns, tuple(rows), note=note, words=("commonest",))
    drawn = [_bars(name, of.commonest, of.distinct, _ROWS, SMALL) for name, of in told.items() if of.distinct > 1]
    yield FigureRow("", tuple(drawn[:6]), small=True)


def _relations(contents: Contents) -> Iterator[Table | FigureRow]:
    for aspect, predicates in contents.relations.items():
        total = sum(predicates.values())
        yield _counts(f"Relations: {aspect}", "predicate", "relations", predicates, total)
    figures = [_bars(aspect, predicates) for aspect, predicates in contents.relations.items()]
    title = "Relations a scene"
    drawn = histogram(contents.relations_a_scene, title=title, x_label="relations", counted="scene")
    yield FigureRow("", (*figures, Figure(title, drawn)))


def _spreads(title: str, spreads: Mapping[str, Spread | None], form: str) -> Table:
    rows = [
        Row(
            name,
            tuple(
                Cell(form.format(value).replace("%", " %"))
                for value in (s.mean, s.least, s.p5, s.median, s.p95, s.greatest)
            ),
        )
        for name, s in spreads.items()
        if s is not None
    ]
    return Table(title, ("", "mean", "least", "5 %", "median", "95 %", "greatest"), tuple(rows))


def _counts(title: str, what: str, of: str, counts: Mapping[str, int], total: int) -> Table:
    rows = [
        Row(_words(name), (Cell(f"{n:,}"), Cell(percent(n / total)))) for name, n in islice(counts.items(), _ROWS)
    ]
    rest = len(counts) - len(rows)
    note = f"and {rest:,} more, {sum(islice(counts.values(), _ROWS, None)):,} {of} together" if rest else ""
    return Table(title, (what, of, "share"), tuple(rows), note=note)


def _bars(
    title: str, counts: Mapping[str, int], distinct: int = 0, most: int = _BARS, width: float = WIDTH
) -> Figure:
    shown = dict(islice(counts.items(), most))
    uneven = len(shown) > 1 and max(shown.values()) > 100 * max(1, min(shown.values()))
    names, values = [_words(name) for name in shown], [float(n) for n in shown.values()]
    drawn = bars(names, values, log=uneven, title=title, width=width)
    rest = max(distinct, len(counts)) - len(shown)
    note = f"{len(shown)} commonest of {len(shown) + rest:,}." if rest else ""
    return Figure(title, drawn, note + (" The scale is logarithmic." if uneven else ""))


def _words(name: str) -> str:
    return name.replace("_", " ")
