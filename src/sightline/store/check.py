"""What is wrong with these tables? Every rule is one query over whole columns.

Unlike `scenes.validate`, which stops at the first fault of one scene, this lists the faults of all scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from sightline.documents import parse_json
from sightline.errors import DataError
from sightline.scenes import ASPECTS, landmarks_fault, viewpoint_fault, words
from sightline.store.convert import landmarks_from, viewpoint_from
from sightline.store.schema import UNITS
from sightline.store.tables import Tables
from sightline.text import counted

EDGE_TOLERANCE = 1.0
"""Pixels a box may leave the image by: drawing tools round, and x + width need not add up exactly."""

OUTSIDE_FLAG = "outside"
"""Flag of a box that leaves the image and is kept all the same, as its source has it."""

_REQUIRED = {
    "views": ("scene_id", "view_id", "units"),
    "objects": ("scene_id", "object_id", "category"),
    "sightings": ("scene_id", "view_id", "object_id", "x0", "y0", "x1", "y1"),
    "relations": ("scene_id", "subject", "object", "aspect"),
}
_JSON = (("views", "camera"), ("objects", "attributes"))


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows that break one rule.

    Attributes:
        problem: The rule, as a DataError tells it.
        field: ``table.column``.
        rows: ``scene_id`` and ``found`` (text), and ``expected`` where it differs from row to row.
        expected: What would have been right, where it is the same for all rows.
    """

    problem: str
    field: str
    rows: pl.DataFrame
    expected: str | None = None


def check_tables(tables: Tables, *, limit: int = 100) -> list[DataError]:
    """Everything that is wrong with the rows, kind by kind; empty if all is well.

    Each error names the scene as its row. Of one kind at most `limit` are listed; one more then tells how many
    there are. The tables must hold all scenes that relations across scenes point to.

    >>> views = pl.DataFrame({"scene_id": ["s"], "view_id": ["0"]})
    >>> row = {"scene_id": "s", "view_id": "0", "object_id": "7", "x0": 1.0, "y0": 0.0, "x1": 2.0, "y1": 1.0}
    >>> [str(e) for e in check_tables(Tables.build(views=views, sightings=pl.DataFrame([row])))]
    ["row s, sightings.object_id: sighting of an unknown object (found '7')"]
    """
    faults = (fault for rule in _RULES for fault in rule(tables))
    return [error for fault in faults for error in _errors(fault, limit)]


def notes(tables: Tables) -> list[str]:
    """What is worth knowing but not wrong."""
    unsized = tables.views.filter(pl.col("units") == "pixels", pl.col("width").is_null()).height
    return [f"pixel boxes but no image size: {counted(unsized, 'view')}"] if unsized else []


def _errors(fault: Fault, limit: int) -> Iterator[DataError]:
    for row in fault.rows.head(limit).iter_rows(named=True):
        expected = row.get("expected", fault.expected)
        yield DataError(
            fault.problem, row=row["scene_id"], field=fault.field, expected=expected, found=row["found"]
        )
    if fault.rows.height > limit:
        yield DataError(f"{fault.problem}: {fault.rows.height - limit} more", field=fault.field)


def _fault(
    problem: str,
    field: str,
    frame: pl.DataFrame,
    bad: pl.Expr | None = None,
    found: pl.Expr | None = None,
    expected: str | None = None,
) -> Fault:
    """The rows that are `bad` (all of them by default), each with the value of the field's column or `found`."""
    value = pl.col(field.partition(".")[2]) if found is None else found
    rows = frame if bad is None else frame.filter(bad)
    return Fault(problem, field, rows.select("scene_id", value.cast(pl.String).alias("found")), expected)


def _nulls(tables: Tables) -> Iterator[Fault]:
    for name, columns in _REQUIRED.items():
        for column in columns:
            missing = pl.col(column).is_null()
            yield _fault("value is missing", f"{name}.{column}", tables.frame(name), missing)


def _ids(tables: Tables) -> Iterator[Fault]:
    for name, column in (("views", "view_id"), ("objects", "object_id")):
        again = ~pl.struct("scene_id", column).is_first_distinct()
        yield _fault(f"{column[:-3]} id stands twice", f"{name}.{column}", tables.frame(name), again)
    again = ~pl.struct("scene_id", "view_id", "object_id").is_first_distinct()
    yield _fault("object is seen twice in one view", "sightings.object_id", tables.sightings, again)
    for column in ("split", "source", "scene_category"):
        values = tables.views.unique(["scene_id", column], maintain_order=True)
        differs = ~pl.col("scene_id").is_first_distinct()
        yield _fault(f"views of one scene differ in {column}", f"views.{column}", values, differs)


