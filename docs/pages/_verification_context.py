"""Rows of the verification page about the context exam, from what docs/pages/context_results.py measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from _context_card_page import PAPER_1, PAPER_3, PAPER_4, SHOWN_1
from _verification_rows import RESULTS, Row, numbers, stored

CONTEXT = RESULTS / "context"
INDEPENDENT = {"cases": 278, "images": 64, "v_min": 0.284, "v_mean": 0.126, "ties": 0.04, "chance": 0.77}
"""Of a loop without our code: EfficientDet's logits, coco-tiny's validation photos, Telea, 11 × 11."""
KNOWN = {"pixel_count": 0.0, "context_only": 1.0}
"""V^min that a rule must have."""


def photo_rows() -> Iterator[Row]:
    """V^min on real photos beside an independent loop's."""
    ours = kept("photos")["coco-tiny"]["grown_limit"]
    yield numbers("photos with two removable classes", INDEPENDENT["images"], ours["images"], 0)
    yield numbers("cases", INDEPENDENT["cases"], ours["cases"], 0)
    words = {"v_min": "V^min, all cases", "v_mean": "V^mean, all cases", "ties": "ties"}
    for key, what in words.items():
        value, low, high = ours[key]
        yield numbers(f"{what}; ours [{low:.3f}, {high:.3f}]", INDEPENDENT[key], value, 3)
    yield numbers("V^min of a random model", INDEPENDENT["chance"], ours["chance"], 2)


def rule_rows() -> Iterator[Row]:
    """Rules whose V^min is known, with every fill; and what exact removal costs."""
    for world, of in kept("worlds")["worlds"].items():
        for rule, known in KNOWN.items():
            for fill, one in of["models"][rule].items():
                if fill in ("exact", "telea"):
                    yield numbers(f"{world}, {rule}, {fill}", known, one["v_min"][0], 3)
        chance = of["models"]["chance"]["exact"]
        value, low, high = chance["v_min"]
        what = f"{world}, chance, exact; ours [{low:.3f}, {high:.3f}]"
        yield numbers(what, round(chance["chance"], 3), value, 3)
    share = next(row["share"] for row in stored("speed.md", CONTEXT) if "share" in row)
    what, speed = "exact removal of an object, share of a full render", "python benchmarks/context_speed.py"
    yield Row(what, "< 0.5 asked", share, f"{float(share) - 0.5:+.2f}", speed)


def card_rows() -> Iterator[Row]:
    """Differences to the baselines beside the paper's, where trainings on a card were measured."""
    yield from training_rows("card")


def cpu_rows() -> Iterator[Row]:
    """The same of the small trainings on a CPU."""
    yield from training_rows("cpu")


def training_rows(name: str) -> Iterator[Row]:
    """Differences to the baselines beside the paper's, where such trainings were measured."""
    if not (CONTEXT / f"{name}.json").is_file():
        return
    facts = kept(name)
    for net, rows in facts["classifiers"].items():
        for name, one in rows.items():
            if "paired" not in one or name not in PAPER_1:
                continue
            method, _, part = name.partition("-")
            before, after = PAPER_1[f"baseline-{part}"], PAPER_1[name]
            for key, theirs, ours in zip(SHOWN_1, before, after, strict=True):
                row = one["paired"][key]
                what = f"{net}, {part}, {method}: {key.partition(',')[0]}{key[9:] if key[:3] == 'map' else ''}"
                yield difference(what, ours - theirs, (row["difference"], row["low"], row["high"]))
    for name, one in facts["streets"].items():
        if "paired" in one and name in PAPER_3:
            before, after = PAPER_3["street-baseline"], PAPER_3[name]
            for place, key in enumerate(("miou, full", "accuracy, full")):
                what = f"{name}: {key.partition(',')[0]}"
                yield difference(what, after[place] - before[place], one["paired"][key])
    for name, one in facts["three"].items():
        if "paired" in one and name in PAPER_4:
            before = PAPER_4[f"three-baseline-{one['part']}"]
            for place, key in enumerate(("full", "cooccur", "single")):
                yield difference(f"{name}: mIoU {key}", PAPER_4[name][place] - before[place], one["paired"][key])


def difference(what: str, theirs: float, ours: Sequence[float | None] | None) -> Row:
    """A change against the baseline, in points."""
    words = f"{what}, less the baseline, points"
    if ours is None or ours[0] is None:
        return Row(words, f"{theirs:+.1f}", "–", "–")
    limits = [f"{100 * one:+.1f}" for one in ours[1:] if one is not None]
    shown = f"{100 * ours[0]:+.1f}" + (f" [{', '.join(limits)}]" if limits else "")
    return Row(words, f"{theirs:+.1f}", shown, f"{100 * ours[0] - theirs:+.1f}")


def kept(name: str) -> Any:
    """A measurement of the context page."""
    file = CONTEXT / f"{name}.json"
    if not file.is_file():
        raise SystemExit(f"{file} is not there: python docs/pages/context_results.py --measure {name} writes it")
    return json.loads(file.read_text(encoding="utf-8"))
