"""``sightline remove``: an object out of a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.console import AllowOutside, Json, err, out, print_json, progress, quiet_stdout
from sightline.errors import ConfigError, DataError, naming
from sightline.hints import hint

if TYPE_CHECKING:
    from sightline.edits import FillRequest, Removal

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


def listing() -> str:
    """What the help ends with: the fills."""
    from sightline.edits.fills import known_fills

    return f"Fills: {', '.join(known_fills())}; exact and exact-hole are for generated scenes (--data)."


@dataclass(frozen=True)
class Chosen:
    """What is to be removed from which picture.

    Attributes:
        request: The picture with its hole.
        object_pixels: Pixels of the masks, united and not yet grown.
        facts: Where it comes from, for the JSON document.
    """

    request: FillRequest
    object_pixels: int
    facts: Mapping[str, Any]


def command(
    to: Annotated[Path, typer.Option("--out", help="Picture to write: .png, .webp (both lossless) or .jpg.")],
    image: Annotated[Path | None, typer.Option("--image", help="The picture.")] = None,
    mask: Annotated[
        list[Path] | None,
        typer.Option("--mask", help="Mask of an object, as large as the picture: black outside, brighter inside."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Or a dataset whose objects have masks, instead of files.")
    ] = None,
    scene: Annotated[str, typer.Option("--scene", help="Of --data: the scene, by id.")] = "",
    view: Annotated[str, typer.Option("--view", help="Of --data: its view, by name; by default the first.")] = "",
    category: Annotated[
        list[str] | None, typer.Option("--category", help="Of --data: all objects of this class go.")
    ] = None,
    instance: Annotated[
        list[str] | None, typer.Option("--object", help="Of --data: this object goes, by id.")
    ] = None,
    fill: Annotated[str, typer.Option("--fill", help="What fills the hole; see below.")] = "telea",
    radius: Annotated[int, typer.Option(min=0, help="By how many pixels the mask grows to all sides.")] = 5,
    most: Annotated[float, typer.Option(min=0.0, help="Largest share of the picture the masks may have.")] = 0.3,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Remove an object from a picture: its mask grows, the hole is filled, all other pixels stay as they are.

    Picture and masks are files, or those of a scene of a dataset. The fill exact, which is for generated scenes,
    takes the object's shadow and reflections along, which lie outside the hole.
    """
    import time

    from sightline.edits import Removal, open_fill
    from sightline.edits.cache import EditCache
    from sightline.files import atomic_write
    from sightline.store.encodings import encode

    of_files, of_scene = image is not None or bool(mask), data is not None or any((scene, view, category, instance))
    if of_files == of_scene:
        raise ConfigError("give either --image and --mask, or --data, --scene and --category or --object")
    if to.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{to}: expected a name that ends in {', '.join(SUFFIXES)}")
    removal = Removal(radius, most)
    with quiet_stdout(active=json), progress(f"filling with {fill}", quiet=json) as update:
        opened = open_fill(fill)
        if of_files:
            chosen = _of_files(image, mask or [], removal)
        else:
            chosen = _of_scene(data, scene, view, (category or [], instance or []), removal, outside=allow_outside)
        if any(to.exists() and to.samefile(file) for file in (image, *(mask or [])) if file is not None):
            raise ConfigError(f"{to}: --out would replace the picture or the mask that is read")
        if update:
            update(0, 1)
        begun, cache = time.monotonic(), EditCache()
        with naming(data):
            edited = cache.remove(chosen.request, opened)
        seconds = time.monotonic() - begun
    form = {".png": "png", ".webp": "webp"}.get(to.suffix.lower(), "jpeg")
    to.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(to, encode("image", edited, form)[0])
    hole = chosen.request.hole
    facts: dict[str, Any] = {
        "out": str(to),
        **chosen.facts,
        "fill": opened.name,
        "radius": radius,
        "width": hole.shape[1],
        "height": hole.shape[0],
        "object_pixels": chosen.object_pixels,
        "hole_pixels": int(hole.sum()),
        "seconds": round(seconds, 3),
        "cached": cache.hits > 0,
    }
    if json:
        print_json(facts)
        return
    if form == "jpeg":
        err.print("note: JPEG is lossy, so pixels outside the hole change a little too; .png keeps them")
    share = hole.mean()
    source = "from the cache" if cache.hits else f"in {seconds:.2f} s"
    out.print(f"wrote {to}: {hole.sum():,} pixels ({share:.1%}) filled by {opened.name} {source}")


