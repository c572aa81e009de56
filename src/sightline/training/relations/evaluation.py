"""Cross-validation of relations networks by image: every choice is made on folds of the training split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Aspect, Protocol, rates, tally
from sightline.models.relations.model import PairModel, likeliest_depth, likeliest_occlusion, model_of
from sightline.models.relations.network import PairNetwork
from sightline.scenes import View
from sightline.skills import SILENT, Pairs, Setting
from sightline.stats import Comparisons, compare
from sightline.training.fit import fit
from sightline.training.relations.examples import PairExamples, RelationSource
from sightline.training.relations.plan import RelationsPlan
from sightline.training.relations.tables import examples_of
from sightline.training.relations.task import RelationsTask

Codes = NDArray[np.int8]
SUBTASKS: Final[tuple[tuple[Setting, Aspect], ...]] = (
    ("within_image", "depth"),
    ("within_image", "occlusion"),
    ("across_images", "depth"),
)
_REVERSED: Final = np.array([0, 2, 1, 3, -1], dtype=np.int8)


def image_folds(tables: Mapping[Setting, PairTable], folds: int, seed: int) -> dict[Setting, NDArray[np.int64]]:
    """Deal image pairs into folds; an image's own pairs go to the fold of the image pair it stands in.

    Images are known by the last part of their scene's id, which both settings share in 2.5VRD.

    Returns:
        (c,) fold of every cluster of each table.
    """
    rng = np.random.default_rng(seed)
    of_image: dict[str, int] = {}
    dealt: dict[Setting, NDArray[np.int64]] = {}
    for setting in sorted(tables, key=lambda name: name != "across_images"):
        images = [[scene.split("/")[-1] for scene in name.split("|")] for name in tables[setting].clusters]
        drawn = rng.integers(0, folds, len(images))
        places = [of_image.get(image[0], int(fold)) for image, fold in zip(images, drawn, strict=True)]
        of_image |= {one: place for image, place in zip(images, places, strict=True) for one in image}
        dealt[setting] = np.array(places, dtype=np.int64)
    return dealt


@dataclass(frozen=True)
class FoldAnswers:
    """What networks answered about pairs that they had not learned from.

    Attributes:
        answers: (setting, aspect) → (n,) codes, in the order of the table.
        counts: (setting, aspect) → (clusters, 4, 3) true positives, false positives, false negatives.
        f1: (setting, aspect) → F1 of all labels together, paper protocol.
    """

    answers: Mapping[tuple[Setting, Aspect], Codes]
    counts: Mapping[tuple[Setting, Aspect], NDArray[np.int64]]
    f1: Mapping[tuple[Setting, Aspect], float]

    @property
    def average(self) -> float:
        """Mean F1 of the sub-tasks."""
        return float(np.mean(list(self.f1.values())))


def fold_networks(
    plan: RelationsPlan, tables: Mapping[Setting, PairTable], dealt: Mapping[Setting, NDArray[np.int64]], folds: int
) -> list[PairNetwork]:
    """Train the plan's members once a fold, side by side, on the pairs outside it: a network for every fold."""
    used = [tables[setting] for setting in tables]
    examples = examples_of(used)
    fold = np.concatenate([dealt[setting][tables[setting].cluster] for setting in tables])
    rows = [np.flatnonzero(fold != k) for k in range(folds) for _ in range(plan.members)]
    wide = replace(plan, members=len(rows))
    source = RelationSource(examples, batch=plan.batch, members=len(rows), seed=plan.seed, facts={}, rows=rows)
    task = RelationsTask(wide, source)
    with TemporaryDirectory() as folder:
        learner, _ = fit(task, Path(folder) / "folds", device="cpu")
    named = {**task.net.state_dict(), **learner.averaged()}
    return [_members(named, plan, examples, range(k * plan.members, (k + 1) * plan.members)) for k in range(folds)]


def _members(
    weights: Mapping[str, torch.Tensor], plan: RelationsPlan, examples: PairExamples, chosen: range
) -> PairNetwork:
    """Some members of a trained PairNet as a network of their own."""
    whole = {"middle", "even_scale", "odd_scale", "object_middle", "object_scale"}
    arrays = {
        name: (value if name in whole else value[chosen.start : chosen.stop]).detach().float().numpy()
        for name, value in weights.items()
    }
    limits = {"unsure": plan.unsure, "unsure_across": min(plan.unsure, 0.3)}
    return PairNetwork(arrays, examples.classes, plan.cues, **limits, ordered=plan.ordered, about={})


