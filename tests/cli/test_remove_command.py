"""``sightline remove`` as a user would run it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.generation import generate, open_any

Cli = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A picture of 40 × 30 pixels and the mask of an object of 6 × 4 in it."""
    pixels = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    mask = np.zeros((30, 40), np.uint8)
    mask[10:14, 20:26] = 255
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    Image.fromarray(mask).save(tmp_path / "mask.png")
    return tmp_path / "photo.png", tmp_path / "mask.png"


def pixels_of(file: Path) -> Any:
    with Image.open(file) as picture:
        return np.asarray(picture.convert("RGB"))


def test_an_object_goes_and_all_else_stays(cli: Cli, files: tuple[Path, Path], tmp_path: Path) -> None:
    image, mask = files
    words = ("remove", "--image", image, "--mask", mask, "--fill", "telea", "--radius", 2, "--json")
    done = cli(*words, "--out", tmp_path / "new" / "a.png")
    assert done.code == 0, done.err
    assert (done.json["object_pixels"], done.json["hole_pixels"], done.json["cached"]) == (24, 80, False)
    before, after = pixels_of(image), pixels_of(tmp_path / "new" / "a.png")
    changed = (before != after).any(axis=2)
    assert changed[8:16, 18:28].mean() > 0.9
    changed[8:16, 18:28] = False
    assert not changed.any()
    again = cli(*words, "--out", tmp_path / "b.webp")
    assert again.json["cached"]
    assert (pixels_of(tmp_path / "b.webp") == after).all()


def test_words_for_people(cli: Cli, files: tuple[Path, Path], tmp_path: Path) -> None:
    image, mask = files
    done = cli("remove", "--image", image, "--mask", mask, "--out", tmp_path / "a.jpg", "--fill", "ns")
    assert done.code == 0
    assert "224 pixels (18.7%) filled by ns" in done.out
    assert "JPEG is lossy" in done.err


def test_bad_input_is_told_and_nothing_is_written(cli: Cli, files: tuple[Path, Path], tmp_path: Path) -> None:
    image, mask = files
    other, whole, black = tmp_path / "other.png", tmp_path / "whole.png", tmp_path / "black.png"
    Image.new("L", (41, 30), 255).save(other)
    Image.new("L", (40, 30), 255).save(whole)
    Image.new("L", (40, 30)).save(black)
    out = tmp_path / "out.png"
    for words, problem in [
        ({"mask": other}, "other.png: mask and picture differ in size (expected 40×30 pixels, as the picture has"),
        ({"mask": whole}, "whole.png: the mask covers the whole image"),
        ({"mask": black}, "black.png: nothing to remove: the mask has no pixel"),
        ({"mask": mask, "most": 0.01}, "too large to remove"),
        ({"mask": tmp_path / "none.png"}, "none.png: picture is missing"),
        ({"mask": mask, "image": tmp_path / "cache"}, "cache"),
        ({"mask": mask, "fill": "tele"}, "did you mean 'telea'"),
        ({"mask": mask, "fill": "exact"}, "the fill exact needs a generated scene"),
        ({"mask": mask, "out": tmp_path / "a.gif"}, "expected a name that ends in .png"),
        ({"mask": mask, "out": image}, "photo.png: --out would replace the picture or the mask that is read"),
        ({"mask": mask, "data": tmp_path}, "give either --image and --mask, or --data"),
    ]:
        given = {"image": image, "out": out} | words
        done = cli("remove", *(word for name, value in given.items() for word in (f"--{name}", value)))
        assert (done.code, done.out) == (2, "")
        assert problem in " ".join(done.err.split())
        assert "Traceback" not in done.err
    assert not out.exists()
    assert pixels_of(image).std() > 10, "the picture is as it was"


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few small scenes with several objects."""
    folder = tmp_path_factory.mktemp("remove") / "scenes"
    generate("context/unbiased", folder, scenes=3, size=(96, 64), seed=0)
    return folder


def test_a_class_or_an_object_of_a_dataset_goes(cli: Cli, scenes: Path, tmp_path: Path) -> None:
    scene = open_any(scenes)[0]
    category = scene.objects[0].category
    gone = [one.id for one in scene.objects if one.category == category]
    words = ("remove", "--data", scenes, "--scene", scene.id, "--radius", 1, "--json")
    done = cli(*words, "--category", category, "--fill", "exact", "--out", tmp_path / "a.png")
    assert done.code == 0, done.err
    assert done.json["objects"] == gone
    truth = scene.without(*gone).view("original").image()
    assert (pixels_of(tmp_path / "a.png") == truth).all()
    chosen = [word for name in gone for word in ("--object", name)]
    hole = cli(*words, *chosen, "--fill", "exact-hole", "--out", tmp_path / "b.png")
    assert hole.json["object_pixels"] == done.json["object_pixels"] > 0
    before, inside = scene.view("original").image(), pixels_of(tmp_path / "b.png")
    changed = (before != inside).any(axis=2)
    assert 0 < changed.sum() <= hole.json["hole_pixels"]
    assert (inside[changed] == truth[changed]).all()
    assert ((before != truth).any(axis=2) & ~changed).any(), "the shadow goes with exact alone"


def test_what_a_dataset_does_not_have_is_told(cli: Cli, scenes: Path, tmp_path: Path) -> None:
    scene = open_any(scenes)[0]
    category, out = scene.objects[0].category, tmp_path / "out.png"
    for words, problem in [
        ({"scene": "nowhere"}, "no such scene (found 'nowhere')"),
        ({"category": category[:-1]}, f"the scene has no object of the class '{category[:-1]}', did you mean"),
        ({"object": "77"}, f"the scene has no object '77'; there are 0 ({category}), 1 ("),
        ({"view": "orignal"}, "the scene has no view 'orignal', did you mean 'original'?"),
        ({"most": 0.0001}, "too large to remove"),
        ({"scene": ""}, "--data, --scene and --category or --object are all needed"),
    ]:
        given = {"data": scenes, "scene": scene.id, "category": category, "out": out} | words
        done = cli("remove", *(word for name, value in given.items() for word in (f"--{name}", value)))
        assert (done.code, done.out) == (2, "")
        assert problem in " ".join(done.err.split())
    assert not out.exists()
