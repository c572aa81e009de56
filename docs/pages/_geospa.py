"""What benchmarks/geospa.py left in docs/results/geospa: counts a scene by plan, split and views; their scores."""

from __future__ import annotations

import io
import json
import lzma
import re
import textwrap
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.exams.predicates.counts import (
    FN,
    FP,
    NAMES,
    TN,
    TP,
    UNKNOWN_TRUE,
    PredicateScores,
    features,
    scores,
    statistics,
)
from sightline.stats import Comparison, Interval, compare

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results" / "geospa"

PLANS = (
    "base-vessels",
    "base-alike",
    "base-wide",
    "base",
    "base-varied",
    "tiny-vessels",
    "tiny-alike",
    "tiny",
    "tiny-short",
    "tiny-plain",
    "tiny-diverse",
)
"""The page is about the first that is there."""
SPLITS = (
    "train",
    "val_default",
    "val_color",
    "val_material",
    "val_size",
    "val_shape",
    "val_op",
    "val_kitchen",
    "val_kitchen_plain",
)
ONE, TWO = "1 view", "2 views"

SEED_ACCURACY = {"train": 99.0, "val_default": 95.0}
"""Percent, scene accuracy of GeoSpa's 1-view model, from its text; its other splits have 80–90."""
SEED_RANGE = (80.0, 90.0)
OURS_ALONE = frozenset({"val_kitchen"})
"""Splits without a figure of GeoSpa's: nothing contains anything in its kitchen, which is val_kitchen_plain."""
SEED_WHOLE = 32.6
"""Percent of val_default's scenes."""
SEED_OP_SPATIAL = 70.0
SEED_MAJORITY = {"val_default": 68.6, "val_kitchen_plain": 71.8}
SEED_SECOND_VIEW = 1.0
OFFICIAL = {("fp32", False): 462, ("bf16", False): 1778, ("bf16", True): 2997}
"""Images a second of the official network, by precision and compiling: one view, six objects, batch 256, H200."""


def percent(found: Interval) -> str:
    """A share and its interval, for a sentence.

    >>> percent(Interval(0.97234, 0.9706, 0.9741, 2048, ""))
    '97.23 % (97.1–97.4)'
    """
    return f"{100 * found.value:.2f} % ({100 * found.low:.1f}–{100 * found.high:.1f})"


def shown(uses: float) -> str:
    """How often each picture is shown, in words.

    >>> shown(1), shown(2), shown(1.6)
    ('each picture shown once', 'each picture shown twice on average', 'each picture shown 1.6 times on average')
    """
    times = {1: "once", 2: "twice on average"}.get(uses, f"{uses:g} times on average")
    return f"each picture shown {times}"


def published(split: str) -> tuple[float, float] | None:
    """Scene accuracy in GeoSpa's text, percent from and to; nothing where its text has none.

    >>> published("val_default"), published("val_shape"), published("val_kitchen")
    ((95.0, 95.0), (80.0, 90.0), None)
    """
    if split in OURS_ALONE:
        return None
    figure = SEED_ACCURACY.get(split)
    return SEED_RANGE if figure is None else (figure, figure)


Counts = NDArray[Any]
_TOLD = [NAMES.index("all"), NAMES.index("spatial"), NAMES.index("geometric"), len(NAMES)]
COMPARED = ("all", "spatial", "geometric", "scene-all")
"""What `difference` compares: scene accuracy of three groups, and scene-all accuracy."""


COUNTS = ".npz.xz"
"""Suffix of files of counts. All arrays of a file are compressed as one: they repeat what is true of a scene."""
SPEEDS = {None: 5000, 1: 3200, 2: 4000}
"""Images a second of the base network that were asked: of the network alone, and by times each picture is shown."""


def write_counts(file: Path, told: dict[str, Any], counts: dict[str, Counts]) -> None:
    """Write counts a scene by ``split|views``, and how their plan was trained and examined."""
    with lzma.open(file, "wb", preset=3) as out:
        np.savez(out, told=json.dumps(told), **counts)


