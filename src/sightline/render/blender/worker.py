"""Runs inside Blender's own environment: reads a job, renders its views with Cycles, writes arrays.

``python -I worker.py JOB`` with a folder holding ``job.json`` and ``meshes.npz``, as `jobs.write` makes it. Needs
bpy, numpy and the standard library; Sightline itself is not installed here. Each finished view is ``<n>.npz`` in
the folder, announced by one line ``view <n>`` on standard output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

bpy: Any = import_module("bpy") if __name__ == "__main__" else None  # Sightline's own process never loads it

VERSION = 2
"""Of the job's layout; both sides must agree."""

TABLE_METRES = 200.0
FAR_METRES = 2000.0
SENSOR_MM = 32.0
AROUND = "around"
MOST_CLEAR = 0.95
"""Transmission of glass at most, as in the fast back end."""

CENTRE_PX = 0.01
"""Width of the pixel filter when one sample must hit the pixel's centre."""

Job = dict[str, Any]
Floats = NDArray[np.float32]


def main(folder: Path) -> None:
    """Render every view of a job."""
    job: Job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    if job["version"] != VERSION:
        raise SystemExit(f"the job has version {job['version']}, this worker reads {VERSION}")
    prepare(job["settings"])
    with np.load(folder / "meshes.npz") as arrays:
        solids = [add_mesh(arrays, i) for i in range(job["meshes"])]
    for number, layout, shot in shots(job, solids, folder):
        place_camera(shot)
        if "around" in layout:
            show_around(folder / shot["around"])
        drawn: dict[str, NDArray[Any]] = {}
        if job["settings"]["image"]:
            drawn["light"] = picture(folder, job["settings"])
        if job["settings"]["passes"]:
            drawn |= passes(folder)
        if job["settings"]["amodal"]:
            drawn["amodal"] = amodal(folder, len(layout["objects"]), shot["size"])
        partial = folder / f"{number}.partial.npz"
        np.savez(partial, **drawn)  # type: ignore[arg-type]
        partial.rename(folder / f"{number}.npz")
        sys.stdout.write(f"view {number}\n")
        sys.stdout.flush()


def shots(job: Job, solids: list[Any], folder: Path) -> Iterator[tuple[int, Job, Job]]:
    """(number, layout, shot) of every view, with the layout's things standing in the scene."""
    number = 0
    for layout in job["layouts"]:
        build(layout, solids)
        if "around" in layout:
            surround(layout["around"], folder)
        for shot in layout["shots"]:
            yield number, layout, shot
            number += 1


