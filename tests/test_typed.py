"""Mappings as dataclasses: what comes out, and how a bad value is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from sightline.errors import DataError
from sightline.typed import Above, As, Least, OneOf, Unfit, typed


def even(number: int) -> int:
    if number % 2:
        raise Unfit("odd number", "an even one")
    return number


def grey(light: Any) -> tuple[float, float]:
    return light if isinstance(light, tuple) else (light, light)


@dataclass(frozen=True)
class Leg:
    length: Annotated[float, Above(0.0)]
    wood: Annotated[str, OneOf(("oak", "pine"), "wood")] = "oak"


@dataclass(frozen=True)
class Desk:
    name: str
    legs: tuple[Leg, ...]
    seats: Annotated[int, Least(1)] = 1
    pair: Annotated[int, even] = 2
    place: tuple[float, float] = (0.0, 0.0)
    kind: Literal["round", "square"] = "round"
    best: Leg | None = None
    flat: bool = True
    marks: frozenset[str] = frozenset()
    notes: Mapping[str, int] = field(default_factory=dict)
    light: Annotated[tuple[float, float], As(float | tuple[float, float]), grey] = (0.0, 0.0)
    serial: str = field(default="", kw_only=True)


def test_every_type() -> None:
    leg = {"length": 1, "wood": "pine"}
    made = typed(
        {
            "name": "d",
            "legs": [leg, {"length": 0.5}],
            "seats": 3,
            "pair": 4,
            "place": [1, 2.5],
            "kind": "square",
            "best": leg,
            "flat": False,
            "marks": ["a", "b", "a"],
            "notes": {"x": 1},
            "light": 0.5,
        },
        Desk,
        "desk.yaml",
        serial="7",
    )
    legs = (Leg(1.0, "pine"), Leg(0.5))
    marks = frozenset("ab")
    assert made == Desk(
        "d", legs, 3, 4, (1.0, 2.5), "square", legs[0], False, marks, {"x": 1}, (0.5, 0.5), serial="7"
    )
    assert typed({"name": "", "legs": [], "seats": None, "light": [1, 2]}, Desk, "f") == Desk("", (), light=(1, 2))


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"nmae": 1}, "nmae", "did you mean 'name'? (expected one of name, legs"),  # misspelt
        ({"serial": "7"}, "serial", "unknown field"),  # given by the caller, so not the file's to say
        ({"name": 7}, "name", "not a text (expected a text, found 7)"),
        ({"name": None}, "name", "not a text"),  # null without a default
        ({"legs": {}}, "legs", "not a list"),
        ({"legs": [3]}, "legs[0]", "not a mapping"),
        ({"legs": [{1: 2}]}, "legs[0]", "not a mapping"),  # a key that is no text
        ({"legs": [{"wood": "oak"}]}, "legs[0].length", "field is missing (expected a number > 0)"),
        ({"legs": [{"length": 0}]}, "legs[0].length", "number out of range (expected a number > 0, found 0)"),
        ({"legs": [{"length": True}]}, "legs[0].length", "not a number"),
        ({"legs": [{"length": float("nan")}]}, "legs[0].length", "not a number"),
        ({"legs": [{"length": 1, "wood": "oka"}]}, "legs[0].wood", "unknown wood 'oka', did you mean 'oak'?"),
        ({"seats": 0}, "seats", "a whole number ≥ 1"),
        ({"seats": 1.0}, "seats", "whole number"),
        ({"seats": 10**400}, "seats", "whole number"),  # more than a float can hold
        ({"legs": [{"length": 10**5000}]}, "legs[0].length", "expected a number > 0, found a huge int"),
        ({"pair": 3}, "pair", "odd number (expected an even one, found 3)"),
        ({"place": [1]}, "place", "not a list of 2"),
        ({"place": [1, "x"]}, "place[1]", "not a number"),
        ({"kind": "oval"}, "kind", "unknown choice 'oval' (expected one of round, square"),
        ({"best": 3}, "best", "not a mapping"),
        ({"flat": 1}, "flat", "neither true nor false"),
        ({"notes": {"x": "y"}}, "notes.x", "whole number"),
        ({"light": [1]}, "light", "not a list of 2"),
        ({"light": "x"}, "light", "not a number"),
    ],
)
def test_a_bad_value_is_named(change: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        typed({"name": "d", "legs": [], **change}, Desk, "desk.yaml", serial="7")
    assert (caught.value.file, caught.value.field) == ("desk.yaml", path)
    assert words in str(caught.value)


def test_a_file_for_every_path() -> None:
    with pytest.raises(DataError, match=r"^of legs\[0\], legs\[0\]: not a mapping"):
        typed({"name": "d", "legs": [3]}, Desk, lambda path: f"of {path}")
