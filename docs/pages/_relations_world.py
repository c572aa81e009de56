"""The part of docs/results/relations-nets.md on networks that look: generated scenes, photos, speed.

Reads what benchmarks/relations_nets.py (``world`` and ``photos``) and relations_card.py left in a folder: a file a
network, and ``tests``, ``perfect``, ``paired``, ``detector``, ``speed`` and ``photos-*`` beside them. What is not
there is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from _relations_tables import ATTRIBUTES, DENOMINATORS, LABELS, LAWS, TASKS, grid, interval, size_or_place, value
from sightline.show.table import figure, percent

PLACES = {"room": "room", "context/street/train": "street"}
RULES = ("class_prior", "size", "location", "bottom_edge")
NETWORKS = {
    "boxes": "PairNet, B",
    "boxes-classes": "PairNet, B + C",
    "boxes-depth": "PairNet, B + D",
    "boxes-appearance": "PairNet, B + A",
    "boxes-classes-depth": "PairNet, B + C + D",
    "all-cues": "PairNet, B + C + D + A",
    "ordered": "PairNet, B + C, ordered",
    "ordered-all-cues": "PairNet, B + C + D + A, ordered",
    "paper": "paper's MLP, B + C",
    "paper-all-cues": "paper's MLP, B + C + D + A",
    "vipcnn": "ViP-CNN",
    "pprfcn": "PPR-FCN",
    "drnet": "DRNet",
    "vtranse": "VTransE",
}
OTHERS = {
    "all-cues-within": "PairNet, B + C + D + A, within",
    "all-cues-across": "PairNet, B + C + D + A, across",
    "drnet-within": "DRNet, within",
    "drnet-across": "DRNet, across",
    "detector": "detector",
}
STUDIES = {
    "PairNet, B + C + D + A": ("all-cues-within", "all-cues-across", "all-cues"),
    "DRNet": ("drnet-within", "drnet-across", "drnet"),
}
"""Networks that learned within, across and both, for the shape of Table 8."""
GRIDS = {"all-cues": "PairNet with all cues", "drnet": "DRNet", "bottom_edge": "bottom_edge"}
AGAIN = "boxes-classes-again"
"""B + C once more, its scenes drawn where those of the networks with cue A were."""
HOW = ("within", "across")
PAIRED_TASKS = ("within_image depth", "within_image occlusion", "across_images depth")
DETECTOR = "detector.safetensors"
LOOKING = (
    *("vipcnn", "pprfcn", "drnet", "vtranse", "drnet-within"),
    *("boxes-appearance", "all-cues", "all-cues-within", "ordered-all-cues", "paper-all-cues"),
)
"""Networks that are given more of a picture than boxes, classes and a depth map of it."""
ORDERED = (("ordered", "boxes-classes"), ("ordered-all-cues", "all-cues"))
"""Networks whose answers follow an order, with the free ones of the same cues."""
WITHIN_ONLY = ("vipcnn", "pprfcn")


class Results:
    """What a folder holds, by name; None for what is missing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> Any:
        file = self._folder / f"{name}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None

    def on(self, name: str, place: str, boxes: str = "truth") -> Any:
        """Scores of one network in one world."""
        row = self[name]
        return None if row is None else row["on"].get(boxes, {}).get(place)

    @property
    def places(self) -> dict[str, str]:
        """Worlds that were asked about, as they are called on the page."""
        asked = self["tests"]
        return {name: PLACES.get(name, name) for name in (asked["worlds"] if asked else {})}


def named(name: str) -> str:
    return (NETWORKS | OTHERS).get(name, name)


def world_parts(folder: Path) -> Iterator[str]:
    """All that is said of networks taught on worlds; nothing where none was examined."""
    results = Results(folder)
    if results["tests"] is None:
        return
    yield from training_part(results)
    yield from score_part(results)
    yield from study_part(results)
    yield from apart_part(results)
    yield from law_part(results)
    yield from detector_part(results)
    yield from grid_part(results)
    yield from speed_part(results)
    yield from photo_part(results)


