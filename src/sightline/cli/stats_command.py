"""``sightline stats``: what is in this dataset?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sightline.cli.console import DataPath, Json, number, out, print_json, table

if TYPE_CHECKING:
    from sightline.exams.relations import Description


def command(data: DataPath, json: Json = False) -> None:
    """Count images, objects, pairs and labels (Table 1), difficulty (Table 2) and the raters' agreement."""
    from sightline.exams.relations import describe_dataset
    from sightline.store import open_dataset

    description = describe_dataset(open_dataset(data))
    if json:
        print_json(description.to_dict())
        return
    print_overview(description)
    print_difficulty(description)
    print_agreement(description)
    print_transitivity(description)


def print_overview(description: Description) -> None:
    """The paper's Table 1: one column a split."""
    for setting, splits in description.splits.items():
        printed = table(f"{setting}: what was labelled", "", *splits)
        for count in ("images", "objects", "pairs"):
            printed.add_row(count, *(f"{getattr(s, count):,}" for s in splits.values()))
        for aspect in ("depth", "occlusion"):
            for label in next(iter(getattr(s, aspect) for s in splits.values())):
                name = f"{aspect}: {label.replace('_', ' ')}"
                printed.add_row(name, *(_percent(getattr(s, aspect), label) for s in splits.values()))
        out.print(printed)
        out.print()


def print_difficulty(description: Description) -> None:
    """The paper's Table 2: validation and test together; other splits apart."""
    rows = [(f"{s} validation+test", shares) for s, shares in description.pooled.items()]
    rows += [
        (f"{setting} {split}", described.difficulty)
        for setting, splits in description.splits.items()
        for split, described in splits.items()
    ]
    printed = table("difficulty: how far the raters agreed on depth", "", *rows[0][1])
    for name, shares in rows:
        printed.add_row(name, *(_percent(shares, scale) for scale in shares))
    out.print(printed)
    out.print()


def print_agreement(description: Description) -> None:
    """Chance-corrected agreement and the score of one rater against the others."""
    if not any(described.agreement for splits in description.splits.values() for described in splits.values()):
        return
    heads = ("Fleiss κ", "Krippendorff α", "rater accuracy", "human ceiling")
    printed = table("agreement, 95 % interval by scene", "", *heads)
    for setting, splits in description.splits.items():
        for split, described in splits.items():
            for aspect, a in described.agreement.items():
                cells = (
                    str(a.fleiss_kappa),
                    str(a.krippendorff_alpha),
                    number(a.rater_accuracy),
                    str(a.human_ceiling),
                )
                printed.add_row(f"{setting} {split} {aspect}", *cells)
    out.print(printed)


def print_transitivity(description: Description) -> None:
    """How often the depth labels of three objects contradict each other, by each denominator."""
    rows = [
        (f"{setting} {split}", described.transitivity)
        for setting, splits in description.splits.items()
        for split, described in splits.items()
        if described.transitivity
    ]
    if not rows:
        return
    heads = ("of a ≤ b, b ≤ c", "of a < b, b < c", "of all labelled triples")
    out.print()
    printed = table("labels with a > c although a ≤ b ≤ c, in per cent, 95 % interval by scene", "", *heads)
    for name, laws in rows:
        shares = (law.share for law in laws.values())
        cells = (f"{100 * s.value:.2f} [{100 * s.low:.2f}, {100 * s.high:.2f}]" for s in shares)
        printed.add_row(name, *cells)
    out.print(printed)


def _percent(shares: Mapping[str, float], label: str) -> str:
    return f"{100 * shares[label]:.1f} %" if label in shares and not math.isnan(shares[label]) else "–"
