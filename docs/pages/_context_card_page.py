"""The sections of docs/results/context.md on trainings, on a card and on a CPU: the paper's tables beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from _context_card import BASES
from _context_tables import Figure, gap, per_cent, table

PAPER_1 = {
    "baseline-full": (60, 57, 62, 34, 24),
    "rand-full": (61, 58, 65, 32, 22),
    "const-full": (60, 58, 63, 25, 14),
    "baseline-cooccur": (56, 55, 58, 34, 24),
    "rand-cooccur": (58, 57, 60, 31, 21),
    "const-cooccur": (58, 57, 60, 27, 15),
}
"""mAP on Full, Co-occur and Single, V^min, V^mean, per cent."""
SHOWN_1 = ("map, full, full", "map, full, cooccur", "map, full, single", "v_min, full", "v_mean, full")
MORE_1 = ("map, unbiased, full", "map, reversed, full")
PAPER_2 = {
    "street-baseline": {"full": (81, 59), "with_car": (86, 67), "without_car": (68, 40)},
    "street-hardnegative-negative": {"full": (82, 60), "with_car": (86, 65), "without_car": (72, 46)},
}
"""IoU of road and sidewalk, per cent; the augmented network of the paper's Table 2."""
PAPER_3 = {
    "street-baseline": (37.7, 78.31),
    "street-random-ignore": (32.0, 75.2),
    "street-sizebased-ignore": (37.9, 78.31),
    "street-hardnegative-ignore": (37.5, 77.8),
    "street-sizebased-negative": (37.7, 78.25),
    "street-hardnegative-negative": (38.5, 78.47),
    "street-sizebased-kept": (35.4, 77.45),
    "street-sizebased-grey": (37.5, 78.25),
}
"""mIoU and pixel accuracy, per cent; the last two are Table 7's: nothing removed, and removed but not filled."""
PAPER_AR = {"road": (21, 9), "sidewalk": (22, 14)}
"""Largest AR before and after, per cent."""
PAPER_4 = {
    "three-baseline-full": (77.4, 79.7, 67.0),
    "three-hardnegative-negative-full": (74.2, 75.4, 67.5),
    "three-baseline-cooccur": (68.0, 71.3, 52.0),
    "three-hardnegative-negative-cooccur": (82, 86, 64.6),
}
"""mIoU on Full, Co-occur and Single, per cent."""
NETS = {"light": "MobileNetV2 with ImageNet's weights", "vgg": "VGG-19 with batch norm, from random weights"}
COMMANDS = """\
```console
$ python benchmarks/context.py train inpainter table1-full table3 table4 table7 table1-cooccur longer \\
    longer-streets vgg-baseline-full-0 vgg-rand-full-0 vgg-const-full-0 fills --jobs 4 --mps --workers 5 \\
    --paint 200 --start mobilenet_v2-b0353104.pth --out runs/context --deadline 1100 --pack packed
$ python docs/pages/context_results.py --measure card --card packed --write
```"""
CPU_COMMANDS = """\
```console
$ python benchmarks/context.py train table1-full --scale 0.15 --resolution 240 160 \\
    --start mobilenet_v2-b0353104.pth --set steps=240 warmup=24 batch=24 average=0.98 'precision="fp32"' \\
    --out runs/context
$ python benchmarks/inpainter.py train --name small --kept 1280 --size 240x160 --side 96 --batch 16 --scenes 64 \\
    --steps 1100 --out runs/context --results runs/context/results
$ python benchmarks/context.py train fills table1-cooccur longer --scale 0.15 --resolution 240 160 \\
    --start mobilenet_v2-b0353104.pth --set steps=240 warmup=24 batch=24 average=0.98 'precision="fp32"' \\
    --out runs/context --pack packed
$ python docs/pages/context_results.py --measure cpu --card packed --write
```"""
NOTHING = ("Not measured yet.",)
LONGER = "; *longer* is the baseline with twice the steps, as many pictures as *rand* sees but none of them edited"
LONGER_STREETS = "; *longer* is the baseline with twice the steps, as many pictures as those with removal"
DIFFERS = """\
What differs from the paper: scenes of {scenes} take the place of COCO and ADE20K, so figures compare by their
differences and not by their height; removal is exact and not painted by a network; {nets}. All methods of the paper
are taught the same steps on the same scenes in the same order; edits come on top, so methods with removal see more
pictures, as in the paper."""


