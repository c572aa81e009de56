"""A person at the terminal: reads the questions there, looks at a picture file that is drawn anew for each."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from PIL import Image

from sightline.errors import ConfigError
from sightline.exams.turing.drawing import question_picture, save_picture
from sightline.exams.turing.people.session import KEYS, Mark, TruthSession
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.vocabulary.questions import Truth
from sightline.text import counted, printable

Read = Callable[[str], str]
"""Asks for a line of text; EOFError where there is none."""

PROMPT: Final = "[y]es / [n]o / [a]mbiguous / [u]ndo / [q]uit: "


def read_line(prompt: str) -> str:
    """Read a line from the terminal, so that Ctrl-C ends the waiting at once.

    Polars installs a handler of SIGINT that has system calls start again after it (SA_RESTART): without the first
    line Python would see the interruption only once Enter is pressed.
    """
    signal.siginterrupt(signal.SIGINT, True)
    print_line(prompt, end="")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


@contextmanager
def keeping(file: Path) -> Iterator[None]:
    """Around questions to a person: whoever stops or presses Ctrl-C is told where his answers are."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if not stop.args:
            sentence = f"what was answered is kept in {file}; the same command goes on there"
            if not file.exists():
                sentence = "nothing was answered yet; the same command starts anew"
            print_line(f"\ninterrupted: {sentence}")
            raise KeyboardInterrupt(sentence) from None
        raise


def print_line(text: str, *, end: str = "\n") -> None:
    """Print to standard error: standard output belongs to the command's result."""
    sys.stderr.write(printable(text) + end)
    sys.stderr.flush()


def ask_in_terminal(session: TruthSession, picture: Path, read: Read = read_line) -> Stream:
    """Put the questions of a session to a person at the terminal, until nothing is left to ask or he quits.

    Args:
        session: The stream.
        picture: The PNG that is drawn anew for every question.
        read: Asks for a line.
    """
    resumed = session.resume()
    if resumed:
        print_line(f"{counted(resumed, 'answer')} of an earlier session taken from {session.answers.path}")
    print_line(f"{session.engine.scene_id}: the picture, drawn anew for every question: {picture}")
    while (shown := session.shown()) is not None:
        line, hue, labelled = shown
        drawn = question_picture(session.frame, line.region, hue, labelled)
        save_picture(drawn, picture)
        print_line(f"{line.number:>3}. {session.transcript().said(line)}")
        for note in session.reminders():
            print_line(f"     {note}")
        key = _key(read)
        if key == "q":
            session.stop()
        elif key == "u":
            if session.undo() is None:
                print_line("nothing to take back")
        else:
            _answer(session, KEYS[key], drawn, read)
    return session.engine.stream()


def settle_in_terminal(a: Mapping[str, Any], b: Mapping[str, Any], read: Read = read_line) -> str:
    """Ask which of two lines of answers is right; KeyboardInterrupt where the person quits."""
    print_line(f"{a['scene_id']}: {a.get('text') or a['question']}")
    print_line(f"     the first said {a['answer']}, the second {b['answer']}")
    key = _key(read, "[y]es / [n]o / [a]mbiguous / [q]uit: ", "ynaq")
    if key == "q":
        raise KeyboardInterrupt
    return KEYS[key].value


def _key(read: Read, prompt: str = PROMPT, keys: str = "ynauq") -> str:
    """The first letter of what was typed, once it is one of `keys`; quits where nothing more can be typed."""
    while True:
        try:
            word = read(prompt).strip().casefold()
        except EOFError:
            return "q"
        if word and word[0] in keys:
            return word[0]
        print_line(f"please type one of {', '.join(keys)}")


def _answer(session: TruthSession, truth: Truth, drawn: Image.Image, read: Read) -> None:
    mark = _mark(session, drawn, read) if session.marks(truth) else None
    step = session.answer(truth, mark)
    if step.label is not None:
        print_line(f"     (Label this {step.label})")
    for reason in session.conflicts:
        print_line(f"     this contradicts what you said before: {reason}")
    if session.conflicts and _key(read, "[u]ndo, or [k]eep it: ", "uk") == "u":
        session.undo()


def _mark(session: TruthSession, drawn: Image.Image, read: Read) -> Mark | None:
    """Where the object is that is about to be labelled; None where the person does not say."""
    question = session.question
    assert question is not None
    what = "a point on it (x y) or a box around it (x0 y0 x1 y1)"
    what = what if session.by_click else "a box around it: x0 y0 x1 y1"
    asked = f"     where is it? {what}, in pixels of that {drawn.width} × {drawn.height} picture; Enter to skip: "
    while True:
        try:
            given = read(asked).replace(",", " ").split()
        except EOFError:
            return None
        if not given:
            return None
        try:
            mark = pixel_mark(_numbers(given), drawn.size)
            session.locate(question.question, mark)  # refused here, while it can be typed again
            return mark
        except (ValueError, ConfigError) as error:
            print_line(f"     {error}")


def _numbers(words: list[str]) -> list[float]:
    try:
        return [float(word) for word in words]
    except ValueError:
        raise ValueError("two or four numbers, please") from None


def pixel_mark(numbers: list[float], size: tuple[int, int]) -> Mark:
    """A mark given by two or four pixel coordinates of a picture; ValueError where it is none.

    >>> pixel_mark([50, 20], (100, 80))
    Mark(point=(0.5, 0.25), box=None)
    """
    if len(numbers) not in (2, 4):
        raise ValueError("two or four numbers, please")
    fractions = [v / size[k % 2] for k, v in enumerate(numbers)]
    if not all(0 <= v <= 1 for v in fractions):
        raise ValueError("outside the picture")
    if len(numbers) == 2:
        return Mark(point=(fractions[0], fractions[1]))
    x0, y0, x1, y1 = fractions
    if not (x0 < x1 and y0 < y1):
        raise ValueError("the first corner is the upper left one, the second the lower right one")
    return Mark(box=(x0, y0, x1, y1))
