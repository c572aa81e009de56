"""The blind baselines on the real 2.5VRD test split; writes docs/results/relations.md.

    python docs/pages/relations_results.py            # print the page
    python docs/pages/relations_results.py --write    # and replace docs/results/relations.md

Needs the real 2.5VRD labels (SIGHTLINE_DATA, else ../shared/data); takes one to two minutes. Every figure is
computed here but those of the paper's Tables 5, 8 and 9, which are typed in below and named so on the page.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sightline
from sightline.exams.relations import Protocol, RelationsExam, describe_dataset, mark_pairs
from sightline.exams.relations.analyses import (
    SCALES,
    by_difficulty,
    consistency,
    counter_heuristic,
    label_consistency,
)
from sightline.exams.relations.description import human_f1
from sightline.exams.relations.distributions import class_frequency, class_pair_frequency, labels_by_class_pair
from sightline.exams.relations.exam import BASELINES, TRAINED
from sightline.exams.relations.marks import Marks, of_setting
from sightline.exams.relations.measures import SUBTASK_TITLES
from sightline.exams.relations.protocols import pool
from sightline.exams.run import RunRecords
from sightline.exams.runner import run_exam
from sightline.exams.scoring import Scores, compare_records, score_records
from sightline.models import candidate
from sightline.scenes import words as label_words
from sightline.show.table import Cell, Row, Table, figure, percent, scored, shared
from sightline.stats import Interval

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data")) / "2.5vrd"

PAPER_GIVEN_BOXES = 0.782  # Table 5: average of the MLP with all cues on annotated boxes
PAPER_DIFFICULTY = {  # Table 9: the same model; easy, moderate, difficult
    "within_image/depth": (0.886, 0.644, 0.483),
    "within_image/occlusion": (0.821, 0.781, 0.781),
    "across_images/depth": (0.950, 0.833, 0.668),
}
PAPER_TRANSFER = {  # Table 8, on detected boxes: asked within, across
    "within_image": (0.322, 0.308),
    "across_images": (0.304, 0.370),
    "joint": (0.318, 0.354),
}
SETTINGS: Mapping[Any, str] = {"within_image": "within an image", "across_images": "across two images"}
PLANS = {"within_image": "pairs within an image", "across_images": "pairs across two images", "joint": "both"}
SLICES = {
    "all": "all",
    "lower_is_farther": "lower is not closer",
    "larger_is_farther": "larger is not closer",
    "both": "both mislead",
}
LAWS = {
    "symmetry": "closer both ways",
    "symmetry_exact": "not the reverse",
    "transitivity": "transitivity",
    "transitivity_strict": "transitivity, strict",
}
MIRRORED = ("farther", "occluded")  # told by closer and occludes of the reversed class pair
TOP = 10


class Examined:
    """The dataset, its test pairs, and what every baseline answered.

    Attributes:
        records: Model → what its run recorded; of models that answer every pair alike only the first.
        marks: The same, marked.
        alike: Model → the earlier one it answers like.
    """

    def __init__(self, folder: Path) -> None:
        self.data = sightline.open(DATA)
        self.tables: Mapping[Any, Any] = RelationsExam().tables(self.data)
        self.described: Mapping[Any, Any] = {s: d["test"] for s, d in describe_dataset(self.data).splits.items()}
        self.folder = folder
        self.records: dict[str, RunRecords] = {}
        self.marks: dict[str, Marks] = {}
        self.alike: dict[str, str] = {}
        first: dict[bytes, str] = {}
        for spec in BASELINES:
            records = self.run(spec)
            marks = mark_pairs(records.rows, self.tables)
            codes = np.concatenate([marked.answer for marked in marks.values()])
            name = first.setdefault(codes.tobytes(), spec)
            if name == spec:
                self.records[spec], self.marks[spec] = records, marks
            else:
                self.alike[spec] = name

    def run(self, spec: str, **options: Any) -> RunRecords:
        """Records of a model's run."""
        place = self.folder / "-".join([spec, *options.values()])
        return run_exam(RelationsExam(**options), candidate(spec), self.data, place).read()

    def scores(self, records: RunRecords, protocol: Protocol) -> Scores:
        """Scores of a run."""
        exam = RelationsExam(split="test", protocol=protocol.value)  # type: ignore[arg-type]
        return score_records(exam, records, lambda: self.data)


def grid(columns: Iterable[str], rows: Mapping[str, Iterable[Any]], show: Any = scored) -> str:
    """A Markdown table; intervals are shown with `show`, cells as they are."""
    made = (Row(head, tuple(c if isinstance(c, Cell) else show(c) for c in cells)) for head, cells in rows.items())
    return Table("", tuple(columns), tuple(made)).to_markdown()


