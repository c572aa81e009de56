"""The relations exam without truth on the report card: what the figures mean, and who agrees with whom."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.exams.base import Name
from sightline.exams.card import CardContext, value_words
from sightline.exams.relations.agreement import agreement_tables, left_out_sentences
from sightline.exams.relations.consistency import MEANING
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.scoring import RunResult
from sightline.show.page import Section


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