def training_part(results: Results) -> Iterator[str]:
    yield "## Networks that look, on generated scenes"
    learned = results["detector"]
    scenes = ", ".join(f"{n:,} of `{name}`" for name, n in learned["source"]["worlds"].items())
    asked = results["tests"]
    split = {name: of["within_image"] for name, of in asked["worlds"].items()}
    sizes, none = [], []
    for name, of in split.items():
        [inside] = [part for part in of.values() if "pairs" in part]
        [across] = [part for part in asked["worlds"][name]["across_images"].values() if "pairs" in part]
        words = f"{inside['images']:,} scenes, {inside['pairs']:,} pairs within and {across['pairs']:,} across"
        sizes.append(f"{results.places[name]} {words}")
        none.append(f"{percent(inside['occlusion']['none'])} of the pairs in the {results.places[name]}")
    yield (
        f"Taught by `benchmarks/relations_card.py` on generated scenes ({scenes}; related two by two across "
        f"scenes), asked about scenes of the same worlds by another seed ({'; '.join(sizes)}). Nothing is hidden "
        f"in {' and '.join(none)}, so saying *none* throughout is hard to beat there: read occlusion by the labels "
        "*occludes* and *occluded*."
    )
    looks = results["drnet"] or results["vipcnn"]
    steps = (
        ""
        if looks is None
        else f" ({looks['plan']['steps']:,} steps of {looks['plan']['batch']} pictures or couples)"
    )
    yield (
        "ViP-CNN, PPR-FCN, DRNet and VTransE learn end to end and from scratch, with one small backbone in "
        f"common{steps}; nothing is pretrained, so they are no measure of the published networks, which began with "
        f"a detector of 600 classes. Cue D is FastDepth's map, not MiDaS's; cue A is {_backbone(results)}, "
        "averaged over box and picture. The paper's MLP keeps the paper's recipe and 60,000 steps, but for changes "
        "of the pictures: their numbers are made once. It takes them as they are; PairNet brings them to one scale."
    )
    rows = {}
    for name in (*NETWORKS, *OTHERS):
        row = results[name]
        if row is None:
            continue
        pairs, steps = row["source"].get("pairs"), row["plan"]["steps"]
        on = row["device"].replace("NVIDIA ", "")
        drawn = {"cuda": "card", "cpu": "CPU"}[row["source"]["drawn_on"]]
        shown = "–" if pairs is None else f"{pairs:,}"
        rows[named(name)] = [shown, f"{steps:,}", f"{row['seconds']:,.0f}", drawn, on.replace("cpu", "CPU")]
    yield (
        "What each was taught on, how long, on which device, and what drew its pictures (the scenes are the same "
        "everywhere, down to the number of pairs). Several were taught at a time, those on pictures of the CPU on "
        "a machine with much other work: their seconds tell nothing about speed."
    )
    yield grid(("network", "pairs", "steps", "seconds", "drawn on", "taught on"), rows)
    again = results[AGAIN]
    if again is not None:
        both = [
            f"{words} {figure(results.on(AGAIN, place)['average']['value'], 4)} instead of "
            f"{figure(results.on('boxes-classes', place)['average']['value'], 4)}"
            for place, words in results.places.items()
        ]
        yield (
            f"{named('boxes-classes')} was taught on both, and the device makes no difference: average F1 "
            f"{', '.join(both)} with all of it done on a CPU. Comparisons with networks taught on a CPU are with "
            "that one."
        )


def _backbone(results: Results) -> str:
    """What cue A is made with, in words."""
    used = {row["backbone"] for name in (*NETWORKS, *OTHERS) if (row := results[name]) and "backbone" in row}
    words = {
        DETECTOR: "the finest map of our own detector of the worlds' classes",
        "viewnet-tiny.safetensors": "the finest map of `viewnet`, the detector that ships, which learned CAD "
        "models of twelve classes in another world",
    }
    return " or ".join(words[name] for name in sorted(used)) or words[DETECTOR]


