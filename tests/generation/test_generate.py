"""Datasets from worlds: whole, the same however they were made, and resumed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sightline
from sightline.errors import ConfigError, DataError, SightlineError
from sightline.generation import generate
from sightline.generation.recipe import recipe_for
from sightline.generation.run import default_workers, finished_shards, missing
from sightline.scenes import validate
from sightline.store import Dataset, check_tables, fingerprint
from sightline.store.manifest import FileInfo, ShardInfo
from sightline.worlds import arrange, load_world, relations

SIZE, VIEWS, WORLD = (96, 64), ["original", "top"], "geospa/train"
SAME = {"views": VIEWS, "seed": 5, "size": SIZE}


def test_what_is_stored_is_whole(small: Dataset) -> None:
    assert len(small) == 6
    assert small.verify() == []
    assert check_tables(small.tables()) == []
    assert small.source == WORLD
    assert small.splits == ("train",)
    assert sorted(p.name for p in small.path.iterdir()) == [
        "dataset.json",
        "images",
        "objects",
        "relations",
        "sightings",
        "views",
    ]
    world = load_world(WORLD)
    for index, scene in enumerate(small):
        validate(scene)
        layout = arrange(replace(world, resolution=SIZE), 5, index)
        assert scene.id == f"geospa/train/5/{index:08d}"
        assert [v.id for v in scene.views] == VIEWS
        assert [o.id for o in scene.objects] == [str(i) for i in range(len(layout.objects))]
        for thing, placed in zip(scene.objects, layout.objects, strict=True):
            assert thing.shape == placed.shape == f"{thing.category}:{thing.attributes['size']}"
            assert (thing.attributes["color"], thing.attributes["material"]) == (placed.color, placed.material)
            assert thing.pose == tuple(placed.pose().ravel())
        facts = {(r.subject, r.predicate, r.object) for r in scene.relations if r.view is None}
        assert facts == {(str(a), word, str(b)) for a, word, b in relations(layout)}


def test_pixels_and_sightings_tell_the_same(small: Dataset) -> None:
    for scene in small:
        for view in scene.views:
            ids, amodal, depth = view.ids(), view.amodal(), view.depth()
            assert view.image().shape == (64, 96, 3)
            assert amodal.shape == (len(scene.objects), 64, 96)
            assert np.isfinite(depth[ids > 0]).all()
            seen = {s.object_id: s for s in scene.seen_in(view.id)}
            for i, thing in enumerate(scene.objects):
                assert (thing.id in seen) == amodal[i].any()
                assert not ((ids == i + 1) & ~amodal[i]).any()
                if thing.id in seen:
                    hidden = 1 - (ids == i + 1).sum() / amodal[i].sum()
                    assert seen[thing.id].occluded_fraction == pytest.approx(hidden)


def test_the_recipe_is_told(small: Dataset) -> None:
    recipe = small.recipe
    assert recipe is not None
    assert {k: recipe[k] for k in ("kind", "world", "seed", "start", "views", "image", "depth", "renderer")} == {
        "kind": "world",
        "world": WORLD,
        "seed": 5,
        "start": 0,
        "views": VIEWS,
        "image": "png",
        "depth": "png",
        "renderer": "fast",
    }
    assert recipe["settings"]["resolution"] == list(SIZE)
    assert recipe["render"]


@pytest.mark.long
def test_workers_cuts_and_extension_change_nothing(small: Dataset, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    tell = lambda done, total: told.append((done, total))  # noqa: E731
    first = generate(WORLD, tmp_path / "d", scenes=3, **SAME)
    assert len(first) == 3
    data = generate(WORLD, tmp_path / "d", scenes=6, workers=2, progress=tell, **SAME)
    assert data.fingerprint == small.fingerprint == fingerprint(data.tables())
    assert data.verify() == []
    assert len(data.shards) > len(small.shards)
    assert told[0] == (3, 6)
    assert told[-1] == (6, 6)
    assert list(data) == list(small)


def test_any_scene_can_be_made_alone(small: Dataset, tmp_path: Path) -> None:
    alone = generate(WORLD, tmp_path / "d", scenes=1, start=4, **SAME)
    [scene] = alone
    assert scene == list(small)[4]


def test_truth_alone(small: Dataset, tmp_path: Path) -> None:
    bare = generate(WORLD, tmp_path / "d", scenes=6, image_format=None, **SAME)
    assert not (bare.path / "images").exists()
    assert bare.verify() == []
    for scene, whole in zip(bare, small, strict=True):
        assert (scene.objects, scene.sightings, scene.relations) == (
            whole.objects,
            whole.sightings,
            whole.relations,
        )
        with pytest.raises(DataError, match="view has no image"):
            scene.views[0].image()
        reduced = scene.without(scene.objects[0].id)
        assert reduced.sightings == whole.without(whole.objects[0].id).sightings
        assert reduced.views[0].load_image is None


def test_nothing_to_do(small: Dataset) -> None:
    before = (small.path / "dataset.json").read_bytes()
    again = generate(WORLD, small.path, scenes=6, **SAME)
    assert again.fingerprint == small.fingerprint
    assert (small.path / "dataset.json").read_bytes() == before
    assert not (small.path / "partial").exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"seed": 6}, "seed: 5, 6"),  # other scenes
        ({"views": ["original"]}, 'views: ["original", "top"], ["original"]'),  # fewer views
        ({"size": (48, 32)}, "settings.resolution"),  # another size
        ({"image_format": "jpeg"}, 'image: "png", "jpeg"'),  # another format
        ({"world": "geospa/val_size"}, 'world: "geospa/train", "geospa/val_size"; …)'),  # another world
        ({"scenes": 5}, "holds 6 scenes already"),  # fewer than there are
    ],
)
def test_another_recipe_is_refused(small: Dataset, change: dict[str, object], problem: str) -> None:
    before = small.fingerprint
    asked = {"world": WORLD, "out": small.path, "scenes": 6, **SAME, **change}
    with pytest.raises(ConfigError) as caught:
        generate(**asked)  # type: ignore[arg-type]
    assert problem in str(caught.value)
    assert not (small.path / "partial").exists()
    assert Dataset.open(small.path).fingerprint == before


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"world": "geospa/trian"}, "did you mean 'train'"),  # a slip
        ({"views": ["tpo"]}, "has no view 'tpo': choose from original, side_1"),  # the list of those there are
        ({"views": []}, "views must be one or more"),  # none
        ({"views": ["top", "top"]}, "none twice"),  # one twice
        ({"image_format": "gif"}, "unknown image format 'gif'"),
        ({"depth": "exr"}, "unknown depth format 'exr'"),
        ({"renderer": "povray"}, "unknown renderer 'povray'"),
        ({"settings": {"speed": 1}}, "has no setting 'speed'"),
        ({"scenes": 0}, "scenes must be at least 1"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"size": (0, 5)}, "size must be at least 1"),
        ({"size": (20_000, 20_000)}, "at most 33,554,432 pixels, not 20000×20000"),  # would fill the memory
        ({"workers": -1}, "workers"),
    ],
)
def test_what_cannot_be_made(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    asked = {"world": WORLD, "out": tmp_path / "d", "scenes": 1, "size": SIZE, **change}
    with pytest.raises(ConfigError, match=problem):
        generate(**asked)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_folders_that_are_not_ours(small: Dataset, tmp_path: Path) -> None:
    from sightline.store import write

    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not empty and holds no"):
        generate(WORLD, tmp_path / "notes", scenes=1, size=SIZE)
    assert (tmp_path / "notes" / "a.txt").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match="is a file"):
        generate(WORLD, tmp_path / "file", scenes=1, size=SIZE)
    write(small.tables(), tmp_path / "copy", images=small.blobs)  # a copy has no recipe
    with pytest.raises(ConfigError, match="was not generated"):
        generate(WORLD, tmp_path / "copy", scenes=1, size=SIZE)


def test_a_full_disk(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sightline import files
    from sightline.store import blobs

    written = 0

    def full(path: str | Path, data: bytes, *, sync: bool) -> None:
        nonlocal written
        written += len(data)
        if written > room:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        files.atomic_write(path, data, sync=sync)

    monkeypatch.setattr(blobs, "atomic_write", full)
    monkeypatch.setattr("sightline.generation.run.SCENES_PER_SHARD", 2)
    room = 1
    with pytest.raises(SightlineError, match="No space left on device; no scene was finished"):
        generate(WORLD, tmp_path / "none", scenes=6, **SAME)
    assert list(tmp_path.iterdir()) == []
    room = written + sum(p.stat().st_size for p in small.blobs.values()) * 2 // 3
    with pytest.raises(SightlineError, match=r"No space left on device; [24] finished scenes are kept"):
        generate(WORLD, tmp_path / "d", scenes=6, **SAME)
    with pytest.raises(DataError, match="still being generated"):
        sightline.open(tmp_path / "d")
    assert not list((tmp_path / "d").rglob("*.tmp"))
    monkeypatch.undo()
    assert generate(WORLD, tmp_path / "d", scenes=6, **SAME).fingerprint == small.fingerprint


def test_a_lost_shard_is_made_again(small: Dataset, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(small.path, tmp_path / "d")
    next((tmp_path / "d" / "sightings").iterdir()).unlink()
    data = generate(WORLD, tmp_path / "d", scenes=6, **SAME)
    assert data.fingerprint == small.fingerprint
    assert data.verify() == []


def test_after_a_failed_start_another_recipe_may_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.generation.run.make_shard", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        generate(WORLD, tmp_path / "d", scenes=1, size=SIZE)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
from sightline.generation import generate, run
run.SCENES_PER_SHARD = 2
asked = {"views": ["original", "top"], "seed": 5, "size": (96, 64), "workers": 2}
generate("geospa/train", sys.argv[1], scenes=40, **asked)
"""