def _references(tables: Tables) -> Iterator[Fault]:
    views, objects = tables.views, tables.objects
    for name in ("objects", "sightings", "relations"):
        lost = tables.frame(name).join(views, on="scene_id", how="anti", maintain_order="left")
        lost = lost.unique("scene_id", maintain_order=True)
        yield _fault("rows of a scene that has no view", f"{name}.scene_id", lost)
    places, keys = ["scene_id", "view_id"], ["scene_id", "object_id"]
    lost = _without(tables.sightings, views, places, places)
    yield _fault("sighting in an unknown view", "sightings.view_id", lost)
    lost = _without(tables.sightings, objects, keys, keys)
    yield _fault("sighting of an unknown object", "sightings.object_id", lost)
    ends = tables.relations.with_columns(other=pl.coalesce("object_scene", "scene_id"))
    lost = _without(ends, objects, ["scene_id", "subject"], keys)
    yield _fault("relation of an unknown object", "relations.subject", lost)
    lost = _without(ends, objects, ["other", "object"], keys)
    across = pl.col("other") + " " + pl.col("object")
    found = pl.when(pl.col("object_scene").is_null()).then("object").otherwise(across)
    yield _fault("relation to an unknown object", "relations.object", lost, found=found)
    lost = _without(tables.relations, views, places, places)
    yield _fault("relation in an unknown view", "relations.view_id", lost)


def _without(frame: pl.DataFrame, known: pl.DataFrame, left: list[str], right: list[str]) -> pl.DataFrame:
    named = frame.filter(~pl.any_horizontal(pl.col(left).is_null()))  # a missing value is another fault
    return named.join(known, left_on=left, right_on=right, how="anti", maintain_order="left")


def _views(tables: Tables) -> Iterator[Fault]:
    unknown = ~pl.col("units").is_in(UNITS)
    yield _fault("unknown units", "views.units", tables.views, unknown, expected="one of " + ", ".join(UNITS))
    width, height = (pl.col(side).cast(pl.String).fill_null("?") for side in ("width", "height"))
    wrong = (pl.col("width").is_null() != pl.col("height").is_null()) | (pl.min_horizontal("width", "height") < 1)
    expected = "two numbers above 0, or neither"
    sides = pl.format("{} × {}", width, height)
    yield _fault("image size is not a size", "views.width", tables.views, wrong, sides, expected)
    names = pl.col("stuff_classes")
    few = names.list.len().fill_null(0) == 0
    wrong = pl.col("stuff").is_not_null() & (few | (names.list.n_unique() < names.list.len()))
    found = names.list.join(", ", ignore_nulls=True)
    expected = "the name of each class, none twice"
    yield _fault("stuff map without its classes", "views.stuff_classes", tables.views, wrong, found, expected)


def _boxes(tables: Tables) -> Iterator[Fault]:
    edges = ("x0", "y0", "x1", "y1")
    views = tables.views.select("scene_id", "view_id", "units", "width", "height").unique(["scene_id", "view_id"])
    seen = tables.sightings.select("scene_id", "view_id", *edges, "flags").drop_nulls(
        ["scene_id", "view_id", *edges]
    )
    seen = seen.join(views, on=["scene_id", "view_id"], how="left", maintain_order="left")
    found = pl.format("({}, {}, {}, {})", *edges)
    finite = pl.all_horizontal(pl.col(edges).is_finite())
    yield _fault("box is not finite", "sightings.box", seen, ~finite, found)
    order = (pl.col("x0") < pl.col("x1")) & (pl.col("y0") < pl.col("y1"))
    yield _fault("box is reversed or empty", "sightings.box", seen, finite & ~order, found, "x0 < x1 and y0 < y1")
    low, right, bottom = pl.min_horizontal("x0", "y0"), pl.col("x1"), pl.col("y1")
    inside = (low >= 0.0) & (pl.max_horizontal("x1", "y1") <= 1.0)
    leaves = (pl.col("units") == "normalised") & finite & order & ~inside
    yield _fault("normalised box leaves the image", "sightings.box", seen, leaves, found, "within [0, 1]")
    inside = (
        (low >= -EDGE_TOLERANCE)
        & (right <= pl.col("width") + EDGE_TOLERANCE)
        & (bottom <= pl.col("height") + EDGE_TOLERANCE)
    )
    kept = pl.col("flags").list.contains(OUTSIDE_FLAG).fill_null(value=False)
    leaves = (pl.col("units") == "pixels") & finite & order & ~inside & ~kept
    rows = seen.filter(leaves).select(
        "scene_id", found.alias("found"), expected=pl.format("within {} × {} pixels", "width", "height")
    )
    yield Fault("box leaves the image", "sightings.box", rows)
    hidden = pl.col("occluded_fraction")
    wrong = hidden.is_nan() | (hidden < 0.0) | (hidden > 1.0)
    field = "sightings.occluded_fraction"
    yield _fault("share is out of range", field, tables.sightings, wrong, expected="within [0, 1]")


