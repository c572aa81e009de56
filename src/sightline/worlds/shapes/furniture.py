"""Furniture catalogues of Sweet Home 3D (.sh3f): a zip with a list of pieces and their OBJ models.

``PluginFurnitureCatalog.properties`` lists pieces by number: ``id``, ``name``, ``model`` (a path in the zip),
``width``, ``depth``, ``height`` in centimetres and maybe ``modelRotation``, 3 × 3. A piece is stretched to its
size; y is up and the front towards +z there. Its category is PASCAL3D+'s where its name says so (or its tags, for
vehicles, often called by their make), as VOC's annotators were told: no stool is a chair, no desk or coffee
table a dining table. Else its category is its name.
"""

from __future__ import annotations

import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from sightline.errors import DataError
from sightline.files import DAMAGED, regular_size
from sightline.worlds.shapes.mesh_files import read_triangles
from sightline.worlds.shapes.meshes import solid_of
from sightline.worlds.solids import Solid

CATALOGUE: Final = "PluginFurnitureCatalog.properties"
WORDS: Final = {
    "aeroplane": "aeroplane airplane plane aircraft biplane glider",
    "bicycle": "bicycle bike tricycle",
    "boat": "boat ship sailboat rowboat yacht",
    "bottle": "bottle flask",
    "bus": "bus coach minibus",
    "car": "car automobile sedan hatchback suv pickup van",
    "chair": "chair armchair deckchair highchair",
    "diningtable": "table",
    "motorbike": "motorbike motorcycle moped scooter",
    "sofa": "sofa couch settee",
    "train": "train locomotive",
    "tvmonitor": "tv television monitor",
}
"""Words for what a thing is, by the category of PASCAL3D+ that they mean."""

OTHER: Final = {
    "": "toy game truck lorry tractor",
    "bicycle": "indoor exercise",
    "diningtable": "bedside nightstand coffee side desk dressing changing console technical office",
    "motorbike": "bicycle bike",
}
"""Words, beside those, for another thing: of any category, then of one."""

_CATEGORY: Final = {word: category for category, words in WORDS.items() for word in words.split()}
_OTHER: Final = {category: {*OTHER[""].split(), *OTHER.get(category, "").split()} for category in WORDS}
_MOST_PIECES: Final = 10_000
_MOST_BYTES: Final = 1 << 28
"""Bytes that a model and what belongs to it may unpack to."""

_KEPT: Final = (".obj", ".mtl", ".jpg", ".jpeg", ".png", ".bmp", ".gif")
_PROPERTY: Final = re.compile(r"\s*([A-Za-z]+)#(\d+)\s*[=:]\s*(.*)")
_TEXTURE: Final = re.compile(r"\s*(map_\w+|bump|disp|decal|refl)\s", re.IGNORECASE)
_UPRIGHT: Final = np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)])


def is_catalogue(path: Path) -> bool:
    """Whether a file is a furniture catalogue, or a folder has some."""
    return any(file.suffix.lower() == ".sh3f" for file in _files(path))


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.sh3f")) if path.is_dir() else [path]


def read_catalogue(path: Path, skipped: Callable[[DataError], None]) -> Iterator[tuple[Solid, str]]:
    """Pieces of a catalogue, or of a folder of them, as solids named ``category/model``, with the catalogue's name.

    Args:
        path: A .sh3f file or a folder.
        skipped: Told of every piece that cannot be a shape: not OBJ, flat, nothing to stand on.

    Raises:
        DataError: Not a catalogue, or none of its pieces can be a shape.
        MissingExtraError: trimesh is not installed.
    """
    taken: Counter[str] = Counter()
    usable, reason = 0, ""
    for file in _files(path):
        try:
            regular_size(file)  # no pipe, no device
            with zipfile.ZipFile(file) as archive:
                for number, piece in _pieces(archive, file).items():
                    name = _name(piece, number)
                    taken[name] += 1
                    name = name if taken[name] == 1 else f"{name}-{taken[name]}"
                    try:
                        made = _solid(archive, piece, name, file)
                    except DataError as error:
                        reason = f"piece {number} is left out: {error.problem}"
                        skipped(DataError(reason, file=file, row=name))
                    else:
                        usable += 1
                        yield made, file.name
        except DAMAGED as error:
            raise DataError(f"not a furniture catalogue: {error}", file=file) from None
    if not taken:
        raise DataError("folder has no furniture catalogue", file=path, expected="files that end in .sh3f")
    if not usable:
        raise DataError("no piece can be a shape", file=path, expected="OBJ models with a size", found=reason)


