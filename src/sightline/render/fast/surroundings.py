"""What lies around the objects: the ground's colour and the sky's radiance. Device functions.

`env` is one array a scene: a header that says where the other rows are, then a row a lamp; see `columns`.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from sightline.render.fast import columns as col
from sightline.render.fast.jit import small


@small
def lamps_end(env):
    """The row after the last lamp's; the first lamp's is 1."""
    return int(env[0, col.LAMPS_END])


@small
def ground_colour(env, x, y):  # noqa: ARG001
    """Albedo of the ground at (x, y) metres: (r, g, b)."""
    return env[0, col.TABLE_RED], env[0, col.TABLE_GREEN], env[0, col.TABLE_BLUE]


@small
def sky_radiance(env, dx, dy, dz):  # noqa: ARG001
    """Radiance that comes from the sky against a direction: (r, g, b)."""
    return env[0, col.SKY_RED], env[0, col.SKY_GREEN], env[0, col.SKY_BLUE]
