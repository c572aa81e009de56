"""A world: the recipe that scenes are invented by, as plain values. docs/howto/worlds.md tells every field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal

from sightline.hints import listed
from sightline.typed import Above, As, Least, OneOf, Unfit
from sightline.worlds.cad import CAD
from sightline.worlds.cameras import CameraSpec, Drawn, DrawnCameraSpec, InView, SceneShare, distribution
from sightline.worlds.layout import MOST_OBJECTS, Point
from sightline.worlds.looks import COLORS, MATERIALS, Identity, Material, linear
from sightline.worlds.sensor import SensorSpec
from sightline.worlds.shapes import SIZES
from sightline.worlds.shapes.meshes import load_mesh
from sightline.worlds.solids import Cavity, Outline, Slot, Solid
from sightline.worlds.surroundings_spec import NOTHING_AROUND, SurroundingsSpec


def filled(text: str) -> str:
    """A text that says something."""
    if not text:
        raise Unfit("not a text", "a text")
    return text


def _rising(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] >= ends[1]:
        raise Unfit("range is empty", "[low, high] with low < high")
    return ends


def _counts(counts: tuple[int, int]) -> tuple[int, int]:
    if counts[0] > counts[1]:
        raise Unfit("fewest is more than most", "[fewest, most]")
    if counts[1] > MOST_OBJECTS:
        raise Unfit("too many objects for one picture", f"at most {MOST_OBJECTS}")
    return counts


def _rgb(light: Any) -> Point:
    """One number stands for grey."""
    return light if isinstance(light, tuple) else (light, light, light)


def some_of(what: str, names: Iterable[str]) -> Any:
    """The type of a list of known names, none of them twice, at least one."""

    def once(chosen: tuple[str, ...]) -> tuple[str, ...]:
        if not chosen or len(set(chosen)) < len(chosen):
            raise Unfit(f"every {what} once, and at least one", f"a list out of {listed(names)}")
        return chosen

    return Annotated[tuple[Annotated[str, OneOf(names, what)], ...], once]


Size = Annotated[float, Least(0.0)]
Length = Annotated[float, Above(0.0)]
Number = Annotated[int, Least(0)]
Count = Annotated[int, Least(1)]
Range = Annotated[tuple[float, float], _rising]
Rgb = Annotated[Point, As(Size | tuple[Size, Size, Size]), _rgb]
"""Linear RGB, none below 0."""
GroupSize = Annotated[tuple[int, int], As(tuple[Number, Number]), _counts]
Area = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class LightSpec:
    """A light before jitter; see `layout.Light`."""

    name: str
    position: Point
    size: Length
    power: Size
    target: Point = (0.0, 0.0, 0.0)
    color: Rgb = (1.0, 1.0, 1.0)
    jitter: Size = 0.0


def _known_color(color: str | Point) -> Point:
    """A colour's name, or 8-bit sRGB, as linear RGB."""
    if isinstance(color, tuple):
        if max(color) > 255.0:
            raise Unfit("not a colour", "three numbers 0 … 255, or a name")
        return linear(color)
    return linear(COLORS[color])


def _at_most(most: float) -> Callable[[float], float]:
    def check(number: float) -> float:
        if number > most:
            raise Unfit("number out of range", f"at most {most:g}")
        return number

    return check


@dataclass(frozen=True, slots=True)
class MaterialSpec:
    """A material by its numbers; see `looks.Material`."""

    roughness: Annotated[float, Least(0.05), _at_most(1.0)]
    metallic: Annotated[float, Least(0.0), _at_most(1.0)] = 0.0
    specular: Annotated[float, Least(0.0), _at_most(1.0)] = 0.04
    transmission: Annotated[float, Least(0.0), _at_most(0.95)] = 0.0


def _known_material(material: str | MaterialSpec) -> Material:
    """A material by its name or its numbers."""
    if isinstance(material, MaterialSpec):
        return Material(material.metallic, material.roughness, material.specular, material.transmission)
    return MATERIALS[material]