def prepare(settings: Job) -> None:
    """An empty file with Cycles on the CPU: radiance out, nothing random but the seed, nothing clamped."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.render.threads_mode = "FIXED" if settings["threads"] else "AUTO"
    scene.render.threads = settings["threads"] or 1
    scene.render.use_persistent_data = True
    scene.render.resolution_percentage = 100
    scene.render.film_transparent = False
    scene.render.use_compositing = scene.render.use_sequencer = False
    scene.view_settings.view_transform = "Standard"
    cycles = scene.cycles
    cycles.device = "CPU"
    cycles.seed = settings["seed"]
    cycles.use_adaptive_sampling = False
    cycles.caustics_reflective = cycles.caustics_refractive = False
    cycles.diffuse_bounces = cycles.glossy_bounces = 4
    cycles.sample_clamp_direct = cycles.sample_clamp_indirect = 0.0
    cycles.blur_glossy = cycles.light_sampling_threshold = 0.0
    scene.world = bpy.data.worlds.new("sky")
    scene.world.use_nodes = True
    scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(scene.camera)


def add_mesh(arrays: Any, index: int) -> Any:
    """A solid as a mesh with the given normal at every corner, and a slot for each painted part."""
    parts = ("vertices", "faces", "normals", "paint")
    vertices, faces, normals, paint = (arrays[f"{part}{index}"] for part in parts)
    mesh = bpy.data.meshes.new(f"solid {index}")
    mesh.vertices.add(len(vertices))
    mesh.vertices.foreach_set("co", vertices.ravel())
    mesh.loops.add(faces.size)
    mesh.loops.foreach_set("vertex_index", faces.ravel())
    mesh.polygons.add(len(faces))
    mesh.polygons.foreach_set("loop_start", np.arange(0, faces.size, 3, dtype=np.int32))
    mesh.polygons.foreach_set("material_index", paint.astype(np.int32))
    if f"uv{index}" in arrays:
        layer = mesh.uv_layers.new(name="uv")
        layer.data.foreach_set("uv", (arrays[f"uv{index}"].reshape(-1, 2) * (1, -1) + (0, 1)).ravel())
    mesh.update(calc_edges=True)
    mesh.shade_smooth()
    mesh.normals_split_custom_set(normals.reshape(-1, 3))
    for slot in range(int(paint.max(initial=0)) + 1):
        mesh.materials.append(None)
        if f"texture_{slot}_{index}" in arrays:
            mesh[f"texture {slot}"] = _image(f"texture {slot} of {index}", arrays[f"texture_{slot}_{index}"])
    return mesh


def _image(name: str, texture: NDArray[np.uint8]) -> str:
    """A texture as an image of the file, by name."""
    height, width = texture.shape[:2]
    image = bpy.data.images.new(name, width, height)
    pixels = np.ones((height, width, 4), np.float32)
    pixels[..., :3] = texture[::-1] / np.float32(255)
    image.pixels.foreach_set(pixels.ravel())
    return name


def build(layout: Job, solids: list[Any]) -> None:
    """Clear the scene but for its camera, and stand the layout's things in it."""
    scene = bpy.context.scene
    for thing in [thing for thing in bpy.data.objects if thing is not scene.camera]:
        bpy.data.objects.remove(thing, do_unlink=True)
    around = [image for image in bpy.data.images if image.name.startswith(AROUND)]
    bpy.data.batch_remove([*bpy.data.lights, *bpy.data.materials, *around])
    nodes = scene.world.node_tree.nodes
    for node in [node for node in nodes if node.bl_idname not in ("ShaderNodeBackground", "ShaderNodeOutputWorld")]:
        nodes.remove(node)
    background = nodes["Background"]
    background.inputs["Color"].default_value = (*layout["ambient"], 1.0)
    background.inputs["Strength"].default_value = 1.0
    table = bpy.data.objects.new("table", _table_mesh())
    table.material_slots[0].link = "OBJECT"
    table.material_slots[0].material = matte("table", layout["table"])
    scene.collection.objects.link(table)
    for number, placed in enumerate(layout["objects"], start=1):
        thing = bpy.data.objects.new(f"object {number}", solids[placed["mesh"]])
        thing.matrix_world = np.array(placed["pose"], dtype=np.float64).reshape(4, 4).T
        thing.pass_index = number
        for slot, look in zip(thing.material_slots, placed["looks"], strict=False):
            slot.link = "OBJECT"
            texture = thing.data.get(f"texture {slot.slot_index}")
            slot.material = coated(f"object {number} {slot.slot_index}", look, texture)
        scene.collection.objects.link(thing)
    for light in layout["lights"]:
        scene.collection.objects.link(lamp(light))


def _table_mesh() -> Any:
    if "table" in bpy.data.meshes:
        return bpy.data.meshes["table"]
    half = TABLE_METRES / 2
    mesh = bpy.data.meshes.new("table")
    mesh.from_pydata([(-half, -half, 0), (half, -half, 0), (half, half, 0), (-half, half, 0)], [], [(0, 1, 2, 3)])
    mesh.materials.append(None)
    return mesh


