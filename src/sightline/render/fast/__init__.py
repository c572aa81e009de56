"""The fast back end: a raster for geometry and a small ray tracer for light, as numba kernels.

One set of device functions (`rays`, `lamplight`, `ambient`, `mirrors`, `pixels`) serves the CPU loops in `shade`
and the CUDA kernels in `cuda`.
"""

from sightline.render.fast.renderer import FastRenderer
from sightline.render.fast.settings import Settings

__all__ = ["FastRenderer", "Settings"]
