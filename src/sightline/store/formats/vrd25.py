"""2.5VRD: relative depth and occlusion of object pairs, within one image and across two; both ways.

A folder holds pairs of files ``{within_image,across_images}_{objects,vrd}_{train,validation,test}.csv``. Object
ids are local to a file, so a scene is ``<setting>/<split>/<image_id>`` with one view, ``"0"``. A pair becomes a
``depth`` relation and, within an image, an ``occlusion`` relation; a pair across images is a relation of the first
image's scene that points at the second's. The occlusion columns of across-images files say nothing and are made
anew on writing.

A pair's labels speak of (first, second): distance −1 no majority, 0 unsure, 1 first is closer, 2 second is closer,
3 same; occlusion −1 no majority, 0 none, 1 first occludes second, 2 second occludes first, 3 mutual.

`read_scoring_truth` and `read_predictions` give the files as the authors' evaluator takes them: labels only, votes
never looked at, pairs in file order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.scenes import NO_MAJORITY, Depth, Occlusion
from sightline.store.formats.bulk import Ints, ObjectIndex, extend, give_back
from sightline.store.formats.csvio import (
    BLOCK,
    FIRST_ROW,
    NUMBER,
    TEXT,
    Column,
    code,
    code_list,
    csv_blocks,
    read_csv,
    refuse,
    refuse_boxes,
    write_csvs,
)
from sightline.store.formats.photos import VIEW, find_photos, photo_of
from sightline.store.formats.vrd25_scenes import fitted
from sightline.store.tables import Tables

Setting = Literal["within_image", "across_images"]
SETTINGS: Final[tuple[Setting, ...]] = get_args(Setting)
SPLITS: Final = ("train", "validation", "test")

DISTANCE: Final[dict[str, Depth | Occlusion]] = {str(int(label)): label for label in Depth}
OCCLUSION: Final[dict[str, Depth | Occlusion]] = {str(int(label)): label for label in Occlusion}
NOBODY: Final = {"-1": NO_MAJORITY}

BOX: Final = ("xmin", "xmax", "ymin", "ymax")
_SIDES: Final = {"xmin": "x0", "ymin": "y0", "xmax": "x1", "ymax": "y1"}
"""2.5VRD's name of a box's side → ours."""
OBJECT_COLUMNS: Final[dict[str, Column]] = {
    **dict.fromkeys(("image_id", "object_id", "entity"), TEXT),
    **dict.fromkeys(BOX, NUMBER),
}
ENDS: Final = ("image_id_1", "object_id_1", "image_id_2", "object_id_2")
LABEL_COLUMNS: Final[dict[str, Column]] = {
    **dict.fromkeys(ENDS, TEXT),
    "distance": code({**NOBODY, **DISTANCE}),
    "occlusion": code({**NOBODY, **OCCLUSION}),
}
VOTE_COLUMNS: Final[dict[str, Column]] = {
    "raw_distance": code_list({cell: label.word for cell, label in DISTANCE.items()}),
    "raw_occlusion": code_list({cell: label.word for cell, label in OCCLUSION.items()}),
}
_ASPECTS: Final = (("depth", "distance", DISTANCE), ("occlusion", "occlusion", OCCLUSION))

_PREDICTION_COLUMNS: Final[dict[str, Column]] = {
    **{f"{name}_{end}": column for end in "12" for name, column in OBJECT_COLUMNS.items() if name != "object_id"},
    "occlusion": code(OCCLUSION),
    "distance": code(DISTANCE),
}
_OURS: Final = {
    "image_a": "image_id_1",
    "image_b": "image_id_2",
    **{f"a_{ours}": f"{theirs}_1" for theirs, ours in _SIDES.items()},
    **{f"b_{ours}": f"{theirs}_2" for theirs, ours in _SIDES.items()},
    "depth": "distance",
    "occlusion": "occlusion",
}
"""Our column → the evaluator's."""
_OUR_PREDICTIONS: Final = {**_OURS, "category_a": "entity_1", "category_b": "entity_2"}


