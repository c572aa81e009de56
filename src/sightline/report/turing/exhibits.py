"""One stream on show: the picture with what was found on it, and every question with its answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from sightline.report.turing.picture import region_map, stage_svg
from sightline.report.turing.stage import Stage
from sightline.report.turing.transcript import ANSWERS, DESIGNATED, Line, Transcript

MARKS: Final[dict[str, tuple[str, str]]] = {
    "wrong": ("✗", "answered wrong"),
    "silent": ("–", "no answer: abstained, not understood or late"),
    "right": ("✓", "answered right"),
    "ambiguous": ("~", "ambiguous: rejected, never asked"),
}
"""Outcome of a question → its mark and what it means, mistakes first."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A question as the page shows it.

    Attributes:
        line: The question and its answers.
        before: Its words up to the region's name; `after` those behind. All of them are in `before` without a name.
        region: The region's name: ``blue region``; empty for none.
        css: The region's colour.
        map: A thumbnail of where the region lies, as SVG markup; empty for none.
        opens: Whether a story line begins here.
    """

    line: Line
    before: str
    after: str = ""
    region: str = ""
    css: str = ""
    map: str = field(default="", repr=False)
    opens: bool = False

    @property
    def answer(self) -> str:
        """The true answer as printed."""
        return ANSWERS[self.line.truth]

    @property
    def outcome(self) -> str:
        """What became of it: a key of `MARKS`, or empty where no model was asked."""
        if not self.line.decided:
            return "ambiguous"
        if self.line.right is None:
            return ""
        if self.line.reply not in ("yes", "no"):
            return "silent"
        return "right" if self.line.right else "wrong"


@dataclass(frozen=True, slots=True)
class StreamExhibit:
    """All there is to show of one stream and one model's answers."""

    transcript: Transcript
    questions: tuple[Shown, ...]
    svg: str = field(repr=False)

    @property
    def wrong(self) -> int:
        """Answers that are not right, missing ones included."""
        return self.transcript.asked - self.transcript.right

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; pictures are left out."""
        return self.transcript.to_dict()


def stream_exhibit(stage: Stage, transcript: Transcript) -> StreamExhibit:
    """Draw a stream's picture and word its questions."""
    return StreamExhibit(transcript, tuple(_questions(stage, transcript)), stage_svg(stage, transcript))


def _questions(stage: Stage, transcript: Transcript) -> Iterator[Shown]:
    story = None
    for line in transcript.lines:
        opens, story = line.story != story, line.story
        hue = transcript.hue(line)
        before, found, after = line.text.partition(DESIGNATED)
        if hue is None or line.region is None:
            yield Shown(line, line.text, opens=opens)
            continue
        drawn = region_map(line.region, hue, stage.reach)
        name = f"{hue.name} region" if found else ""
        yield Shown(line, before, after, name, hue.css, drawn, opens)
