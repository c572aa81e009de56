"""Does this checkout do what an older one did, as fast? Runs both on the same input and compares what they write.

    git worktree add ../before 5430f45
    python benchmarks/before_after.py --before ../before --write docs/results/before_after.md

Compared are bytes of generated datasets, records of runs (columns by their new names), every figure of the scores
under the three protocols, comparisons, JSON of `score`, `stats`, `audit` and `turing ask`; timed, in turns, are
generate, the three exams, score and report. Both sides run with this interpreter. Needs the real 2.5VRD labels
(``SIGHTLINE_DATA`` or ../shared/data); without them a simulated set of the same form is used.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
MANIFEST = "dataset.json"
IMAGE = "geospa/train/0/00000003"
PROTOCOLS = ("default", "paper", "official")
RENAMED = {"reply": "answer"}
"""Columns of records: old name → new."""
ADDED = frozenset({"right"})
"""Columns of records that the older checkout did not write for every exam."""


@dataclass
class Side:
    """One checkout at work in a folder of its own."""

    name: str
    source: Path
    folder: Path
    cpu: float = 0.0
    """CPU seconds of the last command, user and system: what a busy machine does not change."""

    def run(self, *words: object, json_output: bool = False) -> tuple[Any, float]:
        """Run a command; its JSON document (or nothing) and the seconds it took."""
        names = [self.folder.parent / "names"] * (self.name == "before")
        paths = os.pathsep.join(map(str, (self.source / "src", *names)))
        environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": ""}
        command = [sys.executable, "-m", "sightline", *map(str, words)]
        start, used = time.perf_counter(), cpu_seconds()
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        seconds, self.cpu = time.perf_counter() - start, cpu_seconds() - used
        if done.returncode:
            raise SystemExit(f"{self.name}: {' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}")
        return (json.loads(done.stdout) if json_output else None), seconds


@dataclass
class Table:
    """What was compared, and what was measured."""

    rows: list[tuple[str, int, int, str]] = field(default_factory=list)
    times: list[tuple[str, tuple[float, float, float], tuple[float, float, float]]] = field(default_factory=list)

    def equal(self, what: str, before: Any, after: Any) -> None:
        """Count the values of two documents that differ."""
        old, new = dict(flat(before)), dict(flat(after))
        different = [key for key in old if key not in new or not close(old[key], new[key])]
        rounded = sum(key in new and old[key] != new[key] for key in old) - sum(key in new for key in different)
        shown = "; ".join(f"{key}: {old[key]!r} | {new.get(key)!r}" for key in different[:12])
        shown += f"; in the last bits: {rounded}" if rounded else ""
        self.rows.append((what, len(old), len(different), shown))
        print(f"{what}: {len(old):,} values, {len(different):,} differ {shown}", flush=True)

    def timed(self, what: str, before: list[tuple[float, float]], after: list[tuple[float, float]]) -> None:
        """Note the medians of both and of their ratio, pair by pair: of seconds, and of CPU seconds."""
        pairs = list(zip(before, after, strict=True))
        found = [
            tuple(statistics.median(v) for v in zip(*((a[k], b[k], b[k] / a[k]) for a, b in pairs), strict=True))
            for k in (0, 1)
        ]
        self.times.append((what, *found))  # type: ignore[arg-type]
        for (old, new, ratio), kind in zip(found, ("s", "CPU s"), strict=True):
            print(f"{what}: {old:.2f} {kind} → {new:.2f} {kind}, ratio {ratio:.2f}", flush=True)


def close(old: Any, new: Any) -> bool:
    """Whether two values are the same, floats but for their last bits."""
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=1e-12, abs_tol=1e-15)
    return bool(old == new)


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value of a JSON document with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from flat(inner, f"{path}/{i}")
    else:
        yield path, value


def bytes_of(folder: Path) -> dict[str, str]:
    """Every file of a dataset with the hash of its bytes, but for the manifest, which says when it was written."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def records_of(run: Path) -> list[Any]:
    """The records of a run, columns by their new names; times and what only the newer checkout writes left out."""
    lines = []
    for line in (run / "records.jsonl").read_text().splitlines():
        item = json.loads(line)
        columns = {RENAMED.get(k, k): v for k, v in item["records"].items() if k not in {"seconds", *ADDED}}
        lines.append(item | {"records": columns})
    return lines


def by_model(document: dict[str, Any]) -> dict[str, Any]:
    """Scores of every model of an exam's JSON, old or new."""
    everyone = [*document["models"], *document.get("baselines", {}).values()]
    leave = {"model", "run", "status", "options", "models", "baselines", "exam", "views", "left_out"}
    return {
        Path(one["run"]).name: one.get("scores") or {k: v for k, v in one.items() if k not in leave}
        for one in everyone
    }