def score_part(results: Results) -> Iterator[str]:
    yield "### In given boxes, cue by cue"
    yield (
        "F1 by the paper's protocol with 95 % intervals by scene, the shape of the paper's Table 4, whose figures "
        "there are on detected boxes of photos. Joint training; ViP-CNN and PPR-FCN look at the box around both "
        "objects and learn and answer within an image alone."
    )
    for place, words in results.places.items():
        rows = {}
        for name in (*RULES, *NETWORKS):
            found = results.on(name, place)
            if found is not None:
                rows[named(name)] = [
                    *(interval(found["f1"].get(task)) for task in TASKS),
                    interval(found.get("average")),
                ]
        yield f"*{words}*"
        yield grid(("network", *TASKS.values(), "average"), rows)
    yield from _blind_sentence(results)
    yield "Precision and recall (Table 6) and F1 by label (Table 7):"
    heads = [(task, label) for task, labels in LABELS.items() for label in labels]
    for place, words in results.places.items():
        table = {}
        for name in (*RULES, *NETWORKS):
            found = results.on(name, place)
            if found is None:
                continue
            both = [f"{value(found['precision'].get(t))} / {value(found['recall'].get(t))}" for t in TASKS]
            table[named(name)] = [*both, *(value(found["labels"].get(t, {}).get(label)) for t, label in heads)]
        columns = (
            *(f"{words}, P / R" for words in TASKS.values()),
            *(f"{TASKS[t]}: {label}" for t, label in heads),
        )
        yield f"*{words}*"
        yield grid(("network", *columns), table)
    paired = results["paired"]
    if paired is None:
        return
    yield (
        "Paired on the same scenes, differences of F1 with 95 % intervals and p by sign flips: what an order costs "
        "(ordered minus free answers of the same cues) and what looking adds."
    )
    made = {}
    for both, places in paired["on"].items():
        one, other = both.split(" minus ")
        for place, found in places.items():
            cells = [_difference(found.get(name)) for name in PAIRED_TASKS]
            made[f"{named(one)} minus {named(other)}, {results.places[place]}"] = cells
    yield grid(("", *TASKS.values()), made)
    yield from _order_sentence(results, paired["on"])
    yield from _looking_sentences(results, paired["on"])


def _order_sentence(results: Results, paired: Mapping[str, Any]) -> Iterator[str]:
    """Where networks whose answers follow an order are below the free ones, by p of paired differences."""
    asked, lost = 0, []
    for both, places in paired.items():
        one, other = both.split(" minus ")
        if (one, other) not in ORDERED:
            continue
        for place, found in places.items():
            rows = {words: found.get(task) for task, words in zip(PAIRED_TASKS, TASKS.values(), strict=True)}
            asked += sum(row is not None for row in rows.values())
            lost += [
                f"{named(one)}, {words} in the {results.places[place]} "
                f"({row['difference']:+.3f}, p {row['p_value']:.3f})"
                for words, row in rows.items()
                if row is not None and (row["difference"] or 0.0) < 0 and row["p_value"] < 0.05
            ]
    if asked and not lost:
        yield f"In none of {asked} comparisons does an order lose F1 at p < 0.05."
    elif lost:
        yield (
            f"An order costs little, but not always nothing: of {asked} comparisons it loses at p < 0.05, not "
            f"corrected for how many there are, in {len(lost)}: {'; '.join(lost)}."
        )


def _looking_sentences(results: Results, paired: Mapping[str, Any]) -> Iterator[str]:
    """Where a network that looks is above or below the one that never does, by intervals of paired differences."""
    for both, places in paired.items():
        one, other = both.split(" minus ")
        if one not in LOOKING or other not in ("boxes-classes", "paper"):
            continue
        where: dict[str, list[str]] = {"above": [], "below": [], "not told apart": []}
        for place, found in places.items():
            for task, words in zip(PAIRED_TASKS, TASKS.values(), strict=True):
                row = found.get(task)
                if row is None or row["low"] is None:
                    continue
                side = "above" if row["low"] > 0 else "below" if row["high"] < 0 else "not told apart"
                where[side].append(f"{words} in the {results.places[place]}")
        sides = "; ".join(f"{side}: {', '.join(cases)}" for side, cases in where.items() if cases)
        yield f"{named(one)}, beside {named(other)}, which never looks. {sides[0].upper()}{sides[1:]}."


def _blind_sentence(results: Results) -> Iterator[str]:
    """How much of these worlds can be told without looking."""
    far, misled = [], []
    for place, words in results.places.items():
        blind = results.on("boxes-classes", place)
        if blind is None:
            return
        far.append(f"{words} {figure(blind['average']['value'])}")
        both = [blind["counter"][setting]["both"]["value"] for setting in ("within_image", "across_images")]
        misled += [f"{words} {how} {figure(v)}" for v, how in zip(both, HOW, strict=True) if v is not None]
    yield (
        f"Objects of these worlds stand on one floor, so boxes and classes tell most: PairNet, B + C, which never "
        f"looks, gets far ({', '.join(far)} on average), but not where both usual cues mislead (accuracy "
        f"{', '.join(misled)})."
    )
    yield from _appearance_sentence(results)


