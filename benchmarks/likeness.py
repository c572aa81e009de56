"""Likeness of the fast back end to Cycles, over objects and over whole pictures, and speed at equal likeness.

    python benchmarks/likeness.py [--sets kitchen,val_size] [--scenes 10] [--seed 5] [--again 3] [--write]

The reference is Cycles with 512 samples a pixel and no denoiser. Likeness is PSNR in dB of 8-bit pictures, over the
union of the objects' visible masks and over the whole picture; a set's figure is the mean of its scenes' dB. Beside
ours stand Cycles at 512 samples with another seed (on the first ``--again`` scenes) and with few samples and a
denoiser. Radiance by Cycles is kept in ``--cache``, so a reference is drawn once (about 160 CPU s each) whatever
becomes of the tone curve; with ``--drawn`` Blender is never started, and what is not in the cache is left out.
Times are CPU seconds of one core; a ratio is only of times taken on this machine.

``--settings`` compares several settings of the fast back end instead: dB over objects and CPU time.

``--write`` keeps the tables in docs/results/worlds/, and in docs/_static/worlds/ the gallery's pictures: the first
two scenes of each set as the first edition drew them (docs/_static/worlds/before/, by commit 5430f45), as they are
drawn now, and by Cycles.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from render import RESULTS, VIEW, calibrate, processor, psnr, shaded_seconds, table, ten_scenes
from render_cuda import TRIED as CARD_TRIED
from sightline.render.blender.jobs import BlenderSettings, write
from sightline.render.blender.process import render
from sightline.render.fast import FastRenderer, Settings
from sightline.render.tones import encoded
from sightline.worlds import Layout, arrange, load_world

SETS = ("kitchen", "val_size", "val_op", "invented")
REFERENCE = BlenderSettings(512, denoise=False)
AGAIN = BlenderSettings(512, denoise=False, seed=1)
FEW = tuple(BlenderSettings(samples) for samples in (1, 2, 4, 8, 16, 32))
DENOISED = FEW[2]
TRIED: tuple[dict[str, int], ...] = (
    *CARD_TRIED,
    {"edge_samples": 6},
    {"mirror_rays": 8},
    {"edge_samples": 24, "mirror_rays": 8, "dome": 16, "shadow_most": 48, "objects_most": 48},
)
"""Settings that ``--settings`` compares, as they differ from the default; the first are timed on a card too."""

GALLERY = RESULTS.parents[1] / "_static" / "worlds"
SHOWN = 2
LABELS = ("before", "now", "Cycles 512")
Light = np.ndarray
"""Radiance, (H, W, 3) float32."""


def scenes_of(name: str, count: int, seed: int) -> list[Layout]:
    """The first scenes of a GeoSpa split with one seed, or the kitchen's ten."""
    if name == "kitchen":
        return ten_scenes()[:count]
    return [arrange(load_world(f"geospa/{name}"), seed, index) for index in range(count)]


def machine() -> str:
    """Host and processor that times were taken on."""
    return f"{platform.node()} {processor()}"


