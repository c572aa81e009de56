"""The Turing exam's engine: choosing the next question, against pandas in the same run, on one core.

    python benchmarks/turing.py                      # 1 M images × 5 objects, a few minutes
    python benchmarks/turing.py --images 100000
    python benchmarks/turing.py --write              # and keep the figures in docs/results/turing_speed.json

Images are made up in the words of the `urban` vocabulary: five types, 62 attributes, 20 regions, some facts unknown
and some objects crowds. One step = learn the last answer and estimate all candidates anew: existence and uniqueness
of each type with no or one attribute, 670 questions in the whole image and its halves, 2,680 in all regions. Every
third answer labels an object. The pandas side estimates the same candidates after the same history, grouping the
objects' table by image once per type and region, for all attributes together; its counts must be equal.

What a step can cost at best, for 335 predicates (670 questions) over 1 M images = 15,625 words of 64:

* by arithmetic: two ands, an and-not and two population counts a word; with vectors of eight words, two a cycle,
  335 × 15,625 × 5 / 16 = 1.6 M cycles, 0.6 ms at 2.6 GHz;
* by bytes: two planes of 125 kB a predicate are read once, the mask stays in the cache: 84 MB, 96 MB with those of
  what is unknown; 8 ms at the 12 GB/s at which one core here reads memory in eight streams (8 in one). Labelled
  objects need one or two more planes each.

A step that labels finds the object in each image and lays its facts out as planes besides:

* by bytes: bits of the objects that fit, 0.4 MB; of 1 M objects of the type the image, 4 MB, and a word of facts,
  8 MB; 28 to 47 planes written, 4 to 6 MB: 18 MB, 1.5 ms;
* by arithmetic: 1,953 groups of 64 × 8 words turned over in 80 (32 facts at most) or 192 swaps of six operations a
  vector, 1,953 × 192 × 6 × 2 = 4.5 M, 0.9 ms at two a cycle; finding, five operations an object that fits, 0.4 ms.

Streams run over images made up in the words of `worlds` (one type, 62 attributes, 20 regions: 2,520 searches of at
most one attribute, 75,480 of two), so that there is enough to ask about.

Times mean little without the machine: a calibration kernel (20 M dependent float steps) is timed beside them.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from sightline.exams.turing.annotations.columns import Annotation, Columns
from sightline.exams.turing.annotations.semantics import answer, walk
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.estimate.estimator import Chance, QuestionOptions
from sightline.exams.turing.estimate.frequencies import Frequencies
from sightline.exams.turing.source import QuestionSource
from sightline.exams.turing.stream.engine import Candidates
from sightline.exams.turing.vocabulary.files import load_vocabulary
from sightline.exams.turing.vocabulary.questions import History, Question, Truth
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results" / "turing_speed.json"
FEW = ("image", "left half", "right half", "top half", "bottom half")
STEPS, STREAM_IMAGES, STREAM_QUESTIONS = 12, 100_000, 50
STEP_MS, RATIO, STREAM_S = 25.0, 20.0, 1.0


@njit
def _calibration(steps: int) -> float:
    x = 0.5
    for _ in range(steps):
        x = 3.9 * x * (1.0 - x)
    return x


def calibrate() -> float:
    """CPU seconds of 20 million dependent float steps: how fast this core is right now."""
    _calibration(10)
    return timed(lambda: _calibration(20_000_000))[0]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of all threads, so that a busy machine changes little."""
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


# Made-up images.


