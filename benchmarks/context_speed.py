"""Speed of the context exam: edits made ahead against a plain loop, and exact removal against full renders.

``python benchmarks/context_speed.py --write`` measures both in one run and writes docs/results/context/speed.md.
Stream and loop show a network the same pictures; the stream makes the edits of the next picture while the network
looks at those of this one. Each is timed several times in turn, so that other work on the machine strikes both.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import sightline as sl
from sightline.exams.context.exam import ContextExam
from sightline.exams.context.items import Ahead, ContextItem, Edits
from sightline.exams.context.records import ask_classify
from sightline.generation import generate
from sightline.render.fast import FastRenderer
from sightline.worlds import arrange, load_world

OUT = Path(__file__).resolve().parents[1] / "docs" / "results" / "context" / "speed.md"
WORLD, VIEW = "context/unbiased", "original"


class Waits:
    """A network that takes so many seconds a picture and leaves the processor free, as one on a card does."""

    def __init__(self, classes: Sequence[str], seconds: float) -> None:
        self.classes, self.seconds = tuple(classes), seconds

    def classify(self, views: Sequence[Any]) -> sl.ClassScores:
        """Logits from the mean of each picture."""
        means = [view.image().mean() for view in views]
        time.sleep(self.seconds * len(views))
        return sl.ClassScores(self.classes, np.repeat(np.array(means)[:, None], len(self.classes), axis=1))


def asked(model: Waits, edits_of: Callable[[ContextItem], Edits], items: Sequence[ContextItem]) -> float:
    """Seconds to ask about all items."""
    begun = time.perf_counter()
    for item in items:
        ask_classify(model, edits_of(item), model.classes)
    return time.perf_counter() - begun


def streams(folder: Path, scenes: int, repeats: int) -> list[tuple[str, float, float]]:
    """(fill, seconds of the plain loop, seconds of the stream), medians, for as many pictures."""
    data = generate(WORLD, folder / "data", scenes=scenes, seed=7)
    rows = []
    for fill in ("telea", "exact"):
        exam = ContextExam(fill=fill)
        items = exam.items(data)
        classes = exam.classes(data)[0]
        edits = [exam.edits(item) for item in items]
        pictures = sum(len(one.shown) for one in edits)
        begun = time.perf_counter()
        for one in edits:
            for view in one.views:
                view.image()
        model = Waits(classes, (time.perf_counter() - begun) / pictures)  # as slow as the edits: the hardest case
        plain, ahead = [], []
        for repeat in range(repeats):
            os.environ["SIGHTLINE_CACHE"] = str(folder / f"{fill}-{repeat}-a")  # nothing found again
            plain.append(asked(model, exam.edits, items))
            os.environ["SIGHTLINE_CACHE"] = str(folder / f"{fill}-{repeat}-b")
            ahead.append(asked(model, Ahead(exam.edits, items).edits, items))
        rows.append((fill, median(plain), median(ahead)))
    return rows


def removals(scenes: int, repeats: int) -> tuple[float, float, int]:
    """Median seconds of a full render and of a counterfactual, over every object of some scenes; how many."""
    world, renderer = load_world(WORLD), FastRenderer()
    layouts = [arrange(world, 3, i) for i in range(scenes)]
    for layout in layouts[:2]:  # compiled once
        renderer.frames(layout, [VIEW])
    whole, without = [], []
    for _ in range(repeats):
        for layout in layouts:
            shot = next(shot for shot in layout.shots if shot.name == VIEW)
            begun = time.perf_counter()
            renderer.frames(layout, [VIEW])
            whole.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            for number in range(len(layout.objects)):
                renderer.counterfactual(layout, shot, number)
            without.append((time.perf_counter() - begun) / len(layout.objects))
    return median(whole), median(without), sum(len(layout.objects) for layout in layouts)


def report(rows: Sequence[tuple[str, float, float]], removal: tuple[float, float, int], args: Any) -> str:
    """Both tables, as Markdown."""
    size = "×".join(map(str, load_world(WORLD).resolution))
    lines = [
        f"{args.scenes} scenes of `{WORLD}`, {size} pixels, {args.repeats} times in turn, medians. The network "
        "takes as long a picture as its edit, without the processor: there the stream can gain most, 2.",
        "",
        "| fill | plain loop, s | made ahead, s | ratio |",
        "|---|---:|---:|---:|",
        *(f"| {fill} | {plain:.2f} | {ahead:.2f} | {plain / ahead:.2f} |" for fill, plain, ahead in rows),
        "",
        f"Exact removal of one of {removal[2]} objects against a full render of the same scene, which was drawn "
        "just before:",
        "",
        "| full render, ms | without an object, ms | share |",
        "|---:|---:|---:|",
        f"| {1e3 * removal[0]:.0f} | {1e3 * removal[1]:.0f} | {removal[1] / removal[0]:.2f} |",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"write {OUT.name}")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = report(streams(Path(folder), args.scenes, args.repeats), removals(args.scenes, args.repeats), args)
    print(text)
    if args.write:
        OUT.parent.mkdir(parents=True, exist_ok=True)
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