def matte(name: str, albedo: list[float]) -> Any:
    """A Lambertian material."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.remove(nodes["Principled BSDF"])
    diffuse = nodes.new("ShaderNodeBsdfDiffuse")
    diffuse.inputs["Color"].default_value = (*albedo, 1.0)
    diffuse.inputs["Roughness"].default_value = 0.0
    links.new(diffuse.outputs["BSDF"], nodes["Material Output"].inputs["Surface"])
    return material


def surround(around: Job, folder: Path) -> None:
    """Give table, walls and sky the colours that camera rays see in the picture `AROUND`, others in small ones."""
    scene = bpy.context.scene
    with np.load(folder / around["file"]) as arrays:
        ground, sky = add_radiance(arrays["ground"]), add_radiance(arrays["sky"])
    material = scene.objects["table"].material_slots[0].material
    tree = material.node_tree
    place, scaled, texture = (
        tree.nodes.new(kind) for kind in ("ShaderNodeNewGeometry", "ShaderNodeVectorMath", "ShaderNodeTexImage")
    )
    scaled.operation = "MULTIPLY_ADD"
    scaled.inputs[1].default_value = (0.5 / around["half"],) * 3
    scaled.inputs[2].default_value = (0.5,) * 3
    texture.image, texture.extension = ground, "EXTEND"
    tree.links.new(place.outputs["Position"], scaled.inputs[0])
    tree.links.new(scaled.outputs["Vector"], texture.inputs["Vector"])
    seen_by_camera(tree, texture.outputs["Color"], tree.nodes["Diffuse BSDF"].inputs["Color"])
    tree = scene.world.node_tree
    texture = tree.nodes.new("ShaderNodeTexEnvironment")
    texture.image = sky
    seen_by_camera(tree, texture.outputs["Color"], tree.nodes["Background"].inputs["Color"])
    for number, wall in enumerate(around["walls"]):
        add_wall(f"wall {number}", wall)


def add_wall(name: str, wall: Job) -> None:
    """A wall that is lit and seen from its front alone, and keeps no light from the scene."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(wall["corners"], [], [(0, 1, 2, 3)])
    material = matte(name, wall["color"])
    mesh.materials.append(material)
    tree = material.node_tree
    plain = tree.nodes.new("ShaderNodeRGB")
    plain.outputs["Color"].default_value = (*wall["color"], 1.0)
    seen_by_camera(tree, plain.outputs["Color"], tree.nodes["Diffuse BSDF"].inputs["Color"])
    side, clear, mix = (
        tree.nodes.new(kind)
        for kind in ("ShaderNodeNewGeometry", "ShaderNodeBsdfTransparent", "ShaderNodeMixShader")
    )
    tree.links.new(side.outputs["Backfacing"], mix.inputs["Fac"])
    tree.links.new(tree.nodes["Diffuse BSDF"].outputs["BSDF"], mix.inputs[1])
    tree.links.new(clear.outputs["BSDF"], mix.inputs[2])
    tree.links.new(mix.outputs["Shader"], tree.nodes["Material Output"].inputs["Surface"])
    thing = bpy.data.objects.new(name, mesh)
    thing.visible_shadow = thing.visible_diffuse = False
    bpy.context.scene.collection.objects.link(thing)


def seen_by_camera(tree: Any, other: Any, target: Any) -> None:
    """Colour by the picture `AROUND` of the view for rays of the camera, by `other` for the rest."""
    path, place, picture, mix = (
        tree.nodes.new(kind)
        for kind in ("ShaderNodeLightPath", "ShaderNodeTexCoord", "ShaderNodeTexImage", "ShaderNodeMixRGB")
    )
    picture.name, picture.interpolation, picture.extension = AROUND, "Closest", "EXTEND"
    tree.links.new(place.outputs["Window"], picture.inputs["Vector"])
    tree.links.new(path.outputs["Is Camera Ray"], mix.inputs["Fac"])
    tree.links.new(other, mix.inputs["Color1"])
    tree.links.new(picture.outputs["Color"], mix.inputs["Color2"])
    tree.links.new(mix.outputs["Color"], target)


