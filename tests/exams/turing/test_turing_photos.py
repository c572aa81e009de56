"""The same photo is never learned from and asked about, whatever its scenes are called."""

from __future__ import annotations

import pytest

from sightline.errors import ConfigError
from sightline.exams.turing.annotations.photos import half_of, photo_ids, shared_photos
from sightline.exams.turing.exam import TuringExam
from sightline.scenes import Object, Scene, Sighting, View
from sightline.store import Dataset
from sightline.store.convert import tables_from_scenes


def scene(name: str, source: str = "made", split: str = "test", right: float = 0.6) -> Scene:
    view = View("0", units="normalised")
    sighting = Sighting("0", "o", (0.1, 0.1, right, 0.9))
    return Scene(name, split, source, (view,), (Object("o", "/m/0k4j"),), (sighting,), ())


def data(*scenes: Scene) -> Dataset:
    return Dataset.from_tables(tables_from_scenes(scenes))


PHOTOS = [f"{i:04x}" for i in range(80)]
BOTH = data(
    *(scene(f"within_image/test/{photo}", "within_image") for photo in PHOTOS),
    *(scene(f"across_images/test/{photo}", "across_images", right=0.4) for photo in PHOTOS),
)


def test_entries_of_one_photo_have_one_id() -> None:
    ids = photo_ids(BOTH)
    assert ids["within_image/test/0001"] == ids["across_images/test/0001"] == "0001"
    assert photo_ids(data(scene("geospa/train/0/0001", "geospa"))) == {"geospa/train/0/0001": "geospa/train/0/0001"}


def test_halves_go_by_photo() -> None:
    exam = TuringExam(halves=True, min_support=5)
    assert exam.check(None, BOTH)["shared_ids"] == 0
    asked = {item.scene_id.rpartition("/")[2] for item in exam.items(BOTH)}
    assert asked == {photo for photo in PHOTOS if half_of(photo) == 1}
    assert len(exam.items(BOTH)) == 2 * len(asked)  # both entries of each


@pytest.mark.parametrize(
    ("other", "same", "named"),
    [
        (scene("s"), {"s"}, set()),  # the same scene in another dataset
        (scene("s", right=0.5), set(), {"s"}),  # another picture of the same name
        (scene("t"), set(), set()),  # another scene
    ],
)
def test_a_scene_of_another_dataset_is_the_same_by_id_and_boxes(
    other: Scene, same: set[str], named: set[str]
) -> None:
    asked, learned = data(scene("s"), scene("u")), data(other, scene("v"))
    found = shared_photos(asked, ["s", "u"], learned, [other.id, "v"])
    assert (set(found.same), set(found.named)) == (same, named)


def test_training_data_that_contains_the_test_is_refused() -> None:
    asked = data(*(scene(f"s{i}") for i in range(5)))
    learned = data(*(scene(f"s{i}") for i in range(40)))
    with pytest.raises(
        ConfigError, match="5 photos would be learned from and asked about, as 's0': take other data"
    ):
        TuringExam(train=learned, min_support=5).check(None, asked)
    across = data(*(scene(f"across_images/validation/{p}", "across_images", "validation", 0.3) for p in PHOTOS))
    with pytest.raises(ConfigError, match="80 photos would be learned from"):
        TuringExam(train=across, min_support=5).check(None, BOTH)
