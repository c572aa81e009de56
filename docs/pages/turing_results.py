"""The Turing exam on VRD, 2.5VRD and a generated world: how long streams are, and whether answers can be guessed.

    python docs/pages/turing_results.py measure worlds vrd vrd25 --work DIR   # → docs/results/turing/*.json
    python docs/pages/turing_results.py page --write                          # → docs/results/turing.md and charts

Needs the real data (SIGHTLINE_DATA, else ../shared/data); `measure` imports it into DIR and generates 21,000 scenes
there (--format none), takes about a quarter of an hour on two cores, and goes on where it stopped. Streams are
about images that nothing was learned from, in an order dealt by their ids.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from _turing_page import SETS, write_page
from sightline.exams.hooks import call_hook
from sightline.exams.turing.annotations.columns import subset
from sightline.exams.turing.annotations.photos import half_of, photo_ids
from sightline.exams.turing.conversation import TimedModel, ask_model
from sightline.exams.turing.exam import TuringExam, TuringItem, views_of
from sightline.exams.turing.measures import KINDS, asked_rows, item_records, rates_by_image
from sightline.exams.turing.monitor import monitor
from sightline.exams.turing.source import EngineStreams
from sightline.exams.turing.vocabulary.files import load_vocabulary
from sightline.generation import generate
from sightline.models import candidate
from sightline.plain import plain
from sightline.skills import Answer
from sightline.stats import intervals
from sightline.store import Dataset, Tables, write
from sightline.store.formats import named

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results" / "turing"
DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data"))
WORLD, TRAIN_SCENES, TEST_SCENES = "geospa/diverse", 20_000, 1_000
BLIND = ("always_yes", "always_no", "turing_engine", "turing_history", "turing_logician")
FEWER_BLIND = ("turing_engine", "turing_logician:images=40")
IMAGES, FEWER = 500, 100

_inherited: dict[str, Any] = {}
"""What the worker processes inherit: the items and the models."""


def exam_of(name: str, work: Path, **changes: Any) -> tuple[TuringExam, Dataset]:
    """The exam of a set and what it asks about; data is made ready in `work` where it is not."""
    words = load_vocabulary(SETS[name].vocabulary)
    if name == "worlds":
        train = generate(WORLD, work / "train", scenes=TRAIN_SCENES, image_format=None, workers=2)
        return TuringExam(train=train, vocabulary=words, **{**SETS[name].settings, **changes}), generate(
            WORLD, work / "test", scenes=TEST_SCENES, seed=1, image_format=None, workers=2
        )
    settings = {**SETS[name].settings, **changes}
    exam = TuringExam(vocabulary=words, closed=True, split="test", train_split="train", **settings)
    return exam, _imported(name, work)


def _imported(name: str, work: Path) -> Dataset:
    folder, outside = work / name, {"vrd": ("vrd", "vrd/vrd.json"), "vrd25": ("2.5vrd", "2.5vrd")}[name]
    if folder.exists():
        return Dataset.open(folder)
    tables = Tables.concat(named(outside[0]).read(DATA / outside[1]))
    if name == "vrd25":  # the pairs across two images are about the same photos, with few objects each
        here = tables.views.filter(pl.col("source") == "within_image")["scene_id"].implode()
        kept = {what: rows.filter(pl.col("scene_id").is_in(here)) for what, rows in tables.frames()}
        photos = photo_ids(Dataset.from_tables(Tables.build(**kept), work))
        learned = [scene for scene, photo in photos.items() if half_of(photo) == 0]
        is_learned = (pl.col("split") == "validation") | pl.col("scene_id").is_in(learned)
        split = pl.when(is_learned).then(pl.lit("train")).otherwise(pl.lit("test")).alias("split")
        tables = Tables.build(**kept | {"views": kept["views"].with_columns(split)})
    return write(tables, folder, source=outside[0])


def measured(
    exam: TuringExam,
    data: Dataset,
    images: int,
    models: Sequence[str],
    training: int | None = None,
    rules: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What comes of one stream about each of so many images, learned from a random part of the training images."""
    begun = time.time()
    streams = exam.source(data)
    assert isinstance(streams, EngineStreams)
    if training is not None:
        rows = np.sort(np.random.default_rng(0).permutation(len(streams.training))[:training])
        fewer = subset(streams.training, rows)
        streams = EngineStreams(replace(streams.source, training=fewer), fewer, streams.images)
    if rules:
        options = replace(streams.source.options, **rules)
        streams = EngineStreams(replace(streams.source, options=options), streams.training, streams.images)
    places = streams.places[:images]
    shown = views_of(data, {scene for scene, _ in places}, None)
    loaded = {name: candidate(name).model for name in models}
    for model in loaded.values():
        call_hook(model, "prepare", exam.name, streams.study)
    timed = {name: TimedModel(model, None) for name, model in loaded.items() if isinstance(model, Answer)}
    _inherited.update(items=[TuringItem(scene, n, shown[scene], streams) for scene, n in places], models=timed)
    streams.source.estimator()  # built once, before the processes part
    with multiprocessing.get_context("fork").Pool(2) as pool:
        told = pool.map(_one, range(len(places)), chunksize=4)
    return _summary(told, exam, list(loaded), len(streams.training)) | {"seconds": round(time.time() - begun)}


