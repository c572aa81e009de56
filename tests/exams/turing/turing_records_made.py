"""Records of the Turing exam made by hand, without a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from sightline.exams.run import RunRecords

KINDS = ("exist", "unique", "attribute", "relation")


def records(
    images: int,
    questions: int,
    *,
    yes: Callable[[np.random.Generator, int, str], bool] = lambda rng, step, kind: bool(rng.random() < 0.5),
    reply: Callable[[np.random.Generator, bool], str] = lambda rng, truth: "yes" if rng.random() < 0.5 else "no",
    p_yes: float | None = 0.5,
    seed: int = 0,
) -> pl.DataFrame:
    """So many questions about each image; `yes` decides the truth of each, `reply` what was said to it."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for i in range(images):
        for step in range(1, questions + 1):
            kind = KINDS[int(rng.integers(4))]
            truth = yes(rng, step, kind)
            word = reply(rng, truth)
            rows.append(
                {
                    "item": f"s{i}#0",
                    "scene_id": f"s{i}",
                    "cluster_id": f"s{i}",
                    "stream": 0,
                    "halted": "limit",
                    "step": step,
                    "type": kind,
                    "story": 1 + step // 6,
                    "question": f'{{"type":"relation","relation":"q{i}-{step}"}}',
                    "text": "?",
                    "p_yes": p_yes,
                    "support": int(rng.integers(30, 2000)),
                    "truth": "yes" if truth else "no",
                    "answer": word,
                    "right": word == ("yes" if truth else "no"),
                    "seconds": 0.0,
                }
            )
    return pl.DataFrame(rows)


def run_records(rows: pl.DataFrame, *, empty: int = 0) -> RunRecords:
    """Such records as a run has them, and some streams without a question."""
    shared = ("item", "scene_id", "cluster_id", "stream", "halted")
    items = rows.select(shared).unique(maintain_order=True)
    bare = pl.DataFrame(
        [(f"e{i}#0", f"e{i}", f"e{i}", 0, "exhausted") for i in range(empty)], schema=items.schema, orient="row"
    )
    return RunRecords(rows, pl.concat([items, bare]))
