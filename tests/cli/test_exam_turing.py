"""``sightline exam turing`` and ``sightline compare`` of its runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exams.turing.turing_toy import toy_scenes, toy_vocabulary

Cli = Callable[..., Any]
BASELINES = ["always_yes", "always_no", "turing_engine", "turing_history", "turing_logician"]
KINDS = ["all", "exist", "unique", "attribute", "relation"]

OWN = """
class Eager:
    def answer(self, asked):
        print("thinking")
        return "Yes, I think so." if asked.history else "abstain"

class Dozy:
    def answer(self, asked):
        import time
        time.sleep(0.05)
        return "yes"

class Dumb:
    def relate(self, pairs): ...
"""


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``train`` and ``test``, ``both`` with splits, and the vocabulary."""
    from sightline.exams.turing.vocabulary.files import dump_vocabulary
    from sightline.store import write_scenes

    home = tmp_path_factory.mktemp("toys")
    train, test = toy_scenes(100, seed=1, split="train"), toy_scenes(12, seed=2, split="test")
    for name, scenes in {"train": train, "test": test, "both": [*train, *test]}.items():
        write_scenes(scenes, home / name, source="toy")
    (home / "toy.yaml").write_text(dump_vocabulary(toy_vocabulary()))
    return home


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


def words(toys: Path, to: Path, *more: object) -> tuple[object, ...]:
    chosen = ("--vocabulary", toys / "toy.yaml", "--min-support", 10, "--questions", 10, "--out", to)
    return ("exam", "turing", "--data", toys / "test", "--train", toys / "train", *chosen, *more)


def test_the_fixed_interface(cli: Cli, toys: Path, own: Path, tmp_path: Path) -> None:
    asked = words(toys, tmp_path / "runs", "--model", f"{own}:Eager")
    told = cli(*asked, "--json").json
    entries = [*told["models"], *told["baselines"].values()]
    assert all(list(entry)[:5] == ["model", "run", "status", "options", "scores"] for entry in entries)
    for scored in (told, *(entry["scores"] for entry in entries)):
        assert list(scored["accuracy"]) == KINDS
        assert set(scored["replies"]) == {"yes", "no", "abstain", "unparsed", "late"}
        for one in (*scored["accuracy"].values(), *scored["by_step"].values(), *scored["replies"].values()):
            assert {"value", "low", "high"} <= set(one)
        assert (scored["n_images"], scored["n_streams"]) == (12, 12)
        assert scored["n_questions"] == told["n_questions"] > 50
    assert list(told["baselines"]) == BASELINES
    assert next(iter(told["by_story"])) == "1"
    yes, no = (
        told["baselines"][name]["scores"]["accuracy"]["all"]["value"] for name in ("always_yes", "always_no")
    )
    assert yes + no == pytest.approx(1.0)
    assert told["monitor"]["yes_by_type"]["all"]["value"] == pytest.approx(yes)
    blind = ["turing_engine", "turing_history", "turing_logician"]
    for part in ("overall", "by_type", "by_word"):
        assert list(told["monitor"][part]) == blind
    assert set(told["monitor"]["by_type"]["turing_logician"]) == {"exist", "unique", "attribute", "relation"}
    assert told["monitor"]["verdict"] == "too few images"  # of 30
    assert isinstance(told["monitor"]["leaky"], bool)
    assert told["streams"]["max"] <= 10
    assert told["replies"]["abstain"]["value"] == pytest.approx(
        sum(told["streams"]["halted"].values()) / told["n_questions"], abs=0.02
    )
    metrics = json.loads((Path(told["run"]) / "metrics.json").read_text())
    assert metrics["accuracy"] == told["accuracy"]
    assert metrics["monitor"]["leaky"] == told["monitor"]["leaky"]
    shown = cli(*asked)
    assert shown.code == 0
    for word in (
        "accuracy by question type",
        "own.py:Eager",
        "turing_history",
        "unique",
        "abstain",
        "streams:",
        "0.5 ± 0.1",
        "too few images to say",
    ):
        assert word in shown.out
    assert "late" not in shown.out


def test_splits_halves_and_limits(cli: Cli, toys: Path, tmp_path: Path) -> None:
    both = ("--data", toys / "both", "--vocabulary", toys / "toy.yaml", "--min-support", 10, "--questions", 5)
    rest = ("--no-baselines", "--model", "coin", "--out", tmp_path / "runs", "--json")
    refused = cli("exam", "turing", *both, *rest)
    assert (refused.code, "would be learned from" in refused.err, "test, train" in refused.err) == (2, True, True)
    assert not (tmp_path / "runs").exists()
    split = cli("exam", "turing", *both, "--split", "test", "--train-split", "train", *rest).json
    assert (split["n_images"], split["baselines"]) == (12, {})
    halves = cli("exam", "turing", *both, "--train", toys / "both", "--halves", *rest).json
    assert 30 < halves["n_images"] < 80
    few = cli("exam", "turing", *both, "--halves", "--streams", 2, "--limit", 3, *rest).json
    assert (few["n_images"], few["n_streams"], few["status"]) == (3, 6, "stopped")
    assert len({split["run"], halves["run"], few["run"]}) == 3


