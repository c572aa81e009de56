"""What can be said of GeoSpa's scenes without looking: the exam's priors on the very scenes the networks sat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from _geospa import TWO, Counts, Results
from geospa import learned_from
from sightline.exams.predicates.scores import PredicateScores, scores
from sightline.exams.predicates.study import PredicateStudy
from sightline.exams.predicates.tally import FN, TP, UNKNOWN_TRUE, tally_many
from sightline.models.baselines.predicates import LookPrior, Looks
from sightline.scenes.labels import PREDICATES
from sightline.skills import Queries
from sightline.training.placing import PlacedScenes
from sightline.worlds import load_world, relations
from sightline.worlds.shapes import split_name

PRIORS: dict[str, Looks] = {"shape prior": "shape", "size prior": "size", "shape and size prior": "shape+size"}
"""Name in the table → what of the looks is known."""

_ORDER = {name: i for i, name in enumerate(PREDICATES)}


def prior_scores(results: Results, split: str) -> dict[str, PredicateScores]:
    """Scores of each prior on the scenes of a split that the page's network sat."""
    told, sat = results.told[results.lead], results.counts[results.lead][f"{split}|{TWO}"]
    study = study_of(split, len(sat), learned_from(told) if split == "train" else {})
    made = {name: counts_of(study, looks) for name, looks in PRIORS.items()}
    for name, counts in made.items():
        if not np.array_equal(_true(counts), _true(sat)):
            raise SystemExit(f"{split}: the scenes of the {name} are not those of {results.lead}.npz")
    return {name: scores(counts) for name, counts in made.items()}


def study_of(split: str, scenes: int, which: dict[str, Any]) -> PredicateStudy:
    """Looks and truth of the first scenes of a split, or of those that `which` tells."""
    stream = PlacedScenes(load_world(f"geospa/{split}"), ["original"], seed=0, size=1, batches=scenes, **which)
    looks, truth = [], []
    for number in range(scenes):
        layout = stream.layout(stream.first + number)
        named = [split_name(thing.shape) for thing in layout.objects]
        looks.append(tuple({"shape": shape, "size": size} for shape, size in named))
        holds = np.zeros((len(named), len(named), len(PREDICATES)), bool)
        for i, predicate, j in relations(layout):
            holds[i, j, _ORDER[predicate]] = True
        truth.append(holds)
    return PredicateStudy(tuple(map(str, range(scenes))), tuple(looks), tuple(truth))


def counts_of(study: PredicateStudy, looks: Looks) -> Counts:
    """(S, 8, 6) what a prior says of the scenes it was fitted to, each answered from the others."""
    prior = LookPrior(looks)
    prior.prepare(study)
    most = max(map(len, study.truth))
    said, truth = (np.zeros((len(study.scenes), most, most, len(PREDICATES)), np.int8) for _ in range(2))
    present = np.zeros((len(study.scenes), most), bool)
    for s, (scene, seen, holds) in enumerate(zip(study.scenes, study.looks, study.truth, strict=True)):
        n = len(seen)
        blank = np.zeros((n, 1, 1, 3), np.uint8)
        said[s, :n, :n] = prior.predicates(Queries(scene, (), blank, seen)).answers
        truth[s, :n, :n], present[s, :n] = holds, True
    made: Counts = tally_many(truth.astype(bool), said, present)
    return made


def _true(counts: Counts) -> NDArray[Any]:
    """(S, 8) how often each predicate holds in each scene."""
    total: NDArray[Any] = np.asarray(counts, np.int64)[..., [TP, FN, UNKNOWN_TRUE]].sum(axis=-1)
    return total
