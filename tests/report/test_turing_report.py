"""The Turing card, its page and its drawings: whole, sound, escaped, on their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from made_turing import Guesser, exam, runs, scenes
from sightline.cli.turing_writing import write_out
from sightline.exams.turing.hues import hue
from sightline.exams.turing.written_exam import WrittenExam
from sightline.report.make import of_exam
from sightline.report.turing import TuringCard, card, render, write_report
from sightline.report.turing.drawing import asked_picture, transcript_picture
from sightline.report.turing.exhibits import stream_exhibit
from sightline.report.turing.picture import region_map, stage_svg
from sightline.report.turing.scripts import transcripts
from sightline.report.turing.sentences import commands
from sightline.report.turing.stage import Stage, stage
from sightline.report.turing.transcript import Line, Transcript
from sightline.report.turing.written import pictures_of
from test_report_page import Page

from sightline.cli import report_command
from sightline.errors import ConfigError, DataError
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.models.registry import candidate
from sightline.scenes import Object, Scene, Sighting, View
from sightline.store import Dataset

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"&'{{ 7*7 }}|_`"
SECTIONS = ("headline", "scores", "guessed", "streams", "made")
LEFT = (0.0, 0.0, 0.5, 1.0)
RIGHT = (0.5, 0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return scenes(tmp_path_factory.mktemp("train") / "d", 30, 1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return scenes(tmp_path_factory.mktemp("test") / "d", 6, 2)


@pytest.fixture(scope="module")
def sat(train: Dataset, data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Hostile names, two models, blind baselines, two streams an image, an unfinished run."""
    folder = tmp_path_factory.mktemp("runs")
    made = runs(train, data, folder, Guesser(HOSTILE), Guesser("dull"), streams=2)
    return [*made, run_exam(exam(train, streams=2), candidate("coin"), data, folder / "part", limit=3)]


@pytest.fixture(scope="module")
def made(sat: list[Run], data: Dataset) -> TuringCard:
    return card(sat, data, focus=HOSTILE, resamples=100, worst=2, typical=1, perfect=1)


@pytest.fixture(scope="module")
def page(made: TuringCard) -> str:
    return render(made)


def test_page_is_sound_and_has_all_sections(page: str, made: TuringCard) -> None:
    parsed = Page(page)
    assert [name for name in parsed.ids if name in SECTIONS] == list(SECTIONS)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert all(link[1:] in parsed.ids for link in parsed.links if link.startswith("#"))
    text = " ".join(" ".join(parsed.text).split())
    for words in ("At a glance", "By story line", "Share of yes, by type", "Calibration", "Could it be guessed?"):
        assert words in text
    assert parsed.tags.count("article") == sum(len(g.exhibits) for g in made.galleries) >= 2
    assert "unfinished" in text


def test_page_is_escaped_and_stands_alone(page: str) -> None:
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "{{ 7*7 }}" in page
    assert not [link for link in ("http://", "https://") if link in page.replace("http://www.w3.org/2000/svg", "")]
    assert "data:image/jpeg;base64," in page


def test_shown_streams_tell_every_answer(made: TuringCard, sat: list[Run]) -> None:
    records = sat[made_at(made, sat)].records()
    for gallery in made.galleries:
        for shown in gallery.exhibits:
            at = shown.transcript
            own = records.filter((pl.col("scene_id") == at.scene_id) & (pl.col("stream") == at.stream))
            assert [q.line.number for q in shown.questions] == own["step"].to_list()
            assert at.right == int(own["right"].sum())
            assert at.asked == own.filter(pl.col("truth") != "ambiguous").height
            assert at.ambiguous == own.filter(pl.col("truth") == "ambiguous").height
            assert all((q.region == "") == (q.line.region is None) for q in shown.questions)
            assert "designated" not in shown.svg
            for line in at.labelled:
                assert line.object_id
                assert str(line.label) in shown.svg
    shares = [s.transcript.right / s.transcript.asked for s in made.galleries[0].exhibits]
    assert shares == sorted(shares)


def made_at(made: TuringCard, sat: list[Run]) -> int:
    return next(i for i, run in enumerate(sat) if run.name == made.focused.name)


def test_numbers_of_the_card(made: TuringCard, sat: list[Run]) -> None:
    yes = next(s for s in made.sittings if s.name == "always_yes").accuracy()
    assert yes is not None
    assert yes.value == pytest.approx(made.monitor.yes_by_type["all"].value)
    assert sum(made.lengths.values()) == 12
    scores = made.focused.scores
    assert scores is not None
    assert sum(k * n for k, n in made.lengths.items()) == scores.n_questions
    assert set(made.monitor.blind) == {"turing_engine"}  # as in the exam: those who know the history
    assert any("coin is unfinished" in warning for warning in made.warnings)


