"""Visual Spatial Reasoning: statements about photos that people called true or false; import only.

A JSONL file, a line a statement: ``image`` (file name), ``caption``, ``relation`` (the words of the caption that
say it), ``label`` (1 true, 0 false), and maybe ``vote_true_validator_id``, ``vote_false_validator_id`` (lists of
people, as text), ``reference_frame``. The split is told by the file's name, if that is train, dev or test.

A scene is ``<split>/<file name without suffix>`` of a photo, with one view. A statement is two objects that nobody
has placed: ``3s`` and ``3o`` for the third, of the categories that stand before and after the relation. The first
has the attributes ``statement`` (the caption), ``relation``, ``label`` (``true`` or ``false``), ``votes_true``,
``votes_false`` and ``reference_frame``. A true one is also a relation, of aspect ``vsr``, between the two. The exam
*statements* asks them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sightline.documents import parse_json, read_json_lines
from sightline.errors import DataError
from sightline.scenes import Object, Relation, Scene, View
from sightline.store.convert import tables_in_parts
from sightline.store.formats.jsonio import JsonEntry
from sightline.store.formats.labelled import SCENES_A_PART
from sightline.store.formats.photos import VIEW, find_photos
from sightline.store.pictures import picture_size
from sightline.store.schema import SPLIT_WORDS
from sightline.store.tables import Tables

__all__ = ["ASPECT", "detect", "read"]

ASPECT: Final = "vsr"
_KEYS: Final = ("image", "caption", "relation", "label")
_VOTES: Final = {"votes_true": "vote_true_validator_id", "votes_false": "vote_false_validator_id"}
_HEAD: Final = 4096


@dataclass(frozen=True, slots=True)
class _Statement:
    subject: str
    other: str
    relation: str
    is_true: bool
    facts: dict[str, str]


def detect(path: Path) -> bool:
    """Whether the path is such a JSONL file, or a folder with one."""
    try:
        return any(_is_statements(file) for file in _files(Path(path)))
    except OSError:
        return False


def read(path: str | Path, *, images: str | Path | None = None, split: str = "") -> Iterator[Tables]:
    """Read statements, a thousand photos at a time, file by file.

    Args:
        path: A JSONL file, or a folder with such files.
        images: Folder of the photos, looked up by name in it and in its direct subfolders (``train2017``).
        split: Name of the split; of several files, which of them to read.

    Raises:
        DataError: Naming file, line, key, what was expected and what stood there.
    """
    files = [file for file in _files(Path(path)) if not Path(path).is_dir() or _is_statements(file)]
    if not files:
        raise DataError("there are no statements", file=path, expected=f"a .jsonl file with {', '.join(_KEYS)}")
    if split and len(files) > 1:
        split = SPLIT_WORDS.get(split, split)
        files = [file for file in files if _split(file) == split]
    photos = find_photos(images) if images else {}
    for file in files:
        yield from tables_in_parts(_scenes(file, split or _split(file), photos), SCENES_A_PART)


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.jsonl")) if path.is_dir() else [path]


def _is_statements(file: Path) -> bool:
    if file.suffix != ".jsonl" or not file.is_file():
        return False
    with file.open("rb") as stream:
        head = stream.readline(_HEAD)
    return all(b'"%s"' % key.encode() in head for key in _KEYS)


def _split(file: Path) -> str:
    return SPLIT_WORDS.get(file.stem, "")


def _scenes(file: Path, split: str, photos: dict[str, str]) -> Iterator[Scene]:
    told: dict[str, list[_Statement]] = defaultdict(list)
    for row, values in read_json_lines(file):
        entry = JsonEntry(file, str(row), values)
        stem = Path(entry.text("image")).stem
        if not stem:
            raise entry.error("not a file name", "image", "such as 000000239417.jpg", entry.values["image"])
        told[stem].append(_statement(entry))
    for stem, statements in told.items():
        photo = photos.get(stem)
        numbered = list(enumerate(statements, start=1))
        yield Scene(
            id=f"{split}/{stem}" if split else stem,
            split=split,
            source="vsr",
            views=(View(VIEW, photo, picture_size(photo) if photo else None),),
            objects=tuple(
                thing
                for i, said in numbered
                for thing in (Object(f"{i}s", said.subject, said.facts), Object(f"{i}o", said.other))
            ),
            relations=tuple(
                Relation(f"{i}s", f"{i}o", ASPECT, said.relation) for i, said in numbered if said.is_true
            ),
        )


def _statement(entry: JsonEntry) -> _Statement:
    caption, relation = entry.text("caption"), entry.text("relation")
    parts = re.split(rf"\b{re.escape(relation)}\b", caption, maxsplit=1) if relation else []
    ends = [_thing(part) for part in parts]
    if len(ends) != 2 or not all(ends):
        expected = f"what stands where, with the words {relation!r} in between"
        raise entry.error("not a statement of two things", "caption", expected, caption)
    is_true = bool(entry.integer("label", high=1))
    votes = {ours: str(_count(entry, key)) for ours, key in _VOTES.items() if entry.values.get(key) is not None}
    frame = entry.values.get("reference_frame")
    facts = {"statement": caption, "relation": relation, "label": "true" if is_true else "false", **votes}
    if frame is not None:
        facts["reference_frame"] = f"{entry.number(frame, 'reference_frame'):g}"
    return _Statement(ends[0], ends[1], relation, is_true, facts)


def _thing(words: str) -> str:
    """The noun of one side of a statement.

    >>> _thing("The bench is "), _thing(" the dining table.")
    ('bench', 'dining table')
    """
    plain = re.sub(r"^(the|a|an)\b|\b(is|are|has|have)$|[.\s]+$", "", words.strip(), flags=re.IGNORECASE)
    return re.sub(r"\b(is|are|has|have)$", "", plain.strip(" .")).strip()


def _count(entry: JsonEntry, key: str) -> int:
    """How many people a list names; the files write it as text."""
    people: Any = entry.values[key]
    people = parse_json(people, entry.file, int(entry.row)) if isinstance(people, str) else people
    if not isinstance(people, list):
        raise entry.error("not a list of people", key, "a list", people)
    return len(people)
