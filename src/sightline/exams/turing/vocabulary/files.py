"""Vocabularies as YAML files: those that come with Sightline, and one's own.

A file has ``name``, ``types`` and, where wanted, ``relations``, ``regions`` (see `regions.region_set`),
``most_attributes``, ``extent`` and ``style``; types, attributes, sources and relations have the fields of
`ObjectType`, `Attribute`, `AttributeSource` and `RelationType`. An attribute's phrase is its name where it has
none of its own. ``aliases`` may give names to the data's categories, or to lists of names, which stand for them in
``categories``, ``others`` and the values of category sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn, get_args, get_origin, get_type_hints

import yaml

from sightline.documents import parse_yaml
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.vocabulary.census import Census, check_against, check_types, fitted
from sightline.exams.turing.vocabulary.from_data import vocabulary_from_data
from sightline.exams.turing.vocabulary.regions import STANDARD, region_set
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    RelationType,
    Vocabulary,
    check_words,
)
from sightline.files import read_bytes
from sightline.hints import did_you_mean, hint
from sightline.store import Dataset

_FOLDER: Final = Path(__file__).parent / "ready"
_SUFFIXES: Final = (".yaml", ".yml")
_FILE: Final = ("name", "types", "relations", "regions", "most_attributes", "extent", "style", "aliases")


def vocabularies() -> tuple[str, ...]:
    """Names of the vocabularies that come with Sightline.

    >>> vocabularies()
    ('urban', 'vrd', 'vrd25', 'worlds')
    """
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.yaml")))


def load_vocabulary(name_or_path: str | Path) -> Vocabulary:
    """A vocabulary by its name, or from a file ending in .yaml.

    Raises:
        ConfigError: With file and field, for anything that is missing, misspelt, double or ambiguous.

    >>> load_vocabulary("urbane")
    Traceback (most recent call last):
    ...
    sightline.errors.ConfigError: unknown vocabulary 'urbane', did you mean 'urban'? (or a file ending in .yaml)
    """
    path = Path(name_or_path)
    if path.suffix in _SUFFIXES:
        try:
            data = read_bytes(path)
        except DataError as error:
            raise ConfigError(str(error)) from None
        return parse_vocabulary(data, file=str(name_or_path))
    name = str(name_or_path)
    if name not in vocabularies():
        raise ConfigError(f"unknown vocabulary {name!r}{hint(name, vocabularies())} (or a file ending in .yaml)")
    return _ready(name)


@cache
def _ready(name: str) -> Vocabulary:
    path = _FOLDER / f"{name}.yaml"
    return parse_vocabulary(path.read_text(encoding="utf-8"), file=path.name)


def named_vocabulary(
    given: Vocabulary | str | Path | None, dataset: Dataset, on_note: Callable[[str], None] | None = None
) -> Vocabulary:
    """A vocabulary by name or file, checked against the data; without one that which fits the data.

    Args:
        given: A vocabulary, its name, or a file; None or empty for `vocabulary_for`.
        dataset: DataError where its words contradict it.
        on_note: Called with each word of a given vocabulary that nothing in the data bears out.
    """
    if not given:
        fitting = vocabulary_for(dataset)
        if not fitting.types:
            check_types(load_vocabulary(fitting.name), dataset)
        return fitting
    vocabulary = given if isinstance(given, Vocabulary) else load_vocabulary(given)
    for note in check_against(vocabulary, dataset):
        if on_note is not None:
            on_note(note)
    return vocabulary


def vocabulary_for(dataset: Dataset) -> Vocabulary:
    """The ready vocabulary that fits where the data comes from, else one made from the data.

    Generated worlds of the shapes that come with Sightline have *worlds*, VRD *vrd* and 2.5VRD *vrd25*; words that
    nothing in this data bears out are left out.
    """
    census = Census.of(dataset)
    worlds = load_vocabulary("worlds")
    shapes = {category for kind in worlds.types for category in kind.categories}
    if "spatial" in census.aspects and census.categories.keys() <= shapes:
        return fitted(worlds, census)
    of_25vrd = census.sources and census.sources <= {"within_image", "across_images"}
    if census.sources != {"vrd"} and not of_25vrd:
        return vocabulary_from_data(dataset)
    return fitted(load_vocabulary("vrd25" if of_25vrd else "vrd"), census)


def parse_vocabulary(text: bytes | str, *, file: str = "vocabulary") -> Vocabulary:
    """A vocabulary from the text of a file; `file` is what errors call it."""
    try:
        content = parse_yaml(text, file)
    except DataError as error:
        raise ConfigError(str(error)) from None
    given = _mapping(content, file, _FILE, required=("name", "types"))
    aliases = _aliases(given.get("aliases", {}), f"{file}: aliases")
    types = _value(given["types"], tuple[ObjectType, ...], f"{file}: types")
    regions = _list(given.get("regions", list(STANDARD)), f"{file}: regions")
    choices = get_type_hints(Vocabulary)
    vocabulary = Vocabulary(
        name=_value(given["name"], str, f"{file}: name"),
        types=tuple(_resolved(kind, aliases) for kind in types),
        links=_value(given.get("relations", []), tuple[RelationType, ...], f"{file}: relations"),
        regions=region_set(regions, where=f"{file}: regions"),
        most_attributes=_value(given.get("most_attributes", 2), int, f"{file}: most_attributes"),
        extent=_value(given.get("extent", "size"), choices["extent"], f"{file}: extent"),
        style=_value(given.get("style", "plain"), choices["style"], f"{file}: style"),
    )
    check_words(vocabulary, file)
    return vocabulary


def _aliases(value: Any, where: str) -> dict[str, tuple[str, ...]]:
    """Name → categories; a list may use the names before it."""
    if not isinstance(value, Mapping):
        _refuse(where, "a mapping of names to categories", value)
    aliases: dict[str, tuple[str, ...]] = {}
    for key, given in value.items():
        name = _value(key, str, where)
        if isinstance(given, list):
            aliases[name] = _categories(_value(given, tuple[str, ...], f"{where}[{name}]"), aliases)
        else:
            aliases[name] = (_value(given, str, f"{where}[{name}]"),)
    return aliases


def _categories(names: Sequence[str], aliases: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What the names stand for, each category once."""
    return tuple(dict.fromkeys(category for name in names for category in aliases.get(name, (name,))))