class Cycles:
    """Radiance by Cycles with the CPU seconds it took, kept in a folder; drawn where missing, unless `closed`."""

    def __init__(self, folder: Path, *, closed: bool = False) -> None:
        self._folder, self._closed = folder, closed
        folder.mkdir(parents=True, exist_ok=True)

    def draw(self, layouts: Sequence[Layout], settings: BlenderSettings) -> list[tuple[Light, float | None]]:
        """Radiance of each layout's view, and the CPU seconds it took; None where another machine drew it.

        Nothing at all where a picture is missing and none may be drawn.
        """
        files = [self._file(layout, settings) for layout in layouts]
        todo = [i for i, file in enumerate(files) if not file.exists()]
        if todo and self._closed:
            return []
        if todo:
            begun = _children()
            work = [(layouts[i], [s for s in layouts[i].shots if s.name == VIEW]) for i in todo]
            drawn = [arrays["light"] for arrays in render(work, settings)]
            seconds = (_children() - begun) / len(todo)  # the start of Blender shared out
            for i, light in zip(todo, drawn, strict=True):
                np.savez_compressed(files[i], light=light.astype(np.float16), seconds=seconds, machine=machine())
        return [self._read(file) for file in files]

    def has(self, layout: Layout, settings: BlenderSettings) -> bool:
        """Whether a picture has been drawn."""
        return self._file(layout, settings).exists()

    def _file(self, layout: Layout, settings: BlenderSettings) -> Path:
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as scratch:
            write(Path(scratch), [(layout, [s for s in layout.shots if s.name == VIEW])], settings)
            digest = hashlib.sha256((Path(scratch) / "job.json").read_bytes())
            with np.load(Path(scratch) / "meshes.npz") as arrays:
                for name in arrays.files:
                    digest.update(arrays[name].tobytes())
        return self._folder / f"{digest.hexdigest()[:20]}.npz"

    @staticmethod
    def _read(file: Path) -> tuple[Light, float | None]:
        with np.load(file) as kept:
            here = str(kept["machine"]) == machine()
            return kept["light"].astype(np.float32), float(kept["seconds"]) if here else None


def _children() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def object_psnr(image: np.ndarray, peer: np.ndarray, ids: np.ndarray) -> float:
    """PSNR over the pixels of objects, dB."""
    return psnr(image[ids > 0], peer[ids > 0])


def likeness(name: str, layouts: Sequence[Layout], cycles: Cycles, again: int) -> dict[str, Any]:
    """One set: dB of ours, of Cycles' other seed and of few samples; CPU seconds of each."""
    renderer = FastRenderer()
    frames = [renderer.frames(layout, [VIEW])[0] for layout in layouts]
    ids = [frame.ids for frame in frames]
    drawn = cycles.draw(layouts, REFERENCE)
    peers = [encoded(light) for light, _ in drawn]

    def against(images: Iterable[np.ndarray]) -> tuple[float, float, float]:
        rows = [(object_psnr(a, b, i), psnr(a, b)) for a, b, i in zip(images, peers, ids, strict=False)]
        objects, whole = zip(*rows, strict=True)
        return float(np.mean(objects)), float(min(objects)), float(np.mean(whole))

    found: dict[str, Any] = {"set": name, "scenes": len(layouts)}
    images = [frame.image for frame in frames if frame.image is not None]
    found["ours"] = (*against(images), float(np.mean([shaded_seconds(layout) for layout in layouts])))
    found["each"] = [object_psnr(a, b, i) for a, b, i in zip(images, peers, ids, strict=True)]
    seconds = [s for _, s in drawn]
    found["512"] = None if None in seconds else float(np.mean(seconds))
    if again and (other := cycles.draw(layouts[:again], AGAIN)):
        found["again"] = against(encoded(light) for light, _ in other)
    for settings in FEW:
        few = cycles.draw(layouts, settings)
        if not few:
            continue
        spent = [s for _, s in few]
        likes = against(encoded(light) for light, _ in few)
        found[f"few {settings.samples}"] = (*likes, None if None in spent else float(np.mean(spent)))
        if likes[0] >= found["ours"][0] and settings.samples >= DENOISED.samples:
            break
    found["pictures"] = list(zip(images, peers, strict=True))[:SHOWN]
    return found


def side_by_side(name: str, pictures: Sequence[tuple[np.ndarray, np.ndarray]]) -> Image.Image:
    """Scenes of a set, one a row: as the first edition drew them, as they are drawn now, by Cycles."""
    sys.path.append(str(GALLERY.parents[1] / "pages"))
    from gallery import grid, tile

    tiles = []
    for i, (now, peer) in enumerate(pictures):
        with Image.open(GALLERY / "before" / f"{name}_{i}.webp") as before:
            row = (before.convert("RGB"), Image.fromarray(now), Image.fromarray(peer))
        labels = LABELS if i == 0 else ("",) * len(LABELS)  # once: they lie on the pictures
        tiles += [tile(image, label, text=15) for image, label in zip(row, labels, strict=True)]
    return grid(tiles, len(LABELS))


