"""How a network that relates two objects is trained: one frozen record, written beside the weights it led to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from sightline.training.plan import TrainingPlan

NetworkForm = Literal["pairs", "paper"]


@dataclass(frozen=True, slots=True)
class RelationsPlan(TrainingPlan):
    """Everything the training of a relations network depends on but its pairs.

    Attributes:
        network: ``pairs``: several small networks that a turned pair cannot make contradict themselves; ``paper``:
            the paper's MLP.
        cues: Letters of the cues: boxes (b), classes (c), depth maps (d), appearance (a).
        hidden: Units of each layer.
        members: Networks whose chances are averaged; of the paper's MLP there is one.
        embedding: Numbers of a class in a ``pairs`` network.
        dropout: Share of units left out of a step.
        jitter: Share of its sides by which a box's centre, width and height are changed, at most.
        unnamed: Share of the objects whose class is withheld.
        votes: Share of the raters' votes in a target; the rest is the majority's label.
        smoothing: Share of a target that is spread over all labels.
        mirrored: Share of the pictures that are mirrored.
        swapped: Whether half of the pairs are turned round; a ``pairs`` network needs no such help.
        l2: Of the paper's MLP: weight of half the squared weights, whose gradient joins the loss's.
        unsure: Chance below which no depth label is given within an image.
        ordered: Whether answers follow a total preorder of the objects.
    """

    steps: int = 1500
    batch: int = 256
    rate: float = 3e-3
    warmup: int = 100
    optimizer: Literal["adam", "adamw", "muon"] = "adamw"
    decay: float = 0.05
    clip: float = 0.0
    average: float = 0.99
    precision: Literal["bf16", "fp32"] = "fp32"
    network: NetworkForm = "pairs"
    cues: str = "bc"
    hidden: int = 64
    members: int = 8
    embedding: int = 4
    dropout: float = 0.1
    jitter: float = 0.05
    unnamed: float = 0.1
    votes: float = 1.0
    smoothing: float = 0.02
    mirrored: float = 0.5
    swapped: bool = False
    l2: float = 0.0
    unsure: float = 0.38
    ordered: bool = False

    LEAST: ClassVar[Mapping[str, int]] = {**TrainingPlan.LEAST, "hidden": 1, "members": 1, "embedding": 1}
    SHARES: ClassVar[tuple[str, ...]] = (
        *TrainingPlan.SHARES,
        "dropout",
        "jitter",
        "unnamed",
        "votes",
        "smoothing",
        "mirrored",
        "unsure",
    )
    NOT_NEGATIVE: ClassVar[tuple[str, ...]] = (*TrainingPlan.NOT_NEGATIVE, "l2")


def paper_plan(cues: str = "bc", seed: int = 0) -> RelationsPlan:
    """The recipe of the 2.5VRD paper (§3.1.2): Adam, 60,000 steps of 32 pairs, hidden 1,024, L2 and dropout."""
    return RelationsPlan(
        network="paper",
        cues=cues,
        seed=seed,
        steps=60_000,
        batch=32,
        rate=2e-4,
        warmup=0,
        schedule="constant",
        optimizer="adam",
        decay=0.0,
        average=0.0,
        hidden=1024,
        members=1,
        dropout=0.5,
        jitter=0.1,
        unnamed=0.0,
        votes=0.0,
        smoothing=0.0,
        mirrored=0.0,
        swapped=True,
        l2=1e-4,
    )
