"""One scene on show: outcomes against a slow oracle, sentences, numbers, attention."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from sightline.errors import ModelError
from sightline.exams.predicates.drawing import (
    KINDS,
    PHRASES,
    Kind,
    attention_of,
    heated,
    outcomes,
    scaled_heat,
    scene_example,
)
from sightline.scenes import Object, Scene, Sighting, View
from sightline.scenes.labels import PREDICATES
from sightline.skills import Queries

HOSTILE = "<script>alert(1)</script>\"'&"


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.tuples(arrays(bool, (n, n, 8)), arrays(np.int8, (n, n, 8), elements=st.integers(-1, 1)))
    )
)
def test_outcomes_against_one_judgement_after_the_other(drawn: tuple[Any, Any]) -> None:
    truth, answers = drawn
    n = len(truth)
    found = outcomes(truth, answers)
    assert [o.predicate for o in found] == list(PREDICATES)
    for k, outcome in enumerate(found):
        listed: dict[Kind, list[tuple[int, int]]] = {kind: [] for kind in KINDS}
        right = 0
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                holds, said = bool(truth[i, j, k]), int(answers[i, j, k])
                right += said == int(holds)
                if said == -1:
                    listed["unknown"].append((i + 1, j + 1))
                elif said == 1:
                    listed["true_positive" if holds else "false_positive"].append((i + 1, j + 1))
                elif holds:
                    listed["false_negative"].append((i + 1, j + 1))
        assert {kind: list(pairs) for kind, pairs in outcome.pairs.items()} == listed
        assert (outcome.asked, outcome.right, outcome.wrong) == (n * (n - 1), right, n * (n - 1) - right)


def test_every_predicate_has_words() -> None:
    assert tuple(PHRASES) == PREDICATES


def test_sentences_gather_by_subject() -> None:
    answers = np.zeros((3, 3, 8), dtype=np.int8)
    answers[0, 1, 0] = answers[0, 2, 0] = answers[2, 1, 0] = 1
    left = outcomes(np.zeros((3, 3, 8), dtype=bool), answers)[0]
    assert left.sentences("false_positive") == ("1 left of 2, 3", "3 left of 2")
    assert left.sentences("true_positive") == ()


def _scene(objects: int = 2, *, image: bool = True) -> tuple[Scene, Queries]:
    pixels = np.full((40, 60, 3), 100, dtype=np.uint8)
    views = tuple(View(name, size=(60, 40), load_image=(lambda: pixels) if image else None) for name in ("a", "b"))
    things = tuple(Object(str(i), HOSTILE) for i in range(objects))
    seen = tuple(
        Sighting("a", thing.id, (5.0, 5.0, 20.0, 20.0), occluded_fraction=float(i))
        for i, thing in enumerate(things)
    )
    patches = np.zeros((objects, 32, 32, 3), dtype=np.uint8)
    looks = tuple({"size": "small", "shape": HOSTILE} for _ in things)
    return Scene(HOSTILE, views=views, objects=things, sightings=seen), Queries(HOSTILE, views, patches, looks)


def _answers(n: int = 2, value: int = 0) -> np.ndarray:
    return np.full((n, n, 8), value, dtype=np.int8)


def _pixels(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))))


def test_example_has_views_patches_and_counts() -> None:
    truth = np.zeros((2, 2, 8), dtype=bool)
    truth[0, 1, 4] = True
    shown = scene_example(*_scene(), truth, _answers(), hidden=[0.25, np.nan])
    assert [view.name for view in shown.views] == ["a", "b"]
    assert [o.hidden for o in shown.objects] == [0.25, None]
    assert (shown.asked, shown.right, shown.count("false_negative")) == (16, 15, 1)
    assert _pixels(shown.objects[0].patch).shape == (96, 96, 3)
    told = shown.to_dict()
    assert told["predicates"]["contains"]["false_negative"] == [[1, 2]]
    assert told["objects"][0]["look"] == f"small {HOSTILE}"


def test_numbers_stand_where_objects_are_seen() -> None:
    shown = scene_example(*_scene(), np.zeros((2, 2, 8), dtype=bool), _answers())
    first, second = (view.svg for view in shown.views)
    assert first.count("<circle") == 2
    assert first.count("stroke-dasharray") == 1  # the second object is wholly hidden
    assert "<circle" not in second  # nobody was seen there
    assert "<script" not in first


def test_example_without_pictures() -> None:
    scene, queries = _scene(image=False)
    shown = scene_example(
        scene, queries, np.zeros((2, 2, 8), dtype=bool), _answers(), attention=np.ones((2, 2, 1, 1))
    )
    assert "no picture" in shown.views[0].svg
    assert shown.objects[0].heat == ()


def test_heat_lies_where_the_weight_is() -> None:
    weights = np.zeros((2, 2, 4, 6))
    weights[0, 1, 0, 0] = 3.0  # the first object, the second view, top left
    shown = scene_example(*_scene(), np.zeros((2, 2, 8), dtype=bool), _answers(), attention=weights)
    cold, warm = (_pixels(picture.uri) for picture in shown.objects[0].heat)
    assert np.abs(cold.astype(int) - 100).max() <= 3  # one scale for both views; JPEG may err a little
    assert warm[2, 2].astype(int)[0] > 180
    assert np.abs(warm[-1, -1].astype(int) - 100).max() <= 3
    assert all(np.abs(_pixels(picture.uri).astype(int) - 100).max() <= 3 for picture in shown.objects[1].heat)


def test_no_heat_is_the_grey_photo() -> None:
    photo = np.array([[[200, 50, 50]]], dtype=np.uint8)
    assert heated(photo, np.zeros((2, 2))).tolist() == [[[125, 88, 88]]]  # three quarters of the way to 100
    assert scaled_heat(np.full((2, 1, 1), 0.3)).tolist() == [[[0.0]], [[0.0]]]  # the same everywhere


class _Gives:
    def __init__(self, given: object) -> None:
        self.given = given

    def attention(self, queries: Queries) -> object:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.ones((2, 2, 3)), r"shape \(2, 2, 3\), expected \(2, 2, rows, columns\)"),  # one axis short
        (np.ones((3, 2, 1, 1)), r"shape \(3, 2, 1, 1\)"),  # one object too many
        (np.ones((2, 2, 0, 4)), r"shape \(2, 2, 0, 4\)"),  # no cells
        (-np.ones((2, 2, 1, 1)), "negative or no number"),  # below nothing
        (np.full((2, 2, 1, 1), np.nan), "negative or no number"),  # NaN
        ("everywhere", "must return numbers, not str"),  # words
        (RuntimeError("no memory"), r"attention\(\) failed: RuntimeError: no memory"),  # it fails
    ],
)
def test_bad_attention_is_refused(given: object, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        attention_of(_Gives(given), _scene()[1], "m")


def test_a_model_without_attention_shows_none() -> None:
    assert attention_of(object(), _scene()[1], "m") is None
