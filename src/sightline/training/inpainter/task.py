"""The in-painter as a task of the training engine: reconstruction of the hole, and a discriminator to be fooled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from sightline.errors import ModelError
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.inpainter import Discriminator, Inpainter, InpainterConfig
from sightline.training.inpainter.examples import FillExamples, examples
from sightline.training.inpainter.pairs import KeptPairs, PairSource
from sightline.training.plan import TrainingPlan

WEIGHTS: Final = "inpainter.safetensors"


@dataclass(frozen=True, slots=True)
class InpainterPlan(TrainingPlan):
    """Everything the training of an in-painter depends on but its scenes.

    Attributes:
        width: Channels of the first convolution; 64 is the paper's, 48 fits 16 MB in half precision.
        blocks: Residual blocks.
        side: Of the squares it is shown, pixels.
        objects: Share of holes that are an object's own, to be filled with the scene without it.
        moved: Share that have another object's shape; the rest are irregular strokes.
        outside: Weight of the reconstruction outside the hole; inside it is 1.
        adversarial: Weight of fooling the discriminator; 0 trains without one.
    """

    batch: int = 64
    rate: float = 5e-4
    optimizer: Literal["adam", "adamw", "muon"] = "adam"
    decay: float = 0.0
    width: int = 64
    blocks: int = 6
    side: int = 256
    objects: float = 0.6
    moved: float = 0.2
    outside: float = 0.1
    adversarial: float = 0.01

    LEAST: ClassVar[Mapping[str, int]] = {**TrainingPlan.LEAST, "width": 1, "blocks": 1, "side": 16}
    SHARES: ClassVar[tuple[str, ...]] = (*TrainingPlan.SHARES, "objects", "moved")
    NOT_NEGATIVE: ClassVar[tuple[str, ...]] = (*TrainingPlan.NOT_NEGATIVE, "outside", "adversarial")


class InpainterTask:
    """Teach an in-painter by pictures of worlds, with and without their objects."""

    name = "the in-painter"
    weights: str = WEIGHTS
    metrics: tuple[str, ...] = ("hole", "psnr", "outside", "painter", "judge")
    muon_prefix = "blocks."

    def __init__(self, plan: InpainterPlan, source: PairSource | KeptPairs) -> None:
        self.plan, self.source = plan, source

    def modules(self) -> dict[str, nn.Module]:
        """The network, and the discriminator where one is asked for."""
        self.net = Inpainter(InpainterConfig(self.plan.width, self.plan.blocks))
        self.judge = Discriminator(self.plan.width) if self.plan.adversarial else None
        return {"net": self.net} | ({} if self.judge is None else {"judge": self.judge})

    def loss(self, loaded: Any, step: int) -> tuple[Tensor, dict[str, Tensor]]:  # noqa: ARG002 - the engine's
        """Loss of one batch, and what it is made of; the hole's PSNR in dB."""
        plan = self.plan
        made = examples(self.source.pairs(loaded), plan.side, objects=plan.objects, moved=plan.moved)
        painted = self.net(made.pictures, made.holes).float()
        metrics = reconstruction(painted, made)
        loss = metrics["hole"] + plan.outside * metrics["outside"]
        if self.judge is not None:
            metrics |= adversarial(self.judge, painted, made)
            loss = loss + plan.adversarial * metrics["painter"] + metrics["judge"]
        return loss, metrics

    def counts(self, step: int) -> dict[str, int]:  # noqa: ARG002 - the engine's
        """Pictures of a step."""
        return {"images": self.plan.batch}

    def dump(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
        """A checkpoint of the network without its discriminator."""
        return dump_checkpoint(self.net, facts, weights=weights)

    def steps_of(self, file: Path) -> int | None:
        """After how many steps a checkpoint was written; None where it cannot be read."""
        try:
            steps: int | None = load_checkpoint(file, Inpainter).facts.get("steps")
        except ModelError:
            return None
        return steps


def reconstruction(painted: Tensor, made: FillExamples) -> dict[str, Tensor]:
    """Mean absolute error inside and outside the hole, in [0, 2], and the PSNR inside, dB."""
    away, inside = painted - made.targets, made.holes
    pixels = inside.sum().clamp(min=1) * 3
    outside = (1 - inside).sum().clamp(min=1) * 3
    square = (away.square() * inside).sum() / pixels / 4  # of levels in [0, 1]
    return {
        "hole": (away.abs() * inside).sum() / pixels,
        "psnr": -10 * square.clamp(min=1e-10).log10(),
        "outside": (away.abs() * (1 - inside)).sum() / outside,
    }


def adversarial(judge: Discriminator, painted: Tensor, made: FillExamples) -> dict[str, Tensor]:
    """Hinge losses of the painter and of the discriminator, over the patches that show some of the hole.

    Both are part of one loss, so each is kept from the other's weights: the painter meets the discriminator with
    its weights held, the discriminator a picture that no gradient leaves.
    """
    filled = torch.where(made.holes > 0, painted, made.targets)
    held = {name: weight.detach() for name, weight in judge.named_parameters()}
    fooled = functional_call(judge, held, (filled, made.holes)).float()
    real, fake = (judge(one, made.holes).float() for one in (made.targets, filled.detach()))
    near = functional.adaptive_max_pool2d(made.holes, fooled.shape[-2:])
    count = near.sum().clamp(min=1)
    judged = (functional.relu(1 - real) + functional.relu(1 + fake)) * near
    return {"painter": -(fooled * near).sum() / count, "judge": judged.sum() / count}
