"""Trained relations networks; writes docs/results/relations-nets.md and the card beside the shipped weights.

    python docs/pages/relations_nets.py            # print the page
    python docs/pages/relations_nets.py --write    # and replace the page and the card
    python docs/pages/relations_nets.py --world D  # with rows of another folder, to try the page

Made from docs/results/relations/folds.json and folds_merged.json (benchmarks/relations_folds.py), speed.json beside
them (benchmarks/relations_speed.py), the rows in docs/results/relations/nets (benchmarks/relations_nets.py labels)
and in its folder world (… world and … photos, with detector.json and speed.json of benchmarks/relations_card.py),
and the header of the shipped weights; nothing is trained here.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from _relations_tables import ATTRIBUTES, DENOMINATORS, LABELS, LAWS, TASKS, grid, interval, size_or_place, value
from _relations_world import NETWORKS, world_parts
from sightline.models.relations.model import SHIPPED
from sightline.models.relations.network import read_network
from sightline.show.table import figure, percent
from sightline.text import counted

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
FOLDS, NETS = RESULTS / "relations" / "folds.json", RESULTS / "relations" / "nets"
MERGED = RESULTS / "relations" / "folds_merged.json"
"""The usual networks of the folds, taught again with the order across two images that keeps that of each."""
SPEED = RESULTS / "relations" / "speed.json"
WORLD = NETS / "world"
CARD = SHIPPED.with_suffix(".md")
SHOWN = {
    "boxes": "PairNet, B, joint",
    "boxes-classes": "PairNet, B + C, joint (blind_mlp)",
    "ordered": "PairNet, B + C, ordered (consistent)",
    "within": "PairNet, B + C, within",
    "across": "PairNet, B + C, across",
    "paper-boxes": "paper's MLP, B",
    "paper": "paper's MLP, B + C",
}
"""Rows on the real labels; the paper's MLP by its own recipe of 60,000 steps."""
PAPER_TRANSFER = {"within": (0.322, 0.308), "across": (0.304, 0.370), "boxes-classes": (0.318, 0.354)}
SCALES = ("easy", "moderate", "difficult")
SLICES = {
    "all": "all",
    "lower_is_farther": "lower is not closer",
    "larger_is_farther": "larger is not closer",
    "both": "both mislead",
}


def read(file: Path) -> Any:
    """The JSON of a file; of a network that learned across images alone without occlusion, which it never saw."""
    found = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(found, dict) and found["study"] == "across":
        task = "within_image/occlusion"
        found["f1"][task] = found["average"] = None
        for score in {"precision", "recall"} & found.keys():
            found[score][task] = None
        found["labels"][task] = {}
        found["difficulty"][task] = dict.fromkeys(SCALES)
    return found


def ordered_minus_free(row: Mapping[str, Any]) -> str:
    """Differences of F1 by sub-task, ordered less free answers, in words."""
    return "; ".join(
        f"{TASKS[one['name']]} {one['difference']:+.4f} ({one['low']:+.4f} to {one['high']:+.4f}, "
        f"p {one['p_value']:.3f})"
        for one in row["ordered_minus_free"]
    )


def fold_part(folds: list[dict[str, Any]]) -> Iterator[str]:
    yield "## How the blind network was chosen"
    usual = folds[0]
    yield (
        "Every choice was made on five folds of the validation split, dealt by image pair with seed 0: an image's "
        "own pairs lie in the fold of the image pair it stands in. F1 by the paper's protocol on annotated boxes; "
        f"{usual['plan']['members']} networks averaged in each fold unless said otherwise, each variant trained "
        "once with seed 0. *Ordered*: the average of the same networks with answers read off one depth order. "
        "Every variant that was run by this program is shown; figures differ by about 0.002 from seed to seed "
        "alone, so most differences here mean nothing, and the plain variant was kept."
    )
    columns = ("variant", *TASKS.values(), "average", "ordered")
    rows = {}
    for row in folds:
        f1 = [figure(row["f1"][task]) for task in TASKS]
        rows[row["name"]] = [*f1, figure(row["average"], 4), figure(row["ordered"]["average"], 4)]
    yield grid(columns, rows)
    yield (
        "Ordered against free answers of the usual networks, F1, paired by image or image pair, with 95 % "
        f"intervals and p by sign flips: {ordered_minus_free(usual)}. These, *ordered* in the table and the "
        "ordered rows on generated scenes are of an order across two images that did not keep the order within "
        "each. It keeps it now; the usual networks, taught again, then have: "
        f"{ordered_minus_free(read(MERGED)[0])} "
        "(`relations_folds.py --only usual --out docs/results/relations/folds_merged.json`)."
    )
    limits = usual["unsure"]
    yield (
        "Below which chance *unsure* is said hardly matters; depth within an image, by limit: "
        + ", ".join(f"{limit} {figure(value, 4)}" for limit, value in limits.items())
        + f". {usual['plan']['unsure']} was taken, near half of F1, where an answer stops paying."
    )
    yield (
        "A prototype of this network, not kept, also tried numbers of the other boxes of an image (ranks of the "
        "bottom edge and the area, how many there are): no gain within an image and a loss across, so each pair is "
        "judged by itself. Separate networks for the two settings did no better than one that is told which it is. "
        "The plan was fixed before the test split was looked at, once, for the tables in {doc}`relations`; the "
        "variants from *no mirror* on were run after that, for this table, and changed nothing."
    )