def _resolved(kind: ObjectType, aliases: Mapping[str, tuple[str, ...]]) -> ObjectType:
    """The type with the data's categories in place of their aliases."""

    def resolved(attribute: Attribute) -> Attribute:
        source = replace(attribute.source, others=_categories(attribute.source.others, aliases))
        if source.kind == "category":
            source = replace(source, values=_categories(source.values, aliases))
        return replace(attribute, source=source)

    categories = _categories(kind.categories, aliases)
    return replace(kind, categories=categories, attributes=tuple(resolved(a) for a in kind.attributes))


def dump_vocabulary(vocabulary: Vocabulary) -> str:
    """The text of a file that gives this very vocabulary back; fields at their defaults are left out."""
    content = {
        "name": vocabulary.name,
        "extent": vocabulary.extent,
        "style": vocabulary.style,
        "most_attributes": vocabulary.most_attributes,
        "regions": _plain(vocabulary.regions),
        "types": _plain(vocabulary.types),
        "relations": _plain(vocabulary.links),
    }
    # Some line breaks of Unicode do not come back from YAML unless they are escaped.
    plain = json.dumps(content, ensure_ascii=False).isprintable()
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=plain, width=116)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _plain(v) for f in fields(value) if (v := getattr(value, f.name)) != f.default}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def _built(cls: Any, item: Any, where: str) -> Any:
    """The dataclass from a mapping of its fields."""
    needed = tuple(f.name for f in fields(cls) if f.default is MISSING and f.name != "phrase")
    given = _mapping(item, where, tuple(f.name for f in fields(cls)), required=needed)
    if cls is not AttributeSource and cls is not ObjectType:
        given = {"phrase": given.get("name"), **given}
    hints = get_type_hints(cls)
    return cls(**{key: _value(value, hints[key], f"{where}.{key}") for key, value in given.items()})


def _value(value: Any, wanted: Any, where: str) -> Any:
    """The value as the type a field wants, or a ConfigError."""
    if is_dataclass(wanted):
        return _built(wanted, value, where)
    if get_origin(wanted) is tuple and is_dataclass(get_args(wanted)[0]):
        items = enumerate(_list(value, where))
        return tuple(_built(get_args(wanted)[0], item, f"{where}[{_named(item, i)}]") for i, item in items)
    if wanted in (tuple[str, ...], frozenset[str]):
        texts = [_value(v, str, f"{where}[{i}]") for i, v in enumerate(_list(value, where))]
        if len(set(texts)) < len(texts):
            double = next(t for i, t in enumerate(texts) if t in texts[:i])
            raise ConfigError(f"{where}: {double!r} stands there twice")
        return frozenset(texts) if wanted == frozenset[str] else tuple(texts)
    if wanted is bool:
        return value if isinstance(value, bool) else _refuse(where, "true or false", value)
    if wanted is float:
        whole = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
        return float(value) if whole else _refuse(where, "a number from 0", value)
    if wanted in (int, int | None):
        if value is None and wanted is not int:
            return None
        lowest = 1 if wanted is int else 0
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= lowest
        return value if whole else _refuse(where, f"a whole number from {lowest}", value)
    if not isinstance(value, str):
        _refuse(where, "a text (put it in quotes where YAML reads something else)", value)
    choices = get_args(wanted)
    if choices and value not in choices:
        known = ", ".join(filter(None, choices))
        raise ConfigError(f"{where}: {value!r} is none of {known}{did_you_mean(value, choices)}")
    return value


def _mapping(value: Any, where: str, known: Sequence[str], required: Sequence[str] = ()) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        _refuse(where, f"a mapping with {', '.join(required or known)}", value)
    for key in value:
        if key not in known:
            raise ConfigError(f"{where}: unknown field {str(key)!r}{hint(str(key), known)}")
    for key in required:
        if key not in value:
            raise ConfigError(f"{where}: {key!r} is missing")
    return dict(value)


def _list(value: Any, where: str) -> list[Any]:
    return value if isinstance(value, list) else _refuse(where, "a list", value)


def _named(item: Any, i: int) -> str:
    """The place of an item in its list: by name where it has one."""
    name = item.get("name") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else str(i)


def _refuse(where: str, expected: str, found: Any) -> NoReturn:
    raise ConfigError(f"{where}: expected {expected}, found {found!r}")
