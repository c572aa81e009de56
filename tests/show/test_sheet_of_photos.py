"""Contact sheets of photos: which are chosen, how they are laid out, and the page that searches them."""

from __future__ import annotations

import json
import re
import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from look_runs import look
from PIL import Image

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.show import sheet
from sightline.show.drawing import crowded, layers
from sightline.show.frame import frame_of
from sightline.show.sheet import contact_sheet, panel
from sightline.store import Dataset, write_scenes
from sightline.store.selection import Selection, select

GREY = 128


def photo(
    number: int, size: tuple[int, int], things: dict[str, tuple[str, tuple[float, float, float, float]]]
) -> Scene:
    """A grey photo with boxes: id → category and box."""
    grey = np.full((size[1], size[0], 3), GREY, dtype=np.uint8)
    flags = frozenset({"crowd"}) if number == 2 else frozenset()
    return Scene(
        id=f"photo/{number}",
        views=(View("0", size=size, load_image=lambda: grey),),
        objects=tuple(Object(key, category) for key, (category, _) in things.items()),
        sightings=tuple(Sighting("0", key, box, flags=flags) for key, (_, box) in things.items()),
        relations=(Relation("a", "b", "vrd", "on"),) if number == 0 else (),
    )


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A wide photo, a tall one and one with thirty cups."""
    many = {f"cup{k:02d}": ("cup", (5.0 * k, 10.0, 5.0 * k + 12, 30.0)) for k in range(30)}
    made = [
        photo(0, (200, 100), {"a": ("dog", (20, 20, 100, 80)), "b": ("grass_field", (0, 50, 200, 100))}),
        photo(1, (100, 150), {"a": ("dog", (10, 10, 20, 20))}),
        photo(2, (200, 100), many),
        photo(3, (100, 100), {}),
    ]
    return write_scenes(made, tmp_path_factory.mktemp("photos") / "data", source="photos")


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Selection(categories=("dog",)), "01"),  # a category
        (Selection(categories=("dog", "grass_field")), "0"),  # each of them
        (Selection(relations=("on",)), "0"),
        (Selection(flags=("crowd",)), "2"),
        (Selection(boxes=(1, 2)), "01"),
        (Selection(boxes=(None, 0)), "3"),  # none at all
        (Selection(size=(0.3, None)), "0"),  # half of the photo is grass
        (Selection(size=(0.3, None), categories=("dog",)), ""),  # but no dog is so large
        (Selection(size=(None, 0.01)), "1"),
        (Selection(search="Grass field ON"), "0"),  # all words, wherever they stand
        (Selection(search="photo/2"), "2"),
        (Selection(order="boxes"), "2013"),
        (Selection(order="boxes", reverse=True), "3102"),
        (Selection(order="size"), "0213"),  # 0.5, 0.012, 0.0067, none
        (Selection(order="relations"), "0123"),
        (Selection(order="categories"), "0123"),
        (Selection(order="name", reverse=True), "3210"),
    ],
)
def test_scenes_are_chosen_by_what_is_in_them(photos: Dataset, wanted: Selection, ids: str) -> None:
    assert "".join(scene.removeprefix("photo/") for scene in select(photos, wanted)) == ids


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--category", "dgo"], "no object is a 'dgo', did you mean 'dog'?"),
        (["--relation", "under"], "no relation is 'under'"),
        (["--flag", "crowds"], "no box is flagged 'crowds', did you mean 'crowd'?"),
        (["--min-boxes", "31"], "no scene has all that was asked for"),
        (["--ids", "photo/0", "--category", "dog"], "by id or by what is in them, not both"),
    ],
)
def test_a_choice_that_fits_nothing_says_so(photos: Dataset, tmp_path: Path, words: list[str], says: str) -> None:
    told = look(photos.path, "--out", tmp_path / "s.html", *words)
    assert says in str(told.exception)
    assert not list(tmp_path.iterdir())


def test_the_command_chooses_and_sorts(photos: Dataset, tmp_path: Path) -> None:
    told = look(photos.path, "--out", tmp_path / "s.html", "--max-boxes", 2, "--sort", "boxes", "--json")
    assert json.loads(told.output)["scenes"] == 3
    text = (tmp_path / "s.html").read_text()
    assert re.findall(r'<h2 title="photo/(\d)"', text) == ["0", "1", "3"]
    assert "3 of 3 scenes that fit" in text


def test_a_damaged_table_is_named(photos: Dataset, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(photos.path, tmp_path / "data"))
    (file,) = (damaged / "sightings").glob("*.parquet")
    file.write_bytes(bytes(len(file.read_bytes())))  # of the right size, and nothing in it
    told = look(damaged, "--out", tmp_path / "s.html", "--min-boxes", 1)
    assert isinstance(told.exception, DataError)
    assert file.name in str(told.exception)


def test_columns_of_a_sheet_have_no_holes(photos: Dataset, tmp_path: Path) -> None:
    """Every view is as wide as its column, and starts a gap below the one above it."""
    made = contact_sheet(photos, tmp_path / "s.png", overlay="none", columns=2, width=100)
    with Image.open(made.files[0]) as picture:
        pixels = np.asarray(picture.convert("L")).astype(int)
    middle = pixels[sheet.HEADER :, [sheet.MARGIN + 50, sheet.MARGIN + 100 + sheet.GAP + 50]]
    heights = [
        [len(run) for run in re.findall("1+", "".join("01"[int(p == GREY)] for p in column))] for column in middle.T
    ]
    assert [[h for h in column if h > 30] for column in heights] == [[50, 50], [150, 100]]
    rows = {k: (pixels[sheet.HEADER :, sheet.MARGIN + k] == GREY).sum() for k in (1, 98)}
    assert rows[1] == rows[98] == 100  # from edge to edge


@pytest.mark.parametrize(
    ("box", "size"),
    [
        ((10, 20, 400, 300), (416, 312)),  # its extent with a rim, so that no edge is cut
        ((0, 0, 2.0**32, 50), (2.0**32 * 1.04, 2.0**32 * 0.26)),  # a canvas never flatter than four to one
        ((0, 0, 3, 2.0**32), (2.0**32 * 0.26, 2.0**32 * 1.04)),
    ],
)
def test_boxes_without_a_picture_lie_within_a_bounded_canvas(
    tmp_path: Path, box: tuple[float, float, float, float], size: tuple[float, float]
) -> None:
    bare = Scene("b", views=(View("0"),), objects=(Object("a", "cat"),), sightings=(Sighting("0", "a", box),))
    frame = frame_of(bare)
    assert frame.size == pytest.approx(size)
    drawn = panel(frame, ["boxes"], 200)
    assert drawn.width <= 200
    assert drawn.height <= 400
    data = write_scenes([bare], tmp_path / "d")
    text = contact_sheet(data, tmp_path / "s.html").files[0].read_text()
    (shape,) = re.findall(r"--shape: ([\d.]+)", text)
    assert 0.25 <= float(shape) <= 4


def test_labels_of_a_crowd_are_short_and_none_lies_on_another(photos: Dataset) -> None:
    crowd, few = (frame_of(photos.scene(f"photo/{k}")) for k in (2, 0))
    assert crowded(crowd.scaled(2))
    assert not crowded(few.scaled(2))
    boxes = layers(crowd.scaled(2), ["boxes"])["boxes"]
    assert "cup" not in boxes
    assert ">1<" in boxes
    live = layers(crowd.scaled(2), ["boxes"], live=True)["boxes"]
    assert live.count("data-label=") == live.count(" cup<") == 30


@pytest.mark.long
@pytest.mark.browser
def test_a_page_is_searched_filtered_and_sorted(photos: Dataset, tmp_path: Path, browser: Any) -> None:
    page = contact_sheet(photos, tmp_path / "s.html").files[0].as_uri()
    tab = browser.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(page)

    def shown() -> str:
        return "".join(one.removeprefix("photo/") for one in tab.locator("article:visible h2").all_text_contents())

    assert shown() == "0123"
    tab.keyboard.press("/")  # to the search field, whatever has the focus
    tab.keyboard.type("dog")
    assert shown() == "01"
    assert tab.locator("output").text_content() == "2 of 4 views"
    tab.keyboard.type(" grass")
    assert shown() == "0"
    assert tab.url.endswith("#q=dog+grass")
    tab.get_by_role("button", name="Clear filters").press("Enter")
    assert shown() == "0123"
    assert "#" not in tab.url
    for field, value, found in (
        ("category", "cup", "2"),
        ("relation", "on", "0"),
        ("flag", "crowd", "2"),
        ("size", "small", "1"),
        ("size", "medium", "2"),
        ("size", "large", "0"),
        ("sort", "boxes", "2013"),
        ("sort", "-boxes", "3102"),
        ("sort", "size", "0213"),
        ("sort", "relations", "0123"),
    ):
        tab.select_option(f"[name={field}]", value)
        assert shown() == found, (field, value)
        tab.select_option(f"[name={field}]", "")
    tab.select_option("[name=category]", "dog")
    tab.fill("[name=boxes]", "2")
    tab.check("#on-ids")
    state = tab.url
    tab.fill("[name=boxes]", "9")
    assert shown() == ""
    assert tab.get_by_text("No view fits.").is_visible()
    again = browser.new_page()  # the address holds the state
    again.goto(state)
    assert again.locator("article:visible h2").all_text_contents() == ["photo/0"]
    assert again.input_value("[name=category]") == "dog"
    assert again.is_checked("#on-ids")
    again.goto(page + "#category=unknown&sort=%3Cscript%3E&layers=nothing")  # nonsense is no state
    again.reload()
    assert again.locator("article:visible").count() == 4
    assert not errors
    tab.close()
    again.close()


@pytest.mark.browser
def test_names_in_a_crowd_show_one_at_a_time(photos: Dataset, tmp_path: Path, browser: Any) -> None:
    tab = browser.new_page(viewport={"width": 1300, "height": 900})
    tab.goto(contact_sheet(photos, tmp_path / "s.html", ids=["photo/2"]).files[0].as_uri())
    labels = tab.locator("[data-label]")
    assert labels.count() == 30
    assert not any(one.is_visible() for one in labels.all())
    tab.locator("rect:nth-child(2)").first.hover(position={"x": 6, "y": 20})
    assert [one.text_content() for one in labels.all() if one.is_visible()] == ["1 cup"]
    tab.mouse.move(5, 5)
    assert not any(one.is_visible() for one in labels.all())
    tab.locator(".canvas").focus()
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    assert [one.text_content() for one in labels.all() if one.is_visible()] == ["3 cup"]
    assert tab.locator(".heard").text_content() == "3 cup crowd"
    tab.keyboard.press("Escape")
    assert not any(one.is_visible() for one in labels.all())
    tab.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1300, 400])
def test_views_of_a_row_fill_it_and_are_equally_high(
    photos: Dataset, tmp_path: Path, browser: Any, width: int
) -> None:
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto(contact_sheet(photos, tmp_path / "s.html").files[0].as_uri())
    places = [one.bounding_box() for one in tab.locator(".canvas").all()]
    rows: dict[int, list[float]] = {}
    for place in places:
        rows.setdefault(round(place["y"]), []).append(place["height"])
    assert all(max(high) - min(high) < 1 for high in rows.values())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.close()


def test_a_view_of_nine_hundred_megapixels_takes_little_memory() -> None:
    """Its mask, a rectangle of 20,000 × 10,000 pixels, is traced at an eighth."""
    side, corner, wide, high = 30_000, (5_000, 8_000), 20_000, 10_000
    column = np.tile([high, side - high], wide)
    counts = [
        corner[0] * side + corner[1],
        *column[:-1],
        side * (side - corner[0] - wide) + side - corner[1] - high,
    ]
    mask = masks.compress(np.array(counts))
    huge = Scene(
        "huge",
        views=(View("0", size=(side, side)),),
        objects=(Object("1", "field"),),
        sightings=(Sighting("0", "1", (*corner, corner[0] + wide, corner[1] + high), mask),),
    )
    tracemalloc.start()
    frame = frame_of(huge)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6
    (loop,) = frame.objects[0].visible
    assert np.abs(np.ptp(loop, axis=0) - (wide, high)).max() <= 16
    assert np.abs(loop.min(axis=0) - corner).max() <= 16
    assert frame.size == (side, side)