def _pieces(archive: zipfile.ZipFile, file: Path) -> dict[int, dict[str, str]]:
    try:
        entry = archive.getinfo(CATALOGUE)
    except KeyError:
        raise DataError("not a furniture catalogue", file=file, expected=CATALOGUE) from None
    if entry.file_size > _MOST_BYTES >> 4:
        raise DataError("the list of pieces is too large", file=file, field=CATALOGUE)
    pieces: dict[int, dict[str, str]] = {}
    for line in archive.read(CATALOGUE).decode("latin-1").splitlines():
        found = _PROPERTY.match(line)
        if found and len(pieces) < _MOST_PIECES:
            pieces.setdefault(int(found[2]), {})[found[1]] = found[3].strip()
    if not pieces:
        raise DataError("lists no piece", file=file, field=CATALOGUE, expected="lines such as model#1=/a/a.obj")
    return pieces


def _name(piece: dict[str, str], number: int) -> str:
    title = _words(piece.get("name", ""))
    category = category_of(title, _words(piece.get("tags", "")), _words(piece.get("category", "")))
    own = "-".join(title)[:60] or "unnamed"
    category = category or (f"other-{own}" if own in WORDS else own)
    model = re.sub(r"[^A-Za-z0-9_]+", "-", piece.get("id", "").partition("#")[2]).strip("-")[:60]
    return f"{category}/{model or number}"


def category_of(title: Sequence[str], tags: Sequence[str], group: Sequence[str]) -> str | None:
    """PASCAL3D+'s category of a piece, from the words of its name, its tags and its group; None where it has none.

    >>> category_of(["garden", "chair", "with", "cushion"], [], []), category_of(["coffee", "table"], [], [])
    ('chair', None)
    """
    cut = next(
        (i for i, word in enumerate(title) if i and word in ("with", "on", "of", "for", "seats")), len(title)
    )
    found = _CATEGORY.get(title[cut - 1]) if title else None
    if found is None and "vehicles" in group:
        found = next((_CATEGORY[word] for word in tags if word in _CATEGORY), None)
    beside = {*title, *tags, *group}
    return None if found is None or beside & _OTHER[found] else found


def _words(text: str) -> list[str]:
    """Words in small letters without accents, which a catalogue writes as numbers."""
    whole = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda found: chr(int(found[1], 16)), text)
    return re.findall(r"[a-z]+", re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFKD", whole)).lower())


def _solid(archive: zipfile.ZipFile, piece: dict[str, str], name: str, file: Path) -> Solid:
    size = _numbers(piece, "width", 1) + _numbers(piece, "height", 1) + _numbers(piece, "depth", 1)
    turn = np.array(_numbers(piece, "modelRotation", 9) if "modelRotation" in piece else np.eye(3).ravel())
    with TemporaryDirectory() as folder:
        read = read_triangles(_unpacked(archive, piece.get("model", ""), Path(folder)))
    turned = read.vertices @ turn.reshape(3, 3).T
    extent = np.ptp(turned, axis=0)
    if not (extent > 0.0).all():
        raise DataError("the mesh is flat", file=file)
    upright = turned * (np.array(size) / extent) @ _UPRIGHT.T
    return solid_of(read._replace(vertices=upright), name, file)


def _numbers(piece: dict[str, str], key: str, count: int) -> list[float]:
    try:
        numbers = [float(part) for part in piece.get(key, "").split()]
    except ValueError:
        numbers = []
    if len(numbers) != count or not np.isfinite(numbers).all() or (count == 1 and not 0.0 < numbers[0] < 1e6):
        raise DataError(f"{key} is not {count} numbers", found=piece.get(key))
    return numbers


def _unpacked(archive: zipfile.ZipFile, model: str, folder: Path) -> Path:
    """The model's OBJ file with the materials and textures beside it, unpacked; names cannot lead elsewhere."""
    inside = PurePosixPath(model.lstrip("/"))
    if inside.suffix.lower() != ".obj":
        raise DataError(f"model is not an OBJ file: {model}")
    wanted = [e for e in archive.infolist() if PurePosixPath(e.filename).parent == inside.parent and not e.is_dir()]
    wanted = [e for e in wanted if PurePosixPath(e.filename).suffix.lower() in _KEPT]
    names = {PurePosixPath(e.filename).name for e in wanted}
    if inside.name not in names or sum(e.file_size for e in wanted) > _MOST_BYTES:
        raise DataError(f"model is missing or too large: {model}")
    for entry in wanted:
        name, data = PurePosixPath(entry.filename).name, archive.read(entry)
        if name.lower().endswith(".mtl"):
            data = _own_textures(data, names)
        (folder / name).write_bytes(data)
    return folder / inside.name


def _own_textures(materials: bytes, names: set[str]) -> bytes:
    """Materials without textures that are not among the unpacked files: no path is followed."""
    lines = materials.decode("latin-1").splitlines()
    kept = [line for line in lines if not _TEXTURE.match(line) or line.split()[-1] in names]
    return "\n".join(kept).encode("latin-1")
