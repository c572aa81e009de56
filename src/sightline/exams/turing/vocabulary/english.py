"""Questions in English, and back: each has one sentence, each sentence one meaning.

The region comes first ("Is there a person in the designated region wearing a hat?"), as in the paper's text;
``style: paper`` words questions as its Figure 2 does. What is always implied (partially visible, not instantiated
before) is left out of the short form and stands in the long one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Final

from sightline.errors import DataError
from sightline.exams.turing.vocabulary.questions import Label, Question
from sightline.exams.turing.vocabulary.regions import place
from sightline.exams.turing.vocabulary.vocabulary import WHOLE, Attribute, Region, Vocabulary, relation_template
from sightline.hints import did_you_mean, hint

REGION_WORD: Final = "designated region"

_PERSONS: Final = ("person", "man", "woman", "child", "boy", "girl", "pedestrian", "rider", "player")
"""Types that are called by their label again rather than "it"."""

_NO_PARTICIPLES: Final = ("something", "anything", "nothing", "everything", "clothing", "evening", "morning")
_DEGREES: Final = ("partly", "partially", "fully", "completely", "mostly", "slightly", "not")
_PAST: Final = (
    "made",
    "hidden",
    "worn",
    "seen",
    "held",
    "ridden",
    "driven",
    "cut",
    "built",
    "shown",
    "hung",
    "lit",
)
_LINKED: Final = (
    "as",
    "at",
    "before",
    "behind",
    "by",
    "for",
    "from",
    "in",
    "of",
    "off",
    "on",
    "over",
    "to",
    "with",
)
"""Words after which a past participle has its complement: "made of rubber"."""

_JOINTS: Final = re.compile(r"(?:^| )(?:and that|and|that) ")
_SOUNDS_LIKE_A: Final = re.compile(r"(eu|one\b|once|uni([^mn]|$)|us[aeu]|ut[ei]|ub|u\b)", re.IGNORECASE)
_SOUNDS_LIKE_AN: Final = re.compile(r"(hour|honest|hono|heir)|[aefhilmnorsx]\b", re.IGNORECASE)


def say(question: Question, vocabulary: Vocabulary, *, region_word: str = REGION_WORD) -> str:
    """Word a question as one sentence; the whole image needs no words.

    Args:
        question: Of the vocabulary's words.
        vocabulary: Has the phrases, and the style.
        region_word: What the region is called: ``top left quarter (B)``, ``region B``.

    >>> from sightline.exams.turing.vocabulary.files import load_vocabulary
    >>> urban = load_vocabulary("urban")
    >>> say(Question("unique", "person", ("female",), "left half"), urban)
    'Is there a unique person in the designated region that is female?'
    >>> say(Question("exist", "person", ("wearing a hat",), "left half"), urban, region_word="left half (A)")
    'Is there a person in the left half (A) wearing a hat?'
    >>> say(Question("attribute", subject=Label("vehicle", 1), attributes=("parked", "car")), urban)
    'Is vehicle 1 parked and a car?'
    >>> say(Question("relation", subject=Label("person", 2), object=Label("person", 3), relation="talking"), urban)
    'Are person 2 and person 3 talking?'
    """
    where = "" if question.region == WHOLE else _placed(region_word)
    if vocabulary.style == "plain":
        return _sentence(question, vocabulary, where)
    # Figure 2 asks "a person that is standing still" (19) but "a unique person standing still" (20).
    reduced = question.kind == "unique"
    return _sentence(question, vocabulary, where, region_first=False, reduced=reduced, paper=True)


def say_long(question: Question, vocabulary: Vocabulary, *, region_word: str = REGION_WORD) -> str:
    """Word a question with everything that is implied.

    >>> from sightline.exams.turing.vocabulary.files import load_vocabulary
    >>> say_long(Question("exist", "door", ("open",)), load_vocabulary("urban"))
    'Is there an instance of a door in the scene, partially visible in the image, that is open, and not previously \
instantiated?'
    """
    if question.kind == "relation" and vocabulary.link(question.relation).camera:
        return f"{say(question, vocabulary)[:-1]}, as seen from the camera?"
    if not question.instantiates:
        return say(question, vocabulary)
    instance = "a unique instance" if question.kind == "unique" else "an instance"
    where = " in the image" if question.region == WHOLE else f"{_placed(region_word)} of the image"
    described = _described(_attributes(question, vocabulary), reduced=True, paper=vocabulary.style == "paper")
    clause = f",{described}" if described else ""
    what = f"{instance} of {with_article(question.type)} in the scene"
    return f"Is there {what}, partially visible{where}{clause}, and not previously instantiated?"


def parse(text: str, vocabulary: Vocabulary, region: str | None = None) -> Question:
    """Read the question that a sentence of either style asks.

    Args:
        text: One sentence. Its region may have any name of one colour or letter ("the designated region", "the
            blue region", "region B"), or be told by its place ("the top left quarter (B)").
        vocabulary: Has the phrases.
        region: Name of the region that is designated; not looked at where the sentence tells the place, or none.

    Raises:
        DataError: Where the sentence is none of this vocabulary's.

    >>> from sightline.exams.turing.vocabulary.files import load_vocabulary
    >>> parse("Is there a unique vehicle in the left half that is parked?", load_vocabulary("urban"))
    Question(kind='unique', type='vehicle', attributes=('parked',), region='left half', subject=None, object=None, \
relation='')
    """
    if region is not None and region not in vocabulary.region_index:
        raise DataError(f"unknown region{hint(region, vocabulary.region_index)}", field="region", found=region)
    sentence = " ".join(text.split())
    readings = list(dict.fromkeys(_readings(sentence.removesuffix("?"), vocabulary, region)))
    exact = {question for question, where in readings if sentence in _sentences(question, vocabulary, where)}
    if len(exact) == 1:
        question = exact.pop()
        if question.region:
            return question
        raise DataError("the question is about a region, but none was designated", field="region", found=text)
    near = _nearest(sentence, vocabulary, readings)
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


def follows_noun(phrase: str) -> bool:
    """Whether a phrase can stand behind its noun without "that is": it begins with a participle.

    Of past participles only those that say more than one word, for "a vehicle parked" is not English.

    >>> [follows_noun(p) for p in ("walking", "partly hidden", "made of metal", "parked", "small", "next to a car")]
    [True, True, True, False, False, False]
    """
    words = phrase.split()
    degree = words[0] in _DEGREES
    head, *after = words[1:] if degree and len(words) > 1 else words
    if head.endswith("ing"):
        return head not in _NO_PARTICIPLES
    complete = degree or bool(after and after[0] in _LINKED)
    return complete and (head in _PAST or head.endswith("ed"))


def _sentence(
    question: Question,
    vocabulary: Vocabulary,
    where: str,
    *,
    region_first: bool = True,
    reduced: bool = True,
    paper: bool = False,
) -> str:
    """The sentence in one of its forms; `where` is `` in the designated region`` or nothing."""
    if question.kind == "relation":
        template = relation_template(vocabulary.link(question.relation))
        ends = {"{subject}": str(question.subject), "{object}": str(question.object)}
        return f"{_filled(_said(template, paper), ends)}?"
    attributes = _attributes(question, vocabulary)
    if question.subject is not None:
        return f"{_asked_of(question.subject, attributes, paper)}?"
    noun = f"a unique {question.type}" if question.kind == "unique" else with_article(question.type)
    clause = _described(attributes, reduced=reduced, paper=paper)
    return f"Is there {noun}{where}{clause}?" if region_first else f"Is there {noun}{clause}{where}?"


def _sentences(question: Question, vocabulary: Vocabulary, where: str) -> Iterator[str]:
    """Every sentence that asks this question, of all styles."""
    for region_first, reduced, paper in product((True, False), repeat=3):
        yield _sentence(question, vocabulary, where, region_first=region_first, reduced=reduced, paper=paper)


def _said(phrase: str, paper: bool) -> str:
    """The phrase of a style: what stands in brackets, as the paper prints it, is said like the rest.

    >>> _said("closer (to the camera) than", False), _said("closer (to the camera) than", True)
    ('closer to the camera than', 'closer (to the camera) than')
    """
    return phrase if paper else phrase.replace("(", "").replace(")", "")


def _placed(region_word: str) -> str:
    return f" in {region_word}" if region_word.startswith("region ") else f" in the {region_word}"


def _attributes(question: Question, vocabulary: Vocabulary) -> list[Attribute]:
    kind = question.type if question.subject is None else question.subject.type
    return [vocabulary.attribute(kind, name) for name in question.attributes]


def _phrases(attributes: Iterable[Attribute], verb: str, paper: bool) -> list[str]:
    return [_said(a.phrase, paper) for a in attributes if not a.question and a.verb == verb]


def _described(attributes: Sequence[Attribute], *, reduced: bool, paper: bool) -> str:
    """What stands behind the noun: `` walking``, `` that is small and has a handle``.

    No participle follows "that is": words that need it come before participles, or "has" comes first.
    """
    being, having = (_phrases(attributes, verb, paper) for verb in ("is", "has"))
    others = [f"that {_said(a.phrase, paper)}" for a in attributes if a.question]
    has = f"has {' and '.join(having)}" if having else ""
    if reduced:
        being.sort(key=follows_noun)
        if being and follows_noun(being[0]) and not has:
            return " ".join(["", " and ".join(being), " and ".join(others)]).rstrip()
    is_ = f"is {' and '.join(being)}" if being else ""
    clauses = [has, is_] if reduced and being and follows_noun(being[0]) else [is_, has]
    own = " and ".join(clause for clause in clauses if clause)
    said = " and ".join([*([f"that {own}"] if own else []), *others])
    return f" {said}" if said else ""


def _asked_of(label: Label, attributes: Sequence[Attribute], paper: bool) -> str:
    """The clauses of an attribute question: the first names the object, the others say "it"."""
    being, having = (" and ".join(_phrases(attributes, verb, paper)) for verb in ("is", "has"))
    clauses = [f"Is {{}} {being}"] if being else []
    clauses += [f"Does {{}} have {having}"] if having else []
    clauses += [_said(a.question, paper) for a in attributes if a.question]
    first, *rest = clauses
    again = {"{}": _again(label)}
    return " and ".join([_filled(first, {"{}": str(label)}), *(_filled(_lower(clause), again) for clause in rest)])


def _again(label: Label) -> str:
    """How a sentence speaks of a labelled object the second time."""
    return str(label) if label.type in _PERSONS else "it"


def _filled(template: str, ends: Mapping[str, str]) -> str:
    """The template with its objects named; other braces, of somebody's phrases, stay."""
    for slot, name in ends.items():
        template = template.replace(slot, name, 1)
    return template


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _readings(text: str, words: Vocabulary, region: str | None) -> Iterator[tuple[Question, str]]:
    """All questions a text may be, with what it says of the place; those that are not exactly it are no harm."""
    if text.startswith("Is there "):
        bare = text.removeprefix("Is there ")
        for what, where, name in _placings(bare, words, region):
            yield from ((question, where) for question in _searches(what, words, name))
    labels = [*_labels(text, words)]
    yield from ((question, "") for question in _relations(text, words, labels))
    for label in dict.fromkeys(label for label, _ in labels):
        names = _named(text.split(" and "), words.kind(label.type).attributes, label)
        yield from ((Question("attribute", attributes=chosen, subject=label), "") for chosen in names if chosen)


def _placings(text: str, words: Vocabulary, region: str | None) -> Iterator[tuple[str, str, str]]:
    """The text without the words for its place, these words, and the region's name; empty for an unknown one."""
    yield text, "", WHOLE
    by_place = {said: r.name for r in reversed(words.regions[1:]) for said in _place_words(r)}
    told = "|".join(re.escape(said) for said in sorted(by_place, key=len, reverse=True)) or "(?!)"
    designated = "" if region in (None, WHOLE) else str(region)
    for match in re.finditer(rf" in the (?P<place>{told})(?: \([A-Z]+\))?(?= |$)", text):
        yield text[: match.start()] + text[match.end() :], match[0], by_place[match["place"]]
    for match in re.finditer(r" in (?:region [A-Z]+|the [\w-]+(?: [\w-]+)? region)(?= |$)", text):
        yield text[: match.start()] + text[match.end() :], match[0], designated


def _place_words(region: Region) -> tuple[str, ...]:
    return tuple(filter(None, (place(region.box), region.name)))


def _searches(text: str, words: Vocabulary, region: str) -> Iterator[Question]:
    for kind in words.types:
        for unique, noun in ((False, with_article(kind.name)), (True, f"a unique {kind.name}")):
            if text == noun or text.startswith(f"{noun} "):
                pieces = [piece for piece in _JOINTS.split(text.removeprefix(noun).strip()) if piece]
                for names in _named(pieces, kind.attributes):
                    yield Question("unique" if unique else "exist", kind.name, names, region)


def _relations(text: str, words: Vocabulary, labels: Sequence[tuple[Label, int]]) -> Iterator[Question]:
    """Relations whose sentence this is once two labels in it are left blank."""
    shapes: dict[str, list[tuple[Label, Label]]] = {}
    for (one, start), (other, after) in combinations(labels, 2):
        end = start + len(str(one))
        if end > after:
            continue
        between, rest = text[end:after], text[after + len(str(other)) :]
        shapes.setdefault(f"{text[:start]}{{subject}}{between}{{object}}{rest}", []).append((one, other))
        shapes.setdefault(f"{text[:start]}{{object}}{between}{{subject}}{rest}", []).append((other, one))
    for link in words.links:
        template = relation_template(link)
        for subject, other in (pair for paper in (True, False) for pair in shapes.get(_said(template, paper), ())):
            if link.asked_of(subject.type, other.type):
                yield Question("relation", subject=subject, object=other, relation=link.name)


def _labels(text: str, words: Vocabulary) -> Iterator[tuple[Label, int]]:
    """Labels in a text and where they begin, in order."""
    matches = (
        (match.start(), Label(kind.name, int(match[1])))
        for kind in words.types
        for match in re.finditer(rf"(?<!\S){re.escape(kind.name)} ([1-9][0-9]*)(?!\S)", text)
    )
    yield from ((label, start) for start, label in sorted(matches))


def _named(
    pieces: Sequence[str], attributes: Sequence[Attribute], label: Label | None = None
) -> Iterator[tuple[str, ...]]:
    """Names of the attributes that the pieces of a clause may speak of, in the vocabulary's order."""
    said: dict[str, list[int]] = {}
    for i, attribute in enumerate(attributes):
        for form in set(_forms(attribute, label)):
            said.setdefault(form, []).append(i)
    for chosen in product(*(said.get(piece, ()) for piece in pieces)):
        if len(set(chosen)) == len(chosen):
            yield tuple(attributes[i].name for i in sorted(chosen))


def _forms(attribute: Attribute, label: Label | None) -> Iterator[str]:
    """What may stand between two "and" for an attribute."""
    for phrase in {attribute.phrase, _said(attribute.phrase, False)}:
        yield phrase
        yield f"{attribute.verb} {phrase}"
        if label is not None:
            opening = f"Is {label}" if attribute.verb == "is" else f"Does {label} have"
            yield f"{opening} {phrase}"
            yield f"does {_again(label)} have {phrase}"
    if attribute.question and label is not None:
        yield _filled(attribute.question, {"{}": str(label)})
        yield _filled(_lower(attribute.question), {"{}": _again(label)})


def _nearest(text: str, words: Vocabulary, readings: Sequence[tuple[Question, str]]) -> str:
    """A hint: the sentence that was nearly said, else the phrase or noun that is nearest to one in it."""
    if readings:
        question, where = readings[0]
        said = _sentence(question, words, where, region_first=words.style == "plain")
        return f", did you mean {said!r}?"
    unknown = next(iter([what for what, *_ in _placings(text.removesuffix("?"), words, None)][::-1]))
    for start in ("Is there a unique ", "Is there an ", "Is there a ", "Is ", "Does ", "Are "):
        if unknown.startswith(start):
            unknown = unknown.removeprefix(start)
            break
    for kind in sorted(words.types, key=lambda kind: -len(kind.name)):
        if unknown.startswith(f"{kind.name} "):
            clause = unknown.removeprefix(f"{kind.name} ").removeprefix("that ").removeprefix("is ")
            clause = re.sub(r"^[1-9][0-9]* ", "", clause)
            phrases = [_said(a.phrase, False) for a in kind.attributes]
            return did_you_mean(clause, [*phrases, *(_said(link.phrase, False) for link in words.links)])
    return did_you_mean(unknown.partition(" that ")[0], list(words.type_index))
