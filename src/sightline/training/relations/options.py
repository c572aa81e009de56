"""What a relations network is to be trained on, and how; and the plan that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from sightline.errors import ConfigError
from sightline.models.nets.vrd import ARCHITECTURES, UNION
from sightline.models.relations.cues import checked_cues
from sightline.skills import Setting
from sightline.training.relations.plan import RelationsPlan, paper_plan
from sightline.training.relations.seen import SeenPlan

Study = Literal["within", "across", "joint"]
RelationsModel = Literal["mlp", "consistent", "vipcnn", "pprfcn", "drnet", "vtranse"]
STUDIES: Final[dict[Study, tuple[Setting, ...]]] = {
    "within": ("within_image",),
    "across": ("across_images",),
    "joint": ("within_image", "across_images"),
}


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
        backbone: Checkpoint of a detector or classifier, for cue a.

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
