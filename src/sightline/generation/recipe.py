"""How a dataset is generated, as plain values: enough to go on with it, or to make any of its scenes again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, get_args

from sightline import __version__, files
from sightline.errors import ConfigError, DataError
from sightline.files import atomic_write
from sightline.generation.open import KIND
from sightline.hints import hint
from sightline.render.fast import Settings
from sightline.store.encodings import FORMS
from sightline.store.manifest import SHAPES
from sightline.worlds import World
from sightline.worlds.sensor import NONE as NO_SENSOR
from sightline.worlds.sensor import PRESETS as SENSORS
from sightline.worlds.shapes import solid
from sightline.worlds.shapes.baked import save_solids

RendererName = Literal["fast", "blender"]

_RENDER_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "fast": asdict(Settings()),
    "blender": {"samples": 16, "denoise": True, "seed": 0},  # threads and timeout change no pixel
}

MOST_PIXELS = 1 << 25
"""Of a view: 8192×4096. A pixel takes about 150 bytes while it is being worked out."""


@dataclass(frozen=True, slots=True)
class DatasetRecipe:
    """What decides every byte of a generated dataset but the number of its scenes.

    Attributes:
        world: Name of the world.
        settings: The whole world as data; `worlds.spec.world_from` makes it again.
        seed: Of all scenes.
        start: Index of the first scene.
        views: Names of the cameras whose views are kept, in this order.
        image: Form of the pictures, see `store.encodings`; None keeps no pixels at all, only what is true of them.
        depth: Form of the depth maps; None keeps none.
        renderer: Back end that shades.
        render: Its settings.
        canonical: How many canonical views of every distinct object lie beside the scenes.
        made_by: Version of Sightline.
        pairs: Whether scenes 2m and 2m + 1 are partners, with the depth of their objects compared across the two.
    """

    world: str
    settings: Mapping[str, Any]
    seed: int
    start: int
    views: tuple[str, ...]
    image: str | None
    depth: str | None
    renderer: RendererName
    render: Mapping[str, Any]
    canonical: int
    made_by: str
    pairs: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As it stands in ``dataset.json``."""
        return {"kind": KIND, **_as_json(asdict(self))}

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], file: Path | None = None) -> DatasetRecipe:
        """The recipe of a manifest; a DataError where it is another kind of recipe, or damaged."""
        names = [f.name for f in fields(cls) if f.default is MISSING]
        missing = [name for name in names if name not in stored]
        if stored.get("kind") != KIND or missing:
            expected = f"kind {KIND} with {', '.join(names)}"
            found = f"kind {stored.get('kind')!r}" + (f" without {missing[0]}" if missing else "")
            raise DataError("not the recipe of a world", file=file, field="recipe", expected=expected, found=found)
        values = {f.name: stored[f.name] for f in fields(cls) if f.name in stored}
        return cls(**{**values, "views": tuple(stored["views"])})


def recipe_for(
    world: World,
    views: str | Sequence[str] | None = None,
    seed: int = 0,
    start: int = 0,
    size: str | tuple[int, int] | None = None,
    image: str | None = "png",
    depth: str | None = "png",
    renderer: RendererName = "fast",
    render: Mapping[str, Any] | None = None,
    canonical: int = 0,
    *,
    pairs: bool = False,
    sensor: str | None = None,
) -> tuple[DatasetRecipe, bytes]:
    """Check what is asked for; give the recipe, and the bytes of the world's own meshes, for `save_meshes`.

    Raises:
        ConfigError: A view, sensor, form or renderer that there is not, or a number out of range.
    """
    settings, meshes = bake_meshes(world.settings)
    if sensor is not None:
        settings.pop("sensor", None)
        settings |= _chosen_sensor(sensor)
    if size is not None:
        settings["resolution"] = list(parse_size(size) if isinstance(size, str) else size)
    for what, number in (("seed", seed), ("start", start), ("canonical", canonical)):
        if number < 0:
            raise ConfigError(f"{what} must be 0 or more, not {number}")
    width, height = settings["resolution"]
    if min(width, height) < 1 or width * height > MOST_PIXELS:
        limits = f"at least 1×1 and at most {MOST_PIXELS:,} pixels"
        what = f"{world.name}: resolution" if size is None else "size"
        raise ConfigError(f"{what} must be {limits}, not {width}×{height}")
    image, depth = (None if form == "none" else form for form in (image, depth))
    if image is not None and image.partition(":")[0] not in FORMS["image"]:
        raise ConfigError(f"unknown image format {image!r}: choose one of {', '.join(FORMS['image'])}, none")
    if depth is not None and depth not in FORMS["depth"]:
        raise ConfigError(f"unknown depth format {depth!r}: choose one of {', '.join(FORMS['depth'])}")
    recipe = DatasetRecipe(
        world.name,
        _as_json(settings),
        seed,
        start,
        _checked_views(world, views),
        image,
        depth if image else None,
        renderer,
        _as_json(render_settings(renderer, render)),
        canonical,
        __version__,
        pairs,
    )
    return recipe, meshes


