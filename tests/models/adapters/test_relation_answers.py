from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from exams.relations.pair_tables import random_table
from sightline.errors import DataError, ModelError
from sightline.exams.relations.items import relations_items
from sightline.models import load
from sightline.models.composite import Composite
from sightline.scenes import View
from sightline.skills import SILENT
from sightline.store.formats.vrd25 import write_predictions

HEADER = (
    "image_id_1,entity_1,xmin_1,xmax_1,ymin_1,ymax_1,image_id_2,entity_2,xmin_2,xmax_2,ymin_2,ymax_2,"
    "occlusion,distance\n"
)
A, B, C = (0.0, 0.0, 0.4, 0.4), (0.5, 0.5, 1.0, 1.0), (0.5, 0.0, 1.0, 0.4)  # xyxy
NEAR_A = (0.0, 0.0, 0.4, 0.3)  # IoU 0.75 with A
HALF_A = (0.0, 0.0, 0.4, 0.2)  # IoU exactly 0.5 with A


def row(
    a: Any, b: Any, occlusion: int, distance: int, images: str = "xx", classes: tuple[str, str] = ("cat", "dog")
) -> str:
    ends = [f"{i},{c},{q[0]},{q[2]},{q[1]},{q[3]}" for i, c, q in zip(images, classes, (a, b), strict=True)]
    return f"{ends[0]},{ends[1]},{occlusion},{distance}\n"


@pytest.mark.parametrize(
    ("rows", "depth", "occlusion"),
    [
        ([row(A, B, 1, 2)], 2, 1),  # the pair itself
        ([row(NEAR_A, B, 1, 2)], 2, 1),  # overlapping enough
        ([row(HALF_A, B, 1, 2)], SILENT, SILENT),  # IoU 0.5 is not more than 0.5
        ([row(NEAR_A, B, 0, 1), row(A, B, 1, 2)], 2, 1),  # the exact box wins over an earlier one
        ([row(A, B, 0, 1), row(A, B, 1, 2)], 1, 0),  # of equals the first
        ([row(A, B, 0, 1, classes=("cat", "cow")), row(A, B, 1, 2)], 2, 1),  # of equals the right classes
        ([row(A, C, 1, 2)], SILENT, SILENT),  # only one end fits
        ([row(B, A, 1, 2)], SILENT, SILENT),  # only the reverse is there
        ([row(A, B, 1, 2, images="yy")], SILENT, SILENT),  # another image
        ([row(A, B, 1, 2, images="xy")], SILENT, SILENT),  # an across pair
        ([], SILENT, SILENT),  # nothing said
    ],
)
def test_which_row_answers(tmp_path: Path, ask: Any, rows: list[str], depth: int, occlusion: int) -> None:
    file = tmp_path / "p.csv"
    file.write_text(HEADER + "".join(rows))
    said = load(str(file)).relate(ask([A], [B]))
    assert (said.depth.tolist(), said.occlusion.tolist()) == ([depth], [occlusion])


@pytest.mark.parametrize(
    ("images", "said"),
    [
        (("x", "y"), [2]),  # as in the file
        (("y", "x"), [SILENT]),  # the other order
    ],
)
def test_across_images_the_order_counts(tmp_path: Path, ask: Any, images: tuple[str, str], said: list[int]) -> None:
    file = tmp_path / "p.csv"
    file.write_text(HEADER + row(A, B, 0, 2, images="xy"))
    pairs = ask([A], [B], setting="across_images", images=images)
    assert load(str(file)).relate(pairs).depth.tolist() == said


@pytest.mark.parametrize("setting", ["within_image", "across_images"])
def test_reverse_fills_only_what_is_missing(tmp_path: Path, ask: Any, turned: Any, setting: Any) -> None:
    file = tmp_path / "p.csv"
    images = "xx" if setting == "within_image" else "xy"
    file.write_text(HEADER + row(A, B, 1, 1, images) + row(C, B, 2, 3, images) + row(B, C, 3, 1, images[::-1]))
    asked = turned(ask([A, C], [B, B], setting=setting))
    silent, filled = load(str(file)), load(f"predictions:path={file},reverse=true")
    assert silent.relate(asked).depth.tolist() == [SILENT, 1]
    assert filled.relate(asked).depth.tolist() == [2, 1]
    assert filled.relate(asked).occlusion.tolist() == [2, 3]


def test_views_must_tell_which_image_is_first(tmp_path: Path, ask: Any) -> None:
    file = tmp_path / "p.csv"
    file.write_text(HEADER + row(A, B, 0, 2, images="xy"))
    pairs = ask([A], [B], setting="across_images")
    object.__setattr__(pairs, "view_a", View("0"))
    with pytest.raises(ModelError, match="cannot tell which image"):
        load(str(file)).relate(pairs)