def detect(path: Path) -> bool:
    """Whether this is a folder with files named as 2.5VRD's."""
    return path.is_dir() and any(file.exists() for _, _, *files in _places(path) for file in files)


def notes(folder: str | Path) -> list[str]:
    """Files that `read` leaves out because their other half is missing, each with the reason."""
    halves = [half for _, _, a, b in _places(Path(folder)) for half in ((a, b), (b, a))]
    return [f"{a.name}: left out, {b.name} is not there" for a, b in halves if a.exists() and not b.exists()]


def read(path: str | Path, *, images: str | Path | None = None) -> Iterator[Tables]:
    """All complete pairs of files, one part each.

    Args:
        path: The folder.
        images: A folder of photos named ``<image_id>.jpg``; scenes whose photo is there refer to it.

    Raises:
        DataError: For anything wrong in a file, or where no pair of files is complete.
    """
    folder = Path(path)
    photos = find_photos(images) if images else {}
    complete = [place for place in _places(folder) if place[2].exists() and place[3].exists()]
    if not complete:
        expected, found = (
            "e.g. within_image_objects_test.csv and within_image_vrd_test.csv",
            "; ".join(notes(folder)),
        )
        raise DataError("no complete pair of 2.5VRD files", file=folder, expected=expected, found=found or None)
    for setting, split, objects_csv, pairs_csv in complete:
        objects = read_csv(objects_csv, OBJECT_COLUMNS)
        index = _checked_objects(objects, objects_csv)
        pairs = read_csv(pairs_csv, LABEL_COLUMNS | VOTE_COLUMNS)
        _check_pairs(pairs, index, setting, pairs_csv)
        yield _tables(objects, pairs, setting, split, photos)


def write(tables: Tables, path: str | Path) -> None:
    """Write scenes as 2.5VRD files into a folder, all of them or, on error, none.

    Boxes, classes, depth, occlusion and votes are kept, and the order of rows; the format has no place for more.
    Scenes of other sources are fitted in first (`vrd25_scenes.fitted`).

    Raises:
        DataError: Where a scene does not fit: another split, labels without votes…
    """
    folder, frames = Path(path), dict[Path, pl.DataFrame]()
    if not tables.views.height:
        raise DataError("there are no scenes to write", file=folder)
    own = bool(tables.views["source"].is_in(SETTINGS).any())
    for part in [tables] if own else fitted(tables):
        frames |= _frames(part, folder)
    write_csvs(frames)


def _frames(tables: Tables, folder: Path) -> dict[Path, pl.DataFrame]:
    """Files → their rows."""
    frames = {}
    _check_views(tables.views, folder)
    for source, split in tables.views.select("source", "split").unique(maintain_order=True).iter_rows():
        setting: Setting = source
        views = tables.views.filter(pl.col("source") == setting, pl.col("split") == split)
        objects_csv, pairs_csv = _files(folder, setting, split)
        objects = _objects_frame(tables, views, f"{setting}/{split}/", objects_csv)
        index = _checked_objects(objects, objects_csv)
        pairs = _pairs_frame(tables.relations, views, setting, f"{setting}/{split}/", pairs_csv)
        _check_pairs(pairs, index, setting, pairs_csv)
        frames[objects_csv], frames[pairs_csv] = objects, pairs.with_columns(map(_vote_cells, VOTE_COLUMNS))
    return frames


def _places(folder: Path) -> Iterator[tuple[Setting, str, Path, Path]]:
    for setting in SETTINGS:
        for split in SPLITS:
            yield setting, split, *_files(folder, setting, split)


def _files(folder: Path, setting: str, split: str) -> tuple[Path, Path]:
    return folder / f"{setting}_objects_{split}.csv", folder / f"{setting}_vrd_{split}.csv"