@dataclass(frozen=True, slots=True)
class SlotSpec:
    """The look of one part of a mesh; what is not said is the object's own."""

    color: (
        Annotated[Point, As(Annotated[str, OneOf(tuple(COLORS), "colour")] | tuple[Size, Size, Size]), _known_color]
        | None
    ) = None
    material: (
        Annotated[Material, As(Annotated[str, OneOf(tuple(MATERIALS), "material")] | MaterialSpec), _known_material]
        | None
    ) = None

    def slot(self, name: str) -> Slot:
        """As a slot of a solid."""
        return Slot(name, self.color, self.material)


@dataclass(frozen=True, slots=True)
class CavitySpec:
    """The hollow of a mesh, open at the top: a box or an ellipse of `size` (x, y) about its middle; metres."""

    kind: Annotated[Literal["box", "ellipse"], OneOf(("box", "ellipse"), "kind")]
    size: tuple[Length, Length]
    depth: Length

    def cavity(self) -> Cavity:
        """As the cavity of a solid."""
        return Cavity(Outline(self.kind, (self.size[0] / 2.0, self.size[1] / 2.0)), self.depth)


@dataclass(frozen=True, slots=True)
class MeshSpec:
    """A mesh of the user's: see `shapes.meshes.load_mesh`.

    Attributes:
        scale: Metres to the file's unit; or `height`, metres.
        up: The file's axis that points up, y or z; `front` the axis its front then points along.
        rotate: Degrees about x, y and z, or a 3 × 3 matrix.
        slots: Looks by the name of a part.
        landmarks: Named points in the file's axes and unit.
    """

    file: Annotated[str, filled]
    scale: Length | None = None
    height: Length | None = None
    up: Annotated[Literal["y", "z"], OneOf(("y", "z"), "axis")] | None = None
    front: Annotated[Literal["-y", "x", "y", "-x"], OneOf(("-y", "x", "y", "-x"), "axis")] = "-y"
    rotate: Any = (0.0, 0.0, 0.0)
    cavity: CavitySpec | None = None
    slots: Mapping[str, SlotSpec] = field(default_factory=dict)
    landmarks: Mapping[str, Point] = field(default_factory=dict)

    def load(self, name: str) -> Solid:
        """The solid, in medium size."""
        return load_mesh(
            self.file,
            name=name,
            height=self.height,
            scale=1.0 if self.scale is None else self.scale,
            up=self.up,
            front=self.front,
            rotate=self.rotate,
            cavity=None if self.cavity is None else self.cavity.cavity(),
            slots={part: look.slot(part) for part, look in self.slots.items()},
            landmarks=self.landmarks,
        )


@dataclass(frozen=True, slots=True)
class Odds:
    """Weights of the three ways to place an object, for those that are possible."""

    independent: Size = 0.0
    contained: Size = 0.0
    supported: Size = 0.0


Sizes = Annotated[tuple[str, ...], As(some_of("size", SIZES))]
_ANY_TURN: Final = distribution((0.0, 360.0))
Colors = Annotated[tuple[str, ...], As(some_of("colour", COLORS))]
Materials = Annotated[tuple[str, ...], As(some_of("material", MATERIALS))]


@dataclass(frozen=True, slots=True)
class ShapeLooks:
    """Sizes, colours and materials of one shape; none where they are the world's."""

    sizes: Sizes = ()
    colors: Colors = ()
    materials: Materials = ()


@dataclass(frozen=True, slots=True)
class ZoneSpec:
    """A part of the ground that shapes stand on: x and y ranges in metres, and how they are turned, degrees."""

    name: str
    shapes: tuple[str, ...]
    x: Range
    y: Range
    turn: Drawn = _ANY_TURN


