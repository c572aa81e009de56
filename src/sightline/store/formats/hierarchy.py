"""Open Images' classes: which is a kind of which, which is a part of which, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sightline.documents import read_json
from sightline.errors import DataError
from sightline.store.formats.csvio import TEXT, read_csv
from sightline.store.formats.jsonio import JsonEntry

_LABEL, _KINDS, _PARTS = "LabelName", "Subcategory", "Part"
_HEADERS: Final = (("LabelName", "DisplayName"), ("id", "name"))


@dataclass(frozen=True)
class Hierarchy:
    """Direct relations between classes, by MID. A class may stand under several others.

    Attributes:
        kinds: Class → its direct subclasses.
        parts: Class → what is declared a part of it.
        names: Class → its English name; empty without a descriptions file.
    """

    kinds: Mapping[str, frozenset[str]]
    parts: Mapping[str, frozenset[str]]
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: str | Path, descriptions: str | Path | None = None) -> Hierarchy:
        """Read ``bbox_labels_600_hierarchy.json`` and, if given, ``class-descriptions-boxable.csv``."""
        kinds: dict[str, set[str]] = {}
        parts: dict[str, set[str]] = {}
        _collect(read_json(Path(path), entries=True), Path(path), kinds, parts)
        names = read_descriptions(descriptions) if descriptions else {}
        whole = ({label: frozenset(below) for label, below in step.items()} for step in (kinds, parts))
        all_kinds, all_parts = whole
        return cls(all_kinds, all_parts, names)

    def descendants(self, mid: str) -> frozenset[str]:
        """All kinds of a class, their kinds and so on; the class itself is not among them.

        >>> tree = Hierarchy({"vehicle": frozenset({"car"}), "car": frozenset({"taxi"})}, {})
        >>> sorted(tree.descendants("vehicle"))
        ['car', 'taxi']
        """
        return _closure(self.kinds.get(mid, ()), self.kinds) - {mid}

    def ancestors(self, mid: str) -> frozenset[str]:
        """All classes that a class is a kind of."""
        return frozenset(label for label in self.kinds if mid in self.descendants(label))

    def parts_of(self, mid: str) -> frozenset[str]:
        """All that may be a part of a thing of that class.

        These are the parts declared for it and for the classes it is a kind of (a man has what a person has), the
        kinds of those parts, and their parts in turn.

        >>> kinds = {"person": frozenset({"man"}), "arm": frozenset({"left arm"})}
        >>> tree = Hierarchy(kinds, {"person": frozenset({"arm"}), "arm": frozenset({"hand"})})
        >>> sorted(tree.parts_of("man"))
        ['arm', 'hand', 'left arm']
        """
        declared = (part for owner in {mid, *self.ancestors(mid)} for part in self.parts.get(owner, ()))
        return _closure(declared, self.kinds, self.parts)

    def name(self, mid: str) -> str:
        """English name of a class, or the MID where it is not known."""
        return self.names.get(mid, mid)


def read_descriptions(path: str | Path) -> dict[str, str]:
    """MID → English name from ``class-descriptions-boxable.csv`` (the header of later versions may be there).

    Raises:
        DataError: For anything but two cells a row, or a class that stands twice.
    """
    rows = read_csv(Path(path), {"LabelName": TEXT, "DisplayName": TEXT}, header=False).rows()
    names: dict[str, str] = {}
    for line, (mid, name) in enumerate(rows, start=1):
        if line == 1 and (mid, name) in _HEADERS:
            continue
        if mid in names:
            raise DataError("class stands twice", file=path, row=line, field="LabelName", found=mid)
        names[mid] = name
    return names


def _closure(start: Iterable[str], *steps: Mapping[str, frozenset[str]]) -> frozenset[str]:
    reached: set[str] = set()
    todo = list(start)
    while todo:
        label = todo.pop()
        if label not in reached:
            reached.add(label)
            todo.extend(after for step in steps for after in step.get(label, ()))
    return frozenset(reached)


def _collect(tree: Any, path: Path, kinds: dict[str, set[str]], parts: dict[str, set[str]]) -> None:
    """Walk the tree and note every direct kind and part."""
    todo = [(tree, "the root")]
    while todo:
        node, place = todo.pop()
        label = _label(node, path, place)
        for key, into in ((_KINDS, kinds), (_PARTS, parts)):
            below = node.get(key, [])
            if not isinstance(below, list):
                entry = JsonEntry(path, label, node)
                raise entry.error("not a list", key, "a list of classes", type(below).__name__)
            for child in below:
                into.setdefault(label, set()).add(_label(child, path, f"{key} of {label}"))
                todo.append((child, f"{key} of {label}"))


def _label(node: Any, path: Path, place: str) -> str:
    """The class of a node, once the node has the right form."""
    if not isinstance(node, dict) or not isinstance(node.get(_LABEL), str) or not node[_LABEL]:
        entry = JsonEntry(path, place, {})
        raise entry.error("not a class", _LABEL, "an object with a name", type(node).__name__)
    label: str = node[_LABEL]
    for key in node:
        if key not in (_LABEL, _KINDS, _PARTS):
            raise JsonEntry(path, label, node).error("unexpected key", key, f"{_LABEL}, {_KINDS}, {_PARTS}")
    return label
