"""Scoring 2.5D predictions: fast against row-by-row Python in the same run, and 10 M rows, from files, in 2 GB.

    python benchmarks/relations_scoring.py [--json] [--rounds 5] [--pairs 10000000]

Predictions are made up but sized like the real thing: every ordered pair of the test sets, on jittered
ground-truth boxes, with random labels. Without the real data a set of the same size is generated. The files of ten
million predictions take 2.2 GB in a temporary folder, which is removed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sightline.exams.relations.boxed import BoxedPairs, boxed_blocks
from sightline.exams.relations.matching import count_boxed
from sightline.exams.relations.protocols import Aspect, Protocol, rates
from sightline.store.formats.vrd25 import read_scoring_truth

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from reference import official  # noqa: E402

DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data")) / "2.5vrd"
SIZES = {"within_image": (23_666, 3_987), "across_images": (24_461, 2_000)}  # pairs, image pairs of the test sets
ASPECTS: tuple[Aspect, ...] = ("occlusion", "depth")
BOX_A, BOX_B = ["a_x0", "a_y0", "a_x1", "a_y1"], ["b_x0", "b_y0", "b_x1", "b_y1"]
RATIO, GIGABYTES = 100.0, 2.0


def random_boxes(rng: np.random.Generator, n: int) -> np.ndarray:
    corner = rng.random((n, 2)) * 0.6
    return np.concatenate([corner, corner + 0.1 + 0.3 * rng.random((n, 2))], axis=1)


def generated_truth(setting: str, rng: np.random.Generator) -> pl.DataFrame:
    """As many pairs and image pairs as the test set has, with group sizes as uneven."""
    pairs, groups = SIZES[setting]
    weights = rng.exponential(size=groups) ** 1.5
    group = np.sort(
        np.concatenate([np.arange(groups), rng.choice(groups, pairs - groups, p=weights / weights.sum())])
    )
    first = pl.Series([f"image{g:06d}" for g in group])
    second = first if setting == "within_image" else pl.Series([f"other{g:06d}" for g in group])
    return pl.DataFrame(
        {
            "image_a": first,
            "image_b": second,
            **dict(zip(BOX_A, random_boxes(rng, pairs).T, strict=True)),
            **dict(zip(BOX_B, random_boxes(rng, pairs).T, strict=True)),
            "depth": rng.integers(-1, 4, pairs).astype(np.int8),
            "occlusion": rng.integers(-1, 4, pairs).astype(np.int8),
        }
    )


def predictions_for(truth: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Both directions of every pair, boxes off by about 3 % of the image, labels random."""
    turned = dict(zip(["image_a", "image_b", *BOX_A, *BOX_B], ["image_b", "image_a", *BOX_B, *BOX_A], strict=True))
    both = pl.concat([truth.select(turned.keys()), truth.select(pl.col(b).alias(a) for a, b in turned.items())])
    jittered = {name: both[name].to_numpy() + rng.normal(0, 0.03, both.height) for name in [*BOX_A, *BOX_B]}
    labels = {name: rng.integers(0, 4, both.height).astype(np.int8) for name in ("depth", "occlusion")}
    return both.with_columns(**{k: pl.Series(v) for k, v in (jittered | labels).items()})


def as_rows(frame: pl.DataFrame) -> list[official.Row]:
    columns = ["image_a", "image_b", *BOX_A, *BOX_B, "depth", "occlusion"]
    return [official.Row(r[0], r[1], r[2:6], r[6:10], r[10], r[11]) for r in frame.select(columns).iter_rows()]


def slow(truth: list[official.Row], said: list[official.Row]) -> list[tuple[float, float, float]]:
    return [row for aspect in ASPECTS for row in official.table(official.score(truth, said, aspect))]


def fast(truth: pl.DataFrame, said: pl.DataFrame) -> list[tuple[float, float, float]]:
    pairs, answers = boxed_blocks([truth], [said])
    rows: list[tuple[float, float, float]] = []
    for aspect in ASPECTS:
        counts = count_boxed(pairs, answers, Protocol.OFFICIAL, aspect).counts.sum(axis=0)
        scores = rates(counts, protocol=Protocol.OFFICIAL, aspect=aspect, setting=pairs.setting)
        rows += [tuple(row) for row in scores.tolist()]
    return rows


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of all threads, so that a busy machine does not change the ratio."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def race(rounds: int, seed: int) -> dict[str, Any]:
    """Both over the two test sets; the fast one starts from data frames, the slow one from rows already made."""
    rng = np.random.default_rng(seed)
    real = DATA.is_dir()
    truths = {
        s: read_scoring_truth(DATA / f"{s}_objects_test.csv", DATA / f"{s}_vrd_test.csv")
        if real
        else generated_truth(s, rng)
        for s in SIZES
    }
    tests = {s: (truth, predictions_for(truth, rng)) for s, truth in truths.items()}
    first_call(seed)
    out: dict[str, Any] = {"real_data": real, "seed": seed}
    total_slow = total_fast = 0.0
    for setting, (truth, said) in tests.items():
        rows = as_rows(truth), as_rows(said)
        slow_s, expected = timed(lambda rows=rows: slow(*rows))
        tries = [timed(lambda pair=(truth, said): fast(*pair)) for _ in range(rounds)]
        assert all(found == expected for _, found in tries), f"{setting}: the two do not agree"
        fast_s = float(np.median([seconds for seconds, _ in tries]))
        out[setting] = {"pairs": truth.height, "predictions": said.height, "slow_s": slow_s, "fast_s": fast_s}
        total_slow, total_fast = total_slow + slow_s, total_fast + fast_s
    return out | {"slow_s": total_slow, "fast_s": total_fast, "ratio": total_slow / total_fast, "identical": True}


