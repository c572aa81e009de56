"""The predicates card and its page: whole, sound, escaped, on its own."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from made_predicates import Noisy, Staring, renamed, runs, scenes
from made_runs import Contrary, dataset
from made_runs import runs as relation_runs
from sightline.exams.predicates.records import score_records
from sightline.report.make import of_exam
from sightline.report.predicates import PredicatesCard, card, render, write_report
from sightline.report.predicates.sentences import commands
from test_report_page import Page

from sightline.errors import ConfigError, ModelError
from sightline.exams.base import Candidate
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.runner import run_exam
from sightline.models.registry import candidate
from sightline.store import Dataset

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"&'{{ 7*7 }}|_`"
SECTIONS = ("headline", "scores", "parts", "scenes", "made")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return scenes(tmp_path_factory.mktemp("scenes") / "d")


@pytest.fixture(scope="module")
def made(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> PredicatesCard:
    """Hostile names, an unfinished run, blind baselines, attention."""
    folder = tmp_path_factory.mktemp("runs")
    evil = renamed(data, HOSTILE)
    sharp = Staring(evil, HOSTILE, wrong=0.05)
    sat = runs(evil, folder, sharp, Noisy(evil, "dull", wrong=0.3, unknown=0.0))
    sat.append(run_exam(PredicatesExam(), candidate("size_prior"), evil, folder / "part", limit=3))
    return card(sat, evil, resamples=100, worst=2, typical=1, perfect=1, attention=sharp)


@pytest.fixture(scope="module")
def page(made: PredicatesCard) -> str:
    return render(made)


def test_page_is_sound_and_has_all_sections(page: str) -> None:
    parsed = Page(page)
    assert [name for name in parsed.ids if name in SECTIONS] == list(SECTIONS)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert all(link[1:] in parsed.ids for link in parsed.links if link.startswith("#"))
    text = " ".join(" ".join(parsed.text).split())
    headings = ("Scene accuracy", "Scene-all accuracy", "F1", "Micro accuracy", "Could not say", "Worst scenes")
    assert all(heading in text for heading in headings)
    assert "By placement of the object" in text
    assert parsed.tags.count("article") == 4


def test_page_needs_nothing_else(page: str) -> None:
    parsed = Page(page)
    assert not {"link", "script", "iframe", "object", "embed"} & set(parsed.tags)
    assert all(link.startswith(("#", "data:image/")) for link in parsed.links)
    bare = page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?://|url\(|@import|//cdn", bare)


def test_hostile_names_are_words(made: PredicatesCard, page: str) -> None:
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "{{ 7*7 }}" in "".join(Page(page).text)  # shown as it is, not run
    assert HOSTILE in "".join(Page(page).text)
    text = made.to_markdown()
    assert "<script" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert sum(block.count("\n") for block in blocks) == len(rows) > 20
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_scores_are_the_exams_own(made: PredicatesCard, data: Dataset, tmp_path: Path) -> None:
    ran = runs(data, tmp_path, Noisy(data), blind=())
    found = card(ran, data, resamples=50, worst=0, typical=0, perfect=0).focused
    assert found.scores is not None
    assert found.scores.to_dict() == score_records(ran[0].records(), resamples=50, seed=0).to_dict()


def test_scenes_say_what_the_model_said(made: PredicatesCard, page: str) -> None:
    titles = [gallery.title for gallery in made.galleries]
    assert titles == ["Worst", "Typical", "Perfect"]
    worst, typical, perfect = (gallery.exhibits for gallery in made.galleries)
    assert worst[0].wrong / worst[0].asked >= worst[1].wrong / worst[1].asked > 0
    assert len({shown.scene_id for g in made.galleries for shown in g.exhibits}) == 4
    assert perfect[0].wrong == 0
    assert typical[0].wrong > 0
    contents = " ".join("".join(Page(page).text).split())
    for kind, mark in (("false_positive", "✗"), ("false_negative", "○"), ("unknown", "?"), ("true_positive", "✓")):
        said = [s for o in worst[0].outcomes for s in o.sentences(kind)]  # type: ignore[arg-type]
        assert all(f"{mark}{sentence}" in contents for sentence in said)
    assert sum(worst[0].count(k) for k in ("false_positive", "false_negative", "unknown")) == worst[0].wrong  # type: ignore[arg-type]


def test_attention_is_shown_for_every_object(made: PredicatesCard, page: str) -> None:
    objects = [asked for g in made.galleries for shown in g.exhibits for asked in shown.objects]
    assert all(len(asked.heat) == 2 for asked in objects)
    assert page.count('alt="Attention for object') == 2 * len(objects)


def test_blind_baselines_stand_in_every_table(made: PredicatesCard) -> None:
    text = made.to_markdown()
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        if not part.startswith("Scenes shown"):
            assert "majority" in part, part[:60]
            assert "shape\\_prior" in part, part[:60]
    majority = next(s for s in made.sittings if s.label == "majority")
    assert majority.blind
    assert majority.scores is not None
    assert np.isnan(majority.scores.f1["all"].value)


def test_warnings(made: PredicatesCard, page: str, data: Dataset, tmp_path: Path) -> None:
    text = " ".join(" ".join(Page(page).text).split())
    assert "size_prior is unfinished (stopped): 3 of 8 scenes answered" in text
    assert "size_ prior (unfinished)" in text or "size_prior (unfinished)" in text
    alone = card(runs(data, tmp_path, Noisy(data), blind=()), data, resamples=50)
    assert any("No blind baseline" in warning for warning in alone.warnings)
    assert not any("No blind baseline" in warning for warning in made.warnings)


def test_blind_runs_alone_and_nothing_answered(data: Dataset, tmp_path: Path) -> None:
    ran = runs(data, tmp_path)
    blind = card(ran, data, resamples=50)
    assert "Only blind baselines have sat" in render(blind)
    assert blind.galleries[0].exhibits[0].views  # shown to the reader though not to the model
    none = run_exam(PredicatesExam(), Candidate("n.py:x", "none", Noisy(data)), data, tmp_path / "none", limit=0)
    empty = card([none], data, resamples=50)
    text = " ".join("".join(Page(render(empty)).text).split())
    assert "No finished run has a score yet" in text
    assert "No scene to show" in text
    assert json.dumps(empty.to_dict(), allow_nan=False)


def test_focus_and_labels(data: Dataset, tmp_path: Path) -> None:
    ran = runs(data, tmp_path, Noisy(data, wrong=0.3), Noisy(data, "other", wrong=0.01))
    twice = run_exam(
        PredicatesExam(views=("top",)), Candidate("mine.py:noisy", "noisy", Noisy(data)), data, tmp_path / "t"
    )
    shown = card([*ran, twice], data, resamples=50, worst=1, typical=0, perfect=0)
    assert shown.focus == "other"
    assert {s.label for s in shown.sittings} >= {"noisy · original, top", "noisy · top", "majority"}
    assert card(ran, data, resamples=50, focus="noisy", worst=0, typical=0, perfect=0).focus == "noisy"
    with pytest.raises(ConfigError, match="no run of 'nobody'"):
        card(ran, data, resamples=50, focus="nobody")


def test_scenes_asked_for_take_the_place_of_those_chosen(data: Dataset, tmp_path: Path) -> None:
    sharp = Staring(data, "sharp", wrong=0.05)
    ran = runs(data, tmp_path, sharp)
    ids = list(sharp.truth)
    shown = card(ran, data, resamples=50, scenes=[ids[5], ids[0], ids[5]], attention=sharp)
    assert [gallery.title for gallery in shown.galleries] == ["Chosen"]
    assert [s.scene_id for s in shown.named] == [ids[5], ids[0]]
    assert all(asked.heat for s in shown.named for asked in s.objects)
    usual = card(ran, data, resamples=50, worst=8)
    assert usual.named == ()
    by_id = {s.scene_id: s for gallery in usual.galleries for s in gallery.exhibits}
    assert shown.named[0].to_dict() == by_id[ids[5]].to_dict()
    parsed = Page(render(shown))
    assert {"#chosen"} == {link for link in parsed.links if link in ("#chosen", "#worst", "#typical", "#perfect")}
    assert list(shown.to_dict()["scenes"]) == ["chosen"]
    assert f"| {ids[5].replace('_', chr(92) + '_')} | chosen |" in shown.to_markdown()


def test_commands_ask_for_the_same_scenes(made: PredicatesCard, data: Dataset, tmp_path: Path) -> None:
    sharp = Staring(data, "sharp")
    ran = runs(data, tmp_path, sharp, blind=())
    ids = list(sharp.truth)
    shown = card(ran, data, resamples=50, scenes=ids[1:3])
    start = "sightline report runs --exam predicates --data d"
    assert commands(shown)[-1] == f"{start} --scene {ids[1]} --scene {ids[2]} --out report.html"
    assert commands(made)[-1] == f"{start} --attention --out report.html"


def test_an_unknown_scene_is_refused_before_the_model_is_asked(data: Dataset, tmp_path: Path) -> None:
    """A scene that is there but was not sat is another matter, and so is a run without answers."""
    ran = runs(data, tmp_path, Noisy(data), blind=())
    part = run_exam(PredicatesExam(), candidate("size_prior"), data, tmp_path / "part", limit=3)
    none = run_exam(PredicatesExam(), Candidate("n.py:x", "none", Noisy(data)), data, tmp_path / "none", limit=0)
    ids = list(Noisy(data).truth)
    with pytest.raises(ConfigError, match=f"did you mean '{ids[1]}'"):  # not that it has no attention
        card(ran, data, resamples=50, scenes=[ids[0], ids[1][1:]], attention=True)
    with pytest.raises(ConfigError, match=f"on the scene '{ids[5]}': size_prior was asked about 3 scenes"):
        card([part], data, resamples=50, scenes=[ids[5]])
    with pytest.raises(ConfigError, match=f"on the scene '{ids[0]}': none was asked about 0 scenes"):
        card([none], data, resamples=50, scenes=[ids[0]])


def test_attention_of_a_model_without_any(data: Dataset, tmp_path: Path) -> None:
    ran = runs(data, tmp_path, Noisy(data), blind=())
    with pytest.raises(ModelError, match="no method attention"):
        card(ran, data, resamples=50, attention=Noisy(data))


def test_several_exams_want_a_word(data: Dataset, tmp_path: Path) -> None:
    ours = runs(data, tmp_path / "a", blind=("predicates_majority",))
    theirs = relation_runs(dataset(tmp_path), tmp_path / "b", ("size",), Contrary())
    assert of_exam(ours) == ("predicates", ours)
    assert of_exam([*theirs, *ours], "relations") == ("relations", theirs)
    with pytest.raises(
        ConfigError, match=r"1 of predicates and 2 of relations.*--exam predicates or --exam relations"
    ):
        of_exam([*ours, *theirs])
    with pytest.raises(ConfigError, match="no run of the exam 'relations' here; there are runs of predicates"):
        of_exam(ours, "relations")
    with pytest.raises(ConfigError, match="a run of the exam 'relations'; this report is of predicates"):
        card([*ours, *theirs], data)


def test_files(made: PredicatesCard, tmp_path: Path) -> None:
    html, plain, markdown = write_report(made, tmp_path / "deep")
    told = json.loads(plain.read_text(encoding="utf-8"))
    assert (told["exam"], told["focus"], list(told["scenes"])) == (
        "predicates",
        HOSTILE,
        ["worst", "typical", "perfect"],
    )
    majority = next(run for run in told["runs"] if run["label"] == "majority")
    assert majority["scores"]["f1"]["all"]["value"] is None
    assert html.name == "report.html"
    assert markdown.read_text(encoding="utf-8").startswith("# Report card")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_has_no_sideways_scroll_and_asks_nobody(made: PredicatesCard, tmp_path: Path, scheme: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the path")
    page = write_report(made, tmp_path)[0]
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=arguments)
        view = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
        asked: list[str] = []
        problems: list[str] = []
        view.on("request", lambda request: asked.append(request.url))
        view.on("console", lambda message: problems.append(message.text))
        view.on("dialog", lambda dialog: problems.append(dialog.message))
        view.goto(page.as_uri())
        wide, inner = view.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        broken = view.evaluate("[...document.images].filter(i => !i.complete || !i.naturalWidth).length")
        colours = view.evaluate(
            "['false_positive', 'false_negative', 'unknown', 'true_positive'].map(kind => {"
            " const s = getComputedStyle(document.querySelector('.say.' + kind));"
            " return [s.color, s.backgroundColor, s.borderTopStyle].join() })"
        )
        shot = view.screenshot(full_page=True)
        browser.close()
    assert wide <= inner == 390
    assert broken == 0
    assert len(set(colours)) == 4
    assert len(shot) > 50_000
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]
    assert problems == []
