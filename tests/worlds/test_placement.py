"""Placement: random scenes of every preset are sound by an oracle that knows nothing of how they were made."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from reference import placement_oracle as oracle
from sightline.errors import ConfigError
from sightline.geometry.cameras import project
from sightline.worlds import Layout, arrange, load_world, presets, solid
from sightline.worlds.bodies import perches, turns_within
from sightline.worlds.spec import World

PRESETS = tuple(n for n in presets() if not n.startswith("cad/") or n == "cad/train")  # the other splits take long

SCENES = 10


@pytest.fixture(scope="module")
def scenes() -> dict[str, list[Layout]]:
    worlds = {name: load_world(name) for name in PRESETS}
    return {name: [arrange(world, 5, i) for i in range(SCENES)] for name, world in worlds.items()}


@pytest.mark.parametrize("name", PRESETS)
def test_nothing_overlaps_floats_or_tips(name: str, scenes: dict[str, list[Layout]]) -> None:
    world = load_world(name)
    kinds = {"": world} | {kind.name: world.of_category(kind) for kind in world.categories}
    for layout in scenes[name]:
        raised = kinds[layout.category].raised
        lowered = [replace(o, position=(*o.position[:2], o.position[2] - raised)) for o in layout.objects]
        faults = oracle.faults(replace(layout, objects=tuple(lowered)))
        # what stands on nothing but an unseen stand, an aeroplane in flight say, is held by it
        assert [fault for fault in faults if not (raised and fault.endswith("tips over"))] == [], layout


@pytest.mark.parametrize("name", PRESETS)
def test_objects_keep_the_worlds_rules(name: str, scenes: dict[str, list[Layout]]) -> None:
    world = load_world(name)
    kinds = {"": world} | {kind.name: world.of_category(kind) for kind in world.categories}
    for layout in scenes[name]:
        objects = layout.objects
        low, high = kinds[layout.category].objects
        assert low <= len(objects) <= high
        if world.distinct:
            assert len({(o.shape, o.color, o.material) for o in objects}) == len(objects)
        assert {o.shape for o in objects} <= set(world.solids())
        parents = [o.parent for o in objects if o.parent >= 0]
        assert len(set(parents)) == len(parents)  # one child a parent
        assert all((o.parent < 0) == (o.how == "independent") for o in objects)


@pytest.mark.parametrize("name", [name for name in PRESETS if load_world(name).in_view == "whole"])
def test_the_original_camera_has_every_object_whole(name: str, scenes: dict[str, list[Layout]]) -> None:
    for layout in scenes[name]:
        shot = layout.shots[0]
        for placed in layout.objects:
            vertices = solid(placed.shape).vertices @ placed.pose()[:3, :3].T + placed.position
            pixels = project(_matrix(shot.camera.k, 3), _matrix(shot.camera.world_to_camera, 4), vertices)[:, :2]
            assert pixels.min() >= -1e-6
            assert (pixels <= (480 + 1e-3, 320 + 1e-3)).all()


def _matrix(values: tuple[float, ...], columns: int) -> list[tuple[float, ...]]:
    return [values[i : i + columns] for i in range(0, len(values), columns)]


def test_all_three_ways_occur_and_poses_differ() -> None:
    world = load_world("geospa/train")
    objects = [o for i in range(150) for o in arrange(world, 1, i).objects]
    ways = [o.how for o in objects]
    assert all(ways.count(how) > 20 for how in ("independent", "contained", "supported"))
    turns = [o.yaw % (math.pi / 2) for o in objects]
    assert min(turns.count(t) for t in turns) == 1


def test_a_contained_object_is_not_always_in_the_middle() -> None:
    world = replace(load_world("geospa/train"), shapes=(("rectangle_cont", 1.0), ("cube", 1.0)))
    offsets = []
    for i in range(60):
        objects = arrange(world, 2, i).objects
        for o in objects:
            if o.how == "contained":
                parent = objects[o.parent].position
                offsets.append(math.dist(o.position[:2], parent[:2]))
    assert len(offsets) > 10
    assert max(offsets) > 0.3


CARRIES = [
    # supporter, item, whether its top really carries it
    ("cube:medium", "cube:small", True),  # on a flat top
    ("cube_container:medium", "cube:small", False),  # would fall in
    ("cube_cylinder:medium", "cube:small", False),  # would fall in, also from the wider corners
    ("cylinder_rect_cont:medium", "cube:small", True),  # wide enough a rim
    ("cylinder_rect_cont:medium", "thin_rectangle:medium", True),  # a bar across the hole
    ("cube:small", "cube:medium", False),  # larger than what it stands on
    ("plate:medium", "mug:small", True),  # kitchen
    ("bottle:medium", "can:small", False),  # no top
    ("glass:medium", "can:small", False),  # would fall in
]


@pytest.mark.parametrize(("supporter", "item", "carried"), CARRIES)
def test_only_a_real_rest_counts_as_support(supporter: str, item: str, carried: bool) -> None:
    assert bool(len(perches(supporter, item, 0.2))) == carried


HOLDS = [
    # container, item, clearance, whether it goes in
    ("cube_container:medium", "cube:medium", 0.0, True),  # wall to wall
    ("cube_container:medium", "cube:medium", 0.005, False),  # no clearance left
    ("cube_container:medium", "cube:small", 0.005, True),
    ("cube:medium", "cube:small", 0.0, False),  # massive
    ("rectangle_cont:medium", "thin_rectangle:medium", 0.005, True),
    ("cube_container:small", "thin_rectangle:medium", 0.0, False),  # too large
]


@pytest.mark.parametrize(("container", "item", "clearance", "held"), HOLDS)
def test_only_what_clears_the_walls_is_contained(container: str, item: str, clearance: float, held: bool) -> None:
    assert bool(len(turns_within(container, item, clearance))) == held


def crowded(**changes: object) -> World:
    return replace(load_world("geospa/train"), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("world", "words"),
    [
        # no room
        (crowded(area=((-0.5, 0.5), (-0.5, 0.5)), children=0), r"collide \(gap 0.05 m, area 1 × 1 m\)"),
        # out of sight
        (crowded(area=((40.0, 41.0), (0.0, 1.0))), r"leave a camera's picture \(in_view: whole\)"),
        # both, the worse one first
        (crowded(gap=9.0, area=((-1, 60), (-1, 1)), children=0), r"leave .*\), [\d,]+ collide"),
        # too far apart
        (crowded(gap=9.0, area=((-1, 1), (-1, 1)), children=0), r"collide \(gap 9 m, area 2 × 2 m\)"),
    ],
)
def test_an_impossible_world_says_what_failed_most(world: World, words: str) -> None:
    few = replace(world, attempts=3, tries=40)
    says = r"scene 3 of seed 0: world 'geospa/train' .* 3 attempts; .* no free place for \w+:\w+ .*40 tries"
    with pytest.raises(ConfigError, match=rf"{says}.*poses [\d,]+ {words}"):
        arrange(few, 0, 3)


def test_a_world_whose_combinations_are_used_up() -> None:
    rare = (("cube", 1.0), ("rectangle", 1e-9))
    world = crowded(shapes=rare, sizes=("small",), colors=("red",), materials=("metal",), objects=(2, 2))
    with pytest.raises(ConfigError, match=r"scene 0 of seed 0: .* after 1 objects, 1,000 draws gave no distinct"):
        arrange(world, 0, 0)


@pytest.mark.long
def test_depth_and_children_are_limits() -> None:
    flat = [arrange(crowded(depth=0), 0, i) for i in range(30)]
    assert all(o.how == "independent" for layout in flat for o in layout.objects)
    low = [arrange(crowded(depth=1), 0, i) for i in range(60)]
    depths = [len(oracle.ancestors(layout, i)) for layout in low for i in range(len(layout.objects))]
    assert max(depths) == 1
    families = [arrange(crowded(children=3, depth=1), 0, i) for i in range(40)]
    counts = [[o.parent for o in layout.objects if o.parent >= 0] for layout in families]
    assert max(parents.count(p) for parents in counts for p in parents) >= 2
    assert all(oracle.faults(layout) == [] for layout in families)


def test_the_oracle_sees_faults() -> None:
    """An oracle that finds nothing anywhere would prove nothing."""
    layout = next(
        found
        for found in (arrange(load_world("geospa/train"), 0, i) for i in range(50))
        if any(o.how == "supported" for o in found.objects)
    )
    i = next(i for i, o in enumerate(layout.objects) if o.how == "supported")
    child, parent = layout.objects[i], layout.objects[layout.objects[i].parent]
    x, y, z = child.position

    def with_child(**changes: object) -> Layout:
        moved = replace(child, **changes)  # type: ignore[arg-type]
        return replace(layout, objects=(*layout.objects[:i], moved, *layout.objects[i + 1 :]))

    assert "floats" in " ".join(oracle.faults(with_child(position=(x, y, z + 0.01))))
    assert "interpenetrate" in " ".join(oracle.faults(with_child(position=(*parent.position[:2], z - 0.01))))
    far = parent.position[0] + solid(parent.shape).outline.half[0] + solid(parent.shape).outline.half[1]
    assert "tips" in " ".join(oracle.faults(with_child(position=(far, parent.position[1], z))))


def test_mujoco_leaves_scenes_as_they_are() -> None:
    pytest.importorskip("mujoco", reason="the physics check needs mujoco")
    from reference import physics

    for name, index in (("geospa/train", 0), ("geospa/train", 4)):
        layout = arrange(load_world(name), 0, index)
        for placed, moved in zip(layout.objects, physics.moved(layout, 0.5), strict=True):
            assert moved.metres < 0.01, placed
            assert moved.degrees < 1.0, placed
