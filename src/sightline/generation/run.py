"""A dataset from a world: shards made by workers, resumed where they stopped, closed when all are there.

While a dataset is being made its folder holds ``partial/``: ``recipe.json``, and one ``<shard>.json`` for every
finished shard. A shard holds consecutive scenes and is made whole or not at all. It is named after the index of its
first scene, so its name and its number of scenes tell which scenes it holds, however they were dealt out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from numba.core.event import Listener, install_listener

from sightline.documents import read_json_object
from sightline.engine import Task
from sightline.engine import run as run_tasks
from sightline.errors import ConfigError, DataError, SightlineError
from sightline.files import atomic_write, open_locked, user_cache
from sightline.generation.canonical import missing_looks, save
from sightline.generation.open import open_any
from sightline.generation.recipe import DatasetRecipe, RendererName, differences, recipe_for, save_meshes
from sightline.generation.scene import SceneMaker
from sightline.render.fast.renderer import shading_compiled_beside
from sightline.render.fast.shade import is_compiled
from sightline.scenes import Scene, validate
from sightline.store import Blobs, Dataset, is_dataset, tables_from_scenes
from sightline.store.fingerprint import Fingerprint
from sightline.store.manifest import (
    CANONICAL,
    IMAGES,
    MANIFEST,
    OWNED,
    PARTIAL,
    SHAPES,
    Manifest,
    ShardInfo,
    read_manifest,
    read_shard_note,
    shard_to_dict,
)
from sightline.store.schema import PIXELS, SCHEMAS
from sightline.store.shards import DiskShard, read_shard, write_shard
from sightline.text import counted
from sightline.worlds import World, load_world

SCENES_PER_SHARD = 100
"""What is lost at most, for each worker, when a run is killed; fewer where there would be no work for all."""

WORTH_WORKERS = 50 * 480 * 320
"""Pixels. Starting workers takes a few seconds each; less work than this is done sooner without them."""

RECIPE = "recipe.json"

COMPILING = "compiling kernels, once: about half a minute"

Progress = Callable[[int, int], None]
Say = Callable[[str], None]

_TEMPORARY = ".*.tmp"  # what a killed run leaves of a file it was writing


def generate(
    world: str | Path | World,
    out: str | Path | None = None,
    *,
    scenes: int,
    views: str | Sequence[str] | None = None,
    seed: int = 0,
    start: int = 0,
    size: str | tuple[int, int] | None = None,
    image_format: str | None = "png",
    depth: str | None = "png",
    renderer: RendererName = "fast",
    settings: Mapping[str, Any] | None = None,
    canonical: int = 0,
    pairs: bool = False,
    sensor: str | None = None,
    overwrite: bool = False,
    workers: int | None = 0,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Dataset:
    """Generate scenes of a world and store them with pictures and exact truth; give the dataset, opened.

    The same call again goes on where the last one stopped, whatever stopped it: no scene is lost or made twice.
    More `scenes` extend a dataset. What is made does not depend on workers, order or interruptions.

    Args:
        world: Name of a preset, a world file, or a world.
        out: The dataset's folder: new, empty, or one that this very recipe was begun in. By default one in the
            user's cache (``SIGHTLINE_CACHE``, else ``~/.cache/sightline``), found again by the same recipe and
            number of scenes; another process that wants the same waits until it is finished.
        scenes: How many, counted from `start`.
        views: Names of the world's cameras, with commas between where it is one text; by default the original one.
        seed: Of the scenes; (world, seed, index) is one scene, always.
        start: Index of the first scene.
        size: Width and height in pixels, or ``"480x320"``; by default the world's.
        image_format: ``png``, ``jpeg`` or ``webp``, with a quality if need be (``jpeg:90``); None (or ``none``)
            keeps truth alone: no pictures, no id or depth maps, and is many times faster.
        depth: ``png``: 16 bits, whole millimetres; ``npz``: float32 metres; None: no depth maps.
        renderer: ``fast``, or ``blender`` for pictures by Cycles.
        settings: The renderer's, those that differ from its own defaults.
        canonical: Canonical views to keep of every distinct object, see `canonical_of`; more may be added later.
        pairs: Make scenes 2m and 2m + 1 partners and say of their objects which is closer to its camera; see
            `render.truth.across_label`. A scene whose partner is not in the set has none.
        sensor: What pictures are taken by instead of the world's: ``none``, an ideal camera; ``phone``, ``webcam``.
        overwrite: Begin anew where the folder holds more scenes, or scenes that another recipe made.
        workers: Processes; 0 works in this one, None takes one a core where there is enough to do. With processes
            a script must guard its entry with ``if __name__ == "__main__"``.
        progress: Called with scenes done and scenes asked for.
        say: Called with a few words when something else than scenes takes its time.

    Raises:
        ConfigError: An unknown name, a folder that holds something else, or scenes made by another recipe.
        SightlineError: A full disk or too little memory; finished shards stay, and the same call goes on from them.
    """
    if scenes < 1:
        raise ConfigError(f"scenes must be at least 1, not {scenes}")
    known = world if isinstance(world, World) else load_world(world)
    recipe, meshes = recipe_for(
        known,
        views,
        seed,
        start,
        size,
        image_format,
        depth,
        renderer,
        render=settings,
        canonical=canonical,
        pairs=pairs,
        sensor=sensor,
    )
    count = default_workers(recipe, scenes) if workers is None else workers
    folder = cache_folder(recipe, scenes) if out is None else Path(out).resolve()
    with _turn(folder) if out is None else nullcontext(), _locked(folder):
        done = _resumable(folder, recipe, scenes, overwrite=overwrite)
        with _stopping(folder, done), _noting_compilation(say):
            _begin(folder, recipe, meshes, anew=not (done or is_dataset(folder)))
            maker = SceneMaker(folder, recipe)
            _make_rest(maker, done, scenes, count, progress)
            _draw_rest(maker, count, say)
            _close(folder, recipe)
    return open_any(folder)


def cache_folder(recipe: DatasetRecipe, scenes: int) -> Path:
    """Where a dataset lies that was generated without a folder: named by its world and a hash of its recipe."""
    digest = hashlib.sha256(json.dumps([recipe.to_dict(), scenes], sort_keys=True).encode()).hexdigest()
    return user_cache() / "worlds" / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', recipe.world)}-{digest[:16]}"


def default_workers(recipe: DatasetRecipe, scenes: int) -> int:
    """One for each core we may use, where there is enough to do; Blender takes all cores by itself."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    width, height = recipe.settings["resolution"]
    pixels = scenes * len(recipe.views) * width * height
    return 0 if recipe.renderer == "blender" or cores == 1 or pixels < WORTH_WORKERS else cores


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until no other process makes the same cached dataset: it may then be there already."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    handle = open_locked(folder.with_name(f"{folder.name}.lock"), busy=None, flags=os.O_RDWR | os.O_CREAT)
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for one run alone."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file, not a folder to write into")
    folder.mkdir(parents=True, exist_ok=True)
    handle = open_locked(folder, busy=f"{folder}: another run is generating here")
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()  # where nothing came of it; refused unless empty
        os.close(handle)