@dataclass(frozen=True, slots=True)
class ShapeGroup:
    """Objects of a scene that are drawn apart from its others: weighted shapes, fewest and most objects."""

    name: str
    shapes: tuple[tuple[str, float], ...]
    objects: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SceneCategory:
    """A kind of scene: its shapes with their weights, and how likely it is beside the others.

    Attributes:
        groups: Its groups of objects; none where all are drawn from `shapes`.
        surroundings: Its own ground, below the world's walls and sky; None where it is the world's.
        cameras: Its own cameras, all of them, of the same names; none where they are the world's.
        raised: Height that its objects stand at, metres; None where it is the world's.
    """

    name: str
    shapes: tuple[tuple[str, float], ...]
    weight: Length = 1.0
    groups: tuple[ShapeGroup, ...] = ()
    surroundings: SurroundingsSpec | None = None
    cameras: tuple[CameraSpec | DrawnCameraSpec, ...] = ()
    raised: float | None = None


@dataclass(frozen=True, slots=True)
class Cooccurrence:
    """Which shapes like to appear together: factors on the odds that both of a pair are in a scene; see `company`.

    Attributes:
        factors: (shape, other shape) with the factor, each pair once; 1 for pairs not listed.
        power: 1 takes the factors as they are, 0 switches them off, −1 turns them round.
    """

    factors: tuple[tuple[tuple[str, str], float], ...]
    power: float


def _can_begin(odds: Odds) -> Odds:
    if odds.independent <= 0.0:
        raise Unfit("the first object of a scene can only stand on the table", "independent > 0")
    return odds