@pytest.mark.long
def test_killed_and_gone_on_with(small: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    begun = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], cwd=tmp_path)
    try:
        deadline = time.monotonic() + 60
        while len(list(folder.glob("partial/0*.json"))) < 2:
            assert begun.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(ConfigError, match="another run is generating here"):
            generate(WORLD, folder, scenes=40, **SAME)
    finally:
        os.kill(begun.pid, signal.SIGKILL)
        begun.wait()
    kept = len(list(folder.glob("partial/0*.json")))
    assert 2 <= kept < 20
    assert not (folder / "dataset.json").exists()
    told: list[int] = []
    data = generate(WORLD, folder, scenes=40, progress=lambda done, _: told.append(done), **SAME)
    assert 2 * kept <= told[0] < 40  # a dying worker may have finished one more
    ids = data.scan("views").select("scene_id").unique().collect()["scene_id"].sort().to_list()
    assert ids == [f"geospa/train/5/{i:08d}" for i in range(40)]
    assert data.verify() == []
    assert [replace(s) for s in data][:6] == list(small)
    assert not list(folder.rglob("*.tmp"))
    named = {f"{shard.name}.parquet" for shard in data.shards}
    assert {p.name for p in (folder / "views").iterdir()} == named


def _shard(start: int, scenes: int) -> ShardInfo:
    return ShardInfo(f"{start:08d}", scenes, "", "", "", {"views": FileInfo(0, 0, "")})


