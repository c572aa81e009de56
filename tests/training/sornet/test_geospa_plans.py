"""The benchmarks that train plans by name, and the steps from GeoSpa's recipe to ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
BENCHMARK = ROOT / "benchmarks" / "geospa.py"
sys.path += [str(BENCHMARK.parent), str(ROOT / "docs" / "pages")]

import _geospa  # noqa: E402
import geospa_ablation as ablation  # noqa: E402
from geospa import PLANS  # noqa: E402
from sightline.exams.predicates.counts import FP, TN, TP  # noqa: E402
from sightline.plain import plain  # noqa: E402
from sightline.training.sornet.plan import PAPER, SornetPlan  # noqa: E402


def test_unknown_plan() -> None:
    done = subprocess.run(
        [sys.executable, BENCHMARK, "train", "tiny", "nosuch"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "error: no plan 'nosuch'; there are base, " in done.stderr
    assert "Traceback" not in done.stderr


def test_figures_are_of_the_plans_by_those_names() -> None:
    """The page's commands train what its figures are of."""
    results = _geospa.Results.read()
    assert "base-vessels" in results.plans
    for name, told in results.told.items():
        plan = SornetPlan(**{"views": ("original", "top"), **PLANS[name].settings})
        differ = {key: value for key, value in told["plan"].items() if plain(plan).get(key) != value}
        assert not differ.keys() - {"augmentation"}, name
        assert (told["steps"], told["world"], told["kept"]) == (plan.steps, PLANS[name].world, PLANS[name].kept)
        assert told.get("also", "") == PLANS[name].also


def test_counts_are_read_as_they_were_written(tmp_path: Path) -> None:
    counts = {
        "a|1 view": np.arange(96, dtype=np.uint8).reshape(2, 8, 6),
        "b|2 views": np.zeros((1, 8, 6), np.uint8),
    }
    _geospa.write_counts(tmp_path / "plan.npz.xz", {"steps": 3}, counts)
    told, found = _geospa.read_counts(tmp_path / "plan.npz.xz")
    assert told == {"steps": 3}
    assert list(found) == list(counts)
    assert all(np.array_equal(found[key], counts[key]) for key in counts)


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_is_one(name: str) -> None:
    plan = SornetPlan(**{"views": ("original", "top"), **PLANS[name].settings})
    assert plan.size == name.partition("-")[0]
    assert PLANS[name].kept % plan.batch == 0
    assert set(PLANS[name].turns) == {0, 1}
    assert "kitchen" not in PLANS[name].world + PLANS[name].also


IMAGES = 204_800


def test_the_first_step_is_the_papers_recipe_and_each_adds_to_it() -> None:
    plans = {step.name: ablation.plan_of(step.name, 0, IMAGES) for step in ablation.STEPS}
    first, *others = plans.values()
    free = {"size", "steps", "compiled"}
    paper = plain(SornetPlan(**PAPER))
    assert {k: v for k, v in plain(first).items() if k not in free} == {k: paper[k] for k in paper.keys() - free}
    assert first.size == "paper-tiny"
    changed = [
        {k for k, v in plain(after).items() if plain(before)[k] != v}
        for before, after in zip([first, *others[:-1]], others, strict=True)
    ]
    assert changed == [{"facts"}, {"pointing"}, {*ablation.OURS, "steps"}, {"augmentation"}, set()]
    assert [ablation.settings_of(name)[1].also for name in plans] == [""] * 5 + ["geospa/vessels"]
    assert {plan.steps * plan.batch for plan in plans.values()} == {IMAGES}
    published = plain(ablation.plan_of(ablation.PUBLISHED, 0, IMAGES))
    assert {k: v for k, v in published.items() if k not in {"steps", "compiled"}} == {
        k: paper[k] for k in paper.keys() - {"steps", "compiled"}
    }


def test_cases_are_two_seeds_of_every_step_and_one_of_the_published_network() -> None:
    cases = ablation.cases()
    assert len(set(cases)) == len(cases) == 2 * len(ablation.STEPS) + 1
    assert cases[0] == (ablation.PUBLISHED, 0)


def counts(right: float, scenes: int = 8) -> np.ndarray:
    """Of ten judgements of each predicate in a scene, so many right."""
    made = np.zeros((scenes, 8, 6), np.uint8)
    made[:, :, TN] = round(10 * right) - 1
    made[:, :, TP], made[:, :, FP] = 1, 10 - round(10 * right)
    return made


def test_rows_tell_seeds_and_gains(tmp_path: Path) -> None:
    rights = {(ablation.STEPS[0].name, 0): 0.5, (ablation.STEPS[0].name, 1): 0.7}
    rights |= {(ablation.STEPS[1].name, seed): 0.8 for seed in (0, 1)}
    for (name, seed), right in rights.items():
        plan = plain(ablation.plan_of(name, seed, 400))
        told = {"name": name, "plan": plan, "seconds": 1.0, "kept": 8, "device": "none"}
        each = {f"{split}|1": counts(right) for split in ablation.SPLITS}
        np.savez_compressed(ablation.file_of(tmp_path, name, seed), told=json.dumps(told), **each)
    rows = ablation.collected(tmp_path)
    assert [row["step"] for row in rows] == ["GeoSpa's recipe", "+ pose facts"]
    assert {row["images"] for row in rows} == {400}
    first, second = (row["splits"]["val_op"]["all"] for row in rows)
    assert first == {"seeds": [50.0, 70.0]}
    assert second == {"seeds": [80.0, 80.0], "gain": [20.0, 20.0, 20.0]}  # of the seeds' mean
    lines = ablation.table(rows).splitlines()
    assert lines[2].startswith("| GeoSpa's recipe | 400 | 50.0 / 70.0 | ")
    assert "80.0 / 80.0 (+20.0: +20.0 to +20.0)" in lines[3]
