"""Tables into a dataset folder, shard by shard, in memory that does not grow with the dataset."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from sightline.errors import ConfigError, DataError, PictureError
from sightline.files import atomic_write, staged_folder
from sightline.scenes import Scene, validate
from sightline.store.blobs import PREFIX, Blobs
from sightline.store.convert import by_scene, scene_count, tables_in_parts
from sightline.store.dataset import Dataset
from sightline.store.fingerprint import Fingerprint
from sightline.store.manifest import CANONICAL, MANIFEST, OWNED, SHAPES, Manifest, ShardInfo
from sightline.store.pictures import picture_faults
from sightline.store.schema import PIXELS, SCHEMAS
from sightline.store.shards import table_file, write_shard
from sightline.store.tables import Tables

Images = Mapping[str, Path | bytes]


def write(
    tables: Tables | Iterable[Tables],
    path: str | Path,
    *,
    source: str = "",
    scenes_per_shard: int = 20_000,
    images: Mapping[str, Path] | Mapping[str, bytes] | Images | None = None,
    copy: bool = False,
    on_broken: Callable[[PictureError], None] | None = None,
    ordered: bool = False,
    overwrite: bool = False,
    compression: str = "zstd",
) -> Dataset:
    """Write a dataset folder and open it.

    The folder appears under its name only when it is complete; a write that fails leaves what stood there before.

    Args:
        tables: All scenes at once, or parts of whole scenes. Each shard is sorted by scene; a stream in order of
            scene ids, or `ordered`, gives shards that do not overlap, and so the fastest access to one scene.
        path: The folder. A dataset that is there already is a ConfigError unless `overwrite`.
        source: A word on where the data comes from, for the manifest.
        scenes_per_shard: Memory grows with it, the number of files shrinks.
        images: Files or bytes to keep as blobs, by the reference that stands in ``views.image``, ``depth``,
            ``ids`` or ``stuff``; the reference becomes ``blob:…``. Other paths stay as they are.
        copy: Keep the files that other paths lead to as well. Each picture is looked at first (see `pictures`).
        on_broken: Told of every picture that cannot be read or has another size than its view; its scene goes on
            without it, and a scene that has nothing else is left out. By default the first such picture is raised.
        ordered: Order scenes by their ids over all shards, as if all had come at once.
        overwrite: Replace a dataset.
        compression: Of the Parquet files, a codec polars knows.
    """
    if scenes_per_shard < 1:
        raise ConfigError(f"scenes_per_shard must be at least 1, not {scenes_per_shard}")
    parts = [tables] if isinstance(tables, Tables) else tables
    with _stage(path, overwrite) as stage:
        blobs = Blobs(stage)
        pieces = _cut((_keep_images(p, images or {}, blobs, copy, on_broken) for p in parts), scenes_per_shard)
        _write_all(stage, _ordered(stage, pieces, scenes_per_shard) if ordered else pieces, source, compression)
    return Dataset.open(path)


def write_scenes(
    scenes: Iterable[Scene],
    path: str | Path,
    *,
    source: str = "",
    scenes_per_shard: int = 20_000,
    overwrite: bool = False,
) -> Dataset:
    """Write scenes one shard at a time; pixels they hold only in memory become blobs. See `write`.

    Every scene is validated here, at the border.
    """
    with _stage(path, overwrite) as stage:
        batches = tables_in_parts(map(validate, scenes), scenes_per_shard, blobs=Blobs(stage))
        _write_all(stage, _cut(batches, scenes_per_shard), source)
    return Dataset.open(path)


def write_some(data: Dataset, scenes: Collection[str], path: str | Path, *, overwrite: bool = False) -> Dataset:
    """Write some scenes of a dataset as one of its own, with pictures; generated ones can be made again there too.

    Relations to objects of scenes that are left behind are left out. See `write`.
    """
    kept, tables = pl.Series(list(scenes), dtype=pl.String).implode(), data.tables()
    frames = {name: frame.filter(pl.col("scene_id").is_in(kept)) for name, frame in tables.frames()}
    other = pl.col("object_scene")
    frames["relations"] = frames["relations"].filter(other.is_null() | other.is_in(kept))
    with _stage(path, overwrite) as stage:
        part = _keep_images(Tables(**frames), data.blobs, Blobs(stage), copy=True, on_broken=None)
        for folder in (SHAPES, CANONICAL) if data.recipe is not None else ():
            if (data.path / folder).is_dir():
                copytree(data.path / folder, stage / folder)
        _write_all(stage, _cut([part], 20_000), data.source, recipe=data.recipe)
    return Dataset.open(path)


def _stage(path: str | Path, overwrite: bool) -> AbstractContextManager[Path]:
    return staged_folder(path, owned=OWNED, marker=MANIFEST, overwrite=overwrite)


def _write_all(
    folder: Path,
    pieces: Iterable[Tables],
    source: str,
    compression: str = "zstd",
    recipe: Mapping[str, Any] | None = None,
) -> None:
    for name in SCHEMAS:
        (folder / name).mkdir()
    content = Fingerprint()
    shards: list[ShardInfo] = []
    splits: set[str] = set()
    for tables in pieces:
        _refuse_known(folder, shards, tables)
        shards.append(write_shard(folder, f"{len(shards):05d}", tables, compression=compression))
        content.update(tables)
        splits.update(tables.views["split"].unique())
    created = datetime.now(UTC).isoformat(timespec="seconds")
    named = tuple(sorted(splits - {""}))
    whole, truth = content.hexdigest(), content.hexdigest(pictures=False)
    manifest = Manifest(source, created, named, whole, tuple(shards), truth=truth, recipe=recipe)
    atomic_write(folder / MANIFEST, manifest.to_json())


def _cut(parts: Iterable[Tables], size: int) -> Iterator[Tables]:
    """The same scenes in sorted pieces of `size` scenes, the last one smaller."""
    held: list[Tables] = []
    scenes = 0
    for part in parts:
        _require_whole(part)
        held.append(part)
        scenes += scene_count(part)
        if scenes >= size:
            *full, rest = _pieces(held, scenes, size)
            yield from full
            held, scenes = [rest], scene_count(rest)
    yield from (p for p in _pieces(held, scenes, size) if p.views.height)


def _ordered(folder: Path, pieces: Iterator[Tables], size: int) -> Iterator[Tables]:
    """The same scenes in order of their ids over all pieces; more pieces than one wait in a folder of their own."""
    first, second = next(pieces, None), next(pieces, None)
    if first is None or second is None:
        yield from () if first is None else (first,)
        return
    with TemporaryDirectory(dir=folder, prefix=".unordered-") as waiting:
        shards = [
            write_shard(Path(waiting), f"{i:05d}", piece) for i, piece in enumerate(chain((first, second), pieces))
        ]
        files = {name: [table_file(Path(waiting), name, shard.name) for shard in shards] for name in SCHEMAS}
        named = [pl.read_parquet(file, columns=["scene_id"])["scene_id"].unique() for file in files["views"]]
        ids = pl.concat(named).sort()
        if not ids.is_unique().all():
            found = ids.filter(ids.is_duplicated())[0]
            raise DataError("scene stands in two shards", field="scene_id", found=found)
        for start in range(0, len(ids), size):
            first_id, last_id = ids[start], ids[min(start + size, len(ids)) - 1]
            span = pl.col("scene_id").is_between(pl.lit(first_id), pl.lit(last_id))
            yield Tables(**{n: pl.scan_parquet(f).filter(span).collect() for n, f in files.items()}).sorted()


def _pieces(held: list[Tables], scenes: int, size: int) -> Iterator[Tables]:
    """Sorted pieces of `size` scenes, then one of what is left (maybe nothing)."""
    tables = by_scene(Tables.concat(held))
    ids = tables.views["scene_id"].unique(maintain_order=True)
    if len(ids) != scenes:
        raise DataError("scene stands in two parts", field="scene_id", found=_twice(held))
    cuts = ids.gather_every(size).slice(1)
    edges = {n: [0, *f["scene_id"].search_sorted(cuts, side="left"), f.height] for n, f in tables.frames()}
    for k in range(len(cuts) + 1):
        yield Tables(**{n: f.slice(edges[n][k], edges[n][k + 1] - edges[n][k]) for n, f in tables.frames()})
    if len(ids) % size == 0:
        yield Tables.build()


def _twice(held: list[Tables]) -> str:
    ids = pl.concat([p.views["scene_id"].unique() for p in held])
    return str(ids.filter(ids.is_duplicated()).min())


def _require_whole(tables: Tables) -> None:
    ids = tables.views["scene_id"].unique()
    for name, frame in tables.frames():
        if frame.schema != SCHEMAS[name]:
            raise DataError("table does not have the schema's columns", field=name, expected=dict(SCHEMAS[name]))
        if frame["scene_id"].null_count():
            raise DataError("row without a scene", field=f"{name}.scene_id")
        orphans = frame["scene_id"].filter(~frame["scene_id"].is_in(ids.implode()))
        if len(orphans):
            raise DataError("rows of a scene that has no view", field=f"{name}.scene_id", found=orphans[0])


def _refuse_known(folder: Path, shards: list[ShardInfo], tables: Tables) -> None:
    """A DataError if a scene stands in an earlier shard; only shards with overlapping ranges are looked at."""
    ids = tables.views["scene_id"]
    overlapping = [
        table_file(folder, "views", s.name) for s in shards if not (s.last < ids[0] or s.first > ids[-1])
    ]
    if not overlapping:
        return
    earlier = pl.scan_parquet(overlapping).select("scene_id")
    doubled = earlier.filter(pl.col("scene_id").is_in(ids.unique().implode())).head(1).collect()
    if doubled.height:
        raise DataError("scene stands in two shards", field="scene_id", found=doubled["scene_id"][0])


def _keep_images(
    tables: Tables, images: Images, blobs: Blobs, copy: bool, on_broken: Callable[[PictureError], None] | None
) -> Tables:
    if copy:
        tables = _without_broken(tables, images, on_broken)
    columns = [_kept_column(tables.views[c], images, blobs, copy=copy) for c in PIXELS]
    return Tables(tables.views.with_columns(columns), tables.objects, tables.sightings, tables.relations)


def _without_broken(tables: Tables, images: Images, on_broken: Callable[[PictureError], None] | None) -> Tables:
    """The tables without references to pictures that cannot be used, and without scenes that were only such."""
    outside = ~pl.col("image").str.starts_with(PREFIX) & ~pl.col("image").is_in(list(images))
    faults = picture_faults(tables.views.filter(outside), Blobs(Path(), allow_outside=True))
    if not faults:
        return tables
    for fault in faults.values():
        if on_broken is None:
            raise fault
        on_broken(fault)
    key = pl.concat_list("scene_id", "view_id")
    broken = key.is_in([list(place) for place in faults])
    views = tables.views.with_columns(image=pl.when(broken).then(None).otherwise("image"))
    bare = broken & ~pl.col("scene_id").is_in(tables.objects["scene_id"].implode())
    return Tables(views.filter(~bare), tables.objects, tables.sightings, tables.relations)


def _kept_column(column: pl.Series, images: Images, blobs: Blobs, *, copy: bool) -> pl.Series:
    refs = column.drop_nulls().unique()
    named = [r for r in refs if r in images or (copy and not r.startswith(PREFIX))]
    kept = {ref: _keep(ref, images.get(ref, Path(ref)), blobs) for ref in named}
    lost = [r for r in refs if r.startswith(PREFIX) and r not in kept and r not in blobs]
    if lost:
        raise DataError("blob is not at hand: give it in images", field=f"views.{column.name}", found=lost[0])
    return column.replace(kept) if kept else column


def _keep(ref: str, given: Path | bytes, blobs: Blobs) -> str:
    suffix = Path(ref).suffix
    if isinstance(given, bytes):
        return blobs.put(given, suffix)
    try:
        return blobs.put(Path(given).read_bytes(), Path(given).suffix or suffix)
    except OSError as error:
        raise DataError(f"picture cannot be read: {error.strerror}", file=given) from error