def best(found: Mapping[str, Interval]) -> tuple[str, Interval]:
    """The row with the highest value."""
    return max(found.items(), key=lambda pair: pair[1].value)


def f1s(found: Scores) -> dict[str, Interval]:
    """F1 by sub-task, then the average."""
    paths = {task: ("subtasks", task, "micro", "all", "f1") for task in SUBTASK_TITLES} | {"average": ("average",)}
    return {name: interval for name, path in paths.items() if (interval := found.at(*path)) is not None}


def by_predicate(found: Scores, task: str) -> dict[str, Interval]:
    """F1 of every label that the paper's protocol counts (its Table 7)."""
    setting, aspect = task.split("/")
    labels = [label_words(aspect)[code] for code in pool(Protocol.PAPER, aspect, setting)]  # type: ignore[arg-type]
    f1 = {label: found.at("subtasks", task, "micro", label, "f1") for label in labels}
    return {label: interval for label, interval in f1.items() if interval is not None}


def score_part(examined: Examined, marked: Mapping[Protocol, Mapping[str, Scores]]) -> Iterator[str]:
    alike = ", ".join(f"`{name}` as `{first}`" for name, first in examined.alike.items())
    yield "## Scores"
    yield (
        "F1 over all pairs together, with 95 % intervals by image (across images: by image pair). *One rater* is a "
        "single vote against the majority of the others; it is not marked by the official protocol."
        + (f" Not shown, since they answer every pair alike: {alike}." if alike else "")
    )
    for protocol, found in marked.items():
        rows: dict[str, list[Any]] = {name: [*f1s(own).values()] for name, own in found.items()}
        if protocol is not Protocol.OFFICIAL:
            human = [_human(examined, task, protocol) for task in SUBTASK_TITLES]
            rows["one rater"] = [*human, Cell(figure(float(np.mean([i.value for i in human]))))]
        yield grid((f"{protocol.value} protocol", *SUBTASK_TITLES.values(), "Average"), rows)
    averages = {name: f1s(own)["average"] for name, own in marked[Protocol.PAPER].items()}
    name, top = best({name: own for name, own in averages.items() if name not in TRAINED})
    trained = " and ".join(f"`{name}` {figure(averages[name].value)}" for name in TRAINED)
    yield (
        f"Under the paper's protocol the best blind rule, `{name}`, has {figure(top.value)} on average, the "
        f"trained blind networks {trained}; the paper's MLP, which has all cues, pixels among them, and 158,178 "
        f"training pairs, {PAPER_GIVEN_BOXES} on annotated boxes (its Table 5). Ours learned from 13,193 pairs of "
        "validation, with all the votes on each. The paper's Table 4 is on detected boxes: not comparable with "
        "these, and not shown."
    )


def network_part(examined: Examined) -> Iterator[str]:
    yield "## What the blind networks mean"
    slices = {
        setting: counter_heuristic(examined.marks["blind_mlp"][setting, "depth"])["both"].accuracy.value
        for setting in SETTINGS
    }
    yield (
        "The scores on true boxes can be had without looking: what a model that looks adds is its difference to "
        "`blind_mlp`, not its score. That difference should show most where boxes and classes mislead; where the "
        f"lower and the larger object are both farther, `blind_mlp` is right in {percent(slices['within_image'])} "
        f"of the pairs within an image and {percent(slices['across_images'])} across two. How it was made and "
        "chosen: {doc}`relations-nets`."
    )
    pairs = (("consistent", "blind_mlp"), ("blind_mlp", "bottom_edge"))
    exam = RelationsExam(split="test", protocol="paper")
    rows = {}
    for one, other in pairs:
        compared, _ = compare_records(exam, examined.records[one], examined.records[other], lambda: examined.data)
        found = [row for row in compared if not row.name.startswith(" ")]  # the rest are single labels
        rows[f"{one} − {other}"] = [
            Cell(f"{row.difference:+.3f} ({row.low:+.3f} to {row.high:+.3f}), p {row.p_value:.3f}") for row in found
        ]
        columns = tuple(row.name.replace("_", " ") for row in found)
    yield "Differences, paired by image (across: image pair), with 95 % intervals and p by sign flips:"
    yield grid(("paper protocol", *columns), rows)


def _human(examined: Examined, task: str, protocol: Protocol) -> Interval:
    setting, aspect = task.split("/")
    return human_f1(examined.tables[setting], aspect, protocol, resamples=2000, seed=0)  # type: ignore[arg-type]


