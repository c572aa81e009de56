"""Turn mappings, as YAML and JSON give them, into frozen dataclasses, with errors that name file and field.

The annotations of the dataclass say what a field may hold: ``bool``, ``int``, ``float``, ``str``, ``Path``,
``Literal``, other dataclasses, tuples, frozensets, mappings with text keys, and unions of kinds that look different
in the file.
``Annotated`` narrows them:

- `Least`, `Above`: bounds of a number.
- `OneOf`: names of which the text must be one; a near miss is told.
- `As`: read as this type first, for a function after it to turn into the annotated one.
- a function: gets the value, returns it or another in its place, or raises `Unfit`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from sightline.errors import DataError
from sightline.hints import did_you_mean, listed

__all__ = ["Above", "As", "Least", "OneOf", "Unfit", "Value", "typed"]

_LARGEST: Final = sys.float_info.max

T = TypeVar("T")


class Least(NamedTuple):
    """A number is this or more."""

    bound: float


class Above(NamedTuple):
    """A number is more than this."""

    bound: float


class OneOf(NamedTuple):
    """A text is one of these; `what` they are is said where it is none."""

    names: Iterable[str]
    what: str = "choice"


class As(NamedTuple):
    """A value is read as this type, whatever the annotated one is."""

    hint: Any


class Unfit(Exception):  # noqa: N818 - never leaves this module: it becomes a DataError
    """A function of ``Annotated`` refuses a value: the problem, and what would have been right."""

    def __init__(self, problem: str, expected: str | None = None) -> None:
        self.problem, self.expected = problem, expected


def typed(mapping: Any, cls: type[T], where: str | Callable[[str], str], **given: Any) -> T:
    """The dataclass that a mapping describes, key by key; null means a field's default, where it has one.

    Args:
        mapping: As YAML or JSON gave it.
        cls: A dataclass.
        where: The file, or a function from a field's path (``cameras.top.up``) to the file it comes from.
        given: Fields that are no keys of the mapping.

    Raises:
        DataError: A key that is no field or misspelt, one that is missing, or a value that does not fit.

    >>> @dataclass(frozen=True)
    ... class Lamp:
    ...     power: Annotated[float, Above(0.0)]
    ...     color: Literal["warm", "cold"] = "warm"
    >>> typed({"power": 3}, Lamp, "lamp.yaml")
    Lamp(power=3.0, color='warm')
    >>> typed({"power": 3, "colour": "cold"}, Lamp, "lamp.yaml")
    Traceback (most recent call last):
    ...
    sightline.errors.DataError: lamp.yaml, colour: unknown field 'colour', did you mean 'color'? (expected one of
    power, color)
    """
    made: T = Value(mapping, where).read(cls, **given)
    return made


@dataclass(frozen=True, slots=True)
class Value:
    """A value together with the place it stands at.

    Attributes:
        value: As YAML or JSON gave it.
        where: The file, or a function from a path to its file.
        path: ``cameras.top.up``; empty for the whole file.
    """

    value: Any
    where: str | Callable[[str], str]
    path: str = ""

    @property
    def file(self) -> str:
        """The file the value comes from."""
        return self.where if isinstance(self.where, str) else self.where(self.path)

    def fail(self, problem: str, expected: str | None = None) -> NoReturn:
        """Refuse the value."""
        raise DataError(problem, file=self.file, field=self.path or None, expected=expected, found=self.value)

    def __getitem__(self, key: str) -> Value:
        """A key of this mapping; its value is None where the key is missing."""
        return self._at(f"{self.path}.{key}" if self.path else key, self.value.get(key))

    def _at(self, path: str, value: Any) -> Value:
        return Value(value, self.where, path)

    def items(self) -> Iterator[tuple[str, Value]]:
        """Names and values of this mapping, in the file's order."""
        if not isinstance(self.value, Mapping) or not all(isinstance(key, str) for key in self.value):
            self.fail("not a mapping", "names with values")
        for key in self.value:
            yield key, self[key]

    def parts(self, count: int | None = None) -> list[Value]:
        """Items of this list, which has so many."""
        if count is not None and (not isinstance(self.value, list | tuple) or len(self.value) != count):
            self.fail(f"not a list of {count}", f"{count} values")
        if not isinstance(self.value, list | tuple):
            self.fail("not a list", "a list")
        return [self._at(f"{self.path}[{i}]", value) for i, value in enumerate(self.value)]

    def only(self, known: Iterable[str]) -> Value:
        """The mapping itself, if it has no other keys than these."""
        names = tuple(known)
        for key, inner in self.items():
            if key not in names:
                problem = f"unknown field {key!r}{did_you_mean(key, names)}"
                raise DataError(problem, file=inner.file, field=inner.path, expected=f"one of {', '.join(names)}")
        return self

    def read(self, hint: Any, **given: Any) -> Any:
        """The value as the annotated type `hint`; `given` fields of a dataclass are not looked for."""
        if get_origin(hint) is Annotated:
            return self._narrowed(*get_args(hint))
        if is_dataclass(hint):
            return self._record(hint, given)
        if get_origin(hint) in (Union, UnionType):
            return self._one_kind(get_args(hint))
        if get_origin(hint) is Literal:
            return self._one_of(get_args(hint), "choice")
        if get_origin(hint) in (tuple, frozenset):
            return self._several(get_origin(hint), get_args(hint))
        if get_origin(hint) in (dict, Mapping):
            return {name: value.read(get_args(hint)[1]) for name, value in self.items()}
        if hint in (int, float):
            return self._number(hint, ())
        if hint is bool and not isinstance(self.value, bool):
            self.fail("neither true nor false", "true or false")
        if hint in (str, Path) and not isinstance(self.value, str):
            self.fail("not a text", "a text")
        return Path(self.value) if hint is Path else self.value

    def _narrowed(self, hint: Any, *narrower: Any) -> Any:
        for narrow in narrower:
            if isinstance(narrow, As):
                hint = narrow.hint
        names = next((n for n in narrower if isinstance(n, OneOf)), None)
        if names is not None:
            value: Any = self._one_of(tuple(names.names), names.what)
        else:
            value = self._number(hint, narrower) if hint in (int, float) else self.read(hint)
        for narrow in narrower:
            if not isinstance(narrow, Least | Above | OneOf | As):
                try:
                    value = narrow(value)
                except Unfit as error:
                    self.fail(error.problem, error.expected)
        return value

    def _record(self, cls: Any, given: Mapping[str, Any]) -> Any:
        wanted = {field.name: field for field in fields(cls) if field.init and field.name not in given}
        optional = {n for n, f in wanted.items() if f.default is not MISSING or f.default_factory is not MISSING}
        hints = get_type_hints(cls, include_extras=True)
        self.only(wanted)
        for name in wanted:
            if name not in optional and name not in self.value:
                self[name]._missing(hints[name])
        said = [name for name in wanted if name not in optional or self.value.get(name) is not None]
        return cls(**{name: self[name].read(hints[name]) for name in said}, **given)

    def _missing(self, hint: Any) -> NoReturn:
        """Refuse that there is no such key, and say what it should hold: what null is refused for."""
        expected = None
        try:
            self.read(hint)
        except DataError as error:
            expected = error.expected
        raise DataError("field is missing", file=self.file, field=self.path, expected=expected)

    def _one_kind(self, arms: tuple[Any, ...]) -> Any:
        """The arm of a union that looks like the value: null, a list, a mapping, or a plain value."""
        if self.value is None and NoneType in arms:
            return None
        arms = tuple(arm for arm in arms if arm is not NoneType)
        return self.read(next((arm for arm in arms if _look(arm) == _look_of(self.value)), arms[0]))

    def _several(self, collection: Any, hints: tuple[Any, ...]) -> Any:
        if collection is tuple and hints[-1] is not Ellipsis:
            return tuple(part.read(hint) for part, hint in zip(self.parts(len(hints)), hints, strict=True))
        return collection(part.read(hints[0]) for part in self.parts())

    def _number(self, kind: type, narrower: Iterable[Any]) -> float:
        above = max((n.bound for n in narrower if isinstance(n, Above)), default=-math.inf)
        least = max((n.bound for n in narrower if isinstance(n, Least)), default=-math.inf)
        wanted = "a whole number" if kind is int else "a number"
        wanted += f" ≥ {least:g}" if least > -math.inf else f" > {above:g}" if above > -math.inf else ""
        value = self.value
        fits = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
        if not fits or not -_LARGEST <= value <= _LARGEST:
            self.fail("not a fitting whole number" if kind is int else "not a number", wanted)
        if value <= above or value < least:
            self.fail("not a fitting whole number" if kind is int else "number out of range", wanted)
        return value if kind is int else float(value)

    def _one_of(self, names: tuple[Any, ...], what: str) -> Any:
        if not isinstance(self.value, str) or self.value not in names:
            near = did_you_mean(str(self.value), names)
            self.fail(f"unknown {what} {self.value!r}{near}", f"one of {listed(names)}")
        return self.value


def _look(hint: Any) -> str:
    """How values of a type look in a file."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if is_dataclass(hint) or get_origin(hint) in (dict, Mapping):
        return "mapping"
    return "list" if get_origin(hint) in (tuple, frozenset) else "plain"


def _look_of(value: Any) -> str:
    return "mapping" if isinstance(value, Mapping) else "list" if isinstance(value, list | tuple) else "plain"
