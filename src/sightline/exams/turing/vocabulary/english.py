"""Questions in English, and back: each has one sentence, each sentence one meaning.

The style is that of the paper's Figure 2. What is always implied (partially visible, not instantiated before) is
left out of the short form and stands in the long one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from sightline.errors import DataError
from sightline.exams.turing.vocabulary.questions import Label, Question
from sightline.exams.turing.vocabulary.vocabulary import WHOLE, Attribute, RelationType, Vocabulary
from sightline.hints import did_you_mean, hint

REGION_WORD: Final = "designated region"
_HAVE: Final = " and does it have "
_SOUNDS_LIKE_A: Final = re.compile(r"(eu|one\b|once|uni([^mn]|$)|us[aeu]|ut[ei]|ub|u\b)", re.IGNORECASE)
_SOUNDS_LIKE_AN: Final = re.compile(r"(hour|honest|hono|heir)|[aefhilmnorsx]\b", re.IGNORECASE)


def say(question: Question, vocabulary: Vocabulary, *, region_word: str = REGION_WORD) -> str:
    """The question as one sentence; the whole image needs no words.

    Args:
        question: Of the vocabulary's words.
        vocabulary: Has the phrases.
        region_word: What the region is called, ``blue region`` where it is drawn.

    >>> from sightline.exams.turing.vocabulary.files import load_vocabulary
    >>> urban = load_vocabulary("urban")
    >>> say(Question("unique", "person", ("female",), "left half"), urban)
    'Is there a unique person that is female in the designated region?'
    >>> say(Question("attribute", subject=Label("vehicle", 1), attributes=("parked", "car")), urban)
    'Is vehicle 1 parked and a car?'
    >>> say(Question("relation", subject=Label("person", 2), object=Label("person", 3), relation="talking"), urban)
    'Are person 2 and person 3 talking?'
    """
    if question.kind == "relation":
        return f"{_related(question, vocabulary.link(question.relation))}?"
    if question.kind == "attribute":
        assert question.subject is not None
        return f"{_described(question.subject, _attributes(question, vocabulary))}?"
    place = "" if question.region == WHOLE else f" in the {region_word}"
    unique = "a unique " if question.kind == "unique" else ""
    noun = f"{unique}{question.type}" if unique else with_article(question.type)
    return f"Is there {noun}{_that(_attributes(question, vocabulary))}{place}?"


def say_long(question: Question, vocabulary: Vocabulary, *, region_word: str = REGION_WORD) -> str:
    """The question with everything that is implied said aloud.

    >>> from sightline.exams.turing.vocabulary.files import load_vocabulary
    >>> say_long(Question("exist", "door"), load_vocabulary("urban"))
    'Is there an instance of a door in the scene, partially visible in the image, and not previously instantiated?'
    """
    if question.kind == "relation" and vocabulary.link(question.relation).camera:
        return f"{say(question, vocabulary)[:-1]}, as seen from the camera?"
    if not question.instantiates:
        return say(question, vocabulary)
    instance = "a unique instance" if question.kind == "unique" else "an instance"
    place = "image" if question.region == WHOLE else f"{region_word} of the image"
    what = f"{with_article(question.type)}{_that(_attributes(question, vocabulary))}"
    implied = f"partially visible in the {place}, and not previously instantiated"
    return f"Is there {instance} of {what} in the scene, {implied}?"


def parse(
    text: str, vocabulary: Vocabulary, region: str | None = None, *, region_word: str = REGION_WORD
) -> Question:
    """The question that `say` gives this sentence for.

    Args:
        text: One sentence.
        vocabulary: Has the phrases.
        region: Name of the designated region; not looked at where the sentence speaks of none.
        region_word: What the sentence calls it.

    Raises:
        DataError: Where the sentence is none of this vocabulary's.
    """
    if region is not None and region not in vocabulary.region_index:
        raise DataError(f"unknown region{hint(region, vocabulary.region_index)}", field="region", found=region)
    sentence = " ".join(text.split())
    readings = list(dict.fromkeys(_readings(sentence.removesuffix("?"), vocabulary, region, region_word)))
    exact = [question for question in readings if say(question, vocabulary, region_word=region_word) == sentence]
    if len(exact) == 1 and exact[0].region:
        return exact[0]
    if exact:
        raise DataError("the question is about a region, but none was designated", field="region", found=text)
    near = _nearest(sentence, vocabulary, readings, region_word)
    raise DataError(f"not a question of the vocabulary {vocabulary.name!r}{near}", field="text", found=text)


def with_article(noun: str) -> str:
    """The noun with a or an, by its sound.

    >>> [with_article(w) for w in ("person", "umbrella", "unicycle", "hour hand", "SUV", "urn", "one-way sign")]
    ['a person', 'an umbrella', 'a unicycle', 'an hour hand', 'an SUV', 'an urn', 'a one-way sign']
    """
    spelt = noun.isupper() or re.match(r"[A-Z]{2,}\b", noun)
    vowel = noun[0].lower() in ("aefhilmnorsx" if spelt else "aeiou")
    if not spelt:
        vowel = (vowel and not _SOUNDS_LIKE_A.match(noun)) or bool(_SOUNDS_LIKE_AN.match(noun))
    return f"{'an' if vowel else 'a'} {noun}"


def _attributes(question: Question, vocabulary: Vocabulary) -> list[Attribute]:
    kind = question.type if question.subject is None else question.subject.type
    return [vocabulary.attribute(kind, name) for name in question.attributes]


def _split(attributes: Sequence[Attribute]) -> tuple[str, str]:
    """What it is and what it has, each joined by "and"."""
    being, having = ([a.phrase for a in attributes if a.verb == verb] for verb in ("is", "has"))
    return " and ".join(being), " and ".join(having)


def _that(attributes: Sequence[Attribute]) -> str:
    being, having = _split(attributes)
    clauses = [clause for clause, said in ((f"is {being}", being), (f"has {having}", having)) if said]
    return f" that {' and '.join(clauses)}" if clauses else ""


def _described(label: Label, attributes: Sequence[Attribute]) -> str:
    being, having = _split(attributes)
    if not being:
        return f"Does {label} have {having}"
    return f"Is {label} {being}{_HAVE if having else ''}{having}"


def _related(question: Question, link: RelationType) -> str:
    subject, other = question.subject, question.object
    if link.verb == "there":
        return f"Is there {link.phrase} {subject} and {other}"
    if link.ordered:
        return f"{'Does' if link.verb == 'does' else 'Is'} {subject} {link.phrase} {other}"
    return f"{'Do' if link.verb == 'does' else 'Are'} {subject} and {other} {link.phrase}"


def _readings(text: str, words: Vocabulary, region: str | None, region_word: str) -> Iterator[Question]:
    """All questions the text may be; one at most says exactly it."""
    first, _, rest = text.partition(" ")
    if first == "Is" and rest.startswith("there "):
        bare = rest.removeprefix("there ")
        yield from _searches(bare, words, WHOLE)
        inside = bare.removesuffix(f" in the {region_word}")
        if inside != bare:
            yield from _searches(inside, words, "" if region in (None, WHOLE) else str(region))
    if first in ("Is", "Does", "Are", "Do"):
        yield from _relations(first, rest, words)
    if first in ("Is", "Does"):
        yield from _facts(first, rest, words)


def _searches(text: str, words: Vocabulary, region: str) -> Iterator[Question]:
    noun, _, clause = text.partition(" that ")
    for kind in words.types:
        for asked, said in (("exist", with_article(kind.name)), ("unique", f"a unique {kind.name}")):
            if noun == said:
                being, having = _clauses(clause)
                names = _named(words, kind.name, being, having)
                if names is not None:
                    yield Question("exist" if asked == "exist" else "unique", kind.name, names, region)


def _clauses(clause: str) -> tuple[str, str]:
    """``is … and has …`` → what it is and what it has."""
    if clause.startswith("has "):
        return "", clause.removeprefix("has ")
    being, _, having = clause.removeprefix("is ").partition(" and has ")
    return being, having


def _facts(first: str, rest: str, words: Vocabulary) -> Iterator[Question]:
    for label, said in _begins(rest, words):
        being, having = ("", said.removeprefix("have ")) if first == "Does" else said.partition(_HAVE)[::2]
        names = _named(words, label.type, being, having)
        if names:
            yield Question("attribute", attributes=names, subject=label)


def _relations(first: str, rest: str, words: Vocabulary) -> Iterator[Question]:
    """``person 1 closer than person 2``, ``person 1 and person 2 talking``, ``there an interaction between …``."""
    for link in words.links:
        there = f"there {link.phrase} "
        pair = rest.removeprefix(there) if link.verb == "there" and first == "Is" else rest
        middle = f"{link.phrase} " if link.ordered else "and "
        tail = "" if link.ordered or link.verb == "there" else link.phrase
        for subject, after in _begins(pair, words):
            if after.startswith(middle):
                for other, end in _begins(f"{after.removeprefix(middle)} ", words):
                    if end.strip() == tail and link.asked_of(subject.type, other.type):
                        yield Question("relation", subject=subject, object=other, relation=link.name)


def _begins(text: str, words: Vocabulary) -> Iterator[tuple[Label, str]]:
    """Labels a text may begin with, and what follows."""
    for kind in words.types:
        if text.startswith(f"{kind.name} "):
            number, _, rest = text.removeprefix(f"{kind.name} ").partition(" ")
            if number.isascii() and number.isdigit() and not number.startswith("0"):
                yield Label(kind.name, int(number)), rest


def _named(words: Vocabulary, kind: str, being: str, having: str) -> tuple[str, ...] | None:
    """Names of the attributes with these phrases, in the vocabulary's order; None where one is unknown."""
    said = [
        (verb, phrase) for verb, text in (("is", being), ("has", having)) for phrase in text.split(" and ") if text
    ]
    chosen = tuple(a.name for a in words.kind(kind).attributes if (a.verb, a.phrase) in said)
    return chosen if len(chosen) == len(said) else None


def _nearest(text: str, words: Vocabulary, readings: Sequence[Question], region_word: str) -> str:
    """A hint: the sentence that was nearly said, else the phrase or noun that is nearest to one in it."""
    if readings:
        return f", did you mean {say(readings[0], words, region_word=region_word)!r}?"
    unknown = text.removesuffix("?").removesuffix(f" in the {region_word}")
    for start in ("Is there a unique ", "Is there an ", "Is there a ", "Is ", "Does ", "Are "):
        if unknown.startswith(start):
            unknown = unknown.removeprefix(start)
            break
    noun, _, clause = unknown.partition(" that ")
    kinds = list(words.type_index)
    if noun in kinds:
        return did_you_mean(clause.removeprefix("is "), [a.phrase for a in words.kind(noun).attributes])
    label = next(_begins(f"{unknown} ", words), None)
    if label is not None:
        phrases = [a.phrase for a in words.kind(label[0].type).attributes] + [link.phrase for link in words.links]
        return did_you_mean(label[1].strip(), phrases)
    return did_you_mean(noun, kinds)