def predicate_part(found: Mapping[str, Scores]) -> Iterator[str]:
    yield "## By predicate"
    yield "F1 of each label, paper protocol: the shape of the paper's Table 7, whose figures are on detected boxes."
    for task, title in SUBTASK_TITLES.items():
        labels = {name: by_predicate(own, task) for name, own in found.items()}
        columns = next(iter(labels.values()))
        yield grid((title, *columns), {name: row.values() for name, row in labels.items()})
    for task, label in (("within_image/depth", "same"), ("within_image/occlusion", "mutual")):
        name, top = best({name: by_predicate(own, task)[label] for name, own in found.items()})
        yield f"- *{label.capitalize()}*: the highest is {figure(top.value)}, by `{name}`."


def difficulty_part(examined: Examined) -> Iterator[str]:
    found = {name: by_difficulty(marks, protocol=Protocol.PAPER).f1 for name, marks in examined.marks.items()}
    scales = [scale.word for scale in SCALES]
    yield "## By difficulty"
    yield (
        "F1 on annotated boxes, paper protocol, beside the paper's Table 9: its MLP with all cues, pixels among "
        "them. Ours are blind. Easy: all raters alike on depth; moderate: at least four in five; difficult: a bare "
        "majority. Occlusion, too, is cut by the votes on depth."
    )
    for task, theirs in PAPER_DIFFICULTY.items():
        rows: dict[str, list[Any]] = {name: [own[task][s] for s in scales] for name, own in found.items()}
        rows["paper: MLP, all cues"] = [Cell(figure(f)) for f in theirs]
        yield grid((SUBTASK_TITLES[task], *scales), rows)
    yield (
        "The best blind model of each column, picked by these very figures, beside the paper's MLP. *Inside*: the "
        "paper's figure, which has no interval, lies in ours. That the paper counted by what we call its protocol "
        "is our reading ({doc}`../reference/protocols`)."
    )
    for task, theirs in PAPER_DIFFICULTY.items():
        tops = [best({name: own[task][scale] for name, own in found.items()}) for scale in scales]
        sides = [
            f"{scale} `{name}` {figure(i.value)} against {figure(their)} ({_beside(i, their)})"
            for scale, (name, i), their in zip(scales, tops, theirs, strict=True)
        ]
        yield f"- {SUBTASK_TITLES[task]}: {', '.join(sides)}."


def _beside(found: Interval, theirs: float) -> str:
    """Where a figure without an interval stands to one that has it."""
    if found.low <= theirs <= found.high:
        return "inside"
    return "above" if found.value > theirs else "below"


def heuristic_part(examined: Examined) -> Iterator[str]:
    yield "## Where the usual cues mislead"
    yield (
        "Accuracy on pairs with a clear depth order; *same* and *unsure* are wrong answers here. The cues: the "
        "lower bottom edge is closer, the larger box is closer."
    )
    sentences = []
    for setting, words in SETTINGS.items():
        found = {name: counter_heuristic(marks[setting, "depth"]) for name, marks in examined.marks.items()}
        sizes = {part: own.pairs for part, own in next(iter(found.values())).items()}
        rows: dict[str, list[Any]] = {name: [own[p].accuracy for p in SLICES] for name, own in found.items()}
        rows["ordered pairs"] = [Cell(f"{sizes[part]:,}") for part in SLICES]
        yield grid((f"Depth {words}", *SLICES.values()), rows)
        name, top = best({name: own["both"].accuracy for name, own in found.items()})
        sentences.append(
            f"- {words.capitalize()} the lower edge misleads in "
            f"{percent(sizes['lower_is_farther'] / sizes['all'])} of the pairs, "
            f"both cues in {percent(sizes['both'] / sizes['all'])}; there `{name}` is best with "
            f"{figure(top.value)}."
        )
    yield from sentences


def consistency_part(examined: Examined) -> Iterator[str]:
    yield "## Contradictions"
    yield (
        "Share of cases in which answers within an image contradict each other. Closer both ways: (a, b) is said "
        "closer or same, and (b, a) closer. Transitivity: a ≤ b and b ≤ c, yet a > c; strict: the same without "
        "*same*. The labels are symmetric by construction."
    )
    found = {name: consistency(of_setting(marks, "within_image")) for name, marks in examined.marks.items()}
    found["the labels"] = laws = label_consistency(examined.tables["within_image"])
    rows = {name: [own[law].share if law in own else None for law in LAWS] for name, own in found.items()}
    yield grid(("answers of", *LAWS.values()), rows, partial(shared, digits=2))
    whole = laws["transitivity_all"]
    yield (
        f"Of the labels, {laws['transitivity'].cases:,} triples are cases of transitivity, and "
        f"{laws['transitivity_strict'].cases:,} of the strict one. Of all {whole.cases:,} ordered triples whose "
        f"three pairs have a label, {percent(whole.share.value, 2)} break it."
    )