def rows_of(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The table: a row a set."""
    rows = []
    for one in found:
        objects, worst, whole, ours = one["ours"]
        few = one.get(f"few {DENOISED.samples}")
        equal = next(((k, v) for k, v in one.items() if k.startswith("few") and v[0] >= objects), None)
        ratio = "–"
        if equal is not None and equal[1][3] is not None:
            ratio = f"{equal[1][3] / ours:,.0f} × ({equal[0].split()[1]} samples, denoised)"
        rows.append(
            {
                "set": one["set"],
                "scenes": one["scenes"],
                "objects, dB": objects,
                "worst scene": worst,
                "whole picture": whole,
                "Cycles 512, other seed": one["again"][0] if "again" in one else "–",
                f"Cycles {DENOISED.samples} + denoiser": few[0] if few else "–",
                "views/s a core": 1 / ours,
                "faster than Cycles at equal likeness": ratio,
                "than 512": "–" if one["512"] is None else f"{one['512'] / ours:,.0f} ×",
            }
        )
    return rows


def settings_rows(sets: dict[str, list[Layout]], cycles: Cycles) -> list[dict[str, Any]]:
    """Likeness against time: a row for each of the settings tried."""
    rows = []
    for changed in TRIED:
        settings = replace(Settings(), **changed)
        row: dict[str, Any] = {"settings": ", ".join(f"{k}={v}" for k, v in changed.items()) or "default"}
        for name, layouts in sets.items():
            peers = [encoded(light) for light, _ in cycles.draw(layouts, REFERENCE)]
            frames = [FastRenderer(settings).frames(layout, [VIEW])[0] for layout in layouts]
            likes = [
                object_psnr(f.image, p, f.ids) for f, p in zip(frames, peers, strict=True) if f.image is not None
            ]
            row[f"{name}, dB"] = float(np.mean(likes))
            seconds = [shaded_seconds(layout, settings=settings) for layout in layouts]
            row[f"{name}, ms"] = round(1e3 * float(np.mean(seconds)))
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--scenes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=5, help="of the splits' scenes; settings were chosen on 0")
    parser.add_argument("--again", type=int, default=3, help="scenes to draw with another seed too")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "sightline" / "cycles")
    parser.add_argument("--drawn", action="store_true", help="start no Blender: only what has been drawn")
    parser.add_argument("--draw", action="store_true", help="draw references, one of each set in turn, and stop")
    parser.add_argument("--settings", action="store_true", help="compare settings of the fast back end")
    parser.add_argument("--write", action="store_true", help="keep the results under docs/results/worlds/")
    args = parser.parse_args()
    cycles, names = Cycles(args.cache, closed=args.drawn), args.sets.split(",")
    sets = {name: scenes_of(name, args.scenes, args.seed) for name in names}
    if args.draw:
        for index in range(args.scenes):
            for name in names:
                begun = time.monotonic()
                cycles.draw(sets[name][index : index + 1], REFERENCE)
                print(f"{name} {index}: {time.monotonic() - begun:.0f} s", flush=True)
        return
    if args.drawn:
        sets = {name: [one for one in sets[name] if cycles.has(one, REFERENCE)] for name in names}
    title = f"One core of {processor()}; calibration kernel {calibrate():.3f} CPU s\n\n"
    if args.settings:
        text = title + table(settings_rows(sets, cycles))
        print(text)
        if args.write:
            (RESULTS / "settings.md").write_text(text)
        return
    found = [likeness(name, layouts, cycles, args.again) for name, layouts in sets.items() if layouts]
    pictures = {one["set"]: one.pop("pictures") for one in found}
    text = title + table(rows_of(found))
    print(text)
    if args.write:
        (RESULTS / "likeness.md").write_text(text)
        (RESULTS / "likeness.json").write_text(json.dumps(found, indent=1) + "\n")
        for name, shown in pictures.items():
            side_by_side(name, shown).save(GALLERY / f"before_{name}.webp", quality=90, method=6)


if __name__ == "__main__":
    main()