def made_up(vocabulary: Vocabulary, images: int, seed: int, *, by_value: bool = False) -> Columns:
    """Images of three to seven objects, five on average.

    Attributes are drawn group by group, one fact in fifty unknown in one group of each type; or `by_value`: an
    object has one color, one shape and so on, and the attributes that are true of it. Then nothing is unknown.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 8, images)
    n = int(sizes.sum())
    types = rng.choice(len(vocabulary.types), n).astype(np.int16)
    yes, no = np.zeros((2, n, 1), dtype=np.uint64)
    for t in range(len(vocabulary.types)):
        draw = _values if by_value else _attributes
        yes[types == t, 0], no[types == t, 0] = draw(rng, vocabulary, t, int((types == t).sum()))
    pairs = int((sizes**2).sum())
    every = np.uint64((1 << len(vocabulary.links)) - 1)
    holds = rng.integers(0, 2**63, (pairs, 1)).astype(np.uint64) & every
    fails = ~holds & every
    if not by_value:
        fails &= ~rng.integers(0, 2**63, (pairs, 1)).astype(np.uint64)
    own = _own_pairs(sizes)
    holds[own] = fails[own] = 0
    return Columns(
        ids=np.array([f"{i:07d}" for i in range(images)], dtype=object),
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        objects=np.concatenate([np.arange(7)[:k].astype(str).astype(object) for k in sizes]),
        types=types,
        crowd=rng.random(n) < 0.03,
        yes=yes,
        no=no,
        seen=_seen(rng, vocabulary, n),
        pair_starts=np.concatenate([[0], np.cumsum(sizes**2)]),
        holds=holds,
        fails=fails,
        n_attributes=max(len(kind.attributes) for kind in vocabulary.types),
        n_regions=len(vocabulary.regions),
        n_links=len(vocabulary.links),
    )


def _attributes(rng: np.random.Generator, vocabulary: Vocabulary, t: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    kind = vocabulary.types[t]
    yes = no = np.zeros(n, dtype=np.uint64)
    groups = list(dict.fromkeys(attribute.group for attribute in kind.attributes))
    for group in groups:
        places = [k for k, attribute in enumerate(kind.attributes) if attribute.group == group]
        one = rng.integers(0, len(places) + 1, n)
        known = rng.random(n) > (0.02 if group == groups[0] else 0.0)
        for i, k in enumerate(places):
            has = one == i if group in kind.exclusive else rng.random(n) < 0.3
            yes = yes | (has & known).astype(np.uint64) << np.uint64(k)
            no = no | (~has & known).astype(np.uint64) << np.uint64(k)
    return yes, no


def _values(rng: np.random.Generator, vocabulary: Vocabulary, t: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    attributes = vocabulary.types[t].attributes
    keys = {(a.source.kind, a.source.key) for a in attributes if a.source.kind in ("attribute", "category")}
    drawn = {}
    for key in sorted(keys):
        values = sorted({v for a in attributes if (a.source.kind, a.source.key) == key for v in a.source.values})
        drawn[key] = np.array(values)[rng.integers(0, len(values), n)]
    yes = np.zeros(n, dtype=np.uint64)
    for k, a in enumerate(attributes):
        key = a.source.kind, a.source.key
        has = np.isin(drawn[key], a.source.values) if key in drawn else rng.random(n) < 0.4
        yes |= has.astype(np.uint64) << np.uint64(k)
    return yes, ~yes & np.uint64((1 << len(attributes)) - 1)


def _seen(rng: np.random.Generator, vocabulary: Vocabulary, n: int) -> np.ndarray:
    low = rng.random((2, n)) * 0.85
    high = np.minimum(low + 0.05 + 0.25 * rng.random((2, n)), 1)
    seen = np.zeros(n, dtype=np.uint64)
    for w, region in enumerate(vocabulary.regions):
        x0, y0, x1, y1 = region.box
        inside = (low[0] < x1) & (high[0] > x0) & (low[1] < y1) & (high[1] > y0)
        seen |= inside.astype(np.uint64) << np.uint64(w)
    return seen


def _own_pairs(sizes: np.ndarray) -> np.ndarray:
    """Rows of the pairs of an object with itself."""
    first = np.repeat(np.cumsum(sizes**2) - sizes**2, sizes)
    place = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return first + place * (np.repeat(sizes, sizes) + 1)


# A story.


def candidates(vocabulary: Vocabulary, regions: Sequence[str] | None = None) -> list[Question]:
    """Every existence and uniqueness question of at most one attribute."""
    found = [q for size in (0, 1) for q in Candidates(vocabulary).searches(size)]
    return [q for q in found if regions is None or q.region in regions]


def tell(vocabulary: Vocabulary, estimator: Frequencies, asked: Sequence[Question], image: Annotation) -> History:
    """A history of unpredictable questions, every third of which labels an object, true of the image."""
    rng, history = np.random.default_rng(1), ()
    for step in range(STEPS):
        _, labelled = walk(image, history, vocabulary)
        estimated = zip(asked, estimator.chances(asked), strict=True)
        open_ones = [q for q, c in estimated if abs(c.p_yes - 0.5) < 0.45 and c.support]
        truths = {q: answer(image, q, labelled, vocabulary)[0] for q in open_ones}
        labelling = [q for q, truth in truths.items() if q.kind == "unique" and truth is Truth.YES]
        chosen = labelling if step % 3 == 2 and labelling else [q for q in truths if q not in labelling]
        chosen = [q for q in chosen if truths[q] is not Truth.AMBIGUOUS]
        if not chosen:
            break
        question = chosen[int(rng.integers(len(chosen)))]
        history = (*history, (question, truths[question] is Truth.YES))
        estimator.learn(*history[-1])
    return history


def replay(estimator: Any, history: History, asked: Sequence[Question]) -> tuple[list[float], list[list[Chance]]]:
    """Milliseconds of each step (learn the last answer, estimate all candidates), and what came out."""
    spent, found = [], []

    def step(told: tuple[Question, bool] | None) -> list[Chance]:
        if told is not None:
            estimator.learn(*told)
        return estimator.chances(asked)

    for told in (None, *history):
        seconds, chances = timed(lambda told=told: step(told))
        spent.append(1e3 * seconds)
        found.append(chances)
    return spent, found


class InPandas:
    """The same by grouping the objects' table; what all questions of a type and region share is done once."""

    def __init__(self, columns: Columns, vocabulary: Vocabulary) -> None:
        import pandas

        self._vocabulary = vocabulary
        self._left = np.ones((len(vocabulary.regions), len(columns)), dtype=bool)
        self._frames: dict[str, Any] = {}
        image_of = np.repeat(np.arange(len(columns)), np.diff(columns.starts))
        for t, kind in enumerate(vocabulary.types):
            rows = np.flatnonzero(columns.types == t)
            weight = np.where(columns.crowd[rows], 2, 1).astype(np.int8)
            cells: dict[str, Any] = {"image": image_of[rows], "free": True}
            cells |= {
                f"seen {w.name}": columns.seen[rows] >> np.uint64(k) & np.uint64(1) == 1
                for k, w in enumerate(vocabulary.regions)
            }
            cells |= {"yes": weight, "may": weight}
            for k, attribute in enumerate(kind.attributes):
                yes, no = (
                    (words[rows, 0] >> np.uint64(k) & np.uint64(1)).astype(bool)
                    for words in (columns.yes, columns.no)
                )
                cells[f"yes {attribute.name}"] = weight * yes
                if not (yes | no).all():
                    cells[f"may {attribute.name}"] = weight * ~no
            self._frames[kind.name] = pandas.DataFrame(cells)

    def chances(self, questions: Sequence[Question]) -> list[Chance]:
        """The chance of a yes for each, given the history so far."""
        known: dict[tuple[str, str], tuple[Any, Any]] = {}
        for kind, region in dict.fromkeys((q.type, q.region) for q in questions):
            names = [a.name for a in self._vocabulary.kind(kind).attributes]
            known[kind, region] = self._estimated(kind, region, names)
        return [self._chance(known[q.type, q.region], q) for q in questions]

    def _counts(self, kind: str, region: str, names: Sequence[str], left: np.ndarray) -> tuple[Any, Any]:
        """Per image left: how many surely fit, how many may, for no attribute ('') and each of the names."""
        frame = self._frames[kind]
        rows = frame[frame[f"seen {region}"] & frame["free"] & left[frame["image"].to_numpy()]]
        columns = ["yes", *(f"{side} {name}" for side in ("yes", "may") for name in names)]
        sums = rows.groupby("image", sort=False)[[c for c in columns if c in rows]].sum()
        sure = sums[["yes", *(f"yes {name}" for name in names)]].set_axis(["", *names], axis=1)
        may = sure.copy()
        for name in names:
            if f"may {name}" in sums:
                may[name] = sums[f"may {name}"]
        return sure, may

    def _estimated(self, kind: str, region: str, names: Sequence[str]) -> tuple[Any, Any]:
        left = self._left[self._vocabulary.region_index[region]]
        sure, may = self._counts(kind, region, names, left)
        size = int(left.sum())
        single = (sure == 1) & (may == 1)
        exist = (sure >= 1).sum(), size - ((sure == 0) & (may >= 1)).sum()
        unique = single.sum(), size - ((may >= 1) & (sure < 2) & ~single).sum()
        return exist, unique

    def _chance(self, counts: tuple[Any, Any], question: Question) -> Chance:
        yes, support = counts[question.kind == "unique"]
        name = question.attributes[0] if question.attributes else ""
        return Chance(float(yes[name] / support[name]) if support[name] else float("nan"), int(support[name]))

    def learn(self, question: Question, told: bool) -> None:
        """Add an answered question to the history."""
        name = question.attributes[0] if question.attributes else ""
        everywhere = np.ones(self._left.shape[1], dtype=bool)
        sure, may = (
            side[name] for side in self._counts(question.type, question.region, [name][: bool(name)], everywhere)
        )
        so = np.full(len(everywhere), not told)
        if question.kind == "exist":
            so[sure.index] = sure >= 1 if told else may == 0
        else:
            so[sure.index] = (sure == 1) & (may == 1) if told else (may == 0) | (sure >= 2)
        labels, here = question.labels_if(told), self._vocabulary.region(question.region)
        for k, region in enumerate(self._vocabulary.regions):
            if labels or region.meets(here):
                self._left[k] &= so
        if labels:
            frame = self._frames[question.type]
            fits = frame[f"yes {name}" if name else "yes"] > 0
            found = fits & frame[f"seen {question.region}"] & frame["free"]
            frame["free"] &= ~(found & so[frame["image"].to_numpy()])