def real_labels(folder: Path, side: Side) -> Path:
    """The real labels, or simulated ones."""
    given = Path(os.environ.get("SIGHTLINE_DATA", HERE.parent / "shared" / "data")) / "2.5vrd"
    if given.is_dir():
        return given.resolve()
    code = f"from sightline.exams.relations import simulate; simulate({str(folder)!r}, images=400, seed=0)"
    environment = os.environ | {"PYTHONPATH": str(side.source / "src")}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    return folder


def both(sides: tuple[Side, Side], *words: object) -> tuple[Any, Any]:
    """The JSON documents of both sides for a command."""
    old, new = (side.run(*words, "--json", json_output=True)[0] for side in sides)
    return old, new


def cpu_seconds() -> float:
    """CPU seconds of all commands that have ended, user and system."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_turns(
    sides: tuple[Side, Side], work: Callable[[Side], tuple[Any, float]], times: int
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Seconds and CPU seconds of both sides, in turns."""
    seconds: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
    for turn in range(times):
        for i in (0, 1) if turn % 2 == 0 else (1, 0):
            _, wall = work(sides[i])
            seconds[i].append((wall, sides[i].cpu))
    return seconds


def compare_generated(sides: tuple[Side, Side], table: Table) -> None:
    """Generate the same worlds on both sides."""
    for world, scenes, more in (
        ("geospa/train", 60, ("--views", "original,top", "--canonical", 2, "--size", "160x120")),
        ("geospa/val_default", 16, ("--views", "original,top", "--canonical", 2, "--size", "480x320")),
        ("kitchen", 12, ("--size", "320x240", "--depth", "npz")),
        ("geospa/invented", 12, ("--size", "160x120", "--format", "jpeg:90")),
    ):
        folder = world.replace("/", "-")
        for side in sides:
            side.run("generate", world, "--out", folder, "--scenes", scenes, *more)
        table.equal(f"generate {world}: bytes of all files", *(bytes_of(side.folder / folder) for side in sides))
        prints = [json.loads((side.folder / folder / MANIFEST).read_text())["fingerprint"] for side in sides]
        table.equal(f"generate {world}: fingerprint", *({"fingerprint": one} for one in prints))


def compare_exams(sides: tuple[Side, Side], labels: Path, table: Table) -> None:
    """Records, figures and comparisons of the three exams."""
    exams: dict[str, tuple[object, ...]] = {
        "relations": ("exam", "relations", "--data", labels),
        "predicates": ("exam", "predicates", "--data", "geospa-val_default", "--model", "sornet"),
        "turing": ("exam", "turing", "--data", "geospa-train", "--halves", "--streams", 2, "--min-support", 10),
    }
    for exam, words in exams.items():
        protocols = PROTOCOLS if exam == "relations" else ("",)
        for protocol in protocols:
            more = ("--protocol", protocol) if protocol else ()
            old, new = both(sides, *words, *more, "--out", "runs")
            table.equal(f"exam {exam} {protocol}: figures", by_model(old), by_model(new))
        runs = [sorted(p.name for p in (side.folder / "runs" / exam).iterdir()) for side in sides]
        table.equal(f"exam {exam}: folders of runs", runs[0], runs[1])
        for name in runs[0]:
            records = [records_of(side.folder / "runs" / exam / name) for side in sides]
            table.equal(f"exam {exam}: records of {name}", *records)
        for protocol in protocols:
            more = ("--protocol", protocol, "--data", labels) if protocol else ()
            pair = [f"runs/{exam}/{name}" for name in (runs[0][0], runs[0][-1])]
            old, new = both(sides, "compare", *pair, *more)
            table.equal(f"compare {exam} {protocol}", old, new)


def compare_documents(sides: tuple[Side, Side], labels: Path, predictions: Path, table: Table) -> None:
    """JSON that keeps its keys."""
    documents: dict[str, tuple[object, ...]] = {
        "stats": ("stats", labels),
        "audit": ("audit", labels),
        "turing ask": ("turing", "ask", "geospa-train", "--image", IMAGE, "--min-support", 10),
    }
    for protocol in PROTOCOLS:
        documents[f"score {protocol}"] = (*score_words(labels, predictions), "--protocol", protocol)
    for what, words in documents.items():
        old, new = both(sides, *words)
        table.equal(f"{what} --json", old, new)


OBJECTS, TRUTH = "within_image_objects_test.csv", "within_image_vrd_test.csv"


def score_words(labels: Path, predictions: Path) -> tuple[object, ...]:
    """The command that scores predictions within images."""
    files = ("--objects", labels / OBJECTS, "--truth", labels / TRUTH, "--predictions", predictions)
    return ("score", "relations", *files)


