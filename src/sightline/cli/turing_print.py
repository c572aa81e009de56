"""A transcript in the terminal, as the paper prints one."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from sightline.cli.console import counted, number, out
from sightline.exams.turing.asking.stream_json import region_box
from sightline.exams.turing.asking.streams import Stream
from sightline.exams.turing.transcript import ANSWERS, DESIGNATED, Line, Transcript
from sightline.exams.turing.words.vocabulary import Vocabulary
from sightline.report.turing.listings import HALTED

_INK = {"yes": "bold green", "no": "bold red", "ambiguous": "dim italic"}


def transcript_of(stream: Stream, vocabulary: Vocabulary) -> Transcript:
    """A stream as people read it."""
    from sightline.exams.turing.words.english import say

    lines = []
    for step in stream.steps:
        box = region_box(step.question, vocabulary)
        lines.append(
            Line(
                number=step.number,
                kind=step.question.kind,
                text=say(step.question, vocabulary),
                region=None if box is None else (box[0], box[1], box[2], box[3]),
                p_yes=step.p_yes,
                support=step.support,
                truth=step.truth.value,
                label=None if step.label is None else str(step.label),
                object_id=step.object_id,
                story=step.story,
            )
        )
    return Transcript.of(stream.scene_id, lines, stream=stream.number, halted=stream.halted)


def print_transcript(transcript: Transcript, facts: str) -> None:
    """Numbered questions, regions by colour, answers; how sure the engine was stands dim beside."""
    out.print(Text.assemble((transcript.scene_id, "bold"), (f"  {facts}", "dim")))
    out.print()
    out.print(script(transcript))
    out.print()
    ended = HALTED.get(transcript.halted, transcript.halted)
    asked = len(transcript.lines) - transcript.ambiguous
    rejected = f", {transcript.ambiguous} ambiguous" if transcript.ambiguous else ""
    out.print(Text(f"{counted(asked, 'question')}{rejected}; ended: {ended}", "dim"))


def script(transcript: Transcript) -> Table:
    """The questions as a table; a blank line between story lines."""
    made = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    made.add_column(justify="right", style="dim", no_wrap=True)
    made.add_column(overflow="fold", max_width=88)
    for _ in range(3):
        made.add_column(justify="left", no_wrap=True)
    story = None
    for line in transcript.lines:
        if story not in (None, line.story):
            made.add_row()
        story = line.story
        made.add_row(
            f"{line.number}.",
            Text.assemble(("Q: ", "dim"), question(transcript, line)),
            Text.assemble(("A: ", "dim"), (ANSWERS[line.truth], _INK[line.truth])),
            Text(f"p {number(line.p_yes, 2)}", "dim"),
            Text(f"of {line.support:,}", "dim"),
        )
        if line.label is not None:
            made.add_row("", Text(f"   (Label this {line.label})", "italic"))
    return made


def question(transcript: Transcript, line: Line) -> Text:
    """A question with its region named in its colour."""
    hue = transcript.hue(line)
    before, found, after = line.text.partition(DESIGNATED)
    if hue is None or not found:
        return Text(line.text)
    return Text.assemble(before, (f"{hue.name} region", f"bold {hue.style}"), after)
