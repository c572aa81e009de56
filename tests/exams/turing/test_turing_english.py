"""English: the sentences of the paper's Figure 2, and every question there and back."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.exams.turing.stream.steps import Step, Stream
from sightline.exams.turing.transcript import transcript_of
from sightline.exams.turing.vocabulary.english import follows_noun, parse, say, say_long, with_article
from sightline.exams.turing.vocabulary.files import load_vocabulary, vocabularies
from sightline.exams.turing.vocabulary.questions import (
    Label,
    Question,
    Truth,
    check_question,
    question_from_json,
    question_to_json,
)
from sightline.exams.turing.vocabulary.regions import place
from sightline.exams.turing.vocabulary.vocabulary import WHOLE, Vocabulary

URBAN, WORLDS = load_vocabulary("urban"), load_vocabulary("worlds")
P1, P2, P3, V1 = Label("person", 1), Label("person", 2), Label("person", 3), Label("vehicle", 1)


def exist(*attributes: str, region: str = "left half", of: str = "person") -> Question:
    return Question("exist", of, attributes, region)


def unique(*attributes: str, region: str = "left half", of: str = "person") -> Question:
    return Question("unique", of, attributes, region)


def about(label: Label, *attributes: str) -> Question:
    return Question("attribute", subject=label, attributes=attributes)


def relation(subject: Label, name: str, other: Label) -> Question:
    return Question("relation", subject=subject, object=other, relation=name)


BLUE, YELLOW, RED = "bottom left quarter", "middle third", "right half"
FIGURE_2: list[tuple[int, Question, str, str]] = [
    (1, exist(region=BLUE), "Is there a person in the blue region?", "yes"),
    (2, unique(region=BLUE), "Is there a unique person in the blue region?", "yes"),
    (3, about(P1, "carrying something"), "Is person 1 carrying something?", "yes"),
    (4, about(P1, "female"), "Is person 1 female?", "yes"),
    (5, about(P1, "walking on a sidewalk"), "Is person 1 walking on a sidewalk?", "yes"),
    (6, about(P1, "interacting"), "Is person 1 interacting with any other object?", "no"),
    (9, unique(region=YELLOW, of="vehicle"), "Is there a unique vehicle in the yellow region?", "yes"),
    (10, about(V1, "light-colored"), "Is vehicle 1 light-colored?", "yes"),
    (11, about(V1, "moving"), "Is vehicle 1 moving?", "no"),
    (12, about(V1, "parked", "car"), "Is vehicle 1 parked and a car?", "yes"),
    (14, about(V1, "one visible tire"), "Does vehicle 1 have exactly one visible tire?", "no"),
    (15, about(V1, "interacting"), "Is vehicle 1 interacting with any other object?", "no"),
    (17, unique(region=RED), "Is there a unique person in the red region?", "no"),
    (18, unique("female", region=RED), "Is there a unique person that is female in the red region?", "no"),
    (19, exist("standing still", region=RED), "Is there a person that is standing still in the red region?", "yes"),
    (20, unique("standing still", region=RED), "Is there a unique person standing still in the red region?", "yes"),
    (23, about(P2, "interacting"), "Is person 2 interacting with any other object?", "yes"),
    (24, relation(P1, "taller", P2), "Is person 1 taller than person 2?", "ambiguous"),
    (25, relation(P1, "closer", P2), "Is person 1 closer (to the camera) than person 2?", "no"),
    (26, exist(region=RED), "Is there a person in the red region?", "yes"),
    (27, unique(region=RED), "Is there a unique person in the red region?", "yes"),
    (36, relation(P2, "interaction", P3), "Is there an interaction between person 2 and person 3?", "yes"),
    (37, relation(P2, "talking", P3), "Are person 2 and person 3 talking?", "yes"),
]
"""Number, question, words and answer of all that the paper's Figure 2 prints; the three regions are made up."""