@pytest.mark.parametrize(
    ("done", "span", "size", "expected"),
    [
        ([], (0, 10), 4, [(0, 4), (4, 8), (8, 10)]),  # nothing yet
        ([(0, 4)], (0, 10), 4, [(4, 8), (8, 10)]),  # begun
        ([(4, 4)], (0, 10), 4, [(0, 4), (8, 10)]),  # a gap
        ([(0, 3)], (0, 10), 4, [(3, 4), (4, 8), (8, 10)]),  # a short shard extended
        ([(0, 10)], (0, 10), 4, []),  # all there
        ([(5, 2)], (5, 9), 4, [(7, 8), (8, 9)]),  # not from 0
    ],
)
def test_missing(done: list[tuple[int, int]], span: tuple[int, int], size: int, expected: list[object]) -> None:
    found = missing([_shard(*d) for d in done], *span, size)
    assert [(p.start, p.stop) for p in found] == expected


def test_a_damaged_note_is_told(tmp_path: Path) -> None:
    (tmp_path / "partial").mkdir()
    (tmp_path / "partial" / "00000000.json").write_text(json.dumps({"name": "00000000"}))
    with pytest.raises(DataError, match=r"00000000\.json, scenes: field is missing"):
        finished_shards(tmp_path)


def test_killed_while_the_manifest_was_written(small: Dataset, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(small.path, tmp_path / "d")
    (tmp_path / "d" / "dataset.json").rename(tmp_path / "d" / ".dataset.json.0123.tmp")
    (tmp_path / "d" / "partial").mkdir()
    (tmp_path / "d" / "partial" / "recipe.json").write_text(json.dumps(small.recipe))
    assert generate(WORLD, tmp_path / "d", scenes=6, **SAME).fingerprint == small.fingerprint
    assert not list((tmp_path / "d").rglob("*.tmp"))


def test_what_takes_its_time_is_told(tmp_path: Path) -> None:
    code = (
        "from sightline.generation import generate; import sys\n"
        "from numba import njit\n"
        "from sightline.generation.run import _noting_compilation\n"
        "words = []\n"
        "with _noting_compilation(words.append):\n"
        "    njit(lambda x: x + 1)(1)\n"
        "    njit(lambda x: x + 2)(1)\n"
        "njit(lambda x: x + 3)(1)\n"
        "print(words)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "['compiling kernels, once: about half a minute']"


def test_too_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: object) -> None:
        raise MemoryError("Unable to allocate 37.3 GiB")

    monkeypatch.setattr("sightline.generation.run.make_shard", greedy)
    with pytest.raises(SightlineError, match=r"not enough memory \(Unable to allocate 37.3 GiB\); no scene was"):
        generate(WORLD, tmp_path / "d", scenes=1, size=SIZE)
    assert list(tmp_path.iterdir()) == []


def test_overwrite_replaces_what_another_recipe_made(small: Dataset, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "d"
    shutil.copytree(small.path, folder)
    asked = {**SAME, "seed": 6, "canonical": 1}
    data = generate(WORLD, folder, scenes=1, overwrite=True, **asked)
    assert [scene.id for scene in data] == ["geospa/train/6/00000000"]
    assert data.verify() == []
    assert len(list(folder.rglob("images/*/*.png"))) == 6  # none of the old ones
    made = (folder / "dataset.json").read_bytes()
    generate(WORLD, folder, scenes=1, overwrite=True, **asked)  # the same recipe: nothing to do
    assert (folder / "dataset.json").read_bytes() == made
    generate(WORLD, folder, scenes=1, overwrite=True, size=SIZE)
    assert not (folder / "canonical").exists()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="another recipe"):
        generate(WORLD, folder, scenes=1, overwrite=True, **asked)
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("size", "scenes", "renderer", "expected"),
    [
        (None, 1000, "fast", 8),  # one a core
        (None, 10, "fast", 0),  # sooner done than begun
        ((48, 32), 1000, "fast", 0),  # many, but small
        (None, 1000, "blender", 0),  # takes all cores by itself
    ],
)
def test_default_workers(
    size: tuple[int, int] | None, scenes: int, renderer: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    recipe, _ = recipe_for(load_world(WORLD), size=size, renderer=renderer)  # type: ignore[arg-type]
    assert default_workers(recipe, scenes) == expected


def test_options_as_text(tmp_path: Path) -> None:
    texts = {"views": "original, top", "size": "48x32", "image_format": "none", "depth": "none"}
    values = {"views": VIEWS, "size": (48, 32), "image_format": None, "depth": None}
    made = generate(WORLD, tmp_path / "d", scenes=1, **texts)  # type: ignore[arg-type]
    again = generate(WORLD, tmp_path / "d", scenes=1, **values)  # type: ignore[arg-type]  # the same recipe
    assert made.recipe == again.recipe
    with pytest.raises(ConfigError, match=r"^size '48': expected width and height"):
        generate(WORLD, tmp_path / "d", scenes=1, size="48")


def test_without_a_folder_it_lies_in_the_cache(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIGHTLINE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = generate(WORLD, scenes=6, **SAME)
    assert first.fingerprint == small.fingerprint
    assert first.path.parent == tmp_path / "sightline" / "worlds"
    assert first.path.name.startswith("geospa-train-")
    done: list[tuple[int, int]] = []
    again = generate(WORLD, scenes=6, progress=lambda *d: done.append(d), **SAME)
    assert (again.path, done) == (first.path, [(6, 6)])  # nothing made
    assert generate(WORLD, scenes=2, **SAME).path != first.path
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "mine"))
    assert generate(WORLD, scenes=2, **SAME).path.parent == tmp_path / "mine" / "worlds"


