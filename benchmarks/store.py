"""Benchmark of the store: write, scan, group, walk and open scenes, and the memory that takes.

Every phase runs in a process of its own, so that its peak memory is its own. The peer, in the same run, is what one
would do without a store: one JSON object a scene and line, read with `json`. It runs on a sample and is scaled by
the number of scenes, in which all its phases are linear. Phases are measured three times, in turns with the peer's,
and the median counts; only the store's long ones (write and walk) are measured once. Times mean little without the
machine, so each run also times a fixed kernel (sha256 of 256 MiB, one thread); compare ratios, not seconds.

    python benchmarks/store.py                    # 1 M scenes × 5 objects × 10 relations
    python benchmarks/store.py --scenes 100000 --json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sightline.scenes import Object, Relation, Scene, Sighting, View, words
from sightline.store import Dataset, Tables, write

OBJECTS, RELATIONS, VOTES = 5, 10, 5
CHUNK = 20_000
LONG = ("write", "walk")  # measured once
PAIRS = [(a, b) for a in range(OBJECTS) for b in range(a + 1, OBJECTS)]


def generate(scenes: int) -> Iterator[Tables]:
    """Made-up scenes in parts, the same ones every time."""
    for start in range(0, scenes, CHUNK):
        yield part(start, min(CHUNK, scenes - start))


def part(start: int, n: int) -> Tables:
    rng = np.random.default_rng([7, start])
    ids = pl.Series("scene_id", np.arange(start, start + n)).cast(pl.String).str.zfill(9)
    of_object = ids.gather(np.repeat(np.arange(n), OBJECTS))
    of_relation = ids.gather(np.repeat(np.arange(n), RELATIONS))
    names = pl.Series([str(i) for i in range(OBJECTS)])
    object_id = names.gather(np.tile(np.arange(OBJECTS), n))
    low, size = rng.random((2, n * OBJECTS)) * 0.5, rng.random((2, n * OBJECTS)) * 0.4 + 0.05
    first, second = (names.gather(np.tile([p[k] for p in PAIRS], n)) for k in (0, 1))
    label = rng.integers(0, 4, n * RELATIONS)
    word = pl.Series(words("depth"))
    split = pl.Series(["test", "train", "validation"]).gather(rng.choice(3, n, p=[0.1, 0.8, 0.1]))
    category = pl.Series([f"/m/{i:04d}" for i in range(200)]).gather(rng.integers(0, 200, n * OBJECTS))
    votes = np.where(
        rng.random((n * RELATIONS, VOTES)) < 0.8, label[:, None], rng.integers(0, 4, (n * RELATIONS, 1))
    )
    return Tables.build(
        views=pl.DataFrame({"scene_id": ids, "view_id": "0", "split": split, "units": "normalised"}),
        objects=pl.DataFrame({"scene_id": of_object, "object_id": object_id, "category": category}),
        sightings=pl.DataFrame(
            {
                "scene_id": of_object,
                "view_id": "0",
                "object_id": object_id,
                "x0": low[0],
                "y0": low[1],
                "x1": low[0] + size[0],
                "y1": low[1] + size[1],
            }
        ),
        relations=pl.DataFrame(
            {
                "scene_id": of_relation,
                "subject": first,
                "object": second,
                "aspect": "depth",
                "predicate": word.gather(label),
                "votes": word.gather(votes.ravel()).reshape((n * RELATIONS, VOTES)).arr.to_list(),
            }
        ),
    )


def phase_write(folder: Path, scenes: int) -> dict[str, Any]:
    spent = 0.0

    def timed() -> Iterator[Tables]:
        nonlocal spent
        parts = generate(scenes)
        while True:
            began = time.perf_counter()
            made = next(parts, None)
            spent += time.perf_counter() - began
            if made is None:
                return
            yield made

    began = time.perf_counter()
    dataset = write(timed(), folder / "store", source="benchmark", scenes_per_shard=CHUNK)
    seconds = time.perf_counter() - began - spent
    size = sum(f.bytes for s in dataset.shards for f in s.files.values())
    return {"seconds": seconds, "bytes": size, "shards": len(dataset.shards)}


def phase_scan(folder: Path, _: int) -> dict[str, Any]:
    """Every box and every label of the dataset, through the streaming engine."""
    dataset = Dataset.open(folder / "store")
    area = ((pl.col("x1") - pl.col("x0")) * (pl.col("y1") - pl.col("y0"))).mean()
    seconds, _ = clocked(
        lambda: (
            dataset.scan("sightings").select(area).collect(engine="streaming"),
            dataset.scan("relations").select(pl.col("votes").list.len().sum()).collect(engine="streaming"),
        )
    )
    return {"seconds": seconds}


def phase_group(folder: Path, scenes: int) -> dict[str, Any]:
    dataset = Dataset.open(folder / "store")
    query = dataset.scan("relations").group_by("predicate").len()
    seconds, counts = clocked(lambda: query.collect(engine="streaming"))
    assert counts["len"].sum() == scenes * RELATIONS
    return {"seconds": seconds, "answer": dict(sorted(counts.iter_rows()))}


def phase_walk(folder: Path, scenes: int) -> dict[str, Any]:
    seconds, n = clocked(lambda: sum(len(scene.relations) for scene in Dataset.open(folder / "store")))
    assert n == scenes * RELATIONS
    return {"seconds": seconds}


def phase_open(folder: Path, scenes: int) -> dict[str, Any]:
    """Open the dataset and one scene, then other scenes of it; medians."""
    rng = random.Random(0)
    fresh, warm = [], []
    for _ in range(15):
        began = time.perf_counter()
        dataset = Dataset.open(folder / "store")
        dataset.scene(f"{rng.randrange(scenes):09d}")
        fresh.append(time.perf_counter() - began)
        dataset.scene(dataset.shards[-1].first)
        began = time.perf_counter()
        dataset.scene(dataset.shards[-1].last)
        warm.append(time.perf_counter() - began)
    return {"seconds": float(np.median(fresh)), "warm": float(np.median(warm))}


def phase_idle(_folder: Path, _: int) -> dict[str, Any]:
    return {"seconds": 0.0}


def peer_write(folder: Path, scenes: int) -> dict[str, Any]:
    """The peer's scenes are dicts in memory before the clock starts."""
    lines = [as_dict(scene) for scene in Dataset.from_tables(Tables.concat(generate(scenes)))]

    def dump() -> None:
        with (folder / "peer.jsonl").open("w") as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    seconds, _ = clocked(dump)
    return {"seconds": seconds, "bytes": (folder / "peer.jsonl").stat().st_size}


