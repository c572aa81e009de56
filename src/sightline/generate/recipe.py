"""How a dataset is made, as plain values: enough to go on with it, or to make any of its scenes again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sightline.errors import ConfigError, DataError
from sightline.generate.backends import BackendName, all_settings
from sightline.generate.opening import KIND
from sightline.generate.own_shapes import baked
from sightline.store.encodings import FORMS
from sightline.worlds import World

MOST_PIXELS = 1 << 25
"""Of a view: 8192×4096. A pixel takes about 150 bytes while it is being worked out."""


@dataclass(frozen=True, slots=True)
class Recipe:
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
    """

    world: str
    settings: Mapping[str, Any]
    seed: int
    start: int
    views: tuple[str, ...]
    image: str | None
    depth: str | None
    renderer: BackendName
    render: Mapping[str, Any]
    canonical: int
    made_by: str

    def to_dict(self) -> dict[str, Any]:
        """As it stands in ``dataset.json``."""
        return {"kind": KIND, **_plain(asdict(self))}

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, told: Mapping[str, Any], file: Path | None = None) -> Recipe:
        """The recipe of a manifest; a DataError where it is another kind of recipe, or damaged."""
        names = [f.name for f in fields(cls)]
        missing = [name for name in names if name not in told]
        if told.get("kind") != KIND or missing:
            raise DataError(
                "not the recipe of a world",
                file=file,
                field="recipe",
                expected=f"kind {KIND} with {', '.join(names)}",
                found=f"kind {told.get('kind')!r}" + (f" without {missing[0]}" if missing else ""),
            )
        values = {name: told[name] for name in names}
        return cls(**{**values, "views": tuple(told["views"])})


def recipe_for(
    world: World,
    *,
    views: Sequence[str] | None = None,
    seed: int = 0,
    start: int = 0,
    size: tuple[int, int] | None = None,
    image: str | None = "png",
    depth: str | None = "png",
    renderer: BackendName = "fast",
    render: Mapping[str, Any] | None = None,
    canonical: int = 0,
) -> Recipe:
    """A checked recipe.

    Raises:
        ConfigError: A view, form or renderer that there is not, or a number out of range.
    """
    settings, _ = baked(world.settings)
    if size is not None:
        settings["resolution"] = list(size)
    for what, number in (("seed", seed), ("start", start), ("canonical", canonical)):
        if number < 0:
            raise ConfigError(f"{what} must be 0 or more, not {number}")
    width, height = settings["resolution"]
    if min(width, height) < 1 or width * height > MOST_PIXELS:
        limits = f"at least 1×1 and at most {MOST_PIXELS:,} pixels"
        raise ConfigError(f"size must be {limits}, not {width}×{height}")
    if image is not None and image.partition(":")[0] not in FORMS["image"]:
        raise ConfigError(f"unknown image format {image!r}: choose one of {', '.join(FORMS['image'])}, none")
    if depth is not None and depth not in FORMS["depth"]:
        raise ConfigError(f"unknown depth format {depth!r}: choose one of {', '.join(FORMS['depth'])}")
    return Recipe(
        world.name,
        _plain(settings),
        seed,
        start,
        _checked_views(world, views),
        image,
        depth if image else None,
        renderer,
        _plain(all_settings(renderer, render)),
        canonical,
        version("sightline"),
    )


def _checked_views(world: World, views: Sequence[str] | None) -> tuple[str, ...]:
    known = [camera.name for camera in world.cameras]
    chosen = known[:1] if views is None else list(views)
    strange = [view for view in chosen if view not in known]
    if strange:
        raise ConfigError(f"world {world.name!r} has no view {strange[0]!r}: choose from {', '.join(known)}")
    if not chosen or len(set(chosen)) < len(chosen):
        raise ConfigError(f"views must be one or more of {', '.join(known)}, none twice, not {','.join(chosen)!r}")
    return tuple(chosen)


def differences(first: Recipe, second: Recipe) -> list[str]:
    """Where two recipes differ, as ``field: this, that``.

    >>> from dataclasses import replace
    >>> one = Recipe("w", {"gap": 1}, 0, 0, ("original",), "png", "png", "fast", {}, 0, "1")
    >>> differences(one, replace(one, seed=3, settings={"gap": 2}))
    ['settings.gap: 1, 2', 'seed: 0, 3']
    """
    return [f"{path}: {a}, {b}" for path, a, b in _differ("", first.to_dict(), second.to_dict())]


def _differ(path: str, a: Any, b: Any) -> Iterator[tuple[str, str, str]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys([*a, *b]):
            yield from _differ(f"{path}.{key}" if path else key, a.get(key), b.get(key))
    elif a != b:
        yield path, json.dumps(a), json.dumps(b)


def _plain(value: Any) -> Any:
    """What JSON makes of it, so that a recipe equals the one read back."""
    return json.loads(json.dumps(value))
