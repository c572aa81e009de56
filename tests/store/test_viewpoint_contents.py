"""Counts of objects with viewpoints, by hand on small sets."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sightline.cli import app
from sightline.scenes import Landmark, Object, Scene, Sighting, View, Viewpoint, occlusion_ratio
from sightline.store.convert import tables_from_scenes
from sightline.store.formats import named
from sightline.store.tables import Tables
from sightline.store.viewpoint_contents import ClassViews, ViewpointContents, viewpoint_contents
from store.formats.pascal3d_cases import lay


def test_the_small_set_is_counted(tmp_path: Path) -> None:
    found = viewpoint_contents(Tables.concat(named("pascal3d").read(lay(tmp_path))))
    assert found is not None
    assert list(found.classes) == ["car", "bus"]
    assert (found.objects, found.boxes, found.landmarks, found.azimuths) == (3, 4, 3, 1)
    assert found.sources == {"imagenet": (1, 1), "pascal": (2, 1)}
    assert found.off_centre == 1.0  # the middle of 500 × 375 is in none of the boxes
    car = found.classes["car"]
    assert (car.objects, car.images, car.sources, car.subtypes) == (
        2,
        2,
        {"imagenet": 1, "pascal": 1},
        {"sedan": 2},
    )
    assert (car.occluded, car.truncated, car.difficult, car.coarse) == (2, 2, 1, 0)
    assert car.occlusion == (0, 2, 0)  # two of four landmarks; the unknown one does not count
    assert [i for i, n in enumerate(car.azimuths) if n] == [2]  # 33.5° of 15° sections
    assert sum(car.elevations) == car.elevations[9] == 2  # 0 … 10°
    assert (car.commonest, car.below) == (1.0, 0.0)


def scene(number: int, azimuth: float, elevation: float, marks: tuple[Landmark, ...] = ()) -> Scene:
    seen = Sighting("0", "a", (4.0, 4.0, 6.0, 6.0), landmarks=marks, viewpoint=Viewpoint(azimuth, elevation))
    return Scene(f"s{number}", views=(View("0", size=(10, 10)),), objects=(Object("a", "bus"),), sightings=(seen,))


def test_ends_of_the_scales_have_their_place() -> None:
    hidden = (Landmark("x", None, None, "truncated"),)
    poses = [(0.0, -90.0), (359.9, 90.0), (7.5, -0.01), (180.0, 0.0)]
    made = [scene(i, *pose, hidden if i else ()) for i, pose in enumerate(poses)]
    found = viewpoint_contents(tables_from_scenes(made))
    assert found is not None
    of = found.classes["bus"]
    assert (of.azimuths[0], of.azimuths[1], of.azimuths[12]) == (2, 1, 1)
    assert (of.elevations[0], of.elevations[8], of.elevations[9], of.elevations[-1]) == (1, 1, 1, 1)
    assert (of.occlusion, of.commonest, of.below, of.coarse) == ((0, 0, 3), 0.75, 0.5, 4)
    assert (found.off_centre, found.sources) == (0.0, {"": (4, 4)})


def test_without_viewpoints_there_is_nothing_to_count() -> None:
    bare = scene(0, 0.0, 0.0)
    made = replace(bare, sightings=(replace(bare.sightings[0], viewpoint=None),))
    assert viewpoint_contents(tables_from_scenes([made])) is None


def test_unknown_landmarks_do_not_count() -> None:
    assert math.isnan(occlusion_ratio([Landmark("a", None, None, "unknown")]))
    assert math.isnan(occlusion_ratio([]))
    assert occlusion_ratio([Landmark("a", 1, 1), Landmark("b", None, None, "self_occluded")]) == 0.0


@pytest.mark.parametrize(
    ("sources", "lines"),
    [
        ({"pascal": (13898, 8505), "imagenet": (23000, 22394)}, 2),  # the full set
        ({"pascal": (13900, 8505)}, 1),
        ({"pascal": (2089, 2089), "imagenet": (21134, 21134)}, 0),  # photos with one object
        ({"other": (99999, 99999)}, 0),
    ],
)
def test_the_papers_counts_stand_beside_the_full_set_only(sources: dict[str, tuple[int, int]], lines: int) -> None:
    one = ClassViews(1, 1, {}, {}, 0, 0, 0, 0, (), (), (0, 0, 0), 1.0, 0.0)
    told = ViewpointContents({"car": one}, 1, sources, None, 360, 0).against_paper()
    assert len(told) == lines
    if lines == 2:
        assert told[0] == "pascal: 13,898 objects in 8,505 images; the paper has 13,898 objects in 8,505 images"
        assert told[1].endswith("the paper has 22,394 images")


def test_stats_prints_the_rows_of_table_1(tmp_path: Path) -> None:
    data = str(lay(tmp_path / "p3d"))
    shown = CliRunner().invoke(app, ["stats", data])
    assert shown.exit_code == 0, shown.output
    assert "Viewpoints, as Table 1 of PASCAL3D+ compares" in shown.output
    for row in ("categories", "objects a category", "occlusion label", "orientation label", "dense viewpoint"):
        assert row in shown.output
    assert "the paper has" not in shown.output
    document = json.loads(CliRunner().invoke(app, ["stats", data, "--json"]).output)
    assert document["viewpoints"]["classes"]["car"]["subtypes"] == {"sedan": 2}
    page = CliRunner().invoke(app, ["stats", data, "--out", str(tmp_path / "page.html")])
    assert page.exit_code == 0, page.output
    shown = (tmp_path / "page.html").read_text()
    assert all(
        words in shown for words in ("Objects with viewpoints by class", "Azimuths of car", "Objects by elevation")
    )