def peer_scan(folder: Path, scenes: int) -> dict[str, Any]:
    def scan() -> tuple[float, int]:
        area, votes = 0.0, 0
        for line in peer_lines(folder):
            for s in line["sightings"]:
                x0, y0, x1, y1 = s["box"]
                area += (x1 - x0) * (y1 - y0)
            votes += sum(len(r["votes"]) for r in line["relations"])
        return area / (scenes * OBJECTS), votes

    return {"seconds": clocked(scan)[0]}


def peer_group(folder: Path, _: int) -> dict[str, Any]:
    seconds, counts = clocked(lambda: Counter(r["predicate"] for x in peer_lines(folder) for r in x["relations"]))
    return {"seconds": seconds, "answer": dict(sorted(counts.items()))}


def peer_walk(folder: Path, _: int) -> dict[str, Any]:
    seconds, _ = clocked(lambda: sum(len(as_scene(x).relations) for x in peer_lines(folder)))
    return {"seconds": seconds}


def peer_open(folder: Path, scenes: int) -> dict[str, Any]:
    """The kindest reading: only lines up to the one in the middle, and only its bytes are parsed."""
    wanted = f'"{scenes // 2:09d}"'

    def find() -> Scene:
        with (folder / "peer.jsonl").open() as file:
            return as_scene(json.loads(next(line for line in file if wanted in line[:40])))

    return {"seconds": clocked(find)[0]}


def peer_lines(folder: Path) -> Iterator[dict[str, Any]]:
    with (folder / "peer.jsonl").open() as file:
        for line in file:
            yield json.loads(line)


def as_dict(scene: Scene) -> dict[str, Any]:
    return {
        "id": scene.id,
        "split": scene.split,
        "views": [{"id": v.id, "units": v.units} for v in scene.views],
        "objects": [{"id": o.id, "category": o.category} for o in scene.objects],
        "sightings": [{"view_id": s.view_id, "object_id": s.object_id, "box": s.box} for s in scene.sightings],
        "relations": [
            {
                "subject": r.subject,
                "object": r.object,
                "aspect": r.aspect,
                "predicate": r.predicate,
                "votes": r.votes,
            }
            for r in scene.relations
        ],
    }


def as_scene(told: dict[str, Any]) -> Scene:
    return Scene(
        told["id"],
        told["split"],
        "",
        tuple(View(v["id"], units=v["units"]) for v in told["views"]),
        tuple(Object(o["id"], o["category"]) for o in told["objects"]),
        tuple(Sighting(s["view_id"], s["object_id"], tuple(s["box"])) for s in told["sightings"]),  # type: ignore[arg-type]
        tuple(
            Relation(r["subject"], r["object"], r["aspect"], r["predicate"], tuple(r["votes"]))
            for r in told["relations"]
        ),
    )


