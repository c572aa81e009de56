"""Answers of skills: what keeps the protocol, and what is said of what does not."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.errors import ModelError
from sightline.skills import ClassScores, LabelMaps, ScoredReply, Verdicts, skills_of

_ONE = (np.zeros((2, 3), dtype=np.int32),)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (np.zeros((2, 1)), "classify() must return ClassScores, not ndarray"),  # a bare array
        (ClassScores(("mug",), np.zeros(2)), "scores of shape (2,), expected (2, 1)"),  # one axis
        (ClassScores(("mug", "can"), np.zeros((2, 1))), "scores of shape (2, 1), expected (2, 2)"),  # a class short
        (ClassScores(("mug",), np.array([[0.0], [np.nan]])), "not finite"),  # a hole in the scores
        (ClassScores(("mug",), [["high"], ["low"]]), "else than numbers"),  # type: ignore[arg-type] # words
        (ClassScores(("mug", "mug"), np.zeros((2, 2))), "a class twice: mug"),  # the same class twice
        (ClassScores("mug", np.zeros((2, 3))), "no list of names"),  # type: ignore[arg-type] # one word
        (ClassScores((1,), np.zeros((2, 1))), "no list of names"),  # type: ignore[arg-type] # a number
    ],
)
def test_class_scores_that_break_the_protocol_are_refused(given: object, complaint: str) -> None:
    with pytest.raises(ModelError) as caught:
        ClassScores.checked(given, 2, "Model")
    assert complaint in str(caught.value)
    assert "Model" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (np.zeros((1, 2, 3)), "segment() must return LabelMaps, not ndarray"),  # a bare array
        (LabelMaps(("road",), ()), "0 maps, expected 1"),  # no map
        (LabelMaps(("road",), (_ONE[0].T,)), "shape (3, 2), expected (2, 3)"),  # width first
        (LabelMaps(("road",), (np.zeros((2, 3)),)), "outside −1…0"),  # type: ignore[arg-type] # real numbers
        (LabelMaps(("road",), (_ONE[0] + 1,)), "outside −1…0"),  # a class that is not in the list
        (LabelMaps(("road",), (_ONE[0] - 2,)), "outside −1…0"),  # below none
        (LabelMaps(("road", "road"), _ONE), "a class twice: road"),  # the same class twice
    ],
)
def test_label_maps_that_break_the_protocol_are_refused(given: object, complaint: str) -> None:
    with pytest.raises(ModelError) as caught:
        LabelMaps.checked(given, [(3, 2)], "Model")
    assert complaint in str(caught.value)
    assert "Model" in str(caught.value)


def test_answers_that_keep_the_protocol_come_back_as_numbers_of_one_kind() -> None:
    scores = ClassScores.checked(ClassScores(["mug"], [[1], [-2]]), 2, "Model")  # type: ignore[arg-type]
    assert scores.classes == ("mug",)
    assert scores.scores.tolist() == [[1.0], [-2.0]]
    maps = LabelMaps.checked(
        LabelMaps(("road", "car"), (np.array([[-1, 0, 1]], dtype=np.int8),)), [(3, 1)], "Model"
    )
    assert maps.maps[0].dtype == np.int32
    assert maps.maps[0].tolist() == [[-1, 0, 1]]


def test_a_model_has_the_skills_whose_methods_it_has() -> None:
    class Both:
        def classify(self, views: object) -> None: ...

        def segment(self, views: object) -> None: ...

    assert skills_of(Both()) == ("classify", "segment")


def test_probabilities_of_predicates_are_checked() -> None:
    answers = np.zeros((2, 2, 8), np.int8)
    chances = np.full((2, 2, 8), 0.3)
    chances[0, 0] = np.nan  # the model cannot say
    assert Verdicts.checked(Verdicts(answers, probabilities=chances), 2, "m").probabilities is not None
    for wrong, says in ((chances[:1], "shape"), (chances + 1, "outside")):
        with pytest.raises(ModelError, match=says):
            Verdicts.checked(Verdicts(answers, probabilities=wrong), 2, "m")


def test_the_confidence_of_a_reply_is_a_probability() -> None:
    assert ScoredReply("no", 1).confidence == 1.0
    with pytest.raises(ModelError):
        ScoredReply("no", 1.5)