@dataclass(frozen=True, slots=True)
class _Sides:
    x: Range
    y: Range

    def pair(self) -> Area:
        return self.x, self.y


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A recipe for scenes.

    Attributes:
        name: ``geospa/train``; name, seed and index make a scene again.
        split: Split its scenes belong to.
        about: One line.
        scenes: How many scenes make the set; None where nobody said.
        shapes: Shapes with their weights.
        variants: First variant of a CAD sub-type that is drawn, and the first that is not; see `worlds.cad`.
        attributes: Shapes that have sizes, colours or materials of their own.
        categories: Kinds of scenes, each with its own weights of shapes; a scene is of one of them.
        groups: Objects drawn apart, so many of each group; none where all are drawn from `shapes`.
        objects: Fewest and most objects in a scene; of groups, all together.
        kinds: Fewest and most different shapes in a scene; None leaves that to chance.
        distinct: No two objects of a scene agree in shape, size, colour and material.
        placement: How likely an object is put on the table, into another or onto another.
        children: How many objects one object may hold or carry.
        depth: How many objects may stand in or on each other, the lowest not counted.
        area: x and y ranges on the table for the middle of an object, metres.
        zones: Parts of the ground; the shapes of a zone stand nowhere else.
        hidden: Range, drawn scene by scene, for the share of the first object that the original camera misses, 0 to
            1; see `occlusion.hidden_share`. None: whatever comes.
        in_view: How much of an object the original camera, and each that is drawn, must have in its picture.
        raised: Height above the table that objects stand at, on stands nobody sees, metres.
        gap: Free space between two objects at the same height, metres.
        clearance: Free space between a contained object and the walls, metres.
        stability: How far inside the hull of the contact a centre of mass stays, in half widths of the base.
        tries: Poses tried for one object on the table.
        attempts: Times a scene is begun anew before it counts as impossible.
        stream: Worlds with different streams share no scene, no camera and no light, even with the same seed: a
            text, by default the world's name, or one of GeoSpa's numbers.
        table: Albedo of the ground where no region lies; `ambient` is the radiance of a uniform sky.
        sensor: What stored pictures are taken by; None: an ideal camera.
        surroundings: Regions of the ground, walls and sky.
        jitter: Factor on the jitter of all cameras and lights.
        resolution: Width and height in pixels.
        depth_tolerance: Two objects whose depths differ by at most this share of the smaller one are equally far.
        containment: Whether things are put into others; if not, the labels know no containing either.
        settings: All of the above as plain values; `world_from` makes the world from it again.
    """

    name: str
    split: str
    about: Annotated[str, filled] = ""
    scenes: Count | None = None
    shapes: tuple[tuple[str, float], ...]
    sizes: Sizes
    colors: Colors
    materials: Materials
    variants: Annotated[tuple[int, int], As(tuple[Number, Number]), _rising] = (0, 1)
    attributes: tuple[tuple[str, ShapeLooks], ...] = ()
    categories: tuple[SceneCategory, ...] = ()
    groups: tuple[ShapeGroup, ...] = ()
    objects: Annotated[tuple[int, int], As(tuple[Count, Count]), _counts]
    kinds: Annotated[tuple[int, int], As(tuple[Count, Count]), _counts] | None = None
    distinct: bool
    placement: Annotated[Odds, _can_begin]
    children: Number
    depth: Number
    area: Annotated[Area, As(_Sides), _Sides.pair]
    zones: tuple[ZoneSpec, ...] = ()
    hidden: SceneShare | None = None
    in_view: InView
    raised: Size = 0.0
    gap: Size
    clearance: Size
    stability: Size
    tries: Count
    attempts: Count
    stream: int | str
    table: Rgb
    ambient: Rgb
    resolution: tuple[Count, Count]
    jitter: Size
    cameras: tuple[CameraSpec | DrawnCameraSpec, ...]
    lights: tuple[LightSpec, ...]
    cooccurrence: Cooccurrence | None = None
    sensor: SensorSpec | None = None
    surroundings: SurroundingsSpec = NOTHING_AROUND
    depth_tolerance: Size
    containment: bool = True
    settings: Mapping[str, Any] = field(repr=False, compare=False)

    def __hash__(self) -> int:
        """Of what tells worlds apart most often: they are looked up with every scene, and are large."""
        return hash((self.name, self.stream, self.shapes))

    def solids(self) -> tuple[str, ...]:
        """Names of all solids a scene may hold, shapes first, then sizes.

        >>> from sightline.worlds import load_world
        >>> load_world("geospa/train").solids()[:3]
        ('cube:small', 'cube:medium', 'cube_container:small')
        """
        every = ((form, self.looks(shape)[0]) for shape, _ in self.shapes for form in self.forms(shape))
        return tuple(f"{form}:{size}" for form, sizes in every for size in sizes)

    def forms(self, shape: str) -> tuple[str, ...]:
        """What a shape's objects may be: the variants of a CAD sub-type, else the shape alone."""
        return tuple(f"{shape}#{i}" for i in range(*self.variants)) if shape in CAD else (shape,)

    def looks(self, shape: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Sizes, colours and materials that a shape may have."""
        own = dict(self.attributes).get(shape, ShapeLooks())
        return own.sizes or self.sizes, own.colors or self.colors, own.materials or self.materials

    def identities(self) -> tuple[Identity, ...]:
        """All combinations of solid, colour and material that a scene may hold, in the order of `solids`."""
        every = ((form, *self.looks(shape)) for shape, _ in self.shapes for form in self.forms(shape))
        return tuple((f"{s}:{z}", c, m) for s, sizes, cs, ms in every for z in sizes for c in cs for m in ms)

    def of_category(self, category: SceneCategory) -> World:
        """The world that all scenes of one category come from."""
        around = self.surroundings if category.surroundings is None else category.surroundings
        part = replace(
            self,
            shapes=category.shapes,
            categories=(),
            surroundings=around,
            cameras=category.cameras or self.cameras,
            raised=self.raised if category.raised is None else category.raised,
        )
        return part.with_groups(category.groups)

    def with_groups(self, groups: tuple[ShapeGroup, ...]) -> World:
        """The world whose scenes have those groups of objects; without any, itself."""
        if not groups:
            return self
        fewest, most = (sum(group.objects[end] for group in groups) for end in (0, 1))
        return replace(self, groups=groups, objects=(fewest, most))
