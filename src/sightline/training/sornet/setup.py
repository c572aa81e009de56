"""From options to a training: device, plan and scenes of a SORNet, chosen as by ``sightline train``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from sightline.errors import ConfigError
from sightline.text import counted
from sightline.training.augmentation import Augmentation
from sightline.training.sornet.layouts import PlacedScenes, identities_of
from sightline.training.sornet.pictures import OnBank
from sightline.training.sornet.plan import SornetPlan, begin, fine_plan
from sightline.training.sornet.sources import MixedSource, SceneSource, WorldSource, turns_before
from sightline.worlds import World, load_world

if TYPE_CHECKING:
    from sightline.training.sornet.dataset import StoredSource

MOST_CANONICAL: Final = {"cpu": 500, "cuda": 100_000}
"""Canonical views of a world to wait for; one of each object there must be."""

CPU_BATCH: Final = 16
"""Scenes of a step on a CPU, which needs most of a second for each."""
SCENE_BYTES: Final = {"tiny": 45e6, "small": 90e6, "base": 125e6}
"""Memory a scene of two views of GeoSpa's 480×320 pixels takes in a step, measured."""

_HELD_OUT_SEED: Final = 1_000_003
"""Added to the seed of a world's scenes to ask about."""

OnNote = Callable[[str], None]
"""Called with what a user should know of the scenes."""


@dataclass(frozen=True, kw_only=True)
class SornetOptions:
    """What a SORNet is to be trained on, and how; None stands for the usual setting, or the checkpoint's.

    Attributes:
        worlds: Worlds to draw scenes of, in turn; or
        data: A dataset with canonical views; of its scenes those of `split`.
        auxiliary: Losses beside that of the predicates: on ``pose`` and other facts of each object, on ``pointing``
            at it, ``both``, or ``none``.
        augmentation: How pictures are changed; ``full`` also crowds scenes of a world.
        canonical: Canonical views a world's object has to choose from.
        start: Checkpoint to begin with; ``sornet`` is the one that comes with Sightline.
        workers: Processes that place or decode scenes.

    Raises:
        ConfigError: Not one of worlds and data, or a split of worlds.
    """

    worlds: tuple[str, ...] = ()
    data: Path | None = None
    split: str | None = None
    size: str | None = None
    views: tuple[str, ...] | None = None
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    optimizer: Literal["adamw", "muon"] | None = None
    seed: int = 0
    augmentation: Literal["full", "light", "none"] = "light"
    auxiliary: Literal["both", "pose", "pointing", "none"] = "both"
    canonical: int = 32
    start: str | None = None
    workers: int = 0

    def __post_init__(self) -> None:
        if (not self.worlds) == (self.data is None):
            raise ConfigError("train on one of --world and --data")
        if self.split is not None and self.data is None:
            raise ConfigError("--split is for --data")