def _labels(tables: Tables) -> Iterator[Fault]:
    for aspect in ASPECTS:
        asked = tables.relations.filter(pl.col("aspect") == aspect)
        allowed = words(aspect)
        expected = "one of " + ", ".join(allowed)
        unknown = ~pl.col("predicate").is_in(allowed)
        yield _fault("label outside its range", "relations.predicate", asked, unknown, expected=expected)
        counted = asked.with_columns(
            _n=pl.col("votes").list.len().fill_null(0),
            **{w: pl.col("votes").list.count_matches(w).fill_null(0) for w in allowed},
        )
        strange = pl.sum_horizontal(allowed) != pl.col("_n")
        found = pl.col("votes").list.join(", ", ignore_nulls=True)
        yield _fault("vote outside its range", "relations.votes", counted, strange, found, expected)
        yield _contradicted(aspect, counted.filter(pl.col("_n") > 0, ~strange))


def _contradicted(aspect: str, counted: pl.DataFrame) -> Fault:
    """Rows whose label is not what more than half of the votes say (null where no word has that many)."""
    majority = pl.coalesce(pl.when(pl.col(w) * 2 > pl.col("_n")).then(pl.lit(w)) for w in words(aspect))
    rows = counted.with_columns(majority=majority).filter(~pl.col("majority").eq_missing(pl.col("predicate")))
    return Fault(
        "votes contradict the label",
        "relations.predicate",
        rows.select(
            "scene_id",
            pl.col("predicate").fill_null("no label").alias("found"),
            pl.format(
                "{} from votes {}", pl.col("majority").fill_null("no label"), pl.col("votes").list.join(", ")
            ).alias("expected"),
        ),
    )


def _pairs(tables: Tables) -> Iterator[Fault]:
    asked = tables.relations.filter(pl.col("aspect").is_in(list(ASPECTS)))
    ends = asked.with_columns(other=pl.coalesce("object_scene", "scene_id"))
    found = pl.format("{} – {} ({})", "subject", "object", "aspect")
    itself = (pl.col("other") == pl.col("scene_id")) & (pl.col("subject") == pl.col("object"))
    yield _fault("object related to itself", "relations.object", ends, itself, found)
    first, second = pl.struct(s="scene_id", o="subject"), pl.struct(s="other", o="object")
    swap = (pl.col("other") < pl.col("scene_id")) | (
        (pl.col("other") == pl.col("scene_id")) & (pl.col("object") < pl.col("subject"))
    )
    pair = ends.with_columns(
        low=pl.when(swap).then(second).otherwise(first), high=pl.when(swap).then(first).otherwise(second)
    )
    again = ~pl.struct("aspect", "view_id", "low", "high").is_first_distinct()
    yield _fault("pair stands twice, maybe the other way round", "relations.object", pair, again, found)


def _json(tables: Tables) -> Iterator[Fault]:
    for name, column in _JSON:
        texts = tables.frame(name)[column].drop_nulls().unique()
        wrong = [text for text in texts if not _is_json(text)]
        yield _fault("not JSON", f"{name}.{column}", tables.frame(name), pl.col(column).is_in(wrong))
    numbers = pl.col("pose").list.len()
    yield _fault("pose is not a 4×4 matrix", "objects.pose", tables.objects, numbers != 16, numbers, "16 numbers")


def _poses(tables: Tables) -> Iterator[Fault]:
    for column, fault_of in POSE_FAULTS.items():
        texts = tables.sightings.select(column).drop_nulls().unique(maintain_order=True).to_series()
        faults: dict[str, list[str]] = {}
        for text in texts:
            if fault := fault_of(text):
                faults.setdefault(fault, []).append(text)
        for fault, wrong in faults.items():
            yield _fault(fault, f"sightings.{column}", tables.sightings, pl.col(column).is_in(wrong))


def _viewpoint_fault(text: str) -> str | None:
    try:
        return viewpoint_fault(viewpoint_from(text))
    except _NOT_SUCH:
        return "not a viewpoint"


def _landmarks_fault(text: str) -> str | None:
    try:
        return landmarks_fault(landmarks_from(text))
    except _NOT_SUCH:
        return "not a list of landmarks"


_NOT_SUCH = (TypeError, ValueError, AttributeError, RecursionError, OverflowError)
POSE_FAULTS: Mapping[str, Callable[[str], str | None]] = {
    "viewpoint": _viewpoint_fault,
    "landmarks": _landmarks_fault,
}
"""Columns of a sighting that hold JSON → what is wrong with a text, None if nothing is."""


def _is_json(text: str) -> bool:
    try:
        parse_json(text, "")
    except DataError:
        return False
    return True


_RULES: tuple[Callable[[Tables], Iterator[Fault]], ...] = (
    _nulls,
    _ids,
    _references,
    _views,
    _boxes,
    _labels,
    _pairs,
    _json,
    _poses,
)