def _appearance_sentence(results: Results) -> Iterator[str]:
    """Where both usual cues mislead and cue A helps by more than the intervals of both."""
    helped = []
    for place, words in results.places.items():
        boxes, looks = results.on("boxes", place), results.on("boxes-appearance", place)
        if boxes is None or looks is None:
            return
        for setting, how in zip(("within_image", "across_images"), HOW, strict=True):
            one, other = (row["counter"][setting]["both"] for row in (boxes, looks))
            if one["value"] is not None and other["low"] > one["high"]:
                helped.append(f"{words} {how} {interval(other)} instead of {interval(one)}")
    if helped:
        yield f"There a look helps: PairNet, B + A has {', '.join(helped)} of B alone."


def _difference(row: Mapping[str, Any] | None) -> str:
    if row is None or row["difference"] is None:
        return "–"
    limits = "" if row["low"] is None else f" ({row['low']:+.3f} to {row['high']:+.3f}; p {row['p_value']:.3f})"
    return f"{row['difference']:+.3f}{limits}"


def study_part(results: Results) -> Iterator[str]:
    names = {(network, name): results[name] for network, all_three in STUDIES.items() for name in all_three}
    if not any(names.values()):
        return
    yield "### Learned within, across or both"
    yield (
        "Depth F1 by what was learned from, the shape of the paper's Table 8; the paper's own: .322 .308, .304 "
        ".370, .318 .354."
    )
    rows = {}
    for network, all_three in STUDIES.items():
        for name, study in zip(all_three, ("within an image", "across two", "both"), strict=True):
            cells = []
            for place in results.places:
                found = results.on(name, place)
                f1 = {} if found is None else found["f1"]
                cells += [interval(f1.get(task)) for task in ("within_image/depth", "across_images/depth")]
            if any(cell != "–" for cell in cells):
                rows[f"{network}, {study}"] = cells
    heads = [f"{words}, asked {how}" for words in results.places.values() for how in ("within", "across")]
    yield grid(("learned from pairs", *heads), rows)


def apart_part(results: Results) -> Iterator[str]:
    yield "### Near ties and misleading cues"
    limits = []
    for place, words in results.places.items():
        found = results.on("bottom_edge", place) or results.on("boxes-classes", place)
        low, high = found["apart"]["within_image"]["limits"]
        limits.append(f"{words} {low:.2f} and {high:.2f} times")
    yield (
        "Generated scenes have no raters, so the paper's Table 9 has no like. Two other scales stand in for it, "
        "accuracy on pairs with a clear order: thirds by how many times as far the one object is as the other "
        f"(limits within an image: {'; '.join(limits)}), and pairs where the usual cues mislead."
    )
    for place, words in results.places.items():
        rows = {}
        for name in (*RULES, *NETWORKS):
            found = results.on(name, place)
            if found is None:
                continue
            cells = []
            for setting in ("within_image", "across_images"):
                thirds = found.get("apart", {}).get(setting, {})
                cells += [value(thirds.get(third)) for third in ("far apart", "between", "close together")]
            for setting in ("within_image", "across_images"):
                cells.append(value(found["counter"].get(setting, {}).get("both")))
            rows[named(name)] = cells
        thirds = [f"{how}: {third}" for how in ("within", "across") for third in ("far apart", "between", "close")]
        yield f"*{words}*"
        yield grid(("network", *thirds, "within: both mislead", "across: both mislead"), rows)


def law_part(results: Results) -> Iterator[str]:
    yield "### Contradictions on generated scenes"
    yield (
        "Share of cases within an image; the paper's MLP with all cues has 8.9 % (symmetry) and 1.7 % "
        "(transitivity). A PairNet cannot break symmetry; an ordered one breaks neither, for any weights. "
        f"{DENOMINATORS}"
    )
    laws = LAWS | {"symmetry_occlusion": "occlusion both ways"}
    heads = [f"{words}: {law}" for words in results.places.values() for law in laws.values()]
    rows = {}
    for name in NETWORKS:
        found = [results.on(name, place) for place in results.places]
        if not any(found):
            continue
        shares = [(of or {}).get("laws", {}).get(law) for of in found for law in laws]
        rows[named(name)] = ["–" if not s or s["value"] is None else percent(s["value"], 2) for s in shares]
    yield grid(("network", *heads), rows)


