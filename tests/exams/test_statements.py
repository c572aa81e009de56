"""The statements exam: what is asked, accuracy against counting by hand, blind rules, and missing photos."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import sightline as sl
from sightline.cli import app
from sightline.errors import ModelError
from sightline.exams.scoring import Scores
from sightline.exams.statements import StatementsExam
from sightline.models.baselines.statements import FOLDS, StatementPrior, fold_of
from sightline.skills import Asked
from sightline.store import open_dataset
from sightline.store.formats import named
from sightline.store.writer import write

RELATIONS = ("on", "under", "left of")


def lines(images: int) -> list[dict[str, Any]]:
    """Statements whose labels lean one way for "on", the other way for "under"."""
    rng = np.random.default_rng(4)
    chance = {"on": 0.9, "under": 0.1, "left of": 0.5}
    return [
        {
            "image": f"{i:03d}.png",
            "caption": f"The cat is {relation} the bed number {i}.",
            "relation": relation,
            "label": int(rng.random() < chance[relation]),
        }
        for i in range(images)
        for relation in rng.permutation(RELATIONS)[: rng.integers(1, 4)].tolist()
    ]


@pytest.fixture(scope="module")
def told() -> list[dict[str, Any]]:
    return lines(60)


@pytest.fixture(scope="module")
def data(told: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported set of statements, with a photo for all but the last image."""
    folder = tmp_path_factory.mktemp("vsr")
    (folder / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in told))
    (folder / "photos").mkdir()
    for i in range(59):
        Image.new("RGB", (4, 3), (i, 0, 0)).save(folder / "photos" / f"{i:03d}.png")
    write(named("vsr").read(folder / "all.jsonl", images=folder / "photos"), folder / "d", copy=True)
    return folder / "d"


class Looks:
    """Says yes where the photo's first pixel is even; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def answer(self, asked: Asked) -> str:
        self.asked.append(asked)
        red = int(asked.view.image()[0, 0, 0])
        return "perhaps" if red == 3 else "Yes." if red % 2 == 0 else "no"


def value(scores: Scores, *path: str) -> float:
    found = scores.at(*path)
    assert found is not None
    return found.value


def test_accuracy_is_what_counting_by_hand_gives(data: Path, told: list[dict[str, Any]], tmp_path: Path) -> None:
    model = Looks()
    (made,) = sl.examine(model, data, StatementsExam(), out=tmp_path, baselines=False).exams
    scores = made.models[0].scores
    seen = [line for line in told if line["image"] != "059.png"]  # no photo: left out, and named
    right = [int(line["image"][:3]) != 3 and (int(line["image"][:3]) % 2 == 0) == line["label"] for line in seen]
    assert value(scores, "accuracy", "all") == pytest.approx(np.mean(right))
    for relation in RELATIONS:
        own = [r for r, line in zip(right, seen, strict=True) if line["relation"] == relation]
        assert value(scores, "accuracy_by_relation", relation) == pytest.approx(np.mean(own))
    unread = [int(line["image"][:3]) == 3 for line in seen]
    assert value(scores, "replies", "unparsed") == pytest.approx(np.mean(unread))
    assert scores.facts["n_statements"] == len(seen)
    broken = made.models[0].run.broken
    assert list(broken) == ["059"]
    assert "no photo of it" in broken["059"]
    assert any("1 of 60 images have no photo" in note for note in made.notes)
    first = model.asked[0]
    assert first.text == f'Is this statement about the image true? "{first.question["statement"]}"'
    assert (first.history, first.labels, first.region) == ((), {}, None)
    assert "label" not in first.question


def by_hand(told: list[dict[str, Any]], by: str) -> float:
    """Share of statements that the commoner label of the other folds gets right."""
    right = 0
    for line in told:
        others = [
            other
            for other in told
            if fold_of(other["image"][:-4]) != fold_of(line["image"][:-4])
            and (by == "all" or other["relation"] == line["relation"])
        ]
        votes = Counter(other["label"] for other in others)
        right += int(votes[1] >= votes[0]) == line["label"]
    return right / len(told)


def test_blind_rules_never_use_an_images_own_labels(data: Path, told: list[dict[str, Any]], tmp_path: Path) -> None:
    (made,) = sl.examine("coin", data, StatementsExam(), out=tmp_path).exams
    found = {r.name: value(r.scores, "accuracy", "all") for r in made.baselines.values()}
    assert {fold_of(line["image"][:-4]) for line in told} == set(range(FOLDS))
    for name, by in (("statement_majority", "all"), ("relation_majority", "relation")):
        assert found[name] == pytest.approx(by_hand(told, by))
    assert found["always_yes"] == pytest.approx(np.mean([line["label"] for line in told]))
    with pytest.raises(ModelError, match="exam statements"):
        StatementPrior().answer(Asked("s", None, {}, "", "", None, {}, ()))  # type: ignore[arg-type]


def test_command_report_and_refusals(data: Path, generated: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    words = ["exam", "statements", "--data", str(data), "--model", "coin", "--out", str(tmp_path / "r"), "--json"]
    done = run(app, words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert set(told["baselines"]) == {"always_yes", "statement_majority", "relation_majority"}
    card = run(app, ["report", str(tmp_path / "r"), "--out", str(tmp_path / "card.html"), "--resamples", "100"])
    assert card.exit_code == 0, card.output
    assert "Statements" in (tmp_path / "card.html").read_text(encoding="utf-8")
    with pytest.raises(sl.DataError, match="there are no statements here"):
        sl.examine("coin", generated, StatementsExam(), out=tmp_path / "none")


def test_no_photo_at_all_is_said(told: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in told[:4]))
    write(named("vsr").read(tmp_path / "all.jsonl"), tmp_path / "d")
    with pytest.raises(sl.DataError, match=r"no picture could be read.*no photo of it.*an import with --images"):
        sl.examine(Looks(), tmp_path / "d", StatementsExam(), out=tmp_path / "r", baselines=False)


@pytest.mark.long
@pytest.mark.realdata
def test_what_blind_rules_reach_on_vsr(real_data: Path, tmp_path: Path) -> None:
    """No relation leans one way: to know the words and not the photo is worth nothing."""
    exam, data = StatementsExam(), open_dataset(real_data / "vsr")
    items = exam.items(data)
    for by, share in (("all", 0.51230), ("relation", 0.49954)):
        prior = StatementPrior(by)  # type: ignore[arg-type]
        study = exam.study(prior, data)
        assert study is not None
        assert (len(study.truth), sum(study.truth)) == (10_972, 5621)
        prior.prepare_statements(study)
        right = [answer for item in items for answer in exam.ask(prior, item).columns["right"]]
        assert np.mean(right) == pytest.approx(share, abs=1e-5)
