"""Pictures by Blender's path tracer: the same scenes, cameras and ids as the fast back end, photoreal and slow.

`install` makes Blender's own environment once; `BlenderRenderer` renders layouts in it.
"""

from sightline.render.blender.environment import Status, install, status
from sightline.render.blender.process import RenderError
from sightline.render.blender.renderer import BlenderRenderer, Passes

__all__ = ["BlenderRenderer", "Passes", "RenderError", "Status", "install", "status"]