def clocked(action: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = action()
    return time.perf_counter() - began, result


def calibrate() -> float:
    """Seconds for the fixed kernel, the best of three."""
    data = bytes(2**28)
    return min(clocked(lambda: hashlib.sha256(data).digest())[0] for _ in range(3))


PHASES = {
    "idle": phase_idle,
    "write": phase_write,
    "scan": phase_scan,
    "group": phase_group,
    "walk": phase_walk,
    "open": phase_open,
    "peer_write": peer_write,
    "peer_scan": peer_scan,
    "peer_group": peer_group,
    "peer_walk": peer_walk,
    "peer_open": peer_open,
}


def measure(phase: str, folder: Path, scenes: int) -> dict[str, Any]:
    """Run one phase in a fresh process."""
    command = [sys.executable, __file__, "--phase", phase, "--folder", str(folder), "--scenes", str(scenes)]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told


def run_phase(phase: str, folder: Path, scenes: int) -> dict[str, Any]:
    told = PHASES[phase](folder, scenes)
    return told | {"peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def median(told: list[dict[str, Any]]) -> dict[str, Any]:
    return sorted(told, key=lambda one: one["seconds"])[len(told) // 2]


def benchmark(scenes: int, sample: int, folder: Path) -> dict[str, Any]:
    small = max(1, scenes // 10)
    (folder / "small").mkdir()
    result: dict[str, Any] = {
        "scenes": scenes,
        "objects": OBJECTS,
        "relations": RELATIONS,
        "peer_scenes": sample,
        "cpus": os.cpu_count(),
        "calibration_s": calibrate(),
        "idle_mib": measure("idle", folder, 0)["peak_mib"],
        "small_scenes": small,
        "phases": {},
    }
    for phase in ("write", "scan", "group", "walk", "open"):
        peers = [measure(f"peer_{phase}", folder, sample)]
        turns = [measure(phase, folder, scenes)]
        for _ in range(2):
            peers.append(measure(f"peer_{phase}", folder, sample))
            if phase not in LONG:
                turns.append(measure(phase, folder, scenes))
        ours, peer = median(turns), median(peers)
        tenth = measure(phase, folder / "small", small)
        peer_seconds = peer["seconds"] * scenes / sample
        result["phases"][phase] = {
            "seconds": ours["seconds"],
            "peer_seconds": peer_seconds,
            "ratio": peer_seconds / ours["seconds"],
            "peak_mib": ours["peak_mib"],
            "small_peak_mib": tenth["peak_mib"],
        }
        if phase == "write":
            result |= {"bytes_per_scene": ours["bytes"] / scenes, "peer_bytes_per_scene": peer["bytes"] / sample}
        if phase == "open":
            result["warm_open_s"] = ours["warm"]
    result["calibration_after_s"] = calibrate()
    return result


NAMES = {
    "write": "write",
    "scan": "scan all boxes and votes",
    "group": "group by predicate",
    "walk": "walk through all as Scene",
    "open": "open dataset and one scene",
}


def table(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    small, full = (f"{result[k]:,}" for k in ("small_scenes", "scenes"))
    lines = [
        f"| {full} scenes | store, s | JSON lines, s (scaled) | ratio | peak MiB at {small} | peak MiB at {full} |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for phase, row in result["phases"].items():
        digits = 4 if phase == "open" else 2
        lines.append(
            f"| {NAMES[phase]} | {row['seconds']:.{digits}f} | {row['peer_seconds']:.2f} | {row['ratio']:.1f}× |"
            f" {row['small_peak_mib']:.0f} | {row['peak_mib']:.0f} |"
        )
    lines += [
        "",
        f"Bytes a scene: {result['bytes_per_scene']:.0f} (JSON lines {result['peer_bytes_per_scene']:.0f})."
        f" Another scene of an open shard: {result['warm_open_s'] * 1e3:.1f} ms."
        f" Imports alone: {result['idle_mib']:.0f} MiB.",
        f"Calibration kernel: {result['calibration_s']:.3f} s before, {result['calibration_after_s']:.3f} s after;"
        f" {result['cpus']} CPUs; the peer ran on {result['peer_scenes']:,} scenes.",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=1_000_000)
    parser.add_argument("--peer-scenes", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", type=Path, help="where to write; a temporary folder by default")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.phase:
        print(json.dumps(run_phase(given.phase, given.folder, given.scenes)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        result = benchmark(given.scenes, min(given.peer_scenes, given.scenes), Path(folder))
    print(json.dumps(result, indent=1) if given.json else table(result))


if __name__ == "__main__":
    main()
