"""Questions in structured form, histories of them, and their JSON form.

``{"type": "exist", "object_type": "door", "attributes": ["open"], "region": "left half", "box": [0, 0, 0.5, 1]}``
(``unique`` likewise; ``box`` is null for the whole image),
``{"type": "attribute", "subject": "person 1", "attributes": ["female"]}`` and
``{"type": "relation", "subject": "person 1", "relation": "closer", "object": "person 2"}``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, NoReturn, get_args

from sightline.errors import DataError
from sightline.exams.turing.vocabulary.vocabulary import WHOLE, Vocabulary
from sightline.hints import hint

Box = tuple[float, float, float, float]

QuestionKind = Literal["exist", "unique", "attribute", "relation"]

_SEARCH: Final = ("type", "object_type", "attributes", "region", "box")
_FIELDS: Final[Mapping[QuestionKind, tuple[str, ...]]] = {
    "exist": _SEARCH,
    "unique": _SEARCH,
    "attribute": ("type", "subject", "attributes"),
    "relation": ("type", "subject", "relation", "object"),
}


class Label(NamedTuple):
    """A labelled object: numbered within its type, from 1, in the order of instantiation."""

    type: str
    number: int

    def __str__(self) -> str:
        return f"{self.type} {self.number}"


class Truth(Enum):
    """What an operator says of a question."""

    YES = "yes"
    NO = "no"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Question:
    """One yes–no question.

    ``exist`` and ``unique`` ask for objects of `type` with all `attributes`, partially visible in `region` and not
    labelled before; ``attribute`` asks whether labelled object `subject` has all `attributes`; ``relation`` whether
    `relation` holds of `subject` and `object`.

    Attributes:
        attributes: Names, in the vocabulary's order, each once.
    """

    kind: QuestionKind
    type: str = ""
    attributes: tuple[str, ...] = ()
    region: str = WHOLE
    subject: Label | None = None
    object: Label | None = None
    relation: str = ""

    @property
    def instantiates(self) -> bool:
        """Whether it searches for objects (rather than speaks of labelled ones)."""
        return self.kind in ("exist", "unique")

    def labels_if(self, answer: bool) -> bool:
        """Whether that answer labels an object: a uniqueness question answered yes does."""
        return answer and self.kind == "unique"


History = tuple[tuple[Question, bool], ...]
"""Questions with their true answers, in the order asked."""


def labels_of(history: History) -> tuple[Label, ...]:
    """The labels given so far, in order.

    >>> one = Question("unique", "person", region="left"), True
    >>> [str(label) for label in labels_of((one, one))]
    ['person 1', 'person 2']
    """
    given: list[Label] = []
    for question, answer in history:
        if question.labels_if(answer):
            given.append(next_label(question.type, given))
    return tuple(given)


def next_label(kind: str, given: Collection[Label]) -> Label:
    """The label the next object of a type gets, after those given.

    >>> str(next_label("person", [Label("person", 1), Label("tree", 1)]))
    'person 2'
    """
    return Label(kind, 1 + sum(label.type == kind for label in given))


def question_to_json(question: Question, vocabulary: Vocabulary) -> dict[str, Any]:
    """The structured form: the same dictionary for the same question.

    >>> from sightline.exams.turing.vocabulary.files import load_vocabulary
    >>> question_to_json(Question("exist", "person"), load_vocabulary("urban"))
    {'type': 'exist', 'object_type': 'person', 'attributes': [], 'region': 'image', 'box': None}
    """
    if question.kind == "relation":
        ends = {"subject": str(question.subject), "relation": question.relation, "object": str(question.object)}
        return {"type": question.kind, **ends}
    attributes = list(question.attributes)
    if question.kind == "attribute":
        return {"type": question.kind, "subject": str(question.subject), "attributes": attributes}
    box = region_box(question, vocabulary)
    return {
        "type": question.kind,
        "object_type": question.type,
        "attributes": attributes,
        "region": question.region,
        "box": None if box is None else list(box),
    }


def region_box(question: Question, vocabulary: Vocabulary) -> Box | None:
    """The designated region, xyxy in fractions of the image; None for the whole image, or where there is none."""
    if not question.instantiates or question.region == WHOLE:
        return None
    return vocabulary.region(question.region).box


def question_from_json(value: Mapping[str, Any], vocabulary: Vocabulary) -> Question:
    """The question that `question_to_json` gives this for; attributes may come in any order.

    Raises:
        DataError: Naming the field that is missing, misspelt or unknown to the vocabulary.
    """
    if not isinstance(value, Mapping):
        _fail("a question is a mapping of its fields", "question", value)
    kind: Any = value.get("type")
    if kind not in get_args(QuestionKind):
        _fail(f"unknown type of question{hint(str(kind), get_args(QuestionKind))}", "type", kind)
    known = _FIELDS[kind]
    for key in value:
        if key not in known:
            _fail(f"unknown field{hint(str(key), known)}", str(key), value[key])
    for key in known:
        if key not in value and key not in ("box", "attributes", "region"):
            _fail("the field is missing", key, None)
    if kind == "relation":
        subject, other = (_label(value[key], vocabulary, key) for key in ("subject", "object"))
        question = Question(kind, subject=subject, object=other, relation=value["relation"])
    elif kind == "attribute":
        subject = _label(value["subject"], vocabulary, "subject")
        question = Question(kind, subject=subject, attributes=_names(value, subject.type, vocabulary))
    else:
        of = value["object_type"]
        question = Question(kind, of, _names(value, of, vocabulary), value.get("region", WHOLE))
    check_question(question, vocabulary)
    if question.instantiates:
        _check_box(value.get("box"), question, vocabulary)
    return question


def check_question(question: Question, vocabulary: Vocabulary, labels: Collection[Label] | None = None) -> None:
    """Refuse a question that the vocabulary has no words for, or about an object that has no label yet.

    Args:
        question: Any.
        vocabulary: The words.
        labels: Labels given so far; None where nobody knows them.

    Raises:
        DataError: Naming the field.
    """
    if question.instantiates:
        _known(question.type, vocabulary.type_index, "object_type", "type")
        _known(question.region, vocabulary.region_index, "region", "region")
        _check_attributes(question.attributes, question.type, vocabulary)
        return
    _check_label(question.subject, vocabulary, labels, "subject")
    assert question.subject is not None
    if question.kind == "attribute":
        if not question.attributes:
            _fail("an attribute question asks for none", "attributes", [])
        _check_attributes(question.attributes, question.subject.type, vocabulary)
        return
    _check_label(question.object, vocabulary, labels, "object")
    assert question.object is not None
    _known(question.relation, vocabulary.link_index, "relation", "relation")
    if question.subject == question.object:
        _fail("a relation needs two objects", "object", str(question.object))
    if not vocabulary.link(question.relation).asked_of(question.subject.type, question.object.type):
        ends = f"a {question.subject.type} and a {question.object.type}"
        _fail(f"this relation is not between {ends}", "relation", question.relation)


def parse_label(text: object, vocabulary: Vocabulary) -> Label:
    """``person 1`` → its label; a DataError where it is none of the vocabulary's.

    >>> from sightline.exams.turing.vocabulary.files import load_vocabulary
    >>> parse_label("person 12", load_vocabulary("urban"))
    Label(type='person', number=12)
    """
    return _label(text, vocabulary, "label")


def _label(text: object, vocabulary: Vocabulary, field: str) -> Label:
    kind, _, number = text.rpartition(" ") if isinstance(text, str) else ("", "", "")
    if not (number.isascii() and number.isdigit()) or number.startswith("0"):
        raise DataError("not the label of an object", field=field, expected="a type and a number", found=text)
    _known(kind, vocabulary.type_index, field, "type")
    return Label(kind, int(number))


def _names(value: Mapping[str, Any], kind: object, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The attributes in the vocabulary's order."""
    given = value.get("attributes", [])
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
        _fail("attributes are a list of names", "attributes", given)
    _known(kind, vocabulary.type_index, "object_type", "type")
    assert isinstance(kind, str)
    for name in given:
        _known(name, [a.name for a in vocabulary.kind(kind).attributes], "attributes", f"attribute of a {kind}")
    return tuple(sorted(given, key=lambda name: vocabulary.attribute_index[kind, name]))