def test_two_models_resume_and_are_compared(cli: Cli, toys: Path, own: Path, tmp_path: Path) -> None:
    asked = words(toys, tmp_path / "runs", "--model", f"{own}:Eager", "--model", "coin", "--no-baselines", "--json")
    part = cli(*asked, "--limit", 4).json
    assert [m["status"] for m in part["models"]] == ["stopped", "stopped"]
    told = cli(*asked).json
    assert [m["model"] for m in told["models"]] == ["own.py:Eager", "coin"]
    assert [(m["status"], m["scores"]["n_images"]) for m in told["models"]] == [("finished", 12)] * 2
    pair = [m["run"] for m in told["models"]]
    compared = cli("compare", *pair, "--resamples", 200, "--json").json
    assert (compared["a"], compared["b"], compared["dropped"]) == ("own.py:Eager", "coin", 0)
    first = compared["comparisons"][0]
    assert (first["name"], first["a"]) == ("accuracy", told["accuracy"]["all"]["value"])
    assert "attribute" in cli("compare", *pair, "--resamples", 200).out
    refused = cli("compare", *pair, "--protocol", "paper")
    assert (refused.code, "the turing exam has no --protocol" in refused.err) == (2, True)


def test_deadline_and_withheld_truth(cli: Cli, toys: Path, own: Path, tmp_path: Path) -> None:
    asked = words(toys, tmp_path / "runs", "--model", f"{own}:Dozy", "--no-baselines", "--limit", 1, "--withhold")
    told = cli(*asked, "--deadline", 0.01, "--no-assumptions", "--json").json
    options = json.loads((Path(told["run"]) / "manifest.json").read_text())["identity"]["options"]
    assert (options["assumptions"]["forget_facts"], options["withhold"]) == (False, True)
    assert told["replies"]["late"]["value"] == 1.0
    assert "late" in cli(*asked, "--deadline", 0.01).out


def values(figures: dict[str, Any]) -> dict[str, float]:
    """Figures without their intervals, which depend on the order of the images' ids."""
    return {name: figure["value"] for name, figure in figures.items()}


def test_a_written_test(cli: Cli, toys: Path, tmp_path: Path) -> None:
    from sightline.exams.turing.exam import TuringExam
    from sightline.exams.turing.stream.written import write_test
    from sightline.exams.turing.vocabulary.files import load_vocabulary
    from sightline.store import open_dataset

    data, vocabulary = open_dataset(toys / "test"), load_vocabulary(toys / "toy.yaml")
    exam = TuringExam(train=toys / "train", vocabulary=vocabulary, min_support=10, questions=10)
    streams, training = [item.stream for item in exam.items(data)], exam.study(None, data).columns
    key = tmp_path / "key.jsonl"
    write_test(
        tmp_path / "test", streams, data, vocabulary, training, key=key, about={"settings": {"min_support": 10}}
    )
    online = cli(*words(toys, tmp_path / "runs", "--model", "always_no", "--json")).json
    written = ("exam", "turing", "--test", tmp_path / "test", "--out", tmp_path / "runs")
    offline = cli(*written, "--key", key, "--model", "always_no", "--json").json
    for name in ("accuracy", "by_step", "replies"):
        assert values(offline[name]) == values(online[name])
    assert offline["n_questions"] == online["n_questions"]
    for name in ("always_yes", "always_no", "turing_engine"):
        both = [told["baselines"][name]["scores"]["accuracy"] for told in (offline, online)]
        assert values(both[0]) == values(both[1])
    answers = tmp_path / "answers.jsonl"
    rows = [json.loads(line) for line in key.read_text().splitlines()]
    answers.write_text("".join(json.dumps(row | {"scene_id": row["image"]}) + "\n" for row in rows))
    perfect = cli(*written, "--key", key, "--model", answers, "--no-baselines", "--json").json
    assert perfect["accuracy"]["all"]["value"] == 1.0
    for more, says in (
        (("--model", "coin"), "give --key"),
        (("--key", key, "--data", toys / "test"), "leave it out"),
        (("--key", key, "--streams", 2), "--streams was settled"),
        (("--key", key, "--seed", 1), "--seed was settled"),
        (("--key", key, "--epsilon", 0.2), "--epsilon was settled"),
        (("--key", key, "--min-support", 5), "--min-support was settled"),
    ):
        refused = cli(*written, *more)
        assert (refused.code, says in refused.err) == (2, True)


