"""A dataset from a world: pieces made by workers, resumed where they stopped, closed when all are there."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sightline.engine import Task
from sightline.engine import run as run_tasks
from sightline.errors import ConfigError, SightlineError
from sightline.generate.backends import BackendName
from sightline.generate.canonical import Strip, draw, missing_looks
from sightline.generate.kernels import compiling_told, warm_up
from sightline.generate.making import maker_of
from sightline.generate.opening import open_any
from sightline.generate.own_shapes import baked, keep
from sightline.generate.pieces import RECIPE, finished, make, missing
from sightline.generate.recipe import Recipe, differences, recipe_for
from sightline.store import Dataset, atomic_write, is_dataset
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
)
from sightline.store.schema import SCHEMAS
from sightline.store.shards import DiskShard, read_shard
from sightline.worlds import World, load_world

SCENES_PER_SHARD = 100
"""What is lost at most, for each worker, when a run is killed; fewer where there would be no work for all."""

Progress = Callable[[int, int], None]

_TEMPORARY = ".*.tmp"  # what a killed run leaves of a file it was writing


def generate(
    world: str | Path | World,
    out: str | Path,
    *,
    scenes: int,
    views: Sequence[str] | None = None,
    seed: int = 0,
    start: int = 0,
    size: tuple[int, int] | None = None,
    image_format: str | None = "png",
    depth: str | None = "png",
    renderer: BackendName = "fast",
    settings: Mapping[str, Any] | None = None,
    canonical: int = 0,
    overwrite: bool = False,
    workers: int = 0,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> Dataset:
    """Invent scenes of a world and store them with pictures and exact truth; give the dataset, opened.

    The same call again goes on where the last one stopped, whatever stopped it: no scene is lost or made twice.
    More `scenes` extend a dataset. What is made does not depend on workers, order or interruptions.

    Args:
        world: Name of a preset, a world file, or a world.
        out: The dataset's folder: new, empty, or one that this very recipe was begun in.
        scenes: How many, counted from `start`.
        views: Names of the world's cameras; by default the original one alone.
        seed: Of the scenes; (world, seed, index) is one scene, always.
        start: Index of the first scene.
        size: Width and height in pixels; by default the world's.
        image_format: ``png``, ``jpeg`` or ``webp``, with a quality if need be (``jpeg:90``); None keeps truth
            alone: no pictures, no id or depth maps, and is many times faster.
        depth: ``png``: 16 bits, whole millimetres; ``npz``: float32 metres; None: no depth maps.
        renderer: ``fast``, or ``blender`` for pictures by Cycles.
        settings: The renderer's, those that differ from its own defaults.
        canonical: Canonical views to keep of every distinct object, see `canonical_of`; more may be added later.
        overwrite: Begin anew where the folder holds more scenes, or scenes that another recipe made.
        workers: Processes; 0 works in this one.
        progress: Called with scenes done and scenes asked for.
        say: Called with a few words when something else than scenes takes its time.

    Raises:
        ConfigError: An unknown name, a folder that holds something else, or scenes made by another recipe.
        SightlineError: A full disk or too little memory; finished shards stay, and the same call goes on from them.
    """
    if scenes < 1:
        raise ConfigError(f"scenes must be at least 1, not {scenes}")
    known = world if isinstance(world, World) else load_world(world)
    recipe = recipe_for(
        known,
        views=views,
        seed=seed,
        start=start,
        size=size,
        image=image_format,
        depth=depth,
        renderer=renderer,
        render=settings,
        canonical=canonical,
    )
    folder = Path(out).resolve()
    with _locked(folder):
        try:
            done = _finished(folder, recipe, scenes)
        except ConfigError:
            if not (overwrite and _is_generated(folder)):
                raise
            _clear(folder)
            done = []
        with _stopping(folder, done), compiling_told(say):
            _begin(folder, recipe, baked(known.settings)[1], anew=not (done or is_dataset(folder)))
            _make_rest(folder, recipe, done, scenes, workers, progress)
            _draw_rest(folder, recipe, workers, say)
            _close(folder, recipe)
    return open_any(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for one run alone; the lock dies with the process."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file, not a folder to write into")
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ConfigError(f"{folder}: another run is generating here") from None
    finally:
        with suppress(OSError):
            folder.rmdir()  # where nothing came of it; refused unless empty
        os.close(handle)


def _finished(folder: Path, recipe: Recipe, scenes: int) -> list[ShardInfo]:
    """What is finished in a folder; a ConfigError where it is not to be gone on with."""
    names = {p.name for p in folder.iterdir()} - {p.name for p in folder.glob(_TEMPORARY)}
    note = folder / PARTIAL / RECIPE
    manifest = read_manifest(folder) if is_dataset(folder) else None
    if names and manifest is None and not names <= set(OWNED):
        raise ConfigError(f"{folder} is not empty and holds no {MANIFEST}; choose another folder")
    if manifest is not None and manifest.recipe is None:
        raise ConfigError(f"{folder} holds a dataset that was not generated; choose another folder")
    done = finished(folder, manifest.shards if manifest else ())
    if manifest is not None or done:
        told = manifest.recipe if manifest else json.loads(note.read_bytes())
        _refuse_other(folder, Recipe.from_dict(told or {}, note), recipe)
    held = sum(shard.scenes for shard in done)
    if held > scenes:
        raise ConfigError(f"{folder} holds {held} scenes already, more than the {scenes} asked for")
    return done


def _is_generated(folder: Path) -> bool:
    """Whether all there is in a folder was put there by `generate`."""
    if not {p.name for p in folder.iterdir()} <= set(OWNED):
        return False
    return (folder / PARTIAL / RECIPE).exists() or (is_dataset(folder) and read_manifest(folder).recipe is not None)


def _begin(folder: Path, recipe: Recipe, shapes: bytes, *, anew: bool) -> None:
    """Note the recipe down, for workers and for the next run."""
    if anew:
        _clear(folder)
    (folder / PARTIAL).mkdir(exist_ok=True)
    atomic_write(folder / PARTIAL / RECIPE, recipe.to_json().encode())
    keep(folder, recipe.settings, shapes)


def _refuse_other(folder: Path, old: Recipe, new: Recipe) -> None:
    more = old.canonical < new.canonical  # they change no scene
    differing = differences(replace(old, canonical=new.canonical) if more else old, new)
    if differing:
        shown = 1 if old.world != new.world else 5  # of another world everything differs
        listed = "; ".join(differing[:shown]) + ("; …" if len(differing) > shown else "")
        raise ConfigError(
            f"{folder} holds scenes made by another recipe (there, now: {listed}); choose another folder"
        )


def _make_rest(
    folder: Path, recipe: Recipe, done: Sequence[ShardInfo], scenes: int, workers: int, progress: Progress | None
) -> None:
    made = sum(shard.scenes for shard in done)

    def tell(more: int) -> None:
        nonlocal made
        made += more
        if progress is not None:
            progress(made, scenes)

    tell(0)
    size = _shard_size(scenes - made, workers)
    pieces = missing(folder, done, recipe.start, recipe.start + scenes, size)
    tasks = [Task(f"scenes {p.start}–{p.stop - 1}", p) for p in pieces]
    if not tasks:
        return
    if workers:
        warm_up(maker_of(folder, recipe.to_json()))
        run_tasks(tasks, make, workers=workers, on_done=lambda task, _: tell(len(task.payload)))
    else:
        run_tasks(tasks, lambda piece: make(piece, tell))


def _draw_rest(folder: Path, recipe: Recipe, workers: int, say: Callable[[str], None] | None) -> None:
    """The canonical views that are not there yet."""
    if not recipe.canonical:
        return
    looks = missing_looks(folder, _all_shards(folder), recipe.canonical)
    if looks and say is not None:
        say(f"canonical views: {recipe.canonical} each of {len(looks)} objects")
    strips = [Task(f"canonical views of {' '.join(look)}", Strip(folder, recipe.to_json(), look)) for look in looks]
    run_tasks(strips, draw, workers=min(workers, len(strips)))


@contextmanager
def _stopping(folder: Path, done: Sequence[ShardInfo]) -> Iterator[None]:
    """If the work stops: leave nothing behind where no shard is finished, and say of a full disk what is kept."""
    try:
        yield
    except BaseException as error:
        stay = finished(folder, done)
        if not stay and not is_dataset(folder):
            _clear(folder)
        if isinstance(error, OSError | MemoryError):
            raise _stopped(folder, error, sum(s.scenes for s in stay)) from error
        raise


def _shard_size(scenes: int, workers: int) -> int:
    """Two shards for each worker, where that makes them smaller than usual."""
    return max(1, min(SCENES_PER_SHARD, -(-scenes // max(1, 2 * workers))))


def _stopped(folder: Path, error: OSError | MemoryError, kept: int) -> SightlineError:
    what = (
        f"{kept} finished scenes are kept, the same command goes on from them" if kept else "no scene was finished"
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
    return finished(folder, read_manifest(folder).shards if is_dataset(folder) else ())


def _close(folder: Path, recipe: Recipe) -> None:
    """Write the manifest over all shards; from then on the folder is a dataset, or the larger one."""
    told = read_manifest(folder) if is_dataset(folder) else None
    shards = _all_shards(folder)
    content, splits = Fingerprint(), set[str]()
    for shard in shards:
        tables = read_shard(DiskShard(folder, shard))
        content.update(tables)
        splits |= set(tables.views["split"])
    manifest = Manifest(
        recipe.world,
        datetime.now(UTC).isoformat(timespec="seconds"),
        tuple(sorted(splits - {""})),
        content.hexdigest(),
        tuple(shards),
        recipe=recipe.to_dict(),
    )
    if told is None or (told.shards, told.recipe) != (manifest.shards, manifest.recipe):
        atomic_write(folder / MANIFEST, manifest.to_json())
    _sweep(folder, shards)


def _sweep(folder: Path, shards: Sequence[ShardInfo]) -> None:
    """Remove notes, and what killed runs left in our folders: temporary files, tables of shards cut otherwise."""
    shutil.rmtree(folder / PARTIAL)
    kept = {f"{shard.name}.parquet" for shard in shards}
    for table in SCHEMAS:
        for file in (folder / table).iterdir():
            if file.name not in kept:
                file.unlink()
    for place in ("", f"{SHAPES}/", f"{CANONICAL}/", f"{IMAGES}/??/"):
        for file in folder.glob(place + _TEMPORARY):
            file.unlink()
