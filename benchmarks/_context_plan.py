"""What benchmarks/context.py teaches and asks: scenes to draw, trainings by name, groups of them by table."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any

SEEDS = (0, 1, 2)
HELD_OUT = 1_000_003
"""Seed of the scenes that models are examined on."""
THREE = ("car", "road", "sidewalk")
ROAD = ("road", "sidewalk")
PAINTER, FILLS = "inpainter", "fills"
"""Names of what is no training of a classifier or segmenter."""
FILLED = 512
"""Scenes of context/train that the classifiers are asked about under every fill, the first of those held out."""


@dataclass(frozen=True)
class Bank:
    """Scenes that are drawn once: worlds with numbers of scenes, and what is kept of them.

    Attributes:
        worlds: (world, scenes).
        seed: Of the scenes.
        fill: What holes are filled with.
        size: Side of the squares that pictures are resized to; None keeps them as drawn.
        classes: That are told and removed; all by default.
        labelled: Keep the class of every pixel.
        view: (width, height) of the drawn pictures; None as the world says.
        radius: By which masks grow, pixels.
    """

    worlds: tuple[tuple[str, int], ...]
    seed: int = 0
    fill: str = "exact"
    size: int | None = None
    classes: tuple[str, ...] = ()
    labelled: bool = False
    view: tuple[int, int] | None = None
    radius: int = 5


@dataclass(frozen=True)
class Run:
    """One training: its network's kind, settings of the plan, the scenes, and what it is examined on."""

    kind: str
    settings: dict[str, Any]
    bank: Bank
    tests: dict[str, Bank]
    part: str = "full"
    among: tuple[str, ...] = ()
    like: str = ""

    @property
    def banks(self) -> list[Bank]:
        """Scenes to learn from, then those to be examined on."""
        return [self.bank, *self.tests.values()]


# Full is what the seed's COCO is: of 39k pictures 30k show two classes and more.
CLASS_BANK = Bank((("context/train", 7700), ("context/single", 2300)), size=256)
CLASS_TESTS = {
    "full": Bank((("context/train", 1540), ("context/single", 460)), HELD_OUT, size=256),
    "unbiased": Bank((("context/unbiased", 800),), HELD_OUT, size=256),
    "reversed": Bank((("context/reversed", 800),), HELD_OUT, size=256),
}
# Three quarters of the world's own size; masks grow by as much of the picture.
STREET = Bank((("context/street/train", 5000),), labelled=True, view=(288, 192), radius=4)
STREET_TESTS = {
    word: replace(STREET, worlds=((f"context/street/{word}", count),), seed=HELD_OUT)
    for word, count in (("full", 500), ("with_car", 250), ("without_car", 250), ("reversed", 250))
}
LIGHT = {"backbone": "mobilenet_v2", "width": 256, "batch": 64, "steps": 500, "rate": 1e-3, "warmup": 50}
VGG = {"backbone": "vgg19", "width": 512, "batch": 64, "steps": 900, "rate": 6e-4, "warmup": 90}
METHODS = {
    "baseline": {"removal": "none"},
    "rand": {"removal": "rand"},
    "const": {"removal": "const", "share": 0.5},
}
LONGER = "longer"
"""The baseline with twice the steps: as many pictures as *rand*, none of them edited."""
SEGMENT = {"size": "r50", "batch": 16, "steps": 500, "rate": 4e-4, "warmup": 50}
STRATEGIES = {
    "baseline": ({"removal": "none"}, "exact"),
    LONGER: ({"removal": "none"}, "exact"),
    "random-ignore": ({"removal": "random"}, "exact"),
    "sizebased-ignore": ({"removal": "sizebased"}, "exact"),
    "hardnegative-ignore": ({"removal": "hardnegative"}, "exact"),
    "sizebased-negative": ({"removal": "sizebased", "negative": 1.0}, "exact"),
    "hardnegative-negative": ({"removal": "hardnegative", "negative": 1.0}, "exact"),
    "sizebased-kept": ({"removal": "sizebased"}, "kept"),
    "sizebased-grey": ({"removal": "sizebased"}, "grey"),
}
ABLATIONS = ("sizebased-kept", "sizebased-grey")
"""Table 7's: nothing removed, and removed but not filled."""


