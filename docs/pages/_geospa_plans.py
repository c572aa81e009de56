"""Networks side by side on GeoSpa's page: how each was trained, what it reached, and what a change was worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from _geospa import COMPARED, TWO, Results, wrapped
from _geospa_grid import grid, odds, points
from sightline.stats import holm

PAIRS = (
    (
        "tiny-vessels",
        "tiny",
        "**What vessels, lids, handles, rings and plates are worth** (every second scene has them; besides, more "
        "steps, and new scenes as training goes on)",
    ),
    (
        "base-alike",
        "base-wide",
        "**What more invented scenes are worth** (two in three instead of every second, a quarter of them of "
        "look-alikes; fewer in one or two colours, without the kiln; half as many steps more). One glance each",
    ),
    (
        "base-wide",
        "base",
        "**What invented shapes are worth** (every second scene has them, half of these in one or two colours; "
        "besides, two and a half times the steps, new scenes as training goes on, and pixels read where they are: "
        "bf16 had moved them by up to half a pixel, measured on a CPU)",
    ),
    (
        "base-varied",
        "base",
        "**What more augmentation is worth** in ten minutes (grey, stretched and dulled pictures, scenes of few "
        "colours; changing more takes longer too, so there are fewer steps)",
    ),
    ("tiny-short", "tiny-plain", "**What augmentation is worth**, all else equal"),
    (
        "tiny-diverse",
        "tiny-short",
        "**What diversity in training is worth** (all of GeoSpa's shapes, sizes, colours and materials; only the "
        "kitchen stays unseen)",
    ),
)


def plans_part(results: Results) -> Iterator[str]:
    if len(results.plans) < 2:
        return
    yield "## Sizes and ways of training"
    yield "\n".join(wrapped(f"- `{plan}`: {_told(results, plan)}").replace("\n", "\n  ") for plan in results.plans)
    several = [f"`{plan}`" for plan in results.plans if results.told[plan].get("glances", 1) > 1]
    glanced = f" ({', '.join(several)} after all glances)" if several else ""
    yield wrapped(f"What the networks say themselves{glanced}, before two ways to say one thing are made to agree:")
    splits = results.splits(results.lead)
    for words, value in (
        ("scene accuracy, 2 views", lambda found: found.scene_accuracy["all"]),
        ("scene-all accuracy, 2 views", lambda found: found.scene_all),
    ):
        rows = {
            s: [value(results.scores(plan, s, results.as_said(plan, s))) for plan in results.plans] for s in splits
        }
        yield grid((words, *results.plans), rows)
    for a, b, words in PAIRS:
        if a in results.plans and b in results.plans and results.edition(a) == results.edition(b):
            yield wrapped(f"{words}: `{a}` minus `{b}` on the same scenes, two views, in points.")
            found = {s: results.difference(*_once(results, a, b, s), s) for s in splits}
            corrected = holm([row["all"].p_value for row in found.values()])
            yield grid(
                ("", "scene accuracy", "spatial", "geometric", "scene-all", "p (Holm)"),
                {
                    s: [*(points(row[name]) for name in COMPARED), odds(p)]
                    for (s, row), p in zip(found.items(), corrected, strict=True)
                },
            )


def _once(results: Results, a: str, b: str, split: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Which answers compare two trainings: after one glance each, where one of them glances more often."""
    once = f"{TWO} once"
    if f"{split}|{once}" in results.counts[a]:
        return (a, once), (b, TWO)
    return (a, results.as_said(a, split)), (b, results.as_said(b, split))


def _told(results: Results, name: str) -> str:
    told = results.told[name]
    plan = told["plan"]
    way = "with augmentation" if plan["augmentation"] else "without augmentation"
    drawn = f"{told['kept']:,} scenes drawn once" if told["kept"] else "scenes drawn while training went on"
    if told.get("fresh"):
        drawn = f"{told['kept']:,} at a time, {plan['batch']} of them new every {told['fresh']} steps"
    worlds = f"`{told['world']}`" + (f" and {_also(told)}" if told.get("also") else "")
    glances = told.get("glances", 1)
    words = (
        f"size {plan['size']}, {told['steps']:,} steps of {plan['batch']} scenes of {worlds} ({drawn}) "
        f"{way}, {plan['optimizer']}, rate {plan['rate']:g}, {plan['precision']}; {told['seconds'] / 60:.1f} "
        f"minutes on {told['device']}" + (f"; examined with {glances} glances a scene" if glances > 1 else "")
    )
    return "; ".join(filter(None, (words, results.lit(name))))


def _also(told: Mapping[str, Any]) -> str:
    """The second world, its share of the scenes, and what is special about some of them."""
    turns = told.get("turns", (0, 1))
    kinds = {"crowded": "of one or two colours", "alike": "of look-alikes"}
    parts = [f"{100 * told[name]:.0f} % {words}" for name, words in kinds.items() if told.get(name)]
    world = f"`{told['also']}` ({100 * sum(turns) / len(turns):.0f} % of them"
    return world + (f"; of these {' and '.join(parts)})" if parts else ")")


def agreement_part(results: Results) -> Iterator[str]:
    plan = results.lead
    keys = _told_apart(results, plan, "plain")
    if not keys:
        return
    yield "## Two ways to say one thing"
    yield wrapped(
        """If a is left of b, b is right of a. The network's answers to both are averaged before one is given.
        Spatial scene accuracy as the network says it, as it is given, and the paired difference in points; two
        views."""
    )
    rows = {}
    for split in keys:
        plain, given = (results.scores(plan, split, v).scene_accuracy["spatial"] for v in (f"{TWO} plain", TWO))
        gap = results.difference((plan, TWO), (plan, f"{TWO} plain"), split)["spatial"]
        rows[split] = [plain, given, points(gap)]
    yield grid(("", "as said", "as given", "difference"), rows)


def _told_apart(results: Results, plan: str, kind: str) -> list[str]:
    """Splits of which a plan keeps other answers beside those it gave."""
    return [s for s in results.splits(plan) if f"{s}|{TWO} {kind}" in results.counts[plan]]


def glances_part(results: Results) -> Iterator[str]:
    plan = results.lead
    keys = _told_apart(results, plan, "once")
    if not keys:
        return
    yield "## More than one glance"
    yield wrapped(
        f"""A grid of patches cuts every object somewhere, another one elsewhere. `{plan}` looks
        {results.told[plan]["glances"]} times at each scene, its pictures moved by fractions of a patch, and gives
        the mean. Against the first glance alone, on the same scenes, two views, in points."""
    )
    rows = {}
    for split in keys:
        row = results.difference((plan, TWO), (plan, f"{TWO} once"), split)
        once = results.scores(plan, split, f"{TWO} once").scene_accuracy["all"]
        rows[split] = [once, results.scores(plan, split).scene_accuracy["all"], *(points(row[n]) for n in COMPARED)]
    yield grid(("", "one glance", "all glances", *(f"{name}, difference" for name in COMPARED)), rows)
