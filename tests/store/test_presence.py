"""Which classes are in which scene: NC and splits by company, against loops over sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import presence_oracle as oracle
from sightline.errors import ConfigError
from sightline.geometry.masks import encode
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.show.contents_page import cooccurrence_grid
from sightline.store import write_scenes, write_some
from sightline.store.contents import contents_of
from sightline.store.dataset import Dataset
from sightline.store.presence import Presence, class_presence

CLASSES = st.frozensets(st.sampled_from(["car", "road", "tree", "dog", "cat"]))
SCENES = st.lists(CLASSES, max_size=8).map(lambda many: {f"s{i}": set(there) for i, there in enumerate(many)})


@given(SCENES)
def test_cooccurrence_is_the_share_of_scenes_with_one_that_have_the_other(scenes: dict[str, set[str]]) -> None:
    known = Presence.of(scenes, ["car", "road", "tree", "dog", "cat"])
    ratio = known.cooccurrence()
    for i, one in enumerate(known.classes):
        for j, other in enumerate(known.classes):
            np.testing.assert_equal(ratio[i, j], oracle.cooccurrence(scenes, one, other))


@given(SCENES)
def test_splits_count_classes(scenes: dict[str, set[str]]) -> None:
    splits = {name: set(ids) for name, ids in Presence.of(scenes).splits().items()}
    assert splits["single"] == {scene for scene, there in scenes.items() if len(there) == 1}
    assert splits["cooccur"] | splits["single"] == splits["full"]
    assert not splits["cooccur"] & splits["single"]
    assert set(scenes) - splits["full"] == {scene for scene, there in scenes.items() if not there}


@given(SCENES, SCENES, st.sampled_from([0.25, 0.5, 0.75, 1.0]))
def test_out_of_context_is_without_its_usual_company(
    scenes: dict[str, set[str]], learned: dict[str, set[str]], usual: float
) -> None:
    found = Presence.of(scenes).out_of_context(Presence.of(learned), usual)
    assert set(found) == oracle.out_of_context(scenes, learned, usual)


def test_with_and_without_a_class() -> None:
    known = Presence.of({"a": {"car"}, "b": {"road"}, "c": {"car", "road"}})
    assert known.by_class("car") == {"with": ("a", "c"), "without": ("b",)}
    with pytest.raises(ConfigError, match="no object is a 'cat', did you mean 'car'"):
        known.by_class("cat")
    with pytest.raises(ConfigError, match="above 0 and up to 1"):
        known.out_of_context(known, 0.0)


def scene(name: str, stuff: np.ndarray | None, **seen: set[str]) -> Scene:
    """Objects by category, each with its flags."""
    mask = encode(np.eye(4, dtype=bool))
    view = View("0", size=(4, 4))
    if stuff is not None:
        view = View("0", size=(4, 4), stuff_classes=("sky", "road"), load_stuff=lambda: stuff)
    return Scene(
        name,
        split="train" if name < "c" else "test",
        views=(view,),
        objects=tuple(Object(category, category) for category in (*seen, "nowhere")),
        sightings=tuple(
            Sighting("0", category, (0, 0, 4, 4), mask, flags=frozenset(flags)) for category, flags in seen.items()
        ),
        relations=(Relation("car", "car", "depth", "same", object_scene="c"),) if name == "a" else (),
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    road = np.full((4, 4), 2, dtype=np.uint8)
    scenes = [
        scene("a", road, car=set(), wheel={"part"}),
        scene("b", None, dog=set(), grass={"stuff"}),
        scene("c", road, car={"truncated"}, dog={"hidden"}),
        scene("d", None),
    ]
    return write_scenes(scenes, tmp_path_factory.mktemp("data") / "d")


def there(known: Presence) -> dict[str, set[str]]:
    names = np.array(known.classes, dtype=object)
    return {name: set(names[row]) for name, row in zip(known.scenes, known.present, strict=True)}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"a": {"car"}, "b": {"dog"}, "c": {"car"}, "d": set()}),  # no parts, no stuff, nothing hidden
        ({"stuff": True}, {"a": {"car", "road"}, "b": {"dog", "grass"}, "c": {"car", "road"}, "d": set()}),
        ({"split": "train"}, {"a": {"car"}, "b": {"dog"}}),
        ({"stuff": True, "classes": ["road", "dog"]}, {"a": {"road"}, "b": {"dog"}, "c": {"road"}, "d": set()}),
    ],
)
def test_classes_that_are_seen(data: Dataset, options: dict[str, object], expected: dict[str, set[str]]) -> None:
    assert there(class_presence(data, **options)) == expected  # type: ignore[arg-type]


def test_statistics_tell_the_company(data: Dataset) -> None:
    contents = contents_of(data)
    assert contents.classes_a_scene == {0: 1, 1: 3}
    assert contents.class_scenes == {"car": 2, "dog": 1}
    assert contents.cooccurrence == {"car": {"car": 1.0, "dog": 0.0}, "dog": {"car": 0.0, "dog": 1.0}}
    drawn = cooccurrence_grid(contents.cooccurrence, contents.class_scenes)
    assert "car, dog: .00 (n = 2)" in drawn


def test_an_unknown_class_is_refused(data: Dataset) -> None:
    with pytest.raises(ConfigError, match="is a 'cars', did you mean 'car'"):
        class_presence(data, classes=["cars"])


def test_some_scenes_are_a_dataset_of_their_own(data: Dataset, tmp_path: Path) -> None:
    some = write_some(data, ["a", "d"], tmp_path / "some")
    assert [s.id for s in some] == ["a", "d"]
    assert some.verify() == []
    assert some.scene("a").objects == data.scene("a").objects
    np.testing.assert_array_equal(some.scene("a").views[0].stuff(), data.scene("a").views[0].stuff())
    assert some.scene("a").relations == ()  # its other end was left behind
    assert len(write_some(data, ["a", "c"], tmp_path / "both").scene("a").relations) == 1
