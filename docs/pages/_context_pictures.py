"""Charts of the context page's figures, and rows of generated scenes under fills."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image

import _context_instrument as instrument
from _context_card import METHODS, ORDER, ROAD
from _context_photos import FILLS
from sightline.exams.context.counts import ContextRecords
from sightline.exams.context.drawing import outlined
from sightline.exams.context.items import Edit, Edits
from sightline.exams.scoring import RunResult
from sightline.show.curves import DrawnPoint, point_chart
from sightline.show.raster import raster
from sightline.show.svg import INK, MUTED, text_line
from sightline.show.xy import Kind, Point, Series, by_part, xy_chart
from sightline.stats import Interval

GAP, HEAD, FOOT = 8, 20, 24
"""Pixels between panels, above and below them."""
LOUDEST = 3
"""Rows of pictures of violations."""

TAUGHT: dict[tuple[str, str], tuple[str, Kind]] = {
    ("light", "full"): ("MobileNet, Full", "baseline"),
    ("light", "cooccur"): ("… Co-occur", "rival"),
    ("vgg", "full"): ("VGG-19, Full", "model"),
}
"""Classifiers by network and what they learned from, as a chart calls and draws them."""
SHORT = {
    "street-baseline": "baseline",
    "street-longer": "longer",
    "street-random-ignore": "random",
    "street-sizebased-ignore": "size",
    "street-hardnegative-ignore": "loss",
    "street-sizebased-negative": "size, N",
    "street-hardnegative-negative": "loss, N",
    "street-sizebased-kept": "kept",
    "street-sizebased-grey": "grey",
}
"""Segmenters by how the class that goes is drawn; N for the negative loss."""

Panel = tuple[str, NDArray[np.uint8], str]
"""Heading, picture and what stands below it."""


def figures(name: str, facts: Mapping[str, Any]) -> dict[str, str]:
    """Charts of a measurement by file name."""
    return {"photos": photo_charts, "worlds": world_charts, "card": card_charts}.get(name, lambda _: {})(facts)


def interval(value: Sequence[float | None] | None) -> Interval | None:
    """A kept figure as an interval."""
    if value is None or value[0] is None:
        return None
    low, high = (math.nan if v is None else v for v in value[1:3])
    return Interval(value[0], low, high, 0, "")


def photo_charts(facts: Mapping[str, Any]) -> dict[str, str]:
    """V^min by number of context classes beside chance, and against AP (Figure 7)."""
    fills = facts["coco-tiny"]["classify"]
    first = next(iter(fills.values()))["by_context"]
    numbers = list(first)
    chance = tuple(
        Point(i, Interval(first[k]["chance"], math.nan, math.nan, 0, ""), k) for i, k in enumerate(numbers)
    )
    kinds = ("model", "rival", "baseline")
    series = [Series("chance", chance, "human")]
    series += [
        by_part(fill, numbers, [interval(one["by_context"][k]["v_min"]) for k in numbers], kind)  # type: ignore[arg-type]
        for (fill, one), kind in zip(fills.items(), kinds, strict=False)
    ]
    title = "V^min by number of context classes, coco-tiny"
    how: dict[str, Any] = {"y_domain": (0.0, 1.0), "y_unit": " %", "x_names": numbers, "x_label": "context classes"}
    classes = next(iter(fills.values()))["by_class"]
    points = [DrawnPoint(name, one["ap"][0], one["v_min"][0]) for name, one in classes.items()]
    against = point_chart(points, title="V^min against AP", x_label="AP", y_label="V^min, Telea", width=440.0)
    return {"by_context": xy_chart(series, title=title, unit="photo", **how), "against_ap": against}


def world_charts(facts: Mapping[str, Any]) -> dict[str, str]:
    """V^min of every network by fill."""
    charts = {}
    for world, of in facts["worlds"].items():
        names = list(instrument.SCORED)
        nets = {name: one for name, one in of["models"].items() if name not in instrument.RULES}
        series = [
            by_part(name, names, [interval(one[f]["v_min"]) for f in names], "model" if i == 0 else "rival")
            for i, (name, one) in enumerate(nets.items())
        ]
        how: dict[str, Any] = {"y_unit": " %", "x_names": names, "joined": False, "spread": 24.0}
        title = f"V^min of every network by fill, {world}"
        charts[f"fills-{world.rpartition('/')[2]}"] = xy_chart(series, title=title, **how)
    return charts


def card_charts(facts: Mapping[str, Any]) -> dict[str, str]:
    """V^min of classifiers by method, and IoU of segmenters on streets without a car."""
    series = []
    for (net, part), (label, kind) in TAUGHT.items():
        rows = facts["classifiers"].get(net, {})
        values = [
            interval(rows[name]["figures"]["v_min, full"]["value"]) if name in rows else None
            for name in (f"{method}-{part}" for method in METHODS)
        ]
        series.append(by_part(label, METHODS, values, kind))
    how: dict[str, Any] = {"y_unit": " %", "joined": False, "spread": 24.0}
    charts = {"methods-card": xy_chart(series, title="V^min by method", x_names=METHODS, **how)}
    names = [name for name in ORDER if name in facts["streets"]]
    roads = [
        by_part(
            of,
            names,
            [interval(facts["streets"][name]["figures"].get(f"iou {of}, without_car")) for name in names],
            kind,  # type: ignore[arg-type]
        )
        for of, kind in zip(ROAD, ("model", "rival"), strict=True)
    ]
    how |= {"title": "IoU on streets without a car", "y_domain": (0.0, 1.0), "width": 760.0}
    charts["streets-card"] = xy_chart(roads, x_names=[SHORT[name] for name in names], **how)
    return charts


def pictures(folder: Path, networks: Path, out: Path) -> None:
    """Draw rows of generated scenes: a removal under every fill, violations, and changes of a segmenter."""
    worlds = instrument.Worlds(folder, networks)
    drawn = {"fills": list(fill_rows(worlds)), "violations": list(violation_rows(worlds))}
    if worlds.models("segmenter"):
        drawn["affected"] = list(affected_rows(worlds))
    for name, rows in drawn.items():
        if rows:
            sheet(rows).save(out / f"{name}.webp", "WEBP", quality=88, method=6)


def sheet(rows: Sequence[Sequence[Panel]]) -> Image.Image:
    """Rows of panels on one sheet."""
    placed, words = [], []
    top = 0
    for row in rows:
        for i, (title, pixels, said) in enumerate(row):
            high, wide = pixels.shape[:2]
            x = i * (wide + GAP)
            placed.append((Image.fromarray(pixels), (x, top + HEAD)))
            words.append(text_line(x, top + 14, title, size=12, fill=MUTED))
            words.append(text_line(x, top + HEAD + high + 16, said, size=13, fill=INK, bold=True))
        top += HEAD + row[0][1].shape[0] + FOOT
    width = max(len(row) * (row[0][1].shape[1] + GAP) - GAP for row in rows)
    return raster("".join(words), (width, top), placed)


def fill_rows(worlds: instrument.Worlds) -> Iterator[list[Panel]]:
    """One removal a row: the original, exact, exact inside the hole alone, and every other fill with its PSNR."""
    data = worlds.data("context/unbiased")
    fills = [*instrument.SCORED, instrument.SLOW]
    exams = {f: instrument.OnceExam(fill=FILLS.get(f, f), radius=instrument.RADIUS) for f in fills}
    items = exams["exact"].items(data)
    for item in (items[1], items[4], items[9]):
        edits = {f: exam.edits(item) for f, exam in exams.items()}
        gone = max(edits["exact"].removable, key=lambda name: float(item.masks()[name].mean()))  # type: ignore[union-attr]
        truth = picture(edits["exact"], gone)
        hole = edit_of(edits["telea"], "removal", gone).hole
        assert hole is not None
        row: list[Panel] = [("original", item.view.image(), f"with {gone}")]
        for fill in fills:
            shown = picture(edits[fill], gone)
            quality = instrument.psnr(shown, truth, hole)
            said = (
                ""
                if fill == "exact"
                else f"{quality:.1f} dB in the hole"
                if quality < instrument.SAME
                else "the same in the hole"
            )
            row.append((fill, outlined(shown, hole), said))
        yield row


def violation_rows(worlds: instrument.Worlds) -> Iterator[list[Panel]]:
    """The largest violations of the first network under exact removal, as in the paper's Figures 2 and 8."""
    (name, spec), *_ = worlds.models("classifier").items()
    result = worlds.results("context/train", "exact", {name: spec})[name]
    data, exam = worlds.data("context/train"), instrument.OnceExam(fill="exact", radius=instrument.RADIUS)
    items = {item.id: item for item in exam.items(data)}
    read = records(result)
    before = read.rows.filter(pl.col("edit") == "original")
    broken = read.cases.filter(pl.col("lowest") < pl.col("without")).sort(pl.col("lowest") - pl.col("without"))
    for row in broken.unique("item", maintain_order=True).head(LOUDEST).iter_rows(named=True):
        edits = exam.edits(items[row["item"]])
        c, d = row["category"], row["context"]
        same = (pl.col("item") == row["item"]) & (pl.col("category") == c)
        first = float(before.filter(same)["score"][0])
        yield [
            ("original", edits.item.view.image(), score(c, first)),
            (f"{c} without {d}", picture(edits, d), score(c, row["lowest"])),
            (f"{d} without {c}", picture(edits, c), score(c, row["without"])),
        ]