def test_files_beside_the_page(made: TuringCard, tmp_path: Path) -> None:
    html, plain, text = write_report(made, tmp_path / "new")
    told = json.loads(plain.read_text())
    assert told["exam"] == "turing"
    assert told["options"]["vocabulary"] == "worlds"
    assert {run["name"] for run in told["runs"]} >= {"dull", "always_no"}
    assert len(told["streams"]["worst"]) == 2
    assert told["streams"]["worst"][0]["questions"][0]["said"].endswith("?")
    assert html.stat().st_size > 20_000
    assert "| question | true answer |" in text.read_text()
    assert "<script" not in text.read_text()


def test_the_command_makes_the_same_page(sat: list[Run], data: Dataset, tmp_path: Path) -> None:
    assert of_exam(sat)[0] == "turing"
    folders = [run.folder for run in sat]
    report_command.command(folders, to=tmp_path, resamples=100)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.json", "report.md"]
    plain = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert plain["focus"] in (HOSTILE, "dull")  # the better of the two, never a blind one
    with pytest.raises(ConfigError, match="--protocol goes with the relations exam; these are runs of turing"):
        report_command.command(folders, to=tmp_path, protocol="paper")
    with pytest.raises(ConfigError, match="--attention goes with the predicates exam; these are runs of turing"):
        report_command.command(folders, to=tmp_path, attention=True)


def test_streams_of_the_images_asked_for(sat: list[Run], data: Dataset) -> None:
    scenes = list(dict.fromkeys(sat[0].records()["scene_id"]))
    shown = card(sat, data, focus=HOSTILE, resamples=50, scenes=[scenes[3], scenes[0]])
    assert [gallery.title for gallery in shown.galleries] == ["Chosen"]
    streams = [(s.transcript.scene_id, s.transcript.stream) for s in shown.named]
    assert streams == [(scene, stream) for scene in (scenes[3], scenes[0]) for stream in (0, 1)]
    parsed = Page(render(shown))
    assert "#chosen" in parsed.links
    assert "· stream 1" in " ".join("".join(parsed.text).split())  # two of one image are told apart
    assert commands(shown)[1].endswith(f"--scene {scenes[3]} --scene {scenes[0]} --out report.html")
    with pytest.raises(ConfigError, match=f"has no scene '{scenes[2][1:]}', did you mean '{scenes[2]}'"):
        card(sat, data, resamples=50, scenes=[scenes[2][1:]])
    other = next(scene for scene in scenes if scene not in {*sat[-1].records()["scene_id"]})
    with pytest.raises(ConfigError, match=f"no answers to show on the scene '{other}': coin was asked about"):
        card(sat, data, focus="coin", resamples=50, scenes=[other])


def test_runs_that_do_not_belong_together(train: Dataset, data: Dataset, sat: list[Run], tmp_path: Path) -> None:
    other = run_exam(exam(train, streams=2, seed=7), candidate("always_yes"), data, tmp_path / "seed")
    with pytest.raises(ConfigError, match="seed is 0 in"):
        card([sat[0], other], data)
    with pytest.raises(ConfigError, match="other data"):
        card(sat[:1], train)
    with pytest.raises(ConfigError, match="no run of 'nobody'"):
        card(sat, data, focus="nobody")
    with pytest.raises(ConfigError, match="no runs"):
        card([], data)


def test_a_written_test_has_its_page_too(train: Dataset, data: Dataset, tmp_path: Path) -> None:
    """Nothing but the handed out folder is at hand: pictures and regions are drawn, no object is."""
    folder, key = tmp_path / "hand", tmp_path / "key.jsonl"
    write_out(exam(train), data, folder, key, images=2, overwrite=False, quiet=True)
    written = WrittenExam(folder, key)
    run = run_exam(written, candidate("coin"), written.dataset(), tmp_path / "run")
    made = card([run], pictures_of(folder, [run]), resamples=100)
    shown = [stream for gallery in made.galleries for stream in gallery.exhibits]
    assert len(shown) == 2
    assert all("data:image/jpeg" in stream.svg for stream in shown)
    assert "test" in dict(made.options)
    assert "Vocabulary" in render(made)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ""),  # all as usual, the vocabulary made from the data
        ({"streams": 2, "seed": 7, "questions": 9}, " --streams 2 --questions 9 --seed 7"),
        ({"closed": True, "epsilon": 0.2, "min_support": 5}, " --closed --min-support 5 --epsilon 0.2"),
        ({"smoothing": 0.5}, " --smoothing 0.5"),
        ({"vocabulary": "mine"}, " --vocabulary VOCABULARY.yaml"),  # nobody kept where that lies
        ({"assumptions": {"negatives": False, "forget_facts": True}}, " --assume=-negatives"),
        ({"train_fingerprint": "same", "halves": True}, " --halves"),  # learned from the other half
    ],
)
def test_the_command_makes_the_streams_again(made: TuringCard, options: dict[str, Any], expected: str) -> None:
    usual = {
        "vocabulary": "data",
        "streams": 1,
        "seed": 0,
        "epsilon": 0.15,
        "halves": False,
        "train_fingerprint": "x",
    }
    told = replace(made, options=usual | options, fingerprint="same", data="d", sittings=())
    train = "" if "halves" in options else " --train TRAIN"
    assert commands(told)[0] == f"sightline exam turing --data d{train}{expected} --out runs"


