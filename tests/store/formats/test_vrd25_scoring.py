"""2.5VRD's scoring files: labels by name, votes never looked at."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from format_cases import SCORING, lay
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.store.formats.vrd25 import (
    prediction_blocks,
    read_predictions,
    read_scoring_truth,
    scoring_truth_blocks,
    write_predictions,
)

BOXES = ["a_x0", "a_y0", "a_x1", "a_y1", "b_x0", "b_y0", "b_x1", "b_y1"]


def truth_of(folder: Path) -> pl.DataFrame:
    return read_scoring_truth(folder / "objects.csv", folder / "vrd.csv")


def test_truth_has_boxes_and_codes(tmp_path: Path) -> None:
    truth = truth_of(lay(tmp_path, SCORING))
    assert truth.columns == ["image_a", "image_b", *BOXES, "depth", "occlusion"]
    assert truth.rows() == [
        ("p", "p", 0.1, 0.2, 0.5, 0.6, 0.0, 0.25, 1.0, 0.75, 1, 0),
        ("p", "p", 0.3, 0.1, 0.9, 0.2, 0.0, 0.25, 1.0, 0.75, -1, 3),
    ]
    assert truth.schema["depth"] == truth.schema["occlusion"] == pl.Int8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"1,1,2"', '"2,2,2"'),  # votes that contradict
        ('"1,1,2"', "what"),  # votes that are no votes
        ("raw_distance", "raw_occlusion_x"),  # an unknown column: the only one of these refused
    ],
)
def test_votes_are_not_looked_at(tmp_path: Path, old: str, new: str) -> None:
    good = truth_of(lay(tmp_path / "good", SCORING))
    folder = lay(tmp_path / "odd", SCORING | {"vrd.csv": SCORING["vrd.csv"].replace(old, new)})
    if new.startswith("raw"):
        with pytest.raises(DataError, match="unexpected column"):
            truth_of(folder)
    else:
        assert truth_of(folder).equals(good)


@pytest.mark.parametrize("name", ["vrd.csv", "prediction.csv"])
def test_column_order_does_not_matter(tmp_path: Path, name: str) -> None:
    folder = lay(tmp_path, SCORING)
    before = truth_of(folder), read_predictions(folder / "prediction.csv")
    cells = pl.read_csv(folder / name, infer_schema=False)
    cells.select(reversed(cells.columns)).write_csv(folder / name)
    assert truth_of(folder).equals(before[0])
    assert read_predictions(folder / "prediction.csv").equals(before[1])


def test_truth_without_vote_columns(tmp_path: Path) -> None:
    folder = lay(tmp_path, SCORING)
    good = truth_of(folder)
    pl.read_csv(folder / "vrd.csv", infer_schema=False).drop("raw_distance", "raw_occlusion").write_csv(
        folder / "vrd.csv"
    )
    assert truth_of(folder).equals(good)


@pytest.mark.parametrize(
    ("file", "old", "new", "row", "field"),
    [
        ("vrd.csv", "p,0,p,1", "p,5,p,1", 2, "image_id_1, object_id_1"),  # unknown object
        ("vrd.csv", "p,7,p,1", "p,0,p,1", 3, "image_id_1, object_id_1, image_id_2, object_id_2"),  # twice
        ("vrd.csv", "p,7,p,1", "p,1,p,0", 3, "image_id_1, object_id_1, image_id_2, object_id_2"),  # reversed
        ("vrd.csv", "p,1,1,0", "p,1,9,0", 2, "distance"),  # label out of range
        ("vrd.csv", ",occlusion", ",occ", 1, "occlusion"),  # missing column
        ("objects.csv", "0.3,0.9", "0.9,0.3", 4, "xmin, xmax"),  # reversed box
        ("prediction.csv", "0.75,1,2", "0.75,1,-1", 2, "distance"),  # a prediction always says something
        ("prediction.csv", "0.75,1,2", "0.75,4,2", 2, "occlusion"),  # label out of range
        ("prediction.csv", "0.75,1,2", "0.75,,2", 2, "occlusion"),  # no label
        ("prediction.csv", "0.3,0.9,0.1,0.2", "0.3,0.9,0.2,0.1", 3, "ymin_1, ymax_1"),  # reversed box
        ("prediction.csv", "0.0,1.0,0.25,0.75,0", "0.0,1.1,0.25,0.75,0", 3, "xmax_2"),  # out of range
        ("prediction.csv", "entity_2,", "entity_2,score,", 1, "score"),  # extra column
        ("prediction.csv", "xmin_2,", "", 1, "xmin_2"),  # missing column
    ],
)
def test_bad_rows(tmp_path: Path, file: str, old: str, new: str, row: int, field: str) -> None:
    assert old in SCORING[file]
    folder = lay(tmp_path, SCORING | {file: SCORING[file].replace(old, new, 1)})
    with pytest.raises(DataError) as caught:
        read_predictions(folder / file) if file == "prediction.csv" else truth_of(folder)
    assert (caught.value.file, caught.value.row, caught.value.field) == (folder / file, row, field)


HEADERS = {name: text.splitlines()[0] for name, text in SCORING.items()}
ENDS = "image_id_1, object_id_1, image_id_2, object_id_2"


def long_files() -> dict[str, list[str]]:
    """Rows of 90 images with three objects, all pairs; hundreds of bytes, so that small blocks cut them often."""
    objects = [f"p{i},{k},/m/01,0.{k}1,0.9,0.2,0.{k + 5}5" for i in range(90) for k in range(3)]
    pairs = [f"p{i},{a},p{i},{b},{i % 5 - 1},{b % 4},1,0" for i in range(90) for a, b in ((0, 1), (2, 0), (1, 2))]
    said = [
        f"p{i},/m/01,0.1,0.9,0.2,0.{k + 5}5,p{i},/m/02,0,1,0.25,0.75,{i % 4},{k}"
        for i in range(90)
        for k in range(3)
    ]
    return {"objects.csv": objects, "vrd.csv": pairs, "prediction.csv": said}


def write_long(folder: Path, files: dict[str, list[str]]) -> Path:
    return lay(folder, {name: "\n".join([HEADERS[name], *rows]) + "\n" for name, rows in files.items()})


def blocks_of(folder: Path, file: str, block: int) -> list[pl.DataFrame]:
    if file == "prediction.csv":
        return list(prediction_blocks(folder / file, block=block))
    return list(scoring_truth_blocks(folder / "objects.csv", folder / "vrd.csv", block=block))


@pytest.mark.parametrize("block", [256, 257, 1000, 1 << 23])
@pytest.mark.parametrize("file", ["vrd.csv", "prediction.csv"])
def test_blocks_are_the_whole(tmp_path: Path, file: str, block: int) -> None:
    folder = write_long(tmp_path, long_files())
    parts = blocks_of(folder, file, block)
    assert (len(parts) > 5) is (block <= 1000)
    assert pl.concat(parts).equals(
        read_predictions(folder / file) if file == "prediction.csv" else truth_of(folder)
    )


@pytest.mark.parametrize("block", [256, 1 << 23])
@pytest.mark.parametrize(
    ("file", "at", "cells", "problem", "field", "found"),
    [
        ("objects.csv", 200, "p9,0,/m/01,0,1,0,1", "object stands twice", "image_id, object_id", "p9, 0"),
        ("objects.csv", 201, "x,0,/m/01,0.5,0.5,0,1", "reversed or empty", "xmin, xmax", "0.5, 0.5"),
        ("objects.csv", 202, "x,0,/m/01,0,1.5,0,1", "leaves the image", "xmax", "1.5"),
        ("objects.csv", 203, "x,0,,0,1,0,1", "cell is empty", "entity", ""),
        ("vrd.csv", 250, "p9,0,p9,7,1,1,1,1", "unknown object", "image_id_2, object_id_2", "p9, 7"),
        ("vrd.csv", 251, "q,0,p9,0,1,1,1,1", "unknown object", "image_id_1, object_id_1", "q, 0"),
        ("vrd.csv", 252, "p9,2,p9,2,1,1,1,1", "paired with itself", ENDS, "p9, 2, p9, 2"),
        ("vrd.csv", 253, "p9,2,p9,1,1,1,1,1", "pair stands twice", ENDS, "p9, 2, p9, 1"),  # the other way round
        ("vrd.csv", 254, "p9,1,p8,2,5,1,1,1", "label outside", "distance", "5"),
        ("prediction.csv", 255, "p,c,0,1,0,1,q,,0,1,0,1,0,0", "cell is empty", "entity_2", ""),
        ("prediction.csv", 256, "p,c,0,1,0,1,q,c,0,1,0,1.1,0,0", "leaves the image", "ymax_2", "1.1"),
        ("prediction.csv", 257, "p,c,0,1,0.5,0.1,q,c,0,1,0,1,0,0", "reversed", "ymin_1, ymax_1", "0.5, 0.1"),
        ("prediction.csv", 258, "p,c,0,1,0,one,q,c,0,1,0,1,0,0", "finite number", "ymax_1", "one"),
    ],
)
def test_errors_in_later_blocks(
    tmp_path: Path, file: str, at: int, cells: str, problem: str, field: str, found: str, block: int
) -> None:
    files = long_files()
    files[file][at] = cells
    if file == "objects.csv":
        files["vrd.csv"] = files["vrd.csv"][:9]
    folder = write_long(tmp_path, files)
    with pytest.raises(DataError, match=problem) as caught:
        blocks_of(folder, file, block)
    error = caught.value
    assert (error.file, error.row, error.field, error.found) == (folder / file, at + 2, field, found)
    assert error.expected


def test_no_truth_is_an_error_but_no_prediction_is_silence(tmp_path: Path) -> None:
    folder = lay(tmp_path, {name: text.splitlines()[0] + "\n" for name, text in SCORING.items()})
    with pytest.raises(DataError, match="no rows"):
        truth_of(folder)
    assert read_predictions(folder / "prediction.csv").height == 0


@st.composite
def predictions(draw: st.DrawFn) -> pl.DataFrame:
    n = draw(st.integers(0, 5))
    text = st.text(st.characters(exclude_categories=("Cc", "Cs"), max_codepoint=0x3FF), min_size=1, max_size=5)
    span = st.tuples(st.floats(0, 1), st.floats(0, 1)).filter(lambda ends: ends[0] != ends[1]).map(sorted)
    spans = {side: [draw(span) for _ in range(n)] for side in ("a_x", "a_y", "b_x", "b_y")}
    columns = {name: pl.Series([draw(text) for _ in range(n)], dtype=pl.String) for name in ("image_a", "image_b")}
    columns |= {
        name: pl.Series([ends[int(name[-1])] for ends in spans[name[:-1]]], dtype=pl.Float64) for name in BOXES
    }
    for name in ("depth", "occlusion"):
        columns[name] = pl.Series([draw(st.integers(0, 3)) for _ in range(n)], dtype=pl.Int8)
    for name in ("category_a", "category_b"):
        columns[name] = pl.Series([draw(text) for _ in range(n)], dtype=pl.String)
    return pl.DataFrame(columns)


@settings(max_examples=50, deadline=None)
@given(predictions())
def test_round_trip_of_predictions(tmp_path_factory: pytest.TempPathFactory, frame: pl.DataFrame) -> None:
    path = tmp_path_factory.mktemp("predictions") / "p.csv"
    write_predictions(frame, path)
    assert read_predictions(path).equals(frame)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (pl.lit(-1, pl.Int8).alias("depth"), "distance"),  # silence has no row
        (pl.lit(float("nan")).alias("a_x0"), "xmin_1"),  # NaN
        (pl.lit(0.95).alias("a_x0"), "xmin_1, xmax_1"),  # reversed
        (pl.lit("").alias("category_b"), "entity_2"),  # no class
        (pl.lit(None, pl.String).alias("image_a"), "image_id_1"),  # no image
    ],
)
def test_bad_predictions_are_not_written(tmp_path: Path, change: pl.Expr, field: str) -> None:
    frame = read_predictions(lay(tmp_path, SCORING) / "prediction.csv")
    target = tmp_path / "out.csv"
    with pytest.raises(DataError) as caught:
        write_predictions(frame.with_columns(change), target)
    assert (caught.value.field, target.exists()) == (field, False)
    with pytest.raises(DataError, match="lack a column"):
        write_predictions(frame.drop("depth"), target)


@pytest.mark.realdata
def test_evaluator_case(real_data: Path) -> None:
    case = real_data / "2.5vrd" / "evaluator_case"
    truth, predicted = truth_of(case), read_predictions(case / "prediction.csv")
    assert truth.select("image_a", "image_b", "depth", "occlusion").rows() == [
        ("image01", "image02", 0, 0),
        ("image01", "image02", 2, 1),
        ("image03", "image04", 3, 2),
    ]
    assert predicted.select("depth", "occlusion").rows() == [(0, 0), (2, 1), (3, 2), (3, 2)]
    assert predicted["a_x1"].to_list() == [0.5, 0.5, 0.5, 0.4]
