"""What all report cards share: figures, focus, labels, warnings, which items are shown, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from exams.made_cards import card, document, shown, words_of
from exams.predicates_runs import Noisy
from exams.predicates_runs import runs as predicate_runs
from exams.predicates_runs import scenes as predicate_scenes
from exams.relations_runs import Contrary, Mute, boxes_by_scene, dataset, runs
from sightline.errors import ConfigError
from sightline.exams.base import Candidate
from sightline.exams.card import CardOptions, choose, unknown_scene
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.report import report_card
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.exams.scoring import score_records
from sightline.models import candidate, is_blind
from sightline.show.page import ExampleKind, Page
from sightline.store import Dataset


@pytest.mark.parametrize(
    ("asked", "right", "chosen"),
    [
        # worst, middle, perfect
        ([8, 8, 8, 8, 8], [8, 1, 5, 4, 8], {"worst": ("b",), "typical": ("d",), "perfect": ("a",)}),
        ([8, 8], [3, 3], {"worst": ("a",), "typical": ("b",)}),  # a tie goes by id; none is perfect
        ([8, 16, 0], [8, 16, 0], {"perfect": ("b",)}),  # the fullest perfect one; nothing asked is never shown
        ([], [], {}),  # no scene
    ],
)
def test_choice(asked: list[int], right: list[int], chosen: dict[ExampleKind, tuple[str, ...]]) -> None:
    schema = {"item": pl.String, "asked": pl.Int64, "right": pl.Int64}
    items = pl.DataFrame({"item": [*"abcde"[: len(asked)]], "asked": asked, "right": right}, schema=schema)
    assert choose(items, worst=1, typical=1, perfect=1) == chosen


ASKED = ("w/0/0001", "w/0/0002", "w/1/0003")


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("w/0/001", "has no scene 'w/0/001', did you mean 'w/0/0001'?"),  # a near miss
        ("0003", "has no scene '0003', did you mean 'w/1/0003'?"),  # the end of an id
        ("zzz", "has no scene 'zzz'; m was asked about 3 scenes, such as 'w/0/0001'"),  # nothing near
        ("", "has no scene ''; m was asked about 3 scenes, such as 'w/0/0001'"),  # empty
    ],
)
def test_a_scene_that_is_not_there(wanted: str, says: str, tmp_path: Path) -> None:
    data = dataset(tmp_path, 8)
    assert unknown_scene(wanted, ASKED, data, "m") == f"{data.path} {says}"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("other",), "m was asked about 1 scene, such as 'other'"),  # run with a limit
        ((), "m was asked about 0 scenes"),  # answered nothing
    ],
)
def test_a_scene_that_was_not_asked_about(asked: tuple[str, ...], says: str, tmp_path: Path) -> None:
    data = dataset(tmp_path, 8)
    scene = next(iter(data)).id
    assert unknown_scene(scene, asked, data, "m") == f"no answers to show on the scene '{scene}': {says}"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def made_runs(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return runs(data, tmp_path_factory.mktemp("runs"), ("majority", "bottom_edge"), Contrary())


@pytest.fixture(scope="module")
def page(made_runs: list[Run], data: Dataset) -> Page:
    return card(made_runs, data)


def test_scores_are_those_of_the_records(page: Page, made_runs: list[Run], data: Dataset) -> None:
    for run in made_runs:
        expected = score_records(RelationsExam(), run.read(), lambda: data, details=True, resamples=50, seed=0)
        (of_run,) = [one for one in document(page)["runs"] if one["spec"] == run.spec]
        assert of_run["scores"] == json.loads(json.dumps(expected.to_dict()))


def test_blind_rules_are_told_from_models(page: Page) -> None:
    blind = {one["label"]: one["blind"] for one in document(page)["runs"]}
    assert blind == {"majority": True, "bottom_edge": True, "contrary": False}
    assert "1 model and 2 blind baselines took 1 exam: 2.5D relations." in page.lead


def test_focus_is_the_best_model_that_looks(page: Page) -> None:
    assert document(page)["focus"] == "contrary"
    assert document(page)["runs"][0]["label"] != "contrary"  # although it is not the best of all
    assert dict(page.parts[0].facts)["looked at closely"] == "contrary"


@pytest.mark.parametrize(
    ("wanted", "label"),
    [
        ("bottom_edge", "bottom_edge"),  # by name
        ("mine.py:contrary", "contrary"),  # by spec
    ],
)
def test_focus_on_request(made_runs: list[Run], data: Dataset, wanted: str, label: str) -> None:
    assert document(card(made_runs, data, focus=wanted, examples=0))["focus"] == label


def test_best_blind_rule_is_the_focus_where_nobody_looks(made_runs: list[Run], data: Dataset) -> None:
    blind = card(made_runs[:2], data, examples=0)
    assert document(blind)["focus"] == "bottom_edge"
    assert blind.title == "Blind baselines"
    assert blind.parts[0].lead[0].startswith("Only blind baselines took the exam; the best, bottom_edge, reaches ")


def test_blind_rules_that_are_equally_good_are_all_named(
    made_runs: list[Run], data: Dataset, tmp_path: Path
) -> None:
    twin = run_exam(RelationsExam(), candidate("bottom_edge", "twin"), data, tmp_path / "twin")
    (lead, *_) = card([*made_runs[:2], twin], data, examples=0).parts[0].lead
    assert lead.startswith("Only blind baselines took the exam; the best, bottom_edge and twin alike, reach ")


def test_summary_and_headline_are_computed(page: Page) -> None:
    scores = {one["label"]: one["scores"]["average"] for one in document(page)["runs"]}
    (row,) = page.summary.rows
    ours, rule = scores["contrary"], scores["bottom_edge"]
    assert row.head == "2.5D relations"
    assert [cell.text for cell in row.cells[:4]] == [
        "contrary", f"{ours['value']:.3f}", "average F1", f"bottom_edge {rule['value']:.3f}",
    ]  # fmt: skip
    assert row.cells[1].under == f"{ours['low']:.3f}–{ours['high']:.3f}"
    lead = " ".join(page.parts[0].lead)
    assert f"contrary reaches an average F1 of {ours['value']:.3f}" in lead
    limits = f"(95\u00a0% interval {rule['low']:.3f}–{rule['high']:.3f})"
    assert f"bottom_edge reaches {rule['value']:.3f} {limits}: more than any model does." in lead


def test_unfinished_run_is_said_so(data: Dataset, tmp_path: Path) -> None:
    whole = runs(data, tmp_path, ("majority",))
    part = run_exam(RelationsExam(), candidate("bottom_edge"), data, tmp_path / "part", limit=5)
    made = card([*whole, part], data)
    assert any("bottom_edge is unfinished (stopped): 5 of" in warning for warning in made.parts[0].warnings)
    assert "bottom_edge is unfinished (stopped): 5 of" in words_of(made)
    assert "bottom_edge (unfinished)" in words_of(made)
    assert document(made)["focus"] == "majority"  # a finished one goes before


def test_killed_run_without_a_record(data: Dataset, tmp_path: Path) -> None:
    whole = runs(data, tmp_path, ("majority",))
    stopped = run_exam(RelationsExam(), candidate("size"), data, tmp_path / "none", limit=0)
    made = document(card([*whole, stopped], data))
    (empty,) = [one for one in made["runs"] if one["spec"] == "size"]
    assert (empty["done"], empty["scores"]["subtasks"]) == (0, {})
    assert "size" not in made["behaviour"]


def test_runs_of_one_name_are_told_apart(data: Dataset, tmp_path: Path) -> None:
    model = Contrary(boxes=boxes_by_scene(data))
    exams = [RelationsExam(), RelationsExam(boxes="detected"), RelationsExam(study_plan="joint"), RelationsExam()]
    several = [
        run_exam(exam, Candidate("mine.py:net", "contrary", model), data, tmp_path / str(i))
        for i, exam in enumerate(exams)
    ]
    made = document(card(several, data))
    labels = {one["label"] for one in made["runs"]}
    assert labels == {"contrary", "contrary · own boxes", "contrary · learned from both", "contrary (2)"}
    assert [name for name, of in made["behaviour"].items() if of["outcomes"]] == ["contrary · own boxes"]
    outcomes = made["behaviour"]["contrary · own boxes"]["outcomes"]["within_image/depth"]
    assert outcomes["wrong_predicate"] > 0
    (detected,) = [one for one in made["runs"] if one["label"] == "contrary · own boxes"]
    assert sum(outcomes.values()) == detected["scores"]["subtasks"]["within_image/depth"]["pairs"]


def changed(run: Run, **identity: object) -> Run:
    return Run(run.folder, {**run.manifest, "identity": {**run.manifest["identity"], **identity}})


def test_other_data_is_refused(made_runs: list[Run], data: Dataset) -> None:
    with pytest.raises(ConfigError, match="was made on other data: fingerprint 000000000000"):
        card([made_runs[1], changed(made_runs[0], data_fingerprint="0" * 64)], data)


def test_other_splits_have_parts_of_their_own(made_runs: list[Run], data: Dataset, tmp_path: Path) -> None:
    validation = run_exam(RelationsExam(split="validation"), candidate("size"), data, tmp_path / "v")
    both = card([made_runs[2], validation], data, examples=0)
    assert [part.exam for part in both.parts] == ["relations", "relations-2"]
    name = data.path.name
    assert [part.title for part in both.parts] == [f"2.5D relations: {name}, {s}" for s in ("test", "validation")]
    assert [row.head for row in both.summary.rows] == [part.title for part in both.parts]
    with pytest.raises(ConfigError, match="there is no exam 'relation', did you mean 'relations'"):
        card([changed(made_runs[0], exam="relation")], data)


def test_several_exams_on_one_page(made_runs: list[Run], data: Dataset, tmp_path: Path) -> None:
    drawn = predicate_scenes(tmp_path / "d", 4)
    ours = predicate_runs(drawn, tmp_path / "runs", Noisy(drawn), blind=())
    by_exam = {"relations": data, "predicates": drawn}

    def several(**options: object) -> Page:
        chosen = CardOptions(resamples=50, **options)  # type: ignore[arg-type]
        loaded = Candidate("", "", None)
        everything = [*made_runs, *ours]
        return report_card(
            everything, lambda group: by_exam[group[0].exam], chosen, blind=is_blind, load=lambda _: loaded
        )

    made = several(examples=1)
    assert [part.exam for part in made.parts] == ["relations", "predicates"]
    assert made.title == "contrary, noisy"
    assert "2 models and 2 blind baselines took 2 exams: 2.5D relations, Geometric predicates." in made.lead
    assert {example.exam for example in made.examples} == {"relations", "predicates"}
    scene = next(iter(drawn)).id
    assert [(one.exam, one.id) for one in several(scenes=(scene,)).examples] == [("predicates", scene)]
    with pytest.raises(ConfigError, match="did you mean 'within_image/test/sim-test-00000'"):
        several(scenes=(scene, "sim-test-00000"))
    several(scoring={"protocol": "paper"}, examples=0)  # serves the exam that has it
    with pytest.raises(ConfigError, match=r"no run of 'nobody' to look at closely; there are .*contrary.*noisy"):
        several(focus="nobody")


def test_what_cannot_be(made_runs: list[Run], data: Dataset) -> None:
    with pytest.raises(ConfigError, match="no runs"):
        card([], data)
    with pytest.raises(ConfigError, match="no run of 'nobody'"):
        card(made_runs[:1], data, focus="nobody")
    with pytest.raises(ConfigError, match="--views goes with another exam; these are runs of relations"):
        card(made_runs[:1], data, scoring={"views": "top"})
    with pytest.raises(ConfigError, match="with --scene it chooses none"):
        card(made_runs[:1], data, scenes=("a",), examples=2)


def test_commands_do_it_again(made_runs: list[Run], data: Dataset, tmp_path: Path) -> None:
    scene = data.tables("test").relations["scene_id"][0]
    joint = run_exam(RelationsExam(study_plan="joint"), candidate("object_class"), data, tmp_path / "j")
    made = card([*made_runs, joint], data, scoring={"protocol": "paper"}, scenes=(scene,))
    name = data.path.name
    start = f"sightline exam relations --data {name} --split test"
    usual, learned, report = sorted(made.parts[0].commands, key=lambda line: (line.split()[1], "--study" in line))
    assert usual.startswith(f"{start} --no-baselines --model ")
    assert {"--model majority", "--model bottom_edge", "--model mine.py:contrary"} <= {
        " ".join(pair) for pair in zip(usual.split(), usual.split()[1:], strict=False)
    }
    assert learned == f"{start} --study joint --no-baselines --model object_class --out runs"
    assert report == (
        f"sightline report runs --exam relations --data {name} --protocol paper --resamples 50 --scene {scene} "
        "--out report.html"
    )


def test_a_page_without_scores_holds_no_nan(data: Dataset, tmp_path: Path) -> None:
    made = card(runs(data, tmp_path, ("majority",), Mute()), data)
    values = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    (mute,) = [one for one in values["parts"][0]["document"]["runs"] if one["label"] == "mute"]
    assert mute["scores"]["subtasks"]["within_image/depth"]["micro"]["all"]["precision"]["value"] is None
    assert not shown(made, "worst")
    assert dict(made.parts[0].facts)["on show"] == "nothing to show"


@pytest.mark.parametrize(
    ("out", "names"),
    [
        ("deep/er", ["deep/er/report.html", "deep/er/report.json", "deep/er/report.md"]),  # a folder, made
        ("card.html", ["card.html", "card.json", "card.md"]),  # a file
    ],
)
def test_files(page: Page, tmp_path: Path, out: str, names: list[str]) -> None:
    written = page.write(tmp_path / out)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == names
    values = json.loads(written[1].read_text(encoding="utf-8"))
    assert values["parts"][0]["document"]["focus"] == document(page)["focus"]
    assert sorted(p.name for p in written[0].parent.iterdir()) == sorted(p.name for p in written)
    assert written[2].read_text(encoding="utf-8").startswith("# contrary\n")


def test_models_say_what_they_are(page: Page, data: Dataset) -> None:
    tables = {section.title: section.tables for section in page.provenance}
    rows = {row.head: [cell.text for cell in row.cells] for row in tables["Models in their own words"][0].rows}
    assert rows["contrary"][0] == "mine.py:contrary"
    assert rows["contrary"][1].startswith("margin 0.1235, about ")
    assert [cell.text for cell in tables["Data and software"][0].rows[0].cells][-1] == data.fingerprint
    (intervals,) = [section for section in page.provenance if section.id == "intervals"]
    assert "(2.5D relations: the scene)" in intervals.text[0]
    assert "bootstrap with 50 resamples (seed 0)" in intervals.text[0]
