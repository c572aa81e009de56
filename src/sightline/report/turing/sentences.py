"""What the figures of the Turing card say, in words: computed from the card, never canned."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from sightline.exams.turing.exam import TuringExam
from sightline.exams.turing.monitor import GUESSED
from sightline.exams.turing.vocabulary.files import vocabularies
from sightline.exams.turing.vocabulary.from_data import FROM_DATA
from sightline.report import headlines
from sightline.report.turing.listings import TYPES
from sightline.show.table import known, percent

if TYPE_CHECKING:
    from sightline.report.turing.cards import Sitting, TuringCard

_SETTINGS: Final = (
    "split",
    "train_split",
    "halves",
    "streams",
    "questions",
    "seed",
    "deadline",
    "closed",
    "min_support",
    "epsilon",
    "smoothing",
    "view",
)
"""Options of the exam that the command line has by the same name."""


def headline(card: TuringCard) -> list[str]:
    """What the scores mean, in a few sentences."""
    return headlines.headline(card.scored, _reached, _weakest)


def verdict(card: TuringCard) -> str:
    """Whether the answers could have been guessed."""
    if not card.monitor.yes_by_step:
        return "No question was asked, so there is nothing to watch."
    if card.monitor.leaky:
        return "The stream leaks: " + "; ".join(card.monitor.reasons) + "."
    return (
        "Nothing speaks for the answers being predictable: of no question type and in no stretch of steps does the "
        f"share of yes lie wholly outside the band, and no blind baseline is clearly above {percent(GUESSED, 0)}."
    )


def intervals_paragraph(card: TuringCard) -> str:
    """How the intervals were made."""
    return (
        "All intervals are 95 %. The independent unit is the image: questions about one image, of all its streams, "
        "stand or fall together. From 200 images on, percentile bootstrap with "
        f"{card.resamples:,} resamples (seed {card.seed}); below that, or close to 0 and 1, a closed formula. "
        "Every question counts the same. An abstention, a reply nobody can read and a late one are not right. "
        "Ambiguous questions are never asked and never count."
    )


def options_table(card: TuringCard) -> list[tuple[str, str]]:
    """How the streams were made: the exam's options, in words."""
    return [(name.replace("_", " "), _plain(value)) for name, value in card.options.items() if value is not None]


def commands(card: TuringCard) -> list[str]:
    """Command lines that make these runs and this report again; capitals stand for files known to you alone."""
    words = ["sightline exam turing", *(_written(card) if "test" in card.options else _online(card))]
    words += [f"--model {shlex.quote(spec)}" for spec in dict.fromkeys(s.spec for s in card.sittings)]
    report = ["sightline report runs --exam turing --data", shlex.quote(card.data)]
    report += [f"--scene {shlex.quote(name)}" for name in dict.fromkeys(s.transcript.scene_id for s in card.named)]
    return [" ".join([*words, "--out runs"]), " ".join([*report, "--out report.html"])]


def _written(card: TuringCard) -> list[str]:
    return [f"--test {shlex.quote(card.data)} --key KEY"]


def _online(card: TuringCard) -> list[str]:
    """What the exam was told, but for its defaults."""
    told = {**card.options, "split": card.split or None}
    elsewhere = told.get("train_fingerprint") != card.fingerprint
    words = [f"--data {shlex.quote(card.data)}", *(["--train TRAIN"] if elsewhere else [])]
    if told.get("vocabulary") not in (*vocabularies(), FROM_DATA, None):
        words.append("--vocabulary VOCABULARY.yaml")
    usual = {field.name: field.default for field in fields(TuringExam)}
    for name in _SETTINGS:
        value = told.get(name, usual[name])
        if value != usual[name]:
            flag = f"--{name.replace('_', '-')}"
            words.append(flag if value is True else f"{flag} {shlex.quote(str(value))}")
    given_up = [f"-{name}" for name, made in (told.get("assumptions") or {}).items() if not made]
    return [*words, *([f"--assume={','.join(given_up)}"] if given_up else [])]


def _plain(value: Any) -> str:
    """An option's value in words; of switches those that are on, or off, whichever are fewer."""
    if isinstance(value, dict):
        off = [name.replace("_", " ") for name, on in value.items() if on is False]
        if off and all(isinstance(on, bool) for on in value.values()):
            return f"all but {', '.join(off)}" if len(off) < len(value) else "none"
        if value and all(on is True for on in value.values()):
            return "all: " + ", ".join(name.replace("_", " ") for name in value)
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _reached(sitting: Sitting) -> str:
    return f"answers {headlines.share(sitting.accuracy())} of the questions as is true"


def _weakest(sitting: Sitting) -> list[str]:
    """The question type with the lowest accuracy."""
    values = {k: v.value for k in TYPES if k != "all" and (v := sitting.accuracy(k)) is not None and known(v)}
    if len(values) < 2:
        return []
    low, high = min(values, key=lambda k: values[k]), max(values, key=lambda k: values[k])
    return [
        f"{sitting.label} is weakest in {TYPES[low]} questions ({percent(values[low])}) and best in {TYPES[high]} "
        f"questions ({percent(values[high])})."
    ]