# What is measured.


def build(columns: Columns, vocabulary: Vocabulary, folder: Path) -> tuple[Corpus, dict[str, Any]]:
    build_s, corpus = timed(lambda: Corpus.build(columns, vocabulary, folder))
    open_s, _ = timed(lambda: Corpus.open(folder))
    size = sum(file.stat().st_size for file in folder.iterdir())
    planes = corpus.planes.nbytes
    return corpus, {"build_s": build_s, "open_ms": 1e3 * open_s, "folder_mb": size / 1e6, "planes_mb": planes / 1e6}


def steps(corpus: Corpus, history: History, asked: Sequence[Question]) -> dict[str, Any]:
    runs = np.array([replay(Frequencies(corpus), history, asked)[0] for _ in range(3)])
    spent = np.median(runs, axis=0)
    return {
        "candidates": len(asked),
        "labels": sum(question.labels_if(said) for question, said in history),
        "median_ms": float(np.median(spent)),
        "worst_ms": float(spent.max()),
        "each_ms": spent.round(2).tolist(),
    }


def race(columns: Columns, corpus: Corpus, history: History, asked: Sequence[Question]) -> dict[str, Any]:
    """Ours and pandas over the first steps of the history, one label at least among them."""
    first = next(i for i, (question, said) in enumerate(history) if question.labels_if(said)) + 1
    peer = InPandas(columns, corpus.vocabulary)
    slow, expected = replay(peer, history[:first], asked)
    fast, found = replay(Frequencies(corpus), history[:first], asked)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(np.array(ours), np.array(theirs), equal_nan=True), "the two do not agree"
    return {"steps": first + 1, "pandas_ms": sum(slow), "ours_ms": sum(fast), "ratio": sum(slow) / sum(fast)}


