"""The JSON form: the same for the same question, back again, and what is refused on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sightline.errors import DataError
from sightline.exams.turing.vocabulary.files import load_vocabulary
from sightline.exams.turing.vocabulary.questions import (
    Label,
    Question,
    check_question,
    parse_label,
    question_from_json,
    question_to_json,
)

URBAN = load_vocabulary("urban")
ONE, TWO, CAR = Label("person", 1), Label("person", 2), Label("vehicle", 1)
EXIST = {"type": "exist", "object_type": "person", "attributes": ["female"], "region": "left half"}


@pytest.mark.parametrize(
    ("question", "form"),
    [
        (Question("exist", "person", ("female",), "left half"), {**EXIST, "box": [0.0, 0.0, 0.5, 1.0]}),  # a region
        (
            Question("unique", "door"),
            {"type": "unique", "object_type": "door", "attributes": [], "region": "image", "box": None},
        ),  # the whole image
        (
            Question("attribute", subject=CAR, attributes=("parked", "car")),
            {"type": "attribute", "subject": "vehicle 1", "attributes": ["parked", "car"]},
        ),  # a conjunction
        (
            Question("relation", subject=TWO, object=CAR, relation="entering"),
            {"type": "relation", "subject": "person 2", "relation": "entering", "object": "vehicle 1"},
        ),  # two objects
    ],
)
def test_there_and_back(question: Question, form: dict[str, Any]) -> None:
    assert question_to_json(question, URBAN) == form
    assert question_from_json(json.loads(json.dumps(form)), URBAN) == question


def test_attributes_come_in_any_order_and_defaults_may_be_left_out() -> None:
    given = {"type": "attribute", "subject": "vehicle 1", "attributes": ["car", "parked"]}
    assert question_from_json(given, URBAN).attributes == ("parked", "car")
    assert question_from_json({"type": "exist", "object_type": "door"}, URBAN) == Question("exist", "door")


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([], "a question is a mapping"),  # a list
        ({**EXIST, "type": "exists"}, "type: unknown type of question, did you mean 'exist'"),  # misspelt
        ({"object_type": "person"}, "type: unknown type of question"),  # no type
        ({"type": "exist"}, "object_type: the field is missing"),  # of what?
        ({**EXIST, "objekt": 1}, "objekt: unknown field"),  # unknown field
        ({**EXIST, "object_type": "persn"}, "object_type: unknown type, did you mean 'person'"),  # misspelt type
        ({**EXIST, "attributes": ["femal"]}, "attributes: unknown attribute of a person, did you mean 'female'"),
        ({**EXIST, "attributes": ["parked"]}, "unknown attribute of a person"),  # of another type
        ({**EXIST, "attributes": "female"}, "attributes are a list"),  # a text
        ({**EXIST, "attributes": ["female", "female"]}, "asked for twice"),  # double
        ({**EXIST, "region": "left haf"}, "region: unknown region, did you mean 'left half'"),  # misspelt region
        ({**EXIST, "box": [0, 0, 1, 1]}, "box: not the box of the region"),  # contradicts the region
        ({"type": "attribute", "subject": "person 1", "attributes": []}, "asks for none"),  # nothing asked
        ({"type": "attribute", "subject": "person", "attributes": ["female"]}, "not the label of an object"),
        ({"type": "attribute", "subject": "person 0", "attributes": ["female"]}, "not the label"),  # from 1
        ({"type": "attribute", "subject": 1, "attributes": ["female"]}, "not the label"),  # a number
        ({"type": "relation", "subject": "person 1", "relation": "talkin", "object": "person 2"}, "did you mean"),
        ({"type": "relation", "subject": "person 1", "relation": "talking", "object": "person 1"}, "two objects"),
        (
            {"type": "relation", "subject": "person 1", "relation": "talking", "object": "vehicle 1"},
            "not between a person and a vehicle",
        ),  # types it does not join
        (
            {"type": "relation", "subject": "vehicle 1", "relation": "driving", "object": "person 1"},
            "not between a vehicle and a person",
        ),  # the wrong way round
    ],
)
def test_refused(form: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        question_from_json(form, URBAN)


@pytest.mark.parametrize(
    ("question", "labels", "message"),
    [
        (
            Question("attribute", subject=TWO, attributes=("male",)),
            (ONE,),
            "subject: the object has not been "
            r"labelled \(expected person 1, found 'person 2'\)",
        ),  # another one is
        (Question("attribute", subject=ONE, attributes=("male",)), (), "none yet"),  # nothing is
        (Question("relation", subject=ONE, object=CAR, relation="entering"), (ONE,), "object: .* not been label"),
        (Question("attribute", attributes=("male",)), (), "about no object"),  # no subject
        (Question("exist", "person", ("male", "female")), (), "not in the vocabulary's order"),  # order
    ],
)
def test_questions_that_cannot_be_asked(question: Question, labels: tuple[Label, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_question(question, URBAN, labels)


def test_questions_that_can() -> None:
    check_question(Question("relation", subject=ONE, object=CAR, relation="entering"), URBAN, (ONE, CAR))
    check_question(Question("attribute", subject=TWO, attributes=("male",)), URBAN)  # labels not known
    check_question(Question("exist", "window", (), "top third"), URBAN, ())


def test_label_of_a_type_of_several_words() -> None:
    assert parse_label("body part 3", load_vocabulary("vrd")) == Label("body part", 3)
