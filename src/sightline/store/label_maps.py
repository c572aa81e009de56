"""Classes under other names: which class of a dataset is which of a model's; vocabularies by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.documents import read_yaml
from sightline.errors import ConfigError, DataError
from sightline.hints import hint
from sightline.typed import Value

_BUILT_IN: Final = Path(__file__).with_name("class_names.yaml")

Same = tuple[tuple[str, ...], ...]
"""Rows of names of one and the same class."""


@dataclass(frozen=True, slots=True)
class ClassVocabulary:
    """The classes of a dataset or network: number → name, and which of them are stuff."""

    classes: Mapping[int, str]
    stuff: frozenset[str]


@cache
def vocabulary(name: str) -> ClassVocabulary:
    """A vocabulary that comes with Sightline: ``coco``, ``voc``, ``ade`` (of which the stuff alone is listed).

    >>> vocabulary("voc").classes[15], "road" in vocabulary("coco").stuff
    ('person', True)
    """
    known = Value(read_yaml(_BUILT_IN), str(_BUILT_IN))["vocabularies"]
    names = [key for key, _ in known.items()]
    if name not in names:
        raise ConfigError(f"unknown vocabulary {name!r}{hint(name, names)}")
    said = known[name].value
    return ClassVocabulary(MappingProxyType(said.get("classes", {})), frozenset(said.get("stuff", ())))


def same_names(file: str | Path | None = None) -> Same:
    """Rows of names of one class: those of a file before those that come with Sightline.

    Args:
        file: A YAML file with ``same``, a list of rows; by default the built-in rows alone.

    Raises:
        DataError: The file names a class in two rows, or says something else.
    """
    built_in = _rows(_BUILT_IN)
    if file is None:
        return built_in
    own = own_names(file)
    named = {name for row in own for name in row}
    rest = (tuple(name for name in row if name not in named) for row in built_in)
    return (*own, *(row for row in rest if len(row) > 1))


def own_names(file: str | Path) -> Same:
    """The rows of a file alone."""
    return _rows(Path(file))


def _rows(file: Path) -> Same:
    whole = Value(read_yaml(file), str(file))
    whole.only(("vocabularies", "same") if file == _BUILT_IN else ("same",))
    rows: Same = whole["same"].read(tuple[tuple[str, ...], ...])
    seen: dict[str, int] = {}
    for place, row in enumerate(rows):
        for name in row:
            if seen.setdefault(name, place) != place:
                raise DataError("class stands in two rows", file=file, field=f"same[{place}]", found=name)
    return rows


@dataclass(frozen=True, slots=True)
class LabelMap:
    """Which of a model's classes stand for each class of a dataset.

    Attributes:
        theirs: Class of the dataset → classes of the model, never empty; classes with no counterpart are left out.
        model_classes: All classes of the model, in its order.
    """

    theirs: Mapping[str, tuple[str, ...]]
    model_classes: tuple[str, ...]

    @classmethod
    def between(cls, data: Sequence[str], model: Sequence[str], same: Same | None = None) -> LabelMap:
        """Match two lists of classes by name, and by rows of names of one class.

        A class of the model stands for one class of the dataset at most: for that of its own name, else for the one
        that comes first in the row.

        Args:
            data: Classes of the dataset.
            model: Classes of the model.
            same: Rows of names, see `same_names`; by default those built in.

        >>> LabelMap.between(["sidewalk", "couch", "mug"], ["sofa", "pavement-merged", "car"]).theirs
        {'sidewalk': ('pavement-merged',), 'couch': ('sofa',)}
        """
        rows = {_plain(name): row for row in (same_names() if same is None else same) for name in row}
        ours = {_plain(name): name for name in data}
        found: dict[str, list[str]] = {name: [] for name in data}
        for name in model:
            row = (_plain(name), *map(_plain, rows.get(_plain(name), ())))
            match = next((ours[key] for key in row if key in ours), None)
            if match is not None:
                found[match].append(name)
        return cls({name: tuple(names) for name, names in found.items() if names}, tuple(model))

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of the dataset that the model knows."""
        return tuple(self.theirs)

    def scores(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """The model's scores (n, its classes) as scores of `classes`, (n, K): the highest that stands for each."""
        place = {name: i for i, name in enumerate(self.model_classes)}
        columns = [scores[:, [place[name] for name in names]].max(axis=1) for names in self.theirs.values()]
        return np.stack(columns, axis=1).astype(np.float64) if columns else np.zeros((len(scores), 0))

    def labels(self, labels: NDArray[Any]) -> NDArray[np.int32]:
        """A map of the model's classes as a map of `classes`; −1 where the model sees none of them."""
        place = {name: i for i, names in enumerate(self.theirs.values()) for name in names}
        codes = np.array([*(place.get(name, -1) for name in self.model_classes), -1], dtype=np.int32)
        ours: NDArray[np.int32] = codes[labels]
        return ours


def _plain(name: str) -> str:
    """A name without what spelling alone differs in.

    >>> _plain("Traffic_Light")
    'traffic light'
    """
    return " ".join(name.lower().replace("_", " ").split())
