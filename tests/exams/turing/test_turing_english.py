"""English: the sentences of the paper's Figure 2, and every question there and back."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.exams.turing.vocabulary.english import parse, say, say_long, with_article
from sightline.exams.turing.vocabulary.files import load_vocabulary, vocabularies
from sightline.exams.turing.vocabulary.questions import (
    Label,
    Question,
    check_question,
    question_from_json,
    question_to_json,
)
from sightline.exams.turing.vocabulary.vocabulary import WHOLE, Vocabulary

URBAN = load_vocabulary("urban")
P1, P2, P3, V1 = Label("person", 1), Label("person", 2), Label("person", 3), Label("vehicle", 1)


def exist(*attributes: str, region: str = "left half", of: str = "person") -> Question:
    return Question("exist", of, attributes, region)


def about(label: Label, *attributes: str) -> Question:
    return Question("attribute", subject=label, attributes=attributes)


def relation(subject: Label, name: str, other: Label) -> Question:
    return Question("relation", subject=subject, object=other, relation=name)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (exist(), "Is there a person in the designated region?"),  # figure 2, 1
        (Question("unique", "person", (), "left half"), "Is there a unique person in the designated region?"),  # 2
        (about(P1, "carrying something"), "Is person 1 carrying something?"),  # 3
        (about(P1, "female"), "Is person 1 female?"),  # 4
        (about(P1, "walking on a sidewalk"), "Is person 1 walking on a sidewalk?"),  # 5
        (about(P1, "interacting"), "Is person 1 interacting with any other object?"),  # 6
        (about(V1, "light-colored"), "Is vehicle 1 light-colored?"),  # 10
        (about(V1, "moving"), "Is vehicle 1 moving?"),  # 11
        (about(V1, "parked", "car"), "Is vehicle 1 parked and a car?"),  # 12
        (about(V1, "one visible tire"), "Does vehicle 1 have exactly one visible tire?"),  # 14
        (
            Question("unique", "person", ("female",), "left half"),
            "Is there a unique person that is female in the designated region?",
        ),  # 18
        (exist("standing still"), "Is there a person that is standing still in the designated region?"),  # 19
        (relation(P1, "taller", P2), "Is person 1 taller than person 2?"),  # 24
        (relation(P1, "closer", P2), "Is person 1 closer (to the camera) than person 2?"),  # 25
        (relation(P2, "interaction", P3), "Is there an interaction between person 2 and person 3?"),  # 36
        (relation(P2, "talking", P3), "Are person 2 and person 3 talking?"),  # 37
        (relation(P1, "occluding", Label("vehicle", 3)), "Is person 1 partially occluding vehicle 3?"),  # the text
        (exist("wearing a hat", region=WHOLE), "Is there a person that is wearing a hat?"),  # no region
        (
            exist("parked", "one visible tire", of="vehicle", region=WHOLE),
            "Is there a vehicle that is parked and has exactly one visible tire?",
        ),  # both verbs
        (
            exist("any visible tire", "lights on", of="vehicle"),
            "Is there a vehicle that has any visible tire and its lights on in the designated region?",
        ),  # has, twice
        (about(V1, "car", "lights on"), "Is vehicle 1 a car and does it have its lights on?"),  # both verbs
    ],
)
def test_said_and_understood(question: Question, text: str) -> None:
    assert say(question, URBAN) == text
    assert parse(text, URBAN, question.region) == question


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            exist("female"),
            "Is there an instance of a person that is female in the scene, partially visible in the "
            "designated region of the image, and not previously instantiated?",
        ),  # region
        (
            Question("unique", "window"),
            "Is there a unique instance of a window in the scene, partially visible "
            "in the image, and not previously instantiated?",
        ),  # whole image
        (about(P1, "female"), "Is person 1 female?"),  # nothing is implied
        (relation(P1, "talking", P2), "Are person 1 and person 2 talking?"),  # nor here
        (relation(V1, "larger", V1), "Is vehicle 1 larger than vehicle 1, as seen from the camera?"),  # the camera
    ],
)
def test_long_form(question: Question, text: str) -> None:
    assert say_long(question, URBAN) == text


def every_question(vocabulary: Vocabulary, size: int) -> list[Question]:
    """All questions with that many attributes, of one region and of the whole image."""
    regions = [vocabulary.regions[0].name, vocabulary.regions[-1].name]
    found = [relation for relation in _relations(vocabulary) if size == 0]
    for kind in vocabulary.types:
        for names in combinations([a.name for a in kind.attributes], size):
            found += [Question("exist", kind.name, names, r) for r in regions]
            found += [Question("unique", kind.name, names, r) for r in regions]
            found += [Question("attribute", subject=Label(kind.name, 2), attributes=names)] if names else []
    return found


def _relations(vocabulary: Vocabulary) -> list[Question]:
    names = list(vocabulary.type_index)
    return [
        Question("relation", subject=Label(a, 1), object=Label(b, 12), relation=link.name)
        for link in vocabulary.links
        for a, b in product(names, names)
        if link.asked_of(a, b)
    ]


@pytest.mark.parametrize("name", vocabularies())
def test_every_simple_question_has_a_sentence_of_its_own(name: str) -> None:
    vocabulary = load_vocabulary(name)
    questions = every_question(vocabulary, 0) + every_question(vocabulary, 1)
    by_text: dict[tuple[str, str], Question] = {}
    for question in questions:
        check_question(question, vocabulary)
        text = say(question, vocabulary)
        assert by_text.setdefault((text, question.region), question) == question


@st.composite
def asked(draw: st.DrawFn) -> tuple[Vocabulary, Question]:
    vocabulary = load_vocabulary(draw(st.sampled_from(vocabularies())))
    kind = draw(st.sampled_from(vocabulary.types))
    most = draw(st.integers(0, 4))
    chosen = draw(st.sets(st.sampled_from(kind.attributes), max_size=most)) if kind.attributes else set()
    names = tuple(a.name for a in kind.attributes if a in chosen)
    region, number = draw(st.sampled_from(vocabulary.regions)).name, draw(st.integers(1, 200))
    what = draw(st.sampled_from(["exist", "unique", "attribute", "relation"]))
    if what == "relation":
        return vocabulary, draw(st.sampled_from(_relations(vocabulary)))
    if what == "attribute" and names:
        return vocabulary, Question("attribute", subject=Label(kind.name, number), attributes=names)
    return vocabulary, Question("exist" if what == "exist" else "unique", kind.name, names, region)


@settings(max_examples=150, deadline=None)
@given(asked(), st.sampled_from(["designated region", "blue region"]))
def test_there_and_back(pair: tuple[Vocabulary, Question], word: str) -> None:
    vocabulary, question = pair
    assert (
        parse(say(question, vocabulary, region_word=word), vocabulary, question.region, region_word=word)
        == question
    )
    assert question_from_json(question_to_json(question, vocabulary), vocabulary) == question


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Is there a persn in the designated region?", "did you mean 'person'"),  # misspelt noun
        ("Is there a person that is femal?", "did you mean 'female'"),  # misspelt attribute
        ("Is person 1 carying something?", "did you mean 'carrying something'"),  # of a labelled object
        ("Is there an person?", "not a question"),  # wrong article
        ("Is there a person", "did you mean 'Is there a person"),  # no question mark
        ("Is vehicle 1 a car and parked?", "did you mean 'Is vehicle 1 parked and a car"),  # another order
        ("Is person 01 female?", "not a question"),  # no such number
        ("Is vehicle 1 driving person 1?", "not a question"),  # types it does not join
        ("What is this?", "not a question"),  # not yes or no
        ("", "not a question"),  # nothing
    ],
)
def test_not_understood(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse(text, URBAN, "left half")


def test_a_region_that_nobody_designated() -> None:
    with pytest.raises(DataError, match="none was designated"):
        parse("Is there a person in the designated region?", URBAN)
    with pytest.raises(DataError, match="unknown region, did you mean 'left half'"):
        parse("Is there a person in the designated region?", URBAN, "left haf")


def test_spaces_do_not_matter() -> None:
    assert parse("  Is person 1\n female? ", URBAN) == about(P1, "female")


@pytest.mark.parametrize(
    ("noun", "said"),
    [
        ("accessory", "an accessory"),  # vowel
        ("umbrella", "an umbrella"),  # short u
        ("utensil", "a utensil"),  # long u
        ("uniform", "a uniform"),  # likewise
        ("unimportant thing", "an unimportant thing"),  # not that one
        ("European car", "a European car"),  # sounds like y
        ("hour hand", "an hour hand"),  # silent h
        ("house", "a house"),  # spoken h
        ("x-ray", "an x-ray"),  # a letter
        ("SUV", "an SUV"),  # spelt out
        ("UFO", "a UFO"),  # likewise
    ],
)
def test_article(noun: str, said: str) -> None:
    assert with_article(noun) == said
