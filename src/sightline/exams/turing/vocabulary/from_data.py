"""A vocabulary made from a dataset: words for what it tells often enough."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

from sightline.documents import parse_yaml
from sightline.errors import DataError
from sightline.exams.turing.vocabulary.census import Census
from sightline.exams.turing.vocabulary.regions import region_set
from sightline.exams.turing.vocabulary.vocabulary import (
    REGION,
    Attribute,
    AttributeSource,
    ObjectType,
    RelationType,
    Vocabulary,
    check_words,
)
from sightline.scenes.labels import ASPECTS
from sightline.store import Dataset
from sightline.text import counted

FROM_DATA: Final = "data"
"""Name of a vocabulary made here."""

MOST_VALUES: Final = 12
"""An attribute key with more values than this is free text."""

MOST_ATTRIBUTES: Final = 64
"""Attributes of a type; more are left out."""

_VISIBILITY: Final = "visibility"
_NOT_ASKED: Final = ("hidden", "group", "crowd", "iscrowd")
"""Flags that say how an entry is counted, not what the object is like."""

_FLAGS: Final = {
    "occluded": "partly hidden",
    "truncated": "cut off at the edge of the picture",
    "depiction": "a depiction rather than the real thing",
    "inside": "seen from its inside",
}
_YES, _NO = frozenset({"yes", "true", "True", "1"}), frozenset({"no", "false", "False", "0"})
_FIXED: Final = (
    RelationType(
        "closer",
        "closer (to the camera) than",
        camera=True,
        group="depth",
        given=("region",),
        aspect="depth",
        values=("closer",),
        reverse=("farther",),
    ),
    RelationType(
        "occludes",
        "partly hiding",
        camera=True,
        group="occlusion",
        aspect="occlusion",
        values=("occludes", "mutual"),
        reverse=("occluded", "mutual"),
    ),
)
_SIDES: Final = {"left": "to the left of", "right": "to the right of", "front": "in front of"}
_PLACES: Final = re.compile(
    r"(?<!\S)(on|in|at|by|to|of|above|below|under|beneath|over|near|behind|beside|against|across|inside|outside"
    r"|with|than|left|right)(?!\S)"
)
"""Words that make a predicate a place or comparison rather than a verb."""


_FILED: Final = re.compile(
    r"(?<![a-z])(id|ids|uid|uuid|guid|index|number|hash|md5|sha\d*|url|uri|link|file|filename|file-name|path|folder|source"
    r"|license|licence|date|time|timestamp|created|updated|annotator|author|user|version|split)(?![a-z])"
)
"""Keys that say how an entry is kept rather than what its object is like."""

_PATH: Final = re.compile(
    r"[/\\]|\.(?:jpe?g|png|gif|webp|bmp|tiff?|json|xml|csv|txt|mp4|obj|glb|ply)$", re.IGNORECASE
)


def vocabulary_from_data(dataset: Dataset) -> Vocabulary:
    """Words for what the dataset tells often enough (`census.ENOUGH`).

    Each category is a type. Attributes are the values of `Object.attributes` keys that have two to `MOST_VALUES` of
    them and are no numbers, a group by key, exclusive; keys that say yes or no become one attribute; flags, and
    whether an object is partly hidden. Keys that name ids, files, dates or people, and those that repeat the type,
    are left out. Relations are the predicates, a group by aspect.

    Raises:
        DataError: Where no category is frequent enough.
    """
    census = Census.of(dataset)
    frequent = [category for category, n in census.categories.items() if n >= census.enough]
    names = _distinct(frequent, taken=("unique",))
    if not census.categories:
        expected = "objects with categories, as COCO, YOLO, VOC, VRD, ADE20K and generated scenes have"
        raise DataError("no objects, so there is nothing to ask about", file=dataset.path, expected=expected)
    if not names:
        problem, some = "no category has enough objects for a vocabulary", dict([*census.categories.items()][:3])
        expected = f"{counted(census.enough, 'object')} of one"
        raise DataError(problem, file=dataset.path, field="category", expected=expected, found=some)
    vocabulary = Vocabulary(
        name=FROM_DATA,
        types=tuple(_type(name, category, census) for category, name in names.items()),
        links=tuple(_links(census, names)),
        regions=region_set(),
        extent="size" if census.sized else "boxes",
    )
    check_words(vocabulary)
    return vocabulary


def _type(name: str, category: str, census: Census) -> ObjectType:
    """The type of a category: its words in the order found, those that a sentence could not hold left out."""
    attributes: dict[str, Attribute] = {}
    for label, group, phrase, source in [*_valued(category, census), *_seen(category, census)]:
        title, taken = _words(label), {a.phrase for a in attributes.values()}
        said = next((w for w in (_words(phrase), title) if w and w not in taken), "")
        odd = said.startswith(("has ", "does it have ")) or said.endswith(" region")
        if said and not odd and title not in attributes and len(attributes) < MOST_ATTRIBUTES:
            attributes[title] = Attribute(title, group, said, source)
    sizes = Counter(a.group for a in attributes.values() if len(a.source.values) == 1 and a.name != a.group)
    return ObjectType(
        name, (category,), tuple(attributes.values()), frozenset(g for g, n in sizes.items() if n > 1)
    )


def _valued(category: str, census: Census) -> Iterator[tuple[str, str, str, AttributeSource]]:
    """Name, group, phrase and source of what the values of attribute keys say."""
    for (of, key), values in sorted(census.values.items()):
        group = _words(key)
        if of != category or group in ("", REGION) or _FILED.search(group.lower()):
            continue
        if any(_same_word(value, category) for value in values) or _filed(values):
            continue  # it says again what the type says, or names files
        frequent = [value for value, n in sorted(values.items()) if n >= census.enough and value.strip()]
        if set(values) <= _YES | _NO:
            agreeing = tuple(value for value in frequent if value in _YES)
            if agreeing:
                yield group, group, group, AttributeSource("attribute", key, agreeing)
        elif len(frequent) > 1 and len(values) <= MOST_VALUES and not any(_is_number(value) for value in values):
            for value in frequent:
                yield f"{group} {value}", group, value, AttributeSource("attribute", key, (value,))


def _same_word(value: str, category: str) -> bool:
    """Whether a value is the category's name, in one number or the other.

    >>> _same_word("Cars", "car"), _same_word("red", "car")
    (True, False)
    """
    return _words(value).lower().rstrip("s") == _words(category).lower().rstrip("s")


def _filed(values: Iterable[str]) -> bool:
    """Whether one of the values is a path, an address or the name of a file."""
    return any(_PATH.search(value) for value in values)


def _seen(category: str, census: Census) -> Iterator[tuple[str, str, str, AttributeSource]]:
    """The same for flags, and for how much is hidden where no flag says so."""
    for (of, flag), n in sorted(census.flags.items()):
        if of == category and n >= census.enough and not flag.endswith("_unknown") and flag not in _NOT_ASKED:
            group = _VISIBILITY if flag in ("occluded", "truncated") else _words(flag)
            yield flag, group, _FLAGS.get(flag, flag), AttributeSource("flag", flag, absent="no")
    if census.shares and (category, "occluded") not in census.flags:
        yield "partly hidden", _VISIBILITY, "partly hidden", AttributeSource("occluded", above=0.05)


def _links(census: Census, names: Mapping[str, str]) -> Iterator[RelationType]:
    yield from (link for link in _FIXED if set(link.values) & census.aspects.get(link.aspect, {}).keys())
    predicates = [
        (aspect, predicate)
        for aspect, counts in census.aspects.items()
        if aspect not in ASPECTS
        for predicate, n in counts.items()
        if n >= census.enough
    ]
    taken = {link.name for link in _FIXED} | {link.phrase for link in _FIXED}
    for aspect, predicate in predicates:
        subjects, objects = (
            tuple(name for category, name in names.items() if category in seen)
            for seen in census.pairs[aspect, predicate]
        )
        phrase, verb = _verbal(predicate)
        name = _words(predicate) if _words(predicate) not in taken else _words(f"{aspect} {predicate}")
        if subjects and objects and phrase and name not in taken and phrase not in taken:
            taken |= {name, phrase}
            yield RelationType(
                name,
                phrase,
                subjects,
                objects,
                group=_words(aspect) or "relation",
                verb=verb,
                aspect=aspect,
                values=(predicate,),
            )


def _verbal(predicate: str) -> tuple[str, Literal["is", "does"]]:
    """How a predicate reads in a question: "is … on", "does … hold".

    >>> _verbal("sitting_on"), _verbal("contains"), _verbal("can_contain")
    (('sitting on', 'is'), ('contain', 'does'), ('able to contain', 'is'))
    """
    words = _words(_SIDES.get(predicate, predicate)).split()
    if words[:1] == ["can"]:
        words[:1] = ["able", "to"]
    if not words or words[0].endswith("ing") or _PLACES.search(" ".join(words)):
        return " ".join(words), "is"
    first = {"has": "have", "does": "do", "is": "be"}.get(words[0], words[0])
    if first.endswith("s") and not first.endswith("ss"):
        first = first[:-1]
    return " ".join([first, *words[1:]]), "does"


def _distinct(categories: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Category → a noun of its own."""
    names: dict[str, str] = {}
    for category in categories:
        noun = _words(category_name(category))
        noun = f"thing {noun}".strip() if not noun or noun in taken or noun.startswith("unique ") else noun
        while noun in names.values():
            noun = f"{noun} again"
        names[category] = noun
    return names