def test_figure_2_is_read_whole_and_printed_word_for_word() -> None:
    paper = replace(URBAN, style="paper")
    assert len(FIGURE_2) == 23
    for vocabulary in (URBAN, paper):  # either style is understood
        assert [parse(text, vocabulary, question.region) for _, question, text, _ in FIGURE_2] == [
            question for _, question, _, _ in FIGURE_2
        ]
    steps = tuple(Step(number, question, 0.5, 40, Truth(answer)) for number, question, _, answer in FIGURE_2)
    printed = transcript_of(Stream("boston", 0, 0, steps, "limit"), paper)
    assert [printed.said(line) for line in printed.lines] == [text for _, _, text, _ in FIGURE_2]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Is there a person in the designated region wearing a hat?", exist("wearing a hat")),
        ("Is there a person wearing a hat?", exist("wearing a hat", region=WHOLE)),
        ("Is there a person in the designated region?", exist()),
        ("Is person 1 partially occluding vehicle 3?", relation(P1, "occluding", Label("vehicle", 3))),
    ],
)
def test_questions_of_the_papers_text(text: str, question: Question) -> None:
    assert say(question, URBAN) == text
    assert parse(text, URBAN, "left half") == question


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (exist("female"), "Is there a person in the left half (A) that is female?"),  # region first
        (unique("walking on a sidewalk"), "Is there a unique person in the left half (A) walking on a sidewalk?"),
        (
            exist("walking on a sidewalk", "carrying something"),
            "Is there a person in the left half (A) walking on a sidewalk and carrying something?",
        ),  # participles, no "that is"
        (
            exist("carrying something", "light-haired"),
            "Is there a person in the left half (A) that is light-haired and carrying something?",
        ),  # a participle comes last
        (exist("partly hidden", of="door"), "Is there a door in the left half (A) partly hidden?"),
        (exist("seen from behind", of="vehicle"), "Is there a vehicle in the left half (A) seen from behind?"),
        (exist("parked", of="vehicle"), "Is there a vehicle in the left half (A) that is parked?"),  # one word
        (exist("parked", "car", of="vehicle"), "Is there a vehicle in the left half (A) that is parked and a car?"),
        (
            exist("parked", "one visible tire", of="vehicle", region=WHOLE),
            "Is there a vehicle that is parked and has exactly one visible tire?",
        ),  # both verbs
        (
            exist("moving", "lights on", of="vehicle"),
            "Is there a vehicle in the left half (A) that has its lights on and is moving?",
        ),  # both verbs, with a participle
        (
            exist("any visible tire", "lights on", of="vehicle"),
            "Is there a vehicle in the left half (A) that has any visible tire and its lights on?",
        ),  # has, twice
        (about(V1, "car", "lights on"), "Is vehicle 1 a car and does it have its lights on?"),  # both verbs
        (relation(P1, "closer", P2), "Is person 1 closer to the camera than person 2?"),  # no brackets
        (relation(P2, "talking", P3), "Are person 2 and person 3 talking?"),  # unordered
    ],
)
def test_street_scenes_in_plain_words(question: Question, text: str) -> None:
    assert say(question, URBAN, region_word="left half (A)") == text
    assert parse(text, URBAN) == question  # the place says which region


O1, O2 = Label("object", 1), Label("object", 2)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (about(O1, "small"), "Is object 1 small?"),  # fixed
        (relation(O1, "taller", O2), "Is object 1 taller in the image than object 2?"),  # fixed
        (about(O1, "able to go into something"), "Would object 1 fit inside another object?"),
        (about(O1, "able to contain something"), "Could something be put into object 1?"),
        (about(O1, "carrying something"), "Is another object standing on object 1?"),
        (about(O1, "small", "able to contain something"), "Is object 1 small and could something be put into it?"),
        (
            about(O1, "handle", "able to go into something"),
            "Does object 1 have a handle and would it fit inside another object?",
        ),
        (relation(O1, "supports", O2), "Is object 2 standing on object 1?"),  # the second is the subject
        (relation(O1, "contains", O2), "Is object 2 inside object 1?"),
        (relation(O1, "can_contain", O2), "Would object 2 fit inside object 1?"),
        (relation(O1, "can_support", O2), "Could object 2 stand on object 1?"),
        (about(O1, "warm-colored"), "Is object 1 red, brown or yellow?"),  # says what it means
        (
            Question("unique", "object", ("bluish",), "top left quarter"),
            "Is there a unique object in region B that is blue, purple or cyan?",
        ),
        (
            Question("exist", "object", ("able to go into something",), "top left quarter"),
            "Is there an object in region B that would fit inside another object?",
        ),
        (
            Question("exist", "object", ("small", "able to contain something"), "top left quarter"),
            "Is there an object in region B that is small and that something could be put into?",
        ),
        (
            Question("exist", "object", ("rubber", "able to carry something"), "top left quarter"),
            "Is there an object in region B made of rubber that another object could stand on?",
        ),
    ],
)
def test_generated_scenes_in_plain_words(question: Question, text: str) -> None:
    assert say(question, WORLDS, region_word="region B") == text
    assert parse(text, WORLDS, "top left quarter") == question


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            exist("female"),
            "Is there an instance of a person in the scene, partially visible in the designated region of the "
            "image, that is female, and not previously instantiated?",
        ),  # region
        (
            Question("unique", "window"),
            "Is there a unique instance of a window in the scene, partially visible "
            "in the image, and not previously instantiated?",
        ),  # whole image
        (
            unique("wearing a hat", region=WHOLE),
            "Is there a unique instance of a person in the scene, partially visible in the image, wearing a hat, "
            "and not previously instantiated?",
        ),  # a participle
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
def asked(draw: st.DrawFn) -> tuple[str, Question]:
    """A ready vocabulary's name, and any question it can ask, of up to four attributes."""
    name = draw(st.sampled_from(vocabularies()))
    vocabulary = load_vocabulary(name)
    kind = vocabulary.types[draw(st.integers(0, len(vocabulary.types) - 1))]
    chosen = draw(st.sets(st.integers(0, max(0, len(kind.attributes) - 1)), max_size=4)) if kind.attributes else ()
    names = tuple(kind.attributes[i].name for i in sorted(chosen))
    region, number = draw(st.sampled_from([*vocabulary.region_index])), draw(st.integers(1, 200))
    what = draw(st.sampled_from(["exist", "unique", "attribute", "relation"]))
    if what == "relation":
        relations = _relations(vocabulary)
        return name, relations[draw(st.integers(0, len(relations) - 1))]
    if what == "attribute" and names:
        return name, Question("attribute", subject=Label(kind.name, number), attributes=names)
    return name, Question("exist" if what == "exist" else "unique", kind.name, names, region)


