"""The relations exam without truth on the report card: what the figures mean, and who agrees with whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.exams.base import Name
from sightline.exams.card import KINDS, WORST_OF_OTHERS, CardContext, value_words
from sightline.exams.relations.agreement import agreement_tables, left_out_sentences
from sightline.exams.relations.consistency import MEANING, ORIGINAL
from sightline.exams.relations.drawing import HELD_BACK, image_of, pair_drawing, spoken
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.relations.measures import SUBTASK_TITLES
from sightline.exams.scoring import RunResult
from sightline.scenes import REVERSE
from sightline.scenes import words as labels
from sightline.show.markup import part_style, render_part
from sightline.show.page import Example, Section
from sightline.store import Dataset
from sightline.text import counted

_PACKAGE: Final = "sightline.exams.relations"
_PAIR: Final = ("cluster_id", "setting", "aspect", "scene_id", "other_scene", "subject", "object")
_TURNED: Final = {
    word: labels(aspect)[REVERSE[code]]
    for aspect in ("depth", "occlusion")
    for code, word in enumerate(labels(aspect))
}
"""Label of (b, a) → the same said of (a, b)."""


def words(name: Name) -> str:
    """A figure, said to be no correctness where it stands for the exam."""
    return f"consistency, not correctness: {name.label}" if name.headline else name.label


def reached(result: RunResult) -> str:
    """How many answers fit their reverse."""
    assert result.scores.headline is not None
    name, value = result.scores.headline
    return f"gives the reverse answer to the reversed pair in {value_words(value, name)} of cases"


def details(card: CardContext, result: RunResult) -> Iterator[str]:  # noqa: ARG001 - a hook
    """That this is no correctness."""
    yield "That says how consistent they are, not how often they are right: there is no truth here."


def card_facts(card: CardContext) -> Iterator[tuple[str, str]]:
    """How much was asked, and how the sample was drawn."""
    exam, items = card.exam, card.focus.records.items
    assert isinstance(exam, RelationsExam)
    for setting, unit in (("within_image", "images"), ("across_images", "image pairs")):
        if asked := items.filter(items["setting"] == setting)["cluster_id"].n_unique():
            yield unit, f"{asked:,}"
    yield "objects of an image", f"at most {exam.objects} (seed {exam.seed})"
    yield "truth", "none: consistency, not correctness"


def cautions(card: CardContext) -> Iterator[str]:
    """What these figures are not, and what could not be asked."""
    yield MEANING
    yield from left_out_sentences(card.results)


def sections(card: CardContext) -> Iterator[Section]:
    """How the figures above are counted; who says the same as whom."""
    laws = (
        "Contradictions are shares of the cases that a law speaks of. Both directions of every pair are asked "
        "apart. Closer both ways: (a, b) said closer or same, yet (b, a) closer. Transitivity: a ≤ b and b ≤ c, "
        "yet a > c, of the triples with both premises; strict: without same; of all triples: over all ordered "
        "triples that were answered. Within one image against across two: two objects of one image and one of "
        "another.",
        "The same answer when the picture is changed: mirrored, compressed as a JPEG of quality 50, moved by up to "
        "2 % of its size; boxes follow. An order in depth does not change with any of them. A rule on boxes alone "
        "cannot tell a compressed picture from the original; that it stays the same says nothing of its sight.",
        "Agreement: a model that agrees with a blind rule may do what the rule does. Two models that agree may be "
        "right or make the same mistake.",
    )
    found = card.shared["consistency"]["agreement"]
    yield Section("agreement", "Who says the same", laws, tuple(agreement_tables(found)))


@dataclass(frozen=True)
class Contradiction:
    """One pair whose two directions were answered differently, and how many others of its images were.

    Attributes:
        svg: The drawing, as SVG markup.
        facts: Cluster, classes and both answers, as JSON values.
        note: How many answers contradict each other there.
    """

    svg: str
    facts: dict[str, Any]
    note: str
    beside: None = None


def contradictions(rows: pl.DataFrame) -> pl.DataFrame:
    """Ordered pairs whose reverse got another answer than the reverse one, of the pictures as they are.

    Columns of the records, ``back`` (what was said of (b, a), turned round), and of the image or image pair how
    many ordered pairs contradict their reverse, ``against``, of how many answered both ways, ``cases``.
    """
    sure = rows.filter(pl.col("variant") == ORIGINAL, pl.col("answer").is_not_null(), pl.col("answer") != "unsure")
    turned = sure.select(
        "cluster_id",
        "setting",
        "aspect",
        scene_id="other_scene",
        other_scene="scene_id",
        subject="object",
        object="subject",
        back=pl.col("answer").replace_strict(_TURNED),
    )
    both = sure.join(turned, on=_PAIR, how="inner", maintain_order="left")
    wrong = pl.col("answer") != pl.col("back")
    whole = ["cluster_id", "setting", "aspect"]
    told = both.with_columns(against=wrong.sum().over(whole), cases=pl.len().over(whole))
    return told.filter(wrong)


def examples(card: CardContext, result: RunResult) -> Iterator[Example]:
    """The images where answers contradict each other most, sub-task by sub-task, each with one such pair."""
    if not result.records.rows.height:
        return
    each = 4 if card.options.examples is None else card.options.examples
    each = each if result is card.focus else min(each, WORST_OF_OTHERS)
    found, kind = contradictions(result.records.rows), "worst"
    if card.options.scenes:
        found, kind, each = found.filter(pl.col("scene_id").is_in(card.options.scenes)), "chosen", found.height
    share = pl.col("against") / (pl.col("cases") + HELD_BACK)
    ranked = found.sort(share, "cluster_id", descending=[True, False], maintain_order=True)
    for task, title in SUBTASK_TITLES.items():
        setting, aspect = task.split("/")
        own = ranked.filter(pl.col("setting") == setting, pl.col("aspect") == aspect)
        for row in own.unique("cluster_id", keep="first", maintain_order=True).head(each).iter_rows(named=True):
            shown = _drawn(card.exam, card.data, row)
            html = render_part(_PACKAGE, "example.html.j2", example=shown)
            heading = f"{title}: {row['cluster_id']}"
            facts = {"subtask": task, **shown.facts}
            yield Example("relations", result.name, kind, row["cluster_id"], heading, html, shown.note, facts)  # type: ignore[arg-type]


def _drawn(exam: Any, data: Dataset, row: dict[str, Any]) -> Contradiction:
    table = exam.tables(data)[row["setting"]]
    scenes = [int(np.flatnonzero(table.scenes == row[name])[0]) for name in ("scene_id", "other_scene")]
    there = [np.flatnonzero(table.object_scene == scene) for scene in dict.fromkeys(scenes)]
    images = [image_of(table, s, objects, data) for s, objects in zip(dict.fromkeys(scenes), there, strict=True)]
    pair = tuple(
        int(np.flatnonzero(table.object_ids[objects] == row[end])[0])
        for objects, end in ((there[0], "subject"), (there[-1], "object"))
    )
    said, back = spoken(row["answer"]), spoken(row["back"])
    names = ("asked of (A, B)", "asked of (B, A)")
    svg = pair_drawing(*images, pair=pair, truth=said, answer=back, names=names)  # type: ignore[arg-type]
    classes = [image.objects[i].category for image, i in zip((images[0], images[-1]), pair, strict=True)]
    facts = {"cluster": row["cluster_id"], "classes": classes, "answer": row["answer"], "back": row["back"]}
    note = f"{row['against']:,} of {counted(row['cases'], 'answer')} here do not fit their reverse."
    return Contradiction(svg, facts, note)


def examples_page(card: CardContext) -> dict[str, Any]:  # noqa: ARG001 - a hook
    """What the page says of the images on show."""
    lead = (
        "Where a model contradicts itself most: ordered pairs whose reverse did not get the reverse answer, as a "
        "share of those answered both ways, images with few held back. Either answer may be the right one."
    )
    kinds = {**KINDS, "worst": "The largest share first, sub-task by sub-task."}
    return {"examples_lead": (lead,), "kinds": kinds, "style": part_style(_PACKAGE, "example.css")}