def detector_part(results: Results) -> Iterator[str]:
    perfect = results["perfect"]
    if perfect is None:
        return
    yield "### True boxes, detected boxes, perfect predicates"
    small = " and ".join(
        f"{percent(share)} in the {results.places[place]}" for place, share in results["tests"]["small"].items()
    )
    yield (
        "The shape of the paper's Table 5 (average F1 .335 in detected boxes, .782 in true ones, .492 for perfect "
        "predicates in detected boxes): networks asked in true boxes, and in those of the detector taught on the "
        "same scenes. Networks that answer within an image alone have no average: their row is depth within. "
        "Detections pass the filters of the collection, so none covers less than 2 % of the picture, while true "
        f"boxes of any size are asked about ({small} are smaller): that alone keeps perfect predicates low."
    )
    rows = {}
    for name in NETWORKS:
        cells = []
        for place in results.places:
            for boxes in ("truth", "detected"):
                found = results.on(name, place, boxes) if results.on(name, place, "detected") else None
                within = name in WITHIN_ONLY
                cells.append(
                    interval(found and (found["f1"]["within_image/depth"] if within else found["average"]))
                )
        if any(cell != "–" for cell in cells):
            rows[named(name)] = cells
    later = [named(name) for name in NETWORKS if (results[name] or {}).get("backbone", DETECTOR) != DETECTOR]
    cells = []
    for place in results.places:
        cells += ["–", interval(perfect["on"]["perfect"][place]["average"])]
    rows["perfect predicates"] = cells
    yield grid(("network", *(f"{w}, {b}" for w in results.places.values() for b in ("true", "detected"))), rows)
    if later:
        yield (
            f"Taught later, when the weights of that detector were not at hand, and so not asked in its boxes: "
            f"{'; '.join(later)}."
        )
    others = [named(n) for n in NETWORKS if results[n] is not None and named(n) not in (*rows, *later)]
    if others:
        yield f"Not asked in detected boxes: {'; '.join(others)}."


def grid_part(results: Results) -> Iterator[str]:
    there = {name: words for name, words in GRIDS.items() if results[name] is not None}
    if not there:
        return
    yield "### Size and place"
    yield (
        "F1 of *closer* by the size of both objects and by where their centres are (the paper's Figures 6 and "
        "11): rows are the first object, columns the second, four bins with equally many objects; in brackets the "
        "ordered pairs of a cell."
    )
    for name, words in there.items():
        for place, called in results.places.items():
            found = results.on(name, place)
            for setting, how in (("within_image", "within"), ("across_images", "across")):
                for attribute, unit in ATTRIBUTES.items():
                    made = (found or {}).get("grids", {}).get(setting, {}).get(attribute)
                    if made is None or (
                        name != "all-cues" and (attribute != "vertical" or setting != "within_image")
                    ):
                        continue
                    yield from size_or_place(made, f"{words}, {called}, {how}, {unit}")


def speed_part(results: Results) -> Iterator[str]:
    speeds = results["speed"]
    if speeds is None:
        return
    yield "### Pictures a second"
    device = (results["detector"] or {}).get("device", "")
    yield (
        f"Each network alone on {device or 'the card'} in bfloat16, learning and answering, pictures of 224 × 224 "
        "pixels that lie on the card; beside it what the arithmetic allows: 989 TFLOPS of the data sheet over the "
        "operations of its convolutions and matrix products (a learning step counts forward and backward). At one "
        "or two hundredths of it nearly all of the time goes to other things: the layers are narrow, 32 to 256 "
        "channels."
    )
    rows = {}
    for name, of in speeds.items():
        cells = []
        for word in ("learning", "answering"):
            one = of[word]
            share = one["pictures_per_s"] / one["limit_per_s"]
            cells += [f"{one['pictures_per_s']:,.0f}", f"{one['limit_per_s']:,.0f}", percent(share, 2)]
        rows[named(name)] = [f"{of['answering']['flops'] / 1e9:.2f}", *cells]
    heads = [f"{word}{part}" for word in ("learning", "answering") for part in ("", ": limit", ": share")]
    yield grid(("network", "GFLOP to answer", *heads), rows)