def test_the_command_of_a_written_test(made: TuringCard) -> None:
    told = replace(made, options={"test": "1234", "epsilon": 0.2}, data="hand", sittings=())
    assert commands(told)[0] == "sightline exam turing --test hand --key KEY --out runs"


def test_records_of_another_exam() -> None:
    with pytest.raises(DataError, match="not records of the turing exam"):
        transcripts(pl.DataFrame({"item": ["a"]}))
    assert transcripts(pl.DataFrame()) == []


def line(number: int, truth: str, reply: str | None = None, **more: Any) -> Line:
    given: dict[str, Any] = {"kind": "exist", "text": "Is there a cat in the designated region?", "region": LEFT}
    given |= {"p_yes": 0.5, "support": 40} | more
    return Line(number=number, truth=truth, reply=reply, **given)


@pytest.mark.parametrize(
    ("truth", "reply", "right", "outcome"),
    [
        ("yes", "yes", True, "right"),
        ("no", "yes", False, "wrong"),
        ("yes", "abstain", False, "silent"),
        ("no", "late", False, "silent"),
        ("ambiguous", None, None, "ambiguous"),  # never asked
        ("yes", None, None, ""),  # nobody was asked
    ],
)
def test_outcomes(truth: str, reply: str | None, right: bool | None, outcome: str) -> None:
    told = Transcript.of("s", [line(1, truth, reply)])
    assert told.lines[0].right is right
    assert stream_exhibit(blank(), told).questions[0].outcome == outcome


def test_regions_are_named_in_the_order_met() -> None:
    told = Transcript.of(
        "s", [line(1, "no"), line(2, "no", region=RIGHT), line(3, "no"), line(4, "no", region=None)]
    )
    assert [told.said(one) for one in told.lines[:3]] == [
        f"Is there a cat in the {name} region?" for name in ("blue", "yellow", "blue")
    ]
    assert told.hue(told.lines[3]) is None
    assert len({hue(i).name for i in range(64)}) == 64


def blank(units: str = "pixels", size: tuple[int, int] | None = None) -> Stage:
    boxes = {"a": (10.0, 20.0, 110.0, 220.0), "b": (100.0, 0.0, 400.0, 200.0)}
    if units == "normalised":
        boxes = {"a": (0.1, 0.1, 0.4, 0.6), "b": (0.3, 0.0, 1.0, 0.8)}
    scene = Scene(
        "s",
        views=(View("v", size=size, units=units),),  # type: ignore[arg-type]
        objects=(Object("a", HOSTILE), Object("b", "dog", {"color": "red"})),
        sightings=tuple(Sighting("v", name, box) for name, box in boxes.items()),
    )
    return stage(scene)


@pytest.mark.parametrize(
    ("units", "size", "reach", "told"),
    [
        ("pixels", None, (400.0, 220.0), False),  # nobody told the size: as far as the boxes reach
        ("pixels", (500, 250), (500.0, 250.0), True),
        ("normalised", None, (1.0, 1.0), False),
        ("normalised", (500, 250), (500.0, 250.0), True),
    ],
)
def test_stages(units: str, size: tuple[int, int] | None, reach: tuple[float, float], told: bool) -> None:
    found = blank(units, size)
    assert found.reach == reach
    assert found.told is told
    assert found.place(RIGHT) == (reach[0] / 2, 0.0, reach[0], reach[1])
    assert [actor.words for actor in found.actors] == [HOSTILE.replace("_", " "), "red dog"]


def test_drawings_without_a_picture_are_sound_and_show_what_was_found() -> None:
    labelled = line(2, "yes", "no", kind="unique", label="dog 1", object_id="b")
    told = Transcript.of("s", [line(1, "no", "no", region=RIGHT), labelled, line(3, "ambiguous", story=2)])
    drawn = stage_svg(blank(), told)
    root = ElementTree.fromstring(drawn)
    words = " ".join(text for text in root.itertext())
    assert "dog 1" in words
    assert hue(1).css in drawn  # the left half, met second, where the dog was labelled
    assert hue(0).css not in drawn  # the right half led to nothing
    assert "<script" not in drawn
    ElementTree.fromstring(region_map(LEFT, hue(9), (3, 2)))
    sheet = np.asarray(transcript_picture(blank(), told))
    for found in (hue(0), hue(1)):
        assert (np.abs(sheet.astype(int) - found.rgb).sum(axis=2) < 12).any()
    bare, framed = (np.asarray(asked_picture(blank(), box, hue(0), ())) for box in (None, LEFT))
    assert (bare != framed).any()
    assert transcript_picture(blank(), Transcript.of("s", [])).width > 700
