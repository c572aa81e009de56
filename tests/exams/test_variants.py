"""Changed questions: what goes to a model is changed, and what comes back is turned back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import ConfigError, ModelError
from sightline.exams.variants import KINDS, mirrored_angles, mirrored_words, named_kinds, paraphrase, varied_model
from sightline.geometry.viewpoints import rotations
from sightline.models.adapters import answers, picture_answers
from sightline.scenes import View
from sightline.scenes.labels import PREDICATES, Depth, Occlusion
from sightline.skills import (
    Asked,
    BoxedObjects,
    ClassScores,
    Detections,
    Judgements,
    LabelMaps,
    Pairs,
    Queries,
    Verdicts,
    ViewAngles,
    skills_of,
)


def picture(seed: int = 0, width: int = 12, height: int = 8) -> View:
    """A picture of random colours."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return View(f"v{seed}", size=(width, height), load_image=lambda: pixels)


def pairs_of(seed: int, n: int = 4) -> Pairs:
    rng = np.random.default_rng(seed)
    boxes = [np.sort(rng.random((n, 2, 2)), axis=1).reshape(n, 4) for _ in range(2)]
    view, names = picture(seed), tuple(f"c{i}" for i in range(n))
    return Pairs("v", "within_image", view, view, boxes[0], boxes[1], names, names[::-1])


def brightness(view: View, box: Any) -> float:
    """Mean of the pixels whose centres a box holds; what a mirror does not change."""
    pixels = view.image()
    height, width = pixels.shape[:2]
    xs, ys = (np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height
    inside = np.outer((ys >= box[1]) & (ys < box[3]), (xs > box[0]) & (xs < box[2]))
    return float(pixels[inside].mean()) if inside.any() else 0.0


@dataclass
class Looks:
    """Answers everything from pixels and boxes, without caring what is left and what is right."""

    name: str = "looks"
    heard: tuple[Any, ...] = ()
    limit: int = 3

    def relate(self, pairs: Pairs) -> Judgements:
        light = [
            [brightness(view, box) for box in boxes]
            for view, boxes in ((pairs.view_a, pairs.boxes_a), (pairs.view_b, pairs.boxes_b))
        ]
        sign = np.sign(np.array(light[0]) - np.array(light[1]))
        depth = np.select([sign > 0, sign < 0], [Depth.CLOSER, Depth.FARTHER], Depth.SAME)
        occlusion = np.select([sign > 0, sign < 0], [Occlusion.OCCLUDES, Occlusion.OCCLUDED], Occlusion.MUTUAL)
        return Judgements(depth.astype(np.int8), occlusion.astype(np.int8))

    def predicates(self, queries: Queries) -> Verdicts:
        pixels = queries.views[0].image().astype(int)
        at = []
        for patch in queries.patches:
            spots = np.argwhere((pixels == patch[0, 0]).all(axis=2))
            at.append(spots.mean(axis=0) if len(spots) else np.zeros(2))
        y, x = np.array(at).T
        answers = np.zeros((len(at), len(at), len(PREDICATES)), np.int8)
        holds = {"left": x[:, None] < x, "right": x[:, None] > x, "front": y[:, None] > y, "behind": y[:, None] < y}
        for name, of in holds.items():
            answers[..., PREDICATES.index(name)] = of
        return Verdicts(answers, probabilities=np.where(answers == 1, 0.9, 0.2))

    def detect(self, view: View) -> Detections:
        bright = view.image().sum(axis=2)
        y, x = np.unravel_index(bright.argmax(), bright.shape)
        height, width = bright.shape
        box = [[x / width, y / height, (x + 1) / width, (y + 1) / height]]
        return Detections(np.array(box), np.ones(1), ("thing",))

    def classify(self, views: Any) -> ClassScores:
        return ClassScores(("a",), np.array([[float(view.image().mean())] for view in views]))

    def segment(self, views: Any) -> LabelMaps:
        return LabelMaps(("a", "b"), tuple((view.image()[..., 0] > 127).astype(np.int32) for view in views))

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        light = [brightness(objects.view, box) for box in objects.boxes]
        return ViewAngles(np.column_stack([np.zeros(len(light)), light, np.zeros(len(light))]))

    def answer(self, asked: Asked) -> str:
        self.heard = (*self.heard, asked)
        return "yes"


def varied(kind: str, model: Any = None, number: int = 0) -> Any:
    return varied_model(model or Looks(), kind, KINDS[kind][number])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["mirror", "swap"]))
