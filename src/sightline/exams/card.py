"""One part of a report card: runs of one exam over the same data, and which of their items to show."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import polars as pl

from sightline.errors import ConfigError
from sightline.exams.base import Candidate, Exam, Name
from sightline.exams.run import Run
from sightline.exams.scoring import RunResult
from sightline.hints import did_you_mean
from sightline.show.chart import Kind
from sightline.show.page import ExampleKind
from sightline.show.table import Cell, Row, figure, percent, scored, shared
from sightline.stats import Interval
from sightline.store import Dataset
from sightline.text import counted

T = TypeVar("T")

EXAMPLES: Final = {"worst": 6, "typical": 4, "perfect": 3}
"""Items on show of the model in focus, at most, by the reason why."""

WORST_OF_OTHERS: Final = 2

RIVALS: Final = 5
"""Other models in a small chart."""

KINDS: Final[Mapping[ExampleKind, str]] = {
    "worst": "The lowest share of right answers.",
    "typical": "From the middle of all those with a mistake.",
    "perfect": "Without a mistake, with as many judgements as the worst have, or nearly as many.",
    "chosen": "Asked for by id, in the order given; they need not be typical.",
}
"""Why items are on show → in words."""


@dataclass(frozen=True)
class CardOptions:
    """What a user may choose about a report card.

    Attributes:
        focus: Name, label or spec of the model to look at closely; empty for the best.
        resamples: Bootstrap resamples behind every interval; `seed` of the resampling.
        scoring: Options that say how to count, such as the protocol.
        scenes: Ids of scenes to show instead of chosen ones.
        examples: Most items of each kind on show; None for the usual numbers.
        attention: Show where the model in focus looked; loads it.
    """

    focus: str = ""
    resamples: int = 1000
    seed: int = 0
    scoring: Mapping[str, Any] | None = None
    scenes: tuple[str, ...] = ()
    examples: int | None = None
    attention: bool = False

    def __post_init__(self) -> None:
        if self.scenes and self.examples is not None:
            raise ConfigError("--examples is how many scenes the report chooses; with --scene it chooses none")


@dataclass(frozen=True)
class CardContext:
    """One part of the card: runs of one exam over the same data.

    Attributes:
        exam: The exam, with the scoring options of the card.
        data: What the runs were made on.
        results: All runs, best first; their names are unique.
        focus: The run looked at closely.
        options: What the user chose.
        shared: Facts that need all runs together.
        load: Loads the model of a run.
    """

    exam: Exam[Any]
    data: Dataset
    results: tuple[RunResult, ...]
    focus: RunResult
    options: CardOptions
    shared: Mapping[str, Any]
    load: Callable[[Run], Candidate]
    _memo: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was computed for this part of the card under that key; made on first use."""
        if key not in self._memo:
            self._memo[key] = make()
        value: T = self._memo[key]
        return value

    @property
    def main(self) -> tuple[RunResult, ...]:
        """Runs that belong in the main tables: those that answered something, asked in the usual way."""
        return tuple(r for r in self.answered if self.exam.standard(r.run.options)) or self.answered

    @property
    def answered(self) -> tuple[RunResult, ...]:
        """Runs that answered something."""
        return tuple(result for result in self.results if result.records.rows.height)

    @property
    def few(self) -> tuple[RunResult, ...]:
        """The runs of a small chart: the baselines, a handful of the other models, and the focus on top."""
        rivals = [r for r in self.answered if self.kind(r) == "rival"][:RIVALS]
        others = [r for r in self.answered if self.kind(r) == "baseline" or r in rivals]
        return (*reversed(others), *([self.focus] if self.focus in self.answered else []))

    def parts(self, *path: str) -> list[str]:
        """Parts that some run has figures for below a place of the scores, in the order of the run with most."""
        at = len(path)
        each = [
            list(dict.fromkeys(n.path[at] for n in r.scores.figures if n.path[:at] == path)) for r in self.answered
        ]
        longest = max(each, key=len, default=[])
        return [*longest, *dict.fromkeys(part for parts in each for part in parts if part not in longest)]

    def kind(self, result: RunResult) -> Kind:
        """How a run is drawn."""
        return "model" if result is self.focus else "baseline" if result.blind else "rival"

    def row(self, result: RunResult, cells: Sequence[Cell]) -> Row:
        """A table's line of a run; the focus and blind ones stand out, an unfinished one is said so."""
        kind = "focus" if result is self.focus else "blind" if result.blind else ""
        head = result.name if result.finished else f"{result.name} (unfinished)"
        return Row(head, tuple(cells), kind)

    def chosen(self, result: RunResult, items: pl.DataFrame | None = None) -> dict[ExampleKind, tuple[str, ...]]:
        """Ids of the items to show, by the reason why; the same every time.

        Args:
            result: The run; of others than the focus only a few of the worst are shown.
            items: Columns item, scene_id, asked and right, one row an item; by default counted from the records.
        """
        table = judged_items(result) if items is None else items
        if self.options.scenes:
            order = {scene: i for i, scene in enumerate(dict.fromkeys(self.options.scenes))}
            chosen = table.filter(pl.col("scene_id").is_in([*order]))
            ids = sorted(chosen.select("item", "scene_id").iter_rows(), key=lambda row: (order[row[1]], row[0]))
            return {"chosen": tuple(item for item, _ in ids)}
        sizes = EXAMPLES if self.options.examples is None else dict.fromkeys(EXAMPLES, self.options.examples)
        if result is not self.focus:
            sizes = {"worst": min(WORST_OF_OTHERS, sizes["worst"]), "typical": 0, "perfect": 0}
        return choose(table, **sizes)