def write_predictions(labels: Path, file: Path) -> Path:
    """Both directions of every labelled pair with made-up answers, as a predictions file."""
    with (labels / OBJECTS).open(newline="") as objects:
        boxes = {(row["image_id"], row["object_id"]): row for row in csv.DictReader(objects)}
    columns = ("entity", "xmin", "xmax", "ymin", "ymax")
    with (labels / TRUTH).open(newline="") as truth, file.open("w", newline="") as out:
        writer = csv.writer(out)
        ends = [("image_id_1", *(f"{c}_1" for c in columns)), ("image_id_2", *(f"{c}_2" for c in columns))]
        writer.writerow([*ends[0], *ends[1], "occlusion", "distance"])
        for row in csv.DictReader(truth):
            pair = [(row[f"image_id_{i}"], row[f"object_id_{i}"]) for i in (1, 2)]
            for a, b in (pair, pair[::-1]):
                cells = [value for key in (a, b) for value in (key[0], *(boxes[key][c] for c in columns))]
                answer = hashlib.sha256(f"{a}{b}".encode()).digest()
                writer.writerow([*cells, answer[0] % 4, answer[1] % 4])
    return file


def time_all(
    sides: tuple[Side, Side], labels: Path, predictions: Path, table: Table, times: int, only: str
) -> None:
    """Time what a user waits for, both sides in turns, each time from scratch."""

    def anew(side: Side, folder: str, *words: object) -> tuple[Any, float]:
        shutil.rmtree(side.folder / folder, ignore_errors=True)
        return side.run(*words)

    size = ("--views", "original,top", "--size", "160x120")
    jobs: dict[str, Callable[[Side], tuple[Any, float]]] = {
        "generate": lambda s: anew(s, "t", "generate", "geospa/train", "--out", "t", "--scenes", 100, *size),
        "exam relations": lambda s: anew(s, "tr", "exam", "relations", "--data", labels, "--out", "tr"),
        "exam predicates": lambda s: anew(s, "tp", "exam", "predicates", "--data", "geospa-train", "--out", "tp"),
        "exam turing": lambda s: anew(
            s, "tt", "exam", "turing", "--data", "geospa-train", "--halves", "--min-support", 10, "--out", "tt"
        ),
        "report relations": lambda s: s.run("report", "tr", "--out", "tr.html"),
        "report predicates": lambda s: s.run("report", "tp", "--out", "tp.html"),
        "report turing": lambda s: s.run("report", "tt", "--out", "tt.html"),
    }
    jobs["score"] = lambda s: s.run(*score_words(labels, predictions))
    for what, work in jobs.items():
        if what.endswith(only):
            exam = jobs.get(what.replace("report", "exam", 1), work)
            if what.startswith("report") and not what.replace("report", "exam", 1).endswith(only):
                for side in sides:  # the runs to report
                    exam(side)
            table.timed(what, *in_turns(sides, work, times))


def page(table: Table, times: int) -> str:
    """The tables in Markdown."""
    lines = [
        "# Before and after the one exam shape",
        "",
        "Written by `python benchmarks/before_after.py --before CHECKOUT --write FILE`, the older checkout being",
        "commit 5430f45. Both sides run with the same interpreter and input.",
        "",
        "## What is the same",
        "",
        "| compared | values | differ | which |",
        "| --- | ---: | ---: | --- |",
        *(f"| {what} | {n:,} | {off:,} | {shown.replace('|', '→')} |" for what, n, off, shown in table.rows),
        "",
        "## How long it takes",
        "",
        f"Median of {times} runs in turns; the ratio is the median of the pairs' ratios, newer over older.",
        "",
        "| command | before, s | after, s | ratio | before, CPU s | after, CPU s | ratio |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {what} | " + " | ".join(f"{value:.2f}" for value in (*wall, *cpu)) + " |"
            for what, wall, cpu in table.times
        ),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Compare, time, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="checkout of the older commit")
    parser.add_argument("--times", type=int, default=5, help="timed runs of each side")
    parser.add_argument(
        "--only", default="", help="time only commands that end so, and compare nothing but the worlds they need"
    )
    parser.add_argument("--write", type=Path, help="Markdown file for the tables")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        sides = Side("before", given.before.resolve(), Path(work) / "a"), Side("after", HERE, Path(work) / "b")
        for side in sides:
            side.folder.mkdir()
        named = Path(work) / "names" / "sightline-0.1.0.dist-info"  # what the distribution was called then
        named.mkdir(parents=True)
        (named / "METADATA").write_text("Metadata-Version: 2.1\nName: sightline\nVersion: 0.1.0\n")
        table, labels = Table(), real_labels(Path(work) / "labels", sides[0])
        predictions = write_predictions(labels, Path(work) / "predictions.csv")
        if not given.only.endswith("relations"):
            compare_generated(sides, table)
        if not given.only:
            compare_exams(sides, labels, table)
            compare_documents(sides, labels, predictions, table)
        if given.times:
            time_all(sides, labels, predictions, table, given.times, given.only)
    text = page(table, given.times)
    print(text)
    if given.write is not None:
        given.write.write_text(text)


if __name__ == "__main__":
    main()
