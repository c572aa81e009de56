"""An open dataset: on disk or in memory, the same to its reader."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, overload

import polars as pl

from sightline.errors import ConfigError, DataError, SightlineError, naming
from sightline.scenes import Scene
from sightline.store.blobs import PREFIX, Blobs
from sightline.store.check import check_tables
from sightline.store.convert import by_scene, scenes_from_tables
from sightline.store.fingerprint import Fingerprint, fingerprint
from sightline.store.formats import detect
from sightline.store.manifest import MANIFEST, PARTIAL, Manifest, ShardInfo, is_dataset, read_manifest
from sightline.store.schema import LATER, PIXELS, SCHEMA_VERSION, SCHEMAS
from sightline.store.shards import DiskShard, MemoryShard, read_shard
from sightline.store.tables import POLARS_ERRORS, Tables

OnError = Literal["raise", "skip"] | Callable[[DataError], None]
"""What to do about a damaged shard: raise its error, pass over it, or tell a function and pass over it."""

Completed = Callable[[Scene], Scene]
"""Gives a scene what is not on disk but can be made again: counterfactuals, normals."""

T = TypeVar("T")

_BROKEN = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, AssertionError, *POLARS_ERRORS)
"""What rows that contradict each other may raise in code that relies on them."""


class Dataset:
    """Scenes that can be walked through, looked up and scanned; open one with `Dataset.open`.

    >>> views = pl.DataFrame({"scene_id": ["b", "a"], "view_id": ["0", "0"], "split": ["test", "test"]})
    >>> dataset = Dataset.from_tables(Tables.build(views=views))
    >>> len(dataset), dataset.splits, [scene.id for scene in dataset]
    (2, ('test',), ['a', 'b'])
    >>> dataset[-1].id, [scene.id for scene in dataset[:1]]
    ('b', ['a'])
    """

    def __init__(
        self,
        parts: Sequence[DiskShard | MemoryShard],
        blobs: Blobs,
        manifest: Manifest | None = None,
        completed: Completed | None = None,
    ) -> None:
        self._parts, self._manifest, self._completed = tuple(parts), manifest, completed
        self._memo: dict[Hashable, Any] = {}
        self.blobs = blobs

    @classmethod
    def open(cls, path: str | Path, *, allow_outside: bool = False) -> Self:
        """Open a dataset folder; reads the manifest only, so a damaged shard shows when it is reached.

        Args:
            path: The folder.
            allow_outside: Its files may be links, and its pictures paths, that lead out of the folder.
        """
        folder = Path(path)
        manifest = read_manifest(folder)
        shards = [DiskShard(folder, info, allow_outside) for info in manifest.shards]
        return cls(shards, Blobs(folder, allow_outside=allow_outside), manifest)

    @classmethod
    def from_tables(cls, tables: Tables, path: str | Path | None = None, *, allow_outside: bool = True) -> Self:
        """A dataset in memory, whose pictures may lie anywhere: whoever has the tables made them.

        Args:
            tables: All its rows.
            path: The folder that relative picture paths start from, and its name.
            allow_outside: Pictures may lie elsewhere.
        """
        return cls([MemoryShard(by_scene(tables))], Blobs(Path(path or "."), allow_outside=allow_outside))

    def completed_by(self, completed: Completed) -> Self:
        """The same dataset whose scenes get what can be made again, by one who knows how (`Scene.without`)."""
        return type(self)(self._parts, self.blobs, self._manifest, completed)

    @property
    def path(self) -> Path:
        """The folder; of a dataset in memory the one its pictures are in."""
        return self.blobs.root

    @property
    def schema_version(self) -> int:
        """Version of the tables' layout."""
        return SCHEMA_VERSION if self._manifest is None else self._manifest.schema_version

    @property
    def source(self) -> str:
        """Where the data comes from, as told when it was written."""
        return "" if self._manifest is None else self._manifest.source

    @property
    def recipe(self) -> Mapping[str, Any] | None:
        """How the scenes were made, where they were generated; plain values."""
        return None if self._manifest is None else self._manifest.recipe

    @property
    def shards(self) -> tuple[ShardInfo, ...]:
        """What each shard should hold."""
        return tuple(part.info for part in self._parts)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the content: the same for the same scenes in the same order, on disk or in memory."""
        if self._manifest is not None:
            return self._manifest.fingerprint
        return self._content.hexdigest()

    @cached_property
    def truth_fingerprint(self) -> str:
        """sha256 of all that is true of the scenes: the content without the pictures (`views.image`)."""
        if self._manifest is not None and self._manifest.truth:
            return self._manifest.truth
        return self._content.hexdigest(pictures=False)

    @cached_property
    def _content(self) -> Fingerprint:
        content = Fingerprint()
        for part in self._parts:
            content.update(read_shard(part))
        return content

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits, sorted; scenes may also have none."""
        if self._manifest is not None:
            return self._manifest.splits
        return tuple(sorted({s for p in self._parts for s in p.frame("views")["split"].unique()} - {""}))

    def memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was derived from this dataset under that key; made on first use, and kept while it is open."""
        if key not in self._memo:
            with self.faults_told():
                self._memo[key] = make()
        value: T = self._memo[key]
        return value

    @contextmanager
    def faults_told(self) -> Iterator[None]:
        """Around what is made of the rows: where unsound ones break it, tell the first thing wrong with them.

        Errors that name no file name the folder. Nothing is looked at unless something fails.
        """
        try:
            with naming(self.path):
                yield
        except (SightlineError, *_BROKEN) as error:
            named = getattr(error, "file", None)
            if named is None or not Path(named).is_relative_to(self.path):
                for fault in (*self.verify(), *check_tables(self.tables())):
                    with naming(self.path):
                        raise fault from None
            raise

    def __len__(self) -> int:
        return sum(part.scenes for part in self._parts)

    def __iter__(self) -> Iterator[Scene]:
        return self.scenes()

    @overload
    def __getitem__(self, place: int) -> Scene: ...

    @overload
    def __getitem__(self, place: slice) -> list[Scene]: ...

    def __getitem__(self, place: int | slice) -> Scene | list[Scene]:
        """The scene at a place in the order of `scenes`, counted from the end if negative; a list for a slice."""
        if isinstance(place, slice):
            return [self.scene(name) for name in self._ids[place]]
        if not -len(self) <= place < len(self):
            raise IndexError(f"no scene {place}: {self.path} has {len(self)}")
        return self.scene(self._ids[place])

    @cached_property
    def _ids(self) -> list[str]:
        """Ids of all scenes in the order of `scenes`."""
        frames = (part.frame("views") for part in self._parts)
        return [name for views in frames for name in views["scene_id"].unique(maintain_order=True)]

    @property
    def pictureless(self) -> tuple[int, int]:
        """How many images name no picture, and how many images there are."""
        counts = self.scan("views").select(pl.col("image").is_null().sum(), total=pl.len()).collect()
        bare, total = counts.row(0)
        return int(bare), int(total)

    def __repr__(self) -> str:
        return f"Dataset({str(self.path)!r}, scenes={len(self)}, shards={len(self._parts)})"

    def scenes(self, split: str | None = None, *, on_error: OnError = "raise") -> Iterator[Scene]:
        """All scenes, or those of a split, one shard in memory at a time.

        Shards come in stored order, scenes within one by id. A shard is checked as a whole before its first scene.
        """
        for tables in self._read(split, on_error):
            yield from map(self._whole, scenes_from_tables(tables, blobs=self.blobs))

    def scene(self, scene_id: str) -> Scene:
        """One scene by id; a DataError if there is none."""
        for part in self._parts:
            if part.may_hold(scene_id):
                rows = part.rows_of(scene_id)
                if rows.views.height:
                    return self._whole(next(scenes_from_tables(rows, blobs=self.blobs)))
        raise DataError("no such scene", file=self.path, field="scene_id", found=scene_id)

    def scan(self, table: str, *, on_error: OnError = "raise") -> pl.LazyFrame:
        """One table over all shards, lazily: filters and column choices reach the files.

        Files that are missing, damaged or have other columns are found here, each looked at once until it changes.
        """
        if table not in SCHEMAS:
            raise ConfigError(f"unknown table {table!r}: choose one of {', '.join(SCHEMAS)}")
        sources = [_attempt(partial(part.scannable, table), on_error) for part in self._parts]
        files = [f for f in sources if isinstance(f, Path)]
        frames = [f.lazy() for f in sources if isinstance(f, pl.DataFrame)]
        if files:
            missing: Literal["insert", "raise"] = "insert" if table in LATER else "raise"
            frames.append(pl.scan_parquet(files, schema=SCHEMAS[table], missing_columns=missing))
        return pl.concat(frames) if frames else pl.LazyFrame(schema=SCHEMAS[table])

    def tables(self, split: str | None = None, *, on_error: OnError = "raise") -> Tables:
        """All rows, or those of one split, in memory."""
        return Tables.concat(self._read(split, on_error))

    def verify(self) -> list[DataError]:
        """Everything that is wrong with the stored bytes: shards, fingerprints, ids that stand twice, blobs.

        Reads everything, one shard in memory at a time. What the rows say about each other is for `check_tables`.
        """
        problems: list[DataError] = []
        content = Fingerprint()
        ranges: list[tuple[str, str, pl.Series]] = []
        for part in self._parts:
            frames = {n: _attempt(partial(part.frame, n), problems.append) for n in SCHEMAS}
            whole = {n: f for n, f in frames.items() if f is not None}
            if len(whole) == len(SCHEMAS):
                tables = Tables(**whole)
                content.update(tables)
                problems += self._part_problems(part.info, tables)
                ranges.append((part.info.first, part.info.last, tables.views["scene_id"].unique()))
        manifest = self._manifest
        if manifest is not None and not problems:
            truth = content.hexdigest(pictures=False)
            pairs = ((manifest.fingerprint, content.hexdigest()), (manifest.truth or truth, truth))
            problems += [_mismatch(self.path / MANIFEST, said, found) for said, found in pairs if said != found]
        return problems + self._doubled(ranges)

    def _whole(self, scene: Scene) -> Scene:
        return scene if self._completed is None else self._completed(scene)

    def _read(self, split: str | None, on_error: OnError) -> Iterator[Tables]:
        if split and split not in self.splits:
            raise ConfigError(f"{self.path} has no split {split!r}: it has {', '.join(self.splits) or 'none'}")
        for part in self._parts:
            tables = _attempt(partial(read_shard, part, split), on_error)
            if tables is not None:
                yield tables

    def _part_problems(self, info: ShardInfo, tables: Tables) -> list[DataError]:
        problems = []
        if fingerprint(tables) != info.fingerprint:
            problems.append(_mismatch(self.path / MANIFEST, info.fingerprint, fingerprint(tables), info.name))
        ids = tables.views["scene_id"]
        if (ids.n_unique(), ids.min() or "", ids.max() or "") != (info.scenes, info.first, info.last):
            problems.append(
                DataError("shard holds other scenes than told", file=self.path / MANIFEST, row=info.name)
            )
        refs = {r for c in PIXELS for r in tables.views[c].drop_nulls().unique()}
        damage = (self.blobs.damage(ref) for ref in sorted(refs) if ref.startswith(PREFIX))
        return problems + [d for d in damage if d is not None]

    def _doubled(self, ranges: list[tuple[str, str, pl.Series]]) -> list[DataError]:
        ordered = sorted(ranges, key=lambda r: r[:2])
        if all(a[1] < b[0] for a, b in pairwise(ordered)):
            return []
        ids = pl.concat([r[2] for r in ordered])
        doubled = ids.filter(ids.is_duplicated()).unique().sort()
        return [DataError("scene stands in two shards", file=self.path, field="scene_id", found=i) for i in doubled]


def open_dataset(path: str | Path, *, allow_outside: bool = False) -> Dataset:
    """Open a Sightline dataset, or read a file or folder of a known format into memory.

    Nothing is written. An outside format is read and checked as a whole, so `sightline import` pays off for
    anything large or opened often.

    Args:
        path: The file or folder.
        allow_outside: Files and links in it may lead out of the folder.
    """
    place = Path(path)
    if is_dataset(place):
        return Dataset.open(place, allow_outside=allow_outside)
    if (place / PARTIAL).is_dir():
        raise DataError("still being generated: run the same sightline generate again to go on", file=place)
    parts = detect(place).read(place, allow_outside=allow_outside)
    return Dataset.from_tables(Tables.concat(parts), path=place)


def _attempt(action: Callable[[], T], on_error: OnError) -> T | None:
    try:
        return action()
    except DataError as error:
        if on_error == "raise":
            raise
        if callable(on_error):
            on_error(error)
        return None


def _mismatch(file: Path, expected: str, found: str, shard: str | None = None) -> DataError:
    return DataError("fingerprint does not fit", file=file, row=shard, expected=expected, found=found)