def _resumable(folder: Path, recipe: DatasetRecipe, scenes: int, *, overwrite: bool) -> list[ShardInfo]:
    """The finished shards to go on from; with `overwrite` none where they are not of this recipe."""
    try:
        return _finished(folder, recipe, scenes)
    except ConfigError:
        if not (overwrite and _is_generated(folder)):
            raise
        _clear(folder)
        return []


def _finished(folder: Path, recipe: DatasetRecipe, scenes: int) -> list[ShardInfo]:
    """What is finished in a folder; a ConfigError where it is not to be gone on with."""
    names = {p.name for p in folder.iterdir()} - {p.name for p in folder.glob(_TEMPORARY)}
    note = folder / PARTIAL / RECIPE
    manifest = read_manifest(folder) if is_dataset(folder) else None
    if names and manifest is None and not names <= set(OWNED):
        raise ConfigError(f"{folder} is not empty and holds no {MANIFEST}; choose another folder")
    if manifest is not None and manifest.recipe is None:
        raise ConfigError(f"{folder} holds a dataset that was not generated; choose another folder")
    done = finished_shards(folder, manifest.shards if manifest else ())
    if manifest is not None or done:
        stored = manifest.recipe if manifest else read_json_object(note)
        _refuse_other(folder, DatasetRecipe.from_dict(stored or {}, note), recipe)
    held = sum(shard.scenes for shard in done)
    if held > scenes:
        raise ConfigError(f"{folder} holds {counted(held, 'scene')} already, more than the {scenes} asked for")
    return done


def _is_generated(folder: Path) -> bool:
    """Whether all there is in a folder was put there by `generate`."""
    if not {p.name for p in folder.iterdir()} <= set(OWNED):
        return False
    return (folder / PARTIAL / RECIPE).exists() or (is_dataset(folder) and read_manifest(folder).recipe is not None)


def _begin(folder: Path, recipe: DatasetRecipe, meshes: bytes, *, anew: bool) -> None:
    """Note the recipe down for the next run."""
    if anew:
        _clear(folder)
    (folder / PARTIAL).mkdir(exist_ok=True)
    atomic_write(folder / PARTIAL / RECIPE, recipe.to_json().encode())
    save_meshes(folder, recipe.settings, meshes)


