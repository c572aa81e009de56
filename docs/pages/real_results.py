"""Public networks on public photos, every exam they can take there; writes docs/results/real.md.

    python docs/pages/real_results.py            # print the page
    python docs/pages/real_results.py --write    # and replace docs/results/real.md

Needs the photos (SIGHTLINE_DATA, else ../shared/data: coco-lightly, coco-tiny, ade20k, cocoa-demo) and the weights
(SIGHTLINE_WEIGHTS, else ../shared/weights); takes some minutes on two cores. No photo or part of one is written:
mistakes are drawn without them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

import sightline
from sightline.exams.context.exam import ContextExam
from sightline.exams.relations.drawing import spoken, worst_examples
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.relations.marks import mark_pairs
from sightline.exams.results import ExamResults
from sightline.exams.turing.vocabulary.english import with_article
from sightline.show.table import Cell, Row, Table
from sightline.store import Dataset, write
from sightline.store.formats import pick

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data"))
WEIGHTS = Path(os.environ.get("SIGHTLINE_WEIGHTS", ROOT.parent / "shared" / "weights"))

DEPTH = f"depth:onnx={WEIGHTS / 'fastdepth_7.onnx'}"
DETECTOR = f"tflite:{WEIGHTS / 'efficientdet-lite2.tflite'}"
SEGMENTER = f"tflite:{WEIGHTS / 'deeplabv3.tflite'}"
MODELS = {
    "FastDepth": DEPTH,
    "EfficientDet + FastDepth": f"{DEPTH}+{DETECTOR}",
    "EfficientDet, best box": f"best_box+{DETECTOR}",
    "DeepLab": SEGMENTER,
}
"""Name on the page → the model."""

SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "ade20k": ("ade20k/ADE20K_2021_17_01", {}),
    "cocoa": ("cocoa-demo", {}),
    "coco-lightly": ("coco-lightly/panoptic_segmentation", {"images": DATA / "coco-lightly" / "images"}),
    "coco-tiny": ("coco-tiny", {"split": "validation"}),
}
"""Name on the page → where it lies and how it is read."""


@dataclass(frozen=True)
class Photos:
    """The sets of photos, imported into a folder, and how many of them are asked about."""

    folder: Path
    most: int

    @cached_property
    def sets(self) -> dict[str, Dataset]:
        """Import every set; name → dataset."""
        opened = {}
        for name, (place, how) in SOURCES.items():
            parts = pick(DATA / place).read(DATA / place, **how)
            opened[name] = write(parts, self.folder / name, source=name, copy=True, ordered=True)
        return opened

    def take(self, name: str, exam: Any, models: Sequence[str], **how: Any) -> ExamResults:
        """Let models take an exam over one set."""
        specs = [MODELS[model] for model in models]
        runs = self.folder / f"runs-{name}"
        results = sightline.examine(specs, self.sets[name], exam, out=runs, names=models, **how)
        return results.exams[0]


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    made = [Row(str(first), tuple(Cell(str(value)) for value in rest)) for first, *rest in rows]
    return Table("", tuple(columns), tuple(made)).to_markdown()


def chosen(results: ExamResults, *beginnings: str) -> Iterator[str]:
    """The printed tables whose titles begin so, each under its title."""
    for table in results.tables():
        if isinstance(table, Table) and table.title.startswith(beginnings):
            yield f"*{table.title}*"
            yield table.to_markdown()


def decidable_part(photos: Photos) -> Iterator[str]:
    yield "## What can be asked"
    yield (
        "Nobody labelled depth in these photos. What the relations exam may ask is what the annotations "
        "decide: who hides whom, where outlines were drawn with their hidden parts (COCOA) or in layers "
        "(ADE20K), and which of two regions that overlap lies in front (COCOA). Everything else is left out "
        "by the exam itself, and it says so."
    )
    rows = []
    for name, data in photos.sets.items():
        tables = data.tables()
        labels = Counter(tables.relations["aspect"].to_list())
        whole = tables.sightings["amodal_mask"].count()
        counts = (len(data), tables.sightings.height, tables.sightings["visible_mask"].count(), whole)
        rows.append((name, *(f"{n:,}" for n in (*counts, labels["occlusion"], labels["depth"]))))
    columns = ("", "photos", "boxes", "masks", "whole outlines", "pairs: who hides whom", "pairs: who is in front")
    yield grid(columns, rows)


def relations_part(photos: Photos) -> Iterator[str]:
    yield "## Who hides whom, on annotated boxes"
    yield (
        "FastDepth's map of each photo, and the paper's depth rule on it: the smaller mean depth is closer, "
        "and of two boxes that overlap the closer hides the other. With three and five photos the intervals "
        "are as wide as they look: nothing here shows that looking helped."
    )
    for name in ("ade20k", "cocoa"):
        yield f"### {name}"
        yield from chosen(photos.take(name, "relations", ["FastDepth"]), "F1, default protocol, all pairs")
    yield "## The same on boxes that the detector found"
    yield (
        "EfficientDet finds the objects, FastDepth orders them. A pair counts where both of its boxes were "
        "found with an IoU above 0.5; what was not found is a miss. So these figures are bounded by the "
        "detector, whose 80 classes cover few of the annotated regions."
    )
    for name in ("ade20k", "cocoa"):
        exam = RelationsExam(boxes="detected")
        results = photos.take(name, exam, ["EfficientDet + FastDepth"], baselines=False)
        yield f"### {name}, detected boxes"
        yield from chosen(results, "F1, default protocol, all pairs")


def consistency_part(photos: Photos) -> Iterator[str]:
    yield "## Consistent, without a truth"
    yield (
        f"Boxes of {photos.most} photos each, no labels: how often FastDepth keeps its answer when the picture "
        f"is mirrored, compressed (JPEG) or moved by some pixels, beside rules that do not look and so hardly "
        f"change; and how often it says what such a rule says. This is consistency, not correctness."
    )
    for name in ("coco-lightly", "coco-tiny"):
        results = photos.take(name, RelationsExam(no_truth=True), ["FastDepth"], limit=photos.most)
        yield f"### {name}, no truth"
        yield from chosen(results, "The same answer when the picture is changed: depth", "Agreement: depth")


def context_part(photos: Photos) -> Iterator[str]:
    yield "## Seen or guessed"
    yield (
        f"The context exam on {photos.most} photos of each set, holes filled by Telea's method: one class of "
        f"objects after another is removed. EfficientDet scores a class by its best box; DeepLab labels "
        f"pixels. V^min is the share of cases in which a class scores lower without *some* other class than "
        f"without itself, V^mean the same of the mean over the others ({{doc}}`../howto/context`): lower is "
        f"better. `class_frequency` says the same of every picture, which violates nothing and tells nothing "
        f"apart: its ties are 1."
    )
    detected = ("violations", "mAP", "removed and still found")
    for name in ("coco-lightly", "coco-tiny"):
        results = photos.take(name, ContextExam(), ["EfficientDet, best box"], limit=photos.most)
        yield f"### {name}, EfficientDet"
        yield from chosen(results, *detected)
    results = photos.take("coco-lightly", ContextExam(), ["DeepLab"], limit=photos.most, baselines=False)
    yield "### coco-lightly, DeepLab"
    yield from chosen(results, "mIoU", "removed and still found")


def without_photos(photos: Photos, name: str) -> Dataset:
    """The same boxes and labels, without the pictures."""
    tables = photos.sets[name].tables()
    views = tables.views.with_columns(image=pl.lit(None, dtype=pl.String))
    return write([replace(tables, views=views)], photos.folder / f"{name}-bare", source=name, ordered=True)


def failures_part(photos: Photos, pictures: Path | None) -> Iterator[str]:
    yield "## See where they fail"
    yield (
        "FastDepth's gravest mistakes, drawn without the photos, which belong to their owners: the boxes it was "
        "asked about, what the annotation says and what it said. The mean depth of a box takes in whatever stands "
        "behind a thin or hollow object, and a box inside another shares its pixels."
    )
    for name in ("ade20k", "cocoa"):
        bare = without_photos(photos, name)
        (result,) = photos.take(name, "relations", ["FastDepth"]).models
        marks = mark_pairs(result.records.rows, RelationsExam().settled(bare).tables(bare))
        for number, example in enumerate(worst_examples(marks, bare, each=2), start=1):
            file = f"{name}-{number}.svg"
            if pictures is not None:
                (pictures / file).write_text(example.svg, encoding="utf-8")
            image = example.images[0]
            first, second = (with_article(image.objects[i].category) for i in example.pair)
            told = f"annotated: {spoken(example.truth)}, FastDepth: {spoken(example.answer)}"
            wrong = example.note.partition(" Right beside")[0]
            yield f"![A is {first}, B {second}; {told}](real/{file})"
            yield f"*{name}: A is {first}, B {second}; {told}. {wrong}*"
    yield (
        "These commands make a card with the worst, typical and perfect items of all these runs, with their "
        "photos, on your machine:"
    )
    yield (
        "```console\n"
        "$ sightline import ade20k/ADE20K_2021_17_01 --out ade\n"
        "$ sightline exam relations --data ade --model depth:onnx=fastdepth_7.onnx --name FastDepth --out runs\n"
        "$ sightline import coco-tiny --split validation --out tiny\n"
        "$ sightline exam context --data tiny --model best_box+tflite:efficientdet-lite2.tflite --out runs\n"
        "$ sightline report runs --examples 10 --out failures.html\n"
        "```"
    )


def page(photos: Photos, pictures: Path | None = None) -> str:
    head = (
        "# Public networks on public photos",
        "EfficientDet-Lite2 (TensorFlow Lite), FastDepth (ONNX), both together, and DeepLab v3 (TensorFlow "
        "Lite), as their authors published them, on photos of COCO and ADE20K: every exam that they and the "
        "annotations allow. None of them says predicates, viewpoints or answers, so those exams are not here. "
        "The sets are small: every figure has a 95 % interval by photo, and where there is none, a single "
        "photo stands behind it.",
        "```console\n$ python docs/pages/real_results.py --write    # this page\n```",
    )
    parts = (head, decidable_part(photos), relations_part(photos), consistency_part(photos), context_part(photos))
    blocks = [block.strip() for part in (*parts, failures_part(photos, pictures)) for block in part]
    return "\n\n".join(blocks) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace docs/results/real.md")
    parser.add_argument("--images", type=int, default=30, help="photos of a set for the exams without pair labels")
    wanted = parser.parse_args()
    for folder in (DATA, WEIGHTS):
        if not folder.is_dir():
            raise SystemExit(f"{folder} is not there: set SIGHTLINE_DATA and SIGHTLINE_WEIGHTS")
    pictures = ROOT / "docs" / "results" / "real" if wanted.write else None
    if pictures is not None:
        pictures.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = page(Photos(Path(folder), wanted.images), pictures)
    if wanted.write:
        (ROOT / "docs" / "results" / "real.md").write_text(made, encoding="utf-8")
    print(made)


if __name__ == "__main__":
    main()