def _check_attributes(names: tuple[str, ...], kind: str, vocabulary: Vocabulary) -> None:
    known = {a.name: i for i, a in enumerate(vocabulary.kind(kind).attributes)}
    for name in names:
        _known(name, known, "attributes", f"attribute of a {kind}")
    if len(set(names)) < len(names):
        _fail("an attribute is asked for twice", "attributes", list(names))
    if sorted(names, key=lambda name: known[name]) != list(names):
        _fail("attributes are not in the vocabulary's order", "attributes", list(names))


def _check_label(label: Label | None, vocabulary: Vocabulary, labels: Collection[Label] | None, field: str) -> None:
    if label is None:
        _fail("the question is about no object", field, None)
    _known(label.type, vocabulary.type_index, field, "type")
    if labels is not None and label not in labels:
        given = ", ".join(map(str, labels)) or "none yet"
        raise DataError("the object has not been labelled", field=field, expected=given, found=str(label))


def _check_box(box: object, question: Question, vocabulary: Vocabulary) -> None:
    """A box may be left out; where it stands it must be that of the region."""
    expected = None if question.region == WHOLE else list(vocabulary.region(question.region).box)
    if box is not None and (not isinstance(box, list | tuple) or list(box) != expected):
        raise DataError("not the box of the region", field="box", expected=expected or "null", found=box)


def _known(name: object, known: Collection[str] | Mapping[str, int], field: str, what: str) -> None:
    if not isinstance(name, str) or name not in known:
        _fail(f"unknown {what}{hint(str(name), known)}", field, name)


def _fail(problem: str, field: str, found: object) -> NoReturn:
    raise DataError(problem, field=field, found=found)
