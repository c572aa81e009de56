"""``sightline stats``: what is in this dataset?"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.console import AllowOutside, DataPath, Json, err, number, out, print_json, table
from sightline.errors import ConfigError

if TYPE_CHECKING:
    from sightline.exams.relations import Description
    from sightline.show.page import ExamPart, FigureRow
    from sightline.show.table import Table
    from sightline.store import Dataset
    from sightline.store.contents import Contents
    from sightline.store.viewpoint_contents import ViewpointContents


def command(
    data: DataPath,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="A page with charts (.html); .json and .md of the same are written beside it."),
    ] = None,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Count images, categories, boxes, relations, viewpoints…; of rated pairs also the raters' agreement."""
    from sightline.exams.relations import describe_dataset, has_pairs
    from sightline.show.contents_page import contents_page, overview, sections
    from sightline.show.viewpoint_charts import viewpoint_tables
    from sightline.store import open_dataset
    from sightline.store.contents import contents_of
    from sightline.store.viewpoint_contents import viewpoint_contents

    if to is not None and to.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"the page is a .html file, not {to.name!r}")
    opened = open_dataset(data, allow_outside=allow_outside)
    with opened.faults_told():
        contents = contents_of(opened)
        rated = has_pairs(opened)
        sized = contents.box_shares is not None
        if rated and not sized:
            err.print("note: the labels of pairs are not described, since the sizes of the images are unknown")
        description = describe_dataset(opened) if rated and sized else None
        splits = _by_split(opened, contents)
        viewed = viewpoint_contents(opened.memo("contents", opened.tables)) if contents.viewpoints else None
    written: list[str] = []
    if to is not None:
        made = datetime.now(UTC).isoformat(timespec="seconds")
        parts = [] if description is None else [_labels(opened)]
        parts += [] if viewed is None else [_viewpoints(viewed)]
        facts = [("data", str(data)), ("fingerprint", opened.fingerprint[:12])]
        again = shlex.join(["sightline", "stats", str(data), "--out", str(to)])
        title = opened.source or opened.path.name
        page = contents_page(contents, splits, title, made, facts, again, parts)
        written = [str(file) for file in page.write(to)]
    if json:
        more = {} if viewed is None else {"viewpoints": viewed.to_dict()}
        print_json(_document(opened, contents, description) | more | ({"written": written} if written else {}))
        return
    out.print(str(overview(contents, splits)))
    for section in sections(contents):
        for one in section.tables:
            out.print()
            out.print(str(one))
    for one in () if viewed is None else viewpoint_tables(viewed):
        out.print()
        out.print(str(one))
    if description is not None:
        out.print()
        print_overview(description)
        print_difficulty(description)
        print_agreement(description)
        print_transitivity(description)
    if written:
        out.print(f"\nwrote {', '.join(written)}")


def _by_split(data: Dataset, contents: Contents) -> dict[str, Contents]:
    """Contents of each split; empty where there is only one."""
    import polars as pl

    from sightline.store.contents import contents_of

    if len(contents.splits) < 2:
        return {}
    views = data.scan("views").select("scene_id", "split").unique().collect()
    return {
        split: contents_of(data, views.filter(pl.col("split") == split)["scene_id"].to_list())
        for split in contents.splits
    }


def _viewpoints(viewed: ViewpointContents) -> ExamPart:
    """Objects with viewpoints as a part of the page."""
    from sightline.show.page import ExamPart, Section
    from sightline.show.viewpoint_charts import viewpoint_figures, viewpoint_tables

    content: list[Table | FigureRow] = [*viewpoint_tables(viewed), *viewpoint_figures(viewed)]
    shown = Section("views", "Viewpoints", content=tuple(content))
    return ExamPart("viewpoints", "Viewpoints", sections=(shown,), document=viewed.to_dict())


def _labels(data: Dataset) -> ExamPart:
    """Labels of pairs as the report card of the relations exam shows them."""
    from sightline.exams.relations import default_split
    from sightline.exams.relations.data_card import data_content, data_facts
    from sightline.exams.relations.protocols import Protocol
    from sightline.show.page import ExamPart, Section

    facts = data_facts(data, default_split(data), Protocol.DEFAULT, resamples=1000, seed=0)
    return ExamPart(
        "labels",
        "Depth and occlusion labels",
        sections=(Section("labels", "Labels", content=tuple(data_content(facts))),),
    )


def _document(data: Dataset, contents: Contents, description: Description | None) -> dict[str, Any]:
    """Statistics of labels by setting and split, with the contents of each; without labels the contents alone."""
    from sightline.exams.relations.pairs import tables_by_split
    from sightline.store.contents import contents_of

    if description is None:
        return {"contents": contents.to_dict()}
    document = description.to_dict()
    for (setting, split), pairs in tables_by_split(data).items():
        document[setting][split]["contents"] = contents_of(data, pairs.scenes.tolist()).to_dict()
    return document


def print_overview(description: Description) -> None:
    """The paper's Table 1: one column a split."""
    for setting, splits in description.splits.items():
        heads = [split or "all" for split in splits]
        printed = table(f"{setting}: what was labelled", "", *heads)
        voted = any(votes for s in splits.values() for votes in s.votes_per_pair)
        for count in ("images", "objects", "pairs"):
            printed.add_row(count, *(f"{getattr(s, count):,}" for s in splits.values()))
        if any(s.image_pairs for s in splits.values()):
            printed.add_row("pairs of images", *(f"{s.image_pairs:,}" for s in splits.values()))
        for aspect in ("depth", "occlusion"):
            for label in dict.fromkeys(label for s in splits.values() for label in getattr(s, aspect)):
                if label == "no_majority" and not voted:
                    continue
                name = f"{aspect}: {label.replace('_', ' ')}"
                printed.add_row(name, *(_percent(getattr(s, aspect), label) for s in splits.values()))
        out.print(printed)
        out.print()


def print_difficulty(description: Description) -> None:
    """The paper's Table 2: validation and test together; other splits apart. Nothing where nobody voted."""
    rows = [(f"{s} validation+test", shares) for s, shares in description.pooled.items()]
    rows += [
        (f"{setting} {split}".strip(), described.difficulty)
        for setting, splits in description.splits.items()
        for split, described in splits.items()
    ]
    rows = [(name, shares) for name, shares in rows if not all(map(math.isnan, shares.values()))]
    if not rows:
        return
    printed = table("difficulty: how far the raters agreed on depth", "", *rows[0][1])
    for name, shares in rows:
        printed.add_row(name, *(_percent(shares, scale) for scale in shares))
    out.print(printed)
    out.print()


def print_agreement(description: Description) -> None:
    """Chance-corrected agreement and the score of one rater against the others; nothing where nobody voted."""
    rows = [
        (f"{setting} {split} {aspect}", a)
        for setting, splits in description.splits.items()
        for split, described in splits.items()
        for aspect, a in described.agreement.items()
    ]
    if not rows:
        return
    heads = ("Fleiss κ", "Krippendorff α", "rater accuracy", "human ceiling")
    printed = table("agreement, 95 % interval by scene", "", *heads)
    for name, a in rows:
        cells = (str(a.fleiss_kappa), str(a.krippendorff_alpha), number(a.rater_accuracy), str(a.human_ceiling))
        printed.add_row(name, *cells)
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
