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
from sightline.store.formats.photos import find_photos, photo_of
from sightline.store.tables import Tables

Setting = Literal["within_image", "across_images"]
SETTINGS: Final[tuple[Setting, ...]] = get_args(Setting)
SPLITS: Final = ("train", "validation", "test")
_VIEW: Final = "0"

DISTANCE: Final[dict[str, Depth | Occlusion]] = {
    "0": Depth.UNSURE,
    "1": Depth.CLOSER,
    "2": Depth.FARTHER,
    "3": Depth.SAME,
}
OCCLUSION: Final[dict[str, Depth | Occlusion]] = {
    "0": Occlusion.NONE,
    "1": Occlusion.OCCLUDES,
    "2": Occlusion.OCCLUDED,
    "3": Occlusion.MUTUAL,
}
NOBODY: Final = {"-1": NO_MAJORITY}

BOX: Final = ("xmin", "xmax", "ymin", "ymax")
OBJECT_COLUMNS: Final[dict[str, Column]] = {
    "image_id": TEXT,
    "object_id": TEXT,
    "entity": TEXT,
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

_END_1: Final = ("image_id_1", "entity_1", *(f"{side}_1" for side in BOX))
_END_2: Final = ("image_id_2", "entity_2", *(f"{side}_2" for side in BOX))
_PREDICTION_COLUMNS: Final[dict[str, Column]] = {
    **{name: NUMBER if name[0] in "xy" else TEXT for name in (*_END_1, *_END_2)},
    "occlusion": code(OCCLUSION),
    "distance": code(DISTANCE),
}
_OURS: Final = {
    "image_a": "image_id_1",
    "image_b": "image_id_2",
    "a_x0": "xmin_1",
    "a_y0": "ymin_1",
    "a_x1": "xmax_1",
    "a_y1": "ymax_1",
    "b_x0": "xmin_2",
    "b_y0": "ymin_2",
    "b_x1": "xmax_2",
    "b_y1": "ymax_2",
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
        raise DataError(
            "no complete pair of 2.5VRD files",
            file=folder,
            expected="e.g. within_image_objects_test.csv and within_image_vrd_test.csv",
            found="; ".join(notes(folder)) or None,
        )
    for setting, split, objects_csv, pairs_csv in complete:
        objects = read_objects(objects_csv)
        yield _tables(objects, read_pairs(pairs_csv, objects, setting), setting, split, photos)


def write(tables: Tables, path: str | Path) -> None:
    """Write scenes as 2.5VRD files into a folder, all of them or, on error, none.

    Boxes, classes, depth, occlusion and votes are kept, and the order of rows; the format has no place for more.

    Raises:
        DataError: Where a scene does not fit: another source or split, boxes in pixels, labels without votes…
    """
    folder, frames = Path(path), {}
    _check_views(tables.views, folder)
    for source, split in tables.views.select("source", "split").unique(maintain_order=True).iter_rows():
        setting: Setting = source
        views = tables.views.filter(pl.col("source") == setting, pl.col("split") == split)
        objects_csv, pairs_csv = _files(folder, setting, split)
        objects = check_objects(_objects_frame(tables, views, f"{setting}/{split}/", objects_csv), objects_csv)
        pairs = _pairs_frame(tables.relations, views, setting, f"{setting}/{split}/", pairs_csv)
        check_ends(pairs, objects, pairs_csv)
        check_votes(pairs, setting, pairs_csv)
        frames[objects_csv], frames[pairs_csv] = objects, _as_cells(pairs)
    write_csvs(frames)


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
    things = objects.rename({"entity": "category", "xmin": "x0", "ymin": "y0", "xmax": "x1", "ymax": "y1"})
    things = things.with_columns(scene_id=prefix + pl.col("image_id"), view_id=pl.lit(_VIEW))
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
    if not views.height:
        raise DataError("there are no scenes to write", file=folder)


def _image_id(scene: str, prefix: str) -> pl.Expr:
    """The image's own id; a scene from elsewhere keeps its whole id."""
    return pl.col(scene).str.strip_prefix(prefix)


def _objects_frame(tables: Tables, views: pl.DataFrame, prefix: str, path: Path) -> pl.DataFrame:
    ours = tables.objects.join(views.select("scene_id"), on="scene_id", how="semi", maintain_order="left")
    seen = ours.join(tables.sightings, on=["scene_id", "object_id"], how="left", maintain_order="left")
    boxed = seen.select(
        _image_id("scene_id", prefix).alias("image_id"),
        "object_id",
        entity="category",
        xmin="x0",
        xmax="x1",
        ymin="y0",
        ymax="y1",
    )
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
    for name, reading in VOTE_COLUMNS.items():
        votes = pl.col(name)
        none = votes.is_null() | (votes.list.len() == 0)
        refuse(rows, none, "label without votes", file=path, field=name, found=pl.lit(""))
        refuse(
            rows, _vote_cells(name).is_null(), reading.problem, file=path, field=name, found=votes.list.join(",")
        )
    for name in ("distance", "occlusion"):
        refuse(
            rows,
            pl.col(name).is_null(),
            "label outside its range",
            file=path,
            field=name,
            expected=LABEL_COLUMNS[name].expected,
        )
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


def _as_cells(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.with_columns(_vote_cells(name).alias(name) for name in VOTE_COLUMNS)


def read_objects(path: Path) -> pl.DataFrame:
    """The objects file: image_id, object_id, entity, and the box in fractions of the image (f64)."""
    return check_objects(read_csv(path, OBJECT_COLUMNS), path)


def read_pairs(path: Path, objects: pl.DataFrame, setting: Setting) -> pl.DataFrame:
    """The pairs file of an import: ids, distance and occlusion as Int8 codes, votes as lists of words."""
    pairs = read_csv(path, LABEL_COLUMNS | VOTE_COLUMNS)
    check_ends(pairs, objects, path)
    return check_votes(pairs, setting, path)


def check_objects(objects: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The same frame, once boxes are real boxes and no object stands twice."""
    refuse_boxes(objects, BOX, file=path)
    index_objects([objects], path)
    return objects


def index_objects(blocks: Iterable[pl.DataFrame], path: Path) -> ObjectIndex:
    """Where each object stands in the objects file, once none stands there twice."""
    index = ObjectIndex(blocks)
    row = index.first_repeat()
    if row is not None:
        raise DataError(
            "object stands twice",
            file=path,
            row=FIRST_ROW + row,
            field="image_id, object_id",
            expected="each once",
            found=", ".join(index.name(row)),
        )
    return index


def check_ends(pairs: pl.DataFrame, objects: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The same frame, once the ends of every pair are known and differ, and no pair stands twice or reversed."""
    index = ObjectIndex([objects])
    refuse_repeated_pairs(*ends_of(pairs, index, path), index, path)
    return pairs


def ends_of(pairs: pl.DataFrame, index: ObjectIndex, path: Path, line: int = FIRST_ROW) -> tuple[Ints, Ints]:
    """Rows of the objects file of both ends, once all are known and no object is paired with itself.

    Args:
        pairs: Consecutive rows of the pairs file.
        index: Of the objects file.
        path: The pairs file.
        line: Line number of the first of the rows.
    """
    first, second = (index.rows(pairs[f"image_id_{end}"], pairs[f"object_id_{end}"]) for end in ("1", "2"))
    for end, rows in (("1", first), ("2", second)):
        refuse(
            pairs,
            pl.lit(pl.Series(rows < 0)),
            "unknown object",
            file=path,
            line=line,
            field=f"image_id_{end}, object_id_{end}",
            expected="an object of the objects file",
        )
    refuse(
        pairs,
        pl.lit(pl.Series(first == second)),
        "object paired with itself",
        file=path,
        line=line,
        field=", ".join(ENDS),
        expected="two",
    )
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
    raise DataError(
        "pair stands twice",
        file=path,
        row=FIRST_ROW + row,
        field=", ".join(ENDS),
        expected="each pair once, either way round",
        found=", ".join((*index.name(int(first[row])), *index.name(int(second[row])))),
    )


def check_votes(pairs: pl.DataFrame, setting: Setting, path: Path) -> pl.DataFrame:
    """The same frame, once pairs fit their setting and every label is the strict majority of its votes."""
    same = pl.col("image_id_1") == pl.col("image_id_2")
    images = "image_id_1, image_id_2"
    if setting == "within_image":
        refuse(
            pairs, ~same, "pair of two images in a within-image file", file=path, field=images, expected="the same"
        )
    else:
        refuse(pairs, same, "pair of one image in an across-images file", file=path, field=images, expected="two")
        none = Occlusion.NONE
        hidden = pl.col("occlusion") != none
        refuse(pairs, hidden, "occlusion across images", file=path, field="occlusion", expected=f"{none:d}, none")
        voted = pl.col("raw_occlusion").list.count_matches(none.word) < pl.col("raw_occlusion").list.len()
        refuse(
            pairs,
            voted,
            "occlusion across images",
            file=path,
            field="raw_occlusion",
            expected=f"{none:d}, none",
            found=pl.col("raw_occlusion").list.join(","),
        )
    for label, labels in (("distance", Depth), ("occlusion", Occlusion)):
        votes = pl.col(f"raw_{label}")
        refuse(
            pairs,
            pl.col(label) != _majority(votes, labels),
            "votes contradict the label",
            file=path,
            field=label,
            expected=f"the strict majority of raw_{label}, or {NO_MAJORITY} where there is none",
            found=pl.format("{} for {}", pl.col(label), votes.list.join(",")),
        )
    return pairs


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
    objects_csv: str | Path, vrd_csv: str | Path, *, block: int = BLOCK
) -> Iterator[pl.DataFrame]:
    """Like `read_scoring_truth`, in consecutive frames of some `block` bytes of text each.

    That no pair stands twice is known, and said, only after the last one.
    """
    path = Path(vrd_csv)
    index, boxes = _indexed_objects(Path(objects_csv), block)
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
        yield pairs.with_columns(sides).select(pl.col(theirs).alias(ours) for ours, theirs in _OURS.items())
    refuse_repeated_pairs(first, second, index, path)
    del index, boxes, first, second
    give_back()


def _indexed_objects(path: Path, block: int) -> tuple[ObjectIndex, NDArray[np.float64]]:
    """The objects file as an index and boxes (n, 4), columns as in `BOX`."""
    boxes = np.empty((0, len(BOX)))

    def checked() -> Iterator[pl.DataFrame]:
        for line, objects in csv_blocks(path, OBJECT_COLUMNS, block=block):
            refuse_boxes(objects, BOX, file=path, line=line)
            extend(boxes, objects.select(BOX).to_numpy())
            yield objects

    return index_objects(checked(), path), boxes


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
    refuse_boxes(rows, ("xmin_1", "xmax_1", "ymin_1", "ymax_1"), file=path, line=line)
    refuse_boxes(rows, ("xmin_2", "xmax_2", "ymin_2", "ymax_2"), file=path, line=line)
    return rows