def card_page(facts: Mapping[str, Any]) -> Iterator[str]:
    """The section on a card: all at the size of the paper's pictures, or nearly."""
    yield from (COMMANDS, "")
    yield from tables(facts) if facts else NOTHING


def cpu_page(facts: Mapping[str, Any]) -> Iterator[str]:
    """The section on a CPU: the same program, smaller pictures and fewer of them."""
    yield from (CPU_COMMANDS, "")
    yield from tables(facts) if facts else NOTHING


def tables(facts: Mapping[str, Any]) -> Iterator[str]:
    """Every table that trainings were measured for, and what is missing."""
    device = "one core of a CPU" if facts["device"] == "CPU" else f"one {facts['device']}"
    yield f"Measured on {device}. {differs(facts)}"
    yield ""
    for net, rows in facts["classifiers"].items():
        yield from table_1(net, rows, facts["device"])
    if facts["streets"]:
        yield from table_2(facts["streets"])
        yield from table_3(facts["streets"], facts["device"])
    if facts["three"]:
        yield from table_4(facts["three"])
    for name, one in facts["inpainter"].items():
        yield from painter(name, one, facts["device"])
    if facts["fills"]:
        yield from under_fills(facts["fills"])
    yield from undone(facts)


def beside(device: str) -> str:
    """What else ran while a training's time was taken."""
    return " beside other work" if device == "CPU" else " beside others on the card"


def differs(facts: Mapping[str, Any]) -> str:
    """What differs from the paper."""
    worlds, nets = [], []
    if facts["classifiers"]:
        worlds += ["`context/train`", "`context/single`"]
        nets.append(f"the classifier is {' and '.join(NETS[net] for net in facts['classifiers'])}")
    for one in list(facts["streets"].values())[:1]:
        worlds.append("`context/street`")
        size = {"r50": "on ResNet-50", "r18": "on ResNet-18"}.get(one["plan"]["size"], "of 32 channels and less")
        nets.append(
            f"the segmenter, UperNet {size} without auxiliary head, begins at random, on pictures of {pixels(one)}"
        )
    scenes = " and ".join([", ".join(worlds[:-1]), worlds[-1]] if len(worlds) > 1 else worlds)
    return DIFFERS.format(scenes=scenes, nets="; ".join(nets))


def pixels(one: Mapping[str, Any]) -> str:
    """Size of the pictures of a training."""
    return f"{' × '.join(str(side) for side in one['pixels'])} pixels"


def table_1(net: str, rows: Mapping[str, Any], device: str) -> Iterator[str]:
    """Classifiers: figures beside the paper's, differences to the baseline, and what was asked."""
    first = next(iter(rows.values()))
    plan, longest = first["plan"], max(one["train_seconds"] for one in rows.values())
    hinge = next((one["plan"]["hinge"] for name, one in rows.items() if name.startswith("const")), None)
    yield f"### Table 1: classifiers, {NETS[net]}"
    yield ""
    parts = {name.partition("-")[2]: one["scenes"] for name, one in rows.items()}
    learned = " and ".join(f"{n:,} scenes ({part_name(part)})" for part, n in parts.items())
    held_out = ", ".join(f"{n:,} of *{world}*" for world, n in first["examined"].items())
    yield (
        f"{pixels(first)}, {plan['steps']:,} steps of {plan['batch']} scenes, at most {longest:.0f} s a training"
        + beside(device)
        + ("" if hinge is None else f"; *const* with its hinge loss weighted {hinge:g}")
        + (LONGER if any(name.startswith("longer") for name in rows) else "")
        + f". Learned from {learned}; examined on scenes that nobody learned from: {held_out}. Means over seeds; "
        "V^min and V^mean are means over classes."
    )
    yield ""
    cells = []
    for name, one in rows.items():
        method, _, part = name.partition("-")
        values = [one["figures"][key]["value"] for key in (*SHOWN_1, *MORE_1)]
        shown = [
            per_cent(value, limits=key.startswith("v_"))
            for key, value in zip((*SHOWN_1, *MORE_1), values, strict=True)
        ]
        cells.append((part_name(part), method, f"{len(one['seeds'])}", f"{one['images_seen']:,}", *shown))
        if name in PAPER_1:
            cells.append(("", "*paper*", "", "", *(f"*{value}*" for value in PAPER_1[name]), "", ""))
    heads = (
        "learned from",
        "method",
        "seeds",
        "pictures seen",
        "mAP Full",
        "Co-occur",
        "Single",
        "V^min",
        "V^mean",
    )
    yield from table((*heads, "mAP unbiased", "mAP reversed"), cells, 2)
    for word, base in BASES.items():
        yield from differences({name: one[word] for name, one in rows.items() if word in one}, base)
    for name, one in rows.items():
        if name in PAPER_1 and "paired" in one:
            yield verdict(name, one["paired"], rows[f"baseline-{name.partition('-')[2]}"])
    yield ""


