"""Contact sheets: what is on them, told by their pixels and by their page."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from look_runs import look
from PIL import Image

from sightline.errors import ConfigError, DataError
from sightline.geometry import masks
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.show import sheet, sheet_page
from sightline.show.frame import ARROWS, ImageFrame, frame_of
from sightline.show.frame import PALETTE as COLOURS
from sightline.show.raster import depth_picture, ramp
from sightline.show.sheet import contact_sheet, panel, panels
from sightline.store import Dataset, write_scenes

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


def with_stuff() -> Scene:
    """The scene with sky over road, and no objects in either."""
    made = scene(0)
    ground = np.where(np.arange(SIZE[1])[:, None] < 80, 1, 3).astype(np.uint8) * np.ones(SIZE, np.uint8).T
    for seen in made.seen_in("original"):
        ground[masks.decode(seen.visible_mask or b"", SIZE[1], SIZE[0])] = 0
    view = replace(made.views[0], stuff_classes=("sky", "grass", "road"), load_stuff=lambda: ground)
    return replace(made, views=(view,), sightings=made.seen_in("original"))


def test_stuff_is_washed_in_the_colours_of_its_classes_and_named() -> None:
    made = with_stuff()
    shown = frame_of(made, made.views[0], stuff=True)
    assert [region.category for region in shown.stuff] == ["sky", "road"]  # grass is not to be seen
    sky, road = (np.array(tuple(bytes.fromhex(region.colour[1:]))) for region in shown.stuff)
    picture = np.asarray(panel(shown, ["stuff"], SIZE[0])).astype(int)
    assert np.abs(picture[70, 10] - (0.4 * GREY + 0.6 * sky)).max() <= 2
    assert np.abs(picture[140, 200] - (0.4 * GREY + 0.6 * road)).max() <= 2
    assert (picture[80, 130] == GREY).all()  # an object
    chips = picture[6:22, :110]
    for colour in (sky, road):  # the legend is in full colour
        assert (np.abs(chips - colour).max(axis=2) <= 2).sum() > 100
    assert not frame_of(made, made.views[0]).has("stuff")  # not traced unless asked for
    narrow = np.asarray(panel(shown, ["stuff"], 60)).astype(int)
    assert (np.abs(narrow[24:] - road).max(axis=2) <= 2).sum() > 50  # without room a name goes to the next line


def test_stuff_has_a_panel_and_a_layer_of_its_own(tmp_path: Path) -> None:
    data = write_scenes([with_stuff()], tmp_path / "d")
    assert ("stuff",) in contact_sheet(data, tmp_path / "s.png", width=96).panels
    text = contact_sheet(data, tmp_path / "s.html", overlay="stuff").files[0].read_text()
    assert 'id="on-stuff" checked' in text
    assert re.search(r'<g class="stuff"><path d="[^"]+" fill="#[0-9a-f]{6}"', text)
    assert "#on-stuff:checked) g.stuff" in text
    assert "<title>road</title>" in text


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


def test_the_command_tells_what_it_wrote(data: Dataset, tmp_path: Path) -> None:
    words = [data.path, "--out", tmp_path / "s.png", "--overlay", "none,boxes+ids", "--ids", "made/001, made/003"]
    told = look(*words, "--view", "top", "--json")
    assert json.loads(told.output) == {
        "written": [str(tmp_path / "s.png")],
        "scenes": 2,
        "views": 2,
        "overlays": ["none", "boxes+ids"],
        "notes": [],
    }
    plain = look(data.path, "--out", tmp_path / "s.html", "--scenes", 1)
    assert plain.output.startswith("1 scene, 2 views: wrote ")


@pytest.mark.long
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
