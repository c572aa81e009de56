"""Answers files of statements and of the context exam, by ``answers:FILE`` like those of any other exam."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sightline.api import examine
from sightline.errors import DataError, ModelError
from sightline.exams.context.exam import ContextExam
from sightline.generation import open_any
from sightline.models import load
from sightline.models.adapters.answers import Predictions, TuringAnswers
from sightline.models.adapters.picture_answers import PresenceAnswers, ScoreAnswers, StatementAnswers
from sightline.scenes import View
from sightline.skills import skills_of


@pytest.mark.parametrize(
    ("text", "kind", "skills"),
    [
        ("scene_id,statement,answer\ns,The cat is on the mat.,yes\n", StatementAnswers, ("answer",)),
        ("picture,category,answer\ns,cat,yes\n", PresenceAnswers, ("answer",)),
        ("picture,category,score\ns,cat,0.5\n", ScoreAnswers, ("classify",)),
        ("scene_id,stream,step,answer\ns,0,0,yes\n", TuringAnswers, ("answer",)),
    ],
)
def test_a_file_is_known_by_its_header(tmp_path: Path, text: str, kind: type, skills: tuple[str, ...]) -> None:
    (tmp_path / "a.csv").write_text(text)
    for spec in (f"answers:{tmp_path / 'a.csv'}", f"answers:path={tmp_path / 'a.csv'}", str(tmp_path / "a.csv")):
        model = load(spec)
        assert isinstance(model, kind)
        assert skills_of(model) == skills


def test_statements_and_presence(tmp_path: Path, asked: Any) -> None:
    (tmp_path / "s.jsonl").write_text('{"scene_id": "s", "statement": "It is red.", "answer": true}\n')
    model: Any = load(f"answers:{tmp_path / 's.jsonl'}")
    assert model.answer(asked(question={"type": "statement", "statement": "It is red."})) is True
    assert model.answer(asked(question={"type": "statement", "statement": "It is blue."})) == "abstain"
    (tmp_path / "p.csv").write_text("picture,category,answer\ns/without/mug,mug,no\n")
    model = load(f"answers:{tmp_path / 'p.csv'}")
    question = {"type": "exist", "class": "mug"}
    assert model.answer(asked(question=question, view=View("s/without/mug"))) == "no"
    assert model.answer(asked(question=question, view=View("s"))) == "abstain"


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("picture,category,answer\ns,cat,yes\ns,cat,no\n", DataError, "answered twice"),
        ("picture,category,score\ns,cat,1\ns,cat,2\n", DataError, "scored twice"),
        ("picture,category,score\ns,cat,high\n", DataError, "row 2, score"),
        ("scene_id,statement\ns,It is.\n", DataError, "answer: column is missing"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, error: type[Exception], says: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(error, match=says):
        load(f"answers:{tmp_path / 'a.csv'}")


def test_scores_of_pictures_and_edits_take_the_context_exam(tmp_path: Path, generated: Path) -> None:
    data = open_any(generated)
    exam = ContextExam().settled(data)
    item = next(item for item in exam.items(data) if len(exam.edits(item).removable) > 1)
    lines = ["picture,category,score"]
    for edit in exam.edits(item).shown:
        lines += [f"{edit.view.id},{name},{float(edit.gone != name)}" for name in item.classes]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    model: Any = load(f"answers:{tmp_path / 'a.csv'}")
    rows = exam.ask(model, item).columns
    assert all(right for right, edit in zip(rows["right"], rows["edit"], strict=True) if right is not None)
    with pytest.raises(ModelError, match=r"no score of .* in picture other"):
        model.classify([View("other")])
    (tmp_path / "b.csv").write_text("picture,category,score\nelsewhere,cube,1\n")
    with pytest.raises(ModelError, match="none of its pictures is one of this exam"):
        examine(f"answers:{tmp_path / 'b.csv'}", data, exam, out=tmp_path / "r", baselines=False)


def test_predictions_stay_what_they_were(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="image_id_1"):
        load(f"answers:{_empty(tmp_path / 'a.csv')}")
    assert Predictions.stored_answers


def _empty(path: Path) -> Path:
    path.write_text("")
    return path
