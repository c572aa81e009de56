"""From options to the training of a detector: scenes of any worlds, kept, as by ``sightline train detector``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sightline.errors import ConfigError
from sightline.models.nets.viewpoint import COARSE
from sightline.training.relations.scenes import FoundViews, drawn_scenes
from sightline.training.viewpoint.plan import ViewNetPlan
from sightline.training.viewpoint.setup import ViewNetOptions, plan_of
from sightline.training.viewpoint.task import ViewNetTask
from sightline.worlds import load_world

SCENES: Final = 2000
"""Scenes of each world that are drawn and kept, unless told otherwise."""
_AT_ONCE: Final = 50


def detector_plan(options: ViewNetOptions, device: str) -> ViewNetPlan:
    """Make the plan of a ViewNet that learns boxes and classes alone."""
    return replace(plan_of(options, device), viewpoints=False)


def detector_task(
    worlds: tuple[str, ...],
    options: ViewNetOptions,
    plan: ViewNetPlan,
    device: str,
    progress: Callable[[int, int], None] | None = None,
) -> ViewNetTask:
    """Draw scenes of the worlds and teach a detector the classes of all that stands in them.

    Args:
        worlds: Names or files of the worlds; in `options` the world is left aside, `kept` are the scenes of each.
        options: What the plan was made of.
        plan: Of the training.
        device: ``cuda`` draws on the card.
        progress: Called with (scenes drawn, scenes in all).

    Raises:
        ConfigError: Sides that the network cannot take, or no scene.
    """
    scenes = SCENES if options.kept is None else options.kept
    if scenes < 1:
        raise ConfigError("a detector learns from scenes that are drawn once and kept: --scenes is at least 1")
    if plan.resolution_side % COARSE:
        raise ConfigError(f"pictures to learn from have a multiple of {COARSE} pixels, not {plan.resolution_side}")
    drawn = drawn_scenes(
        [load_world(name) for name in worlds],
        scenes,
        seed=plan.seed,
        side=plan.resolution_side,
        batch=_AT_ONCE,
        workers=options.workers,
        cuda=device == "cuda",
        on_drawn=progress,
    )
    return ViewNetTask(plan, FoundViews(drawn, batch=plan.batch, seed=plan.seed), drawn.examples.classes)
