"""Training images made ready for counting: built once, kept in a folder, mapped by all processes that need them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.documents import read_json
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.annotations.columns import Columns, packed, widths
from sightline.exams.turing.estimate.bits import MOST, Words
from sightline.exams.turing.estimate.layout import CorpusTables, by_type, fixed, no_rows, planes_of, tables_of
from sightline.exams.turing.vocabulary.files import dump_vocabulary, parse_vocabulary
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.files import staged_folder, sync_files

MARKER: Final = "corpus.json"
FORMAT: Final = 2
_WORDS, _PLANES = "vocabulary.yaml", "planes.bin"
_MAPPED_FROM = 1 << 16  # bytes; smaller files are simply read


_NAMES: Final = tuple(field.name for field in fields(CorpusTables))
OWNED: Final = (MARKER, _WORDS, _PLANES, *(f"{name}.npy" for name in _NAMES))


@dataclass(frozen=True, eq=False)
class Corpus:
    """Annotated images, ready to be counted over.

    Attributes:
        vocabulary: The words the images were annotated in.
        size: How many images.
        tables: Objects, pairs and where the planes of each predicate lie.
        planes: (rows, words) one bit an image, see `counts`.
        fingerprint: Of vocabulary and annotations; empty for a corpus that was not kept in a folder.
    """

    vocabulary: Vocabulary
    size: int
    tables: CorpusTables
    planes: Words
    fingerprint: str = ""

    @classmethod
    def build(
        cls, columns: Columns, vocabulary: Vocabulary, folder: Path | None = None, *, overwrite: bool = False
    ) -> Corpus:
        """Lay out annotated images for counting; with a folder, keep them there and map them from it.

        The folder appears whole or not at all. An older corpus there is replaced only with `overwrite`.

        Raises:
            DataError: The annotations were not made with that vocabulary.
        """
        _check(columns, vocabulary)
        if folder is None:
            rows, objects = no_rows(vocabulary), by_type(columns, vocabulary)
            planes = np.concatenate(list(planes_of(columns, vocabulary, objects, rows)))
            return cls(vocabulary, len(columns), tables_of(columns, vocabulary, objects, rows), fixed(planes))
        with staged_folder(folder, owned=OWNED, marker=MARKER, overwrite=overwrite) as stage:
            _write(columns, vocabulary, stage)
        return cls.open(folder)

    @classmethod
    def shared(cls, columns: Columns, vocabulary: Vocabulary, corpora: Path | None) -> Corpus:
        """Build in memory; or once for all processes, in a folder of `corpora` named after what is in it."""
        if corpora is None:
            return cls.build(columns, vocabulary)
        name = fingerprint_of(columns, vocabulary)
        folder = corpora / name[:16]
        if not folder.exists():
            try:
                return cls.build(columns, vocabulary, folder)
            except ConfigError:
                if not folder.exists():
                    raise  # else another process was faster
        return cls.open(folder, fingerprint=name)

    @classmethod
    def open(cls, folder: Path, *, fingerprint: str | None = None) -> Corpus:
        """Map a corpus that was built into a folder.

        Args:
            folder: Where it was built.
            fingerprint: What `fingerprint_of` says of the annotations and the vocabulary it should hold.

        Raises:
            DataError: It is not a corpus, is damaged, of another format, or holds something else than that.
        """
        folder = Path(folder)
        head = _head(folder)
        if fingerprint is not None and head["fingerprint"] != fingerprint:
            problem = "the corpus was built from other annotations or another vocabulary; build it anew"
            file, found = folder / MARKER, head["fingerprint"]
            raise DataError(problem, file=file, field="fingerprint", expected=fingerprint, found=found)
        try:
            vocabulary = parse_vocabulary((folder / _WORDS).read_text(encoding="utf-8"), file=_WORDS)
            tables = CorpusTables(**{name: _mapped(folder / f"{name}.npy") for name in _NAMES})
            planes = np.memmap(folder / _PLANES, np.uint64, "r", shape=tuple(head["planes"]))
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"the corpus is damaged: {error}", file=folder) from error
        return cls(vocabulary, head["images"], tables, fixed(planes), head["fingerprint"])

    def __len__(self) -> int:
        return self.size

    @property
    def words(self) -> int:
        """Words of one bit an image."""
        return int(self.planes.shape[1])

    @cached_property
    def everything(self) -> Words:
        """(words,) all images."""
        return fixed(packed(np.ones((1, len(self)), dtype=bool))[0])

    def wanted(self, kind: str, attributes: tuple[str, ...]) -> Words:
        """(attribute words,) the set of those attributes of a type."""
        out = np.zeros(self.tables.attribute_words, dtype=np.uint64)
        for name in attributes:
            k = self.vocabulary.attribute_index[kind, name]
            out[k // 64] |= np.uint64(1 << k % 64)
        return out

    def number_of_facts(self, kind: str) -> int:
        """Bits of `CorpusTables.facts` that objects of a type have."""
        width, place = len(self.vocabulary.kind(kind).attributes), self.vocabulary.type_index[kind]
        open_ones = self.tables.may_have[place, :width] != np.arange(width)
        return width + len(self.vocabulary.regions) + int(open_ones.sum())


def fingerprint_of(columns: Columns, vocabulary: Vocabulary) -> str:
    """What identifies the corpus of these annotations: changes when they do, the vocabulary, or the format."""
    digest = hashlib.sha256(f"{FORMAT} {MOST} {len(columns)}\n{dump_vocabulary(vocabulary)}".encode())
    for name in ("starts", "types", "crowd", "yes", "no", "seen", "pair_starts", "holds", "fails"):
        values = np.ascontiguousarray(getattr(columns, name))
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(values.data)
    return digest.hexdigest()


def _check(columns: Columns, vocabulary: Vocabulary) -> None:
    for field, expected in widths(vocabulary).items():
        if (width := getattr(columns, field)) != expected:
            problem = f"the images were not annotated with the vocabulary {vocabulary.name!r}"
            raise DataError(problem, field=field, expected=expected, found=width)
    if columns.types.size and not 0 <= columns.types.min() <= columns.types.max() < len(vocabulary.types):
        below, highest = f"below {len(vocabulary.types)}", int(columns.types.max())
        raise DataError("type that the vocabulary has not", field="types", expected=below, found=highest)


def _write(columns: Columns, vocabulary: Vocabulary, stage: Path) -> None:
    rows, objects, size = no_rows(vocabulary), by_type(columns, vocabulary), [0, 0]
    with (stage / _PLANES).open("wb") as file:
        for part in planes_of(columns, vocabulary, objects, rows):
            file.write(part.data)
            size = [size[0] + len(part), part.shape[1]]
    tables = tables_of(columns, vocabulary, objects, rows)
    for name in _NAMES:
        np.save(stage / f"{name}.npy", getattr(tables, name))
    (stage / _WORDS).write_text(dump_vocabulary(vocabulary), encoding="utf-8")
    fingerprint = fingerprint_of(columns, vocabulary)
    head = {"format": FORMAT, "fingerprint": fingerprint, "images": len(columns), "planes": size}
    (stage / MARKER).write_text(json.dumps(head, indent=2) + "\n", encoding="utf-8")
    sync_files([stage / name for name in OWNED])


def _head(folder: Path) -> dict[str, Any]:
    path = folder / MARKER
    if not path.is_file():
        raise DataError("no corpus here", file=folder, expected=f"a folder with a {MARKER}")
    head = read_json(path)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        written = head.get("format") if isinstance(head, dict) else head
        raise DataError("a corpus of another format; build it anew", file=path, expected=FORMAT, found=written)
    wanted = {"fingerprint", "images", "planes"}
    if not wanted <= head.keys():
        raise DataError("the corpus is damaged", file=path, expected=sorted(wanted), found=sorted(head))
    return head


def _mapped(path: Path) -> NDArray[Any]:
    small = path.stat().st_size < _MAPPED_FROM
    return fixed(np.load(path, mmap_mode=None if small else "r", allow_pickle=False))