def photo_part(results: Results) -> Iterator[str]:
    rows = {name: results[f"photos-{name}"] for name in ("ade20k", "cocoa", "coco-lightly", "coco-tiny")}
    rows = {name: row for name, row in rows.items() if row is not None}
    if not rows:
        return
    yield "## Does it carry over to photos?"
    known = []
    for name, row in rows.items():
        share = row["known_objects"] / row["objects"]
        known.append(
            f"{name} {len(row['known_classes'])} of {row['classes']} classes ({percent(share)} of "
            f"{row['objects']:,} objects)"
        )
    yield (
        "The same networks, taught on worlds alone, on the photos of {doc}`real`. Classes are taken by their "
        "names. One that no world has is an unknown class: PairNets learned what to make of it (10 % of the "
        "classes were withheld in training), to DRNet, VTransE and the paper's MLP it is an input they never met. "
        "Known by name: "
        f"{'; '.join(known)}."
    )
    labelled = {name: row for name, row in rows.items() if name in ("ade20k", "cocoa")}
    if labelled:
        yield "### What annotations decide"
        yield (
            "F1 with 95 % intervals by photo, default protocol, true boxes, beside rules and the networks that "
            "never looked."
        )
        yield from _photo_scores(labelled)
    free = {name: row for name, row in rows.items() if name not in labelled}
    if free:
        yield "### What they do not decide"
        yield (
            "Nobody labelled depth in coco-lightly and coco-tiny: there one can only ask how often an answer "
            "stays the same when the picture is changed, and how often it is that of FastDepth, which learned "
            "from real rooms, of the lower bottom edge, and of `blind_mlp` (share of ordered pairs, κ in "
            "brackets)."
        )
        yield from _photo_agreement(free)


def _photo_scores(rows: Mapping[str, Any]) -> Iterator[str]:
    heads = [(name, task) for name, row in rows.items() for task in next(iter(row["models"].values()))]
    models = list(dict.fromkeys(model for row in rows.values() for model in row["models"]))
    table = {}
    for model in _in_order(models):
        found = [rows[name]["models"].get(model, {}).get(task, {}) for name, task in heads]
        both = [[interval(of.get("all")), *([value(of.get("occludes"))] * ("occludes" in of))] for of in found]
        table[named(model)] = [" · ".join(part) for part in both]
    yield grid(("model", *(f"{name}: {TASKS[task]}" for name, task in heads)), table)
    yield "In the columns of occlusion the second figure is F1 of *occludes* alone."
    above = [
        f"{named(model)} ({name}, {TASKS[task]})"
        for name, task in heads
        for model in models
        if model in LOOKING
        and rows[name]["models"][model][task]["all"]["low"] > rows[name]["models"]["blind_mlp"][task]["all"]["high"]
    ]
    yield (
        f"By their intervals above `blind_mlp`: {', '.join(above)}."
        if above
        else "No network that looks lies above `blind_mlp` by its interval: with so few photos, nothing here shows "
        "that what was learned on worlds carries over, nor that it does not."
    )


def _photo_agreement(rows: Mapping[str, Any]) -> Iterator[str]:
    task = "within_image/depth"
    others = ("FastDepth", "bottom_edge", "blind_mlp")
    heads = [
        f"{name}: {what}" for name in rows for what in ("mirrored", "JPEG", "moved", *(f"as {o}" for o in others))
    ]
    models = list(dict.fromkeys(model for row in rows.values() for model in row["models"]))
    closest = [
        (
            of["agreement"].get("bottom_edge", {}).get(task, {}).get("agreement", {}).get("value", 0.0),
            named(model),
            name,
        )
        for name, row in rows.items()
        for model, of in row["models"].items()
        if model in LOOKING
    ]
    if closest:
        share, model, name = max(closest)
        yield (
            f"Networks that look, taught on worlds, mostly say what the lower bottom edge says; {model} the most, "
            f"of {percent(share)} of the pairs of {name}."
        )
    table = {}
    for model in _in_order(models):
        cells = []
        for row in rows.values():
            of = row["models"].get(model, {"changes": {}, "agreement": {}})
            changes = of["changes"].get(task, {})
            cells += [value(changes.get(change)) for change in ("mirror", "jpeg", "shift")]
            for other in others:
                said = of["agreement"].get(other, {}).get(task)
                kappa = said and said["kappa"]["value"]
                shown = "–" if kappa is None else f"{kappa:.2f}"
                cells.append("–" if not said else f"{value(said['agreement'])} ({shown})")
        table[named(model)] = cells
    yield grid(("model", *heads), table)


def _in_order(models: Sequence[str]) -> list[str]:
    order = [*RULES, "blind_mlp", "consistent", "FastDepth", *NETWORKS]
    return sorted(models, key=lambda name: order.index(name) if name in order else len(order))
