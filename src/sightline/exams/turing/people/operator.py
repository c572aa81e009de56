"""Who tells the truth, by the word of an option: the annotation, a person, or a file of answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

from sightline.errors import ConfigError
from sightline.exams.turing.people.answers import PersonAnswers
from sightline.exams.turing.people.form import WebForm
from sightline.exams.turing.people.session import TruthSession, frame_for_person
from sightline.exams.turing.people.terminal import Read, ask_in_terminal, keeping, print_line, read_line
from sightline.exams.turing.stream.engine import Engine
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.scenes import Scene

TRUTH: Final = "truth"
ANSWERS: Final = Path("turing-answers.jsonl")
"""Where a person's answers about many images are kept unless another file is named."""

_PEOPLE: Final = {"terminal": "terminal", "person": "terminal", "web": "web"}


@dataclass(frozen=True)
class OperatorChoice:
    """What ``--operator`` asks for.

    Attributes:
        kind: ``truth``, ``terminal``, ``web`` or ``file``.
        file: The file of answers.
    """

    kind: Literal["truth", "terminal", "web", "file"]
    file: Path | None = None

    @property
    def is_person(self) -> bool:
        """Whether somebody has to be there."""
        return self.kind in ("terminal", "web")


def operator_choice(text: str | Path) -> OperatorChoice:
    """Read ``truth``, ``terminal`` (or ``person``), ``web``, ``file:F``, or the path of a file alone.

    >>> operator_choice("file:a.jsonl").file
    PosixPath('a.jsonl')
    """
    word = str(text)
    if word == TRUTH:
        return OperatorChoice("truth")
    if word in _PEOPLE:
        return OperatorChoice("web" if _PEOPLE[word] == "web" else "terminal")
    named = word.removeprefix("file:")
    if not named or (named == word and "." not in named and not Path(named).exists()):
        raise ConfigError(f"--operator is truth, terminal, web or file:FILE, not {word!r}")
    return OperatorChoice("file", Path(named))


@dataclass(frozen=True)
class PersonOperator:
    """A person who answers whole streams, in the terminal or in a browser; every answer is kept at once.

    Attributes:
        kind: ``terminal`` or ``web``.
        answers: The file of answers; the picture for the terminal lies beside it.
        view: Which view is shown; by default the first.
        read: Asks for a line in the terminal.
    """

    kind: Literal["terminal", "web"]
    answers: Path
    view: str | None = None
    read: Read = field(default=read_line, repr=False)

    def __call__(self, engine: Engine, scene: Scene, vocabulary: Vocabulary) -> Stream:
        """Ask about one image; a PictureError where it cannot be shown."""
        kept = PersonAnswers(self.answers, scene.id, vocabulary, engine.seed, engine.number)
        session = TruthSession(engine, vocabulary, kept, frame_for_person(scene, self.view))
        with keeping(self.answers):
            if self.kind == "web":
                return self._form.ask(session)
            return ask_in_terminal(session, self.answers.with_suffix(".png"), self.read)

    @cached_property
    def _form(self) -> WebForm:
        return WebForm(lambda url: print_line(f"open in a browser on this machine: {url}"))
