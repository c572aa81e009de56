"""The page: whole, sound, escaped, on its own; and the files beside it."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from made_runs import HOSTILE, Contrary, Mute, boxes_by_scene, dataset, runs
from sightline.report import ReportCard, card, render, write_report

from sightline.exams.base import Candidate
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.runner import run_exam
from sightline.models.registry import candidate
from sightline.scenes import Scene, View
from sightline.show.frame import frame_of
from sightline.show.raster import data_uri
from sightline.store import Dataset, Tables

VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}
SECTIONS = ("headline", "scores", "behaviour", "grids", "data", "scenes", "made")


class Page(HTMLParser):
    """Checks that tags balance; keeps ids, tags, attributes that point somewhere, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def _seen(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), f"{tag} has a handler {name}"
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href", "srcset", "action"):
                self.links.append(value or "")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ReportCard:
    """A card with hostile names, an unfinished run, detected boxes and a transfer."""
    folder = tmp_path_factory.mktemp("hostile")
    data = dataset(folder, category=HOSTILE)
    model = Contrary(HOSTILE, boxes_by_scene(data))
    who = Candidate(f"evil.py:{HOSTILE}", HOSTILE, model)
    sat = runs(data, folder, ("majority",), model)
    sat.append(run_exam(RelationsExam(boxes="detected"), who, data, folder / "detected"))
    sat.append(run_exam(RelationsExam(study="joint"), candidate("object_class"), data, folder / "joint"))
    sat.append(run_exam(RelationsExam(), candidate("bottom_edge"), data, folder / "part", limit=9))
    return card(sat, data, resamples=100)


@pytest.fixture(scope="module")
def page(made: ReportCard) -> str:
    return render(made)


def test_page_is_sound_and_has_all_sections(page: str) -> None:
    parsed = Page(page)
    assert [name for name in parsed.ids if name in SECTIONS] == list(SECTIONS)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert all(link[1:] in parsed.ids for link in parsed.links if link.startswith("#"))
    headings = ("F1 by difficulty", "Contradictions", "Silence", "Transfer: object_class", "F1 on detected boxes")
    text = " ".join(parsed.text)
    assert all(heading in text for heading in headings)
    assert parsed.tags.count("svg") > 20


def test_page_needs_nothing_else(page: str) -> None:
    parsed = Page(page)
    assert not {"link", "script", "iframe", "img", "object", "embed"} & set(parsed.tags)
    assert all(link.startswith(("#", "data:image/")) for link in parsed.links)
    bare = page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?://|url\(|@import|//cdn", bare)


def test_hostile_names_are_words(page: str) -> None:
    assert "<img" not in page
    assert "</script>" not in page
    assert "{{ 7*7 }}" in "".join(Page(page).text)  # shown as it is, not run
    assert ">49<" not in page
    assert HOSTILE in "".join(Page(page).text)


def test_unfinished_run_is_said_on_the_page(page: str) -> None:
    text = " ".join(" ".join(Page(page).text).split())
    assert "bottom_edge is unfinished (stopped): 9 of" in text
    assert "bottom_ edge (unfinished)" in text or "bottom_edge (unfinished)" in text


def test_markdown_cells_stay_in_their_columns(made: ReportCard) -> None:
    text = made.to_markdown()
    widths: dict[int, set[int]] = {}
    block = 0
    for line in text.splitlines():
        if not line.startswith("|"):
            block += 1
        else:
            widths.setdefault(block, set()).add(len(re.findall(r"(?<!\\)\|", line)))
    assert widths
    assert all(len(found) == 1 for found in widths.values())
    assert "<img" not in text


@pytest.mark.parametrize(
    ("out", "names"),
    [
        ("deep/er", ["deep/er/report.html", "deep/er/report.json", "deep/er/report.md"]),  # a folder, made
        ("card.html", ["card.html", "card.json", "card.md"]),  # a file
    ],
)
def test_files(made: ReportCard, tmp_path: Path, out: str, names: list[str]) -> None:
    written = write_report(made, tmp_path / out)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == names
    assert json.loads(written[1].read_text(encoding="utf-8"))["focus"] == made.focus
    assert sorted(p.name for p in written[0].parent.iterdir()) == sorted(p.name for p in written)


@pytest.mark.parametrize(
    ("setting", "absent"),
    [
        ("within_image", "Depth across two images"),  # one image only
        ("across_images", "Occlusion within an image"),  # pairs of images only
    ],
)
def test_one_setting_only(tmp_path: Path, setting: str, absent: str) -> None:
    data = dataset(tmp_path, 12, setting=setting)
    made = card(runs(data, tmp_path / "runs", ("majority",), Contrary()), data, resamples=50)
    text = " ".join(Page(render(made)).text)
    assert absent not in text
    assert "Average of the three" not in text
    assert "contrary reaches an F1 in" in text


def test_one_scene_has_no_interval(tmp_path: Path) -> None:
    whole = dataset(tmp_path, 8, setting="within_image").tables("test")
    first = whole.relations["scene_id"][0]
    kept = Tables(**{name: frame.filter(frame["scene_id"] == first) for name, frame in whole.frames()})
    data = Dataset.from_tables(kept, tmp_path)
    made = card(runs(data, tmp_path / "runs", ("size",)), data, resamples=50)
    assert np.isnan(made.focused.scores.subtasks[0].micro["all"].f1.low)
    Page(render(made))


def test_undefined_scores_are_dashes(tmp_path: Path) -> None:
    data = dataset(tmp_path, 8)
    made = card(runs(data, tmp_path / "runs", (), Mute()), data, resamples=50)
    page = render(made)
    Page(page)
    assert "nan" not in re.sub(r"<[^>]*>", " ", page).lower().split()
    assert "No blind baseline is among the runs" in page
    assert "No mistake on a labelled pair to show" in page


def test_photos_travel_inside_the_page(made: ReportCard) -> None:
    pixels = np.full((900, 1200, 3), 90, dtype=np.uint8)
    images = tuple(replace(image, image=pixels, size=(1200, 900)) for image in made.failures[0].images)
    shown = replace(made, failures=(replace(made.failures[0], images=images),))
    assert Page(render(shown)).links.count(data_uri(pixels)) == len(images) == 1


def test_lost_photo_is_left_out(tmp_path: Path) -> None:
    data = dataset(tmp_path)
    gone = View("v", load_image=data.blobs.loader("image", "nowhere.jpg"))
    assert frame_of(Scene("s", views=(gone,))).image is None


@pytest.mark.browser
def test_phone_has_no_sideways_scroll_and_asks_nobody(made: ReportCard, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the path")
    page = write_report(made, tmp_path)[0]
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=arguments)
        view = browser.new_page(viewport={"width": 390, "height": 844})
        asked: list[str] = []
        problems: list[str] = []
        view.on("request", lambda request: asked.append(request.url))
        view.on("console", lambda message: problems.append(message.text))
        view.on("dialog", lambda dialog: problems.append(dialog.message))
        view.goto(page.as_uri())
        wide, inner = view.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        browser.close()
    assert wide <= inner == 390
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]
    assert problems == []