def _one(number: int) -> dict[str, Any]:
    item = _inherited["items"][number]
    assert isinstance(item, TuringItem)
    stream, words = item.stream, item.source.vocabulary
    rows: dict[str, Any] = {}
    right: dict[str, list[bool]] = {}
    for name, model in _inherited["models"].items():
        records = item_records(ask_model(stream, item.view, model, words), words)
        rows, right[name] = dict(records.columns), list(records.columns["right"])
    labels = sum(step.label is not None for step in stream.steps)
    return {"scene": item.scene_id, "rows": rows, "right": right, "halted": stream.halted, "labels": labels}


def _summary(
    told: Sequence[Mapping[str, Any]], exam: TuringExam, models: Sequence[str], training: int
) -> dict[str, Any]:
    frames = [
        pl.DataFrame(one["rows"]).with_columns(
            *(pl.Series(f"right {name}", one["right"][name]) for name in models),
            item=pl.lit(one["scene"]),
            cluster_id=pl.lit(one["scene"]),
        )
        for one in told
        if one["rows"]["step"]
    ]
    asked = asked_rows(pl.concat(frames))
    rate = rates_by_image(asked["cluster_id"])
    everything = {"all": np.ones(len(asked), dtype=bool)}
    blind = {name: rate(asked[f"right {name}"].to_numpy(), everything)["all"] for name in models}
    guessers = {
        name: asked.with_columns(right=pl.col(f"right {name}")) for name in models if name.startswith("turing")
    }
    watched = monitor(asked, guessers, epsilon=exam.epsilon).to_dict()
    drawn = np.array([len(one["rows"]["step"]) for one in told])
    ambiguous = np.array([one["rows"]["truth"].count("ambiguous") for one in told])
    length = drawn - ambiguous
    mean = intervals(np.stack([length, np.ones_like(length)], axis=1).astype(float), _ratio, proportion=False)[0]
    return {
        "images": len(told),
        "train_images": training,
        "questions": len(asked),
        "mean_length": plain(mean),
        "lengths": np.quantile(length, [0, 0.25, 0.5, 0.75, 1]).tolist(),
        "labels": float(np.mean([one["labels"] for one in told])),
        "ambiguous": float(ambiguous.sum() / max(1, drawn.sum())),
        "halted": {why: sum(one["halted"] == why for one in told) for why in sorted({o["halted"] for o in told})},
        "by_type": {kind: int((asked["type"] == kind).sum()) for kind in KINDS},
        "likelier": float(np.maximum(asked["p_yes"], 1 - asked["p_yes"]).mean()),  # type: ignore[arg-type]
        "support": np.quantile(asked["support"], [0.1, 0.5, 0.9]).tolist(),
        "vague": float(asked["text"].str.contains("something|feature of the landscape").mean()),  # type: ignore[arg-type]
        "blind": plain(blind),
        "monitor": watched,
    }


def _ratio(totals: np.ndarray) -> np.ndarray:
    return totals[..., :1] / totals[..., 1:]


VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all rules": ({}, {}),
    "no logic": ({}, {"logic": False}),
    "no interval": ({}, {"interval": False}),
    "certain parts": ({}, {"parts": False}),
    "ε = 0.15": ({"epsilon": 0.15}, {}),
    "known negatives left out": ({"assume": ("-negatives",)}, {}),
}
"""Row → options of the exam, and rules of the engine, that are changed."""


def measure(name: str, work: Path, images: int, fewer: int) -> None:
    """All measurements of a set that its file does not hold yet."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / f"{name}.json"
    kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    def keep(part: str, key: str, make: Callable[[], dict[str, Any]]) -> None:
        if key in kept.setdefault(part, {}):
            return
        kept[part][key] = make()
        if part != "main":  # what no table shows
            del kept[part][key]["monitor"]["yes_by_step"], kept[part][key]["monitor"]["calibration"]
        file.write_text(json.dumps(kept, indent=1) + "\n")
        one = kept[part][key]
        print(name, part, key, f"{one['mean_length']['value']:.1f} questions, {one['seconds']} s", flush=True)

    exam, data = exam_of(name, work)
    keep("main", "all rules", lambda: measured(exam, data, images, BLIND))
    for key, (changes, rules) in VARIANTS.items():
        given = tuple(changes.get("assume", ())) + tuple(exam.assume)
        varied = replace(exam, **{**changes, "assume": given})
        keep("variants", key, lambda e=varied, r=rules: measured(e, data, fewer, FEWER_BLIND, rules=r))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("measure", "page"), help="nothing: only tell what there is")
    parser.add_argument("sets", nargs="*", default=[], help=", ".join(SETS))
    parser.add_argument("--work", type=Path, help="folder for the data")
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--fewer", type=int, default=FEWER, help="images for each variant")
    parser.add_argument("--write", action="store_true", help="replace the page and its charts")
    args = parser.parse_args()
    if args.what == "measure":
        if args.work is None:
            raise SystemExit("measure needs --work, a folder for the data")
        for name in args.sets or SETS:
            measure(name, args.work, args.images, args.fewer)
    elif args.what == "page":
        print(write_page(RESULTS, write=args.write))
    else:
        parser.print_help()


if __name__ == "__main__":
    main()
