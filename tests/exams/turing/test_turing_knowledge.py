"""What follows from a history: a table of rules, then that no image the history holds of ever says otherwise."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from exams.turing.turing_cases import all_questions, random_columns, random_history, random_vocabulary
from sightline.exams.turing.annotations.columns import Columns, packed
from sightline.exams.turing.annotations.semantics import answer, walk
from sightline.exams.turing.logic.knowledge import Knowledge
from sightline.exams.turing.vocabulary.questions import History, Label, Question, Truth, labels_of
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    Region,
    RelationType,
    Vocabulary,
)

COLOURS = tuple(
    Attribute(n, g, n, AttributeSource("flag", n))
    for n, g in (("red", "colour"), ("blue", "colour"), ("old", "age"))
)
WORDS = Vocabulary(
    "street",
    (ObjectType("car", ("car",), COLOURS, frozenset({"colour"})), ObjectType("person", ("person",))),
    (RelationType("near", "near", ordered=False), RelationType("closer", "closer than")),
    (Region("image", (0, 0, 1, 1)), Region("left", (0, 0, 0.5, 1)), Region("right", (0.5, 0, 1, 1))),
)
ONE, TWO = Label("car", 1), Label("car", 2)


def told(text: str) -> tuple[Question, bool]:
    """``unique red old left yes``: kind, attributes of a car, region, answer; ``car 1 red no`` of a labelled one;
    ``near 1 2 yes`` of two."""
    *words, said = text.split()
    return (asked(" ".join(words)), said == "yes")


def asked(text: str) -> Question:
    kind, *words = text.split()
    if kind == "car":
        return Question("attribute", attributes=tuple(words[1:]), subject=Label("car", int(words[0])))
    if kind in ("near", "closer"):
        a, b = (Label("car", int(word)) for word in words)
        return Question("relation", subject=a, object=b, relation=kind)
    return Question(kind, "car", tuple(words[:-1]), words[-1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        ([], "exist image", None),  # nothing is known
        (["exist left no"], "exist left", False),  # asked before
        (["exist image no"], "exist red left", False),  # nothing there, so nothing special in a part of it
        (["exist image no"], "unique left", False),  # nor a unique one
        (["exist left no"], "exist image", None),  # elsewhere there may be one
        (["exist red image no"], "exist image", None),  # of another colour there may be one
        (["exist red left yes"], "exist image", True),  # what is in a part is in the whole
        (["exist left yes"], "exist red left", None),  # it may be of any colour
        (["exist image yes"], "exist left", None),  # it may be anywhere
        (["exist left yes"], "unique left", None),  # one or more
        (["exist left yes", "unique left no"], "unique image", False),  # at least two
        (["unique left no"], "unique left", False),  # none or two: asked before
        (["unique left no"], "unique image", None),  # there may be one on the right
        (["exist right no", "unique image no"], "unique left", False),  # the same cars by other words
        (["exist right no", "exist image yes"], "exist left", True),  # where else
        (["exist left no", "exist right no"], "exist image", False),  # the two cover it
        (["exist red left yes", "exist blue left yes"], "unique left", False),  # they are two
        (["unique left no", "exist red left yes"], "unique left", False),  # not none, so two
        (["exist left yes", "unique left yes"], "exist left", False),  # the only one has its label now
        (["exist left yes", "unique image yes"], "exist left", False),  # it was that one
        (["exist left yes", "unique left no", "unique red left yes"], "exist left", True),  # one of two is left
        (["exist left yes", "unique left no", "unique red left yes"], "unique left", None),  # or more of them
        (["exist left yes", "unique red left yes"], "exist left", None),  # it may have been that one
        (["unique red image yes"], "car 1 red", True),  # found by it
        (["unique red image yes"], "car 1 blue", False),  # of one colour only
        (["unique red image yes"], "car 1 old", None),  # another group
        (["unique red image yes", "car 1 old yes"], "car 1 red old", True),  # both are known
        (["unique image yes", "car 1 old no"], "car 1 red old", False),  # one is missing
        (["unique image yes", "car 1 red old no"], "car 1 red", None),  # which of them is not known
        (["unique image yes", "car 1 red old no", "car 1 red yes"], "car 1 old", False),  # now it is
        (["unique image yes", "car 1 blue no"], "car 1 red", None),  # there are other colours
        (["exist red image no", "unique left yes"], "car 1 red", False),  # it was there when none was red
        (["exist red left no", "unique image yes"], "car 1 red", None),  # it may stand elsewhere
        (["exist red old left no", "unique old left yes"], "car 1 red", False),  # old it is
        (["exist red left yes", "unique image yes"], "car 1 red", True),  # the only one, so the red one
        (["exist red image yes", "unique left yes"], "car 1 red", None),  # the red one may stand elsewhere
        (["exist red left yes", "unique blue left yes"], "car 1 red", False),  # another car
        (["exist left yes", "exist red left no", "unique image yes"], "car 1 red", False),  # it stands left
        (["unique red image yes", "unique left yes"], "car 2 red", False),  # the other was the only red one
        (["unique red left yes", "unique image yes"], "car 2 red", None),  # the only one on the left
        (["unique right yes", "exist red left no", "unique left yes"], "car 2 red", False),  # since the last label
        (
            ["exist red left yes", "unique old left yes", "unique left yes"],
            "car 2 red",
            None,
        ),  # car 1 may have been
        (["near 1 2 yes"], "near 2 1", True),  # a mirror
        (["near 1 2 no"], "near 1 2", False),  # asked before
        (["closer 1 2 yes"], "closer 2 1", None),  # the order matters; estimates know better
        (["near 1 2 yes"], "closer 1 2", None),  # another relation
    ],
)
def test_what_follows(history: list[str], question: str, expected: bool | None) -> None:
    assert Knowledge(tuple(map(told, history)), WORDS).implied(asked(question)) is expected


def test_other_types_are_another_matter() -> None:
    nobody = (Question("exist", "person"), False)
    assert Knowledge((nobody,), WORDS).implied(asked("exist image")) is None
    anew = (told("exist left no"), (Question("unique", "person"), True))
    assert Knowledge(anew, WORDS).implied(asked("exist left")) is False


def test_has_names_what_the_search_and_the_answers_told() -> None:
    history = tuple(map(told, ["exist old left yes", "unique left yes", "car 1 red yes", "unique blue image yes"]))
    known = Knowledge(history, WORDS)
    assert known.has(ONE) == {"old", "red"}
    assert known.has(TWO) == {"blue"}


def test_no_image_ever_says_otherwise() -> None:
    fired: Counter[tuple[str, bool]] = Counter()
    for seed in range(120):
        rng = np.random.default_rng(seed)
        words = random_vocabulary(rng, links=2)
        columns = placed(random_columns(rng, words, 30, most_objects=4), words, rng)
        history = random_history(rng, words, columns, steps=7)
        fitting = [i for i in range(len(columns)) if walk(columns.image(i), history, words)[0]]
        known = Knowledge(history, words)
        for question in all_questions(words, labels_of(history), most_attributes=2):
            implied = known.implied(question)
            if implied is not None:
                fired[question.kind, implied] += len(fitting)
                refuse_counter_example(columns, fitting, history, question, implied, words)
    assert (
        min(
            fired[case]
            for case in [
                ("exist", True),
                ("exist", False),
                ("unique", False),
                ("attribute", True),
                ("attribute", False),
                ("relation", True),
                ("relation", False),
            ]
        )
        > 0
    )
    assert fired["unique", True] == 0


def refuse_counter_example(
    columns: Columns, fitting: list[int], history: History, question: Question, implied: bool, words: Vocabulary
) -> None:
    for i in fitting:
        image = columns.image(i)
        truth, _ = answer(image, question, walk(image, history, words)[1], words)
        assert truth in (Truth.AMBIGUOUS, Truth.YES if implied else Truth.NO), (history, question, image)


def placed(columns: Columns, words: Vocabulary, rng: np.random.Generator) -> Columns:
    """The same images, their objects seen in one or two sixteenths of the image and in every region these meet."""
    cells = rng.random((len(columns.seen), 4, 4)) < 0.08
    first = rng.integers(0, 4, size=(len(columns.seen), 2))
    cells[np.arange(len(first)), first[:, 0], first[:, 1]] = True
    seen = np.zeros((len(cells), columns.n_regions), dtype=bool)
    for k, region in enumerate(words.regions):
        x0, y0, x1, y1 = (round(4 * edge) for edge in region.box)
        seen[:, k] = cells[:, y0:y1, x0:x1].any(axis=(1, 2))
    return replace(columns, seen=packed(seen)[:, 0])
