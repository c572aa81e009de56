"""The presets say what GeoSpa's splits are, and their scenes stay as they were published."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pytest

from sightline.worlds import Layout, arrange, load_world, presets, relations
from sightline.worlds.cad import CAD, SUBTYPES
from sightline.worlds.shapes import GEOSPA, INVENTED, KITCHEN

TRAIN = {
    "cube",
    "cube_container",
    "long_cylinder",
    "rectangle_cont",
    "rectangle_cylinder",
    "cylinder_rect_cont",
    "thin_rectangle",
}
SEEN, UNSEEN = {"brown", "purple", "cyan", "yellow"}, {"gray", "red", "blue", "green"}
OTHERS = set(GEOSPA) - TRAIN
MORE = {
    "orange",
    "pink",
    "magenta",
    "wine",
    "olive",
    "lime",
    "mint",
    "teal",
    "sky",
    "navy",
    "lavender",
    "tan",
    "white",
    "black",
}
NEW = {"satin", "pearl", "plastic"}
VESSELS = INVENTED.index("crucible")
ELDER = {
    "slab",
    "disc",
    "tri_prism",
    "column",
    "cone_stump",
    "dome",
    "barrel",
    "pawn",
    "urn",
    "low_drum",
    "low_pot",
}
ELDER |= {"tray", "block", "block_well", "hod", "planter", "pole", "pipe"}

GEOSPA_SPLITS = [
    # split, shapes, sizes, colours, materials, scenes
    ("train", TRAIN, {"small", "medium"}, SEEN, {"metal"}, 80_000),
    ("val_default", TRAIN, {"small", "medium"}, SEEN, {"metal"}, 10_000),
    ("val_color", TRAIN, {"small", "medium"}, UNSEEN, {"metal"}, 10_000),
    ("val_material", TRAIN, {"small", "medium"}, SEEN, {"rubber"}, 10_000),
    ("val_size", TRAIN, {"medium", "large"}, SEEN, {"metal"}, 10_000),
    ("val_shape", OTHERS, {"small", "medium"}, SEEN, {"metal"}, 10_000),
    ("val_op", OTHERS, {"medium", "large"}, UNSEEN, {"rubber"}, 10_000),
    ("val_kitchen", set(KITCHEN), {"medium"}, SEEN | UNSEEN, {"rubber", "metal"}, 10_000),
    ("val_kitchen_plain", set(KITCHEN), {"medium"}, SEEN | UNSEEN, {"rubber", "metal"}, 10_000),
    ("diverse", set(GEOSPA), {"small", "medium", "large"}, SEEN | UNSEEN, {"rubber", "metal"}, 80_000),
    ("invented", TRAIN | set(INVENTED[:42]), {"small", "medium", "largish"}, SEEN | MORE, {"metal"} | NEW, 80_000),
    (
        "alike",
        TRAIN | set(INVENTED[:VESSELS]) - {"kiln"},
        {"small", "medium", "largish"},
        SEEN | MORE,
        {"metal"} | NEW,
        80_000,
    ),
    (
        "vessels",
        TRAIN | set(INVENTED[VESSELS:]) | ELDER,
        {"small", "medium", "largish"},
        SEEN | MORE,
        {"metal"} | NEW,
        80_000,
    ),
]


@pytest.mark.parametrize(("split", "shapes", "sizes", "colors", "materials", "scenes"), GEOSPA_SPLITS)
def test_geospa(
    split: str, shapes: set[str], sizes: set[str], colors: set[str], materials: set[str], scenes: int
) -> None:
    world = load_world(f"geospa/{split}")
    assert {name for name, _ in world.shapes} == shapes
    assert (set(world.sizes), set(world.colors), set(world.materials)) == (sizes, colors, materials)
    assert (world.scenes, world.objects, world.resolution, world.split) == (scenes, (3, 6), (480, 320), split)
    assert world.distinct
    assert world.children == 1


def test_cameras_and_lights_are_geospas() -> None:
    world = load_world("geospa/train")
    cameras = {c.name: (c.position, c.focal_mm, c.target, c.jitter) for c in world.cameras}
    assert cameras.pop("original") == ((10.41, -9.79, 6.62), 58.5, (0.0, 0.0, 0.0), 0.5)
    assert cameras.pop("top") == ((0.0, 0.0, 13.0), 35.0, (0.0, 0.0, 0.0), 0.5)
    assert {position for position, *_ in cameras.values()} == set(
        itertools.product((7.0, -7.0), (7.0, -7.0), (10.0,))
    )
    assert {rest for _, *rest_ in cameras.values() for rest in [tuple(rest_)]} == {(35.0, (0.0, 0.0, 0.0), 0.5)}
    assert [c.name for c in world.cameras] == ["original", "side_1", "side_2", "side_3", "side_4", "top"]
    lights = {light.name: (light.position, light.jitter) for light in world.lights}
    assert lights == {
        "key": ((5.86, -3.88, 3.29), 1.0),
        "fill": ((-5.36, -4.44, 3.93), 1.0),
        "back": ((-1.57, 9.23, 6.31), 1.0),
        "top": ((0.0, 0.0, 16.0), 0.0),
    }


def test_the_first_split_answers_to_the_bare_name() -> None:
    assert load_world("context") == load_world("context/train")
    assert load_world("geospa") == load_world("geospa/train")


def test_cad_splits_hold_out_what_they_say() -> None:
    """Together train and subtypes have every sub-type once; val and backdrops have other variants than train."""
    train, val, subtypes, backdrops = (
        load_world(f"cad/{split}") for split in ("train", "val", "subtypes", "backdrops")
    )
    names = [[shape for shape, _ in world.shapes] for world in (train, val, subtypes, backdrops)]
    assert sorted(names[0] + names[2]) == sorted(CAD)
    assert {name.split("/")[1] for name in names[2]} == set(SUBTYPES)
    assert names[0] == names[1] == names[3]
    assert train.variants[1] <= val.variants[0]
    assert val.variants == backdrops.variants
    assert val.surroundings == train.surroundings != backdrops.surroundings


def test_no_two_splits_share_a_stream() -> None:
    """With the same seed they would share scenes, and a validation split its training scenes."""
    for family in ("geospa", "context", "cad"):
        streams = [load_world(name).stream for name in presets() if name.startswith(f"{family}/")]
        assert len(streams) > 2
        assert len(set(streams)) == len(streams)
    train, default = (arrange(load_world(f"geospa/{split}"), 0, 0) for split in ("train", "val_default"))
    assert train.objects != default.objects


def containing(name: str, scenes: int) -> tuple[int, int]:
    """Scenes in which a thing is, and could be, in another."""
    told = [{p for _, p, _ in relations(arrange(load_world(name), 0, index))} for index in range(scenes)]
    return sum("contains" in words for words in told), sum("can_contain" in words for words in told)


@pytest.mark.long
def test_one_kitchen_contains_and_the_other_does_not() -> None:
    held, could = containing("geospa/val_kitchen", 120)
    assert 3 <= held <= 20 <= could  # one scene in twelve, one in three
    assert containing("geospa/val_kitchen_plain", 120) == (0, 0)


def test_kitchens_agree_in_all_but_containment() -> None:
    kitchen, plain = (load_world(f"geospa/val_kitchen{which}") for which in ("", "_plain"))
    differing = {key for key, value in plain.settings.items() if kitchen.settings.get(key) != value}
    assert differing == {"stream", "containment", "split"}


MADE = {
    # the first scenes of seed 0 as the world was published, and their cameras and lights
    "cad/train": ([331555307, 2308655910, 618853531], 2767467866),
    "cad/val": ([3920372632, 2426405387, 1728182766], 4076390023),
    "cad/subtypes": ([785462369, 2063134473, 2580378865], 3389920613),
    "cad/backdrops": ([1229271999, 3224718082, 233479753], 359456271),
    "cad/hidden_0": ([570866273], 3323254683),
    "cad/hidden_20_40": ([3973101718], 3274325337),
    "cad/hidden_40_60": ([2339641913], 1610963685),
    "cad/hidden_60_80": ([746271428], 909929819),
    "cad/pascal": ([4233405461], 307823664),
    "context/train": ([1312211641, 1903675826, 3187665444], 2288150849),
    "context/unbiased": ([684504015, 1881499685, 3037840369], 3928535559),
    "context/reversed": ([3349152615, 2654343620, 1958399676], 2182338498),
    "context/single": ([1318121983, 2794373041, 3882231151], 1168444673),
    "context/street/train": ([3042561346], 1416178991),
    "context/street/full": ([667325468], 1131927713),
    "context/street/cooccur": ([1667944079], 2543260999),
    "context/street/single": ([2107112922], 1250090167),
    "context/street/with_car": ([283796533], 1926212278),
    "context/street/without_car": ([477576108], 2574062373),
    "context/street/reversed": ([906921351], 4005836928),
    "geospa/train": ([1156562982, 4272905047, 325152103], 3143304413),
    "geospa/val_default": ([703234011, 3119398613, 1159013502], 1979389335),
    "geospa/val_color": ([91789376, 614792544, 2251419269], 2879141900),
    "geospa/val_material": ([1862961788, 41750978, 1701423254], 3276542311),
    "geospa/val_size": ([2913728214, 603823045, 39983465], 2601527568),
    "geospa/val_shape": ([1247176687, 414774239, 2721020293], 2737204816),
    "geospa/val_op": ([2681263814, 3468294565, 1466315459], 1993553511),
    "geospa/val_kitchen": ([312482926, 2278690843, 3830166686], 3795483184),
    "geospa/val_kitchen_plain": ([3654392713, 2366560682, 2341291793], 1068563409),
    "geospa/diverse": ([844061417, 2442852937, 163766707], 3726696955),
    "geospa/invented": ([3848841670, 999939832, 2920096163], 3205334393),
    "geospa/alike": ([308085905, 1493282812, 171932206], 392333396),
    "geospa/vessels": ([1445049750, 1217000856, 795444041], 1533865489),
    "kitchen": ([3135967822, 3323967011, 2670285633], 867374350),
    "room": ([924765661, 11999751, 359293163], 539140064),
    "street": ([2586814975, 1675958353, 3543746596], 2410795493),
}


def digest(layout: Layout) -> int:
    """What stands where and what holds of it, to a tenth of a millimetre."""
    objects = [
        (o.shape, o.color, o.material, o.how, o.parent, *np.round(o.position, 4).tolist()) for o in layout.objects
    ]
    return zlib.crc32(repr((objects, relations(layout))).encode())


def surroundings(layout: Layout) -> int:
    """The cameras and lights around it, to a micrometre."""
    cameras = [
        (s.name, s.size, *np.round((*s.camera.k, *s.camera.world_to_camera), 6).tolist()) for s in layout.shots
    ]
    lights = [(light.name, *np.round(light.position, 6).tolist()) for light in layout.lights]
    return zlib.crc32(repr((cameras, lights, np.round((*layout.left, *layout.behind), 6).tolist())).encode())


@pytest.mark.parametrize("name", presets())
def test_scenes_stay_as_they_were_published(name: str) -> None:
    layouts = [arrange(load_world(name), 0, index) for index in range(len(MADE[name][0]))]
    around = zlib.crc32(repr([surroundings(layout) for layout in layouts]).encode())
    assert ([digest(layout) for layout in layouts], around) == MADE[name]


@pytest.mark.long
def test_no_two_worlds_share_cameras_and_lights() -> None:
    """Else pairs of worlds with the same seed are not independent: what one is lit by, so is the other."""
    layouts = [arrange(load_world(name), 3, 5) for name in presets()]
    assert len({(layout.shots, layout.lights) for layout in layouts}) == len(layouts)