def plan_of(options: SornetOptions, device: str) -> SornetPlan:
    """Make the plan; where it begins with a checkpoint, with the usual settings of fine-tuning."""
    names = ("size", "views", "steps", "batch", "rate", "optimizer")
    changes: dict[str, Any] = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    changes |= {
        "seed": options.seed,
        "canonical": options.canonical,
        "precision": "bf16" if device == "cuda" else "fp32",
        "augmentation": {"full": Augmentation(), "light": Augmentation.light(), "none": None}[options.augmentation],
        "crowded": SornetPlan().crowded if options.augmentation == "full" else 0.0,
    }
    changes |= {} if options.auxiliary in ("both", "pose") else {"facts": 0.0}
    changes |= {} if options.auxiliary in ("both", "pointing") else {"pointing": 0.0}
    if options.start is not None:
        plan = fine_plan(options.start, **changes)
        chosen = device == "cpu" and options.batch is None
        return replace(plan, batch=usual_batch(plan.batch, plan.size)) if chosen else plan
    usual = SornetPlan()
    if device == "cpu":
        changes.setdefault("batch", usual_batch(CPU_BATCH, changes.get("size", usual.size)))
    warmup = min(usual.warmup, changes.get("steps", usual.steps) // 10)
    return SornetPlan(warmup=warmup, compiled=device == "cuda", **changes)


def usual_batch(most: int, size: str, memory: float | None = None) -> int:
    """Choose the scenes of a step on a CPU: `most`, or fewer that take a quarter of its memory (bytes) at most.

    >>> [usual_batch(16, size, memory=4e9) for size in ("tiny", "small", "base")]
    [16, 8, 8]
    """
    fits = int((_memory() if memory is None else memory) / 4 / SCENE_BYTES.get(size, SCENE_BYTES["base"]))
    return min(most, 1 << max(fits, 1).bit_length() - 1)


def _memory() -> float:
    """Memory of this machine or of the container we run in, in bytes; 8 GB where nobody tells."""
    whole = 8e9
    try:
        whole = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except (AttributeError, OSError, ValueError):
        return whole
    return min(whole, float(limit)) if limit.isdigit() else whole


def source_of(
    options: SornetOptions, plan: SornetPlan, device: str, on_note: OnNote, on_bank: OnBank | None = None
) -> SceneSource:
    """Open the scenes to learn from."""
    if options.data is not None:
        return _stored_source(options, plan, device)
    return _world_source(options, plan, device, plan.steps, plan.seed, on_note, on_bank)


def curve_sources(
    options: SornetOptions,
    plan: SornetPlan,
    device: str,
    *,
    most: int,
    held_out: int,
    on_note: OnNote,
    on_bank: OnBank | None = None,
) -> tuple[SceneSource, SceneSource]:
    """Open `most` scenes to learn from and others to ask about; of a dataset those in front and those at the end.

    Raises:
        ConfigError: The dataset has fewer scenes.
    """
    if options.data is None:
        batches, held = (-(-scenes // plan.batch) or 1 for scenes in (most, held_out))
        base = _world_source(options, plan, device, batches, plan.seed, on_note, on_bank)
        seed = plan.seed + _HELD_OUT_SEED
        return base, _world_source(options, plan, device, held, seed, _silent, on_bank)
    whole = _stored_source(options, plan, device)
    count = len(whole.stored)
    if most + held_out > count:
        raise ConfigError(
            f"{counted(most, 'scene')} to learn from and {held_out:,} to ask about: there are only {count:,}"
        )
    return whole.part(range(count - held_out)), whole.part(range(count - held_out, count))


def canonical_each(objects: int, most: int, device: str) -> int:
    """Choose how many canonical views each object of a world has: fewer where there are many objects.

    All are drawn before training. A divisor of `most`, so that worlds with different numbers of them mix.

    >>> canonical_each(56, 32, "cpu"), canonical_each(10_584, 32, "cuda"), canonical_each(10_584, 32, "cpu")
    (8, 8, 1)
    """
    affordable = MOST_CANONICAL[device] // objects
    return max(count for count in range(1, most + 1) if most % count == 0 and (count <= affordable or count == 1))


def _stored_source(options: SornetOptions, plan: SornetPlan, device: str) -> StoredSource:
    from sightline.store import Dataset  # here: a world needs no dataset's packages
    from sightline.training.sornet.dataset import StoredSource

    assert options.data is not None
    return StoredSource(
        Dataset.open(options.data),
        plan.views,
        batch=plan.batch,
        seed=plan.seed,
        split=options.split,
        most_objects=plan.most_objects,
        workers=options.workers,
        device=device,
    )


def _world_source(
    options: SornetOptions,
    plan: SornetPlan,
    device: str,
    batches: int,
    seed: int,
    on_note: OnNote,
    on_bank: OnBank | None,
) -> SceneSource:
    """Scenes of the world, or of several in turn, drawn on the card where there is one.

    One that is named twice comes twice as often.
    """
    named = _checked_worlds(options, plan)
    worlds = [world for i, world in enumerate(named) if world not in named[:i]]
    turns = [worlds.index(world) for world in named]
    if device == "cpu":
        on_note("scenes are drawn on the CPU, a few a second: a stored dataset is faster to learn from")
    sources = []
    for j, world in enumerate(worlds):
        objects = len(identities_of(world))
        canonical = canonical_each(objects, plan.canonical, device)
        if canonical < plan.canonical:
            on_note(
                f"{world.name} has {counted(objects, 'object')}: {counted(canonical, 'canonical view')} of each"
            )
        stream = PlacedScenes(
            world,
            plan.views,
            seed=seed,
            size=plan.batch,
            batches=max(1, turns_before(turns, j, batches)),
            most=max(world.objects[1] for world in worlds),
            crowded=plan.crowded,
        )
        cuda, workers = device == "cuda", options.workers
        sources.append(WorldSource(stream, canonical=canonical, workers=workers, cuda=cuda, on_bank=on_bank))
    return sources[0] if len(sources) == 1 else MixedSource(sources, turns)


def _checked_worlds(options: SornetOptions, plan: SornetPlan) -> list[World]:
    """The worlds; what does not fit shows before canonical views are drawn."""
    worlds = [load_world(name) for name in options.worlds]
    for world in worlds:
        if world.resolution != worlds[0].resolution:
            sizes = " and ".join("{}×{}".format(*one.resolution) for one in (worlds[0], world))
            raise ConfigError(f"{worlds[0].name} and {world.name} have views of {sizes} pixels: they do not mix")
        if world.objects[1] > plan.most_objects:
            raise ConfigError(
                f"{world.name} has scenes of up to {world.objects[1]} objects, the network takes "
                f"{plan.most_objects}"
            )
        PlacedScenes(world, plan.views, seed=plan.seed, size=plan.batch, batches=1)  # a ConfigError for other views
    begin(plan, worlds[0].resolution)
    return worlds


def _silent(_: str) -> None:
    """Of scenes to ask about the same notes would come again."""
