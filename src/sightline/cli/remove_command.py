"""``sightline remove``: an object out of a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sightline.cli.console import Json, err, out, print_json, progress, quiet_stdout
from sightline.errors import ConfigError, DataError

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


def listing() -> str:
    """What the help ends with: the fills."""
    from sightline.edits.fills import known_fills

    return f"Fills: {', '.join(known_fills())}."


def command(
    image: Annotated[Path, typer.Option("--image", help="The picture.")],
    mask: Annotated[
        list[Path],
        typer.Option("--mask", help="Mask of an object, as large as the picture: black outside, brighter inside."),
    ],
    to: Annotated[Path, typer.Option("--out", help="Picture to write: .png, .webp (both lossless) or .jpg.")],
    fill: Annotated[str, typer.Option("--fill", help="What fills the hole; see below.")] = "telea",
    radius: Annotated[int, typer.Option(min=0, help="By how many pixels the mask grows to all sides.")] = 5,
    most: Annotated[float, typer.Option(min=0.0, help="Largest share of the picture the masks may have.")] = 0.3,
    json: Json = False,
) -> None:
    """Remove an object from a picture: its mask grows, the hole is filled, all other pixels stay as they are."""
    import time

    import numpy as np

    from sightline.edits import FillRequest, Removal, open_fill
    from sightline.edits.cache import EditCache
    from sightline.files import atomic_write
    from sightline.store.encodings import encode

    if to.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{to}: expected a name that ends in {', '.join(SUFFIXES)}")
    removal = Removal(radius, most)
    with quiet_stdout(active=json), progress(f"filling with {fill}", quiet=json) as update:
        chosen = open_fill(fill)
        pixels = _picture(image)
        masks = [_mask(file, pixels.shape[:2]) for file in mask]
        hole = removal.hole(masks, row=", ".join(map(str, mask)))
        if update:
            update(0, 1)
        begun, cache = time.monotonic(), EditCache()
        edited = cache.remove(FillRequest(pixels, hole), chosen)
        seconds = time.monotonic() - begun
    form = {".png": "png", ".webp": "webp"}.get(to.suffix.lower(), "jpeg")
    to.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(to, encode("image", edited, form)[0])
    object_pixels = int(np.logical_or.reduce(masks).sum())
    facts: dict[str, Any] = {
        "out": str(to),
        "image": str(image),
        "masks": [str(file) for file in mask],
        "fill": chosen.name,
        "radius": radius,
        "width": pixels.shape[1],
        "height": pixels.shape[0],
        "object_pixels": object_pixels,
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
    out.print(f"wrote {to}: {hole.sum():,} pixels ({share:.1%}) filled by {chosen.name} {source}")


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