def _chosen_sensor(name: str) -> dict[str, str]:
    """Give the setting of a world that names a sensor; the ideal camera is none, as where nothing is said."""
    known = (NO_SENSOR, *SENSORS)
    if name not in known:
        raise ConfigError(f"unknown sensor {name!r}{hint(name, known)}")
    return {} if name == NO_SENSOR else {"sensor": name}


def parse_size(text: str, option: str = "size") -> tuple[int, int]:
    """Width and height in pixels; `option` is what the ConfigError calls it.

    >>> parse_size("480x320")
    (480, 320)
    """
    sides = re.fullmatch(r"([0-9]{1,5})[x×]([0-9]{1,5})", text)
    if sides is None:
        raise ConfigError(f"{option} {text!r}: expected width and height in pixels, such as 480x320")
    return int(sides[1]), int(sides[2])


def render_settings(renderer: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a renderer, those given over the defaults; a ConfigError for one that it has not.

    >>> render_settings("blender", {"samples": 512})
    {'samples': 512, 'denoise': True, 'seed': 0}
    """
    defaults = _RENDER_DEFAULTS.get(renderer)
    if defaults is None:
        raise ConfigError(f"unknown renderer {renderer!r}: choose one of {', '.join(get_args(RendererName))}")
    strange = [key for key in given or {} if key not in defaults]
    if strange:
        raise ConfigError(f"renderer {renderer!r} has no setting {strange[0]!r}: it has {', '.join(defaults)}")
    return defaults | dict(given or {})


def _checked_views(world: World, views: str | Sequence[str] | None) -> tuple[str, ...]:
    known = [camera.name for camera in world.cameras]
    named = [view.strip() for view in views.split(",")] if isinstance(views, str) else views
    chosen = known[:1] if named is None else list(named)
    strange = [view for view in chosen if view not in known]
    if strange:
        raise ConfigError(f"world {world.name!r} has no view {strange[0]!r}: choose from {', '.join(known)}")
    if not chosen or len(set(chosen)) < len(chosen):
        raise ConfigError(f"views must be one or more of {', '.join(known)}, none twice, not {','.join(chosen)!r}")
    return tuple(chosen)


def differences(first: DatasetRecipe, second: DatasetRecipe) -> list[str]:
    """Where two recipes differ, as ``field: this, that``.

    >>> from dataclasses import replace
    >>> one = DatasetRecipe("w", {"gap": 1}, 0, 0, ("original",), "png", "png", "fast", {}, 0, "1")
    >>> differences(one, replace(one, seed=3, settings={"gap": 2}))
    ['settings.gap: 1, 2', 'seed: 0, 3']
    """
    pairs = ((path, _shown(a), _shown(b)) for path, a, b in files.differences(first.to_dict(), second.to_dict()))
    return [f"{path}: {a}, {b}" for path, a, b in pairs if a != b]


def _shown(value: Any) -> str:
    return json.dumps(None if value is files.MISSING else value)


def _as_json(value: Any) -> Any:
    """What JSON makes of it, so that a recipe equals the one read back."""
    return json.loads(json.dumps(value))


def bake_meshes(settings: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Settings of a world whose meshes are those of one file inside the dataset's folder, and that file's bytes.

    So the dataset stands on its own wherever it is carried. The file is named after its bytes, so that other meshes
    make another recipe. Without own meshes there is neither file nor bytes.
    """
    names = [name for name, mesh in (settings.get("meshes") or {}).items() if mesh is not None]
    if not names:
        return {**settings, "meshes": {}}, b""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "own.npz"
        save_solids(file, [solid(f"{name}:medium") for name in names])
        data = file.read_bytes()
    place = f"{SHAPES}/{hashlib.sha256(data).hexdigest()[:16]}.npz"
    return {**settings, "meshes": {name: {"file": place} for name in names}}, data


def save_meshes(folder: Path, settings: Mapping[str, Any], data: bytes) -> None:
    """Write the baked meshes where the settings say."""
    for file in {mesh["file"] for mesh in (settings.get("meshes") or {}).values()}:
        (folder / SHAPES).mkdir(exist_ok=True)
        atomic_write(folder / file, data)


def located(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the meshes' files as they are reached from here; a DataError for one outside the folder."""
    meshes = {name: folder / mesh["file"] for name, mesh in (settings.get("meshes") or {}).items()}
    for file in meshes.values():
        files.refuse_outside(file, folder, field="recipe.settings.meshes")
    return {**settings, "meshes": {name: {"file": str(file)} for name, file in meshes.items()}}
