"""Values of a world file together with the place they stand at, so that a bad one is told by file and field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from sightline.errors import DataError
from sightline.hints import did_you_mean

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a world file.

    Attributes:
        value: As YAML gave it.
        path: ``cameras.top.up``; empty for the whole file.
        origins: Which file a path was last set in; a path not listed comes from where its parent comes from.
    """

    value: Any
    path: str
    origins: Mapping[str, str]

    @property
    def file(self) -> str:
        """The file the value comes from."""
        path = self.path
        while path and path not in self.origins:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.origins[path]

    def fail(self, problem: str, expected: str | None = None) -> NoReturn:
        """Refuse the value."""
        raise DataError(problem, file=self.file, field=self.path or None, expected=expected, found=self.value)

    def __getitem__(self, key: str) -> Field:
        """A key of this mapping; its value is None where the key is missing."""
        return Field(self.value.get(key), f"{self.path}.{key}" if self.path else key, self.origins)

    def items(self) -> Iterator[tuple[str, Field]]:
        """Names and values of this mapping, in the file's order."""
        if not isinstance(self.value, dict) or not all(isinstance(key, str) for key in self.value):
            self.fail("not a mapping", "names with values")
        for key in self.value:
            yield key, self[key]

    def parts(self) -> list[Field]:
        """Items of this list."""
        if not isinstance(self.value, list):
            self.fail("not a list", "a list")
        return [Field(value, f"{self.path}[{i}]", self.origins) for i, value in enumerate(self.value)]

    def only(self, known: Iterable[str]) -> Field:
        """The mapping itself, if it has no other keys than these."""
        names = tuple(known)
        for key, inner in self.items():
            if key not in names:
                raise DataError(
                    f"unknown field {key!r}{did_you_mean(key, names)}",
                    file=inner.file,
                    field=inner.path,
                    expected=f"one of {', '.join(names)}",
                )
        return self

    def number(self, *, above: float = -math.inf, least: float = -math.inf) -> float:
        """A finite number, greater than `above` and no less than `least`."""
        value = self.value
        wanted = f"a number > {above:g}" if above > -math.inf else "a number"
        wanted = f"a number ≥ {least:g}" if least > -math.inf else wanted
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self.fail("not a number", wanted)
        if value <= above or value < least:
            self.fail("number out of range", wanted)
        return float(value)

    def whole(self, least: int = 0) -> int:
        """A whole number, `least` or more."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < least:
            self.fail("not a fitting whole number", f"a whole number ≥ {least}")
        return self.value

    def yes(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.fail("neither true nor false", "true or false")
        return self.value

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            self.fail("not a text", "a text")
        return self.value

    def one_of(self, known: Iterable[str], what: str) -> str:
        """One of the known names."""
        names = tuple(known)
        if not isinstance(self.value, str) or self.value not in names:
            self.fail(
                f"unknown {what} {self.value!r}{did_you_mean(str(self.value), names)}", f"one of {', '.join(names)}"
            )
        return self.value

    def some_of(self, known: Iterable[str], what: str) -> tuple[str, ...]:
        """A list of known names, none of them twice, at least one."""
        names = tuple(known)
        chosen = tuple(part.one_of(names, what) for part in self.parts())
        if not chosen or len(set(chosen)) < len(chosen):
            self.fail(f"every {what} once, and at least one", f"a list out of {', '.join(names)}")
        return chosen

    def range(self) -> tuple[float, float]:
        """[low, high] with low < high."""
        low, high = (part.number() for part in self.sized(2))
        if low >= high:
            self.fail("range is empty", "[low, high] with low < high")
        return low, high

    def point(self) -> Point:
        """Three numbers."""
        x, y, z = (part.number() for part in self.sized(3))
        return x, y, z

    def light(self) -> Point:
        """Linear RGB, none below 0; one number stands for grey."""
        if not isinstance(self.value, list):
            grey = self.number(least=0.0)
            return grey, grey, grey
        r, g, b = (part.number(least=0.0) for part in self.sized(3))
        return r, g, b

    def sized(self, n: int) -> list[Field]:
        """Items of a list of that length."""
        if not isinstance(self.value, list) or len(self.value) != n:
            self.fail(f"not a list of {n}", f"{n} values")
        return self.parts()
