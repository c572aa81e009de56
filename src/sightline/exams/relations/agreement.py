"""What several runs without truth tell together: how far two say the same, and what was not asked of whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.exams.relations.consistency import ASKED, MEANING, ORIGINAL
from sightline.exams.relations.measures import SUBTASK_TITLES
from sightline.exams.relations.protocols import N_LABELS, Floats, ratio
from sightline.exams.scoring import RunResult
from sightline.plain import plain
from sightline.scenes import words
from sightline.show.table import Cell, Row, Table
from sightline.stats import intervals

_FACTS: Final = ("truth", "meaning")
"""Facts of every run that are said once for all."""


def consistency_document(results: Sequence[RunResult], resamples: int, seed: int) -> dict[str, Any]:
    """What JSON tells beside the scores: every run's figures by name, and how far two runs agree."""
    figures = {r.name: {k: v for k, v in r.scores.to_dict().items() if k not in _FACTS} for r in results}
    found = agreements(results, resamples=resamples, seed=seed)
    return {"meaning": MEANING, "models": figures, "agreement": found}


def left_out_sentences(results: Sequence[RunResult]) -> Iterator[str]:
    """What was not asked under changed pictures, and why; once for all runs alike."""
    told: dict[tuple[str, int, int], list[str]] = {}
    for result in results:
        for reason, n in result.scores.facts.get("not_changed", {}).items():
            told.setdefault((reason, n, int(result.scores.facts["items"])), []).append(result.name)
    for (reason, n, items), names in told.items():
        whose = "" if len(names) == len(results) else f" for {', '.join(names)}"
        yield f"Not asked under changed pictures{whose}: {n:,} of {items:,} images and image pairs: {reason}."


def agreements(results: Sequence[RunResult], *, resamples: int, seed: int) -> list[dict[str, Any]]:
    """How far runs say the same of the pictures as they are: every two of which one looks, or any two.

    A row each: the two names, and by sub-task the share of ordered pairs that both answered alike (``agreement``),
    Cohen's ``kappa``, which takes away what two that do not look would agree on by their labels' shares, and how
    many ``pairs`` both answered. Intervals are by image or image pair.
    """
    answered = [result for result in results if result.records.rows.height]
    looking = [result for result in answered if not result.blind] or answered
    asked = {
        r.name: r.records.rows.filter(pl.col("variant") == ORIGINAL, pl.col("answer").is_not_null()).select(
            *ASKED, "setting", "cluster_id", "answer"
        )
        for r in answered
    }
    return [
        {
            "a": a.name,
            "b": b.name,
            "subtasks": _agreement(asked[a.name], asked[b.name], resamples=resamples, seed=seed),
        }
        for a, b in combinations(answered, 2)
        if a in looking or b in looking
    ]


def _agreement(a: pl.DataFrame, b: pl.DataFrame, *, resamples: int, seed: int) -> dict[str, Any]:
    lined = a.join(b.select(*ASKED, other="answer"), on=ASKED, how="inner", maintain_order="left")
    found = {}
    for task in SUBTASK_TITLES:
        setting, aspect = task.split("/")
        own = lined.filter(pl.col("setting") == setting, pl.col("aspect") == aspect)
        if not own.height:
            continue
        codes = {word: code for code, word in enumerate(words(aspect))}
        units = own["cluster_id"].unique().sort()
        one, other = (
            own[end].replace_strict(codes, return_dtype=pl.Int64).to_numpy() for end in ("answer", "other")
        )
        counts = np.zeros((len(units), N_LABELS, N_LABELS), dtype=np.int64)
        np.add.at(counts, (units.search_sorted(own["cluster_id"]).to_numpy(), one, other), 1)
        share = intervals(counts, _alike, resamples=resamples, seed=seed)[0]
        kappa = intervals(counts, _kappa, resamples=resamples, seed=seed, proportion=False)[0]
        found[task] = {"agreement": plain(share), "kappa": plain(kappa), "pairs": own.height}
    return found


def _alike(totals: Floats) -> Floats:
    """(B, 1) share on the diagonal of (B, 4, 4) counts."""
    return ratio(np.trace(totals, axis1=1, axis2=2), totals.sum(axis=(1, 2)))[:, None]


def _kappa(totals: Floats) -> Floats:
    """(B, 1) Cohen's κ of (B, 4, 4) counts; NaN where both say one and the same label throughout."""
    n = totals.sum(axis=(1, 2))
    chance = ratio((totals.sum(axis=1) * totals.sum(axis=2)).sum(axis=1), n * n)
    return ratio(_alike(totals)[:, 0] - chance, np.where(chance < 1.0, 1.0 - chance, 0.0))[:, None]


def agreement_tables(rows: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """A table a sub-task: the share of ordered pairs answered alike, models down and everybody across.

    Args:
        rows: What `agreements` gave.
    """
    names = list(dict.fromkeys(row[end] for end in ("a", "b") for row in rows))
    for task, title in SUBTASK_TITLES.items():
        known = {(r["a"], r["b"]): r["subtasks"][task] for r in rows if task in r["subtasks"]}
        known |= {(b, a): of for (a, b), of in known.items()}
        lines = [
            Row(name, tuple(_cell(known.get((name, other))) for other in names))
            for name in names
            if all((name, other) in known for other in names if other != name)  # two blind ones are not compared
        ]
        note = "Share of the ordered pairs that both answered, with κ: 0 is what labels' shares alone give."
        yield Table(f"Agreement: {title.lower()}", ("", *names), tuple(lines), note=note)


def _cell(of: Mapping[str, Any] | None) -> Cell:
    if of is None:
        return Cell("–")
    share, kappa = of["agreement"], of["kappa"]["value"]
    known = share["low"] is not None  # one image alone has no interval
    limits = f"{100 * share['low']:.1f}–{100 * share['high']:.1f}; " if known else ""
    return Cell(f"{100 * share['value']:.1f} %", f"{limits}κ {'–' if kappa is None else f'{kappa:.2f}'}")