def show_around(file: Path) -> None:
    """Put a view's pictures of its surroundings where camera rays look them up."""
    with np.load(file) as arrays:
        albedo, behind = add_radiance(arrays["albedo"]), add_radiance(arrays["behind"])
    for material in bpy.data.materials:
        if AROUND in material.node_tree.nodes:
            material.node_tree.nodes[AROUND].image = albedo
    bpy.context.scene.world.node_tree.nodes[AROUND].image = behind


def add_radiance(pixels: Floats) -> Any:
    """An image of linear light or albedo, (H, W, 3), first row on top."""
    height, width = pixels.shape[:2]
    image = bpy.data.images.new(AROUND, width, height, float_buffer=True)
    image.colorspace_settings.name = "Non-Color"
    whole = np.ones((height, width, 4), np.float32)
    whole[..., :3] = pixels[::-1]
    image.pixels.foreach_set(whole.ravel())
    image.update()
    return image


def coated(name: str, look: Job, texture: str | None = None) -> Any:
    """A Principled material; reflectance head-on is 8 % at the socket's 1."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    inputs = material.node_tree.nodes["Principled BSDF"].inputs
    inputs["Base Color"].default_value = (*look["color"], 1.0)
    inputs["Metallic"].default_value = look["metallic"]
    inputs["Roughness"].default_value = look["roughness"]
    inputs["IOR"].default_value = 1.5
    inputs["Specular IOR Level"].default_value = look["specular"] / 0.08
    if look["transmission"] > 0.0:
        see_through(material, look)
    if texture is not None:
        image = material.node_tree.nodes.new("ShaderNodeTexImage")
        image.image = bpy.data.images[texture]
        material.node_tree.links.new(image.outputs["Color"], inputs["Base Color"])
    return material


def see_through(material: Any, look: Job) -> None:
    """Add what lies behind a thin pane, tinted, to a material, and take as much from its own colour."""
    clear = min(look["transmission"], MOST_CLEAR)
    nodes, links = material.node_tree.nodes, material.node_tree.links
    own, out = nodes["Principled BSDF"], nodes["Material Output"]
    own.inputs["Base Color"].default_value = (*((1.0 - clear) * c for c in look["color"]), 1.0)
    behind, both = nodes.new("ShaderNodeBsdfTransparent"), nodes.new("ShaderNodeAddShader")
    behind.inputs["Color"].default_value = (*(clear * c for c in look["color"]), 1.0)
    links.new(own.outputs["BSDF"], both.inputs[0])
    links.new(behind.outputs["BSDF"], both.inputs[1])
    links.new(both.outputs["Shader"], out.inputs["Surface"])


def lamp(light: Job) -> Any:
    """A square area light that mirrors show and the camera does not."""
    data = bpy.data.lights.new(light["name"], "AREA")
    data.shape = "SQUARE"
    data.size = light["size"]
    data.energy = light["power"]
    data.color = light["color"]
    thing = bpy.data.objects.new(light["name"], data)
    thing.matrix_world = np.array(light["pose"], dtype=np.float64).reshape(4, 4).T
    thing.visible_camera = False
    return thing


def place_camera(shot: Job) -> None:
    """Set the camera and the size of the picture; `pose` is camera→world with Blender's axes (−z forward)."""
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = shot["size"]
    data = scene.camera.data
    data.sensor_fit = "HORIZONTAL"
    data.sensor_width = SENSOR_MM
    data.lens = shot["lens"]
    data.shift_x, data.shift_y = shot["shift"]
    data.clip_start, data.clip_end = 1e-3, FAR_METRES
    scene.camera.matrix_world = np.array(shot["pose"], dtype=np.float64).reshape(4, 4).T


