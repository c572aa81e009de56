"""Our figures beside the paper's and the evaluator's, from the real labels; writes docs/verification.md.

    python benchmarks/verification.py            # print the page
    python benchmarks/verification.py --write    # and replace docs/verification.md

Needs the real 2.5VRD labels (SIGHTLINE_DATA, else ../shared/data). The paper's figures are typed in here from its
tables; those of the evaluator and of the blind rules were measured apart from this code.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sightline.exams.relations import Protocol, RelationsExam, audit, describe_dataset, score_files
from sightline.exams.relations.boxed import Window
from sightline.exams.relations.consistency import label_consistency
from sightline.store import open_dataset

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data")) / "2.5vrd"

COUNTS = {  # Table 1: images, objects, pairs
    ("within_image", "validation"): (1200, 4063, 6339),
    ("within_image", "test"): (4000, 13893, 23724),
    ("across_images", "validation"): (1200, 4063, 6868),
    ("across_images", "test"): (4000, 13893, 24461),
}
SHARES = {  # Table 1, percent
    ("within_image", "validation"): {
        "depth": {"closer": 39.9, "farther": 39.6, "same": 6.3},
        "occlusion": {"occludes": 10.3, "occluded": 10.0, "mutual": 1.9},
    },
    ("within_image", "test"): {
        "depth": {"closer": 38.7, "farther": 38.9, "same": 7.5},
        "occlusion": {"occludes": 9.3, "occluded": 9.1, "mutual": 2.1},
    },
    ("across_images", "validation"): {"depth": {"closer": 40.9, "farther": 48.0}},
    ("across_images", "test"): {"depth": {"closer": 43.8, "farther": 44.5}},
}
DIFFICULTY = {  # Table 2, percent
    "within_image": {"easy": 55.8, "moderate": 16.4, "difficult": 13.1, "infeasible": 10.5, "ambiguous": 4.3},
    "across_images": {"easy": 50.0, "moderate": 21.6, "difficult": 16.9, "infeasible": 6.7, "ambiguous": 4.8},
}
EVALUATOR = {  # precision, recall; occlusion 0…3 and all, then distance
    "whole": ([1, 1, 0.5, 0, 0.75, 1, 0, 1, 0.5, 0.75], [0.5, 0.5, 0.5, 0, 0.5, 0.5, 0, 1, 0.5, 0.5]),
    "upper half": ([0, 0, 0.5, 0, 0.5, 0, 0, 0, 0.5, 0.5], [0, 0, 1, 0, 0.5, 0, 0, 0, 0.5, 0.5]),
}
BLIND = {  # accuracy on pairs with a clear depth order, measured independently
    "bottom_edge": (0.857, 0.597),
    "area": (0.686, 0.612),
    "class_prior": (0.569, 0.744),
}
LABELS_BREAK_TRANSITIVITY = 0.5  # percent, §3.3


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    what: str
    theirs: str
    ours: str
    difference: str


def numbers(what: str, theirs: float, ours: float, digits: int = 1, unit: str = "") -> Row:
    """A row of two figures and their difference."""
    gap = round(ours, digits) - theirs
    shown = "0" if abs(gap) < 0.5 * 10**-digits else f"{gap:+,.{digits}f}"
    return Row(what, f"{theirs:,.{digits}f}{unit}", f"{ours:,.{digits}f}{unit}", shown)


def dataset_rows() -> Iterator[Row]:
    described = describe_dataset(open_dataset(DATA), resamples=100)
    for (setting, split), counts in COUNTS.items():
        found = described.splits[setting][split]
        for name, theirs in zip(("images", "objects", "pairs"), counts, strict=True):
            yield numbers(f"{setting} {split}, {name}", theirs, getattr(found, name), digits=0)
        for aspect, shares in SHARES[setting, split].items():
            for label, theirs in shares.items():
                ours = 100 * getattr(found, aspect)[label]
                yield numbers(f"{setting} {split}, {label}", theirs, ours, unit=" %")
    for setting, scales in DIFFICULTY.items():
        for scale, theirs in scales.items():
            yield numbers(f"{setting}, {scale}", theirs, 100 * described.pooled[setting][scale], unit=" %")


def evaluator_rows() -> Iterator[Row]:
    case = DATA / "evaluator_case"
    files = [case / name for name in ("objects.csv", "vrd.csv", "prediction.csv")]
    for name, expected in EVALUATOR.items():
        window = Window("vertical", (0.0, 0.5), (0.0, 0.5)) if name == "upper half" else None
        rows = score_files(*files, protocol=Protocol.OFFICIAL, window=window).rows
        for score, theirs in zip(("precision", "recall"), expected, strict=True):
            ours = [getattr(row, score).value for row in rows]
            same = "none" if ours == theirs else "differs"
            yield Row(f"{name}, {score}", _listed(theirs), _listed(ours), same)


def blind_rows() -> Iterator[Row]:
    found = audit(RelationsExam().tables(open_dataset(DATA)))
    for rule, expected in BLIND.items():
        for setting, theirs in zip(("within_image", "across_images"), expected, strict=True):
            yield numbers(f"{setting}, {rule}", theirs, found.rules[setting][rule].accuracy.value, digits=3)


def consistency_rows() -> Iterator[Row]:
    laws = label_consistency(RelationsExam().tables(open_dataset(DATA))["within_image"]).laws
    readings = {
        "transitivity": "labels that break a ≤ b ≤ c ⇒ a ≤ c",
        "transitivity_strict": "the same without *same*: a < b < c, yet a > c",
    }
    for law, what in readings.items():
        ours = 100 * laws[law].share.value
        yield numbers(f"{what} ({laws[law].cases:,} triples)", LABELS_BREAK_TRANSITIVITY, ours, unit=" %")


def _listed(values: list[float]) -> str:
    return " ".join(f"{v:g}" for v in values)


SECTIONS = (
    (
        "The dataset (Tables 1 and 2 of the paper)",
        "sightline stats data/2.5vrd",
        "The released within-image files hold a few pairs fewer than the paper prints, and the across-image "
        "objects files a few objects more.",
        dataset_rows,
    ),
    (
        "The authors' evaluator",
        "sightline score relations --protocol official …",
        "On `data/2.5vrd/evaluator_case`: `--objects objects.csv --truth vrd.csv --predictions prediction.csv`, "
        "the second time with `--window vertical=0:0.5`. Ten figures: occlusion 0–3 and all, distance 0–3 and all.",
        evaluator_rows,
    ),
    (
        "Blind rules on the test set",
        "sightline audit data/2.5vrd",
        "Accuracy on pairs with a clear depth order, ties counting one half. The class prior is the mean over five "
        "dealings of the scenes into five folds; one dealing alone can differ by half a point (`--seed`).",
        blind_rows,
    ),
    (
        "Consistency of the labels",
        "python benchmarks/verification.py",
        "Test split, labels by majority. The paper gives 0.5 % “of all cases” without naming the cases. Ours "
        "counts ordered triples that satisfy both premises, first with *same* among them, then without.",
        consistency_rows,
    ),
)

HEAD = """# Verification

Our figures beside those of the paper or of another program. *Difference* is ours minus theirs. This page is the
output of `python benchmarks/verification.py --write`, run with the real labels in `data/2.5vrd`; the last column
has the command that shows the same figure alone. Speed is on the pages under {doc}`results/index`.
"""


def page() -> str:
    parts = [HEAD]
    for title, command, told, rows in SECTIONS:
        lines = ["| | paper or peer | ours | difference | command |", "|---|--:|--:|--:|---|"]
        lines += [f"| {r.what} | {r.theirs} | {r.ours} | {r.difference} | `{command}` |" for r in rows()]
        parts += [f"## {title}", told, "\n".join(lines)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace docs/verification.md")
    wanted = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"{DATA} is not there: set SIGHTLINE_DATA")
    made = page()
    if wanted.write:
        (ROOT / "docs" / "verification.md").write_text(made, encoding="utf-8")
    print(made)


if __name__ == "__main__":
    main()
