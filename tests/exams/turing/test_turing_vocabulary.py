"""Vocabularies: files there and back, what they refuse, what data makes of them, and whether they fit."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import ConfigError, DataError
from sightline.exams.turing.vocabulary.files import (
    check_against,
    dump_vocabulary,
    load_vocabulary,
    parse_vocabulary,
    vocabularies,
    vocabulary_for,
    vocabulary_from_data,
)
from sightline.exams.turing.vocabulary.regions import region_set
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    RelationType,
    Vocabulary,
    check_words,
)
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.store import Dataset, open_dataset
from sightline.store.convert import tables_from_scenes

RED: dict[str, Any] = {
    "name": "red",
    "group": "color",
    "source": {"kind": "attribute", "key": "c", "values": ["r"]},
}
BLUE = {**RED, "name": "blue", "source": {"kind": "attribute", "key": "c", "values": ["b"]}}
CAR = {"name": "car", "categories": ["car"], "attributes": [RED, BLUE], "exclusive": ["color"]}
DOG = {"name": "dog", "categories": ["dog"]}
NEAR: dict[str, Any] = {"name": "near", "phrase": "near", "values": ["near"]}


def written(*types: dict[str, Any], relations: Iterable[dict[str, Any]] = (), **more: Any) -> str:
    content = {"name": "mine", "types": list(types or (CAR, DOG)), "relations": list(relations), **more}
    return yaml.safe_dump(content, sort_keys=False)


@pytest.mark.parametrize("name", vocabularies())
def test_ready_ones_there_and_back(name: str) -> None:
    vocabulary = load_vocabulary(name)
    assert vocabulary.name == name
    assert parse_vocabulary(dump_vocabulary(vocabulary)) == vocabulary
    assert max(len(kind.attributes) for kind in vocabulary.types) <= 64


words = st.text("abcdefghij-", min_size=1, max_size=6).filter(lambda w: w not in ("and", "that"))
texts = st.lists(st.text(min_size=1, max_size=5), max_size=3, unique=True).map(tuple)
sources = st.builds(
    AttributeSource,
    kind=st.sampled_from(["attribute", "flag"]),
    key=st.text(min_size=1, max_size=5),
    values=st.lists(st.text(max_size=5), min_size=1, max_size=3, unique=True).map(tuple),
    role=st.sampled_from(["subject", "object"]),
    reverse=texts,
    others=texts,
    exactly=st.none() | st.integers(0, 5),
    above=st.floats(0, 1),
    absent=st.sampled_from(["unknown", "no"]),
)


@st.composite
def any_vocabulary(draw: st.DrawFn) -> Vocabulary:
    names = draw(st.lists(words, min_size=1, max_size=3, unique=True))
    types = []
    for i, name in enumerate(names):
        own = draw(st.lists(words, max_size=4, unique=True))
        attributes = tuple(
            Attribute(
                a,
                draw(st.sampled_from(["g", "h"])),
                f"very {a}",
                draw(sources),
                draw(st.sampled_from(["is", "has"])),
            )
            for a in own
        )
        groups = [a.group for a in attributes]
        exclusive = frozenset(g for g in groups if groups.count(g) > 1) if draw(st.booleans()) else frozenset()
        types.append(ObjectType(name, (f"category {i}", f"yes{i}"), attributes, exclusive))
    links = [
        RelationType(
            w,
            f"{w} of",
            draw(st.sampled_from([(), (names[0],)])),
            (),
            draw(st.booleans()),
            draw(st.booleans()),
            draw(words),
            ("region",),
            draw(st.sampled_from(["is", "does"])),
            draw(words),
            ("x",),
            draw(texts),
            draw(st.floats(0, 2)),
            draw(st.sampled_from(["unknown", "no"])),
        )
        for w in draw(st.lists(words, max_size=3, unique=True))
    ]
    regions = region_set(draw(st.lists(st.sampled_from(["halves", "top third", "quarters"]), max_size=2)))
    return Vocabulary(
        "any",
        tuple(types),
        tuple(links),
        regions,
        draw(st.integers(1, 4)),
        draw(st.sampled_from(["size", "boxes"])),
    )


@settings(max_examples=40, deadline=None)
@given(any_vocabulary())
def test_any_one_there_and_back(vocabulary: Vocabulary) -> None:
    assert parse_vocabulary(dump_vocabulary(vocabulary)) == vocabulary


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(written(relations=[NEAR], regions=["halves"], aliases={"wagon": ["car", "truck"]}), "utf-8")
    vocabulary = load_vocabulary(path)
    assert vocabulary.attribute("car", "red").phrase == "red"  # a phrase left out is the name
    assert [r.name for r in vocabulary.regions][:2] == ["image", "left half"]
    assert (vocabulary.extent, vocabulary.most_attributes, vocabulary.link("near").ordered) == ("size", 2, True)


def test_aliases_stand_for_categories() -> None:
    kind = {
        "name": "wagon",
        "categories": ["wagons"],
        "attributes": [
            {
                "name": "car",
                "group": "k",
                "phrase": "a car",
                "source": {"kind": "category", "values": ["car"], "others": ["wagons"]},
            }
        ],
    }
    aliases = {"car": "/m/1", "wagons": ["car", "van"]}
    found = parse_vocabulary(written(kind, aliases=aliases)).types[0]
    assert found.categories == ("/m/1", "van")
    assert (found.attributes[0].source.values, found.attributes[0].source.others) == (("/m/1",), ("/m/1", "van"))


def of(**fields: Any) -> dict[str, Any]:
    """The type *car* with some fields changed."""
    return {**CAR, **fields}


def with_attribute(**fields: Any) -> dict[str, Any]:
    return of(attributes=[{**RED, **fields}, BLUE], exclusive=[])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "f: expected a mapping with name, types"),  # a list
        ("name: [", "f, row 1: not YAML"),  # not YAML
        ("name: x", "f: 'types' is missing"),  # nothing to speak of
        (written(typs=[]), "f: unknown field 'typs', did you mean 'types'"),  # misspelt
        ("name: x\ntypes: []", "types: there is none"),  # empty
        (written(CAR, CAR), "types: 'car' stands there twice"),  # double type
        (written(CAR, {**DOG, "categories": ["car"]}), "types.categories: 'car' stands there twice"),  # shared
        (
            written(of(attributes=[RED, RED])),
            r"types\[car\].attributes: 'red' stands there twice",
        ),  # double attribute
        (written(with_attribute(phrase="blue")), r"attributes.phrase: 'is blue' stands there twice"),  # same phrase
        (
            written(of(exclusive=["colour"])),
            r"types\[car\].exclusive: .*'colour', did you mean 'color'",
        ),  # unknown group
        (written(of(attributes=[RED])), "group 'color' has one attribute"),  # excludes nothing
        (written(of(categories=[])), r"types\[car\].categories: no category"),  # nobody
        (written(of(categories=["a", "a"])), r"types\[car\].categories: 'a' stands there twice"),  # double category
        (written(of(categories="car")), r"types\[car\].categories: expected a list, found 'car'"),  # a text
        (written(of(name="unique car")), "a type cannot be called"),  # reads as uniqueness
        (written(of(name="car 2")), "says a number by itself"),  # reads as a label
        (
            written(with_attribute(phrase="black and white")),
            r"attributes\[red\].phrase: .* says 'and'",
        ),  # reads as two
        (written(with_attribute(phrase="in the blue region")), "read as another part"),  # reads as a region
        (written(with_attribute(question="Would it fit")), r"attributes\[red\].question: .* {} once"),  # no object
        (written(with_attribute(question="would {} fit")), "begins with a capital"),  # not a question
        (written(relations=[{**NEAR, "question": "Is {subject} by {subject}"}]), "has {subject} once and {object}"),
        (
            written(
                relations=[NEAR, {**NEAR, "name": "by", "phrase": "by", "question": "Is {object} near {subject}"}]
            ),
            "'near' and 'by' cannot be told apart",
        ),  # the same words, the other way round
        (written(style="fancy"), "style: 'fancy' is none of plain, paper"),  # no such style
        (written(with_attribute(phrase="has a dent")), "read as another part"),  # reads as a verb
        (written(with_attribute(phrase="near dog 1")), "says a number by itself"),  # reads as a relation
        (written(with_attribute(phrase=" red")), "single spaces"),  # spaces
        (
            written(with_attribute(verb="was")),
            r"attributes\[red\].verb: 'was' is none of is, has, did you mean 'has'",
        ),
        (written(with_attribute(group="region")), "a group needs a name other than 'region'"),  # kept for regions
        (
            written(with_attribute(source={"kind": "attribute", "values": ["r"]})),
            r"source.key: .* needs it",
        ),  # no key
        (
            written(with_attribute(source={"kind": "category", "values": ["cat"]})),
            "'cat' is no category of the type",
        ),
        (
            written(with_attribute(source={"kind": "attribut"})),
            r"source.kind: .*did you mean 'attribute'",
        ),  # misspelt
        (
            written(with_attribute(source={"kind": "flag", "key": True})),
            r"source.key: expected a text",
        ),  # YAML's yes
        (written(with_attribute(source={"kind": "occluded", "above": -1})), r"source.above: expected a number"),
        (written(with_attribute(source={"kind": "relation", "values": ["x"], "exactly": 1.5})), "source.exactly"),
        (written(relations=[NEAR, NEAR]), "relations: 'near' stands there twice"),  # double relation
        (written(relations=[NEAR, {**NEAR, "name": "by"}]), "'near' and 'by' cannot be told apart"),  # same phrase
        (
            written(
                CAR, {**DOG, "name": "street car"}, relations=[NEAR, {**NEAR, "name": "s", "phrase": "near street"}]
            ),
            "cannot be told apart in English: 'near street car'",
        ),  # phrase and noun run together
        (written(relations=[{**NEAR, "subjects": ["cat"]}]), r"relations\[near\].subjects: unknown type 'cat'"),
        (written(relations=[{**NEAR, "given": ["colr"]}]), r"relations\[near\].given: .*did you mean 'color'"),
        (written(relations=[{**NEAR, "values": []}]), r"relations\[near\].values: no predicate"),  # says nothing
        (written(relations=[{**NEAR, "aspect": "box"}]), "larger or taller, not"),  # cannot be measured
        (written(relations=[{**NEAR, "verb": "there"}]), "for relations that are not ordered"),  # needs a pair
        (
            written(relations=[{**NEAR, "ordered": "no"}]),
            r"relations\[near\].ordered: expected true or false",
        ),  # text
        (written(regions=["halfs"]), r"f: regions\[0\]: unknown region 'halfs'"),  # region
        (written(most_attributes=0), "most_attributes: expected a whole number from 1"),  # none
        (written(extent="pixels"), "extent: 'pixels' is none of size, boxes"),  # unknown
        (written(aliases=[1]), "aliases: expected a mapping"),  # a list
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_vocabulary(text, file="f")


def test_the_same_phrase_for_pairs_that_differ_is_no_collision() -> None:
    near = [{**NEAR, "subjects": ["car"]}, {**NEAR, "name": "by", "subjects": ["dog"]}]
    assert len(parse_vocabulary(written(relations=near)).links) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vdr", "unknown vocabulary 'vdr', did you mean 'vrd'"),  # misspelt
        ("missing.yaml", "missing.yaml: cannot be read"),  # not there
    ],
)
def test_not_found(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_vocabulary(name)


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "v.yaml").write_bytes("name: ä".encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_vocabulary(tmp_path / "v.yaml")


def test_worlds_words_halve_their_groups() -> None:
    worlds = load_vocabulary("worlds")
    colors = {a.name: set(a.source.values) for a in worlds.types[0].attributes if a.group == "color"}
    train = {"brown", "purple", "cyan", "yellow"}
    for palette in (train, set().union(*colors.values())):
        assert any(0.35 <= len(values & palette) / len(palette) <= 0.65 for values in colors.values())
    singles = {next(iter(v)) for v in colors.values() if len(v) == 1}
    assert len(singles) == 8
    codes = {c: tuple(c in v for v in colors.values() if len(v) > 1) for c in singles}
    assert len(set(codes.values())) >= 6  # the wider words tell most colours apart


def scenes(n: int = 40) -> list[Scene]:
    """Cars that are red or blue, in the left or right half, some flagged; dogs beside them; one cat."""
    made = []
    for i in range(n):
        facts = {"paint": "red" if i % 2 else "dark_blue", "speed": str(i % 3), "dirty": "yes" if i % 4 else "no"}
        things = [Object("c", "race_car", facts), Object("d", "dog", {"note": f"n{i}", "tail": "long"})]
        things += [Object("k", "cat")] if i == 0 else []
        flags = frozenset({"truncated", "group"}) if i % 2 else frozenset()
        made.append(
            Scene(
                f"s{i:02}",
                "",
                "mine",
                (View("0", size=(100, 100)),),
                tuple(things),
                tuple(Sighting("0", t.id, (0, 0, 50, 50), flags=flags) for t in things),
                (
                    Relation("c", "d", "traffic", "drives_past"),
                    Relation("d", "c", "traffic", "next to"),
                    Relation("c", "d", "depth", "closer"),
                ),
            )
        )
    return made


def dataset(made: list[Scene]) -> Dataset:
    return Dataset.from_tables(tables_from_scenes(made))


def test_from_data() -> None:
    vocabulary = vocabulary_from_data(dataset(scenes()))
    assert [kind.name for kind in vocabulary.types] == ["dog", "race car"]  # one cat is not enough
    car = vocabulary.kind("race car")
    assert [(a.name, a.phrase, a.group) for a in car.attributes] == [
        ("dirty", "dirty", "dirty"),
        ("paint dark blue", "dark blue", "paint"),
        ("paint red", "red", "paint"),
        ("truncated", "cut off at the edge of the picture", "visibility"),
    ]  # speed is a number, group says how it is counted
    assert car.exclusive == {"paint"}
    assert vocabulary.kind("dog").attributes == (car.attributes[-1],)  # notes are free text, tails all the same
    assert [(k.name, k.verb, k.phrase, k.subjects) for k in vocabulary.links] == [
        ("closer", "is", "closer (to the camera) than", ()),
        ("drives past", "does", "drive past", ("race car",)),
        ("next to", "is", "next to", ("dog",)),
    ]
    assert parse_vocabulary(dump_vocabulary(vocabulary)) == vocabulary
    assert check_against(vocabulary, dataset(scenes()), strict=True) == []


def test_odd_words_of_data_become_words_of_a_sentence() -> None:
    facts = [{"kind": v} for v in ("black and white", "7 b", "that", "has legs", "polar region", "q?")]
    things = [Object(str(j), "/m/0 7", told) for j, told in enumerate(facts)]
    made = [Scene(f"{i}", views=(View("0", size=(9, 9)),), objects=tuple(things)) for i in range(20)]
    vocabulary = vocabulary_from_data(dataset(made))
    assert vocabulary.types[0].name == "m-0-7"
    assert [a.phrase for a in vocabulary.types[0].attributes] == ["no-7 b", "black-and-white", "q", "no-that"]


def test_ids_of_open_images_become_the_names_of_their_classes() -> None:
    things = (Object("a", "/m/01g317"), Object("b", "/m/0bwd_0j"), Object("c", "/m/nobody_knows"))
    made = [Scene(f"{i}", views=(View("0", size=(9, 9)),), objects=things) for i in range(20)]
    names = {kind.name for kind in vocabulary_from_data(dataset(made)).types}
    assert names == {"person", "elephant", "m nobody knows"}  # the last has none


def test_without_sizes_boxes_are_the_extent() -> None:
    bare = [replace(s, views=(View("0"),)) for s in scenes(20)]
    assert vocabulary_from_data(dataset(bare)).extent == "boxes"
    assert vocabulary_from_data(dataset(scenes(20))).extent == "size"


def test_too_little_data() -> None:
    few = [Scene(f"{i}", views=(View("0"),), objects=(Object("a", f"c{i}"),)) for i in range(100)]
    with pytest.raises(DataError, match=r"category: no category has enough objects .*expected 5 objects of one"):
        vocabulary_from_data(dataset(few))


MINE = parse_vocabulary(
    written(
        {
            "name": "car",
            "categories": ["race_car"],
            "exclusive": ["paint"],
            "attributes": [
                {**RED, "group": "paint", "source": {"kind": "attribute", "key": "paint", "values": ["red"]}},
                {
                    **BLUE,
                    "group": "paint",
                    "source": {"kind": "attribute", "key": "paint", "values": ["dark_blue"]},
                },
            ],
        },
        relations=[{"name": "past", "phrase": "driving past", "aspect": "traffic", "values": ["drives_past"]}],
    )
)


def changed(key: str = "paint", values: tuple[str, ...] = ("red",), kind: Any = "attribute") -> Vocabulary:
    """`MINE` with another source of *red*."""
    car = MINE.types[0]
    red = replace(car.attributes[0], source=AttributeSource(kind, key, values))
    return replace(MINE, types=(replace(car, attributes=(red, *car.attributes[1:])),))


@pytest.mark.parametrize(
    ("vocabulary", "note"),
    [
        (changed(values=("green",)), r"types[car].attributes[red].source: 'paint' is never green"),  # value
        (changed(key="pain"), "types[car].attributes[red].source: no object has the attribute 'pain'"),  # key
        (changed(key="truncted", kind="flag"), "no object has the flag 'truncted'"),  # flag
        (changed(kind="occluded"), "the data does not tell how much of an object is hidden"),  # shares
        (
            changed(key="traffic", values=("hits",), kind="relation"),
            "the data never says hits",
        ),  # partner's predicate
        (
            replace(MINE, types=(*MINE.types, ObjectType("cow", ("cow",)))),
            "types[cow].categories: the data has no object",
        ),
        (
            replace(MINE, links=(replace(MINE.links[0], values=("overtakes",)),)),
            "relations[past]: the data never says",
        ),
        (
            replace(MINE, links=(replace(MINE.links[0], aspect="trafic"),)),
            "relations[past]: the data never says drives",
        ),
    ],
)
def test_words_that_the_data_does_not_bear_out(vocabulary: Vocabulary, note: str) -> None:
    data = dataset(scenes())
    assert check_against(MINE, data, strict=True) == []
    notes = check_against(vocabulary, data)
    assert len(notes) == 1
    assert note in notes[0]
    with pytest.raises(DataError, match=r"mine: (types|relations)\["):
        check_against(vocabulary, data, strict=True)


def test_an_object_with_two_attributes_of_an_exclusive_group() -> None:
    both = changed(values=("red", "dark_blue"))
    with pytest.raises(
        DataError, match=r"row s00, types\[car\].exclusive: object 'c' has two .*found 'red and blue'"
    ):
        check_against(both, dataset(scenes()))


def test_nothing_in_common() -> None:
    with pytest.raises(DataError, match="no object belongs to a type of the vocabulary 'worlds'"):
        check_against(load_vocabulary("worlds"), dataset(scenes()))


def test_the_ready_one_that_fits(generated: Path, simulated: Path) -> None:
    made = Dataset.open(generated)
    worlds = vocabulary_for(made)
    assert worlds.name == "worlds"
    assert check_against(worlds, made, strict=True) == []  # without the words of other worlds
    assert "red" not in [a.name for a in worlds.types[0].attributes]
    assert "material" not in worlds.types[0].exclusive  # all is metal
    check_words(worlds)
    assert vocabulary_for(open_dataset(simulated)).name == "vrd25"
    assert vocabulary_for(dataset(scenes())).name == "data"


@pytest.mark.realdata
def test_vrd_has_all_classes_and_predicates(real_data: Path) -> None:
    content = json.loads((real_data / "vrd" / "vrd.json").read_text("utf-8"))
    vrd = load_vocabulary("vrd")
    assert sorted(c for kind in vrd.types for c in kind.categories) == sorted(content["objects"])
    assert {p for link in vrd.links for p in (*link.values, *link.reverse) if link.aspect == "vrd"} == set(
        content["predicates"]
    )


@pytest.mark.realdata
def test_vrd25_has_all_categories_and_what_it_says_occurs(real_data: Path) -> None:
    data = open_dataset(real_data / "2.5vrd")
    vrd25 = load_vocabulary("vrd25")
    listed = {c for kind in vrd25.types for c in kind.categories}
    assert set(data.scan("objects").collect()["category"].unique()) <= listed
    assert all("flag" in note for note in check_against(vrd25, data))  # its files have no flags
    fitted = vocabulary_for(data)
    assert fitted.name == "vrd25"
    assert check_against(fitted, data, strict=True) == []


def test_ids_files_and_what_repeats_the_type_make_no_words() -> None:
    def scene(i: int) -> Scene:
        facts = {"color": "red" if i % 2 else "blue", "kind": "Cars" if i % 2 else "vans"}
        facts |= {"track_id": "a" if i % 2 else "b", "picture": "x.jpg" if i % 2 else "y.jpg"}
        sighting = Sighting("v", "o", (0, 0, 5, 5))
        return Scene(f"s{i}", "", "", (View("v", size=(10, 10)),), (Object("o", "car", facts),), (sighting,), ())

    made = vocabulary_from_data(Dataset.from_tables(tables_from_scenes([scene(i) for i in range(80)])))
    assert [attribute.name for attribute in made.types[0].attributes] == ["color blue", "color red"]
