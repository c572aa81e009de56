"""The scores of the Turing exam: shares of right answers among those asked, with intervals by image.

Every question counts the same (that is what their unpredictability is for); an abstention, a reply nobody can read
and a late one are not right. Ambiguous questions were never asked and do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.turing.conversation import REPLIES
from sightline.stats import Interval, intervals

KINDS: Final = ("exist", "unique", "attribute", "relation")
STEPS: Final = (1, 6, 11, 21, 31, 51)
"""First step of every bin of steps."""
STORIES: Final = (1, 2, 3, 4, 6, 11)
SUPPORTS: Final = (0, 30, 100, 1000, 10_000)

Floats = NDArray[np.float64]
Grouping = Mapping[str, NDArray[np.bool_]]
"""Name of a group → which records belong to it."""


@dataclass(frozen=True)
class TuringScores:
    """How well a model answered; intervals are by image.

    Attributes:
        accuracy: Share of right answers of all questions (``all``) and of each type.
        by_step: The same by bins of steps; `by_story` by number of the story line, `by_support` by what the
            engine's estimate rests on. Bins without a question are left out.
        replies: Share of each word of `REPLIES` among the replies.
        n_streams: Streams, those without a question too. `n_images` likewise.
        n_questions: Questions asked.
        streams: Length, halting and ambiguity of the streams, see `stream_facts`.
    """

    accuracy: Mapping[str, Interval]
    by_step: Mapping[str, Interval]
    by_story: Mapping[str, Interval]
    by_support: Mapping[str, Interval]
    replies: Mapping[str, Interval]
    n_streams: int
    n_images: int
    n_questions: int
    streams: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null."""
        tables = ("accuracy", "by_step", "by_story", "by_support", "replies")
        plain: dict[str, Any] = {name: plain_table(getattr(self, name)) for name in tables}
        plain["streams"] = dict(self.streams)
        return plain | {"n_streams": self.n_streams, "n_images": self.n_images, "n_questions": self.n_questions}


def scores(asked: pl.DataFrame, streams: pl.DataFrame, *, resamples: int = 2000, seed: int = 0) -> TuringScores:
    """All scores.

    Args:
        asked: One row a question that was asked: cluster_id, type, step, story, support, reply, right.
        streams: One row a stream: cluster_id, length, ambiguous, halted.
        resamples: Bootstrap resamples behind the intervals.
        seed: Of the resampling.
    """
    rate = rates_by_image(asked["cluster_id"], resamples=resamples, seed=seed)
    right = asked["right"].cast(pl.Boolean).to_numpy()
    reply = asked["reply"].cast(pl.String).to_numpy()
    everything = np.ones(len(asked), dtype=bool)
    said = [rate(reply == word, {word: everything})[word] for word in REPLIES]
    return TuringScores(
        accuracy=rate(right, kinds_of(asked)),
        by_step=rate(right, binned(asked["step"].to_numpy(), STEPS)),
        by_story=rate(right, binned(asked["story"].to_numpy(), STORIES)),
        by_support=rate(right, binned(asked["support"].to_numpy(), SUPPORTS)),
        replies=dict(zip(REPLIES, said, strict=True)),
        n_streams=len(streams),
        n_images=streams["cluster_id"].n_unique(),
        n_questions=len(asked),
        streams=stream_facts(streams),
    )


def kinds_of(asked: pl.DataFrame) -> dict[str, NDArray[np.bool_]]:
    """All questions, and those of each type."""
    kind = asked["type"].cast(pl.String).to_numpy()
    return {"all": np.ones(len(kind), dtype=bool)} | {name: kind == name for name in KINDS}


def binned(values: NDArray[Any], starts: Sequence[int]) -> dict[str, NDArray[np.bool_]]:
    """Which values fall into each bin that has any; a bin begins at its start, the last one is open.

    >>> {name: who.tolist() for name, who in binned(np.array([1, 5, 70]), STEPS).items()}
    {'1–5': [True, True, False], '51+': [False, False, True]}
    """
    ends = [*(following - 1 for following in starts[1:]), None]
    groups: dict[str, NDArray[np.bool_]] = {}
    for start, end in zip(starts, ends, strict=True):
        inside = (values >= start) & (True if end is None else values <= end)
        if inside.any():
            name = f"{start}+" if end is None else f"{start}" if end == start else f"{start}–{end}"
            groups[name] = inside
    return groups


def rates_by_image(
    images: pl.Series, *, resamples: int = 2000, seed: int = 0
) -> Callable[[NDArray[np.bool_], Grouping], dict[str, Interval]]:
    """A function of (which records count as hits, groups of records) that gives each group's share of hits.

    Args:
        images: Image of each record; images are resampled as a whole.
        resamples: Bootstrap resamples.
        seed: Of the resampling.

    >>> rate = rates_by_image(pl.Series(["a", "a", "b"]))
    >>> rate(np.array([True, False, True]), {"all": np.ones(3, dtype=bool)})["all"].value
    0.6666666666666666
    """
    place = images.cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1
    n = int(place.max()) + 1 if len(place) else 0

    def rate(hits: NDArray[np.bool_], groups: Grouping) -> dict[str, Interval]:
        if not groups:
            return {}
        found = intervals(counted(place, n, hits, groups), shares, resamples=resamples, seed=seed)
        return dict(zip(groups, found, strict=True))

    return rate


def counted(place: NDArray[np.int64], n: int, hits: NDArray[np.bool_], groups: Grouping) -> Floats:
    """(n, G, 2) hits and records of every image in each group."""
    counts = np.zeros((n, len(groups), 2))
    for column, inside in enumerate(groups.values()):
        counts[:, column, 0] = np.bincount(place[inside & hits], minlength=n)
        counts[:, column, 1] = np.bincount(place[inside], minlength=n)
    return counts


def shares(totals: Floats) -> Floats:
    """(B, G) hits over records of totals (B, G, 2): a `stats.Statistic`."""
    return np.asarray(totals[..., 0] / totals[..., 1])


def stream_facts(streams: pl.DataFrame) -> dict[str, Any]:
    """How long streams are, why they ended, and how many of their questions were ambiguous.

    >>> told = {"cluster_id": ["a", "b"], "length": [10, 30], "ambiguous": [0, 10], "halted": ["limit", "end"]}
    >>> found = stream_facts(pl.DataFrame(told))
    >>> found["mean"], found["halted"], found["ambiguous"]
    (20.0, {'end': 1, 'limit': 1}, 0.2)
    """
    length = streams["length"].cast(pl.Int64).to_numpy()
    drawn = int(length.sum()) + int(streams["ambiguous"].sum())
    halted = streams["halted"].value_counts(sort=False).sort("halted")
    facts: dict[str, Any] = {"mean": None, "min": None, "q25": None, "median": None, "q75": None, "max": None}
    if len(length):
        quartiles = np.quantile(length, [0.25, 0.5, 0.75]).tolist()
        facts = {
            "mean": float(length.mean()),
            "min": int(length.min()),
            "q25": quartiles[0],
            "median": quartiles[1],
            "q75": quartiles[2],
            "max": int(length.max()),
        }
    return facts | {
        "empty": int((length == 0).sum()),
        "halted": dict(halted.iter_rows()),
        "ambiguous": int(streams["ambiguous"].sum()) / drawn if drawn else None,
    }


def plain_table(scored: Mapping[str, Interval]) -> dict[str, Any]:
    """Each interval as plain values."""
    return {name: interval.to_dict() for name, interval in scored.items()}
