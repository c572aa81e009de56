"""A census of a dataset, which words it uses and how often; and whether a vocabulary fits it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from sightline.errors import DataError
from sightline.exams.turing.vocabulary.vocabulary import AttributeSource, RelationType, Vocabulary, given_groups
from sightline.store import Dataset

ENOUGH: Final = 30
"""Objects of a category, value or flag, and relations of a predicate, that make a word of it: what an estimate
needs by default. In a set of fewer than 600 images one in twenty images is enough."""


@dataclass(frozen=True)
class Census:
    """Words a dataset uses, and how often.

    Attributes:
        images: How many there are.
        sources: The sets they come from.
        categories: Category → objects.
        values: (category, attribute key) → value → objects.
        flags: (category, flag) → objects.
        shares: Whether it tells how much of an object is hidden.
        aspects: Aspect → predicate → relations.
        pairs: (aspect, predicate) → categories of its subjects and objects.
        sized: Whether all images tell their size, or boxes are fractions of it.
    """

    images: int
    sources: frozenset[str]
    categories: Mapping[str, int]
    values: Mapping[tuple[str, str], Mapping[str, int]]
    flags: Mapping[tuple[str, str], int]
    shares: bool
    aspects: Mapping[str, Mapping[str, int]]
    pairs: Mapping[tuple[str, str], tuple[frozenset[str], frozenset[str]]]
    sized: bool

    @classmethod
    def of(cls, dataset: Dataset) -> Census:
        """All words of a dataset, counted."""
        views = dataset.scan("views").select("scene_id", "source", "width", "units").collect()
        things = dataset.scan("objects").select("scene_id", "object_id", "category", "attributes").collect()
        values: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for category, facts in things.select("category", "attributes").iter_rows():
            for key, value in (json.loads(facts) if facts else {}).items():
                values[category, key][str(value)] += 1
        counts = things.group_by("category").len().sort("len", "category", descending=[True, False])
        place = things.select("scene_id", "object_id", "category")
        sightings = (
            dataset.scan("sightings").select("scene_id", "object_id", "occluded_fraction", "flags").collect()
        )
        flags = sightings.explode("flags").drop_nulls("flags").unique(["scene_id", "object_id", "flags"])
        counted = flags.join(place, on=["scene_id", "object_id"]).group_by("category", "flags").len()
        aspects, pairs = _relations(dataset, place)
        return cls(
            images=views["scene_id"].n_unique(),
            sources=frozenset(views["source"].unique()),
            categories=dict(counts.iter_rows()),
            values=values,
            flags={(category, flag): n for category, flag, n in counted.iter_rows()},
            shares=sightings["occluded_fraction"].is_not_null().any(),
            aspects=aspects,
            pairs=pairs,
            sized=bool((views["width"].is_not_null() | (views["units"] == "normalised")).all()),
        )

    @property
    def enough(self) -> int:
        """How often a word must be used to be taken up."""
        return max(1, min(ENOUGH, self.images // 20))


def _relations(
    dataset: Dataset, place: pl.DataFrame
) -> tuple[dict[str, dict[str, int]], dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]]]:
    """Predicates by aspect, and between which categories, within one image each."""
    rows = dataset.scan("relations").filter(pl.col("object_scene").is_null()).drop_nulls("predicate")
    relations = rows.select("scene_id", "subject", "object", "aspect", "predicate").collect()
    for end in ("subject", "object"):
        named = place.rename({"object_id": end, "category": f"{end}_category"})
        relations = relations.join(named, on=["scene_id", end], how="left")
    aspects: dict[str, dict[str, int]] = defaultdict(dict)
    pairs = {}
    groups = relations.group_by("aspect", "predicate").agg(
        pl.len(), pl.col("subject_category").unique(), pl.col("object_category").unique()
    )
    for aspect, predicate, n, subjects, objects in groups.sort("aspect", "predicate").iter_rows():
        aspects[aspect][predicate] = n
        pairs[aspect, predicate] = frozenset(subjects), frozenset(objects)
    return dict(aspects), pairs


def check_against(vocabulary: Vocabulary, dataset: Dataset, *, strict: bool = False) -> list[str]:
    """Whether the vocabulary speaks of what the data tells.

    Args:
        vocabulary: The words.
        dataset: The data.
        strict: Refuse also a word of which the data has nothing; else there is a note for each.

    Returns:
        Words that nothing in the data bears out, with their field.

    Raises:
        DataError: Where no object belongs to any type, or one has two attributes of an exclusive group (scene,
            object and field are named); attributes that come from relations or flags are not compared.
    """
    check_types(vocabulary, dataset)
    census = Census.of(dataset)
    notes = list(_absent(vocabulary, census))
    if strict and notes:
        field, problem = notes[0]
        raise DataError(problem, file=dataset.path, field=f"{vocabulary.name}: {field}")
    _check_exclusive(vocabulary, dataset)
    return [f"{field}: {problem}" for field, problem in notes]


def check_types(vocabulary: Vocabulary, dataset: Dataset) -> None:
    """Refuse a vocabulary without a type for any object of the data: every search would find nothing."""
    typed = [category for kind in vocabulary.types for category in kind.categories]
    counts = dataset.scan("objects").group_by("category").len().sort("len", "category", descending=[True, False])
    categories = counts.collect()["category"].to_list()
    if set(typed).isdisjoint(categories):
        problem = f"no object belongs to a type of the vocabulary {vocabulary.name!r}"
        expected, found = f"{', '.join(typed[:5])} …", ", ".join(categories[:5])
        raise DataError(problem, file=dataset.path, field="category", expected=expected, found=found)


def fitted(vocabulary: Vocabulary, census: Census) -> Vocabulary:
    """The vocabulary without the words that nothing in the data bears out: nobody could ask for them."""
    types = []
    for kind in vocabulary.types:
        categories = [c for c in kind.categories if c in census.categories]
        attributes = tuple(a for a in kind.attributes if not _missing(a.source, categories, census))
        sizes = Counter(a.group for a in attributes)
        if categories:
            exclusive = frozenset(group for group in kind.exclusive if sizes[group] > 1)
            types.append(replace(kind, attributes=attributes, exclusive=exclusive))
    names = {kind.name for kind in types}
    links = []
    for link in vocabulary.links:
        subjects, objects = (
            tuple(name for name in ends if name in names) for ends in (link.subjects, link.objects)
        )
        joined = (subjects or not link.subjects) and (objects or not link.objects)
        if joined and _said(link, census):
            ends = replace(link, subjects=subjects, objects=objects)
            known = given_groups(ends, types)
            links.append(replace(ends, given=tuple(group for group in link.given if group in known)))
    left = {link.name for link in links}
    links = [replace(link, opposite=link.opposite if link.opposite in left else "") for link in links]
    return replace(vocabulary, types=tuple(types), links=tuple(links))


def _said(link: RelationType, census: Census) -> bool:
    return link.aspect == "box" or _spoken(link.aspect, (*link.values, *link.reverse), census)


def _absent(vocabulary: Vocabulary, census: Census) -> Iterator[tuple[str, str]]:
    """Fields of the vocabulary that the data has nothing for, with what is missing."""
    for kind in vocabulary.types:
        where, categories = f"types[{kind.name}]", [c for c in kind.categories if c in census.categories]
        if not categories:
            yield f"{where}.categories", "the data has no object of them"
            continue
        for attribute in kind.attributes:
            missing = _missing(attribute.source, categories, census)
            if missing:
                yield f"{where}.attributes[{attribute.name}].source", missing
    for link in vocabulary.links:
        if not _said(link, census):
            yield f"relations[{link.name}]", f"the data never says {', '.join((*link.values, *link.reverse))}"


def _missing(source: AttributeSource, categories: Iterable[str], census: Census) -> str:
    """What of a source never occurs with these categories; empty where something does."""
    if source.kind == "attribute":
        values = {v for category in categories for v in census.values.get((category, source.key), ())}
        if not values:
            return f"no object has the attribute {source.key!r}"
        return "" if values & set(source.values) else f"{source.key!r} is never {' or '.join(source.values)}"
    if source.kind == "category":
        known = not set(source.values).isdisjoint(categories)
        return "" if known else f"no object is of category {' or '.join(source.values)}"
    if source.kind == "flag":
        known = any((c, source.key) in census.flags for c in categories)
        return "" if known else f"no object has the flag {source.key!r}"
    if source.kind == "occluded":
        return "" if census.shares else "the data does not tell how much of an object is hidden"
    words = (*source.values, *source.reverse)
    return "" if _spoken(source.key, words, census) else f"the data never says {', '.join(words)}"


def _spoken(aspect: str, words: Iterable[str], census: Census) -> bool:
    aspects = census.aspects.values() if not aspect else [census.aspects.get(aspect, {})]
    return any(word in predicates for predicates in aspects for word in words)


def _check_exclusive(vocabulary: Vocabulary, dataset: Dataset) -> None:
    """Refuse an object with two attributes of an exclusive group."""
    kinds = {category: kind for kind in vocabulary.types if kind.exclusive for category in kind.categories}
    things = dataset.scan("objects").filter(pl.col("category").is_in(list(kinds)))
    for scene, thing, category, attributes in (
        things.select("scene_id", "object_id", "category", "attributes").collect().iter_rows()
    ):
        facts, kind = json.loads(attributes) if attributes else {}, kinds[category]
        for group in kind.exclusive:
            has = [a.name for a in kind.attributes if a.group == group and _has(a.source, category, facts)]
            if len(has) > 1:
                problem = f"object {thing!r} has two attributes of the exclusive group {group!r}"
                field, both = f"types[{kind.name}].exclusive", " and ".join(has)
                raise DataError(
                    problem, file=dataset.path, row=scene, field=field, expected="one at most", found=both
                )


def _has(source: AttributeSource, category: str, facts: Mapping[str, str]) -> bool:
    if source.kind == "attribute":
        return facts.get(source.key) in source.values
    return source.kind == "category" and category in source.values