def score_part(rows: Mapping[str, Any]) -> Iterator[str]:
    yield "## Cues and settings on the real labels"
    yield (
        "Trained on validation (within 6,325 pairs, across 6,868, joint both), examined on test, annotated boxes, "
        "paper protocol, 95 % intervals by image. The shape of the paper's Table 4; its figures there are on "
        "detected boxes and not comparable. Cues D and A need the photos, which are not here. The paper's MLP has "
        "its own recipe of 60,000 steps, but 13,193 pairs instead of 158,178."
    )
    columns = ("network", *TASKS.values(), "average")
    yield grid(
        columns,
        {
            SHOWN[name]: [*(interval(row["f1"][task]) for task in TASKS), interval(row["average"])]
            for name, row in rows.items()
        },
    )
    counted_both = {name: row for name, row in rows.items() if "precision" in row}
    if counted_both:
        yield "Precision and recall (the shape of Table 6):"
        both = {
            SHOWN[n]: [f"{value(r['precision'][task])} / {value(r['recall'][task])}" for task in TASKS]
            for n, r in counted_both.items()
        }
        yield grid(("network", *(f"{words}, P / R" for words in TASKS.values())), both)
    yield (
        "By label (the shape of Table 7), by the raters' agreement (Table 9), and where the usual cues mislead "
        "(accuracy on pairs with a clear order):"
    )
    heads = [(task, label) for task, labels in LABELS.items() for label in labels]
    names = tuple(f"{TASKS[task]}: {label}" for task, label in heads)
    yield grid(
        ("network", *names),
        {SHOWN[n]: [value(r["labels"][task].get(label)) for task, label in heads] for n, r in rows.items()},
    )
    scales = [(task, scale) for task in TASKS for scale in SCALES]
    yield grid(
        ("network", *(f"{TASKS[task]}: {scale}" for task, scale in scales)),
        {SHOWN[n]: [value(r["difficulty"][task][scale]) for task, scale in scales] for n, r in rows.items()},
    )
    slices = [(setting, part) for setting in ("within_image", "across_images") for part in SLICES]
    yield grid(
        ("network", *(f"{setting.split('_')[0]}: {SLICES[part]}" for setting, part in slices)),
        {SHOWN[n]: [value(r["counter"][setting][part]) for setting, part in slices] for n, r in rows.items()},
    )


def transfer_part(rows: Mapping[str, Any]) -> Iterator[str]:
    there = {name: theirs for name, theirs in PAPER_TRANSFER.items() if name in rows}
    if not there:
        return
    yield "## Transfer between the settings"
    yield (
        "Depth F1 by what was learned from, the shape of the paper's Table 8, whose figures are its MLP's on "
        "detected boxes: the pattern may be compared, the level not."
    )
    words = {"within": "pairs within an image", "across": "pairs across two images", "boxes-classes": "both"}
    table = {}
    for name, theirs in there.items():
        own = [interval(rows[name]["f1"][task]) for task in ("within_image/depth", "across_images/depth")]
        table[words[name]] = [*own, *map(figure, theirs)]
    yield grid(("learned from", "asked within", "asked across", "paper: within", "paper: across"), table)


def law_part(rows: Mapping[str, Any]) -> Iterator[str]:
    yield "## Contradictions"
    yield (
        "Share of cases within an image in which answers contradict each other; the paper reports 8.9 % "
        "(symmetry) and 1.7 % (transitivity) for its MLP with all cues. A PairNet cannot break symmetry, whatever "
        "its weights; `consistent` cannot break transitivity either ({doc}`relations` has its row)."
    )
    yield DENOMINATORS
    yield grid(
        ("network", *LAWS.values()),
        {
            SHOWN[name]: [percent(row["laws"][law]["value"], 2) if law in row["laws"] else "–" for law in LAWS]
            for name, row in rows.items()
        },
    )


