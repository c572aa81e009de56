"""World files: finding them by name, and laying one over the other where a file extends another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

from sightline.documents import read_yaml
from sightline.errors import ConfigError, DataError
from sightline.hints import hint
from sightline.typed import Value
from sightline.worlds.world import filled

_FOLDER: Final = Path(__file__).parent / "presets"
_BASE: Final = "base"
_CAMERA: Final = re.compile(r"(categories\.[^.]+\.)?cameras\.[^.]+")
_SUFFIXES: Final = (".yaml", ".yml")
_FILE: Final = re.compile(r"(meshes\..+|sky)\.file")


@dataclass(frozen=True, slots=True)
class Merged:
    """A world's values after all layers: `origins` tells for a path which file set it last."""

    name: str
    split: str
    values: dict[str, Any]
    origins: dict[str, str]

    def file_of(self, path: str) -> str:
        """The file a path was last set in; a path not listed comes from where its parent comes from."""
        while path and path not in self.origins:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.origins[path]


def presets() -> tuple[str, ...]:
    """Names of the worlds that come with Sightline; the first split of a file also answers to the file's name.

    >>> presets()[:3]
    ('cad/train', 'cad/val', 'cad/subtypes')
    """
    names: list[str] = []
    for stem, file in _files().items():
        if stem != _BASE:
            splits = _read(file).get("splits") or {}
            names += [f"{stem}/{split}" for split in splits] or [stem]
    return tuple(names)


def _files() -> dict[str, Path]:
    """The presets' files by name; one in a folder has the folder's name before its own."""
    files = sorted(_FOLDER.rglob("*.yaml"), key=lambda file: file.with_suffix("").parts)
    return {file.relative_to(_FOLDER).with_suffix("").as_posix(): file for file in files}


def gather(name: str, extending: tuple[str, ...] = ()) -> Merged:
    """All values of the world of that name: its own over those of the world it extends, over the base preset's."""
    file, split = _find(name, extending)
    if str(file) in extending:
        raise DataError("worlds extend each other in a circle", file=file, field="extends", found=name)
    content = _read(file)
    splits = Value(content.pop("splits", None) or {}, str(file), "splits")
    parent = Value(content.pop("extends", None), str(file), "extends")
    merged = _parent(file, parent, (*extending, str(file)))
    merged.values.pop("stream", None)  # a world has its own
    merged.origins[""] = str(file)
    _lay_over(merged.values, merged.origins, content, str(file), "")
    known = [key for key, _ in splits.items()]
    if split and split not in known:
        raise ConfigError(f"world {str(name)!r} has no split {split!r}{hint(split, known)}")
    split = split or (known[0] if known else "")
    if split:
        own = splits[split]
        layer = {} if own.value is None else {key: value.value for key, value in own.items()}
        _lay_over(merged.values, merged.origins, layer, str(file), "")
    stem = next((name for name, preset in _files().items() if preset == file), file.stem)
    return Merged(f"{stem}/{split}" if split else stem, split or stem, merged.values, merged.origins)


def _parent(file: Path, parent: Value, extending: tuple[str, ...]) -> Merged:
    if file == _FOLDER / f"{_BASE}.yaml":
        return Merged("", "", {}, {"": str(file)})
    if parent.value is None:
        return gather(_BASE, extending)
    name = parent.read(Annotated[str, filled])
    beside = file.parent / name
    try:
        return gather(str(beside) if _is_file_name(name) else name, extending)
    except ConfigError as error:
        raise DataError(str(error), file=file, field="extends") from None


def _find(name: str, extending: tuple[str, ...]) -> tuple[Path, str]:
    """File and split of a name; the split is empty where the name has none."""
    path = Path(name)
    if _is_file_name(name):
        for file, split in ((path, ""), (path.parent, path.name)):
            if file.suffix in _SUFFIXES and file.is_file():
                return file, split
        raise ConfigError(f"no world file {name}")
    known, (above, _, last) = _files(), name.rpartition("/")
    stem, split = (name, "") if name in known else (above, last)
    if stem not in known or (stem == _BASE and not extending):
        raise ConfigError(f"unknown world {name!r}{hint(name, presets())}, or a file ending in .yaml")
    return known[stem], split


def _is_file_name(name: str) -> bool:
    return any(part.endswith(_SUFFIXES) for part in Path(name).parts[-2:])


def _read(file: Path) -> dict[str, Any]:
    """The content of a world file, to be changed at will; presets are parsed once, which takes most of the time."""
    return deepcopy(_preset(file)) if file.is_relative_to(_FOLDER) else _parsed(file)


@cache
def _preset(file: Path) -> dict[str, Any]:
    return _parsed(file)


def _parsed(file: Path) -> dict[str, Any]:
    content = read_yaml(file)
    if not isinstance(content, dict):
        raise DataError("not a world file", file=file, expected="names with values", found=type(content).__name__)
    return content


def is_drawn(camera: Mapping[Any, Any]) -> bool:
    """Whether a camera is drawn scene by scene: it says where it stands as seen from its target."""
    return any(key in camera for key in ("azimuth", "elevation", "distance"))


def is_other(below: Mapping[Any, Any], layer: Mapping[Any, Any]) -> bool:
    """Whether a layer makes a fixed camera a drawn one, or the other way round."""
    return is_drawn(layer) if "position" in below else "position" in layer


def _lay_over(
    values: dict[str, Any], origins: dict[str, str], layer: Mapping[Any, Any], file: str, at: str
) -> None:
    """Mappings are laid over key by key, everything else is replaced.

    Two things are never mixed from two files: `shapes`, and a fixed camera with a drawn one.

    Meshes and pictures are looked for beside the file that names them.
    """
    for key, value in layer.items():
        path = f"{at}.{key}" if at else str(key)
        below = values.get(key)
        if _FILE.fullmatch(path) and isinstance(value, str):
            value = str((Path(file).parent / value).resolve())
        if isinstance(value, dict) and path.rpartition(".")[2] != "shapes":
            if isinstance(below, dict) and _CAMERA.fullmatch(path) and is_other(below, value):
                below = {}
            values[key] = dict(below) if isinstance(below, dict) else {}
            origins[path] = file
            _lay_over(values[key], origins, value, file, path)
        else:
            values[key] = value
            origins[path] = file
