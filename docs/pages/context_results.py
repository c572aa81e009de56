"""Context scores on real photos and on generated worlds: the parts of docs/results/context.md.

    python docs/pages/context_results.py --measure photos      # real models on coco-tiny and coco-lightly
    python docs/pages/context_results.py --measure worlds      # small networks under every fill, beside exact
    python docs/pages/context_results.py --measure streets     # the same of segmenters of streets
    python docs/pages/context_results.py --measure trained     # what the networks' training wrote
    python docs/pages/context_results.py --measure pictures    # rows of generated scenes under every fill
    python docs/pages/context_results.py --measure card --card DIR   # what benchmarks/context.py --pack DIR left
    python docs/pages/context_results.py --measure cpu --card DIR    # the same where there was no card
    python docs/pages/context_results.py --write               # the tables, from what was measured

Measurements are kept as JSON in docs/results/context/; datasets, runs and networks in --work, so that what was
interrupted goes on. The networks come first, by benchmarks/context.py (docs/results/context.md has the commands).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import _context_instrument as instrument
import _context_photos as photos
from _context_card import measured as card_measured
from _context_card_page import card_page, cpu_page
from _context_pictures import figures, pictures
from _context_tables import gap, per_cent, signed, table
from _verification_rows import ROOT

OUT = ROOT / "docs" / "results" / "context"


def photo_scores(facts: Mapping[str, Any]) -> Iterator[str]:
    """Classifier and fills, both sets."""
    rows, differences = [], []
    for name, of in facts.items():
        for fill, one in of["classify"].items():
            rows.append(
                (
                    name,
                    fill,
                    f"{one['cases']} in {one['images_with_cases']}",
                    per_cent(one["v_min"]["pooled"]),
                    per_cent(one["v_mean"]["pooled"]),
                    f"{100 * pooled_chance(one):.1f}",
                    f"{100 * one['ties_min']:.1f}",
                    per_cent(one["v_min"]["mean"]),
                    per_cent(one["v_min_left"]),
                    per_cent(one["comes_back"]),
                )
            )
        for pair, one in of["classify_paired"].items():
            differences.append((name, pair, *(gap(one.get(key)) for key in photos.SHOWN["classify"][:2])))
    heads = ("photos", "fill", "cases in photos", "V^min", "V^mean", "chance", "ties", "V^min, classes")
    yield from table((*heads, "V^min, half left", "found again"), rows, 2)
    yield "Paired differences between fills, points, by photo:"
    yield ""
    yield from table(("photos", "fills", "V^min", "V^mean"), differences, 2)


def pooled_chance(one: Mapping[str, Any]) -> float:
    """V^min of a random model over all cases together."""
    by = one["by_context"].values()
    return float(sum(of["n"] * of["chance"] for of in by) / sum(of["n"] for of in by))


def photo_contexts(facts: Mapping[str, Any]) -> Iterator[str]:
    """By number of context classes, and mAP."""
    rows = []
    for name, of in facts.items():
        one = next(iter(of["classify"].values()))
        for k, by in one["by_context"].items():
            cells = [per_cent(of["classify"][f]["by_context"].get(k, {}).get("v_min")) for f in of["classify"]]
            rows.append((name, k, f"{by['n']}", f"{100 * by['chance']:.1f}", *cells))
    fills = list(next(iter(facts.values()))["classify"])
    yield from table(("photos", "k", "cases", "chance", *(f"V^min, {f}" for f in fills)), rows, 1)
    rows = []
    for name, of in facts.items():
        one = next(iter(of["classify"].values()))
        many = one["n_by_subset"]
        rows.append((name, *(f"{per_cent(one['map'][key])}, {many[key]} photos" for key in one["map"])))
    yield "mAP of the same photos, of which nothing is removed:"
    yield ""
    yield from table(("photos", "Full", "Co-occur", "Single"), rows)


def photo_classes(facts: Mapping[str, Any]) -> Iterator[str]:
    """Classes with five cases and more."""
    rows = []
    for name, of in facts.items():
        fills = of["classify"]
        first = next(iter(fills.values()))["by_class"]
        for label in sorted(first, key=lambda one: (-first[one]["n"], one)):
            cells = [per_cent(fills[f]["by_class"][label]["v_min"]) for f in fills]
            rows.append((name, label, f"{first[label]['n']}", *cells, per_cent(first[label]["ap"])))
    fills = list(next(iter(facts.values()))["classify"])
    yield from table(("photos", "class", "cases", *(f"V^min, {f}" for f in fills), "AP"), rows, 2)


def photo_segments(facts: Mapping[str, Any]) -> Iterator[str]:
    """The segmenter."""
    rows = []
    for name, of in facts.items():
        for fill, one in of["segment"].items():
            alphas = ", ".join(f"{a}: {per_cent(v, limits=False)}" for a, v in one["by_alpha"].items())
            rows.append(
                (
                    name,
                    fill,
                    per_cent(one["max_ar"]),
                    f"{one['n_pairs'] - one['n_thin_pairs']} of {one['n_pairs']}",
                    per_cent((one["sparsity"], None, None)),
                    alphas,
                    per_cent(one["miou"]),
                    per_cent(one["comes_back"]),
                )
            )
    heads = (
        "photos",
        "fill",
        "max AR, mean",
        "pairs in 5 photos and more",
        "of them at 0.1 or below",
        "by α",
        "mIoU",
    )
    yield from table((*heads, "found again"), rows, 2)
    rows = []
    for name, of in facts.items():
        fills = of["segment"]
        where = {f: {(p["affected"], p["removed"]): p for p in fills[f]["pairs"]} for f in fills}
        first = next(iter(where.values()))
        loud = [pair for pair in first if any((where[f].get(pair, {}).get("ar") or [0])[0] >= 0.2 for f in fills)]
        for pair in sorted(loud):
            deltas = per_cent(first[pair]["delta"], signed=True)
            cells = [per_cent(where[f].get(pair, {}).get("ar")) for f in fills]
            rows.append((name, f"{pair[0]} without {pair[1]}", f"{first[pair]['n']}", *cells, deltas))
    fills = list(next(iter(facts.values()))["segment"])
    yield "Pairs of classes with an AR of 20 % or more under some fill; ΔIoU in points, Telea:"
    yield ""
    yield from table(("photos", "pair", "photos with it", *(f"AR, {f}" for f in fills), "mean ΔIoU"), rows, 2)


def photo_controls(facts: Mapping[str, Any]) -> Iterator[str]:
    """What edits affect that remove nothing."""
    rows = []
    for name, of in facts.items():
        for skill, model in (("classify", "EfficientDet"), ("segment", "DeepLab")):
            for fill, one in of[skill].items():
                shares = [per_cent(one["controls"][kind]) for kind in ("removal", "false_edit", "empty_region")]
                rows.append((name, model, fill, f"{one['n_controls']}", *shares))
    heads = ("photos", "model", "fill", "cases of controls", "removal", "false edit", "empty region")
    yield from table(heads, rows, 3)


def world_scores(facts: Mapping[str, Any]) -> Iterator[str]:
    """Networks by world and fill, with paired differences from exact removal."""
    for world, of in facts["worlds"].items():
        rows = []
        for name, fills in of["models"].items():
            if name not in instrument.RULES:
                first = fills["exact"]
                cells = [gap(fills[f]["paired"][instrument.FIGURES["v_min"]]) for f in fills if f != "exact"]
                rows.append((name, per_cent(first["map"], limits=False), per_cent(first["v_min"]), *cells))
        fills = [f for f in next(iter(of["models"].values())) if f != "exact"]
        n = next(iter(of["models"].values()))["exact"]["cases"]
        few = f"; MI-GAN on the first {facts['few']} scenes" if instrument.SLOW in fills else ""
        yield f"`{world}`: {facts['scenes']} scenes, {n} cases{few}."
        yield ""
        yield from table(("network", "mAP", "V^min, exact", *(f"{f} − exact" for f in fills)), rows)
    rows = []
    for world, of in facts["worlds"].items():
        for rule in instrument.RULES:
            cells = [per_cent(one["v_min"], limits=False) for one in of["models"][rule].values()]
            rows.append((world, rule, *cells[:4]))
    yield "Rules whose V^min is known: 0, 1 and k/(k + 1):"
    yield ""
    yield from table(("world", "rule", *instrument.SCORED), rows, 2)


def world_means(facts: Mapping[str, Any]) -> Iterator[str]:
    """V^mean beside exact removal."""
    rows = []
    for world, of in facts["worlds"].items():
        for name, fills in of["models"].items():
            if name not in instrument.RULES:
                named = {f: one["paired"][instrument.FIGURES["v_mean"]] for f, one in fills.items() if f != "exact"}
                cells = [gap(named.get(f)) for f in (*instrument.SCORED[1:], instrument.SLOW)]
                rows.append((world, name, per_cent(fills["exact"]["v_mean"]), *cells))
    heads = [f"{f} − exact" for f in (*instrument.SCORED[1:], instrument.SLOW)]
    yield from table(("world", "network", "V^mean, exact", *heads), rows, 2)


def world_quality(facts: Mapping[str, Any]) -> Iterator[str]:
    """Picture quality beside the error of scores, by fill and group; the controls; the ranking."""
    rows = []
    for fill, one in facts["quality"].items():
        rows.append(
            (
                fill,
                f"{one['edits']} / {one['cases']}",
                f"{one['psnr']:.1f}" if one["psnr"] < instrument.SAME else "the same",
                f"{one['ssim']:.3f}",
                per_cent(one["v_min_error"], signed=True),
                per_cent(one["other_verdict"]),
                f"{one['score_error']:.2f}",
                signed(one["psnr_error"]),
                signed(one["ssim_error"]),
            )
        )
    heads = ("fill", "edits / cases", "PSNR, dB", "SSIM", "V^min − exact", "another verdict", "error of the logit")
    yield from table((*heads, "PSNR ~ error", "SSIM ~ error"), rows)
    for title, groups in facts["groups"].items():
        words = {
            "size": "By size of what was removed, share of the picture (thirds):",
            "shadow": "By how much changes outside the hole when it goes, in shares of the hole (thirds):",
            "material": "By material:",
        }
        fills = list(facts["quality"])
        rows = []
        for label, by in groups.items():
            cells = [
                f"{per_cent(by[f]['v_min_error'], signed=True)}; {per_cent(by[f]['other_verdict'], limits=False)}"
                if f in by
                else "–"
                for f in fills
            ]
            rows.append((label, f"{next(iter(by.values()))['cases']}", *cells))
        yield f"{words[title]} V^min − exact, points; then cases with another verdict, per cent."
        yield ""
        yield from table((title, "cases", *fills), rows)


def world_ranking(facts: Mapping[str, Any]) -> Iterator[str]:
    """Does the order of networks survive a fill?"""
    rows = []
    for world, of in facts["worlds"].items():
        for fill, one in of["ranking"].items():
            if fill != "exact":
                told = f"{one['apart_same']} of {one['apart']}"
                rows.append((world, fill, ", ".join(one["order"]), f"{one['same']} of {one['pairs']}", told))
        rows.append((world, "**exact**", ", ".join(of["ranking"]["exact"]["order"]), "", ""))
    heads = ("world", "fill", "networks, lowest V^min first", "pairs in order", "of those told apart exactly")
    yield from table(heads, rows, 3)


def world_controls(facts: Mapping[str, Any]) -> Iterator[str]:
    """Controls on generated worlds."""
    rows = []
    for world, of in facts["worlds"].items():
        for name, fills in of["models"].items():
            for fill, one in fills.items():
                if name not in instrument.RULES and one["n_controls"]:
                    kinds = ("removal", "false_edit", "empty_region")
                    rows.append((world, name, fill, *(per_cent(one["controls"][kind]) for kind in kinds)))
    yield from table(("world", "network", "fill", "removal", "false edit", "empty region"), rows, 3)


def world_methods(facts: Mapping[str, Any]) -> Iterator[str]:
    """Taught with removal against the baseline of the same seed, under exact removal."""
    rows = [
        (world, pair, *(gap(one.get(key)) for key in (*instrument.FIGURES.values(), instrument.MAP)))
        for world, of in facts["worlds"].items()
        for pair, one in of["methods"].items()
    ]
    yield from table(("world", "networks", "V^min", "V^mean", "mAP"), rows, 2)


def trained_classes(facts: Mapping[str, Any]) -> Iterator[str]:
    """The seed's Table 1, small."""
    rows = []
    for name, one in facts["classifiers"].items():
        of = one["full"]
        shares = [of["map"]["full"], of["map"]["cooccur"], of["map"]["single"], of["v_min"], of["v_mean"]]
        more = [one["unbiased"]["map"]["full"], one["reversed"]["map"]["full"]]
        cells = [per_cent((share, None, None)) for share in (*shares, *more)]
        rows.append((name.removeprefix("light-"), f"{one['images_seen']:,}", *cells))
    heads = ("network", "pictures seen", "mAP Full", "Co-occur", "Single", "V^min", "V^mean", "mAP unbiased")
    yield from table((*heads, "mAP reversed"), rows)


