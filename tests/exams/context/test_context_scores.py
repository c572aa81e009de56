"""Context scores against slow oracles written from the formulas, on drawn pictures, and known answers."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.context_runs import CLASSES, STUFF, Table, made_item, made_scene, made_scenes, records_of
from reference import context_scores as oracle
from reference import ranked
from sightline.edits import Removal
from sightline.exams.base import Measures, RankedMeasures
from sightline.exams.context.counts import ContextRecords, presence
from sightline.exams.context.measures import context_measures
from sightline.exams.run import RunRecords
from sightline.stats import average_precision

WIDTH, HEIGHT = 12, 8
RADIUS, MOST = 1, 0.3


@st.composite
def pictures(draw: Any) -> list[tuple[Any, ...]]:
    """Rectangles of one to five pictures; some too large to remove, some hidden by others."""
    rectangle = st.tuples(
        st.sampled_from(CLASSES), st.integers(0, 9), st.integers(0, 6), st.integers(1, 7), st.integers(1, 6)
    )
    return draw(st.lists(st.lists(rectangle, max_size=5), min_size=1, max_size=5))


def values(records: RunRecords, alpha: float = 0.1, fewest: int = 1) -> tuple[dict[tuple[str, ...], float], dict]:
    """Path of each figure → its value over all images, and the facts."""
    found: dict[tuple[str, ...], float] = {}
    facts: dict[str, Any] = {}
    for measures in context_measures(records, alpha=alpha, fewest=fewest):
        facts |= measures.facts
        if isinstance(measures, RankedMeasures):
            for name, rankings in zip(measures.names, measures.groups.values(), strict=True):
                parts = [float(average_precision(one, points="all")[0, 0]) for one in rankings]
                known = [value for value in parts if not isnan(value)]
                found[name.path] = sum(known) / len(known) if known else float("nan")
        elif isinstance(measures, Measures) and measures.names:
            totals = measures.statistic(measures.counts.sum(axis=0, keepdims=True).astype(float))
            found |= dict(zip((name.path for name in measures.names), totals[0].tolist(), strict=True))
    return found, facts


def naive(rectangles: Any) -> dict[str, Any]:
    """One picture as the oracles take it: masks, holes and what can be removed, pixel by pixel."""
    top = [[None] * WIDTH for _ in range(HEIGHT)]
    for category, x, y, w, h in rectangles:
        for row in range(y, min(y + h, HEIGHT)):
            for column in range(x, min(x + w, WIDTH)):
                top[row][column] = category
    spots = {c: {(y, x) for y in range(HEIGHT) for x in range(WIDTH) if top[y][x] == c} for c in CLASSES}
    classes = {c for c in CLASSES if spots[c]}
    holes, removable = {}, set()
    for c in classes:
        hole = [
            [any(abs(y - v) <= RADIUS and abs(x - u) <= RADIUS for v, u in spots[c]) for x in range(WIDTH)]
            for y in range(HEIGHT)
        ]
        if len(spots[c]) <= MOST * WIDTH * HEIGHT and not all(map(all, hole)):
            removable.add(c)
            holes[c] = hole
    ground = [[STUFF[x >= 2 * WIDTH // 3] for x in range(WIDTH)] for _ in range(HEIGHT)]
    truth = [[top[y][x] or ground[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]
    return {"classes": classes, "removable": removable, "holes": holes, "truth": truth}


def same(ours: float, theirs: float | None) -> None:
    """Equal, undefined both or neither."""
    assert isnan(ours) == (theirs is None or isnan(theirs))
    if theirs is not None and not isnan(theirs):
        assert ours == pytest.approx(theirs, abs=1e-9)


def drawn_items(drawn: Any) -> list[Any]:
    return [made_item(made_scene(f"s{i}", rectangles)) for i, rectangles in enumerate(drawn)]


def seen_any(drawn: Any) -> bool:
    return any(naive(rectangles)["classes"] for rectangles in drawn)


@settings(max_examples=15, deadline=None)
@given(pictures(), st.integers(0, 2**32 - 1))
def test_violations_and_average_precision_are_those_of_the_formulas(drawn: Any, seed: int) -> None:
    def say(view: str, category: str) -> float:
        return float(np.random.default_rng([seed, *view.encode(), *category.encode()]).integers(-2, 3))

    records = records_of(drawn_items(drawn), Table(say), "classify", Removal(RADIUS, MOST))
    found, facts = values(records)
    naively = [naive(rectangles) for rectangles in drawn]
    for i, picture in enumerate(naively):
        edits = {d: f"s{i}/without/{d}" for d in picture["removable"]}
        picture["scores"] = {c: {d: say(view, c) for d, view in edits.items()} for c in picture["classes"]}
    there = sorted(set().union(*(picture["classes"] for picture in naively)))
    table = {c: oracle.violations(naively, c) for c in there}
    for c in there:
        for name in ("v_min", "v_mean"):
            same(found[name, c], table[c][name])
        ranking = [(say(f"s{i}", c), c in picture["classes"], False) for i, picture in enumerate(naively)]
        if len({score for score, _, _ in ranking}) == len(ranking):  # of equal scores the order is nobody's
            positives = sum(hit for _, hit, _ in ranking)
            same(found["ap", c], ranked.average_precision(ranking, positives, "all"))
    for name in ("v_min", "v_mean", "ties_min", "ties_mean", "v_min_literal", "v_mean_literal"):
        each = [table[c][name] for c in there if table[c][name] is not None]
        same(found[name, "mean"], sum(each) / len(each) if each else None)
    by_number = oracle.violations_by_context(naively, there)
    assert facts["n_by_context"] == {f"{k}": n for k, (_, n) in sorted(by_number.items())}
    for k, (hits, n) in by_number.items():
        same(found["v_min_by_context", f"{k}"], hits / n)
        assert facts["chance_by_context"]["v_min"][f"{k}"] == pytest.approx(k / (k + 1))


@settings(max_examples=12, deadline=None)
@given(pictures(), st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.1, 0.3]))
def test_affected_rates_and_overlaps_are_those_of_the_formulas(drawn: Any, seed: int, alpha: float) -> None:
    names = (*reversed(CLASSES), *STUFF, "sky")  # the model has an order of its own, and a class more
    naively = [naive(rectangles) for rectangles in drawn]

    def say(view: str, _: str) -> Any:
        rng = np.random.default_rng([seed, *view.encode()])
        truth = naively[int(view.split("/")[0][1:])]["truth"]
        right = np.array([[names.index(label) for label in row] for row in truth], dtype=np.int32)
        other = rng.integers(-1, len(names), right.shape).astype(np.int32)
        return np.where(rng.random(right.shape) < 0.7, right, other)

    def words(view: str) -> list[list[str | None]]:
        return [[None if code < 0 else names[code] for code in row] for row in say(view, "").tolist()]

    records = records_of(drawn_items(drawn), Table(say, names), "segment", Removal(RADIUS, MOST))
    found, facts = values(records, alpha)
    for i, picture in enumerate(naively):
        picture["before"] = words(f"s{i}")
        picture["after"] = {d: words(f"s{i}/without/{d}") for d in picture["removable"]}
    labels = sorted({label for picture in naively for row in picture["truth"] for label in row})
    for c in labels:
        same(found["iou", c], oracle.dataset_iou(naively, c))
    same(found["pixel_accuracy",], oracle.pixel_accuracy(naively))
    each = [oracle.dataset_iou(naively, c) for c in labels]
    same(found["miou", "full"], sum(each) / len(each))
    rates: dict[str, list[float]] = {}
    for c in labels:
        for d in CLASSES:
            expected = oracle.affected_rate(naively, c, d, alpha) if c != d else None
            assert (("ar", "pairs", c, d) in found) == (expected is not None)
            if expected is not None:
                same(found["ar", "pairs", c, d], expected[0])
                same(found["delta_iou", c, d], expected[1])
                assert facts["images_by_pair"][c][d] == expected[2]
                rates.setdefault(c, []).append(expected[0])
    for c, of in rates.items():
        same(found["ar", "max", c], max(of))
    if rates:
        same(found["ar", "max", "mean"], sum(max(of) for of in rates.values()) / len(rates))
    else:
        assert facts["ar"] is None
        assert "stand together" in facts["reasons"]["ar"]


@settings(max_examples=12, deadline=None)
@given(pictures().filter(seen_any), st.integers(0, 2**32 - 1))
def test_outcomes_of_answers_are_beafs(drawn: Any, seed: int) -> None:
    def say(view: str, category: str) -> str:
        rng = np.random.default_rng([seed, *view.encode(), *category.encode()])
        return ["yes", "no", "maybe"][int(rng.choice(3, p=[0.45, 0.45, 0.1]))]

    records = records_of(drawn_items(drawn), Table(say), "answer", Removal(RADIUS, MOST))
    found, facts = values(records)
    removed, others = [], []
    for i, rectangles in enumerate(drawn):
        picture = naive(rectangles)
        asked = set(records.rows.filter(records.rows["item"] == f"s{i}")["category"])
        assert picture["classes"] <= asked
        for d in picture["removable"]:
            for c in asked:
                pair = say(f"s{i}", c), say(f"s{i}/without/{d}", c)
                (removed if c == d else others).append(pair)
    if not removed:
        assert facts["reasons"]["beaf"] == "no class can be removed from an image"
        return
    expected = oracle.beaf(removed, others)
    for name in ("true_understanding", "ignorance", "stubborn_yes", "stubborn_no", "unparsed", "indecision", "f1"):
        same(found["beaf", name], expected.get(name))


@settings(max_examples=8, deadline=None)
@given(pictures().filter(seen_any))
def test_cooccurrence_is_normalised_by_the_rows_class(drawn: Any) -> None:
    records = records_of(drawn_items(drawn), Table(lambda *_: 0.0), "classify", Removal(RADIUS, MOST))
    read = ContextRecords.of(records)
    assert read is not None
    there = presence(read)
    classes, ratio, times = there.classes, there.cooccurrence(), there.counts
    expected = oracle.normalised_cooccurrence([naive(rectangles)["classes"] for rectangles in drawn])
    for (a, b), value in expected.items():
        assert ratio[classes.index(a), classes.index(b)] == pytest.approx(value)
    assert times.tolist() == [sum(c in naive(r)["classes"] for r in drawn) for c in classes]


def test_a_random_model_scores_chance_by_number_of_context_classes() -> None:
    items = [made_item(scene) for scene in made_scenes(300)]

    def say(view: str, category: str) -> float:
        return float(np.random.default_rng([8, *view.encode(), *category.encode()]).standard_normal())

    found, facts = values(records_of(items, Table(say), "classify", Removal(1)))
    for path in ("v_min", "v_mean"):
        for number, cases in facts["n_by_context"].items():
            chance = facts["chance_by_context"][path][number]
            assert cases > 50
            assert abs(found[f"{path}_by_context", number] - chance) < 4 * np.sqrt(chance * (1 - chance) / cases)
    assert abs(found["v_min", "mean"] - facts["chance"]["v_min"]) < 0.1
