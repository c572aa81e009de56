"""Name the columns of the float32 rows that every kernel reads, on the CPU and on the GPU.

Kernels say ``bodies[k, col.METAL]``; numba compiles a module's number as the constant it is. Where a row holds a
vector or a colour, its three numbers stand side by side.
"""

from __future__ import annotations

# bodies: a row an object.
X, Y, Z = 0, 1, 2  # middle of the base, metres
COS, SIN = 3, 4  # of the yaw
MIDDLE_Z = 5  # of the bounding sphere, whose x and y are the base's
RADIUS = 6
PRESENT = 7  # 1; 0: taken away
FIRST_NODE, END_NODE = 8, 9
PRISM = 10  # the whole solid is an upright box (1) or elliptic cylinder (2), less its cavity; 0: neither
PRISM_X, PRISM_Y, HEIGHT = 11, 12, 13  # half extents, and how high
HOLLOW, HOLLOW_X, HOLLOW_Y, DEPTH = 14, 15, 16, 17  # the cavity of a prism, the same way
SHEET = 18  # 1: an open surface, seen from both sides; 0: closed
LOOKS = 19  # then a look for each painted part: LOOK columns, the first of which is LOOKS + LOOK * slot
LOOK, SLOT_BITS = 8, 3
SLOTS = 1 << SLOT_BITS  # painted parts of a solid at most
BODY_COLUMNS = LOOKS + LOOK * SLOTS

# a look: columns counted from its first one.
RED, GREEN, BLUE = 0, 1, 2  # linear
METAL = 3
LOBE = 4  # width of the lobe: roughness squared
COAT = 5  # reflectance
GLASS = 7  # above 0: of what is behind it is seen so much, times the colour
TEXTURE = 6  # 1 + the row of `texels` where the texture begins; 0: none

# env, row 0: where its other rows are, and what the lamps light.
TABLE_RED, TABLE_GREEN, TABLE_BLUE = 0, 1, 2  # albedo of the table
SKY_RED, SKY_GREEN, SKY_BLUE = 3, 4, 5  # radiance of the sky, as level ground under all of it has it on average
BARE_RED, BARE_GREEN, BARE_BLUE = 6, 7, 8  # radiance of a white table in the middle with nothing on it
MAP_HALF = 9  # half side of the lit map, metres
LAMPS_END = 10  # the row after the last lamp's
REGIONS_END = 11  # the row after the last region's of the ground; the first one's is LAMPS_END
TABLE_CLASS = 12  # number of the table's class in stuff maps
WALLS_END = 13  # the row after the last wall's; the first one's is REGIONS_END
SKY_KIND = 14  # 0: the same everywhere; 1: from the horizon to the zenith; 2: a map of all directions
HORIZON_RED, HORIZON_GREEN, HORIZON_BLUE = 15, 16, 17
ZENITH_RED, ZENITH_GREEN, ZENITH_BLUE = 18, 19, 20

# env, rows 1 to LAMPS_END: a row a lamp.
LAMP_X, LAMP_Y, LAMP_Z = 0, 1, 2  # middle
U_X, U_Y, U_Z = 3, 4, 5  # half a side
V_X, V_Y, V_Z = 6, 7, 8  # half the other
FACING_X, FACING_Y, FACING_Z = 9, 10, 11  # normal
LAMP_RED, LAMP_GREEN, LAMP_BLUE = 12, 13, 14  # radiance
AREA = 15
LAMP_RADIUS = 16

# env, rows LAMPS_END to REGIONS_END: a row a region of the ground, later ones over earlier ones.
REGION_X, REGION_Y, REGION_COS, REGION_SIN = 0, 1, 2, 3  # its axes
LOW, HIGH, SIDE = 4, 5, 6  # LOW ≤ x ≤ HIGH and |y| ≤ SIDE in its axes
DISC = 7  # radius, where it is a disc; else 0
CLASS = 8  # number in stuff maps
PATTERN_KIND, PATTERN_SEED, PATTERN_SCALE, PATTERN_JOINT, PATTERN_CONTRAST = 9, 10, 11, 12, 13
FIRST_RED, FIRST_GREEN, FIRST_BLUE = 14, 15, 16
SECOND_RED, SECOND_GREEN, SECOND_BLUE = 17, 18, 19
MEAN_RED, MEAN_GREEN, MEAN_BLUE = 20, 21, 22

# env, rows REGIONS_END to WALLS_END: a row a wall; part i + 1 of a picture is wall i. Class and pattern as above.
WALL_X, WALL_Y = 0, 1  # unit vector from the origin towards it
WALL_AWAY, WALL_HEIGHT = 2, 3

# env, rows from WALLS_END on, where the sky is a map: three rows, red, green and blue, for each of its 16 rows.
MAP_ROWS, MAP_COLUMNS = 16, 32
ENV_COLUMNS = 32

# cam: 1/fx, 1/fy, cx, cy, the rows of R, and where it stands.
EYE_X, EYE_Y, EYE_Z = 13, 14, 15

# nodes: middle of the box and half its sides, then
SKIP = 6  # node to go on with where a ray misses the box
LEAF = 7  # eight times the first triangle, plus how many there are (0: inner node)

# tris: a corner, the edges to the other two, a unit normal for each corner, then
OPEN = 18  # 1 where the whole solid lies behind the face, so that no ray leaving it meets the solid again
SLOT = 19  # of the painted part that the face belongs to
TRI_COLUMNS = 20

# numbers: the integers of the settings.
SHADOW_FIRST, SHADOW_MOST, TABLE_FIRST, TABLE_MOST = 0, 1, 2, 3
MIRROR_RAYS, MIRROR_DEPTH, GLINT_RAYS, LATTICE, GLINT_SIDE = 4, 5, 6, 7, 8
OBJECTS_FIRST, OBJECTS_MOST = 9, 10
