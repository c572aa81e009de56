"""The card beside the shipped weights, from the weights' own header and the counts of their plan."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from _geospa import ONE, ROOT, TWO, Results, beyond, wrapped
from sightline.show.table import Row, Table, shared

WEIGHTS = ROOT / "src" / "sightline" / "models" / "weights" / "sornet-tiny.safetensors"
CARD = WEIGHTS.parent / "README.md"
PLANS = ("tiny-vessels", "tiny")
"""Plans of which a checkpoint may be the shipped one, by the worlds in its header."""

TEXT = """# sornet-tiny

The SORNet that comes with Sightline: `sightline exam predicates --data DIR --model sornet`. This card is
written by `python docs/pages/geospa_page.py --write`.

**What it does.** Shown a scene from one or two cameras and one small picture of each object, it says for every
ordered pair which of GeoSpa's eight predicates hold: left, right, front, behind, contains, supports, can
contain, can support. "a is left of b" and "b is right of a" are one statement to it, the mean of both answers;
so with front and behind.

**What it is.** {parameters:,} weights in half precision ({megabytes:.1f} MB): width {width}, {depth} blocks of
{heads} heads, patches of {patch}×{patch} pixels, views {views} of {image_width}×{image_height}, at most
{most_objects} objects. It takes either view alone, or both. Object tokens see the picture and themselves, and
nobody sees them, as in SORNet's paper; the weights are our own. SHA-256 `{digest}`.

**Data.** {scenes:,} generated scenes of {worlds}, drawn by the fast renderer. `geospa/train` has seven
shapes in small and medium, brown, purple, cyan and yellow, metal only{more}. No photograph, no person, no outside
data. Pictures were changed in image space ({changes}), so hues and contrasts beyond the four colours were seen;
no held-out shape, size, colour or material was ever drawn.

**Training.** {steps:,} steps of {batch} scenes, {optimizer}, highest rate {rate:g}, running mean of the
weights, {precision}; {minutes:.0f} minutes on one {device}. Besides the predicates it learned facts of single
objects (where it stands, how large it is) through a head that is not kept, and to look at the object asked about.
Against GeoSpa's own network, which learned from predicates alone, it had beyond that: {beyond}.

**Thresholds.** {thresholds}

**Scores.** {asked:,} scenes a split, none of them trained on but those of `train`; 95 % intervals by scene.

{tables}

*Scene accuracy* is the share of right judgements of a scene, then the mean over scenes; *scene-all* the share
of scenes without one mistake. The splits are GeoSpa's; `val_op` changes shape, size, colour and material at
once, `val_kitchen` has household things.

**Limits.** It knows tables seen by GeoSpa's cameras, {image_width}×{image_height} pixels, and answers
confidently about anything else. Scores fall with what it was never shown, most where several things are new. An
object that no view shows is guessed. Containing and supporting are seldom true: read F1 beside accuracy. It is
meant for trying exams and as a baseline; do not let it steer a robot.

**Licence.** Apache-2.0, as Sightline itself.
"""


def header_of(file: Path) -> dict[str, Any]:
    """A safetensors header; its metadata decoded."""
    content = file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + size])
    told = header.pop("__metadata__", {})
    return {
        "parameters": sum(math.prod(tensor["shape"]) for tensor in header.values()),
        "megabytes": len(content) / 1e6,
        "digest": hashlib.sha256(content).hexdigest(),
        "config": json.loads(told.get("config", "{}")),
        "told": json.loads(told.get("told", "{}")),
    }


MORE = """; `geospa/vessels` has these and shapes, sizes, colours and materials of our own: cups, pots, lids,
handles, rings, plates"""


def shipped_plan(told: dict[str, Any]) -> str:
    """Which plan the weights are of, by what their header says of their scenes."""
    return PLANS[0] if "geospa/vessels" in json.dumps(told.get("source", {})) else PLANS[1]


def score_tables(results: Results, plan: str) -> str:
    """A table for one view and one for two, a row a split."""
    made = []
    for views in (ONE, TWO):
        rows = []
        for split in results.splits(plan):
            found = results.scores(plan, split, views)
            each = [found.scene_accuracy[name] for name in ("all", "spatial", "geometric")]
            cells = [*each, found.scene_all, found.f1["all"], found.f1["geometric"]]
            rows.append(Row(split, tuple(shared(cell) for cell in cells)))
        columns = (views, "scene accuracy", "spatial", "geometric", "scene-all", "F1", "F1, geometric")
        made.append(Table("", columns, tuple(rows)).to_markdown().replace("\\_", "_"))
    return "\n\n".join(made)


THRESHOLDS = """A geometric predicate is said to hold where its logit is above: {chosen}. Chosen on scenes of
val_default that are not among those below, by one rule: the middle of the range whose F1 is at most 0.001 below the
best. Directions have 0."""


def _drawn(examined: dict[str, Any], batch: int) -> int:
    """Scenes that were drawn for a training."""
    fresh = examined.get("fresh")
    return (
        (examined["kept"] + (examined["steps"] - 1) // fresh * batch)
        if fresh
        else examined["kept"] or (examined["steps"] * batch)
    )


def card(results: Results, weights: Path = WEIGHTS) -> str | None:
    """The card; None where the weights are not there or untrained, or were not examined."""
    if not weights.is_file():
        return None
    header = header_of(weights)
    config, told = header.pop("config"), header.pop("told")
    name = shipped_plan(told)
    if "plan" not in told or name not in results.plans:
        return None
    plan, examined = told["plan"], results.told[name]
    worlds = [examined["world"], *([examined["also"]] if examined.get("also") else [])]
    chosen = ", ".join(f"{p.replace('_', ' ')} {v:g}" for p, v in told.get("thresholds", {}).items())
    changes = ", ".join(name for name, value in (plan["augmentation"] or {}).items() if value and name != "share")
    text = TEXT.format(
        **header,
        **{key: config[key] for key in ("width", "depth", "heads", "patch", "most_objects")},
        **{key: plan[key] for key in ("batch", "optimizer", "rate", "precision")},
        image_width=config["image"][0],
        image_height=config["image"][1],
        views=" and ".join(config["views"]),
        worlds=" and ".join(f"`{world}`" for world in worlds),
        more=MORE if examined.get("also") else "",
        beyond=beyond(examined),
        thresholds=THRESHOLDS.format(chosen=chosen)
        if chosen
        else "All at 0: a predicate holds where that is likelier.",
        scenes=_drawn(examined, plan["batch"]),
        steps=told["steps"],
        changes=changes or "not at all",
        minutes=examined["seconds"] / 60,
        device=examined["device"],
        asked=examined["scenes"],
        tables=score_tables(results, name),
    )
    return wrapped(text) + "\n"
