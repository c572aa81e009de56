"""From options to a training: pairs and pictures of a relations network, opened as by ``sightline train``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sightline.errors import ConfigError
from sightline.exams.relations.exam import default_split
from sightline.exams.relations.items import views_of
from sightline.exams.relations.pairs import PairTable, no_pairs, tables_of
from sightline.generation import generate
from sightline.generation.open import open_any
from sightline.models.relations.objects import object_cues
from sightline.store import Dataset
from sightline.text import counted
from sightline.training.relations.examples import RelationSource
from sightline.training.relations.options import STUDIES, RelationsOptions
from sightline.training.relations.plan import RelationsPlan
from sightline.training.relations.seen import SeenPlan, SeenSource, ViewPictures
from sightline.training.relations.tables import examples_of, scenes_of

SCENES: Final = 2000
"""Scenes of a world to learn from, unless told otherwise."""


def seen_source(
    options: RelationsOptions, plan: SeenPlan, progress: Callable[[int, int], None] | None = None
) -> SeenSource:
    """Open the pictures and pairs to learn from."""
    data, split, used = _labelled(options, progress)
    views = {scene: view for table in used for scene, view in views_of(data, table).items()}
    picture, scenes = scenes_of(used)
    pictures = ViewPictures([views.get(scene) for scene in scenes], scenes, plan.side)
    return SeenSource(examples_of(used), picture, pictures, plan, _source_facts(data, split, used))


def source_of(
    options: RelationsOptions, plan: RelationsPlan, progress: Callable[[int, int], None] | None = None
) -> RelationSource:
    """Open the pairs to learn from, with their pictures where a cue looks at them."""
    who = f"--cues {plan.cues}"
    cues = object_cues(plan.cues, options.depth, options.backbone, who, given="{who} --{option} PATH")
    data, split, used = _labelled(options, progress)
    views = {scene: view for table in used for scene, view in views_of(data, table).items()} if cues else None
    facts = _source_facts(data, split, used)
    for name, path in (("depth", options.depth), ("backbone", options.backbone)):
        if path is not None:
            facts[name] = path.name
    return RelationSource(
        examples_of(used, cues, views), batch=plan.batch, members=plan.members, seed=plan.seed, facts=facts
    )


def _labelled(
    options: RelationsOptions, progress: Callable[[int, int], None] | None
) -> tuple[Dataset, str, list[PairTable]]:
    """The dataset, its split to learn from, and the pairs of the settings asked for."""
    data = _data(options, progress)
    split = training_split(data, options.split)
    tables = tables_of(data, split)
    used = [tables[setting] for setting in STUDIES[options.study] if len(tables[setting])]
    if not used and options.world is not None:
        where = "across two images" if options.study == "across" else "within an image"
        scenes = counted(_scene_count(options), "scene")
        raise ConfigError(f"too few scenes: there is no pair {where} in {scenes} of {options.world}; see --scenes")
    if not used:
        raise no_pairs(data, split)
    return data, split, used


def _source_facts(data: Dataset, split: str, used: Sequence[PairTable]) -> dict[str, Any]:
    return {"data": data.fingerprint, "split": split, "settings": [table.setting for table in used]}


def training_split(data: Dataset, asked: str | None) -> str:
    """The split to learn from: the one asked for, else ``train`` or ``validation``, "" where there are none.

    Raises:
        ConfigError: No such split, or none but the one that the exam asks about.
    """
    if asked is not None:
        if asked not in data.splits:
            raise ConfigError(f"no split called {asked!r}: there is {' or '.join(data.splits) or 'none'}")
        return asked
    for usual in ("train", "validation"):
        if usual in data.splits:
            return usual
    if len(data.splits) > 1 or default_split(data) == "test":
        raise ConfigError(f"say which split to learn from: --split {' or --split '.join(data.splits)}")
    return data.splits[0] if data.splits else ""


def _scene_count(options: RelationsOptions) -> int:
    """How many scenes of a world are generated."""
    return SCENES if options.scenes is None else options.scenes


def _data(options: RelationsOptions, progress: Callable[[int, int], None] | None) -> Dataset:
    if options.data is not None:
        return open_any(options.data)
    assert options.world is not None
    looks = options.looks or bool(set(options.cues) & {"d", "a"})
    return generate(
        options.world,
        scenes=_scene_count(options),
        seed=options.seed,
        image_format="jpeg:92" if looks else None,
        depth="png" if looks else None,
        pairs=options.study != "within",
        workers=None,
        progress=progress,
    )
