"""What docs/pages/verification.py tells of GeoSpa's experiment: accuracy by split, and images a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import _geospa
from _verification_rows import Row, asked, numbers

THROUGHPUT = "python benchmarks/geospa.py throughput"


def words() -> str:
    """What stands above GeoSpa's table: whose figures these are, and what ours had beyond theirs."""
    results = _geospa.Results.read()
    had = ""
    if results.plans:
        told = _geospa.beyond(results.told[results.lead])
        had = f"Theirs learned from predicates alone; beyond that ours, `{results.lead}`, had: {told}. "
    return (
        "Scene accuracy of SORNet unless said otherwise. GeoSpa's figures are of its 1-view model and stand beside "
        f"ours with one view and with two; its text gives a range for most splits. {had}{{doc}}`results/geospa` "
        "has intervals, every predicate, what most of these are worth, and the commands that train."
    )


def split_rows() -> Iterator[Row]:
    results = _geospa.Results.read()
    if not results.plans:
        return
    plan = results.lead
    for views in (_geospa.ONE, _geospa.TWO):
        for split in results.splits(plan):
            found = results.scores(plan, split, views)
            ours, theirs = 100 * found.scene_accuracy["all"].value, _geospa.published(split)
            if theirs is None:
                yield Row(f"{split}, {views}", "–", f"{ours:.1f} %", "ours alone")
            elif theirs[0] == theirs[1]:
                yield numbers(f"{split}, {views}", theirs[0], ours, unit=" %")
            else:
                low, high = theirs
                gap = f"{ours - high:+.1f} to the upper end"
                yield Row(f"{split}, {views}", f"{low:.0f}–{high:.0f} %", f"{ours:.1f} %", gap)
            if split == "val_default":
                whole = 100 * found.scene_all.value
                yield numbers(f"{split}, {views}, whole scenes right", _geospa.SEED_WHOLE, whole, unit=" %")
            if split == "val_op":
                spatial = 100 * found.scene_accuracy["spatial"].value
                yield numbers(f"{split}, {views}, spatial", _geospa.SEED_OP_SPATIAL, spatial, unit=" %")
    for split, theirs in _geospa.SEED_MAJORITY.items():
        if split in results.splits(plan):
            ours = 100 * results.majority(split).scene_accuracy["all"].value
            yield numbers(f"{split}, commoner answer", theirs, ours, unit=" %")


def training_rows() -> Iterator[Row]:
    results = _geospa.Results.read()
    for row in results.throughput:
        peer = _geospa.OFFICIAL.get((row["precision"], bool(row["compiled"])))
        if peer and row["size"] == "base" and row["views"] == 1 and not row["uses"]:
            way = f", compiled {row['compiled']}" if row["compiled"] else ""
            how = f"{row['precision']}{way}, batch {row['batch']:,}"
            ratio = f"{row['images_per_s'] / peer:.2f} times"
            what = f"official network, batch 256, against ours: {how}"
            yield Row(what, f"{peer:,}", f"{row['images_per_s']:,}", ratio, f"{THROUGHPUT} --network")
    for uses, target in _geospa.SPEEDS.items():
        if (best := results.fastest(uses)) is None:
            continue
        words, how = "the fastest of these, or with two views", "--network"
        if uses is not None:
            words = f"scenes placed and drawn as needed, {_geospa.shown(uses)}"
            how = f"--drawn --batch {best['batch']} --steps 64"
        one = asked(f"base, {words}, batch {best['batch']:,}", f"≥ {target:,}", str(best["images_per_s"]))
        yield replace(one, command=f"{THROUGHPUT} {how}")