def grid_part(rows: Mapping[str, Any]) -> Iterator[str]:
    there = {name: row["grids"] for name, row in rows.items() if "grids" in row}
    if not there:
        return
    yield "## Size and place"
    yield (
        "F1 of *closer* by the size of both objects and by where their centres are (the paper's Figures 6 and "
        "11), on the test labels: rows are the first object, columns the second, four bins with equally many "
        "objects; in brackets the ordered pairs of a cell."
    )
    for name, made in there.items():
        for setting, how in (("within_image", "within"), ("across_images", "across")):
            for attribute, unit in ATTRIBUTES.items():
                if attribute in made.get(setting, {}):
                    yield from size_or_place(made[setting][attribute], f"{SHOWN[name]}, {how}, {unit}")


def detector_part() -> Iterator[str]:
    yield "## Boxes of a detector"
    yield (
        "The paper's Table 5 (detected boxes, true boxes, perfect predicates) takes a model that relates and one "
        "that detects, joined by a plus: any detector of another runtime, or one of our own, taught on worlds."
    )
    yield (
        "```console\n$ sightline train detector --world room --world context/street/train --out viewnet\n"
        "$ sightline exam relations --data ade20k --boxes detected --no-baselines \\\n"
        "    --model blind_mlp+tflite:efficientdet-lite2.tflite\n"
        "$ sightline exam relations --data ade20k --boxes perfect --no-baselines \\\n"
        "    --model blind_mlp+viewnet/viewnet.safetensors\n```"
    )
    yield (
        "The three variants were run end to end with EfficientDet-Lite2 on ADE20K's three street photos, which say "
        "who hides whom; three photos tell nothing about a score, so none is given. 2.5VRD's photos are not here. "
        "Detections pass all filters of the collection; of two boxes of one thing the pair goes, not the box."
    )


def speed_part(speed: Mapping[str, Any]) -> Iterator[str]:
    yield "## Speed without pictures"
    answering, training = speed["answering"], speed["training"]
    yield (
        "```console\n$ export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1\n"
        "$ python benchmarks/relations_speed.py --out speed.json\n"
        "$ python benchmarks/relations_speed.py --train 30000 --out speed.json\n```"
    )
    yield (
        f"CPU seconds of one thread for {answering['pairs']:,} ordered pairs of random boxes and classes in one "
        "call, on a machine of two cores with other work. *Both ways*: half as many unordered pairs, each asked as "
        "(a, b) and as (b, a), as the exam asks; the network computes each once. *Distinct*: as many different "
        f"unordered pairs. Products of matrices, 80 GFLOP, took {answering['products']:.2f} s beside them."
    )
    rows = {
        name: [f"{answering[asked][name]:.2f} s" for asked in ("both_ways", "distinct")]
        for name in answering["distinct"]
    }
    yield grid(("model", "both ways", "distinct"), rows)
    yield (
        f"Our plan (`--plan ours`) takes {training['cpu_seconds']:.0f} CPU seconds of "
        f"{counted(training['threads'], 'thread')} for {training['pairs']:,} pairs: {training['steps']:,} steps, "
        f"in each of which eight networks see {training['batch']} pairs each, so more pairs cost no more. The "
        "paper's recipe is 60,000 steps; the seconds they took stand in the next table."
    )


def open_part(world: Path) -> Iterator[str]:
    yield "## What has not been measured"
    yield (
        "The training labels of 2.5VRD came without their objects file and stay unused: the paper's networks had "
        "105,694 + 52,484 training pairs (those across images mostly with three votes), ours on real labels "
        "13,193 with five. Photos of 2.5VRD are not here, so no network that looks was asked about them, and none "
        "learned from photos."
    )
    measured = (world / "tests.json").exists()
    if not measured:
        yield (
            "No network that looks has been trained to its end: there was no GPU. ViP-CNN, PPR-FCN, DRNet, "
            "VTransE and the MLP with cues D and A train and answer at toy size in tests. So these are open: "
            "Tables 4 to 9 for networks with pixels, on generated scenes and detected boxes; whether training on "
            "worlds transfers to real photos; pictures a second on a card."
        )
    else:
        lacking = [words for name, words in NETWORKS.items() if not (world / f"{name}.json").exists()]
        lacking += [] if (world / "speed.json").exists() else ["pictures a second of each network alone"]
        if lacking:
            yield f"Not made, or not made to its end, on generated scenes: {'; '.join(lacking)}."
        own = [words for name, words in SHOWN.items() if not (NETS / f"{name}.json").exists()]
        if own:
            yield f"Not made on the real labels: {'; '.join(own)}."
    yield "## How to measure it again"
    yield "What is above of networks taught on worlds; these programs go on where they were stopped:"
    yield (
        "```console\n$ VIEWNET=src/sightline/models/weights/viewnet-tiny.safetensors\n"
        '$ CUES="--depth fastdepth.onnx --backbone $VIEWNET"\n'
        "$ python benchmarks/relations_card.py all --out card $CUES\n"
        "$ python benchmarks/relations_card.py speed --out card\n"
        "$ python benchmarks/relations_nets.py world --nets card/nets --out rows --scenes 200 $CUES\n"
        "$ python benchmarks/relations_nets.py photos --nets card/nets --out rows $CUES\n```"
    )
    yield (
        "On a CPU the scenes take some 40 minutes to be drawn (2,340 s beside other work), and networks that are "
        "given numbers can be taught there; detector, ViP-CNN, PPR-FCN, DRNet, VTransE and `speed` want a card."
    )


