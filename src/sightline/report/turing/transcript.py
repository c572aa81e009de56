"""A stream as people read it: numbered questions with coloured regions, answers, labels given on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sightline.exams.turing.hues import Box, Hue, hues

DESIGNATED: Final = "designated region"
"""What a question calls its region; a transcript puts the colour in the place of the first word."""

ANSWERS: Final = {"yes": "yes", "no": "no", "ambiguous": "amb."}
"""True answer → as printed."""


@dataclass(frozen=True, slots=True)
class Line:
    """One question of a stream, and what became of it.

    Attributes:
        number: From 1, ambiguous ones counted.
        kind: ``exist``, ``unique``, ``attribute`` or ``relation``.
        text: In English, the region called *designated*.
        region: Fractions of the image; None for the whole image, or where there is none.
        p_yes: Chance of a yes as estimated before asking; None where unknown. `support` behind it likewise.
        truth: ``yes``, ``no`` or ``ambiguous``.
        label: What a positive uniqueness question labelled: ``person 1``.
        object_id: Which object of the scene that is, where anybody knows.
        story: Number of its story line, from 1.
        reply: A model's answer: ``yes``, ``no``, ``abstain``, ``unparsed`` or ``late``; None where not asked.
    """

    number: int
    kind: str
    text: str
    region: Box | None
    p_yes: float | None
    support: int | None
    truth: str
    label: str | None = None
    object_id: str | None = None
    story: int = 1
    reply: str | None = None

    @property
    def decided(self) -> bool:
        """Whether it has a true answer; the others were never asked."""
        return self.truth != "ambiguous"

    @property
    def right(self) -> bool | None:
        """Whether the model's answer is the true one; None where it was not asked."""
        return None if self.reply is None or not self.decided else self.reply == self.truth

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"right": self.right}


@dataclass(frozen=True, slots=True)
class Transcript:
    """One stream.

    Attributes:
        scene_id: The image.
        stream: Which stream of that image, from 0.
        lines: Questions in order.
        halted: Why it ended: ``exhausted``, ``limit``, ``operator``, or empty where nobody knows.
        hues: The look of every region but the whole image, in the order met.
    """

    scene_id: str
    stream: int
    lines: tuple[Line, ...]
    halted: str
    hues: Mapping[Box, Hue]

    @classmethod
    def of(cls, scene_id: str, lines: Sequence[Line], *, stream: int = 0, halted: str = "") -> Transcript:
        """The transcript of these lines; colours are given in the order the regions are met."""
        return cls(scene_id, stream, tuple(lines), halted, hues(line.region for line in lines))

    def hue(self, line: Line) -> Hue | None:
        """The look of a question's region; None for the whole image, or no region."""
        return None if line.region is None else self.hues[line.region]

    def said(self, line: Line) -> str:
        """The question with its region named by colour."""
        found = self.hue(line)
        return line.text if found is None else line.text.replace(DESIGNATED, f"{found.name} region")

    @property
    def labelled(self) -> tuple[Line, ...]:
        """Questions that labelled an object, in order."""
        return tuple(line for line in self.lines if line.label is not None)

    @property
    def asked(self) -> int:
        """Questions a model answered, or failed to."""
        return sum(line.right is not None for line in self.lines)

    @property
    def right(self) -> int:
        """Those it answered as is true."""
        return sum(line.right is True for line in self.lines)

    @property
    def ambiguous(self) -> int:
        """Questions the operator rejected."""
        return sum(not line.decided for line in self.lines)

    @property
    def stories(self) -> tuple[tuple[Line, ...], ...]:
        """The lines, story line by story line."""
        found: dict[int, list[Line]] = {}
        for line in self.lines:
            found.setdefault(line.story, []).append(line)
        return tuple(map(tuple, found.values()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {key: getattr(self, key) for key in ("scene_id", "stream", "halted")}
        plain |= {"asked": self.asked, "right": self.right, "ambiguous": self.ambiguous}
        return plain | {"questions": [line.to_dict() | {"said": self.said(line)} for line in self.lines]}