def _tables(
    objects: pl.DataFrame, pairs: pl.DataFrame, setting: Setting, split: str, photos: Mapping[str, str]
) -> Tables:
    prefix = f"{setting}/{split}/"
    things = objects.rename({"entity": "category", **_SIDES})
    things = things.with_columns(scene_id=prefix + pl.col("image_id"), view_id=pl.lit(VIEW))
    views = things.select("scene_id", "view_id", image=photo_of("image_id", photos)).unique(maintain_order=True)
    return Tables.build(
        views=views.with_columns(split=pl.lit(split), source=pl.lit(setting), units=pl.lit("normalised")),
        objects=things.select("scene_id", "object_id", "category"),
        sightings=things.select("scene_id", "view_id", "object_id", "x0", "y0", "x1", "y1"),
        relations=_relations(pairs, prefix, setting),
    )


def _relations(pairs: pl.DataFrame, prefix: str, setting: Setting) -> pl.DataFrame:
    across = setting == "across_images"
    parts = [
        pairs.select(
            scene_id=prefix + pl.col("image_id_1"),
            subject="object_id_1",
            object="object_id_2",
            object_scene=prefix + pl.col("image_id_2") if across else pl.lit(None, pl.String),
            aspect=pl.lit(aspect),
            predicate=pl.col(column).replace_strict(
                {int(label): label.word for label in codes.values()}, default=None, return_dtype=pl.String
            ),
            votes=f"raw_{column}",
        ).with_row_index("pair")
        for aspect, column, codes in (_ASPECTS[:1] if across else _ASPECTS)
    ]
    return pl.concat(parts).sort("pair", maintain_order=True).drop("pair")


def _check_views(views: pl.DataFrame, folder: Path) -> None:
    checks = (
        ("source", pl.col("source").is_in(SETTINGS), f"one of {', '.join(SETTINGS)}"),
        ("split", pl.col("split").is_in(SPLITS), f"one of {', '.join(SPLITS)}"),
        ("units", pl.col("units") == "normalised", "normalised"),
        ("view_id", pl.col("scene_id").is_unique(), "one view a scene"),
    )
    for field, right, expected in checks:
        wrong = views.filter(~right)
        if wrong.height:
            scene, found = wrong.select("scene_id", field).row(0)
            raise DataError(
                "scene does not fit 2.5VRD", file=folder, row=scene, field=field, expected=expected, found=found
            )


def _image_id(scene: str, prefix: str) -> pl.Expr:
    """The image's own id; a scene from elsewhere keeps its whole id."""
    return pl.col(scene).str.strip_prefix(prefix)


def _objects_frame(tables: Tables, views: pl.DataFrame, prefix: str, path: Path) -> pl.DataFrame:
    ours = tables.objects.join(views.select("scene_id"), on="scene_id", how="semi", maintain_order="left")
    seen = ours.join(tables.sightings, on=["scene_id", "object_id"], how="left", maintain_order="left")
    image = _image_id("scene_id", prefix).alias("image_id")
    boxed = seen.select(image, "object_id", entity="category", **{side: _SIDES[side] for side in BOX})
    for name in BOX:
        bad = pl.col(name).is_null() | ~pl.col(name).is_finite()
        refuse(boxed, bad, "object without a box", file=path, field=name, found=pl.col("object_id"))
    _refuse_unreadable(boxed, ("image_id", "object_id", "entity"), path)
    return boxed