def read_counts(file: Path) -> tuple[dict[str, Any], dict[str, Counts]]:
    """Read how a plan was trained and examined, and its counts."""
    with np.load(io.BytesIO(lzma.decompress(file.read_bytes()))) as kept:
        return json.loads(str(kept["told"])), {key: kept[key] for key in kept.files if key != "told"}


@dataclass(frozen=True)
class Results:
    """All result files of a folder.

    Attributes:
        counts: Plan → ``split|views`` → (S, 8, 6).
        told: Plan → how it was trained and examined.
        throughput: Rows of throughput.json; empty where there is none.
        curves: Name → a fine-tuning curve, as `sightline train curve --json` prints it.
    """

    folder: Path
    counts: dict[str, dict[str, Counts]]
    told: dict[str, dict[str, Any]]
    throughput: list[dict[str, Any]]
    curves: dict[str, dict[str, Any]]
    _scored: dict[tuple[str, str, str], PredicateScores] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, folder: Path = RESULTS) -> Results:
        """What lies there; plans without a file are left out."""
        counts: dict[str, dict[str, Counts]] = {}
        told: dict[str, dict[str, Any]] = {}
        there = {file.name.removesuffix(COUNTS) for file in folder.glob(f"*{COUNTS}")}
        for plan in (*(p for p in PLANS if p in there), *sorted(there.difference(PLANS))):
            told[plan], counts[plan] = read_counts(folder / f"{plan}{COUNTS}")
        speeds = folder / "throughput.json"
        rows = json.loads(speeds.read_text()) if speeds.is_file() else []
        files = sorted(folder.glob("curve-*.json"))
        return cls(
            folder, counts, told, rows, {f.stem.removeprefix("curve-"): json.loads(f.read_text()) for f in files}
        )

    @property
    def plans(self) -> list[str]:
        """Names of the plans that are there."""
        return list(self.counts)

    @cached_property
    def lead(self) -> str:
        """The plan the page is about."""
        return self.plans[0]

    def fastest(self, uses: int | None) -> dict[str, Any] | None:
        """The row of the base network with most images a second, each picture shown `uses` times.

        None asks for the network alone, without drawing.
        """
        rows = [row for row in self.throughput if (row["size"], row["uses"]) == ("base", uses)]
        return max(rows, key=lambda row: row["images_per_s"], default=None)

    def edition(self, plan: str) -> int:
        """Which edition of the pictures a plan was trained and examined with."""
        return int(self.told[plan].get("edition", 1))

    def lit(self, plan: str) -> str:
        """Words on a plan whose pictures were lit otherwise than the newest ones; none on others."""
        newest = max(map(self.edition, self.plans))
        return "" if self.edition(plan) == newest else "with pictures lit as they were before"

    def splits(self, plan: str) -> list[str]:
        """Splits a plan was examined on."""
        return [s for s in SPLITS if f"{s}|{TWO}" in self.counts[plan]]

    def scores(self, plan: str, split: str, views: str = TWO) -> PredicateScores:
        """Scores with intervals by scene; kept."""
        key = (plan, split, views)
        if key not in self._scored:
            self._scored[key] = scores(self.counts[plan][f"{split}|{views}"])
        return self._scored[key]

    def as_said(self, plan: str, split: str, views: str = TWO) -> str:
        """Name of the views under which answers are counted as the network said them, none of them averaged."""
        return f"{views} plain" if f"{split}|{views} plain" in self.counts[plan] else views

    def majority(self, split: str, plan: str = "") -> PredicateScores:
        """Scores of whoever gives the commoner answer to each predicate of the split, on a plan's scenes."""
        key = ("majority", split, plan)
        if key not in self._scored:
            self._scored[key] = scores(majority_counts(self.counts[plan or self.lead][f"{split}|{TWO}"]))
        return self._scored[key]

    def against_majority(self, plan: str, split: str, views: str = TWO) -> dict[str, Comparison]:
        """A plan minus the majority on the same scenes, by `COMPARED`."""
        counts = self.counts[plan][f"{split}|{views}"]
        rows = compare(
            features(counts), features(majority_counts(counts)), lambda t: statistics(t)[:, _TOLD], COMPARED
        )
        return dict(zip(COMPARED, rows, strict=True))

    def difference(self, a: tuple[str, str], b: tuple[str, str], split: str) -> dict[str, Comparison]:
        """(plan, views) minus (plan, views) on the same scenes, by `COMPARED`."""
        first, second = (features(self.counts[plan][f"{split}|{views}"]) for plan, views in (a, b))
        rows = compare(first, second, lambda t: statistics(t)[:, _TOLD], COMPARED)
        return dict(zip(COMPARED, rows, strict=True))