@pytest.mark.parametrize("setting", ["within_image", "across_images"])
def test_a_rule_written_to_a_file_answers_as_the_rule(tmp_path: Path, setting: Any) -> None:
    table = random_table(5, setting=setting)
    items = relations_items(table, {str(s): View(str(s), units="normalised") for s in table.scenes})
    rule, frames = load("bottom_edge"), []
    for item in items:
        said = rule.relate(item.pairs)
        columns: dict[str, Any] = {
            "image_a": [item.scene_id.rsplit("/")[-1]] * len(item.pairs),
            "image_b": [item.other_scene.rsplit("/")[-1]] * len(item.pairs),
            "category_a": item.pairs.categories_a,
            "category_b": item.pairs.categories_b,
            "depth": said.depth,
            "occlusion": np.maximum(said.occlusion, 0),
        }
        for end, boxes in (("a", item.pairs.boxes_a), ("b", item.pairs.boxes_b)):
            columns |= {f"{end}_{side}": boxes[:, k] for k, side in enumerate(("x0", "y0", "x1", "y1"))}
        frames.append(pl.DataFrame(columns))
    write_predictions(pl.concat(frames), tmp_path / "p.csv")
    read = load(str(tmp_path / "p.csv"))
    assert len(items) > 3
    for item in items:
        np.testing.assert_array_equal(read.relate(item.pairs).depth, rule.relate(item.pairs).depth)


def test_no_pairs_no_answers(tmp_path: Path, ask: Any) -> None:
    file = tmp_path / "p.csv"
    file.write_text(HEADER + row(A, B, 1, 2))
    assert load(str(file)).relate(ask([], [])).depth.shape == (0,)


DETECTIONS = """image_id,entity,xmin,xmax,ymin,ymax,score
x,cat,0.1,0.4,0.2,0.9,0.7
7,cow,0.0,1.0,0.0,0.5,0.1
x,dog,0.5,0.6,0.5,0.6,0.9
"""


@pytest.mark.parametrize(
    ("view", "categories"),
    [
        (View("within_image/test/x"), ("cat", "dog")),  # by the id's last component
        (View("0", image_ref="blob:photos/7.jpg"), ("cow",)),  # by the picture
        (View("z"), ()),  # not in the file
    ],
)
def test_detections(tmp_path: Path, view: View, categories: tuple[str, ...]) -> None:
    file = tmp_path / "d.csv"
    file.write_text(DETECTIONS)
    found = load(f"detections:path={file}").detect(view)
    assert found.categories == categories
    assert len(found.boxes) == len(found.scores) == len(found.groups) == len(categories)
    if categories == ("cat", "dog"):
        np.testing.assert_array_equal(found.boxes, [[0.1, 0.2, 0.4, 0.9], [0.5, 0.5, 0.6, 0.6]])
        np.testing.assert_array_equal(found.scores, [0.7, 0.9])


@pytest.mark.parametrize(
    ("old", "new", "row_number", "field"),
    [
        ("0.1,0.4,0.2", "0.4,0.1,0.2", 2, "xmin, xmax"),  # reversed box
        ("0.0,1.0,0.0,0.5", "0.0,1.5,0.0,0.5", 3, "xmax"),  # leaves the image
        ("0.9\n", "high\n", 4, "score"),  # not a number
        (",0.7", ",nan", 2, "score"),  # NaN
        ("entity", "class", 1, "entity"),  # missing column
    ],
)
def test_bad_detections(tmp_path: Path, old: str, new: str, row_number: int, field: str) -> None:
    file = tmp_path / "d.csv"
    file.write_text(DETECTIONS.replace(old, new))
    with pytest.raises(DataError) as raised:
        load(str(file))
    assert (raised.value.row, raised.value.field) == (row_number, field)


def test_composite_forwards(tmp_path: Path, ask: Any) -> None:
    file = tmp_path / "d.csv"
    file.write_text(DETECTIONS)
    seen: list[object] = []
    relater, detector = load("bottom_edge"), load(str(file))
    relater.prepare_relations = seen.append
    detector.prepare = relater.check = seen.append  # the form for all exams
    detector.check_relations = seen.append
    both = Composite(relater, detector)
    both.prepare_relations("study")
    assert seen == ["study", "study"]
    both.check_relations("spec")
    assert seen[2:] == ["spec", "spec"]
    assert both.detect(View("x")).categories == ("cat", "dog")
    assert both.relate(ask([A], [B])).depth.tolist() == [2]
    assert both.facts() == relater.facts()
    assert Composite(load("random"), load(str(file))).facts() == {}
    with pytest.raises(ModelError, match=r"d.csv cannot relate \(its skills: detect\)"):
        Composite(load(str(file)), load(str(file)))