def trained_streets(facts: Mapping[str, Any]) -> Iterator[str]:
    """The seed's Table 2, small."""
    rows = []
    for name, one in facts["segmenters"].items():
        worlds = ("full", "with_car", "without_car")
        cells = [" / ".join(per_cent((one[w]["iou"][n], None, None)) for n in instrument.ROAD) for w in worlds]
        most = " / ".join(per_cent((one["full"]["max_ar"][n], None, None)) for n in instrument.ROAD)
        miou = per_cent((one["full"]["miou"], None, None))
        rows.append((name.removeprefix("street-"), f"{one['images_seen']:,}", *cells, miou, most))
    heads = ("network", "pictures seen", "all", "with car", "without car", "mIoU, all", "max AR")
    yield from table(heads, rows)


def street_scores(facts: Mapping[str, Any]) -> Iterator[str]:
    """Segmenters of streets."""
    rows = []
    for name, fills in facts["models"].items():
        for fill, one in fills.items():
            paired = one["paired"].get("max AR, mean over classes") if fill != "exact" else None
            cells = [per_cent(one[key]) for key in ("miou", "max_ar", "road", "sidewalk")]
            rows.append((name, fill, *cells, gap(paired), per_cent(one["controls"]["false_edit"])))
    heads = ("network", "fill", "mIoU", "max AR, mean", "AR(road, car)", "AR(sidewalk, car)", "max AR − exact")
    yield f"{facts['scenes']} scenes of `{instrument.STREET}`."
    yield ""
    yield from table((*heads, "false edit"), rows, 2)