def first_call(seed: int) -> float:
    """Seconds of the first scoring in this process: compiling, or loading what was compiled before."""
    truth = generated_truth("within_image", np.random.default_rng(seed)).head(2)
    return timed(lambda: fast(truth, truth))[0]


def compile_apart(seed: int) -> dict[str, float]:
    """The first call of a fresh process, without and then with numba's cache on disk."""
    with tempfile.TemporaryDirectory() as folder:
        return {name: apart("--first-call", seed, NUMBA_CACHE_DIR=folder) for name in ("compile_s", "cached_s")}


def big_set(n: int, seed: int) -> tuple[BoxedPairs, BoxedPairs]:
    """Make n predictions on n / 2 annotated pairs, 6 pairs an image as in the within-image test set."""
    rng = np.random.default_rng(seed)
    pairs, images = n // 2, n // 12
    image = (np.arange(pairs, dtype=np.int64) * images // pairs).astype(np.int32)
    names = np.empty(images, dtype=object)  # scoring never reads the names

    def labels(low: int, size: int) -> np.ndarray:
        return rng.integers(low, 4, size, dtype=np.int8)

    boxes = [_boxes_in_blocks(rng, pairs) for _ in "ab"]
    truth = BoxedPairs(names, image, image, boxes[0], boxes[1], labels(-1, pairs), labels(-1, pairs))
    both = np.concatenate([image, image])
    said_a, said_b = (_jittered(rng, boxes[i], boxes[1 - i]) for i in (0, 1))
    return truth, BoxedPairs(names, both, both, said_a, said_b, labels(0, 2 * pairs), labels(0, 2 * pairs))


def _boxes_in_blocks(rng: np.random.Generator, n: int, block: int = 1 << 18) -> np.ndarray:
    out = np.empty((n, 4))
    for start in range(0, n, block):
        out[start : start + block] = random_boxes(rng, min(block, n - start))
    return out


def _jittered(
    rng: np.random.Generator, written: np.ndarray, reverse: np.ndarray, block: int = 1 << 18
) -> np.ndarray:
    n = len(written)
    out = np.empty((2 * n, 4))
    out[:n], out[n:] = written, reverse
    for start in range(0, 2 * n, block):
        part = out[start : start + block]
        part += rng.normal(0, 0.03, part.shape)
    return out


def weigh(n: int, seed: int) -> dict[str, Any]:
    """Score n pairs of both aspects here and tell this process's peak memory."""
    truth, said = big_set(n, seed)
    held = sum(getattr(p, f).nbytes for p in (truth, said) for f in BoxedPairs.__dataclass_fields__)
    seconds, _ = timed(lambda: [count_boxed(truth, said, Protocol.OFFICIAL, aspect) for aspect in ASPECTS])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "predictions": len(said),
        "truths": 2 * len(truth),
        "seconds": seconds,
        "input_gb": held / 1e9,
        "peak_gb": peak / 1e9,
    }


