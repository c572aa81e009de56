"""Contact sheets: what is on them, told by their pixels and by their page."""

from __future__ import annotations

import json
import re
import shutil
import tracemalloc
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from sightline.errors import ConfigError, DataError
from sightline.geometry import masks
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.show import sheet, sheet_page
from sightline.show.drawing import crowded, layers
from sightline.show.frame import ARROWS, ImageFrame, frame_of
from sightline.show.frame import PALETTE as COLOURS
from sightline.show.raster import depth_picture, ramp
from sightline.show.sheet import contact_sheet, panel, panels
from sightline.store import Dataset, write_scenes
from sightline.store.selection import Selection, select

SIZE = (240, 160)
PALETTE = [tuple(bytes.fromhex(colour[1:])) for colour in COLOURS]
GREY = 128


def mask(x0: int, y0: int, x1: int, y1: int) -> np.ndarray:
    made = np.zeros(SIZE[::-1], dtype=bool)
    made[y0:y1, x0:x1] = True
    return made


def scene(number: int, *, pictures: bool = True) -> Scene:
    """A near square hides the left half of a far one; a third stands apart."""
    whole = [mask(40, 60, 100, 120), mask(70, 40, 150, 100), mask(180, 20, 220, 60)]
    visible = [whole[0], whole[1] & ~whole[0], whole[2]]
    depth = np.where(whole[0], 2.0, np.where(visible[1], 4.0, 6.0)).astype(np.float32)
    depth[:5] = np.nan

    def views(name: str) -> View:
        view = View(name, size=SIZE)
        if not pictures:
            return view
        return replace(
            view, load_image=lambda: np.full((*SIZE[::-1], 3), GREY, dtype=np.uint8), load_depth=lambda: depth
        )

    def seen(view: str) -> Iterator[Sighting]:
        for k in range(3):
            box = masks.box(masks.counts_from_mask(visible[k]), SIZE[1])
            hidden = 1 - visible[k].sum() / whole[k].sum()
            yield Sighting(view, str(k), box, masks.encode(visible[k]), masks.encode(whole[k]), float(hidden))

    return Scene(
        id=f"made/{number:03d}",
        split="train",
        source="made",
        views=(views("original"), views("top")),
        objects=tuple(Object(str(k), f"thing_{k}", {"color": "red"}) for k in range(3)),
        sightings=(*seen("original"), *seen("top")),
        relations=(
            Relation("1", "0", "occlusion", "occluded", view="original"),
            Relation("0", "2", "geometry", "contains"),
            Relation("0", "2", "geometry", "can_contain"),
            Relation("0", "2", "spatial", "left"),
        ),
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return write_scenes([scene(k) for k in range(5)], tmp_path_factory.mktemp("look") / "data", source="made")


def drawn(layers: str, width: int = SIZE[0], made: Scene | None = None) -> np.ndarray:
    one = made or scene(0)
    return np.asarray(panel(frame_of(one, one.views[0], depth=True), layers.split("+"), width)).astype(int)


def near(pixel: np.ndarray, colour: tuple[int, int, int], by: int = 30) -> bool:
    return bool(np.abs(pixel - np.array(colour)).max() <= by)


def test_the_picture_alone_is_untouched() -> None:
    assert (drawn("none") == GREY).all()


def test_masks_wash_what_is_visible_and_no_more() -> None:
    picture = drawn("masks")
    washed = [(GREY + c) / 2 for c in PALETTE[1]]
    assert np.abs(picture[80, 130] - washed).max() <= 2
    assert np.abs(picture[80, 85] - [(GREY + c) / 2 for c in PALETTE[0]]).max() <= 2  # the near one wins
    assert (picture[140, 200] == GREY).all()


def test_hidden_parts_are_hatched_and_outlined_with_dashes() -> None:
    picture = drawn("amodal")
    hidden = picture[64:96, 74:96].reshape(-1, 3)  # the part of 1 behind 0
    share = np.mean([near(p, PALETTE[1]) for p in hidden])
    assert 0.15 < share < 0.6  # lines, not a wash
    assert (picture[64:96, 110:140] == GREY).all()  # the part that can be seen is left alone
    edge = [near(p, PALETTE[1], 60) for p in picture[40, 72:148]]
    assert 0.3 < np.mean(edge) < 0.9


def test_boxes_stand_where_they_should() -> None:
    picture = drawn("boxes")
    assert near(picture[90, 40], PALETTE[0], 90)
    assert near(picture[119, 70], PALETTE[0], 90)
    assert (picture[140, 200] == GREY).all()


def test_depth_is_coloured_from_near_to_far() -> None:
    picture = drawn("depth")
    assert (picture[90, 60] == ramp()[0]).all()
    assert (picture[20, 120] == ramp()[-1]).all()
    assert picture[2, 120].std() < 8  # unknown is grey
    flat = np.asarray(depth_picture(np.full((2, 2), 3.0), 3.0, 3.0).convert("RGB"))
    assert (flat == ramp()[0]).all()  # one distance is no division by zero


def test_arrows_follow_the_relation() -> None:
    """An occluded 1–0 is drawn 0 → 1: its head, wider than its line, is at 1."""
    made = scene(0)
    only = replace(made, relations=made.relations[:1])
    shown = frame_of(only, only.views[0])
    assert [(k.subject, k.object, k.predicate) for k in shown.arrows] == [(0, 1, "occludes")]
    picture = drawn("relations", made=replace(made, relations=(Relation("2", "0", "vrd", "over"),)), width=480)
    violet = np.argwhere(np.abs(picture - np.array((197, 129, 255))).max(axis=2) < 40)
    assert violet[:, 1].mean() < (70 + 200) / 2 * 2  # most of it is the head, at object 0 on the left
    assert ARROWS["contains"] != ARROWS["supports"]


def test_what_is_drawn_and_what_is_only_counted() -> None:
    made = scene(0)
    shown = {v.id: frame_of(made, v) for v in made.views}
    assert [k.predicate for k in shown["original"].arrows] == ["occludes", "contains"]
    assert [k.predicate for k in shown["top"].arrows] == ["contains"]  # the other holds in one view
    assert shown["top"].others == {"can_contain": 1, "left": 1}
    rated = replace(made, relations=(Relation("0", "1", "depth", "farther"), Relation("1", "2", "depth", "same")))
    assert [(k.subject, k.object) for k in frame_of(rated, rated.views[0]).arrows] == [
        (1, 0)
    ]  # closer, if nothing else


def test_a_sheet_of_all_sorts(data: Dataset, tmp_path: Path) -> None:
    made = contact_sheet(data, tmp_path / "new" / "sheet.png")
    assert made.panels == (("boxes",), ("masks", "amodal"), ("depth",), ("relations",))
    assert (made.scenes, made.views, made.notes) == (5, 10, ())
    with Image.open(made.files[0]) as picture:
        assert picture.width == 2 * sheet.MARGIN + 4 * 480 + 3 * sheet.GUTTER
        assert picture.height > 10 * 320
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["sheet.png"]


@pytest.mark.parametrize(
    ("options", "scenes", "views", "width"),
    [
        ({"overlay": "none", "scenes": 3, "columns": 2}, 3, 6, 2 * 480 + sheet.GAP),  # the first three
        ({"overlay": "boxes+ids", "views": ["top"], "columns": 1}, 5, 5, 480),  # one view
        ({"overlay": "masks,depth", "ids": ["made/004"], "width": 100, "columns": 1}, 1, 2, 210),  # one scene
        ({"overlay": "none", "split": "train", "columns": 1}, 5, 10, 480),  # a split
    ],
)
def test_what_is_chosen(
    data: Dataset, tmp_path: Path, options: dict[str, Any], scenes: int, views: int, width: int
) -> None:
    made = contact_sheet(data, tmp_path / "s.png", **options)
    assert (made.scenes, made.views) == (scenes, views)
    with Image.open(made.files[0]) as picture:
        assert picture.width == width + 2 * sheet.MARGIN


@pytest.mark.parametrize(
    ("options", "out", "error", "says"),
    [
        ({"overlay": "maks"}, "s.png", ConfigError, "unknown overlay 'maks', did you mean 'masks'"),
        ({"overlay": "boxes,"}, "s.png", ConfigError, "unknown overlay ''"),
        ({"views": ["side"]}, "s.png", ConfigError, r"no scene has a view side \(there are original, top\)"),
        ({"ids": ["made/999"]}, "s.png", DataError, "no such scene"),
        ({"split": "test"}, "s.png", ConfigError, "no split 'test'"),
        ({}, "s.gif", ConfigError, "is a .png or .html file, not 's.gif'"),
    ],
)
def test_what_cannot_be_shown_leaves_nothing(
    data: Dataset, tmp_path: Path, options: dict[str, Any], out: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        contact_sheet(data, tmp_path / out, **options)
    assert not list(tmp_path.iterdir())


def test_scenes_without_pictures_are_sketched(tmp_path: Path) -> None:
    bare = scene(0, pictures=False)
    unsized = Scene(
        "n",
        views=(View("0", units="normalised"),),
        objects=(Object("a", "cat"),),
        sightings=(Sighting("0", "a", (0.25, 0.25, 0.75, 0.75)),),
    )
    data = write_scenes([bare, unsized, Scene("empty", views=(View("0"),))], tmp_path / "d")
    made = contact_sheet(data, tmp_path / "s.png")
    assert made.panels == (("boxes",), ("masks", "amodal"), ("relations",))
    assert made.views == 4
    picture = np.asarray(panel(frame_of(unsized, unsized.views[0]), ["boxes"], 200)).astype(int)
    assert picture.shape == (200, 200, 3)
    assert near(picture[100, 50], PALETTE[0])
    assert contact_sheet(data, tmp_path / "s.html").views == 4


def test_a_lost_picture_is_told_and_the_rest_is_drawn(tmp_path: Path) -> None:
    data = write_scenes([scene(0)], tmp_path / "d")
    for blob in (tmp_path / "d" / "images").rglob("*.png"):
        blob.unlink()
    made = contact_sheet(data, tmp_path / "s.png")
    assert len(made.notes) == 2  # one a view
    assert "picture is missing" in made.notes[0]


def test_masks_come_from_the_id_map_where_sightings_have_none() -> None:
    made = scene(0)
    ids = mask(10, 10, 20, 20).astype(np.int32) * 2
    bare = replace(
        made,
        sightings=tuple(replace(s, visible_mask=None, amodal_mask=None) for s in made.sightings[:1]),
        views=(replace(made.views[0], load_ids=lambda: ids),),
    )
    shown = frame_of(bare, bare.views[0])
    assert [bool(t.visible) for t in shown.objects] == [False, True, False]
    assert shown.objects[1].box is None
    x, y = shown.objects[1].spot or (0, 0)
    assert 10 <= x <= 20
    assert 10 <= y <= 20


def test_tall_sheets_go_on_in_further_files(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = contact_sheet(data, tmp_path / "one.png", overlay="none", columns=2, width=120)
    monkeypatch.setattr(sheet, "TALLEST", 300)
    parts = contact_sheet(data, tmp_path / "many.png", overlay="none", columns=2, width=120)
    assert [p.name for p in parts.files[:2]] == ["many.png", "many-2.png"]
    rows = 0
    for file in parts.files:
        with Image.open(file) as picture:
            assert picture.height <= 300
            rows += picture.height - sheet.HEADER - sheet.MARGIN + sheet.GAP
    with Image.open(whole.files[0]) as picture:
        assert rows == picture.height - sheet.HEADER - sheet.MARGIN + sheet.GAP  # every row once


def test_files_appear_together_or_not_at_all(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_late(shown: Any, *rest: Any) -> Iterator[bytes]:
        yield b"first"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sheet, "png_pages", fail_late)
    with pytest.raises(OSError, match="No space"):
        contact_sheet(data, tmp_path / "s.png")
    assert not list(tmp_path.iterdir())


def test_a_page_needs_nothing_else(data: Dataset, tmp_path: Path) -> None:
    made = contact_sheet(data, tmp_path / "s.html", overlay="masks+amodal")
    text = made.files[0].read_text()
    assert "http" not in re.sub(r'xmlns="[^"]*"|http-equiv', "", text)
    (script,) = re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)
    assert b64encode(sha256(script.encode()).digest()).decode() in text  # no other script runs
    assert "default-src 'none'" in text
    assert text.count("<article ") == 10
    assert text.count('class="picture" src="data:image/jpeg;base64,') == 10
    assert text.count('class="depth" src="data:image/png;base64,') == 10
    boxes = dict(re.findall(r'<input type="checkbox"[^>]*id="on-(\w+)"( checked)?>', text))
    assert boxes == {
        "boxes": "",
        "masks": " checked",
        "amodal": " checked",
        "depth": "",
        "relations": "",
        "ids": "",
    }
    assert "25 % hidden" in text


def test_names_are_escaped(tmp_path: Path) -> None:
    nasty = '<img src=x onerror="alert(1)">'
    made = scene(0)
    spoilt = replace(
        made,
        id=nasty,
        split=nasty,
        objects=tuple(replace(o, category=nasty) for o in made.objects),
        relations=(Relation("0", "1", "vrd", nasty),),
    )
    data = write_scenes([spoilt], tmp_path / "d", source=nasty)
    text = contact_sheet(data, tmp_path / "s.html").files[0].read_text()
    assert "<img src=x" not in text
    assert contact_sheet(data, tmp_path / "s.png").views == 2


def test_long_pages_are_linked(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_page, "VIEWS_A_PAGE", 4)
    files = contact_sheet(data, tmp_path / "s.html").files
    assert [f.name for f in files] == ["s.html", "s-2.html", "s-3.html"]
    texts = [f.read_text() for f in files]
    assert [t.count("<article ") for t in texts] == [4, 4, 2]
    assert [re.findall(r'rel="(\w+)" href="([^"]+)"', t) for t in texts] == [
        [("next", "s-2.html")],
        [("prev", "s.html"), ("next", "s-3.html")],
        [("prev", "s-2.html")],
    ]


@pytest.mark.browser
def test_layers_are_turned_on_and_off_by_keyboard(data: Dataset, tmp_path: Path, browser: Any) -> None:
    made = contact_sheet(data, tmp_path / "s.html", scenes=1)
    tab = browser.new_page()
    tab.goto(made.files[0].as_uri())
    layer = {name: tab.locator(f"g.{name}").first for name in ("boxes", "masks", "ids", "relations")}
    assert layer["boxes"].is_visible()
    assert not layer["masks"].is_visible()
    tab.locator(".filters [name]").last.focus()
    tab.keyboard.press("Tab")  # after the filters comes the first layer
    tab.keyboard.press("Space")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    assert not layer["boxes"].is_visible()
    assert layer["masks"].is_visible()
    tab.check("#on-relations")
    assert layer["relations"].is_visible()
    assert layer["ids"].is_visible()  # arrows need ends
    tab.close()


def look() -> Callable[..., Any]:
    from sightline.cli.look_command import command

    app = typer.Typer()
    app.command()(command)
    return lambda *words: CliRunner().invoke(app, list(map(str, words)))


def test_the_command_tells_what_it_wrote(data: Dataset, tmp_path: Path) -> None:
    words = [data.path, "--out", tmp_path / "s.png", "--overlay", "none,boxes+ids", "--ids", "made/001, made/003"]
    told = look()(*words, "--view", "top", "--json")
    assert json.loads(told.output) == {
        "written": [str(tmp_path / "s.png")],
        "scenes": 2,
        "views": 2,
        "overlays": ["none", "boxes+ids"],
        "notes": [],
    }
    plain = look()(data.path, "--out", tmp_path / "s.html", "--scenes", 1)
    assert plain.output.startswith("1 scene, 2 views: wrote ")


def test_memory_holds_one_file_not_the_sheet(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views are loaded one after the other: never more than a row of them is alive."""
    import gc

    most = 0

    def counting(*args: Any, **options: Any) -> ImageFrame:
        nonlocal most
        most = max(most, sum(type(o) is ImageFrame for o in gc.get_objects()))
        return frame_of(*args, **options)

    monkeypatch.setattr(sheet, "frame_of", counting)
    contact_sheet(data, tmp_path / "s.png", overlay="none", columns=2, width=96)
    assert most <= 4


def test_panels_are_words() -> None:
    assert panels("boxes + ids, depth") == (("boxes", "ids"), ("depth",))


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
    told = look()(photos.path, "--out", tmp_path / "s.html", *words)
    assert says in str(told.exception)
    assert not list(tmp_path.iterdir())


def test_the_command_chooses_and_sorts(photos: Dataset, tmp_path: Path) -> None:
    told = look()(photos.path, "--out", tmp_path / "s.html", "--max-boxes", 2, "--sort", "boxes", "--json")
    assert json.loads(told.output)["scenes"] == 3
    text = (tmp_path / "s.html").read_text()
    assert re.findall(r'<h2 title="photo/(\d)"', text) == ["0", "1", "3"]
    assert "3 of 3 scenes that fit" in text


def test_a_damaged_table_is_named(photos: Dataset, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(photos.path, tmp_path / "data"))
    (file,) = (damaged / "sightings").glob("*.parquet")
    file.write_bytes(bytes(len(file.read_bytes())))  # of the right size, and nothing in it
    told = look()(damaged, "--out", tmp_path / "s.html", "--min-boxes", 1)
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