def majority_counts(counts: Counts) -> Counts:
    """Counts of the same scenes for whoever gives the commoner answer to each predicate.

    >>> one = np.zeros((1, 8, 6), dtype=int)
    >>> one[0, 0, TP], one[0, 0, FP] = 1, 3
    >>> majority_counts(one)[0, 0].tolist()
    [0, 0, 3, 1, 0, 0]
    """
    told = np.asarray(counts, dtype=np.int64)
    true = told[..., [TP, FN, UNKNOWN_TRUE]].sum(axis=-1)
    false = told.sum(axis=-1) - true
    yes = true.sum(axis=0) > false.sum(axis=0)
    made = np.zeros_like(told)
    made[..., TP], made[..., FP] = true * yes, false * yes
    made[..., TN], made[..., FN] = false * ~yes, true * ~yes
    return made


def beyond(told: dict[str, Any]) -> str:
    """What a training was taught, shown or allowed beyond GeoSpa's own, in words; by its plan and examination.

    >>> plan = {"facts": 0, "pointing": 0, "near": 1, "augmentation": None, "views": ["original"], "size": "paper"}
    >>> beyond({"plan": plan})
    'nothing'
    """
    plan = told["plan"]
    worlds = f"scenes of invented shapes, sizes, colours and materials (`{told.get('also')}`)"
    glances = told.get("glances", 1)
    parts = {
        "places and measures of objects as a second target (*pose facts*)": plan["facts"] > 0,
        "where to look (*pointing*)": plan["pointing"] > 0,
        "more weight on directions between an object and what it holds": plan.get("near", 3.0) != 1.0,
        "pictures changed at random": bool(plan["augmentation"]),
        worlds: bool(told.get("also")),
        f"a second view in {100 * (1 - plan.get('fewer_views', 0.4)):.0f} % of the steps": len(plan["views"]) > 1,
        f"{glances} glances at a scene": glances > 1,
        "thresholds by predicate, chosen on other scenes of val_default": any(told.get("thresholds", {}).values()),
        "another optimiser and schedule, and a network that differs in details": not plan["size"].startswith(
            "paper"
        ),
    }
    return "; ".join(words for words, had in parts.items() if had) or "nothing"


def images_a_second(told: dict[str, Any]) -> float:
    """Views seen a second over a whole training, compiling, placing and drawing included."""
    from sightline.training.sornet.plan import SornetPlan

    plan = SornetPlan.from_dict(told["plan"])
    seen = sum(len(plan.shown(step)) for step in range(told["steps"])) * plan.batch
    return seen / float(told["seconds"])


def wrapped(text: str) -> str:
    r"""Paragraphs filled to the width of the docs; headings, tables and code as they are.

    >>> wrapped("a\n  b")
    'a b'
    """
    parts = re.split(r"\n{2,}", text.strip("\n"))
    return "\n\n".join(part if part.startswith(("|", "#", "`" * 3)) else _filled(part) for part in parts)


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 116, break_long_words=False, break_on_hyphens=False)
