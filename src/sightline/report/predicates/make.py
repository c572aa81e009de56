"""From runs of the predicates exam to a report card; every score is computed from the records on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError, ModelError
from sightline.exams.predicates.drawing import SceneExample, attention_of, scene_example
from sightline.exams.predicates.exam import BASELINES, PredicatesExam
from sightline.exams.predicates.items import PredicatesItem
from sightline.exams.predicates.records import ANSWERS, counts_of, score_records
from sightline.exams.predicates.slices import slices
from sightline.exams.predicates.tally import TN, TP
from sightline.exams.run import Run
from sightline.models.registry import candidate
from sightline.report.choosing import Chosen, choose, named
from sightline.report.galleries import NAMED, Gallery, hung
from sightline.report.make import common_split, labels
from sightline.report.predicates.cards import PredicatesCard, Sitting
from sightline.report.seats import focused, seated
from sightline.report.sentences import cautions
from sightline.scenes.labels import PREDICATES
from sightline.store import Dataset

_SHORT = {spec: name for name, spec in BASELINES.items()}

GALLERIES: Mapping[str, str] = {
    "Worst": "The scenes with the lowest share of right judgements.",
    "Typical": "Scenes in the middle of all those with a mistake.",
    "Perfect": "Scenes without a mistake, the fullest first.",
    NAMED: "Asked for by id, in the order given; they need not be typical.",
}
"""Why scenes are shown → in words."""


def card(
    runs: Sequence[Run],
    data: Dataset,
    *,
    focus: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    worst: int = 6,
    typical: int = 4,
    perfect: int = 3,
    scenes: Sequence[str] = (),
    attention: bool | object = False,
) -> PredicatesCard:
    """Everything the report shows.

    Args:
        runs: Runs of the predicates exam on one split of `data`, finished or not.
        data: The dataset they were made on.
        focus: Name or spec of the model whose scenes are shown; by default the best that is not blind, else the
            best.
        resamples: Bootstrap resamples behind every interval.
        seed: Of the resampling.
        worst: How many of the worst scenes to show at most.
        typical: How many typical ones.
        perfect: How many perfect ones.
        scenes: Ids of scenes to show instead of those, in this order.
        attention: Show where the focused model looked: True loads it by its spec, or give the model itself.

    Raises:
        ConfigError: No runs, runs of another exam, of several splits or of other data, no such focus, or a scene
            that does not exist or that the focused model was not asked about.
        ModelError: Attention is wanted of a model that has none.
    """
    split = common_split(runs, data, "predicates")
    names = [_SHORT.get(run.name, run.name) for run in runs]
    called = labels(names, [_apart(run) for run in runs])
    records = [run.records() for run in runs]
    made = [_sitting(*one, resamples, seed) for one in zip(runs, called, records, strict=True)]
    chosen = focused(made, focus, lambda s: s.scores is not None)
    at = made.index(chosen)
    wanted = named(scenes, records[at]["scene_id"], data, chosen.label)
    sizes = {"worst": worst, "typical": typical, "perfect": perfect}
    picked = Chosen(named=wanted) if wanted else _choice(records[at], sizes)
    warnings = list(cautions(made, "scenes"))
    looking = _looking(runs[at], attention, warnings)
    return PredicatesCard(
        made=datetime.now(UTC).isoformat(timespec="minutes"),
        resamples=resamples,
        seed=seed,
        data=data.path.name,
        source=data.source,
        fingerprint=data.fingerprint,
        split=split or "",
        sittings=tuple(sorted(made, key=lambda s: s.rank, reverse=True)),
        focus=chosen.label,
        galleries=_galleries(chosen, picked, records[at], data, split, looking),
        warnings=tuple(warnings),
    )


def answers_of(records: pl.DataFrame, objects: Sequence[str]) -> NDArray[np.int8]:
    """One scene's records as verdicts, (n, n, 8) int8; what is not in the records is `UNKNOWN`."""
    places = {name: i for i, name in enumerate(objects)}
    answers = np.full((len(objects), len(objects), len(PREDICATES)), ANSWERS["unknown"], dtype=np.int8)
    for subject, other, predicate, said in records.select("subject", "object", "predicate", "answer").iter_rows():
        if subject not in places or other not in places:
            raise DataError("the records name an object the scene has not", row=str(records["scene_id"][0]))
        answers[places[subject], places[other], PREDICATES.index(predicate)] = ANSWERS[said]
    return answers


def _apart(run: Run) -> list[str]:
    views = run.manifest.get("views") or []
    return [", ".join(map(str, views))] if views else []


def _sitting(run: Run, label: str, records: pl.DataFrame, resamples: int, seed: int) -> Sitting:
    asked = run.options.get("views")
    sure: dict[str, Any] = {"resamples": resamples, "seed": seed}
    return Sitting(
        **seated(run, label),
        views=tuple(map(str, run.manifest.get("views") or ())),
        asked_views=None if asked is None else tuple(map(str, asked)),
        done=records["item"].n_unique(),
        scores=score_records(records, **sure) if records.height else None,
        slices=slices(records, **sure) if records.height else None,
    )


def _looking(run: Run, attention: bool | object, warnings: list[str]) -> object | None:
    """The model whose attention is shown, None for none; a warning where its file has changed since the run."""
    if attention is False or attention is None:
        return None
    model = attention
    if attention is True:
        identity = run.manifest["identity"]
        loaded = candidate(str(identity["model"]))
        model = loaded.model
        if loaded.fingerprint != identity["model_fingerprint"]:
            warnings.append(
                f"{run.name} has changed since it sat: the attention shown is of the model as it is now."
            )
    if not callable(getattr(model, "attention", None)):
        raise ModelError(f"{run.name} has no attention to show: it has no method attention(queries)")
    return model


def _galleries(
    focus: Sitting, picked: Chosen, records: pl.DataFrame, data: Dataset, split: str | None, looking: object | None
) -> tuple[Gallery[SceneExample], ...]:
    if focus.scores is None:
        return ()
    items = {item.id: item for item in PredicatesExam(split=split).items(data)}

    def exhibit(name: str) -> SceneExample:
        return _exhibit(items[name], records.filter(pl.col("scene_id") == name), data, focus, looking)

    return hung(picked, GALLERIES, exhibit)


def _choice(records: pl.DataFrame, sizes: Mapping[str, int]) -> Chosen:
    counted = counts_of(records)
    asked = counted.counts.sum(axis=(1, 2))
    right = counted.counts[:, :, [TP, TN]].sum(axis=(1, 2))
    return choose(counted.scenes, asked, right, **sizes)


def _exhibit(
    item: PredicatesItem, records: pl.DataFrame, data: Dataset, focus: Sitting, looking: object | None
) -> SceneExample:
    """A blind model was shown no view; the reader sees them all the same."""
    queries = item.queries(focus.views or tuple(item.views))
    facts = item.facts
    return scene_example(
        data.scene(item.scene_id),
        queries,
        facts.truth,
        answers_of(records, facts.objects),
        hidden=facts.hidden,
        attention=None if looking is None else attention_of(looking, queries, focus.label),
    )