def _pairs_frame(
    relations: pl.DataFrame, views: pl.DataFrame, setting: Setting, prefix: str, path: Path
) -> pl.DataFrame:
    """One row a pair, in order of first appearance, with the columns that `read_pairs` gives."""
    ends = ["scene_id", "subject", "other", "object"]
    asked = relations.join(views.select("scene_id"), on="scene_id", how="semi", maintain_order="left").with_columns(
        other=pl.col("object_scene").fill_null(pl.col("scene_id"))
    )
    pairs = asked.filter(pl.col("aspect").is_in(["depth", "occlusion"])).select(ends).unique(maintain_order=True)
    if not pairs.height:
        raise DataError("there are no depth or occlusion labels to write", file=path)
    for aspect, column, codes in _ASPECTS:
        known = {label.word: int(label) for label in codes.values()}
        labels = asked.filter(pl.col("aspect") == aspect).select(
            *ends,
            pl.col("predicate").fill_null("").replace_strict(known | {"": NO_MAJORITY}, default=None).alias(column),
            pl.col("votes").alias(f"raw_{column}"),
        )
        pairs = pairs.join(labels, on=ends, how="left", maintain_order="left")
    if setting == "across_images":
        pairs = _without_occlusion(pairs)
    rows = pairs.select(
        _image_id("scene_id", prefix).alias("image_id_1"),
        pl.col("subject").alias("object_id_1"),
        _image_id("other", prefix).alias("image_id_2"),
        pl.col("object").alias("object_id_2"),
        pl.col("distance", "occlusion").cast(pl.Int8),
        "raw_distance",
        "raw_occlusion",
    )
    _refuse_unreadable(rows, ENDS, path)
    wrong = partial(refuse, rows, file=path)
    for name, reading in VOTE_COLUMNS.items():
        votes = pl.col(name)
        wrong(votes.is_null() | (votes.list.len() == 0), "label without votes", field=name, found=pl.lit(""))
        wrong(_vote_cells(name).is_null(), reading.problem, field=name, found=votes.list.join(","))
    for name in ("distance", "occlusion"):
        wrong(pl.col(name).is_null(), "label outside its range", field=name, expected=LABEL_COLUMNS[name].expected)
    return rows


def _without_occlusion(pairs: pl.DataFrame) -> pl.DataFrame:
    """Across images every rater "said" none: what the format has in those columns."""
    none = pl.when(pl.element().is_not_null()).then(pl.lit(Occlusion.NONE.word))
    return pairs.with_columns(
        occlusion=pl.col("occlusion").fill_null(int(Occlusion.NONE)),
        raw_occlusion=pl.coalesce("raw_occlusion", pl.col("raw_distance").list.eval(none)),
    )


def _refuse_unreadable(frame: pl.DataFrame, names: tuple[str, ...], path: Path) -> None:
    for name in names:
        column = (OBJECT_COLUMNS | LABEL_COLUMNS)[name]
        bad = column.parse(pl.col(name)).is_null()
        refuse(frame, bad, column.problem, file=path, field=name, expected=column.expected)


def _vote_cells(name: str) -> pl.Expr:
    """Votes as the format writes them; null where one is not a word of the format."""
    labels = DISTANCE if name == "raw_distance" else OCCLUSION
    cells = {label.word: cell for cell, label in labels.items()}
    written = pl.element().replace_strict(cells, default=None, return_dtype=pl.String)
    return pl.col(name).list.eval(written).list.join(",", ignore_nulls=False)


def _checked_objects(objects: pl.DataFrame, path: Path) -> ObjectIndex:
    """Where each object stands in the objects file, once boxes are real boxes and no object stands twice."""
    refuse_boxes(objects, BOX, file=path)
    return index_objects([objects], path)


def index_objects(blocks: Iterable[pl.DataFrame], path: Path) -> ObjectIndex:
    """Where each object stands in the objects file, once none stands there twice."""
    index = ObjectIndex(blocks)
    row = index.first_repeat()
    if row is not None:
        fields, found = "image_id, object_id", ", ".join(index.name(row))
        raise DataError(
            "object stands twice", file=path, row=FIRST_ROW + row, field=fields, expected="each once", found=found
        )
    return index


def ends_of(pairs: pl.DataFrame, index: ObjectIndex, path: Path, line: int = FIRST_ROW) -> tuple[Ints, Ints]:
    """Rows of the objects file of both ends, once all are known and no object is paired with itself.

    Args:
        pairs: Consecutive rows of the pairs file.
        index: Of the objects file.
        path: The pairs file.
        line: Line number of the first of the rows.
    """
    first, second = (index.rows(pairs[f"image_id_{end}"], pairs[f"object_id_{end}"]) for end in ("1", "2"))
    wrong = partial(refuse, pairs, file=path, line=line)
    for rows, ends in ((first, ENDS[:2]), (second, ENDS[2:])):
        unknown, expected = pl.lit(pl.Series(rows < 0)), "an object of the objects file"
        wrong(unknown, "unknown object", field=", ".join(ends), expected=expected)
    itself = pl.lit(pl.Series(first == second))
    wrong(itself, "object paired with itself", field=", ".join(ENDS), expected="two")
    return first, second


