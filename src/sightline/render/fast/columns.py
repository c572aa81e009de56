"""Name the columns of the float32 rows that every kernel reads, on the CPU and on the GPU.

Kernels say ``bodies[k, col.METAL]``; numba compiles a module's number as the constant it is. Where a row holds a
vector or a colour, its three numbers stand side by side.
"""

from __future__ import annotations

from typing import Final

# bodies: a row an object.
X: Final = 0  # middle of the base, metres
Y: Final = 1
Z: Final = 2
COS: Final = 3  # of the yaw
SIN: Final = 4
MIDDLE_Z: Final = 5  # of the bounding sphere, whose x and y are the base's
RADIUS: Final = 6
PRESENT: Final = 7  # 1; 0: taken away
FIRST_NODE: Final = 8
END_NODE: Final = 9
RED: Final = 10  # linear, as the next two
GREEN: Final = 11
BLUE: Final = 12
METAL: Final = 13
LOBE: Final = 14  # width of the lobe: roughness squared
COAT: Final = 15  # reflectance
PRISM: Final = 16  # the whole solid is an upright box (1) or elliptic cylinder (2), less its cavity; 0: neither
PRISM_X: Final = 17  # half extents
PRISM_Y: Final = 18
HEIGHT: Final = 19
HOLLOW: Final = 20  # the cavity of a prism, the same way
HOLLOW_X: Final = 21
HOLLOW_Y: Final = 22
DEPTH: Final = 23
BODY_COLUMNS: Final = 25

# lamps, row 0: what all of them light.
TABLE_RED: Final = 0  # albedo of the table
TABLE_GREEN: Final = 1
TABLE_BLUE: Final = 2
SKY_RED: Final = 3  # radiance of the sky
SKY_GREEN: Final = 4
SKY_BLUE: Final = 5
BARE_RED: Final = 6  # radiance of a white table in the middle with nothing on it
BARE_GREEN: Final = 7
BARE_BLUE: Final = 8
MAP_HALF: Final = 9  # half side of the lit map, metres

# lamps, every other row.
LAMP_X: Final = 0  # middle
LAMP_Y: Final = 1
LAMP_Z: Final = 2
U_X: Final = 3  # half a side
U_Y: Final = 4
U_Z: Final = 5
V_X: Final = 6  # half the other
V_Y: Final = 7
V_Z: Final = 8
FACING_X: Final = 9  # normal
FACING_Y: Final = 10
FACING_Z: Final = 11
LAMP_RED: Final = 12  # radiance
LAMP_GREEN: Final = 13
LAMP_BLUE: Final = 14
AREA: Final = 15
LAMP_RADIUS: Final = 16
LAMP_COLUMNS: Final = 18

# cam: 1/fx, 1/fy, cx, cy, the rows of R, and where it stands.
EYE_X: Final = 13
EYE_Y: Final = 14
EYE_Z: Final = 15

# nodes: low and high corner of the box, then
SKIP: Final = 6  # node to go on with where a ray misses the box
LEAF: Final = 7  # eight times the first triangle, plus how many there are (0: inner node)

# tris: a corner, the edges to the other two, a unit normal for each corner, then
OPEN: Final = 18  # 1 where the whole solid lies behind the face, so that no ray leaving it meets the solid again

# numbers: the integers of the settings.
SHADOW_FIRST: Final = 0
SHADOW_MOST: Final = 1
TABLE_FIRST: Final = 2
TABLE_MOST: Final = 3
MIRROR_RAYS: Final = 4
MIRROR_DEPTH: Final = 5
GLINT_RAYS: Final = 6
LATTICE: Final = 7
GLINT_POINTS: Final = 8
OBJECTS_FIRST: Final = 9
OBJECTS_MOST: Final = 10