def _of_files(image: Path | None, masks: Sequence[Path], removal: Removal) -> Chosen:
    """A picture and masks that are files."""
    from sightline.edits import FillRequest

    if image is None or not masks:
        raise ConfigError("--image and --mask are both needed")
    pixels = _picture(image)
    flags = [_mask(file, pixels.shape[:2]) for file in masks]
    with naming(Path(", ".join(map(str, masks)))):
        hole = removal.hole(flags)
    facts = {"image": str(image), "masks": [str(file) for file in masks]}
    return Chosen(FillRequest(pixels, hole), _united(flags), facts)


def _of_scene(
    data: Path | None,
    scene_id: str,
    view_id: str,
    wanted: tuple[Sequence[str], Sequence[str]],
    removal: Removal,
    *,
    outside: bool,
) -> Chosen:
    """Objects of a scene, all of some classes or those of some ids."""
    from sightline.edits import FillRequest
    from sightline.edits.removal import instances, masks_in
    from sightline.generation import open_any

    categories, ids = wanted
    if data is None or not scene_id or not (categories or ids):
        raise ConfigError("--data, --scene and --category or --object are all needed")
    opened = open_any(data, allow_outside=outside)
    with opened.faults_told():
        scene = opened.scene(scene_id)
        view = scene.view(_known(view_id or scene.views[0].id, [one.id for one in scene.views], "view"))
        objects = {one.id: one.category for one in scene.objects}
        named = [_known(name, sorted(set(objects.values())), "object of the class") for name in categories]
        for name in ids:
            if name not in objects:
                known = ", ".join(f"{one} ({of})" for one, of in objects.items()) or "none"
                raise ConfigError(f"the scene has no object {name!r}; there are {known}")
        gone = list(dict.fromkeys([*(one for name in named for one in instances(scene, name)), *ids]))
        masks = masks_in(scene, view.id, gone)
        hole = removal.hole(masks, row=f"{scene.id}, objects {', '.join(gone)}")
        facts = {"data": str(data), "scene": scene.id, "view": view.id, "objects": gone}
        return Chosen(FillRequest(view.image(), hole, scene, view.id, tuple(gone)), _united(masks), facts)


def _known(name: str, known: Sequence[str], what: str) -> str:
    """The name; a ConfigError where the scene has no such thing."""
    if name not in known:
        raise ConfigError(f"the scene has no {what} {name!r}{hint(name, known)}")
    return name


def _united(masks: Sequence[Any]) -> int:
    """Pixels of masks, each counted once."""
    import numpy as np

    return int(np.logical_or.reduce(masks).sum())


def _picture(file: Path) -> Any:
    from sightline.errors import PictureError
    from sightline.store.encodings import decode
    from sightline.store.pictures import look_at

    size = look_at(file)
    if isinstance(size, PictureError):
        raise size
    return decode("image", file)


def _mask(file: Path, shape: tuple[int, ...]) -> Any:
    """A mask file as (H, W) bool; of a JPEG, whose edges are blurred, what is brighter than half."""
    pixels = _picture(file)
    if pixels.shape[:2] != tuple(shape):
        (height, width), (high, wide) = shape, pixels.shape[:2]
        expected, found = f"{width}×{height} pixels, as the picture has", f"{wide}×{high}"
        raise DataError("mask and picture differ in size", file=file, expected=expected, found=found)
    lossy = file.suffix.lower() in (".jpg", ".jpeg")
    return (pixels > (127 if lossy else 0)).any(axis=2)