def refuse_repeated_pairs(first: Ints, second: Ints, index: ObjectIndex, path: Path) -> None:
    """Raise a DataError for the first pair that stands further up already, either way round.

    Args:
        first: First end of every row of the pairs file, as `ends_of` gives it.
        second: Second end.
        index: Of the objects file.
        path: The pairs file.
    """
    key = np.minimum(first, second).astype(np.int64)
    key *= len(index)
    key += np.maximum(first, second)
    ordered = np.sort(key)
    if not np.any(ordered[1:] == ordered[:-1]):
        return
    row = int(np.setdiff1d(np.arange(len(key)), np.unique(key, return_index=True)[1])[0])
    fields, expected = ", ".join(ENDS), "each pair once, either way round"
    found = ", ".join((*index.name(int(first[row])), *index.name(int(second[row]))))
    raise DataError(
        "pair stands twice", file=path, row=FIRST_ROW + row, field=fields, expected=expected, found=found
    )


def _check_pairs(pairs: pl.DataFrame, index: ObjectIndex, setting: Setting, path: Path) -> None:
    """Raise a DataError unless ends are known, pairs fit their setting and labels are the majority of votes."""
    refuse_repeated_pairs(*ends_of(pairs, index, path), index, path)
    wrong = partial(refuse, pairs, file=path)
    same, images = pl.col("image_id_1") == pl.col("image_id_2"), "image_id_1, image_id_2"
    if setting == "within_image":
        wrong(~same, "pair of two images in a within-image file", field=images, expected="the same")
    else:
        wrong(same, "pair of one image in an across-images file", field=images, expected="two")
        none, expected = Occlusion.NONE, f"{Occlusion.NONE:d}, none"
        hidden, votes = pl.col("occlusion") != none, pl.col("raw_occlusion")
        wrong(hidden, "occlusion across images", field="occlusion", expected=expected)
        voted, found = votes.list.count_matches(none.word) < votes.list.len(), votes.list.join(",")
        wrong(voted, "occlusion across images", field="raw_occlusion", expected=expected, found=found)
    for label, labels in (("distance", Depth), ("occlusion", Occlusion)):
        votes = pl.col(f"raw_{label}")
        expected = f"the strict majority of raw_{label}, or {NO_MAJORITY} where there is none"
        found = pl.format("{} for {}", pl.col(label), votes.list.join(","))
        against = pl.col(label) != _majority(votes, labels)
        wrong(against, "votes contradict the label", field=label, expected=expected, found=found)


def _majority(votes: pl.Expr, labels: type[Depth] | type[Occlusion]) -> pl.Expr:
    """Code that more than half of the votes name, else NO_MAJORITY."""
    winners = [
        pl.when(votes.list.count_matches(label.word) * 2 > votes.list.len()).then(pl.lit(int(label), pl.Int8))
        for label in labels
    ]
    return pl.coalesce(*winners, pl.lit(NO_MAJORITY, pl.Int8))


def read_scoring_truth(objects_csv: str | Path, vrd_csv: str | Path) -> pl.DataFrame:
    """The annotated pairs with their boxes.

    Columns: image_a, image_b (str), a_x0 … b_y1 (f64, fractions of the image), depth and occlusion (Int8 codes of
    `Depth` and `Occlusion`, −1 where the raters found no majority).
    """
    return pl.concat(scoring_truth_blocks(objects_csv, vrd_csv))


