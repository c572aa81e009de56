"""Orders and opposites that a vocabulary declares: contradictions are refused. And what may be asked at all."""

from __future__ import annotations

import pytest

from sightline.errors import ConfigError
from sightline.exams.turing.estimate.estimator import QuestionOptions
from sightline.exams.turing.vocabulary.files import load_vocabulary, parse_vocabulary, vocabularies

HEAD = "name: w\ntypes: [{name: car, categories: [car]}, {name: person, categories: [person]}]\nrelations:\n"
ABOVE = "  - {name: above, aspect: v, values: [above], reverse: [below], %s}\n"
BELOW = "  - {name: below, aspect: v, values: [below], reverse: [above], %s}\n"


@pytest.mark.parametrize(
    ("relations", "problem"),
    [
        (
            ABOVE % "order: strict, ordered: false",
            r"relations\[above\]\.order: 'strict' contradicts `ordered: false`",
        ),
        (ABOVE % "order: total", r"order: 'total' is none of"),  # unknown
        ("  - {name: near, values: [near], reverse: [near], order: partial}\n", "'near' says it in both orders"),
        ("  - {name: tall, aspect: box, values: [taller], order: partial}\n", "measured boxes are a strict order"),
        (ABOVE % "opposite: above", "its own opposite"),
        (ABOVE % "opposite: belwo" + BELOW % "order: ''", "unknown relation 'belwo', did you mean 'below'"),
        (ABOVE % "order: strict, opposite: below" + BELOW % "order: partial", "has another order"),
        (
            ABOVE % "opposite: below" + BELOW % "opposite: beside" + "  - {name: beside, values: [beside]}\n",
            "'below' declares another opposite, 'beside'",
        ),
        (
            ABOVE % "opposite: below, subjects: [car]" + BELOW % "subjects: [car]",
            "subjects and objects of 'below' are not these turned round",
        ),
        (
            "  - {name: a, aspect: v, values: [x], order: strict, opposite: b}\n"
            "  - {name: b, aspect: v, values: [x], order: strict}\n",
            "'x' says both, which contradicts the order 'strict'",
        ),
    ],
)
def test_declarations_that_contradict_each_other_are_refused(relations: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_vocabulary(HEAD + relations, file="own.yaml")


def test_the_ready_vocabularies_declare_their_orders() -> None:
    for name in vocabularies():
        measured = [link for link in load_vocabulary(name).links if link.aspect in ("box", "depth")]
        assert all(link.order == "strict" for link in measured if link.ordered), name
    assert load_vocabulary("worlds").link("left").opposite == "right"


@pytest.mark.parametrize(
    ("p_yes", "support", "smoothing", "expected"),
    [
        (0.5, 30, 0.0, True),  # in the middle thirty are enough
        (0.65, 30, 0.0, False),  # the interval reaches beyond 0.75
        (0.65, 60, 0.0, True),  # now it does not
        (0.66, 6000, 0.0, False),  # beyond ε
        (0.5, 29, 0.0, False),  # too little
        (float("nan"), 0, 0.0, False),  # nothing at all
        (0.55, 100, 100.0, True),  # 65 of 100, smoothed
        (0.6, 100, 100.0, False),  # 80 of 100: smoothing does not let it in
    ],
)
def test_unpredictable(p_yes: float, support: int, smoothing: float, expected: bool) -> None:
    assert QuestionOptions(0.15, smoothing=smoothing).unpredictable(p_yes, support) is expected


@pytest.mark.parametrize("p_yes", [0.0, 0.05, 0.95, 1.0])
def test_nearly_certain(p_yes: float) -> None:
    options = QuestionOptions()
    assert options.nearly_certain(p_yes, 40)
    assert not options.nearly_certain(0.5 + (p_yes - 0.5) * 0.8, 40)
    smoothed = QuestionOptions(smoothing=20)
    assert smoothed.nearly_certain((40 * p_yes + 20) / 80, 40)  # by what was counted
    assert not smoothed.nearly_certain(0.5, 0)
