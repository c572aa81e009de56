"""A CAD library of our own: twelve rigid categories of PASCAL3D+, four sub-types each, drawn with numpy alone.

`solid("cad/car/sedan#17")` is sedan number 17: the number seeds its proportions and the looks of its slots, and the
same name gives the same mesh. A category is a module of this folder; each of its sub-types is a function of a
random generator that puts closed `parts` together and returns a `Draft`:

    def brick(rng):
        length = rng.uniform(2.0, 3.0)                       # in any unit, vary what varies in real ones
        body = box("paint", (1.0, length, 0.6), (0, 0, 0.3), edge=0.05)
        lamps = both(box("light", (0.2, 0.04, 0.1), (0.3, -length / 2, 0.4)))
        return Draft([body, *lamps], {"head": (0.0, -length / 2, 0.3)})

and is listed in `SUBTYPES`. `parts.py` has the toolbox: `loft` (through rings), `slab` (a pane over a `patch`
or any grid), `box`, `cushion`, `post` (level rectangles along a path), `extrude`, `lathe`, `cylinder`, `ring`,
`ellipsoid`, `pod`, `foil`, `tube`, `wheel`, `wire_wheel`; `both` mirrors, and `Part.bent` deforms. `model.LOOKS`
has the slots: `paint` takes the object's colour and material, the others keep their own. Every listed sub-type must
pass tests/worlds/test_cad_models.py:

- every part closed (each edge in two faces, once each way), facing out, with a positive volume;
- 1,500 to 8,000 triangles (bottles and tables may have fewer), at most eight slots;
- landmarks by PASCAL3D+'s names and no others, on the surface; left is −x, as a viewer of the front has it;
- declared symmetry and mirror image = those measured on the mesh;
- variants differ, and the same name gives the same arrays.
"""

from __future__ import annotations

from typing import Final

SUBTYPES: Final[dict[str, tuple[str, ...]]] = {
    "aeroplane": ("airliner", "fighter", "propeller", "biplane"),
    "bicycle": ("city", "road", "mountain", "child"),
    "boat": ("motor", "sailing", "rowing", "ship"),
    "bottle": ("wine", "beer", "water", "flask"),
    "bus": ("city", "coach", "double_decker", "mini"),
    "car": ("suv", "sedan", "hatchback", "pickup"),
    "chair": ("dining", "arm", "office", "bar"),
    "diningtable": ("rectangular", "square", "round", "trestle"),
    "motorbike": ("sport", "cruiser", "scooter", "off_road"),
    "sofa": ("two_seat", "three_seat", "corner", "club"),
    "train": ("high_speed", "commuter", "diesel", "steam"),
    "tvmonitor": ("flat", "crt", "monitor", "all_in_one"),
}
"""Category → its sub-types, each a function in the module of that name."""

PREFIX: Final = "cad/"
"""What the names of all models begin with."""

CAD: Final[tuple[str, ...]] = tuple(f"{PREFIX}{kind}/{one}" for kind, many in SUBTYPES.items() for one in many)
"""Names of all sub-types; ``#`` and a number choose a variant."""