PARTS = {
    "photos": {
        "photos": photo_scores,
        "contexts": photo_contexts,
        "classes": photo_classes,
        "segments": photo_segments,
        "controls": photo_controls,
    },
    "worlds": {
        "worlds": world_scores,
        "means": world_means,
        "quality": world_quality,
        "ranking": world_ranking,
        "world_controls": world_controls,
        "methods": world_methods,
    },
    "trained": {"trained_classes": trained_classes, "trained_streets": trained_streets},
    "streets": {"streets": street_scores},
}
"""Measurement → files of tables that are made from it."""


TRAININGS = {"card": card_page, "cpu": cpu_page}
"""Measurement of trainings → the section made from it, also where nothing is measured yet."""


def measure(what: str, asked: argparse.Namespace) -> None:
    """Measure one of `PARTS` and keep its figures."""

    def say(words: str) -> None:
        print(words, flush=True)

    OUT.mkdir(parents=True, exist_ok=True)
    if what == "pictures":
        pictures(asked.work / "worlds", asked.networks, OUT)
        return
    if what in TRAININGS:
        # Tables whose trainings the folders do not hold stay as they were measured.
        file = OUT / f"{what}.json"
        before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        found = before | {key: value for key, value in card_measured(asked.card).items() if value}
    elif what == "trained":
        found = instrument.trained(asked.networks)
    elif what == "photos":
        found = photos.measured(asked.work / "photos", list(photos.FILLS), say)
    else:
        fills = [*instrument.SCORED, *([instrument.SLOW] if photos.MIGAN.exists() and what == "worlds" else [])]
        of = {"worlds": instrument.measured, "streets": instrument.streets}[what]
        found = of(asked.work / "worlds", asked.networks, fills, say)
    (OUT / f"{what}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", choices=(*PARTS, "pictures", *TRAININGS), nargs="*", default=[])
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "context", help="where datasets and runs are kept"
    )
    parser.add_argument(
        "--networks", type=Path, default=None, help="where the networks are; by default WORK/networks"
    )
    parser.add_argument("--write", action="store_true", help=f"write the tables to {OUT.relative_to(ROOT)}")
    parser.add_argument("--card", type=Path, nargs="+", help="folders with context-card.json and context-card.npz")
    asked = parser.parse_args()
    if set(TRAININGS) & set(asked.measure) and asked.card is None:
        parser.error("--measure card and --measure cpu need --card DIR")
    asked.networks = asked.networks or asked.work / "networks"
    for what in asked.measure:
        measure(what, asked)
    for name, page in TRAININGS.items():
        file = OUT / f"{name}.json"
        found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        text = "\n".join(page(found)).rstrip() + "\n"
        if asked.write:
            (OUT / f"{name}.md").write_text(text, encoding="utf-8")
        else:
            print(text)
    for name, files in PARTS.items():
        if not (OUT / f"{name}.json").exists():
            print(f"{name} is not measured yet: --measure {name}")
            continue
        facts = json.loads((OUT / f"{name}.json").read_text(encoding="utf-8"))
        for file, part in files.items():
            text = "\n".join(part(facts)).rstrip() + "\n"
            if asked.write:
                (OUT / f"{file}.md").write_text(text, encoding="utf-8")
            else:
                print(text)
    if asked.write:
        for name in (*PARTS, *TRAININGS):
            file = OUT / f"{name}.json"
            facts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
            for chart, drawing in (figures(name, facts) if facts else {}).items():
                (OUT / f"{chart}.svg").write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()
