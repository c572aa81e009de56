"""What can be said of GeoSpa's scenes without looking: the exam's priors on the very scenes the networks sat."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _geospa import ROOT, TWO, Counts, Results
from sightline.exams.predicates.counts import FN, TP, UNKNOWN_TRUE, PredicateScores, scores, tally_many
from sightline.models.baselines.predicates import LookPrior, Looks
from sightline.skills import PredicatesStudy, Queries
from sightline.training.sornet.layouts import PlacedScenes
from sightline.worlds import load_world
from sightline.worlds.shapes import split_name

sys.path.append(str(ROOT / "benchmarks"))
from geospa import learned_from  # what was measured says which scenes it has learned from

PRIORS: dict[str, Looks] = {"shape prior": "shape", "size prior": "size", "shape and size prior": "shape+size"}
"""Name in the table → what of the looks is known."""


def prior_scores(results: Results, split: str) -> dict[str, PredicateScores]:
    """Scores of each prior on the scenes of a split that the page's network sat."""
    told, sat = results.told[results.lead], results.counts[results.lead][f"{split}|{TWO}"]
    which = learned_from(told) if split == "train" else {}
    stream = PlacedScenes(load_world(f"geospa/{split}"), ["original"], seed=0, size=len(sat), batches=1, **which)
    placed = stream[0]
    numbers = [np.flatnonzero(row) for row in placed.present]
    appearance = [
        tuple(map(_appearance, (stream.identities[i][0] for i in row[n])))
        for row, n in zip(placed.identities, numbers, strict=True)
    ]
    truth = [labels[np.ix_(n, n)] for labels, n in zip(placed.labels, numbers, strict=True)]
    study = PredicatesStudy(tuple(map(str, range(len(sat)))), tuple(appearance), tuple(truth))
    made = {}
    for name, known in PRIORS.items():
        counts: Counts = tally_many(placed.labels, said_by(known, study, placed.labels.shape), placed.present)
        if not np.array_equal(_true(counts), _true(sat)):
            raise SystemExit(f"{split}: the scenes of the {name} are not those of {results.lead}")
        made[name] = scores(counts)
    return made


def said_by(known: Looks, study: PredicatesStudy, shape: tuple[int, ...]) -> NDArray[np.int8]:
    """(S, N, N, 8) what a prior says of the scenes it was fitted to, each answered from the others."""
    prior = LookPrior(known)
    prior.prepare_predicates(study)
    said = np.zeros(shape, np.int8)
    for row, scene, appearance in zip(said, study.scenes, study.appearance, strict=True):
        n = len(appearance)
        row[:n, :n] = prior.predicates(Queries(scene, (), np.zeros((n, 1, 1, 3), np.uint8), appearance)).answers
    return said


def _appearance(name: str) -> dict[str, str]:
    shape, size = split_name(name)
    return {"shape": shape, "size": size}


def _true(counts: Counts) -> NDArray[Any]:
    """(S, 8) how often each predicate holds in each scene."""
    total: NDArray[Any] = np.asarray(counts, np.int64)[..., [TP, FN, UNKNOWN_TRUE]].sum(axis=-1)
    return total
