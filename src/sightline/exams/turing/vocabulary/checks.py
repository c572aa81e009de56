"""Whether the words of a vocabulary can be told apart: in structured questions, and in English."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Final

from sightline.errors import ConfigError
from sightline.exams.turing.vocabulary.vocabulary import Attribute, ObjectType, RelationType, Vocabulary
from sightline.hints import hint

REGION: Final = "region"
"""In a relation's `given`: where the two objects were found."""

_GLUE: Final = re.compile(r"(?:^|\s)(and|that)(?=\s|$)")
_NUMBER: Final = re.compile(r"(^|\s)\d+(\s|$)")
_SPACES: Final = re.compile(r"^\s|\s$|\s\s|[\n\t?]")


def check_words(vocabulary: Vocabulary, file: str = "vocabulary") -> None:
    """Refuse double names, groups that are not there, and phrases of which English could not be read back.

    Raises:
        ConfigError: Naming file and field.
    """
    if not vocabulary.types:
        raise ConfigError(f"{file}: types: there is none")
    _no_double((kind.name for kind in vocabulary.types), f"{file}: types")
    _no_double((link.name for link in vocabulary.links), f"{file}: relations")
    _no_double((c for kind in vocabulary.types for c in kind.categories), f"{file}: types.categories")
    for kind in vocabulary.types:
        _check_type(kind, f"{file}: types[{kind.name}]")
    for link in vocabulary.links:
        _check_link(link, vocabulary, f"{file}: relations[{link.name}]")
    _check_readings(vocabulary, f"{file}: relations")


def _check_type(kind: ObjectType, where: str) -> None:
    _check_phrase(kind.name, f"{where}.name")
    if kind.name.startswith("unique "):
        raise ConfigError(f"{where}.name: a type cannot be called 'unique …', which is how uniqueness is asked")
    if not kind.categories:
        raise ConfigError(f"{where}.categories: no category belongs to it")
    _no_double((a.name for a in kind.attributes), f"{where}.attributes")
    _no_double((f"{a.verb} {a.phrase}" for a in kind.attributes), f"{where}.attributes.phrase")
    for attribute in kind.attributes:
        _check_attribute(attribute, kind, f"{where}.attributes[{attribute.name}]")
    groups = Counter(a.group for a in kind.attributes)
    for group in sorted(kind.exclusive):
        if group not in groups:
            raise ConfigError(f"{where}.exclusive: no attribute is of group {group!r}{hint(group, groups)}")
        if groups[group] == 1:
            raise ConfigError(f"{where}.exclusive: group {group!r} has one attribute, so nothing excludes another")


def _check_attribute(attribute: Attribute, kind: ObjectType, where: str) -> None:
    _check_phrase(attribute.phrase, f"{where}.phrase")
    if attribute.phrase.startswith(("has ", "does it have ")) or attribute.phrase.endswith(" region"):
        raise ConfigError(f"{where}.phrase: {attribute.phrase!r} would be read as another part of the question")
    if not attribute.group or attribute.group == REGION:
        raise ConfigError(f"{where}.group: a group needs a name other than {REGION!r}")
    source = attribute.source
    needs = {"attribute": ("key", "values"), "category": ("values",), "flag": ("key",), "relation": ("values",)}
    for name in needs.get(source.kind, ()):
        if not getattr(source, name):
            raise ConfigError(f"{where}.source.{name}: a source of kind {source.kind!r} needs it")
    if source.kind == "category":
        for value in source.values:
            if value not in kind.categories:
                raise ConfigError(
                    f"{where}.source.values: {value!r} is no category of the type{hint(value, kind.categories)}"
                )


def _check_link(link: RelationType, vocabulary: Vocabulary, where: str) -> None:
    _check_phrase(link.phrase, f"{where}.phrase")
    if link.verb == "there" and link.ordered:
        raise ConfigError(f"{where}.verb: 'there' is for relations that are not ordered")
    if link.aspect == "box" and (len(link.values) != 1 or link.values[0] not in ("larger", "taller")):
        raise ConfigError(f"{where}.values: measured boxes tell larger or taller, not {list(link.values)}")
    if not link.values and not link.reverse:
        raise ConfigError(f"{where}.values: no predicate says it")
    for field in ("subjects", "objects"):
        for name in getattr(link, field):
            if name not in vocabulary.type_index:
                raise ConfigError(f"{where}.{field}: unknown type {name!r}{hint(name, vocabulary.type_index)}")
    groups = given_groups(link, vocabulary.types)
    for group in link.given:
        if group not in groups:
            raise ConfigError(f"{where}.given: no attribute is of group {group!r}{hint(group, sorted(groups))}")


def given_groups(link: RelationType, types: Iterable[ObjectType]) -> set[str]:
    """Groups that a relation may depend on: those of the types it is asked of, and where the objects were found."""
    named = {*link.subjects, *link.objects}
    anything = not link.subjects or not link.objects
    return {REGION} | {a.group for kind in types if anything or kind.name in named for a in kind.attributes}


def _check_phrase(phrase: str, where: str) -> None:
    if not phrase or _SPACES.search(phrase):
        raise ConfigError(f"{where}: {phrase!r} is not words with single spaces between, without a question mark")
    glue = _GLUE.search(phrase)
    if glue is not None:
        raise ConfigError(f"{where}: {phrase!r} says {glue[1]!r}, which joins attributes: write it with a hyphen")
    if _NUMBER.search(phrase):
        raise ConfigError(f"{where}: {phrase!r} says a number by itself, as labels do: write it as a word")


def _check_readings(vocabulary: Vocabulary, where: str) -> None:
    """No two relations that the same sentence could ask for."""
    endings: dict[tuple[str, bool, str], list[tuple[RelationType, str]]] = {}
    for link in vocabulary.links:
        for kind in vocabulary.type_index:
            end = f"{link.phrase} {kind}" if link.ordered else f"{kind} {link.phrase}"
            endings.setdefault((link.verb, link.ordered, end), []).append((link, kind))
    for (_, _, end), readings in endings.items():
        for (one, a), (other, b) in combinations(readings, 2):
            if any(one.asked_of(s, a) and other.asked_of(s, b) for s in vocabulary.type_index):
                raise ConfigError(
                    f"{where}: {one.name!r} and {other.name!r} cannot be told apart in English: {end!r}"
                )


def _no_double(names: Iterable[str], where: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ConfigError(f"{where}: {name!r} stands there {'twice' if times == 2 else f'{times} times'}")
