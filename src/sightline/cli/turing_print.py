"""A transcript in the terminal, as the paper prints one."""

from __future__ import annotations

import math
from typing import Final

from rich.table import Table
from rich.text import Text

from sightline.cli.console import number, out
from sightline.exams.turing.ask import AskedImage
from sightline.exams.turing.stream.steps import HALTED, Step
from sightline.exams.turing.transcript import DESIGNATED, Hue, hues
from sightline.exams.turing.vocabulary.english import say
from sightline.exams.turing.vocabulary.questions import Truth, region_box
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.text import counted

_ANSWERS: Final = {
    Truth.YES: ("yes", "bold green"),
    Truth.NO: ("no", "bold red"),
    Truth.AMBIGUOUS: ("amb.", "dim italic"),
    None: ("", ""),
}
"""True answer → as printed, and how."""


def print_transcript(asked: AskedImage) -> None:
    """Numbered questions, regions by place and letter, answers; how sure the engine was stands dim beside."""
    stream = asked.stream
    out.print(Text.assemble((stream.scene_id, "bold"), (f"  {asked.facts}", "dim")))
    out.print()
    out.print(_questions(stream.steps, asked.vocabulary))
    out.print()
    ambiguous = sum(not step.decided for step in stream.steps)
    rejected = f", {ambiguous} ambiguous" if ambiguous else ""
    ended = HALTED.get(stream.halted, stream.halted)
    out.print(Text(f"{counted(len(stream.history), 'question')}{rejected}; ended: {ended}", "dim"))


def question(step: Step, vocabulary: Vocabulary, hue: Hue | None) -> Text:
    """A question with its region named in its colour."""
    before, region, after = say(step.question, vocabulary).partition(DESIGNATED)
    if hue is None or not region:
        return Text(before + region + after)
    return Text.assemble(before, (hue.words, f"bold {hue.style}"), after)


def _questions(steps: tuple[Step, ...], vocabulary: Vocabulary) -> Table:
    """The questions as a table; a blank line between story lines."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(overflow="fold", max_width=88)
    for _ in range(3):
        table.add_column(justify="left", no_wrap=True)
    boxes = [region_box(step.question, vocabulary) for step in steps]
    looks, story = hues(boxes, by_colour=vocabulary.style == "paper"), None
    for step, box in zip(steps, boxes, strict=True):
        if story not in (None, step.story):
            table.add_row()
        story = step.story
        table.add_row(
            f"{step.number}.",
            Text.assemble(("Q: ", "dim"), question(step, vocabulary, None if box is None else looks[box])),
            Text.assemble(("A: ", "dim"), _ANSWERS[step.truth]),
            Text(f"p {number(None if math.isnan(step.p_yes) else step.p_yes, 2)}", "dim"),
            Text(f"of {step.support:,}", "dim"),
        )
        if step.label is not None:
            table.add_row("", Text(f"   (Label this {step.label})", "italic"))
    return table
