"""The scenes that ``sightline train`` learns from: of a stored dataset, or of worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sightline.cli.console import err, progress
from sightline.cli.train_wishes import Wishes
from sightline.errors import ConfigError

if TYPE_CHECKING:
    from sightline.store import Dataset
    from sightline.training.plan import Plan
    from sightline.training.sources import Source
    from sightline.worlds import World

_MOST_VIEWS: Final = {"cpu": 5_000, "cuda": 100_000}  # canonical ones to wait for; one of each object there must be


def source_of(wish: Wishes, plan: Plan, device: str) -> Source:
    """The scenes to learn from."""
    if wish.data is not None:
        from sightline.training.stored import StoredSource

        return StoredSource(
            dataset_of(wish),
            plan.views,
            batch=plan.batch,
            seed=plan.seed,
            split=wish.split,
            most_objects=plan.most_objects,
            workers=wish.workers,
            device=device,
        )
    return world_source(wish, plan, device, batches=plan.steps)


def dataset_of(wish: Wishes) -> Dataset:
    """The dataset to learn from."""
    from sightline.store import Dataset

    assert wish.data is not None
    return Dataset.open(wish.data)


def world_source(wish: Wishes, plan: Plan, device: str, *, batches: int, seed: int | None = None) -> Source:
    """Scenes of the world, or of several in turn, drawn on the card where there is one.

    One that is named twice comes twice as often.
    """
    from sightline.training.mixed import MixedSource, own
    from sightline.training.placing import looks_of
    from sightline.training.sources import WorldSource

    named = _checked_worlds(wish, plan)
    worlds = [world for i, world in enumerate(named) if world not in named[:i]]
    turns = [worlds.index(world) for world in named]
    if device == "cpu" and not wish.json and seed is None:
        err.print("note: scenes are drawn on the CPU, a few a second: a stored dataset is faster to learn from")
    sources = []
    for j, world in enumerate(worlds):
        count = canonical_each(len(looks_of(world)), plan.canonical, device)
        if count < plan.canonical and not wish.json and seed is None:
            err.print(f"note: {world.name} has {len(looks_of(world)):,} objects: {count} canonical views of each")
        with progress("canonical views", quiet=wish.json) as show:
            made = WorldSource(
                world,
                plan.views,
                batch=plan.batch,
                batches=max(1, own(turns, j, batches)),
                canonical=count,
                seed=plan.seed if seed is None else seed,
                workers=wish.workers,
                cuda=device == "cuda",
                crowded=plan.crowded,
                most=max(world.objects[1] for world in worlds),
                told=show,
            )
        sources.append(made)
    return sources[0] if len(sources) == 1 else MixedSource(sources, turns)


def canonical_each(objects: int, most: int, device: str) -> int:
    """Canonical views of each of a world's objects: fewer where there are many, for all are drawn before training.

    A divisor of `most`, so that worlds with different numbers of them mix.

    >>> canonical_each(56, 32, "cpu"), canonical_each(10_584, 32, "cuda"), canonical_each(10_584, 32, "cpu")
    (32, 8, 1)
    """
    affordable = _MOST_VIEWS[device] // objects
    return max(count for count in range(1, most + 1) if most % count == 0 and (count <= affordable or count == 1))


def _checked_worlds(wish: Wishes, plan: Plan) -> list[World]:
    """The worlds; what does not fit shows before canonical views are drawn."""
    from sightline.training.placing import PlacedScenes
    from sightline.training.starting import begin
    from sightline.worlds import load_world

    worlds = [load_world(name) for name in wish.worlds]
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
