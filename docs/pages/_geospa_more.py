"""What GeoSpa's page tells beside the splits: fine-tuning curves, Blender's pictures, and speed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from _geospa import OFFICIAL, ONE, Results, images_a_second, shown, wrapped
from _geospa_grid import grid, odds
from _verification_rows import figure, stored
from sightline.show.table import Cell, percent, shared
from sightline.show.xy import learning_curve
from sightline.stats import Interval


def curves_part(results: Results, write: bool) -> Iterator[str]:
    if not results.curves:
        return
    yield "## A few scenes of the unknown"
    yield wrapped(
        """The network that shipped before (`tiny`), on pictures lit as they were before, fine-tuned on the first
        scenes of a world it was not trained on, asked about others of that world."""
    )
    for name, told in results.curves.items():
        plan = told["plan"]
        few = ",".join(str(point["scenes"]) for point in told["points"])
        yield "\n".join(
            (
                "```console",
                f"$ sightline train curve --world geospa/{name} --start {plan['start']} --out {name} \\",
                f"    --scenes {few} --steps {plan['steps']} --batch {plan['batch']} "
                f"--canonical {plan['canonical']} --held-out {told['points'][0]['n_scenes']}",
                "```",
            )
        )
        rows = {}
        for point in [*told["points"], {"scenes": "majority", **told["majority"]}]:
            accuracy = point["scene_accuracy"]
            values = [*(accuracy[k] for k in ("all", "spatial", "geometric")), point["scene_all_accuracy"]]
            rows[f"{point['scenes']:,}" if isinstance(point["scenes"], int) else point["scenes"]] = [
                shared(_interval(value)) for value in values
            ]
        yield grid((f"{name}, scenes learned from", "all", "spatial", "geometric", "scene-all"), rows)
        if write:
            drawn = learning_curve(told).replace("currentColor", "#1c232b")
            drawn = drawn.replace("display:block;", "display:block;background:#ffffff;", 1)  # pages may be dark
            (results.folder / f"curve-{name}.svg").write_text(drawn + "\n", encoding="utf-8")
        yield f"![Accuracy on held-out scenes of {name} against scenes learned from](geospa/curve-{name}.svg)"


def _interval(told: Mapping[str, Any]) -> Interval:
    value, low, high = (math.nan if told[key] is None else told[key] for key in ("value", "low", "high"))
    return Interval(value, low, high, told["n"], told["method"])


def blender_part(file: Path) -> Iterator[str]:
    if not file.is_file():
        return
    told = json.loads(file.read_text())
    yield "## The same scenes by Blender"
    yield "```console\n$ python benchmarks/geospa_blender.py --write\n```"
    finish = "denoised" if told["denoise"] else "not denoised"
    scenes = f"{told['scenes']} scenes of `{told['world']}` (seed {told['seed']})"
    yield wrapped(
        f"""A first look at the gap between renderers: {scenes}, drawn by the fast back end and by
        Cycles ({told["samples"]} samples, {finish}), views and query patches alike. The network
        that shipped before (`tiny`), on pictures lit as they were before, two views. Difference: Blender minus fast
        on the same scenes, in points, with a paired interval; p by sign flips, Holm-corrected over the
        eight predicates."""
    )
    rows = {
        row["name"].strip(): [
            percent(row["b"]),
            percent(row["a"]),
            Cell(f"{100 * row['difference']:+.1f}", f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f}")
            if row["difference"] is not None
            else "–",
            odds(math.nan if row["p_holm"] is None else row["p_holm"]),
        ]
        for row in told["comparisons"]
    }
    yield grid(("", "fast", "Blender", "difference", "p"), rows)


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    """Sort the network alone first; then by size, digits and views, small batches before large ones."""
    return row["uses"] or 0, row["size"], row["precision"], str(row["views"]), row["batch"], row["compiled"] != ""


def _step_part(results: Results, batch: int = 1024) -> Iterator[str]:
    """Where the time of a step goes in which half as many pictures are drawn as shown."""
    from sightline.training.sornet.plan import SornetPlan

    fewer = SornetPlan().fewer_views
    rates = {
        (row["views"], row["uses"]): row["images_per_s"]
        for row in results.throughput
        if (row["size"], row["batch"], row["precision"]) == ("base", batch, "bf16") and row["compiled"]
    }
    if not {(1, None), (2, None), ("1 or 2", 1), ("1 or 2", 2)} <= set(rates):
        return
    drawn = next(figure(row["views/s (median)"]) for row in stored("cuda.md") if row["world"] == "geospa/train")
    images, often = batch * (2 - fewer), 2 * 2 / (2 - fewer)
    network = round(1e3 * batch * (fewer / rates[1, None] + 2 * (1 - fewer) / rates[2, None]))
    whole, drawing = round(1e3 * images / rates["1 or 2", 2]), round(1e3 * images / 2 / drawn)
    yield wrapped(
        f"""With scenes drawn as they are needed, {100 * fewer:.0f} % of the steps show one view of a scene alone,
        nine in ten of these the original. So that half as many pictures are drawn as shown, a scene is shown
        {often:.1f} times: its original view {often * (1 - 0.1 * fewer):.1f} times, the other
        {often * (1 - 0.9 * fewer):.1f}. To show every scene twice, as was measured before (3,686 images a second at
        batch 512), more are drawn: then a picture is shown {2 - fewer:.1f} times on average."""
    )
    yield wrapped(
        f"""Where a step goes, each picture shown twice: of {whole} ms for {images:,.0f} images the network alone
        would take {network} (by its rows above), drawing half as many pictures {drawing} (at {drawn:,.0f} a second
        by the original camera, {{doc}}`worlds`). The other {whole - network - drawing} were not split:
        augmentation, Muon in the place of AdamW, the running mean of the weights, losses on facts and pointing.
        Scenes are drawn on streams of their own, beside the step before; with a sum like this little can run at the
        same time. Two runs of 40 steps gave 4,052 images a second, and 4,054 with the training on a stream of
        higher priority. All this was timed before lamps in metal got finer images, which take a few hundredths more
        time to draw on a CPU ({{doc}}`worlds`)."""
    )


def speed_part(results: Results) -> Iterator[str]:
    if not (results.throughput or results.plans):
        return
    yield "## Speed"
    if results.throughput:
        program = "$ PYTHONPATH=src python benchmarks/geospa.py throughput"
        given = ("--network", *(f"--drawn --batch {how}" for how in ("512 --steps 64", "1024 --steps 64")))
        lines = (*given, "--drawn --batch 1024 --steps 48 --uses 1.6")
        yield "\n".join(("```console", *(f"{program} {line}" for line in lines), "```"))
        yield wrapped(
            """The network alone: forward, backward and optimiser step at 480×320 with six objects, on one H200.
            Beside it the official network, one view and always batch 256, measured on the same kind of card. With
            scenes drawn as they are needed the second half of the steps is timed, once; our plans have batches of
            256. Rows of the network alone are older than the others, but for those of batch 1,024; nothing that
            they time has changed since."""
        )
        rows = {}
        for row in sorted(results.throughput, key=_order):
            alike = (row["size"], row["views"]) == ("base", 1)
            peer = OFFICIAL.get((row["precision"], bool(row["compiled"]))) if alike else None
            views = ONE if row["views"] == 1 else f"{row['views']} views"
            words = f"{row['size']}, {views}, batch {row['batch']}, {row['precision']}"
            words += f", compiled {row['compiled']}" if row["compiled"] else ""
            words += f", scenes placed and drawn as needed, {shown(row['uses'])}" if row["uses"] else ""
            rows[words] = [
                f"{row['images_per_s']:,}",
                f"{peer:,}" if peer else "–",
                f"× {row['images_per_s'] / peer:.2f}" if peer else "–",
            ]
        yield grid(("", "images/s", "official, images/s", "ratio"), rows)
        yield from _step_part(results)
    yield wrapped(
        """Whole trainings, augmentation and logging included. Scenes drawn once were drawn before; where they are
        drawn as they are needed, placing and drawing count too."""
    )
    rows = {}
    for plan, told in results.told.items():
        rate = f"{images_a_second(told):,.0f}"
        drawn = "now and then" if told.get("fresh") else "once" if told["kept"] else "as needed"
        rows[plan] = [told["plan"]["size"], drawn, f"{told['steps']:,}", f"{told['seconds']:.0f}", rate]
    yield grid(("training", "size", "scenes drawn", "steps", "seconds", "images/s"), rows)