@settings(max_examples=200, deadline=None)
@given(asked(), st.sampled_from(["designated region", "dashed blue region", "region B", "place"]))
def test_there_and_back(pair: tuple[str, Question], word: str) -> None:
    plain, question = load_vocabulary(pair[0]), pair[1]
    word = f"{place(plain.region(question.region).box)} (C)" if word == "place" else word
    for vocabulary in (plain, replace(plain, style="paper")):
        text = say(question, vocabulary, region_word=word)
        assert parse(text, vocabulary, question.region) == question
        assert parse(text, plain, question.region) == question  # either style is understood
        assert "  " not in text + say_long(question, vocabulary)
    assert not re.search(r"that is (?!something\b)\w+ing\b|that that", say(question, plain))
    assert question_from_json(question_to_json(question, plain), plain) == question


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


@pytest.mark.parametrize(
    ("phrase", "follows"),
    [
        ("walking on a sidewalk", True),  # a present participle
        ("partly hiding another object", True),  # to a degree
        ("partly hidden", True),  # a past participle, to a degree
        ("made of rubber", True),  # with a complement
        ("cut off at the edge of the picture", True),  # likewise
        ("parked", False),  # alone
        ("held or carried", False),  # two alone
        ("light-colored", False),  # an adjective
        ("something to eat", False),  # ends as a participle does
        ("a building", False),  # a noun
        ("next to another person", False),  # a place: the region stands between
        ("taller than it is wide", False),  # a comparison
    ],
)
def test_what_needs_no_that_is(phrase: str, follows: bool) -> None:
    assert follows_noun(phrase) is follows


@pytest.mark.parametrize(
    ("vocabulary", "question", "text"),
    [
        (
            "vrd",
            exist("something on it", of="vehicle"),
            "Is there a vehicle in the middle row (C) that has something on it?",
        ),
        ("vrd", about(P1, "sitting", "below the sky"), "Is person 1 sitting and below the sky?"),  # not "it"
        (
            "vrd",
            exist("below something", of="vehicle part"),
            "Is there a vehicle part in the middle row (C) that is below something?",
        ),
        (
            "vrd",
            unique("umbrella", of="accessory"),
            "Is there a unique accessory in the middle row (C) that is an umbrella?",
        ),
        ("vrd", exist(of="accessory"), "Is there an accessory in the middle row (C)?"),  # an
        (
            "vrd25",
            exist("hiding something", of="creature"),
            "Is there a creature in the middle row (C) partly hiding another object?",
        ),
        (
            "vrd25",
            exist("hidden by something", of="thing"),
            "Is there a thing in the middle row (C) partly hidden by another object?",
        ),
        ("vrd25", about(Label("thing", 2), "to eat"), "Is thing 2 something to eat?"),
        (
            "vrd25",
            relation(Label("vehicle", 1), "farther", Label("creature", 1)),
            "Is vehicle 1 farther from the camera than creature 1?",
        ),
        (
            "urban",
            exist("of one storey", of="building"),
            "Is there a building in the middle row (C) that is one storey high?",
        ),
    ],
)
def test_wording(vocabulary: str, question: Question, text: str) -> None:
    if question.instantiates:
        question = replace(question, region="middle third")
    assert say(question, load_vocabulary(vocabulary), region_word="middle row (C)") == text
    assert parse(text, load_vocabulary(vocabulary)) == question


def test_braces_of_a_phrase_are_no_slots() -> None:
    vehicle = URBAN.kind("vehicle")
    odd = replace(vehicle.attributes[0], name="odd", phrase="painted {x}")
    vocabulary = replace(URBAN, types=(replace(vehicle, attributes=(odd,), exclusive=frozenset()),), links=())
    text = say(about(V1, "odd"), vocabulary)
    assert text == "Is vehicle 1 painted {x}?"
    assert parse(text, vocabulary) == about(V1, "odd")


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