@pytest.mark.long
def test_a_test_written_of_one_half_asks_about_the_other(cli: Cli, toys: Path, tmp_path: Path) -> None:
    from sightline.exams.turing.annotations.photos import half_of
    from sightline.exams.turing.stream.written import read_test

    out, rest = tmp_path / "test", ("--min-support", 10, "--questions", 5, "--vocabulary", toys / "toy.yaml")
    write = ("turing", "write", toys / "both", "--out", out, *rest)
    whole = cli(*write)
    assert (whole.code, "--halves" in whole.err, out.exists()) == (2, True, False)
    apart = cli(*write, "--halves", "--train", toys / "train")
    assert (apart.code, "halves are of one dataset" in apart.err, out.exists()) == (2, True, False)
    told = cli(*write, "--halves", "--json").json
    test = read_test(out)
    named = {row["image"]: row["scene_id"] for row in map(json.loads, Path(told["key"]).read_text().splitlines())}
    assert {half_of(named[image]) for image, _, _ in test.questions} == {1}
    learned = test.training().ids.tolist()
    assert learned == [f"{i:06d}" for i in range(len(learned))]  # the data's own ids would lead back to it
    assert told["images"] + len(learned) == 112  # nothing is left out
    sit = ("exam", "turing", "--model", "always_yes", "--no-baselines", "--out", tmp_path / "runs", "--json")
    online = cli(*sit, "--data", toys / "both", "--halves", *rest).json
    offline = cli(*sit, "--test", out, "--key", told["key"]).json
    assert values(offline["accuracy"]) == values(online["accuracy"])
    assert offline["n_questions"] == online["n_questions"] == told["questions"]


@pytest.mark.long
def test_a_written_test_is_smoothed_as_the_exam_is(cli: Cli, toys: Path, tmp_path: Path) -> None:
    from sightline.exams.turing.stream.written import read_test

    rest = ("--halves", "--min-support", 10, "--questions", 5, "--vocabulary", toys / "toy.yaml", "--json")
    plain, smooth = tmp_path / "plain", tmp_path / "smooth"
    cli("turing", "write", toys / "both", "--out", plain, *rest)
    told = cli("turing", "write", toys / "both", "--out", smooth, "--smoothing", 20, *rest).json
    assert [read_test(test).about["smoothing"] for test in (plain, smooth)] == [0, 20]
    # What may be asked is settled by the counts themselves, so smoothing lets nothing in.
    questions = [[row[0] for row in read_test(test).questions] for test in (plain, smooth)]
    assert len(questions[0]) == len(questions[1])
    sit = ("exam", "turing", "--model", "always_yes", "--no-baselines", "--out", tmp_path / "runs")
    online = cli(*sit, "--data", toys / "both", "--smoothing", 20, *rest).json
    offline = cli(*sit, "--test", smooth, "--key", told["key"], "--json").json
    assert values(offline["accuracy"]) == values(online["accuracy"])
    assert offline["n_questions"] == online["n_questions"] == told["questions"]


def test_a_generated_world_with_its_ready_vocabulary(cli: Cli, tmp_path: Path) -> None:
    from sightline.generation import generate

    generate("geospa/train", tmp_path / "d", scenes=40, views=["original"], seed=5, size=(48, 32), canonical=0)
    chosen = ("--halves", "--min-support", 8, "--questions", 6, "--limit", 2, "--model", "coin", "--json")
    told = cli(
        "exam", "turing", "--data", tmp_path / "d", *chosen, "--no-baselines", "--out", tmp_path / "runs"
    ).json
    assert told["n_questions"] > 6
    manifest = json.loads((Path(told["run"]) / "manifest.json").read_text())
    assert manifest["identity"]["options"]["vocabulary"] == "worlds"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--model", "size"), "needs the skill 'answer'"),  # a model of another exam
        (("--model", "own.py:Dumb"), "needs the skill 'answer'"),
        (("--model", "turing_histroy"), "did you mean 'turing_history'"),  # misspelt
        (("--no-baselines",), "nobody to examine"),  # nobody
        (("--views", "top"), "No such option: --views"),  # an option of another exam
        (("--boxes", "detected"), "No such option: --boxes"),
        (("--split", "tset"), "no such split"),
        (("--epsilon", "0.9"), "epsilon"),
        (("--deadline", "0"), "deadline must be positive"),
        (("--assume", "forget_fact"), "did you mean 'forget_facts'"),  # a misspelt assumption
        (("--key", "k.jsonl"), "--key goes with --test"),
        (("--vocabulary", "worlsd"), "worlds"),  # a misspelt vocabulary
        (("--view", "top"), "view"),  # no such view
    ],
)
def test_what_cannot_be_is_refused_before_any_work(
    cli: Cli,
    toys: Path,
    own: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(own.parent)
    refused = cli(*words(toys, tmp_path / "runs", *more))
    assert refused.code == 2
    assert says in refused.err
    assert "Traceback" not in refused.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("exam", ["relations", "predicates"])
def test_other_exams_have_no_streams_and_need_data(exam: str, cli: Cli, simulated: Path) -> None:
    refused = cli("exam", exam, "--data", simulated, "--streams", 2)
    assert (refused.code, "No such option: --streams" in refused.err) == (2, True)
    refused = cli("exam", exam)
    assert (refused.code, "--data" in refused.err) == (2, True)


def test_nothing_to_ask_about(cli: Cli) -> None:
    refused = cli("exam", "turing")
    assert (refused.code, "give --data" in refused.err) == (2, True)