def fold_answers(
    networks: Sequence[PairNetwork],
    tables: Mapping[Setting, PairTable],
    dealt: Mapping[Setting, NDArray[np.int64]],
    unsure: float | None = None,
) -> FoldAnswers:
    """Ask each network about the images of its fold, image by image as the exam does.

    Args:
        networks: One for every fold.
        tables: The pairs.
        dealt: Fold of every cluster.
        unsure: Another limit below which no depth label is given within an image.
    """
    answers: dict[tuple[Setting, Aspect], Codes] = {}
    for setting, table in tables.items():
        depth, occlusion = (np.full(len(table), SILENT, dtype=np.int8) for _ in range(2))
        for k, network in enumerate(networks):
            limit = network.unsure if unsure is None else unsure
            model = model_of(replace(network, unsure=limit), "fold")
            rows = np.flatnonzero(dealt[setting][table.cluster] == k)
            depth[rows], occlusion[rows] = _asked(model, table.take(rows))
        answers[setting, "depth"] = depth
        if setting == "within_image":
            answers[setting, "occlusion"] = occlusion
    counts = {key: _counts(tables[key[0]], *key, codes) for key, codes in answers.items()}
    how = {key: {"protocol": Protocol.PAPER, "aspect": key[1], "setting": key[0]} for key in counts}
    f1 = {key: float(rates(each.sum(axis=0), **how[key])[-1, 2]) for key, each in counts.items()}  # type: ignore[arg-type]
    return FoldAnswers(answers, counts, f1)


def compared(one: FoldAnswers, other: FoldAnswers) -> Comparisons:
    """Compare two models on the same folds, F1 by sub-task, paired by image or image pair."""
    rows = Comparisons()
    for key, counts in one.counts.items():
        setting, aspect = key

        def f1(totals: NDArray[np.float64], aspect: Aspect = aspect, setting: Setting = setting) -> Any:
            return rates(totals, protocol=Protocol.PAPER, aspect=aspect, setting=setting)[..., -1, 2][:, None]

        rows += compare(counts, other.counts[key], f1, ["/".join(key)])
    return rows


def _asked(model: PairModel, table: PairTable) -> tuple[Codes, Codes]:
    """Depth and occlusion codes of annotated pairs: at once where pairs stand alone, else cluster by cluster."""
    if not model.network.ordered:
        chances = model.chances(_pairs(table))
        across = table.setting == "across_images"
        limit = model.network.unsure_across if across else model.network.unsure
        return likeliest_depth(chances.depth, limit, across=across), likeliest_occlusion(chances.occlusion)
    depth, occlusion = (np.full(len(table), SILENT, dtype=np.int8) for _ in range(2))
    order = np.argsort(table.cluster, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(table.cluster[order])) + 1):
        judgements = model.relate(_pairs(table.take(rows)))
        depth[rows], occlusion[rows] = judgements.depth, judgements.occlusion
    return depth, occlusion


def _pairs(table: PairTable) -> Pairs:
    names = np.array(table.categories, dtype=object)[table.category]
    view = View("folds", units="normalised")
    return Pairs(
        cluster_id="folds",
        setting=table.setting,
        view_a=view,
        view_b=view,
        boxes_a=table.boxes_a,
        boxes_b=table.boxes_b,
        categories_a=tuple(names[table.first]),
        categories_b=tuple(names[table.second]),
    )


def _counts(table: PairTable, setting: Setting, aspect: Aspect, answer: Codes) -> NDArray[np.int64]:
    """Counts of both directions of every pair; swap-equivariant answers need be asked only one way."""
    truth: Codes = getattr(table, aspect)
    truths, answers = (np.concatenate((codes, _REVERSED[codes])) for codes in (truth, answer))
    cluster, n = np.concatenate((table.cluster, table.cluster)), len(table.clusters)
    return tally(truths, answers, cluster, n, protocol=Protocol.PAPER, aspect=aspect, setting=setting)