def transfer_part(examined: Examined) -> Iterator[str]:
    yield "## Transfer"
    yield (
        "Depth F1 of `object_class` by what it learned from (validation pairs) and what it was asked, paper "
        "protocol. The paper's Table 8 beside it is its MLP on detected boxes: its pattern may be compared, its "
        "level not."
    )
    rows = {}
    for plan in PLANS:
        own = f1s(examined.scores(examined.run("object_class", study_plan=plan), Protocol.PAPER))
        rows[PLANS[plan]] = [own[f"{s}/depth"] for s in SETTINGS] + [Cell(figure(f)) for f in PAPER_TRANSFER[plan]]
    yield grid(("learned from", "asked within", "asked across", "paper: within", "paper: across"), rows)


def rater_part(examined: Examined) -> Iterator[str]:
    yield "## Raters"
    yield (
        "How far the raters of the test split agree. *Rater accuracy* is Dawid and Skene's estimate; *one against "
        "the rest* is the accuracy of a single vote judged by the majority of the others, ties among them left out."
    )
    rows = {
        f"{aspect} {words}": [a.fleiss_kappa, a.krippendorff_alpha, Cell(figure(a.rater_accuracy)), a.human_ceiling]
        for setting, words in SETTINGS.items()
        for aspect, a in examined.described[setting].agreement.items()
    }
    yield grid(("", "Fleiss κ", "Krippendorff α", "rater accuracy", "one against the rest"), rows)


def label_part(examined: Examined) -> Iterator[str]:
    yield "## Labels and classes"
    yield (
        "Share of each label among the annotated pairs, and the class pair (Open Images ids of the first and the "
        "second object) in which it is most frequent, among those with at least 50 ordered pairs."
    )
    rows = {}
    for task, title in SUBTASK_TITLES.items():
        setting, aspect = task.split("/")
        shares = getattr(examined.described[setting], aspect)
        by_pair = labels_by_class_pair(examined.tables[setting], aspect)
        for column, label in enumerate(shares):
            for bar in by_pair.top(label, k=1) if label not in MIRRORED else ():
                texts = (
                    percent(shares[label]),
                    " ".join(bar.name),
                    percent(bar.shares[column]),
                    f"{bar.support:,}",
                )
                rows[f"{title}: {label.replace('_', ' ')}"] = [Cell(text) for text in texts]
    yield grid(("", "all pairs", "class pair", "share there", "ordered pairs"), rows)
    for setting, words in SETTINGS.items():
        classes, pairs = (count(examined.tables[setting], TOP) for count in (class_frequency, class_pair_frequency))
        yield (
            f"- {words.capitalize()}: {classes.distinct:,} classes, the {TOP} commonest with "
            f"{percent(classes.counts.sum() / classes.total)} of the objects; {pairs.distinct:,} class pairs, the "
            f"{TOP} commonest with {percent(pairs.counts.sum() / pairs.total)} of the pairs."
        )


def page(folder: Path) -> str:
    examined = Examined(folder)
    marked = {p: {n: examined.scores(own, p) for n, own in examined.records.items()} for p in reversed(Protocol)}
    pairs = " and ".join(f"{len(examined.tables[s]):,} {words}" for s, words in SETTINGS.items())
    head = (
        "# Blind on 2.5VRD",
        "How far one gets on the real test labels from box coordinates and class names alone. The labels come "
        "without photos, so no model that looks has taken the exam here; the paper's figures stand beside ours "
        f"where they are comparable. Annotated pairs: {pairs}, each asked in both directions. Data fingerprint "
        f"`{examined.data.fingerprint[:12]}`.",
        "```console\n$ python docs/pages/relations_results.py --write               # this page\n"
        "$ sightline exam relations --data data/2.5vrd --protocol paper # the scores alone\n```",
    )
    parts = (
        head,
        score_part(examined, marked),
        network_part(examined),
        predicate_part(marked[Protocol.PAPER]),
        difficulty_part(examined),
        heuristic_part(examined),
        consistency_part(examined),
        transfer_part(examined),
        rater_part(examined),
        label_part(examined),
    )
    text = "\n\n".join(block.strip() for part in parts for block in part) + "\n"
    return re.sub(r"(\n- .*)\n(?=\n- )", r"\1", text)  # items of one list


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace docs/results/relations.md")
    wanted = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"{DATA} is not there: set SIGHTLINE_DATA")
    with tempfile.TemporaryDirectory() as folder:
        made = page(Path(folder))
    if wanted.write:
        (ROOT / "docs" / "results" / "relations.md").write_text(made, encoding="utf-8")
    print(made)


if __name__ == "__main__":
    main()
