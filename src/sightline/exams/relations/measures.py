"""What is counted of a relations run: precision, recall and F1 by label and sub-task, and their average.

Of every setting both aspects stand in one measure, so that one resampling of its clusters serves them: first of all
pairs together (micro), then as the mean over clusters (macro).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.base import Measures, Name
from sightline.exams.relations.marks import SUBTASKS, MarkedPairs, Marks, Subtask, joint_counts, of_setting
from sightline.exams.relations.pairs import SETTINGS
from sightline.exams.relations.protocols import Aspect, Floats, Protocol, lenient, pool, rates, ratio
from sightline.scenes import words
from sightline.skills import Setting

FIGURES: Final = ("precision", "recall", "f1")
"""Figures of each label, and of all labels together."""

SUBTASK_TITLES: Final = {
    "within_image/depth": "Depth within an image",
    "within_image/occlusion": "Occlusion within an image",
    "across_images/depth": "Depth across two images",
}
"""How a reader is told of each sub-task, in the order of every table."""

_PREDICATE: Final = "  "  # sets a predicate's row of a comparison in under its sub-task's
_TITLES: Final = {"micro": "all pairs together (micro)", "macro": "mean over scenes (macro)"}


def relations_measures(
    marks: Marks, protocol: Protocol, more: Mapping[str, Any] | None = None
) -> Iterator[Measures]:
    """Everything that is counted of marked judgements.

    Facts of each sub-task: ``pairs``, the judgements: ordered pairs asked, and on detected boxes the predicted
    pairs that are not there. Figures of each sub-task: ``micro`` and ``macro`` by label, and with depth
    ``clear_order``, the accuracy on pairs with a clear depth order. ``average`` is the mean F1 of the three
    sub-tasks, over units that share no image; null where one of them was not asked, which ``not_scored`` names.

    Args:
        marks: Judgements by sub-task, lined up as the protocol does it (see `marks.mark_pairs`).
        protocol: How to count.
        more: Further facts for the JSON.
    """
    pairs = {task_name(*task): {"pairs": marked.judgements} for task, marked in marks.items()}
    facts: dict[str, Any] = {"protocol": protocol.value, "subtasks": pairs, "average": None} | dict(more or {})
    if missing := [task_name(*task) for task in SUBTASKS if task not in marks]:
        facts["not_scored"] = missing
    yield Measures((), np.zeros((0, 1)), lambda totals: totals, (), facts)
    first = next((task for task in SUBTASKS if task in marks), None)
    for setting in SETTINGS:
        by_aspect = of_setting(marks, setting)
        if by_aspect:
            yield from _of_setting(setting, list(by_aspect.values()), protocol, lead=first)
    if set(marks) == set(SUBTASKS):
        yield _average(marks, protocol)


def task_name(setting: Setting, aspect: Aspect) -> str:
    """How JSON and tables call a sub-task: ``<setting>/<aspect>``."""
    return f"{setting}/{aspect}"


def _of_setting(
    setting: Setting, marked: list[MarkedPairs], protocol: Protocol, *, lead: Subtask | None
) -> tuple[Measures, Measures]:
    """Micro and macro figures of a setting; `lead` is the sub-task that stands for the exam without an average."""
    aspects = [one.aspect for one in marked]
    units = np.unique(np.concatenate([one.clusters for one in marked]))
    flat = np.zeros((len(units), 12 * len(aspects) + 2 * ("depth" in aspects)), dtype=np.int64)
    for i, one in enumerate(marked):  # an aspect may have been asked of some units only
        at = np.searchsorted(units, one.clusters)
        flat[at, 12 * i : 12 * i + 12] = one.counts(protocol).reshape(-1, 12)
        if one.aspect == "depth":
            flat[at, -2:] = one.clear_counts()[:, 0]
    values = partial(_values, setting=setting, aspects=aspects)
    # A scene that lacks a label says nothing about it; the official 0 would be an average of absences.
    per_cluster = values(flat.astype(np.float64), protocol=lenient(protocol))
    known = np.isfinite(per_cluster)
    micro, macro = (tuple(_names_of_setting(kind, setting, aspects, protocol, lead=lead)) for kind in _TITLES)
    return (
        Measures(tuple(units), flat, partial(values, protocol=protocol), micro),
        Measures(tuple(units), np.stack([np.where(known, per_cluster, 0.0), known], axis=-1), _mean, macro),
    )


def _values(totals: Floats, *, setting: Setting, aspects: list[Aspect], protocol: Protocol) -> Floats:
    """(B, 15 an aspect, and one) rates of every label, then with depth the accuracy on pairs with a clear order."""
    split = totals[:, : 12 * len(aspects)].reshape(-1, len(aspects), 4, 3)
    per_aspect = [
        rates(split[:, i], protocol=protocol, aspect=aspect, setting=setting).reshape(-1, 15)
        for i, aspect in enumerate(aspects)
    ]
    clear = [ratio(totals[:, -2:-1], totals[:, -1:])] if "depth" in aspects else []
    return np.hstack([*per_aspect, *clear])


def _mean(totals: NDArray[Any]) -> Floats:
    """(B, M) sums over the clusters that have a value, divided by how many they are."""
    return ratio(totals[..., 0], totals[..., 1])


def _names_of_setting(
    kind: str, setting: Setting, aspects: list[Aspect], protocol: Protocol, *, lead: Subtask | None
) -> Iterator[Name]:
    """Names of the columns of `_values`."""
    for aspect in aspects:
        yield from _names(kind, setting, aspect, protocol, lead=lead)
    if "depth" in aspects:
        yield Name(("subtasks", task_name(setting, "depth"), "clear_order", kind), "clear order")


def _names(
    kind: str, setting: Setting, aspect: Aspect, protocol: Protocol, *, lead: Subtask | None
) -> Iterator[Name]:
    """Fifteen names of an aspect, label by label."""
    task, counted = task_name(setting, aspect), pool(protocol, aspect, setting)
    place = SUBTASKS.index((setting, aspect))
    title = f"F1, {protocol.value} protocol, {_TITLES[kind]}"
    for code, label in enumerate((*words(aspect), "all")):
        for figure in FIGURES:
            path = ("subtasks", task, kind, label, figure)
            if figure != "f1":
                yield Name(path, label)
            elif label == "all":
                micro = kind == "micro"
                yield Name(
                    path,
                    task,
                    table=title,
                    family="" if micro else None,
                    compared=f"{setting} {aspect}",
                    rank=2 * place,
                    headline=2 * (micro and lead == (setting, aspect)),
                    part=micro,
                )
            else:
                family = "predicates" if kind == "micro" and code in counted else None
                yield Name(path, label, family=family, compared=_PREDICATE + label, rank=2 * place + 1)


def _average(marks: Marks, protocol: Protocol) -> Measures:
    joint = joint_counts(marks, protocol)
    title = f"F1, {protocol.value} protocol, {_TITLES['micro']}"
    name = Name(("average",), "average", table=title, family="", rank=2 * len(SUBTASKS), headline=1)
    return Measures(joint.units, joint.counts, lambda totals: joint.f1(totals).mean(axis=1)[:, 0, None], (name,))