def runs(args: argparse.Namespace) -> dict[str, Run]:
    """Every training by name."""
    made: dict[str, Run] = {}
    classes = set_for(CLASS_BANK, args), {word: set_for(bank, args) for word, bank in CLASS_TESTS.items()}
    for net, usual in (("light", LIGHT), ("vgg", VGG)):
        start = {"start": args.start} if net == "light" and args.start else {}
        for part in ("full", "cooccur"):
            for seed in SEEDS:
                for method, settings in {**METHODS, LONGER: METHODS["baseline"]}.items():
                    whole = lengthened(method, {**usual, **start, **settings, **given(args, net), "seed": seed})
                    like = f"{net}-{method}-{part}"
                    made[f"{like}-{seed}"] = Run("classifier", whole, *classes, part, like=like)
                    if args.inpainter and settings["removal"] != "none":
                        filled = replace(classes[0], fill=f"network:{args.inpainter}")
                        made[f"{net}-{method}-network-{part}-{seed}"] = Run(
                            "classifier", whole, filled, classes[1], part, like=like
                        )
    street, tests = set_for(STREET, args), {word: set_for(bank, args) for word, bank in STREET_TESTS.items()}
    for name, (settings, fill) in STRATEGIES.items():
        whole = lengthened(name, {**SEGMENT, **settings, **given(args, "street")})
        like = f"street-{name if settings['removal'] == 'none' else 'removal'}"
        made[f"street-{name}"] = Run("segmenter", whole, replace(street, fill=fill), tests, like=like)
    three = {word: replace(bank, classes=THREE) for word, bank in tests.items()}
    for part in ("full", "cooccur"):
        for method in ("baseline", LONGER, "hardnegative-negative"):
            usual = {**SEGMENT, **STRATEGIES[method][0], **given(args, "street"), **given(args, "three")}
            whole = lengthened(method, usual)
            bank = replace(street, classes=THREE)
            like = f"three-{method}"
            made[f"{like}-{part}"] = Run("segmenter", whole, bank, three, part, among=THREE, like=like)
    return made


def lengthened(method: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a plan, with twice the steps where the method says so."""
    return settings | ({"steps": 2 * settings["steps"]} if method == LONGER else {})


def given(args: argparse.Namespace, kind: str) -> dict[str, Any]:
    """Settings of the command line: those for all, then those of ``KIND.NAME=VALUE``."""
    alone = {name: value for name, value in args.settings.items() if "." not in name}
    return alone | {
        name.partition(".")[2]: value for name, value in args.settings.items() if name.partition(".")[0] == kind
    }


def set_for(bank: Bank, args: argparse.Namespace) -> Bank:
    """The bank at the scale and the sizes of the command line."""
    size = bank.size if args.resolution is None or bank.size is None else min(bank.size, 96)
    view = args.resolution or (args.street_view if bank.labelled and args.street_view else bank.view)
    worlds = tuple((name, max(4, round(count * args.scale))) for name, count in bank.worlds)
    radius = round(view[0] / 76) if view and args.street_view and bank.labelled else bank.radius
    seed = args.examine_seed if bank.seed == HELD_OUT else bank.seed
    return replace(bank, worlds=worlds, size=size, view=view, radius=radius, seed=seed)


def groups(known: dict[str, Run], net: str) -> dict[str, list[str]]:
    """Names of the trainings of each table in order, seed by seed: a cut leaves whole comparisons."""
    return {
        "table1": [f"{net}-{m}-{p}-{s}" for p in ("full", "cooccur") for s in SEEDS for m in METHODS],
        "table1-full": [f"{net}-{m}-full-{s}" for s in SEEDS for m in METHODS],
        "table1-cooccur": [f"{net}-{m}-cooccur-{s}" for s in SEEDS for m in METHODS],
        LONGER: [f"{net}-{LONGER}-{p}-{s}" for p in ("full", "cooccur") for s in SEEDS],
        f"{LONGER}-streets": [name for name in known if LONGER in name and known[name].kind == "segmenter"],
        "table3": [f"street-{name}" for name in STRATEGIES if name not in (LONGER, *ABLATIONS)],
        "table4": [name for name in known if name.startswith("three-") and LONGER not in name],
        "table7": [f"street-{name}" for name in ABLATIONS],
        PAINTER: [PAINTER],
        FILLS: [FILLS],
    }
