"""Rows of the verification page about generated scenes: what fits, truth, Blender, rest, likeness, speed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import geospa_tables
from _verification_rows import WORLDS, Row, asked, figure, numbers, stored

ASKED = {"geospa/train": "≥ 9,000", **dict.fromkeys(("geospa/val_op", "geospa/val_size", "kitchen"), "≥ 5,000")}
PSNR, IDS = "PSNR to the CPU, dB (worst of 8)", "ids that differ, ppm"


def fitting_rows() -> Iterator[Row]:
    for relation in ("contain", "support"):
        found = geospa_tables.compare(relation)
        theirs, ours = found.pairs > 0, found.margins >= -geospa_tables.TOLERANCE
        yield numbers(f"{relation}, pairs that fit", int(theirs.sum()), int(ours.sum()), digits=0)
        alike = int((theirs == ours).sum())
        yield numbers(f"{relation}, pairs told alike ({100 * found.agreement:.2f} %)", theirs.size, alike, digits=0)
        share, judged = found.triple_agreement(), int(found.judged.sum())
        yield numbers(
            f"{relation}, triples told alike ({100 * share:.2f} %)", judged, round(share * judged), digits=0
        )


def truth_rows() -> Iterator[Row]:
    whole = stored("truth.md")[-1]
    pixels, wrong = figure(whole["pixels"]), figure(whole["away from any edge"])
    yield numbers(
        "pixels whose id, depth, stuff and masks are right, edges apart", pixels, pixels - wrong, digits=0
    )
    told = figure(whole["judgements"]) - figure(whole["too near a tie to say"])
    yield numbers("judgements by eight predicates", told, told - figure(whole["wrong"]), digits=0)


def blender_rows() -> Iterator[Row]:
    for row in stored("blender_agreement.md"):
        pixels, differ = figure(row["pixels"]), figure(row["ids differ"])
        yield numbers(f"{row['world']}, pixels with the same id, {row['views']} views", pixels, pixels - differ, 0)
        yield numbers(f"{row['world']}, depth, 99.9 % of pixels", 0.0, figure(row["depth mm, 99.9 %"]), 2, " mm")


def rest_rows() -> Iterator[Row]:
    rows = stored("at_rest.md")
    objects, moved = (sum(figure(row[key]) for row in rows) for key in ("objects", "moved"))
    yield numbers(f"objects of {len(rows)} worlds that stay where they are", objects, objects - moved, digits=0)
    yield numbers("largest shift", 0.0, max(figure(row["largest mm"]) for row in rows), 2, " mm")


def likeness_rows() -> Iterator[Row]:
    """What benchmarks/likeness.py measured; nothing where it has not run."""
    file = WORLDS / "likeness.json"
    for one in json.loads(file.read_text()) if file.exists() else ():
        objects, _, whole, ours = one["ours"]
        what = f"{one['set']}, {one['scenes']} scenes"
        yield asked(f"{what}: PSNR over objects, dB", "≥ 33", f"{objects:.1f}")
        yield Row(f"{what}: PSNR of whole pictures, dB", "–", f"{whole:.1f}", "–")
        if one["512"] is not None:
            ratio = f"{one['512'] / ours:,.0f} times"
            yield Row(f"{what}: CPU seconds a view", f"{one['512']:.1f}", f"{ours:.3f}", ratio)


def speed_rows() -> Iterator[Row]:
    for row in stored("speed.md"):
        if "target" in row:
            yield asked(row["what"], row["target"], row["measured"])


def painted_rows() -> Iterator[Row]:
    for row in stored("painted.md"):
        for kind in ("geometry", "shaded"):
            found = figure(row[f"{kind}, times plain"])
            if row["objects"] != "plain":
                yield Row(
                    f"{row['objects']}, {kind}, times plain", "≤ 1.30 asked", f"{found:.2f}", f"{found - 1.3:+.2f}"
                )


def light_rows() -> Iterator[Row]:
    """The worst of all worlds in every column of the table of clipping."""
    rows = stored("clipping.md")
    for column, most in (
        ("white, % (mean)", 0.1),
        ("white, % (worst picture)", 1.0),
        ("object pixels with a full channel, %", 1.0),
    ):
        worst = max(rows, key=lambda row: figure(row[column]))
        found = figure(worst[column])
        what = f"{column}, worst of {len(rows)} worlds ({worst['world']})"
        yield Row(what, f"≤ {most:g} asked", f"{found:g}", f"{found - most:+.2f}")


def gpu_rows() -> Iterator[Row]:
    rows = [row for row in stored("cuda.md") if PSNR in row]  # the other table has the times of kernels
    for row in rows:
        if row["world"] in ASKED:
            yield asked(f"{row['world']}, shaded views a second", ASKED[row["world"]], row["views/s (median)"])
    worst, differ = min(figure(row[PSNR]) for row in rows), max(figure(row[IDS]) for row in rows)
    yield Row(f"PSNR to the CPU's pictures, worst of {len(rows)} worlds", "∞", f"{worst} dB", "–")
    yield numbers(f"ids that differ from the CPU's, worst of {len(rows)} worlds", 0.0, differ, 1, " ppm")