def growth(
    columns: Columns, vocabulary: Vocabulary, history: History, asked: Sequence[Question]
) -> dict[str, float]:
    """Milliseconds a step over an eighth, a quarter and half of the images."""
    out = {}
    for share in (8, 4, 2):
        corpus = Corpus.build(first_images(columns, len(columns) // share), vocabulary)
        out[str(len(corpus))] = steps(corpus, history, asked)["median_ms"]
    return out


def first_images(columns: Columns, n: int) -> Columns:
    """The first n images of them."""
    things, pairs = int(columns.starts[n]), int(columns.pair_starts[n])
    cut = {"ids": n, "starts": n + 1, "pair_starts": n + 1, "holds": pairs, "fails": pairs}
    cut |= dict.fromkeys(("objects", "types", "crowd", "yes", "no", "seen"), things)
    counts = {name: getattr(columns, name) for name in ("n_attributes", "n_regions", "n_links")}
    return Columns(**{name: getattr(columns, name)[:end] for name, end in cut.items()}, **counts)


def streams(images: int, seed: int, tries: int = 5) -> dict[str, Any]:
    """Whole streams about held-out images, the engine's choices and the operator's answers included."""
    vocabulary = load_vocabulary("worlds")
    columns = made_up(vocabulary, images + tries, seed, by_value=True)
    options = QuestionOptions(questions=STREAM_QUESTIONS)
    source = QuestionSource(vocabulary, Corpus.build(first_images(columns, images), vocabulary), options)
    rows = []
    for i in range(tries):
        image = replace(columns.image(images + i), id=str(i))
        seconds, stream = timed(lambda image=image: source.stream(image))
        kinds = Counter(step.question.kind for step in stream.steps)
        joined = sum(len(step.question.attributes) > 1 for step in stream.steps)
        rows.append({"questions": len(stream.steps), "seconds": seconds, **kinds, "conjunctions": joined})
    return {"images": images, "streams": rows, "worst_s": max(row["seconds"] for row in rows)}


def memory(corpus: Corpus, history: History, asked: Sequence[Question]) -> dict[str, float]:
    """Peak MB a stream needs of its own after one, half and all of the steps."""
    tracemalloc.start()
    estimator, out = Frequencies(corpus), {}
    for number, told in enumerate(history, 1):
        estimator.learn(*told)
        estimator.chances(asked)
        if number in (1, len(history) // 2, len(history)):
            out[str(number)] = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return out


def measure(images: int, seed: int, *, pandas: bool = True) -> dict[str, Any]:
    vocabulary = load_vocabulary("urban")
    columns = made_up(vocabulary, images, seed)
    few, many = candidates(vocabulary, FEW), candidates(vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        warm = Corpus.build(first_images(columns, 64), vocabulary)
        replay(Frequencies(warm), tell(vocabulary, Frequencies(warm), few, columns.image(0)), few)
        corpus, built = build(columns, vocabulary, Path(folder) / "corpus")
        history = tell(vocabulary, Frequencies(corpus), few, columns.image(0))
        return {
            "images": images,
            "objects": int(columns.starts[-1]),
            "python": platform.python_version(),
            "calibration_s": calibrate(),
            "corpus": built,
            "steps": [steps(corpus, history, asked) for asked in (few, many)],
            "pandas": race(columns, corpus, history, few) if pandas else None,
            "growth_ms": growth(columns, vocabulary, history, few),
            "memory_mb": memory(corpus, history, many),
            "streams": streams(min(images, STREAM_IMAGES), seed),
            "calibration_after_s": calibrate(),
        }


def describe(result: dict[str, Any]) -> str:
    built, run = result["corpus"], result["streams"]
    size = f"{result['images']:,} images, {result['objects']:,} objects"
    lines = [
        f"{size}; one core, calibration kernel {result['calibration_s']:.3f} CPU s",
        f"  corpus: built in {built['build_s']:.1f} s, {built['folder_mb']:,.0f} MB "
        f"({built['planes_mb']:,.0f} MB of planes), opened in {built['open_ms']:.0f} ms",
    ]
    lines += [
        f"  {row['candidates']:,} candidates, {row['labels']} labels: {row['median_ms']:.1f} ms a step, "
        f"{row['worst_ms']:.1f} at worst"
        for row in result["steps"]
    ]
    if result["pandas"]:
        race = result["pandas"]
        lines.append(
            f"  pandas, {race['steps']} steps: {race['pandas_ms']:,.0f} ms against {race['ours_ms']:.0f} ms = "
            f"{race['ratio']:.0f} times faster, equal counts"
        )
    grown = ", ".join(f"{int(n):,}: {ms:.2f} ms" for n, ms in result["growth_ms"].items())
    held = ", ".join(f"{n}: {mb:.0f} MB" for n, mb in result["memory_mb"].items())
    return "\n".join(
        [
            *lines,
            f"  a step by images: {grown}",
            f"  a stream's own memory by steps: {held}",
            f"  streams over {run['images']:,} images: "
            + ", ".join(f"{row['questions']} questions in {row['seconds']:.2f} s" for row in run["streams"]),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in docs/results/{RESULTS.name}")
    args = parser.parse_args()
    result = measure(args.images, args.seed)
    print(json.dumps(result, indent=2) if args.json else describe(result))
    if args.write:
        RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    assert result["steps"][0]["worst_ms"] <= STEP_MS, "a step takes too long"
    assert result["pandas"]["ratio"] >= RATIO, f"only {result['pandas']['ratio']:.1f} times faster than pandas"
    asked = [row["questions"] for row in result["streams"]["streams"]]
    assert asked == [STREAM_QUESTIONS] * len(asked), f"streams of {asked} questions"
    assert result["streams"]["worst_s"] <= STREAM_S, "a stream takes too long"


if __name__ == "__main__":
    main()
