"""Draw what a VDPM has learned: its filters as glyphs, and what it finds in pictures of cad/val.

``PYTHONPATH=src python docs/pages/part_models.py out/models/vdpm-8.safetensors --category car`` reads a file that
``benchmarks/viewpoint.py --out out`` made, draws pictures of cad/val that show a car whole, and writes
docs/results/viewpoint/vdpm.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import sightline as sl
from sightline.models.dpm.filters import ComponentFilters, Dpm
from sightline.models.dpm.hog import CELL
from sightline.models.dpm.model import DpmModel
from sightline.models.nets.checkpoints import load_checkpoint

LEAST = -0.5
"""Score of the least sure box that is drawn."""
GLYPH = 16
"""Pixels of a root cell's side in the figure."""
PAPER, INK, MARK = (255, 255, 255), (40, 40, 48), (222, 96, 20)
FONT = Path(__file__).parents[2] / "src" / "sightline" / "show" / "fonts"


def strokes(weights: np.ndarray, side: int) -> np.ndarray:
    """Grey picture of a filter (31, rows, columns): in each cell strokes along edges, by their weight above 0."""
    rows, columns = weights.shape[1:]
    energy = np.maximum(weights[:9], 0) + np.maximum(weights[9:18], 0) + np.maximum(weights[18:27], 0)
    picture = np.zeros((rows * side, columns * side))
    y, x = (np.mgrid[:side, :side] + 0.5) / side - 0.5
    for o in range(9):
        turn = np.pi * o / 9  # of the gradient; the edge is across it
        line = np.exp(-(((x * np.cos(turn) + y * np.sin(turn)) * side / 1.1) ** 2)) * (np.hypot(x, y) < 0.5)
        picture += np.kron(energy[o], line)
    return picture


def glyphs(filters: ComponentFilters) -> Image.Image:
    """The root, and beside it the parts where they cost nothing, each outlined."""
    shape = filters.shape
    root = strokes(filters.root.numpy(), GLYPH)
    fine = np.zeros_like(root)
    boxes = []
    for (row, column), part in zip(shape.anchors, filters.parts.numpy(), strict=True):
        drawn = strokes(part, GLYPH // 2)
        top, left = row * GLYPH // 2, column * GLYPH // 2
        place = fine[top : top + drawn.shape[0], left : left + drawn.shape[1]]
        np.maximum(place, drawn, out=place)
        boxes.append((left, top, left + drawn.shape[1] - 1, top + drawn.shape[0] - 1))
    panels = []
    for grey in (root, fine):
        share = np.clip(grey / max(np.percentile(grey, 99.5), 1e-9), 0, 1)[..., None]
        panels.append(Image.fromarray((np.array(PAPER) * (1 - share) + np.array(INK) * share).astype(np.uint8)))
    pen = ImageDraw.Draw(panels[1])
    for box in boxes:
        pen.rectangle(box, outline=(200, 200, 206))
    both = Image.new("RGB", (panels[0].width * 2 + 6, panels[0].height), PAPER)
    both.paste(panels[0], (0, 0))
    both.paste(panels[1], (panels[0].width + 6, 0))
    return both


def pictures(category: str, count: int, seed: int, size: tuple[int, int]) -> list[np.ndarray]:
    """Pictures of cad/val in which an object of the class is seen whole."""
    shown: list[np.ndarray] = []
    for scene in sl.generate("cad/val", scenes=30 * count, size=size, seed=seed, depth=None):
        whole = [s.object_id for s in scene.sightings if not s.flags and (s.occluded_fraction or 0.0) < 0.1]
        if any(thing.category == category for thing in scene.objects if thing.id in whole):
            shown.append(scene.views[0].image())
        if len(shown) == count:
            break
    return shown


def found(
    model: DpmModel, category: str, pixels: np.ndarray, font: ImageFont.FreeTypeFont, *, most: int = 2
) -> Image.Image:
    """A picture with the surest boxes of a class and their azimuths."""
    picture = Image.fromarray(pixels)
    pen = ImageDraw.Draw(picture)
    answers = model.find(pixels, model.features(pixels))
    height, width = pixels.shape[:2]
    mine = np.flatnonzero([name == category for name in answers.categories])
    for i in mine[np.argsort(-answers.scores[mine], kind="stable")][:most]:
        if answers.scores[i] < LEAST:
            continue
        box = (answers.boxes[i] * (width, height, width, height)).tolist()
        pen.rectangle(box, outline=MARK, width=3)
        words = f"{answers.angles[i, 0]:.0f}°"
        left, top = box[0], max(0.0, box[1] - 18)
        pen.rectangle((left, top, left + pen.textlength(words, font) + 8, top + 18), fill=MARK)
        pen.text((left + 4, top + 1), words, PAPER, font)
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, help="a VDPM's file")
    parser.add_argument("--category", default="car")
    parser.add_argument("--pictures", type=int, default=4, help="how many are searched")
    parser.add_argument("--seed", type=int, default=7, help="of the pictures")
    parser.add_argument("--size", type=lambda t: tuple(map(int, t.split("x"))), default=(480, 320))
    parser.add_argument("--to", type=Path, default=Path("docs/results/viewpoint/vdpm.png"))
    args = parser.parse_args()
    net = load_checkpoint(args.weights, Dpm).net
    font = ImageFont.truetype(str(next(FONT.glob("*.ttf"))), 14)
    mine = [c for c in net.config.components if c.category == args.category]
    if not mine or not net.config.views:
        parser.error(f"no views of {args.category!r} in there; it has {', '.join(net.config.categories)}")
    panels = [(f"{c.angles[0]:.0f}°", glyphs(net.of(c))) for c in sorted(mine, key=lambda c: c.angles[0] or 0.0)]
    model = DpmModel(net, device="cpu")
    images = pictures(args.category, args.pictures, args.seed, args.size)
    shown = [found(model, args.category, pixels, font) for pixels in images]
    columns = min(4, len(panels))
    cell = max(p.width for _, p in panels) + 16, max(p.height for _, p in panels) + 28
    rows = -(-len(panels) // columns)
    width = columns * cell[0]
    scale = (width - 8 * (len(shown) - 1)) / sum(p.width for p in shown)
    shown = [p.resize((round(p.width * scale), round(p.height * scale)), Image.Resampling.LANCZOS) for p in shown]
    sheet = Image.new("RGB", (width, rows * cell[1] + max(p.height for p in shown) + 8), PAPER)
    pen = ImageDraw.Draw(sheet)
    for number, (words, panel) in enumerate(panels):
        left, top = number % columns * cell[0], number // columns * cell[1]
        pen.text((left + 2, top + 2), words, INK, font)
        sheet.paste(panel, (left, top + 22))
    left = 0
    for picture in shown:
        sheet.paste(picture, (left, rows * cell[1]))
        left += picture.width + 8
    args.to.parent.mkdir(parents=True, exist_ok=True)
    sheet.quantize(128).save(args.to, optimize=True)
    print(f"{args.to}: {sheet.width}×{sheet.height}, {args.to.stat().st_size:,} bytes, cells of {CELL} pixels")


if __name__ == "__main__":
    main()
