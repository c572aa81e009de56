"""Canonical views beside a generated dataset: whole, added to, made again where they are damaged."""

from __future__ import annotations

import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.errors import ConfigError, DataError, SightlineError
from sightline.generation import canonical, canonical_of, generate
from sightline.generation.canonical import file_of
from sightline.render.canonical import canonical_views
from sightline.store import Dataset, write

WORLD, SIZE = "geospa/train", (48, 32)
SAME = {"seed": 5, "size": SIZE}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Two scenes with two views of every object."""
    return generate(WORLD, tmp_path_factory.mktemp("drawn") / "d", scenes=2, canonical=2, **SAME)


def _copy(data: Dataset, folder: Path) -> Path:
    shutil.copytree(data.path, folder)
    return folder


def test_every_object_has_its_views(drawn: Dataset) -> None:
    objects = [thing for scene in drawn for thing in scene.objects]
    for thing in objects:
        views = canonical_of(drawn, thing)
        look = (thing.shape or "", thing.attributes["color"], thing.attributes["material"])
        np.testing.assert_array_equal(views, canonical_views([look], count=2, seed=5)[0])
    files = {p.name for p in (drawn.path / "canonical").iterdir()}
    assert files == {f"{o.category}-{o.attributes['size']}-{o.attributes['color']}-metal.png" for o in objects}
    assert drawn.verify() == []
    assert drawn.recipe is not None
    assert drawn.recipe["canonical"] == 2


def test_scenes_do_not_depend_on_them(drawn: Dataset, tmp_path: Path) -> None:
    plain = generate(WORLD, tmp_path / "d", scenes=2, **SAME)
    assert plain.fingerprint == drawn.fingerprint
    first = next(iter(plain)).objects[0]
    later = generate(WORLD, tmp_path / "d", scenes=2, canonical=1, **SAME)  # added afterwards
    assert later.fingerprint == plain.fingerprint
    np.testing.assert_array_equal(canonical_of(later, first), canonical_of(drawn, first)[:1])
    assert json.loads((tmp_path / "d" / "dataset.json").read_text())["recipe"]["canonical"] == 1


def test_a_dataset_without_them_has_them_drawn(tmp_path: Path) -> None:
    plain = generate(WORLD, tmp_path / "d", scenes=2, **SAME)
    before = {p: p.stat().st_mtime_ns for p in plain.path.rglob("*")}
    things = [thing for scene in plain for thing in scene.objects]
    views = [canonical_of(plain, thing) for thing in things]
    assert {view.shape for view in views} == {(canonical.DRAWN, 32, 32, 3)}
    assert canonical_of(Dataset.open(plain.path), things[0]) is views[0]  # kept
    assert {p: p.stat().st_mtime_ns for p in plain.path.rglob("*")} == before  # nothing written
    stored = generate(WORLD, tmp_path / "e", scenes=2, canonical=canonical.DRAWN, **SAME)
    for thing, view in zip(things, views, strict=True):
        np.testing.assert_array_equal(canonical_of(stored, thing), view)
    np.testing.assert_array_equal(canonical_of(plain, things[0], draw=2), views[0][:2])
    with pytest.raises(DataError, match=r"no canonical views: run .* with --canonical N"):
        canonical_of(plain, things[0], draw=0)
    for stranger in (replace(things[0], attributes={}), replace(things[0], shape=None)):
        with pytest.raises(DataError, match="no canonical views of"):
            canonical_of(plain, stranger)


def test_lost_ones_are_missed(drawn: Dataset, tmp_path: Path) -> None:
    folder = _copy(drawn, tmp_path / "d")
    shutil.rmtree(folder / "canonical")
    with pytest.raises(DataError, match=r"no canonical views: run .* with --canonical N"):
        canonical_of(Dataset.open(folder), next(iter(drawn)).objects[0])


@pytest.mark.long
def test_more_scenes_and_more_views(drawn: Dataset, tmp_path: Path) -> None:
    folder = _copy(drawn, tmp_path / "d")
    words: list[str] = []
    data = generate(WORLD, folder, scenes=3, canonical=3, workers=1, say=words.append, **SAME)
    assert {len(canonical_of(data, thing)) for scene in data for thing in scene.objects} == {3}
    assert [word for word in words if word.startswith("canonical views: 3 each of ")]
    with pytest.raises(ConfigError, match="canonical: 3, 2"):
        generate(WORLD, folder, scenes=3, canonical=2, **SAME)


def test_lost_and_damaged_strips_are_drawn_again(drawn: Dataset, tmp_path: Path) -> None:
    folder = _copy(drawn, tmp_path / "d")
    lost, cut, *_ = sorted((folder / "canonical").iterdir())
    expected = {p.name: p.read_bytes() for p in (lost, cut)}
    lost.unlink()
    cut.write_bytes(cut.read_bytes()[:40])
    (folder / "canonical" / ".x.png.0.tmp").write_bytes(b"")
    opened = Dataset.open(folder)
    things = {file_of(folder, _look(o)).name: o for scene in opened for o in scene.objects}
    with pytest.raises(DataError, match="no canonical views of"):
        canonical_of(opened, things[lost.name])
    with pytest.raises(DataError, match="canonical views cannot be read"):
        canonical_of(opened, things[cut.name])
    manifest = (folder / "dataset.json").read_bytes()
    generate(WORLD, folder, scenes=2, canonical=2, **SAME)
    assert {p.name: p.read_bytes() for p in (lost, cut)} == expected
    assert (folder / "dataset.json").read_bytes() == manifest
    assert not list(folder.rglob("*.tmp"))


@pytest.mark.parametrize("size", [(32, 16), (128, 64), (50, 32), (32, 64)])
def test_strips_of_another_size(drawn: Dataset, tmp_path: Path, size: tuple[int, int]) -> None:
    folder = _copy(drawn, tmp_path / "d")
    opened = Dataset.open(folder)
    thing = next(iter(opened)).objects[0]
    file = file_of(folder, _look(thing))
    expected = file.read_bytes()
    Image.open(file).resize(size).save(file)
    found = "{}×{}".format(*size)
    with pytest.raises(
        DataError, match=f"another size.*expected 32 pixels high, a multiple of 32 wide, found .{found}"
    ):
        canonical_of(opened, thing)
    generate(WORLD, folder, scenes=2, canonical=2, **SAME)
    assert file.read_bytes() == expected


def _look(thing: object) -> tuple[str, str, str]:
    return thing.shape, thing.attributes["color"], thing.attributes["material"]  # type: ignore[attr-defined]


def test_a_disk_that_is_full_at_the_end(drawn: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(canonical, "atomic_write", full)
    with pytest.raises(SightlineError, match="No space left on device; 2 finished scenes are kept"):
        generate(WORLD, tmp_path / "d", scenes=2, canonical=2, **SAME)
    monkeypatch.undo()
    done: list[int] = []
    data = generate(WORLD, tmp_path / "d", scenes=2, canonical=2, progress=lambda n, _: done.append(n), **SAME)
    assert done == [2]  # no scene again
    assert data.fingerprint == drawn.fingerprint
    assert canonical_of(data, next(iter(data)).objects[0]).shape == (2, 32, 32, 3)


def test_objects_of_elsewhere(drawn: Dataset, tmp_path: Path) -> None:
    thing = next(iter(drawn)).objects[0]
    for stranger in (replace(thing, attributes={}), replace(thing, shape=None)):
        with pytest.raises(DataError, match="no canonical views of"):
            canonical_of(drawn, stranger)
    copied = write(drawn.tables(), tmp_path / "copy", images=drawn.blobs)
    with pytest.raises(DataError, match="no canonical views"):
        canonical_of(copied, thing)


def test_a_negative_number(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="canonical must be 0 or more"):
        generate(WORLD, tmp_path / "d", scenes=1, canonical=-1, **SAME)


def test_names_that_are_no_file_names() -> None:
    assert file_of(Path("d"), ("../a b/ü:small", "red", "metal")).parent == Path("d/canonical")