def _refuse_other(folder: Path, old: DatasetRecipe, new: DatasetRecipe) -> None:
    more = old.canonical < new.canonical  # they change no scene
    differing = differences(replace(old, canonical=new.canonical) if more else old, new)
    if differing:
        shown = 1 if old.world != new.world else 5  # of another world everything differs
        listed = "; ".join(differing[:shown]) + ("; …" if len(differing) > shown else "")
        raise ConfigError(
            f"{folder} holds scenes made by another recipe (there, now: {listed}); choose another folder"
        )


def _make_rest(
    maker: SceneMaker, done: Sequence[ShardInfo], scenes: int, workers: int, progress: Progress | None
) -> None:
    made = sum(shard.scenes for shard in done)

    def count(more: int) -> None:
        nonlocal made
        made += more
        if progress is not None:
            progress(made, scenes)

    count(0)
    start = maker.recipe.start
    spans = missing(done, start, start + scenes, _shard_size(scenes - made, workers))
    tasks = [Task(f"scenes {span.start}–{span.stop - 1}", span) for span in spans]
    if not tasks:
        return
    _compile_kernels(maker, whole=bool(workers))
    if workers:
        run_tasks(
            tasks, partial(make_shard, maker), workers=workers, on_done=lambda task, _: count(len(task.payload))
        )
    else:
        run_tasks(tasks, lambda span: make_shard(maker, span, count))


def _compile_kernels(maker: SceneMaker, *, whole: bool) -> None:
    """Place a scene and draw a stamp of it: kernels are compiled once, by two processes, before workers begin.

    Without `whole` only what two processes do sooner than one.
    """
    shaded = maker.recipe.renderer == "fast" and maker.recipe.image is not None
    if not whole and (not shaded or is_compiled()):
        return
    with shading_compiled_beside() if shaded else nullcontext():
        layout = maker.layout(maker.recipe.start)
        stamp = replace(layout.shots[0], size=(8, 8))
        maker.renderer.frame(layout, stamp, shade=False)
    if whole and shaded:
        maker.renderer.frame(layout, stamp)


@contextmanager
def _noting_compilation(say: Say | None) -> Iterator[None]:
    """Say so when this process begins to compile; what comes from the cache is not worth a word."""
    if say is None:
        yield
        return
    with install_listener("numba:compile", _FirstCompilation(say)):
        yield


class _FirstCompilation(Listener):
    def __init__(self, say: Say) -> None:
        self._say: Say | None = say

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if self._say is not None:
            self._say(COMPILING)
            self._say = None

    def on_end(self, event: Any) -> None:
        pass


def _draw_rest(maker: SceneMaker, workers: int, say: Say | None) -> None:
    """Draw the canonical views that are not there yet."""
    count = maker.recipe.canonical
    if not count:
        return
    looks = missing_looks(maker.folder, _all_shards(maker.folder), count)
    if looks and say is not None:
        say(f"canonical views: {count} each of {counted(len(looks), 'object')}")
    tasks = [Task(f"canonical views of {' '.join(look)}", look) for look in looks]
    run_tasks(tasks, partial(save, maker), workers=min(workers, len(tasks)))


@contextmanager
def _stopping(folder: Path, done: Sequence[ShardInfo]) -> Iterator[None]:
    """If the work stops: leave nothing behind where no shard is finished, and say of a full disk what is kept."""
    try:
        yield
    except BaseException as error:
        whole = finished_shards(folder, done)
        if not whole and not is_dataset(folder):
            _clear(folder)
        if isinstance(error, OSError | MemoryError):
            raise _stopped(folder, error, sum(s.scenes for s in whole)) from error
        raise


