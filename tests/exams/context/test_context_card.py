"""The context exam on the report card: its tables, heat maps and rows of pictures, for every skill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sightline as sl
from exams.context.context_models import Looks, Sees
from exams.context_runs import CLASSES, scenes
from sightline.exams.context.exam import ContextExam

pytest.importorskip("cv2", reason="the fills telea and ns need OpenCV")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> sl.Dataset:
    return scenes(tmp_path_factory.mktemp("context-card") / "d", 24)


@pytest.mark.parametrize(
    ("models", "skill", "focus", "sections", "told"),
    [
        (
            ["pixel_count", "context_only"],
            "classify",
            "context_only",
            {"context", "classes", "violations", "edits", "cooccurrence"},
            ("V^min against AP", "below the line", "by chance", "car without sign", "sign: violated", "NC(c, d)"),
        ),
        (
            [Sees(), Sees(needs_car=True)],
            "segment",
            "needs car",
            {"affected", "classes", "turned", "edits", "cooccurrence"},
            ("Mean ΔIoU", "taken for sidewalk", "false edit", "Darker is worse", "road without car", "IoU with it"),
        ),
        (
            [Looks(), "always_yes"],
            "answer",
            "always_yes",
            {"classes", "edits", "cooccurrence"},
            ("stubborn yes", "Is there a car?", "indecision"),
        ),
    ],
)
def test_the_card_of_each_skill(
    models: Any, skill: Any, focus: str, sections: set[str], told: tuple[str, ...], data: sl.Dataset, tmp_path: Path
) -> None:
    exam = ContextExam(fill="telea", radius=1, skill=skill)
    results = sl.examine(models, data, exam, out=tmp_path / "runs", baselines=False)
    page = sl.report(results, tmp_path / "card.html", data, focus=focus, resamples=100, examples=2)
    text = (tmp_path / "card.html").read_text()
    for words in (*told, *CLASSES):
        assert words in text, words
    assert "NaN" not in text
    part = json.loads((tmp_path / "card.json").read_text())["parts"][0]
    assert {section["id"] for section in part["sections"]} >= sections
    shown = [example for example in page.examples if example.model == focus]
    assert any(example.kind == "worst" for example in shown)
    assert all("<image" in example.html for example in shown)
    if skill == "classify":
        listed = part["document"]["violations"]
        records = next(result for result in results if result.name == focus).scores.facts["n_cases"]
        assert sum(map(len, listed.values())) == records  # every case is a violation of this rule
        assert {"item", "context", "lowest", "without"} == set(listed["car"][0])
