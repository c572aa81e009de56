"""How many mesh files found in a folder become shapes, repaired or as they are, and why the others do not.

    python benchmarks/own_meshes.py --folder DIR [--write]

Every OBJ, GLB, STL and OFF file below the folder, those in zip archives and in furniture catalogues (.sh3f, y up)
included, is loaded as a world loads a mesh of the user's. The peer is trimesh, and the question whether what it
reads is watertight: the first edition of our worlds took no other file.
"""

from __future__ import annotations

import argparse
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import numpy as np
import trimesh

from render import RESULTS, table
from sightline.errors import DataError
from sightline.worlds.shapes.meshes import UP, load_mesh

ARCHIVES = (".zip", ".sh3f")


class Loaded(NamedTuple):
    """One file: whether trimesh finds it watertight, the words of the refusal, closed, its parts, CPU seconds."""

    watertight: bool
    refused: str
    closed: bool
    textured: bool
    glass: bool
    faces: int
    seconds: float


def loaded(file: Path, up: Literal["y"] | None) -> Loaded:
    """Load one file, by trimesh first; `up` where it is not the usual axis."""
    try:
        watertight = bool(trimesh.load(file, force="mesh").is_watertight)
    except Exception:  # whatever its parsers raise
        watertight = False
    started = time.process_time()
    try:
        made = load_mesh(file, up=up)
    except DataError as error:
        return Loaded(watertight, error.problem, False, False, False, 0, time.process_time() - started)
    seconds = time.process_time() - started
    textured = any(slot.texture is not None for slot in made.slots)
    glass = any(slot.material is not None and slot.material.transmission > 0.0 for slot in made.slots)
    return Loaded(watertight, "", made.closed, textured, glass, len(made.faces), seconds)


def sources(folder: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Mesh files by where they come from: a file or folder in the folder, or an archive."""
    loose: dict[Path, list[Path]] = {}
    for file in _meshes(folder):
        loose.setdefault(folder / file.relative_to(folder).parts[0], []).append(file)
    yield from loose.items()
    for archive in sorted(file for file in folder.rglob("*") if file.suffix.lower() in ARCHIVES):
        with TemporaryDirectory() as place, zipfile.ZipFile(archive) as packed:
            packed.extractall(place)
            yield archive, _meshes(Path(place))


def _meshes(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in UP)


def row(source: str, results: list[Loaded]) -> dict[str, Any]:
    """One line of the table."""
    usable = [one for one in results if not one.refused]
    seconds = [one.seconds for one in usable] or [float("nan")]
    return {
        "source": source,
        "files": len(results),
        "watertight to trimesh": sum(one.watertight for one in results),
        "loaded": len(usable),
        "closed": sum(one.closed for one in usable),
        "drawn from both sides": sum(not one.closed for one in usable),
        "with textures": sum(one.textured for one in usable),
        "with glass": sum(one.glass for one in usable),
        "triangles, median and most": f"{np.median([one.faces for one in usable] or [0]):,.0f}, "
        f"{max([one.faces for one in usable] or [0]):,}",
        "CPU seconds, median and most": f"{np.median(seconds):.2f}, {max(seconds):.1f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the files are")
    parser.add_argument("--write", action="store_true", help="keep the results under docs/results/worlds/")
    args = parser.parse_args()
    rows, refused = [], Counter[str]()
    for source, files in sources(args.folder):
        results = [loaded(file, "y" if source.suffix == ".sh3f" else None) for file in files]
        rows.append(row(source.name, results))
        refused.update(one.refused for one in results if one.refused)
        print(table(rows[-1:]), flush=True)
    words = ", ".join(f"*{problem}* ({count})" for problem, count in refused.most_common()) or "none"
    text = f"{table(rows)}\nRefused: {words}.\n"
    print(text)
    if args.write:
        (RESULTS / "own_meshes.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