def differences(compared: Mapping[str, Mapping[str, Any]], base: str) -> Iterator[str]:
    """Every figure of Table 1, less that of one method."""
    if not compared:
        return
    yield f"Less {base_name(base)} of the same seeds, points, paired by scene; in brackets after V^min each seed's:"
    yield ""
    cells = []
    for name, paired in compared.items():
        method, _, part = name.partition("-")
        seeds = ", ".join(points(value) for value in paired["v_min, full"]["seeds"])
        keys = ("v_mean, full", *SHOWN_1[:3], *MORE_1)
        cells.append(
            (
                part_name(part),
                method,
                f"{gap(paired['v_min, full'])} ({seeds})",
                *(gap(paired[key]) for key in keys),
            )
        )
    heads = ("learned from", "method", "V^min", "V^mean", "mAP Full", "Co-occur", "Single", "unbiased", "reversed")
    yield from table(heads, cells, 2)


def base_name(base: str) -> str:
    """What methods are held against, in a sentence."""
    return "the baseline" if base == "baseline" else f"*{base}*"


def verdict(name: str, paired: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """Whether V^min fell by as much as asked, and where mAP went."""
    method, _, part = name.partition("-")
    start = base["figures"]["v_min, full"]["value"][0]
    asked = asked_fall(start)
    fall = paired["v_min, full"]
    enough = -fall["difference"] >= asked and fall["high"] < 0
    words = "reached" if enough else "reached in part" if fall["high"] < 0 else "not reached"
    keys = {"Full": "map, full, full", "Single": "map, full, single", "reversed": "map, reversed, full"}
    moved = ", ".join(f"{word} {direction(paired[key])}" for word, key in keys.items())
    return (
        f"- *{method}*, {part_name(part)}: a fall of V^min by {100 * asked:.1f} points is asked, the paper's 9 "
        f"where the baseline has 34 % or more, else 26 % of it (here {100 * start:.1f} %): **{words}**. "
        f"mAP: {moved}."
    )


def direction(row: Mapping[str, float]) -> str:
    """Whether a figure went up or down beyond its interval."""
    return "up" if row["low"] > 0 else "down" if row["high"] < 0 else "level"


def asked_fall(start: float) -> float:
    """The fall of V^min that is asked, from the baseline's."""
    return 0.09 if start >= 0.34 else 0.26 * start


def table_2(streets: Mapping[str, Any]) -> Iterator[str]:
    """IoU of road and sidewalk, with and without a car."""
    words = {
        "full": "all",
        "with_car": "with car",
        "without_car": "without car",
        "reversed": "cars on the sidewalk",
    }
    yield "### Table 2: road and sidewalk"
    yield ""
    cells = []
    for name, one in streets.items():
        both = [[one["figures"].get(f"iou {of}, {world}") for of in PAPER_AR] for world in words]
        cells.append((short(name), *(" / ".join(per_cent(value, limits=False) for value in pair) for pair in both)))
        if name in PAPER_2:
            paper = (f"*{a} / {b}*" for a, b in PAPER_2[name].values())
            cells.append(("*paper*", *paper, ""))
    yield "IoU of road / sidewalk, per cent:"
    yield ""
    yield from table(("network", *words.values()), cells)
    for word, base in BASES.items():
        compared = {name: one[word] for name, one in streets.items() if word in one}
        if compared:
            yield f"Without a car, less {base_name(base)}, points, paired by scene:"
            yield ""
            keys = [f"iou {of}, without_car" for of in PAPER_AR]
            cells = [
                (short(name), *(per_cent(paired.get(key), signed=True) for key in keys))
                for name, paired in compared.items()
            ]
            paper = [("*paper*", "*+4*", "*+6*")] if base == "baseline" else []
            yield from table(("network", "road", "sidewalk"), [*cells, *paper])


def table_3(streets: Mapping[str, Any], device: str) -> Iterator[str]:
    """Strategies of removal, and the ablations of Table 7."""
    first = next(iter(streets.values()))
    plan, longest = first["plan"], max(one["train_seconds"] for one in streets.values())
    held_out = ", ".join(f"{n:,} of *{world}*" for world, n in first["examined"].items())
    yield "### Tables 3 and 7: which class goes, and what becomes of its pixels"
    yield ""
    yield (
        f"{plan['steps']:,} steps of {plan['batch']} scenes, at most {longest:.0f} s a training{beside(device)}, "
        "one seed. *kept*: the label is ignored, the object stays; *grey*: removed, not filled (Table 7)"
        + (LONGER_STREETS if "street-longer" in streets else "")
        + f". Learned from {first['scenes']:,} scenes; examined on scenes that nobody learned from: {held_out}. "
        "The largest AR are at α = 0.1."
    )
    yield ""
    keys = ("miou, full", "accuracy, full", "max AR road", "max AR sidewalk", "max AR")
    cells = []
    for name, one in streets.items():
        cells.append((short(name), f"{one['images_seen']:,}", *(per_cent(one["figures"].get(key)) for key in keys)))
        if name in PAPER_3:
            paper = PAPER_3[name]
            most = int(name == "street-hardnegative-negative")
            loud = [f"*{pair[most]}*" for pair in PAPER_AR.values()] if name in PAPER_2 else ["", ""]
            cells.append(("*paper*", "", f"*{paper[0]}*", f"*{paper[1]}*", *loud, ""))
    heads = ("network", "pictures seen", "mIoU", "pixel accuracy", "max AR road", "max AR sidewalk", "max AR, mean")
    yield from table(heads, cells)
    for word, base in BASES.items():
        compared = {name: one[word] for name, one in streets.items() if word in one}
        if compared:
            yield f"Less {base_name(base)}, points, paired by scene:"
            yield ""
            cells = [
                (short(name), *(per_cent(paired.get(key), signed=True) for key in keys))
                for name, paired in compared.items()
            ]
            yield from table((heads[0], *heads[2:]), cells)


def table_4(three: Mapping[str, Any]) -> Iterator[str]:
    """Three classes."""
    yield "### Table 4: car, road and sidewalk alone"
    yield ""
    yield "Mean IoU by what scenes show, by what was learned from; *Co-occur* leaves out scenes of one class."
    yield ""
    cells = []
    for name, one in three.items():
        values = [one["figures"][word] for word in ("full", "cooccur", "single")]
        method = short(name).rpartition("-")[0]
        cells.append(
            (part_name(one["part"]), method, f"{one['images_seen']:,}", *(per_cent(value) for value in values))
        )
        if name in PAPER_4:
            cells.append(("", "*paper*", "", *(f"*{value}*" for value in PAPER_4[name])))
        for word, base in BASES.items():
            if word in one:
                values = [one[word][subset] for subset in ("full", "cooccur", "single")]
                cells.append(("", f"less {base_name(base)}", "", *(per_cent(v, signed=True) for v in values)))
    yield from table(("learned from", "network", "pictures seen", "Full", "Co-occur", "Single"), cells, 2)


def painter(name: str, one: Mapping[str, Any], device: str) -> Iterator[str]:
    """The in-painter beside Telea."""
    whole, plan = one["worlds"]["all"], one["plan"]
    over: Figure = whole["over_telea"]
    assert over is not None
    low, high = over[1], over[2]
    words = (
        "beats"
        if low is not None and low > 0
        else "does not beat"
        if high is not None and high < 0
        else "is level with"
    )
    yield "### The in-painting network"
    yield ""
    yield (
        f"`{name}`: the paper's layers with {plan['width']} channels in place of 64, {plan['steps']:,} steps of "
        f"{plan['batch']} squares of {plan['side']} pixels ({one['images_seen']:,} shown) in "
        f"{one['train_seconds'] or 0:.0f} s{beside(device)}. On worlds it did not learn from it **{words}** Telea "
        f"in the hole: {decibel(over)} dB PSNR over {whole['holes']:,} holes."
    )
    yield ""
    cells = [
        (
            world,
            f"{row['holes']:,}",
            *(f"{row[key]:.2f}" for key in ("psnr", "psnr_telea", "psnr_ns", "psnr_flat")),
            decibel(row["over_telea"]),
        )
        for world, row in one["worlds"].items()
    ]
    heads = ("held-out world", "holes", "network, dB", "Telea", "Navier–Stokes", "flat colour", "network − Telea")
    yield from table(heads, cells)


def under_fills(facts: Mapping[str, Any]) -> Iterator[str]:
    """How far V^min under a fill lies from V^min under exact removal, of all classifiers taught here."""
    fills = list(facts["all"])
    yield "### The classifiers under other fills"
    yield ""
    yield (
        f"{facts['scenes']:,} held-out scenes of `context/train`, {facts['cases']:,} cases. V^min over all cases; "
        "*exact-hole* is exact inside the hole and leaves the shadow. *Another verdict*: violated under the fill "
        "and not under exact removal, or the other way round. Pairs are told apart where their paired interval "
        "under exact removal excludes 0."
    )
    yield ""
    cells = []
    for fill in fills:
        one, order = facts["all"][fill], facts["ranking"][fill]
        cells.append(
            (
                fill,
                per_cent(one["difference"], signed=True),
                per_cent(one["other_verdict"]),
                f"{order['same']} of {order['pairs']}",
                f"{order['kept']} of {order['apart']}",
            )
        )
    heads = (
        "fill",
        "V^min − exact, mean over networks",
        "another verdict",
        "pairs in order",
        "of those told apart",
    )
    yield from table(heads, cells)
    cells = [
        (name, per_cent(row["exact"]), *(per_cent(row[fill], signed=True) for fill in fills))
        for name, row in facts["networks"].items()
    ]
    yield from table(("network", "V^min, exact", *(f"{fill} − exact" for fill in fills)), cells)


def undone(facts: Mapping[str, Any]) -> Iterator[str]:
    """What the paper has and we have not."""
    light = facts["classifiers"].get("light", {})
    missing = [f"*{name}* of Table 1" for name in PAPER_1 if name not in light]
    missing += [f"{short(name)} with three seeds" for name, one in light.items() if len(one["seeds"]) < 3]
    missing += vgg_left_out(facts["classifiers"].get("vgg", {}))
    missing += left_out("segmenters of streets (Tables 2, 3 and 7)", PAPER_3, facts["streets"])
    missing += left_out("three classes of Table 4", PAPER_4, facts["three"])
    missing += ["the in-painting network"] if not facts["inpainter"] else []
    missing += ["the classifiers under other fills"] if not facts["fills"] else []
    missing += (
        ["scores under the network's fill"] if facts["fills"] and "network" not in facts["fills"]["all"] else []
    )
    if missing:
        seeds = " Segmenters have one seed each." if facts["streets"] else ""
        yield f"Not done at this size: {'; '.join(missing)}.{seeds}"
        yield ""


def vgg_left_out(rows: Mapping[str, Any]) -> list[str]:
    """What of Table 1 the paper's own classifier was not taught."""
    if not rows:
        return ["VGG-19, the paper's classifier"]
    seeds = max(len(one["seeds"]) for one in rows.values())
    missing = ["VGG-19 on Co-occur"] if not any(name.endswith("cooccur") for name in rows) else []
    return missing + ([f"VGG-19 with more than {seeds} seed{'s' * (seeds > 1)}"] if seeds < 3 else [])


def left_out(table: str, asked: Mapping[str, Any], done: Mapping[str, Any]) -> list[str]:
    """What of a table is not there: the table where nothing is, else its networks."""
    return [f"{short(name)} of {table}" for name in asked if name not in done] if done else [f"the {table}"]


def part_name(part: str) -> str:
    """Full or Co-occur."""
    return {"full": "Full", "cooccur": "Co-occur"}[part]


def short(name: str) -> str:
    """A training's name without its kind."""
    return name.partition("-")[2] if name.startswith(("street-", "three-")) else name


def points(value: float) -> str:
    """A difference in points."""
    return f"{100 * value:+.1f}".replace("-", "−")


def decibel(value: Sequence[float | None] | None) -> str:
    """A difference in dB with its interval."""
    if value is None:
        return "–"
    text, *limits = (f"{one:+.2f}" for one in value if one is not None)
    return (text + (f" [{', '.join(limits)}]" if limits else "")).replace("-", "−")
