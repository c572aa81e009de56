"""Semantic masks: one object a class, stuff flagged, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import Scene
from sightline.store import Tables, check_tables, scenes_from_tables
from sightline.store.formats import detect, named

CONFIG = """
classes: {0: unlabeled, 3: car, 149: road}
train: {masks: masks/none}
val: {masks: masks/val, images: photos}
"""
PIXELS = np.array([[0, 3, 3], [149, 149, 3], [255, 149, 149]], dtype=np.uint8)


def lay(folder: Path, config: str = CONFIG, pixels: np.ndarray = PIXELS) -> Path:
    (folder / "masks/val/a").mkdir(parents=True)
    (folder / "photos").mkdir()
    (folder / "config.yaml").write_text(config)
    Image.fromarray(pixels).save(folder / "masks/val/a/one.png")
    Image.new("RGB", (3, 3)).save(folder / "photos/one.jpg")
    return folder


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(named("semantic-masks").read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


def test_a_class_is_an_object(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    assert detect(folder).name == detect(folder / "config.yaml").name == "semantic-masks"
    (scene,) = read(folder)
    assert (scene.id, scene.split, scene.views[0].size) == ("validation/a/one", "validation", (3, 3))
    assert [(o.id, o.category) for o in scene.objects] == [("3", "car"), ("149", "road")]
    assert [set(s.flags) for s in scene.sightings] == [{"group"}, {"stuff"}]
    for sighting in scene.sightings:
        mask = masks.decode(sighting.visible_mask or b"", 3, 3)
        np.testing.assert_array_equal(mask, int(sighting.object_id) == PIXELS)
    assert scene.views[0].stuff_classes == ("road",)
    np.testing.assert_array_equal(scene.views[0].stuff() == 1, PIXELS == 149)
    assert scene.views[0].image_ref == str(folder / "photos/one.jpg")
    assert [note.partition(":")[0] for note in named("semantic-masks").notes(folder)] == ["train"]


def test_the_file_may_say_what_is_stuff(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d", CONFIG + "stuff: [car]\n")
    assert [set(s.flags) for s in read(folder)[0].sightings] == [{"stuff"}, {"group"}]


def test_palettes_lists_and_splits(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d", "classes: [background, car]\nval: {masks: masks/val}\n", PIXELS % 2)
    picture = Image.fromarray(PIXELS % 2).convert("P")
    picture.save(folder / "masks/val/a/one.png")
    (scene,) = read(folder, split="val", images=folder / "photos")
    assert [o.category for o in scene.objects] == ["car"]
    with pytest.raises(DataError, match="there are no masks"):
        read(folder, split="train")


@pytest.mark.parametrize(
    ("config", "pixels", "said"),
    [
        (CONFIG.replace("149: road", "150: road"), PIXELS, "one.png: pixel of an unknown class .*found '?149"),
        (CONFIG.replace("road", "car"), PIXELS, "classes: class stands twice"),
        (CONFIG.replace("3: car", "x: car"), PIXELS, "classes: not a class"),
        (CONFIG.replace("{0: unlabeled, 3: car, 149: road}", "7"), PIXELS, "classes: not classes"),
        (CONFIG + "stuff: [sky]", PIXELS, "stuff: not a list of classes"),
        (CONFIG, np.zeros((3, 3, 3), dtype=np.uint8), "one.png: not a mask .*found '?RGB"),
        ("classes: {3: car}", PIXELS, "no YAML file of semantic masks"),
        ('classes: {3: car}\ntrain: {masks: "a\\0b"}', PIXELS, "train, masks: not a path"),
    ],
)
def test_bad_masks_are_refused(tmp_path: Path, config: str, pixels: np.ndarray, said: str) -> None:
    folder = lay(tmp_path / "d", config, pixels)
    with pytest.raises(DataError, match=said):
        read(folder)


def test_a_broken_mask_is_named(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    mask = folder / "masks/val/a/one.png"
    mask.write_bytes(mask.read_bytes()[:30])
    with pytest.raises(DataError, match=r"one\.png: mask cannot be read"):
        read(folder)


@pytest.mark.realdata
def test_real_masks_are_the_panoptic_ones_without_instances(real_data: Path) -> None:
    folder = real_data / "coco-lightly"
    semantic = {
        s.id.rpartition("/")[2]: s for s in read(folder / "semantic_segmentation", images=folder / "images")
    }
    tables = Tables.concat(named("coco-panoptic").read(folder / "panoptic_segmentation", images=folder / "images"))
    panoptic = {f"{int(s.id.rpartition('/')[2]):012d}": s for s in scenes_from_tables(tables)}
    assert set(semantic) == set(panoptic)
    assert len(semantic) == 100
    for name, scene in list(semantic.items())[::9]:
        other = panoptic[name]
        assert {o.category for o in scene.objects} == {o.category for o in other.objects}
        assert set(scene.views[0].stuff_classes) == set(other.views[0].stuff_classes)
        if not scene.views[0].stuff_classes:
            continue  # nothing but things
        mine, theirs = (np.array(["", *s.views[0].stuff_classes])[s.views[0].stuff()] for s in (scene, other))
        np.testing.assert_array_equal(mine, theirs)