def test_who_judges_what_is_there_says_the_same(seed: int, kind: str) -> None:
    pairs, before = pairs_of(seed), pairs_of(seed)
    plain, changed = Looks().relate(pairs), varied(kind).relate(pairs)
    assert changed.depth.tolist() == plain.depth.tolist()
    assert changed.occlusion.tolist() == plain.occlusion.tolist()
    assert (pairs.boxes_a == before.boxes_a).all()  # nothing given is written to


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["mirror", "swap"]))
def test_predicates_come_back_in_the_order_and_frame_of_the_question(seed: int, kind: str) -> None:
    view, n = picture(seed), 4
    spots = np.random.default_rng(seed).permutation(12 * 8)[:n]
    patches = np.stack([np.broadcast_to(view.image().reshape(-1, 3)[s], (2, 2, 3)) for s in spots])
    queries = Queries("s", (view,), patches, tuple({"shape": str(i)} for i in range(n)))
    plain, changed = Looks().predicates(queries), varied(kind).predicates(queries)
    assert (plain.answers == changed.answers).all()
    assert (plain.probabilities == changed.probabilities).all()
    blind = replace(queries, views=(replace(view, load_image=lambda: np.zeros((8, 12, 3), np.uint8)),))
    assert not varied("mirror").predicates(blind).answers.any()


def test_what_is_said_of_a_pair_is_held_against_what_is_said_of_the_other_way_round() -> None:
    """A model that judges pair by pair, and always calls the first one left: nothing of it stays under a swap."""

    class FirstIsLeft:
        def predicates(self, queries: Queries) -> Verdicts:
            answers = np.zeros((3, 3, len(PREDICATES)), np.int8)
            answers[..., PREDICATES.index("left")] = 1
            answers[0, 1, PREDICATES.index("front")] = 1  # the first patch it sees
            answers[1, 0, PREDICATES.index("behind")] = 1
            said = {(0, 1, PREDICATES.index("front")): "yes, before it"}
            return Verdicts(answers, said, np.where(answers == 1, 0.75, 0.25))

    queries = Queries("s", (picture(),), np.zeros((3, 2, 2, 3), np.uint8), ({}, {}, {}))
    told = varied("swap", FirstIsLeft()).predicates(queries)
    assert told.asked == ("left", "right", "front", "behind")  # nothing says of (b, a) that a contains b
    of = {name: told.answers[..., PREDICATES.index(name)] for name in told.asked}
    assert not of["left"].any()
    assert of["right"].all()
    # Patches came last first, so its first two are the last two: 2 before 1, said as "1 behind 2" of the other way.
    assert [tuple(place) for place in np.argwhere(of["behind"])] == [(1, 2)]
    assert [tuple(place) for place in np.argwhere(of["front"])] == [(2, 1)]
    assert told.said == {(1, 2, PREDICATES.index("behind")): "yes, before it"}
    assert (told.probabilities == np.where(told.answers == 1, 0.75, 0.25)).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_boxes_and_maps_come_back_mirrored(seed: int) -> None:
    view = picture(seed)
    plain, changed = Looks().detect(view), varied("mirror").detect(view)
    if np.unique(view.image().sum(axis=2), return_counts=True)[1][-1] == 1:  # one brightest pixel
        np.testing.assert_allclose(changed.boxes, plain.boxes)
    assert (varied("mirror").segment([view]).maps[0] == Looks().segment([view]).maps[0]).all()
    np.testing.assert_allclose(varied("mirror").classify([view]).scores, Looks().classify([view]).scores)
    objects = BoxedObjects("s", view, pairs_of(seed).boxes_a, ("c",) * 4)
    np.testing.assert_allclose(varied("mirror").viewpoint(objects).angles, Looks().viewpoint(objects).angles)


ANGLES = st.tuples(st.floats(0, 360), st.floats(-80, 80), st.floats(-180, 180))


@settings(max_examples=40)
@given(ANGLES)
def test_a_mirrored_viewpoint_is_that_of_the_mirrored_thing(angles: tuple[float, float, float]) -> None:
    flip = np.diag([-1.0, 1.0, 1.0])
    mirrored = flip @ rotations(*angles) @ flip  # the picture's x, and the thing's own
    np.testing.assert_allclose(rotations(*mirrored_angles([angles])[0]), mirrored, atol=1e-9)
    np.testing.assert_allclose(
        rotations(*mirrored_angles(mirrored_angles([angles]))[0]), rotations(*angles), atol=1e-9
    )


def asked(**more: Any) -> Asked:
    form: Mapping[str, Any] = {
        "type": "exist",
        "object_type": "cat",
        "region": "left half",
        "box": [0.0, 0.0, 0.5, 1.0],
        "attributes": ["left_of"],
    }
    text = "Is there a cat left of the dog?"
    first = Asked("s", picture(), form, text, text, (0.0, 0.0, 0.5, 1.0), {"cat 1": None}, ((form, text, True),))
    return replace(first, **more)


def test_a_mirrored_question_speaks_of_the_other_side() -> None:
    model = Looks()
    varied("mirror", model).answer(asked(labels={"cat 1": (0.0, 0.0, 0.25, 1.0), "dog 1": None}))
    (heard,) = model.heard
    assert heard.text == "Is there a cat right of the dog?"
    assert heard.region == (0.5, 0.0, 1.0, 1.0)
    assert heard.labels == {"cat 1": (0.75, 0.0, 1.0, 1.0), "dog 1": None}
    assert heard.question["region"] == "right half"
    assert heard.question["box"] == [0.5, 0.0, 1.0, 1.0]
    assert heard.question["attributes"] == ["right_of"]
    assert heard.history[0][1] == heard.text
    assert (heard.view.image() == picture().image()[:, ::-1]).all()
    assert heard.view.id != picture().id