def scoring_truth_blocks(
    objects_csv: str | Path, vrd_csv: str | Path, *, entities: bool = False, block: int = BLOCK
) -> Iterator[pl.DataFrame]:
    """Like `read_scoring_truth`, in consecutive frames of some `block` bytes of text each.

    That no pair stands twice is known, and said, only after the last one. With `entities` the columns category_a
    and category_b follow (str).
    """
    path = Path(vrd_csv)
    index, boxes, kinds = _indexed_objects(Path(objects_csv), block, entities)
    first, second = (np.empty(0, dtype=np.int32) for _ in "12")
    for line, pairs in csv_blocks(path, LABEL_COLUMNS, ignored=VOTE_COLUMNS, block=block):
        ends = ends_of(pairs, index, path, line)
        extend(first, ends[0])
        extend(second, ends[1])
        sides = [
            pl.Series(f"{side}_{end}", boxes[rows, j])
            for end, rows in zip("12", ends, strict=True)
            for j, side in enumerate(BOX)
        ]
        columns = _OURS
        if entities:
            columns = _OUR_PREDICTIONS
            sides += [kinds.gather(rows).alias(f"entity_{end}") for end, rows in zip("12", ends, strict=True)]
        yield pairs.with_columns(sides).select(pl.col(theirs).alias(ours) for ours, theirs in columns.items())
    refuse_repeated_pairs(first, second, index, path)
    del index, boxes, kinds, first, second
    give_back()


def _indexed_objects(path: Path, block: int, entities: bool) -> tuple[ObjectIndex, NDArray[np.float64], pl.Series]:
    """The objects file as an index, boxes (n, 4), columns as in `BOX`, and, where they are wanted, classes."""
    boxes, kinds = np.empty((0, len(BOX))), [pl.Series("entity", [], dtype=pl.String)]

    def checked() -> Iterator[pl.DataFrame]:
        for line, objects in csv_blocks(path, OBJECT_COLUMNS, block=block):
            refuse_boxes(objects, BOX, file=path, line=line)
            extend(boxes, objects.select(BOX).to_numpy())
            if entities:
                kinds.append(objects["entity"])
            yield objects

    return index_objects(checked(), path), boxes, pl.concat(kinds)


def read_predictions(csv: str | Path) -> pl.DataFrame:
    """A predictions file; no row at all is a model that said nothing.

    Columns: those of `read_scoring_truth` (labels 0…3 only), then category_a and category_b (str).
    """
    return pl.concat(prediction_blocks(csv))


def prediction_blocks(csv: str | Path, *, block: int = BLOCK) -> Iterator[pl.DataFrame]:
    """Like `read_predictions`, in consecutive frames of some `block` bytes of text each."""
    path = Path(csv)
    for line, rows in csv_blocks(path, _PREDICTION_COLUMNS, needs_rows=False, block=block):
        yield _checked_boxes(rows, path, line).select(
            pl.col(theirs).alias(ours) for ours, theirs in _OUR_PREDICTIONS.items()
        )


def write_predictions(frame: pl.DataFrame, path: str | Path) -> None:
    """Write predictions, a frame as `read_predictions` gives, for 2.5VRD's evaluator."""
    target = Path(path)
    for ours in _OUR_PREDICTIONS:
        if ours not in frame.columns:
            raise DataError("predictions lack a column", file=target, field=ours, found=", ".join(frame.columns))
    theirs = frame.select(pl.col(ours).alias(name) for ours, name in _OUR_PREDICTIONS.items())
    rows = theirs.select(*_PREDICTION_COLUMNS)
    for name, column in _PREDICTION_COLUMNS.items():
        unreadable = column.parse(pl.col(name).cast(pl.String)).is_null()
        refuse(rows, unreadable, column.problem, file=target, field=name, expected=column.expected)
    write_csvs({target: _checked_boxes(rows, target)})


def _checked_boxes(rows: pl.DataFrame, path: Path, line: int = FIRST_ROW) -> pl.DataFrame:
    for end in "12":
        refuse_boxes(rows, [f"{side}_{end}" for side in BOX], file=path, line=line)
    return rows