def affected_rows(worlds: instrument.Worlds) -> Iterator[list[Panel]]:
    """The largest changes of the first segmenter when a class goes, with the false edit (Figures 3, 11 and 12)."""
    (name, spec), *_ = worlds.models("segmenter").items()
    result = worlds.results(instrument.STREET, "telea", {name: spec})[name]
    data, exam = worlds.data(instrument.STREET), instrument.OnceExam(fill="telea", radius=instrument.RADIUS)
    items = {item.id: item for item in exam.items(data)}
    read = records(result)
    false = read.changes.filter(pl.col("edit") == "false").select("item", "category", "gone", other="delta")
    removed = read.changes.filter((pl.col("edit") == "removal") & pl.col("category").is_in(["road", "sidewalk"]))
    loud = removed.join(false, on=["item", "category", "gone"]).sort(pl.col("delta").abs(), descending=True)
    for row in loud.unique("item", maintain_order=True).head(LOUDEST).iter_rows(named=True):
        edits = exam.edits(items[row["item"]])
        c, d, was = row["category"], row["gone"], row["before"]
        hole = edit_of(edits, "false", d)
        yield [
            ("original", edits.item.view.image(), f"IoU of {c} {was:.2f}"),
            (f"without {d}", picture(edits, d), f"{was + row['delta']:.2f}"),
            ("false edit", outlined(hole.view.image(), hole.hole), f"{was + row['other']:.2f}"),  # type: ignore[arg-type]
        ]


def records(result: RunResult) -> ContextRecords:
    """The records of a run."""
    read = ContextRecords.of(result.records)
    assert read is not None
    return read


def edit_of(edits: Edits, kind: str, gone: str) -> Edit:
    """One edit of a picture."""
    return next(edit for edit in edits.shown if (edit.kind, edit.gone) == (kind, gone))


def picture(edits: Edits, gone: str) -> NDArray[np.uint8]:
    """The picture without a class."""
    return edit_of(edits, "removal", gone).view.image()


def score(name: str, value: float) -> str:
    """A logit in words."""
    return f"{name} {value:.2f}".replace("-", "−")
