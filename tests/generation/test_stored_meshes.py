"""A world's own meshes travel with the dataset."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sightline.errors import ConfigError
from sightline.generation import generate
from sightline.generation.recipe import bake_meshes
from sightline.scenes import Object, Scene, Sighting
from sightline.store import Dataset
from sightline.store.check import check_tables

pytest.importorskip("trimesh")

WEDGE = """OFF
8 12 0
-1 -1 0
1 -1 0
1 1 0
-1 1 0
-0.6 -0.6 {top}
0.6 -0.6 {top}
0.6 0.6 {top}
-0.6 0.6 {top}
3 0 2 1
3 0 3 2
3 4 5 6
3 4 6 7
3 0 1 5
3 0 5 4
3 1 2 6
3 1 6 5
3 2 3 7
3 2 7 6
3 3 0 4
3 3 4 7
"""
WORLD = """
objects: [2, 2]
shapes: [cube, stump]
meshes:
  stump: {file: stump.off, height: 0.7}
"""
SHOWN = """
import sys, sightline
for scene in sightline.open(sys.argv[1]):
    print(sorted(o.id for o in scene.without("0").objects), scene.without("0").views[0].image().mean().round(3))
"""


def _lay(folder: Path, top: float) -> Path:
    folder.mkdir()
    (folder / "stump.off").write_text(WEDGE.format(top=top))
    (folder / "stumps.yaml").write_text(WORLD)
    return folder / "stumps.yaml"


def test_the_dataset_stands_on_its_own(tmp_path: Path) -> None:
    world = _lay(tmp_path / "there", 1.5)
    data = generate(world, tmp_path / "d", scenes=4, size=(48, 32))
    assert "stump" in {o.category for scene in data for o in scene.objects}
    assert len(list((data.path / "shapes").iterdir())) == 1
    expected = [scene.without("0").views[0].image().mean().round(3) for scene in data]
    shutil.rmtree(tmp_path / "there")
    (tmp_path / "d").rename(tmp_path / "carried")
    run = [sys.executable, "-c", SHOWN, str(tmp_path / "carried")]  # another process, which never saw the mesh
    printed = subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert printed.splitlines() == [f"['1'] {mean}" for mean in expected]


def test_another_mesh_is_another_recipe(tmp_path: Path) -> None:
    generate(_lay(tmp_path / "a", 1.5), tmp_path / "d", scenes=1, size=(48, 32))
    (tmp_path / "b").mkdir()
    other = WEDGE.format(top=1.2).replace("-0.6", "-0.5")
    (tmp_path / "b" / "stump.off").write_text(other)
    code = (
        "import sys; from sightline.generation import generate;"
        "generate(sys.argv[1], sys.argv[2], scenes=1, size=(48, 32))"
    )
    (tmp_path / "b" / "stumps.yaml").write_text(WORLD)
    run = [sys.executable, "-c", code, str(tmp_path / "b" / "stumps.yaml"), str(tmp_path / "d")]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert "made by another recipe" in done.stderr
    assert "settings.meshes.stump.file" in done.stderr


def test_without_own_meshes_nothing_is_baked() -> None:
    assert bake_meshes({"meshes": {}, "gap": 1}) == ({"meshes": {}, "gap": 1}, b"")
    assert bake_meshes({"meshes": {"x": None}}) == ({"meshes": {}}, b"")  # taken away by an extending file
    with pytest.raises(ConfigError, match="unknown shape"):
        bake_meshes({"meshes": {"unheard_of": {"file": "x.off"}}})


def test_a_mesh_without_landmarks_has_a_viewpoint(tmp_path: Path) -> None:
    """The same as with landmarks, but for the error over them; what has no front has none."""
    world = _lay(tmp_path / "bare", 1.0)

    def made(name: str, more: str) -> Dataset:
        text = WORLD.replace("height: 0.7}", f"height: 0.7{more}}}").replace("stump]", f"{name}]")
        world.write_text(text.replace("  stump: {", f"  {name}: {{"))
        return generate(world, tmp_path / name, scenes=2, image_format=None, depth=None)

    bare, marked = made("bare_stump", ""), made("tipped_stump", ", landmarks: {tip: [0.6, -0.6, 1.0]}")
    assert check_tables(bare.tables()) == []
    seen = [
        pair for one, two in zip(bare, marked, strict=True) for pair in zip(_things(one), _things(two), strict=True)
    ]
    assert {thing.category for (thing, _), _ in seen} == {"cube", "bare_stump"}
    for (thing, found), (_, other) in seen:
        if thing.category == "cube":
            assert (found.viewpoint, thing.attributes.get("symmetry")) == (None, None)
        else:
            assert found.viewpoint is not None
            assert other.viewpoint is not None
            assert (found.viewpoint, found.landmarks) == (replace(other.viewpoint, error=None), ())
            assert thing.attributes["symmetry"] == "4"


def _things(scene: Scene) -> list[tuple[Object, Sighting]]:
    return [(scene.object(seen.object_id), seen) for seen in scene.sightings]


def test_landmarks_and_viewpoints_are_stored_checked_and_made_again(tmp_path: Path) -> None:
    world = _lay(tmp_path / "marked", 1.0)
    marks = "landmarks: {tip: [0.6, -0.6, 1.0], foot: [-1, 1, 0]}"
    marked = WORLD.replace("height: 0.7}", f"height: 0.7, {marks}}}").replace("[cube, stump]", "[marked_stump]")
    world.write_text(marked.replace("  stump: {", "  marked_stump: {"))
    data = generate(world, tmp_path / "out", scenes=1, image_format=None, depth=None)
    assert check_tables(data.tables()) == []
    for scene in data:
        assert [[m.name for m in s.landmarks] for s in scene.sightings] == [["tip", "foot"]] * 2
        first, second = (s.viewpoint for s in scene.sightings)
        assert first is not None
        assert second is not None
        assert 0.0 <= first.azimuth < 360.0
        assert first.error is not None
        left = scene.without("0")
        (alone,) = left.sightings
        assert (alone.object_id, alone.viewpoint) == ("1", second)
        assert [m.x for m in alone.landmarks] == [m.x for m in scene.sightings[1].landmarks]
        assert "occluded" not in {m.state for m in alone.landmarks}