def category_name(category: str) -> str:
    """The category in words; of an id of Open Images the name of its class, where *vrd25* has one.

    >>> category_name("/m/01g317"), category_name("/m/000000"), category_name("traffic_light")
    ('person', '/m/000000', 'traffic light')
    """
    return _open_images_names().get(category, category.replace("_", " "))


@cache
def _open_images_names() -> Mapping[str, str]:
    """Open Images' ids and their names, as the vocabulary *vrd25* lists them."""
    listed = parse_yaml((Path(__file__).parent / "ready" / "vrd25.yaml").read_bytes(), "vrd25.yaml")["aliases"]
    return {category: name for name, category in listed.items() if isinstance(category, str)}


def _words(text: str) -> str:
    """Text as words that can stand in a sentence: no signs, no bare numbers, nothing that joins attributes.

    >>> _words("traffic_light"), _words("/m/01g317"), _words("salt and pepper"), _words("class 7")
    ('traffic light', 'm 01g317', 'salt-and-pepper', 'class-7')
    """
    words: list[str] = []
    for word in re.sub(r"[^\w'’-]+|_", " ", text).split():
        glue = word in ("and", "that") or word.isdigit()
        if words and (glue or words[-1].endswith(("-and", "-that"))):
            words[-1] += f"-{word}"
        else:
            words.append(f"no-{word}" if glue else word)
    return " ".join(words)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