def judged_items(result: RunResult) -> pl.DataFrame:
    """Judgements that can be right and those that are, of every item of a run: item, scene_id, asked, right."""
    rows = result.records.rows
    return rows.group_by("item", "scene_id", maintain_order=True).agg(
        asked=pl.col("right").count().cast(pl.Int64), right=pl.col("right").cast(pl.Int64).sum()
    )


def choose(items: pl.DataFrame, *, worst: int, typical: int, perfect: int) -> dict[ExampleKind, tuple[str, ...]]:
    """Choose items by their share of right judgements.

    Worst are the lowest shares; typical those nearest to the middle of all items with a mistake; perfect those
    without one, of each worst item the nearest in judgements asked, then the fullest: what is right beside what is
    as hard. Ties go by the item's id; no item stands twice.

    >>> items = pl.DataFrame({"item": [*"abcd"], "asked": [10, 10, 10, 20], "right": [9, 5, 8, 20]})
    >>> choose(items, worst=1, typical=1, perfect=3)
    {'worst': ('b',), 'typical': ('c',), 'perfect': ('d',)}
    """
    rows = [
        (item, asked, right) for item, asked, right in items.select("item", "asked", "right").iter_rows() if asked
    ]
    wrong = sorted(((right / asked, item) for item, asked, right in rows if right < asked))
    shares = [share for share, _ in wrong]
    middle = (shares[(len(shares) - 1) // 2] + shares[len(shares) // 2]) / 2 if shares else 0.0
    rest = sorted(wrong[worst:], key=lambda pair: (abs(pair[0] - middle), pair[1]))
    size = {item: asked for item, asked, _ in rows}
    whole = sorted((item for item, asked, right in rows if right == asked), key=lambda item: (-size[item], item))
    beside: list[str] = []
    for _, hard in wrong[:worst]:
        left = [item for item in whole if item not in beside]
        beside += [min(left, key=lambda item: abs(size[item] - size[hard]))] if left else []
    picked: dict[ExampleKind, list[str]] = {
        "worst": [item for _, item in wrong[:worst]],
        "typical": [item for _, item in rest[:typical]],
        "perfect": [*beside, *(item for item in whole if item not in beside)][:perfect],
    }
    return {kind: tuple(items) for kind, items in picked.items() if items}


def has_scene(data: Dataset, name: str) -> bool:
    """Whether a dataset has a scene of that id."""
    return name in data.scan("views").select("scene_id").collect()["scene_id"]


def unknown_scene(name: str, asked: Sequence[str], data: Dataset, model: str) -> str:
    """What to say of a scene that cannot be shown; the others may be too many to list.

    Args:
        name: The scene asked for.
        asked: Ids of the scenes the model was asked about.
        data: Tells an id that does not exist from one that was not asked about.
        model: What the report calls the model.
    """
    words = f"{model} was asked about {counted(len(asked), 'scene')}"
    words += f", such as {asked[0]!r}" if asked else ""
    if has_scene(data, name):
        return f"no answers to show on the scene {name!r}: {words}"
    ending = [scene for scene in asked if scene.endswith(f"/{name}")]
    near = f", did you mean {ending[0]!r}?" if ending else did_you_mean(name, asked)
    return f"{data.path} has no scene {name!r}{near or f'; {words}'}"


def cell(interval: Interval | None, name: Name) -> Cell:
    """A figure over its interval, in per cent where the exam says so."""
    return (shared if name.percent else scored)(interval)


def value_words(interval: Interval, name: Name, *, limits: bool = True) -> str:
    """A figure and its interval in a sentence."""
    low, high = (100 * interval.low, 100 * interval.high) if name.percent else (interval.low, interval.high)
    value = percent(interval.value) if name.percent else figure(interval.value)
    digits = 1 if name.percent else 3
    ends = f" (95 % interval {low:.{digits}f}–{high:.{digits}f})" if limits and math.isfinite(low) else ""
    return value + ends