def page(world: Path) -> str:
    folds = read(FOLDS)
    rows = {name: read(NETS / f"{name}.json") for name in SHOWN if (NETS / f"{name}.json").exists()}
    head = (
        "# Trained relations networks",
        "Networks that say which of two objects is closer and which hides which: how the blind one that ships was "
        "chosen, what each cue adds, what carries over from one setting to the other. {doc}`relations` has the "
        "shipped ones beside all rules.",
        "```console\n$ python benchmarks/relations_folds.py                  # the folds\n"
        "$ python benchmarks/relations_nets.py labels --out nets # the rows on the real labels\n"
        "$ python docs/pages/relations_nets.py --write           # this page, and the card of the weights\n```",
    )
    parts = [head, tuple(fold_part(folds))]
    if rows:
        parts += [
            tuple(score_part(rows)),
            tuple(transfer_part(rows)),
            tuple(law_part(rows)),
            tuple(grid_part(rows)),
        ]
    speed = [tuple(speed_part(json.loads(SPEED.read_text(encoding="utf-8"))))] if SPEED.exists() else []
    parts += [tuple(detector_part()), *speed, tuple(world_parts(world)), tuple(open_part(world))]
    return "\n\n".join(block.strip() for part in parts for block in part) + "\n"


def card() -> str:
    """The card beside the shipped weights, from their own header."""
    network = read_network(SHIPPED)
    content = SHIPPED.read_bytes()
    plan, source = network.about["plan"], network.about["source"]
    weights = sum(array.size for array in network.weights.values())
    folds = read(FOLDS)[0]
    return f"""# blind-mlp

The network behind `--model blind_mlp` and `--model consistent` of the relations exam. This card is written by
`python docs/pages/relations_nets.py --write`.

**What it does.** Given the boxes and classes of two objects, of one image or of two, it says which is closer and,
within an image, which hides which. It never sees a picture. `blind_mlp` judges each pair by itself; `consistent`
puts all objects of a call in one depth order and reads the answers off that.

**What it is.** {weights:,} weights in half precision ({len(content) / 1000:.0f} kB), {network.members} networks
whose chances are averaged, each of two layers of {plan["hidden"]} couples of units that change places when a
pair is turned round. {len(network.classes)} classes of Open Images, {plan["embedding"]} numbers and a rating
each; any other class shares one place. It runs on numpy alone. SHA-256
`{hashlib.sha256(content).hexdigest()}`.

**Data.** {source["pairs"]:,} pairs of 2.5VRD's validation split (CC BY 4.0), within and across images, with all
votes; no picture, no test label.

**Training.** `sightline train relations --data 2.5vrd --split validation --model mlp --cues bc --out blind`:
{counted(plan["steps"], "step")} of {plan["batch"]} pairs a network, AdamW, highest rate {plan["rate"]}, decay
{plan["decay"]}, running mean of the weights, seed {plan["seed"]}; votes as targets, {plan["smoothing"]:.0%}
smoothed; boxes moved by up to {plan["jitter"]:.0%}, half of the pictures mirrored, {plan["unnamed"]:.0%} of the
classes withheld, dropout {plan["dropout"]}. Half a minute on one core.

**Scores.** On five folds of validation {folds["average"]:.3f} on average (paper protocol, two networks a fold). On
test, looked at once: docs/results/relations.md.

**Limits.** It knows how photographers of Open Images place things, not what a picture shows: where the lower and
larger object is the farther one it is mostly wrong within an image. Do not use it for anything but as a baseline.

**Licence.** Apache-2.0, as Sightline itself.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the page and the card")
    parser.add_argument(
        "--world", type=Path, default=WORLD, help="folder of the rows on generated scenes and photos"
    )
    wanted = parser.parse_args()
    if wanted.write and wanted.world != WORLD:
        parser.error("--world is for trying the page, --write for the rows that are kept")
    made = page(wanted.world)
    if wanted.write:
        (RESULTS / "relations-nets.md").write_text(made, encoding="utf-8")
        CARD.write_text(card(), encoding="utf-8")
    print(made)


if __name__ == "__main__":
    main()
