"""From options to a training: plan and pairs of a relations network, chosen as by ``sightline train``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from sightline.errors import ConfigError
from sightline.exams.relations.exam import default_split
from sightline.exams.relations.items import views_of
from sightline.exams.relations.pairs import PairTable, no_pairs, tables_of
from sightline.generation import generate
from sightline.generation.open import open_any
from sightline.models.nets.vrd import ARCHITECTURES, UNION
from sightline.models.relations.cues import checked_cues
from sightline.models.relations.objects import object_cues
from sightline.skills import Setting
from sightline.store import Dataset
from sightline.training.relations.examples import RelationSource, examples_of
from sightline.training.relations.plan import RelationsPlan, paper_plan
from sightline.training.relations.seen import SeenPlan, SeenSource

Study = Literal["within", "across", "joint"]
RelationsModel = Literal["mlp", "consistent", "vipcnn", "pprfcn", "drnet", "vtranse"]
STUDIES: Final[dict[Study, tuple[Setting, ...]]] = {
    "within": ("within_image",),
    "across": ("across_images",),
    "joint": ("within_image", "across_images"),
}
SCENES: Final = 2000
"""Scenes of a world to learn from, unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class RelationsOptions:
    """What a relations network is to be trained on, and how; None stands for the usual setting.

    Attributes:
        data: A dataset with depth or occlusion relations; or
        world: A world, of which `scenes` are generated, pairs across scenes among them.
        split: Of the dataset; by default ``validation`` or ``train`` where there is one, never the exam's.
        model: ``mlp`` judges pair by pair, ``consistent`` keeps to one depth order of all objects; or one of the
            published networks that look: ``vipcnn``, ``pprfcn``, ``drnet``, ``vtranse``.
        paper: Follow the paper's recipe, with its own network.
        cues: Letters of the cues.
        study: Which pairs to learn from.
        depth: Folder of depth maps or an ONNX depth network, for cue d.
        backbone: Checkpoint of a classifier, for cue a.

    Raises:
        ConfigError: Not one of data and world, or options that do not go together.
    """

    data: Path | None = None
    world: str | None = None
    scenes: int | None = None
    split: str | None = None
    model: RelationsModel = "mlp"
    paper: bool = False
    cues: str = "bc"
    study: Study = "joint"
    depth: Path | None = None
    backbone: Path | None = None
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.data is None) == (self.world is None):
            raise ConfigError("train on one of --world and --data")
        if self.world is not None and self.split is not None:
            raise ConfigError("--split is for --data")
        if self.data is not None and self.scenes is not None:
            raise ConfigError("--scenes is for --world")
        if self.paper and self.model != "mlp":
            raise ConfigError(f"--plan paper is for --model mlp, not {self.model}")
        if self.looks and (self.cues != "bc" or self.depth is not None or self.backbone is not None):
            raise ConfigError(f"--cues, --depth and --backbone are not for --model {self.model}: it looks itself")
        if self.model in UNION and self.study != "within":
            raise ConfigError(f"{self.model} looks at the box around both objects: it learns with --study within")
        checked_cues(self.cues)

    @property
    def looks(self) -> bool:
        """Whether the network looks at pictures itself."""
        return self.model in ARCHITECTURES


def plan_of(options: RelationsOptions) -> RelationsPlan:
    """Make the plan."""
    cues = checked_cues(options.cues)
    ordered = options.model == "consistent"
    plan = paper_plan(cues, options.seed) if options.paper else RelationsPlan(cues=cues, seed=options.seed)
    names = ("steps", "batch", "rate")
    changes: dict[str, Any] = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    changes["warmup"] = min(plan.warmup, changes.get("steps", plan.steps) // 10)
    return replace(plan, ordered=ordered, **changes)


def seen_plan(options: RelationsOptions, device: str) -> SeenPlan:
    """Make the plan of a network that looks."""
    names = ("steps", "batch", "rate")
    changes: dict[str, Any] = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    changes["warmup"] = min(SeenPlan().warmup, changes.get("steps", SeenPlan().steps) // 10)
    precision: Literal["bf16", "fp32"] = "bf16" if device == "cuda" else "fp32"
    return SeenPlan(architecture=options.model, seed=options.seed, precision=precision, **changes)


def seen_source(
    options: RelationsOptions, plan: SeenPlan, progress: Callable[[int, int], None] | None = None
) -> SeenSource:
    """Open the pictures and pairs to learn from."""
    data, split, used = _labelled(options, progress)
    views = {scene: view for table in used for scene, view in views_of(data, table).items()}
    return SeenSource(used, views, plan, _source_facts(data, split, used))


def source_of(
    options: RelationsOptions, plan: RelationsPlan, progress: Callable[[int, int], None] | None = None
) -> RelationSource:
    """Open the pairs to learn from, with their pictures where a cue looks at them."""
    data, split, used = _labelled(options, progress)
    cues = object_cues(plan.cues, options.depth, options.backbone, f"--cues {plan.cues}")
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


def _data(options: RelationsOptions, progress: Callable[[int, int], None] | None) -> Dataset:
    if options.data is not None:
        return open_any(options.data)
    assert options.world is not None
    looks = options.looks or bool(set(options.cues) & {"d", "a"})
    return generate(
        options.world,
        scenes=SCENES if options.scenes is None else options.scenes,
        seed=options.seed,
        image_format="jpeg:92" if looks else None,
        depth="png" if looks else None,
        pairs=options.study != "within",
        workers=None,
        progress=progress,
    )