def picture(folder: Path, settings: Job) -> Floats:
    """Radiance of the lit picture, (H, W, 3) float32; the other side turns it into bytes."""
    scene = bpy.context.scene
    scene.render.use_compositing = False
    cycles = scene.cycles
    cycles.samples = settings["samples"]
    cycles.use_denoising = settings["denoise"]
    cycles.max_bounces = 8
    cycles.pixel_filter_type = "BOX"
    layer = bpy.context.view_layer
    layer.use_pass_object_index = layer.use_pass_z = layer.use_pass_normal = False
    target = folder / "picture.exr"
    scene.render.filepath = str(target)
    _as_exr(scene.render.image_settings)
    bpy.ops.render.render(write_still=True)
    return read_exr(target)[..., :3]


def passes(folder: Path) -> dict[str, NDArray[Any]]:
    """Ids, planar depth and normals at pixel centres."""
    scene = bpy.context.scene
    cycles = scene.cycles
    cycles.samples = 1
    cycles.use_denoising = False
    cycles.max_bounces = 0
    cycles.pixel_filter_type = "GAUSSIAN"  # the box has a fixed width of one pixel
    cycles.filter_width = CENTRE_PX
    layer = bpy.context.view_layer
    layer.use_pass_object_index = layer.use_pass_z = layer.use_pass_normal = True
    layer.pass_alpha_threshold = 0.0  # panes too
    wanted = {"ids": "IndexOB", "depth": "Depth", "normals": "Normal"}
    _compositor(folder, wanted)
    scene.render.use_compositing = True
    bpy.ops.render.render(write_still=False)
    ids, depth, normals = (read_exr(folder / f"{name}0001.exr") for name in wanted)
    hit = depth[..., 0] < FAR_METRES
    return {
        "ids": np.rint(ids[..., 0]).astype(np.int32),
        "depth": np.where(hit, depth[..., 0], np.nan).astype(np.float32),
        "normals": np.where(hit[..., None], normals[..., :3], 0.0).astype(np.float32),
    }


def amodal(folder: Path, objects: int, size: tuple[int, int]) -> NDArray[np.bool_]:
    """The mask of every object with all others hidden, (n, H, W) bool."""
    things = [bpy.data.objects[f"object {number}"] for number in range(1, objects + 1)]
    masks = np.zeros((objects, size[1], size[0]), dtype=bool)
    for i in range(objects):
        for j, thing in enumerate(things):
            thing.hide_render = i != j
        masks[i] = passes(folder)["ids"] == i + 1
    for thing in things:
        thing.hide_render = False
    return masks


def _compositor(folder: Path, wanted: dict[str, str]) -> None:
    """One EXR a pass: the only way to get at passes without a window."""
    scene = bpy.context.scene
    scene.use_nodes = True
    nodes, links = scene.node_tree.nodes, scene.node_tree.links
    if "files" in nodes:
        return
    nodes.clear()
    layers = nodes.new("CompositorNodeRLayers")
    files = nodes.new("CompositorNodeOutputFile")
    files.name = "files"
    files.base_path = str(folder)
    files.file_slots.clear()
    for name, source in wanted.items():
        files.file_slots.new(name)
        slot = files.file_slots[name]
        slot.use_node_format = False
        _as_exr(slot.format)
        links.new(layers.outputs[source], files.inputs[name])


def _as_exr(form: Any) -> None:
    form.file_format = "OPEN_EXR"
    form.color_mode = "RGB"
    form.color_depth = "32"
    form.exr_codec = "ZIP"


def read_exr(path: Path) -> Floats:
    """Pixels of an EXR file, first row on top, (H, W, 4) float32."""
    image = bpy.data.images.load(str(path))
    image.colorspace_settings.name = "Non-Color"
    width, height = image.size
    pixels = np.empty(width * height * 4, dtype=np.float32)
    image.pixels.foreach_get(pixels)
    bpy.data.images.remove(image)
    path.unlink()
    return pixels.reshape(height, width, 4)[::-1]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