WORDS = st.lists(st.sampled_from(["left", "right", "Left", "RIGHT", "bright", "cat", "left_of", "right-hand"]))


@given(WORDS)
def test_words_mirrored_twice_are_the_same(words: list[str]) -> None:
    text = " ".join(words)
    assert mirrored_words(mirrored_words(text)) == text


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Is there a cat?", "Can a cat be seen?"),  # existence
        ('Is this statement about the image true? "A."', 'Does this sentence fit the picture? "A."'),  # statement
        (
            "Are person 1 and person 2 talking?",
            "Look at the picture. Are person 1 and person 2 talking, yes or no?",
        ),
        ("What now", "Here is a question about the picture. What now"),  # any other
    ],
)
def test_other_words(text: str, other: str) -> None:
    assert paraphrase(text) == other


def test_a_question_in_other_words_or_with_options_in_another_order() -> None:
    model = Looks()
    varied("paraphrase", model).answer(asked())
    varied("circular", model).answer(asked())
    assert [q.text for q in model.heard] == [
        "Can a cat left of the dog be seen?",
        "Is there a cat left of the dog? No or yes?",
    ]
    assert all(q.view.image() is not None and q.question == asked().question for q in model.heard)


def test_pictures_are_greyed_and_made_noisy() -> None:
    view = picture()
    seen: list[View] = []

    class Watch:
        def classify(self, views: Any) -> ClassScores:
            seen.extend(views)
            return ClassScores(("a",), np.zeros((len(views), 1)))

    for kind, number in (("blind", 0), ("noise", 0), ("noise", 2), ("jpeg", 0), ("jpeg", 2)):
        varied(kind, Watch(), number).classify([view])
    grey, weak, strong, fine, coarse = (of.image().astype(int) for of in seen)
    assert (grey == 128).all()
    gap = [np.abs(of - view.image()).mean() for of in (weak, strong, fine, coarse)]
    assert 2 < gap[0] < 6 < 15 < gap[1]
    assert gap[2] < gap[3]
    assert (seen[1].image() == weak).all()  # the same whenever it is looked at
    assert len({of.id for of in seen}) == 5


def test_a_varied_model_has_the_skills_and_hooks_of_the_model() -> None:
    model = Looks()
    changed = varied("mirror", model)
    assert skills_of(changed) == skills_of(model)
    assert (changed.name, changed.limit, type(changed).__name__) == ("looks", 3, "Looks")
    changed.limit = 4
    assert model.limit == 4
    with pytest.raises(AttributeError):
        _ = changed.nothing_of_the_kind

    class Mute:
        def relate(self, pairs: Pairs) -> str:
            return "closer"

    assert skills_of(varied("mirror", Mute())) == ("relate",)
    with pytest.raises(ModelError, match=r"Mute: relate\(\) must return Judgements"):
        varied("swap", Mute()).relate(pairs_of(0))


def test_a_skill_that_no_exam_asks_for_is_left_alone() -> None:
    class Depths:
        def estimate_depth(self, view: View) -> np.ndarray:
            return np.ones((2, 2))

        def relate(self, pairs: Pairs) -> Judgements:
            return Judgements(np.zeros(len(pairs), np.int8), np.zeros(len(pairs), np.int8))

    changed = varied("mirror", Depths())
    assert skills_of(changed) == skills_of(Depths())
    assert changed.estimate_depth(View("0")).shape == (2, 2)


@pytest.mark.parametrize(
    "kind",
    [
        answers.DetectionsFile,
        answers.PredicateAnswers,
        answers.Predictions,
        answers.TuringAnswers,
        answers.ViewpointAnswers,
        picture_answers.PresenceAnswers,
        picture_answers.ScoreAnswers,
        picture_answers.StatementAnswers,
    ],
)
def test_answers_of_files_are_never_varied(kind: type) -> None:
    assert kind.stored_answers  # type: ignore[attr-defined]


def test_a_model_that_makes_its_prompts_itself_varies_itself() -> None:
    class Words:
        def __init__(self, order: str = "yes or no") -> None:
            self.order = order

        def relate(self, pairs: Pairs) -> Judgements: ...

        def varied(self, kind: str) -> Any:
            return Words("no or yes") if kind == "circular" else None

    assert varied("circular", Words()).order == "no or yes"
    assert varied("mirror", Words()).order == "yes or no"


def test_kinds_by_name() -> None:
    assert named_kinds(["all"]) == tuple(KINDS)
    with pytest.raises(ConfigError, match="did you mean 'mirror'"):
        named_kinds(["miror"])