def test_a_cached_dataset_that_was_interrupted_goes_on(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path))
    monkeypatch.setattr("sightline.generation.run.SCENES_PER_SHARD", 2)

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(WORLD, scenes=6, progress=stop, **SAME)
    done: list[int] = []
    assert generate(WORLD, scenes=6, progress=lambda n, _: done.append(n), **SAME).fingerprint == small.fingerprint
    assert done[0] == 2


CACHED = """
from sightline.generation import generate
print(generate("geospa/train", scenes=6, views=["original", "top"], seed=5, size=(96, 64)).fingerprint)
"""


@pytest.mark.long
def test_two_processes_want_the_same(small: Dataset, tmp_path: Path) -> None:
    asked = {"env": {**os.environ, "SIGHTLINE_CACHE": str(tmp_path)}, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", CACHED], **asked) for _ in range(2)]  # type: ignore[call-overload]
    assert [process.communicate(timeout=120)[0].strip() for process in both] == [small.fingerprint] * 2
    assert len([p for p in (tmp_path / "worlds").iterdir() if p.is_dir()]) == 1


@pytest.mark.parametrize(
    ("world", "truth"),
    [
        ("geospa/train", "eaa62ff88966bd51"),
        ("geospa/val_op", "373a80194801da41"),
        ("geospa/val_kitchen", "79d47cb57430316c"),
    ],
)
def test_the_truth_of_geospa_does_not_change(tmp_path: Path, world: str, truth: str) -> None:
    """Objects, poses, cameras, masks and relations are those of the first edition of the worlds."""
    seen: dict[str, Any] = {"views": ["original", "top"], "size": (96, 64), "image_format": "none"}
    assert generate(world, tmp_path / "d", scenes=8, seed=7, **seen).fingerprint.startswith(truth)
