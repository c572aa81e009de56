"""The class hierarchy of Open Images."""

from __future__ import annotations

from pathlib import Path

import pytest
from format_cases import HIERARCHY, OPENIMAGES, lay

from sightline.errors import DataError
from sightline.store.formats.hierarchy import Hierarchy, read_descriptions

DESCRIPTIONS = "class-descriptions-boxable.csv"


@pytest.fixture
def tree(tmp_path: Path) -> Hierarchy:
    return Hierarchy.open(lay(tmp_path, {"h.json": HIERARCHY}) / "h.json")


@pytest.mark.parametrize(
    ("mid", "descendants", "parts"),
    [
        ("root", {"person", "man", "car"}, set()),  # parts of a kind are not parts of the whole class
        ("person", {"man"}, {"arm", "hand"}),  # parts of parts
        ("man", set(), {"arm", "hand"}),  # inherited
        ("car", set(), {"wheel", "tyre"}),  # kinds of parts
        ("wheel", {"tyre"}, set()),  # a part has kinds of its own
        ("elsewhere", set(), set()),  # unknown class
    ],
)
def test_descendants_and_parts(tree: Hierarchy, mid: str, descendants: set[str], parts: set[str]) -> None:
    assert tree.descendants(mid) == descendants
    assert tree.parts_of(mid) == parts


def test_a_class_may_stand_in_several_places(tmp_path: Path) -> None:
    text = (
        '{"LabelName": "r", "Subcategory": [{"LabelName": "a", "Subcategory": [{"LabelName": "b"}]}, '
        '{"LabelName": "b", "Part": [{"LabelName": "p"}]}]}'
    )
    tree = Hierarchy.open(lay(tmp_path, {"h.json": text}) / "h.json")
    assert tree.descendants("a") == {"b"}
    assert tree.ancestors("b") == {"r", "a"}
    assert tree.parts_of("b") == {"p"}


def test_names_come_from_the_descriptions(tmp_path: Path) -> None:
    folder = lay(tmp_path, {"h.json": HIERARCHY, DESCRIPTIONS: OPENIMAGES[DESCRIPTIONS]})
    tree = Hierarchy.open(folder / "h.json", folder / DESCRIPTIONS)
    assert tree.name("/m/2") == "Table, big"
    assert tree.name("/m/404") == "/m/404"
    assert read_descriptions(folder / DESCRIPTIONS) == {"/m/1": "Tree", "/m/2": "Table, big"}


@pytest.mark.parametrize(
    ("content", "row", "field"),
    [
        ("", 1, None),  # empty
        (HIERARCHY[:-5], 1, None),  # cut off
        ("[]", "the root", "LabelName"),  # not an object
        ("{}", "the root", "LabelName"),  # no name
        ('{"LabelName": 3}', "the root", "LabelName"),  # a number for a name
        ('{"LabelName": "a", "Subcategory": {}}', "a", "Subcategory"),  # not a list
        ('{"LabelName": "a", "Part": [{}]}', "Part of a", "LabelName"),  # a part without a name
        ('{"LabelName": "a", "Parts": []}', "a", "Parts"),  # unknown key
        ("[" * 100_000, None, None),  # nested too deeply
        (b"\xff\xfe\x00", None, None),  # not Unicode
        ("1" * 5000, None, None),  # too long a number
    ],
    ids=range(11),
)
def test_bad_trees(tmp_path: Path, content: str | bytes, row: int | str | None, field: str | None) -> None:
    path = lay(tmp_path, {"h.json": content}) / "h.json"
    with pytest.raises(DataError) as caught:
        Hierarchy.open(path)
    assert (caught.value.file, caught.value.row, caught.value.field) == (path, row, field)
