"""Small pair tables for tests: by hand, or random from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from sightline.exams.relations.marks import MarkedPairs, answer_words, mark_pairs, truth_words
from sightline.exams.relations.pairs import PairTable, pair_table
from sightline.exams.relations.protocols import Protocol
from sightline.skills import Setting
from sightline.store.formats import vrd25
from sightline.store.tables import Tables


def votes_for(labels: Sequence[int], raters: int = 5) -> np.ndarray:
    """(n, 4) unanimous votes for each label; −1 becomes a tie of two labels."""
    votes = np.zeros((len(labels), 4), dtype=np.int16)
    for row, label in enumerate(labels):
        if label < 0:
            votes[row, [1, 2]] = raters // 2
        else:
            votes[row, label] = raters
    return votes


def make_table(
    pairs: Sequence[tuple[int, int]],
    depth: Sequence[int],
    *,
    scene_of: Sequence[int],
    boxes: Sequence[Sequence[float]] | None = None,
    classes: Sequence[str] | None = None,
    occlusion: Sequence[int] | None = None,
    depth_votes: Sequence[Sequence[int]] | None = None,
    setting: Setting = "within_image",
) -> PairTable:
    """A table of pairs (first object, second object); the cluster is the first object's scene."""
    m = len(scene_of)
    names = tuple(sorted(set(classes or ["thing"])))
    scenes = np.array([f"{setting}/test/{s}" for s in range(max(scene_of) + 1)], dtype=object)
    first = np.array([a for a, _ in pairs], dtype=np.int32)
    second = np.array([b for _, b in pairs], dtype=np.int32)
    home = np.array(scene_of, dtype=np.int32)
    if setting == "within_image":
        clusters, cluster = scenes, home[first]
    else:
        keys = [tuple(sorted((int(home[a]), int(home[b])))) for a, b in pairs]
        order = sorted(set(keys))
        clusters = np.array([f"{scenes[a]}|{scenes[b]}" for a, b in order], dtype=object)
        cluster = np.array([order.index(k) for k in keys], dtype=np.int32)
    occluded = [-1] * len(pairs) if occlusion is None else occlusion
    return PairTable(
        setting=setting,
        clusters=clusters,
        cluster=cluster,
        scenes=scenes,
        object_ids=np.array([str(i) for i in range(m)], dtype=object),
        object_scene=home,
        boxes=np.array([[0.0, 0.0, 0.5, 0.5]] * m if boxes is None else boxes, dtype=np.float64),
        categories=names,
        category=np.array([names.index(c) for c in classes] if classes else [0] * m, dtype=np.int32),
        first=first,
        second=second,
        depth=np.array(depth, dtype=np.int8),
        occlusion=np.array(occluded, dtype=np.int8),
        depth_votes=votes_for(depth) if depth_votes is None else np.array(depth_votes, dtype=np.int16),
        occlusion_votes=votes_for(occluded),
        asked=np.tile([True, occlusion is not None and setting == "within_image"], (len(pairs), 1)),
    )


def random_table(seed: int, *, scenes: int = 6, setting: Setting = "within_image", kinds: int = 4) -> PairTable:
    """All pairs of scenes with 1–5 objects (across: of scenes 2k and 2k + 1), random boxes, classes and votes."""
    rng = np.random.default_rng(seed)
    scene_of = np.repeat(np.arange(scenes), rng.integers(1, 6, scenes))
    ids = np.arange(len(scene_of))
    unit = scene_of if setting == "within_image" else scene_of // 2
    pairs = [(a, b) for a in ids for b in ids[a + 1 :] if unit[a] == unit[b]]
    if setting == "across_images":
        pairs = [(a, b) for a, b in pairs if scene_of[a] != scene_of[b]]
    corner = rng.uniform(0, 0.6, (len(ids), 2)).round(1)
    boxes = np.hstack([corner, corner + rng.uniform(0.1, 0.4, (len(ids), 2)).round(1)])
    votes = rng.multinomial(5, [0.1, 0.4, 0.4, 0.1], size=len(pairs))
    strict = [int(v.argmax()) if 2 * v.max() > 5 else -1 for v in votes]
    return make_table(
        pairs,
        strict,
        scene_of=scene_of.tolist(),
        boxes=boxes.tolist(),
        classes=[f"c{k}" for k in rng.integers(0, kinds, len(ids))],
        occlusion=rng.integers(-1, 4, len(pairs)).tolist() if setting == "within_image" else None,
        depth_votes=votes.tolist(),
        setting=setting,
    )


Codes = Sequence[int] | np.ndarray


def records_of(table: PairTable, depth: Codes, occlusion: Codes | None = None) -> pl.DataFrame:
    """Records of a run that said these codes of all 2n ordered pairs (`PairTable.ordered`)."""
    ordered = table.ordered()
    scenes = table.scenes[ordered.object_scene]
    shared = {
        "item": scenes[ordered.first] + ">" + scenes[ordered.second],
        "scene_id": scenes[ordered.first],
        "cluster_id": table.clusters[ordered.cluster],
        "setting": [table.setting] * len(ordered),
        "other_scene": scenes[ordered.second],
        "subject": ordered.object_ids[ordered.first],
        "object": ordered.object_ids[ordered.second],
        "reverse": (np.arange(len(ordered)) >= len(table)).tolist(),
    }
    schema = dict.fromkeys([*shared, "aspect", "truth", "answer"], pl.String) | {"reverse": pl.Boolean}
    answers = {"depth": depth} | ({} if occlusion is None else {"occlusion": occlusion})
    frames = [
        {name: list(values) for name, values in shared.items()}
        | {"aspect": [aspect] * len(ordered), "truth": truth_words(aspect, getattr(ordered, aspect))}
        | {"answer": answer_words(aspect, np.asarray(codes, dtype=np.int8))}
        for aspect, codes in answers.items()
    ]
    return pl.concat([pl.DataFrame(frame, schema=schema) for frame in frames])


def marks_of(
    table: PairTable, depth: Codes, occlusion: Codes | None = None, protocol: Protocol = Protocol.DEFAULT
) -> dict[str, MarkedPairs]:
    """Those answers marked, by aspect."""
    records = records_of(table, depth, occlusion)
    marks = mark_pairs(records, {table.setting: table}, protocol=protocol)
    return {aspect: marked for (_, aspect), marked in marks.items()}


def random_codes(seed: int, table: PairTable) -> tuple[np.ndarray, np.ndarray | None]:
    """Random depth and, within an image, occlusion codes of both directions of every pair, silence included."""
    rng = np.random.default_rng(seed)
    ordered = table.ordered()

    def some(truth: np.ndarray) -> np.ndarray:
        return np.where(rng.random(len(truth)) < 0.5, truth, rng.integers(-1, 4, len(truth))).astype(np.int8)

    depth = some(ordered.depth)
    return depth, some(ordered.occlusion) if table.setting == "within_image" else None


def random_marks(seed: int, table: PairTable) -> dict[str, MarkedPairs]:
    """Random answers marked, by aspect."""
    return marks_of(table, *random_codes(seed, table))


@cache
def real_tables(folder: Path) -> dict[tuple[Setting, str], PairTable]:
    """(setting, split) → the annotated pairs of the real 2.5VRD files, validation and test."""
    stored = Tables.concat(vrd25.read(folder / "2.5vrd"))
    settings: tuple[Setting, ...] = ("within_image", "across_images")
    return {(s, split): pair_table(stored, s, split) for s in settings for split in ("test", "validation")}