def write_big_files(folder: Path, n: int, seed: int, images_at_once: int = 20_000) -> dict[str, Path]:
    """Files of n predictions: images of four objects, all six pairs annotated, both directions predicted.

    Predictions are in no order within some `images_at_once` images: nothing may lean on sorted files.
    """
    rng = np.random.default_rng(seed)
    paths = {name: folder / f"{name}.csv" for name in ("objects", "truth", "predictions")}
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context(path.open("wb")) for name, path in paths.items()}
        for start in range(0, n // 12, images_at_once):
            count = min(images_at_once, n // 12 - start)
            for name, frame in _big_frames(rng, start, count).items():
                frame.write_csv(files[name], include_header=not start, float_precision=10)
    return paths


def _big_frames(rng: np.random.Generator, start: int, images: int) -> dict[str, pl.DataFrame]:
    """Objects, truth and predictions of some images, in the columns of the format."""
    ids = np.array([f"{i * 0x9E3779B97F4A7C15 % 2**64:016x}" for i in range(start, start + images)])
    boxes = random_boxes(rng, 4 * images)
    classes = np.array([f"/m/{k:05x}" for k in range(600)])[rng.integers(0, 600, 4 * images)]
    first, second = (np.array(ends) for ends in zip(*itertools.combinations(range(4), 2), strict=True))
    a, b = ((4 * np.arange(images)[:, None] + ends).ravel() for ends in (first, second))
    both = rng.permutation(np.concatenate([np.stack([a, b]), np.stack([b, a])], axis=1), axis=1)

    def end(number: int, at: np.ndarray) -> dict[str, np.ndarray]:
        box = boxes[at] + rng.uniform(-0.04, 0.04, (len(at), 4))  # wider than 0.1, so that none is turned over
        sides = dict(zip(("xmin", "ymin", "xmax", "ymax"), box.clip(0, 1).T, strict=True))
        cells = {"image_id": ids[at // 4], "entity": classes[at], **sides}
        return {f"{name}_{number}": cell for name, cell in cells.items()}

    def votes(labels: np.ndarray) -> list[str]:
        return [",".join([str(max(label, 0))] * 5) for label in labels]

    distance, occlusion = rng.integers(-1, 4, (2, len(a)))
    label, hidden = rng.integers(0, 4, (2, both.shape[1]))
    return {
        "objects": pl.DataFrame(
            {
                "image_id": ids.repeat(4),
                "object_id": np.tile(np.arange(4), images),
                "entity": classes,
                "xmin": boxes[:, 0],
                "xmax": boxes[:, 2],
                "ymin": boxes[:, 1],
                "ymax": boxes[:, 3],
            }
        ),
        "truth": pl.DataFrame(
            {
                "image_id_1": ids[a // 4],
                "object_id_1": a % 4,
                "image_id_2": ids[b // 4],
                "object_id_2": b % 4,
                "distance": distance,
                "occlusion": occlusion,
                "raw_distance": votes(distance),
                "raw_occlusion": votes(occlusion),
            }
        ),
        "predictions": pl.DataFrame({**end(1, both[0]), **end(2, both[1]), "occlusion": hidden, "distance": label}),
    }


def from_files(n: int, seed: int) -> dict[str, Any]:
    """Wall time and peak memory of the whole command on files of n predictions."""
    with tempfile.TemporaryDirectory() as folder:
        files = write_big_files(Path(folder), n, seed)
        sizes = {name: path.stat().st_size / 1e9 for name, path in files.items()}
        options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
        command = [sys.executable, "-m", "sightline", "score", "relations", *options, "--protocol", "official"]
        start = time.perf_counter()
        with (Path(folder) / "scores.json").open("w+b") as answer:
            child = subprocess.Popen([*command, "--json"], stdout=answer)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.perf_counter() - start
            assert child.returncode == 0, f"the command ended with {child.returncode}"
            answer.seek(0)
            scores = json.load(answer)
    return {
        "rows": 12 * (n // 12),
        "files_gb": sizes,
        "wall_s": seconds,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_gb": used.ru_maxrss * 1024 / 1e9,
        "all": [row for row in scores["rows"] if row["label"] == "all"],
    }


def apart(flag: str, seed: int, **environment: str) -> Any:
    """The answer of this script in a process of its own."""
    command = [sys.executable, __file__, *flag.split(), "--seed", str(seed)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | environment)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--first-call", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--weigh", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.weigh or args.first_call:
        print(json.dumps(weigh(args.weigh, args.seed) if args.weigh else first_call(args.seed)))
        return
    result = {
        "compile": compile_apart(args.seed),
        "race": race(args.rounds, args.seed),
        "memory": apart(f"--weigh {args.pairs}", args.seed),
        "files": from_files(args.pairs, args.seed),
    }
    print(json.dumps(result, indent=2) if args.json else describe(result))
    assert result["race"]["ratio"] >= RATIO, f"only {result['race']['ratio']:.0f} times faster"
    for part in ("memory", "files"):
        assert result[part]["peak_gb"] < GIGABYTES, f"{part}: peak of {result[part]['peak_gb']:.2f} GB"


def describe(result: dict[str, Any]) -> str:
    run, memory, jit, files = (result[part] for part in ("race", "memory", "compile", "files"))
    lines = [f"official protocol, {'real' if run['real_data'] else 'generated'} test sets, identical output"]
    for setting in SIZES:
        one = run[setting]
        times = f"per row {one['slow_s']:.2f} s, fast {one['fast_s'] * 1e3:.1f} ms"
        lines.append(f"  {setting:14s}{one['predictions']:7,d} predictions: {times}")
    lines += [
        f"  together {run['slow_s']:.2f} s / {run['fast_s'] * 1e3:.1f} ms = {run['ratio']:.0f} times faster",
        f"  first call of a process: {jit['compile_s']:.2f} s compiling, {jit['cached_s']:.2f} s from cache",
        f"{memory['predictions']:,} predictions on {memory['truths']:,} ordered truths, both labels:",
        f"  {memory['seconds']:.1f} s, peak {memory['peak_gb']:.2f} GB (arrays given: {memory['input_gb']:.2f} GB)",
        f"sightline score on {files['rows']:,} rows ({sum(files['files_gb'].values()):.2f} GB of files):",
        f"  {files['wall_s']:.1f} s ({files['cpu_s']:.1f} s CPU), peak {files['peak_gb']:.2f} GB",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
