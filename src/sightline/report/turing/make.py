"""From runs of the Turing exam to a report card; every score is computed from the records on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from sightline.errors import ConfigError
from sightline.exams.run import Run
from sightline.exams.turing.compare import MODELS_OWN
from sightline.exams.turing.drawing import StreamExample, stream_example
from sightline.exams.turing.exam import BLIND
from sightline.exams.turing.monitor import Monitor, monitor
from sightline.exams.turing.records import asked_of, score_run, streams_of
from sightline.exams.turing.transcript import Transcript, transcripts
from sightline.report.choosing import Chosen, choose, named
from sightline.report.galleries import NAMED, Gallery, hung
from sightline.report.make import common_split, labels
from sightline.report.seats import focused, seated
from sightline.report.sentences import cautions
from sightline.report.turing.cards import Sitting, TuringCard
from sightline.show.frame import frame_of
from sightline.store import Dataset

GALLERIES: Final[Mapping[str, str]] = {
    "Worst": "The streams with the lowest share of right answers.",
    "Typical": "Streams in the middle of all those with a mistake.",
    "Perfect": "Streams without a mistake, the longest first.",
    NAMED: "All streams of the images asked for by id, in the order given; they need not be typical.",
}
"""Why streams are shown → in words."""


def card(
    runs: Sequence[Run],
    data: Dataset,
    *,
    focus: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    worst: int = 4,
    typical: int = 2,
    perfect: int = 2,
    scenes: Sequence[str] = (),
) -> TuringCard:
    """Everything the report shows.

    Args:
        runs: Runs of the Turing exam over the same streams, finished or not.
        data: The images they were asked about.
        focus: Name or spec of the model whose streams are shown; by default the best that is not blind, else the
            best.
        resamples: Bootstrap resamples behind every interval.
        seed: Of the resampling.
        worst: How many of the worst streams to show at most.
        typical: How many typical ones.
        perfect: How many perfect ones.
        scenes: Ids of images whose streams to show instead of those, in this order.

    Raises:
        ConfigError: No runs, runs of another exam, of other streams or of other data, no such focus, or an image
            that does not exist or that the focused model was not asked about.
    """
    split = common_split(runs, data, "turing")
    _same_streams(runs)
    called = labels([run.name for run in runs], [_apart(run) for run in runs])
    made = [_sitting(run, label, resamples, seed) for run, label in zip(runs, called, strict=True)]
    chosen = focused(made, focus, lambda s: s.scores is not None)
    run = runs[made.index(chosen)]
    records, options = run.records(), run.options
    told = transcripts(records)
    wanted = named(scenes, [t.scene_id for t in told], data, chosen.label)
    return TuringCard(
        made=datetime.now(UTC).isoformat(timespec="minutes"),
        resamples=resamples,
        seed=seed,
        data=data.path.name,
        source=data.source,
        fingerprint=data.fingerprint,
        split=split or "",
        options={key: value for key, value in options.items() if key not in ("split", "withhold")},
        sittings=tuple(sorted(made, key=lambda s: s.rank, reverse=True)),
        focus=chosen.label,
        monitor=_watched(records, made, options, resamples, seed),
        lengths=dict(sorted(Counter(streams_of(run)["length"].to_list()).items())),
        galleries=_galleries(told, data, options, wanted, {"worst": worst, "typical": typical, "perfect": perfect}),
        warnings=tuple(cautions(made, "streams")),
    )


def _same_streams(runs: Sequence[Run]) -> None:
    """ConfigError where the runs were not asked the same questions."""
    first = {k: v for k, v in runs[0].options.items() if k not in MODELS_OWN}
    for run in runs[1:]:
        own = run.options
        for key in sorted({*first, *own} - {*MODELS_OWN}):
            if own.get(key) != first.get(key):
                raise ConfigError(
                    f"runs of different streams: {key.replace('_', ' ')} is {first.get(key)!r} in {runs[0].folder} "
                    f"and {own.get(key)!r} in {run.folder}; report them one by one"
                )


def _apart(run: Run) -> list[str]:
    deadline = run.options.get("deadline")
    told = ["true answers withheld"] if run.options.get("withhold") else []
    return told + ([f"{deadline:g} s a question"] if deadline else [])


def _sitting(run: Run, label: str, resamples: int, seed: int) -> Sitting:
    streams = streams_of(run)
    asked = int(streams["length"].sum()) if len(streams) else 0
    return Sitting(
        **seated(run, label),
        withheld=bool(run.options.get("withhold")),
        done=len(streams),
        scores=score_run(run, resamples=resamples, seed=seed) if asked else None,
    )


def _watched(
    records: pl.DataFrame, made: Sequence[Sitting], options: Mapping[str, Any], resamples: int, seed: int
) -> Monitor:
    """The monitor of the streams, with what those reach who know the history: the exam's own verdict."""
    known = {s.label: s.accuracy() for s in made if s.spec in BLIND and s.finished}
    blind = {label: found for label, found in known.items() if found is not None}
    epsilon = float(options.get("epsilon") or 0.15)
    return monitor(asked_of(records), blind, epsilon=epsilon, resamples=resamples, seed=seed)


def _galleries(
    told: Sequence[Transcript],
    data: Dataset,
    options: Mapping[str, Any],
    wanted: Sequence[str],
    sizes: Mapping[str, int],
) -> tuple[Gallery[StreamExample], ...]:
    by_name = {f"{t.scene_id}#{t.stream:06d}": t for t in told}
    if wanted:
        streams = (name for scene in wanted for name, t in by_name.items() if t.scene_id == scene)
        chosen = Chosen(named=tuple(streams))
    else:
        asked = pl.Series([t.asked for t in told], dtype=pl.Int64).to_numpy()
        right = pl.Series([t.right for t in told], dtype=pl.Int64).to_numpy()
        chosen = choose([*by_name], asked, right, **sizes)
    return hung(chosen, GALLERIES, lambda name: _exhibit(by_name[name], data, options))


def _exhibit(told: Transcript, data: Dataset, options: Mapping[str, Any]) -> StreamExample:
    on = frame_of(data.scene(told.scene_id), options.get("view"))
    return stream_example(on, told)