def _shard_size(scenes: int, workers: int) -> int:
    """Two shards for each worker, where that makes them smaller than usual."""
    return max(1, min(SCENES_PER_SHARD, -(-scenes // max(1, 2 * workers))))


def _stopped(folder: Path, error: OSError | MemoryError, scenes: int) -> SightlineError:
    what = (
        f"{scenes} finished scenes are kept, the same command goes on from them"
        if scenes
        else "no scene was finished"
    )
    if isinstance(error, MemoryError):
        return SightlineError(f"{folder}: not enough memory ({error}); {what}")
    return SightlineError(f"{error.filename or folder}: {error.strerror or error}; {what}")


def _clear(folder: Path) -> None:
    """Remove what is ours: the manifest first, so that no moment shows a dataset with a part missing."""
    (folder / MANIFEST).unlink(missing_ok=True)
    for name in OWNED:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)


def _all_shards(folder: Path) -> list[ShardInfo]:
    return finished_shards(folder, read_manifest(folder).shards if is_dataset(folder) else ())


def _close(folder: Path, recipe: DatasetRecipe) -> None:
    """Write the manifest over all shards; from then on the folder is a dataset, or the larger one."""
    old = read_manifest(folder) if is_dataset(folder) else None
    shards = tuple(_all_shards(folder))
    if old is None or (old.shards, old.recipe) != (shards, recipe.to_dict()):
        same = old if old and old.shards == shards else None
        splits, content, truth = (same.splits, same.fingerprint, same.truth) if same else _content(folder, shards)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(recipe.world, created, splits, content, shards, truth=truth, recipe=recipe.to_dict())
        atomic_write(folder / MANIFEST, manifest.to_json())
    _sweep(folder, shards)


def _content(folder: Path, shards: Sequence[ShardInfo]) -> tuple[tuple[str, ...], str, str]:
    """Splits of all shards together, their fingerprint and that of the truth; those of shards do not add up."""
    content, splits = Fingerprint(), set[str]()
    for shard in shards:
        tables = read_shard(DiskShard(folder, shard))
        content.update(tables)
        splits |= set(tables.views["split"])
    return tuple(sorted(splits - {""})), content.hexdigest(), content.hexdigest(pictures=False)


def _sweep(folder: Path, shards: Sequence[ShardInfo]) -> None:
    """Remove notes, and what killed runs left in our folders: temporary files, tables of shards cut otherwise."""
    shutil.rmtree(folder / PARTIAL)
    current = {f"{shard.name}.parquet" for shard in shards}
    for table in SCHEMAS:
        for file in (folder / table).iterdir():
            if file.name not in current:
                file.unlink()
    for place in ("", f"{SHAPES}/", f"{CANONICAL}/", f"{IMAGES}/??/"):
        for file in folder.glob(place + _TEMPORARY):
            file.unlink()


@dataclass(frozen=True, slots=True)
class ShardSpan:
    """The scenes `start` … `stop` − 1 of a dataset."""

    start: int
    stop: int

    @property
    def name(self) -> str:
        """Name of its shard."""
        return f"{self.start:08d}"

    def __len__(self) -> int:
        return self.stop - self.start


def make_shard(maker: SceneMaker, span: ShardSpan, on_scene: Callable[[int], None] | None = None) -> ShardInfo:
    """Make, render and store the scenes of a shard in the maker's folder; doing it again writes the same bytes.

    Args:
        maker: Makes the scenes.
        span: Which.
        on_scene: Called with 1 after every scene.
    """
    blobs = Blobs(maker.folder, lazy=True)
    tables = tables_from_scenes(_counted(maker.scenes(span.start, span.stop, blobs), on_scene))
    blobs.sync({ref for column in PIXELS for ref in tables.views[column].drop_nulls()})
    info = write_shard(maker.folder, span.name, tables)
    atomic_write(maker.folder / PARTIAL / f"{span.name}.json", json.dumps(shard_to_dict(info)).encode())
    return info


def _counted(scenes: Iterator[Scene], on_scene: Callable[[int], None] | None) -> Iterator[Scene]:
    for scene in scenes:
        yield validate(scene)
        if on_scene is not None:
            on_scene(1)


def finished_shards(folder: Path, known: Sequence[ShardInfo] = ()) -> list[ShardInfo]:
    """List the finished shards of a folder, by index: `known` ones and noted ones whose files are all there."""
    notes = sorted((folder / PARTIAL).glob("[0-9]*.json"))
    shards = {info.name: info for info in [*map(read_shard_note, notes), *known]}
    whole = sorted((s for s in shards.values() if _is_whole(folder, s)), key=first_index)
    for a, b in pairwise(whole):
        if first_index(a) + a.scenes > first_index(b):
            raise DataError("two shards hold the same scenes", file=folder, found=f"{a.name}, {b.name}")
    return whole


def _is_whole(folder: Path, shard: ShardInfo) -> bool:
    """Whether its tables are there in full; their bytes are checked when they are read."""
    try:
        for table in SCHEMAS:
            DiskShard(folder, shard).scannable(table)
    except DataError:
        return False
    return True


def first_index(shard: ShardInfo) -> int:
    """Index of a shard's first scene."""
    return int(shard.name)


def missing(done: Sequence[ShardInfo], start: int, stop: int, size: int) -> list[ShardSpan]:
    """The shards that are not there yet: gaps between finished ones, cut at multiples of `size`.

    >>> [(s.start, s.stop) for s in missing([], 3, 12, 5)]
    [(3, 5), (5, 10), (10, 12)]
    """
    edges = [start, *(e for s in done for e in (first_index(s), first_index(s) + s.scenes)), stop]
    gaps = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
    return [ShardSpan(max(a, cut), min(b, cut + size)) for a, b in gaps for cut in range(a - a % size, b, size)]
