"""What the Turing card holds: every figure of the page, computed, none of it drawn yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sightline.exams.turing.drawing import StreamExample
from sightline.exams.turing.monitor import Monitor
from sightline.exams.turing.scores import TuringScores
from sightline.report.galleries import GalleryCard
from sightline.report.seats import AccuracySeat
from sightline.report.turing.markdown import markdown
from sightline.stats import Interval


@dataclass(frozen=True, kw_only=True)
class Sitting(AccuracySeat[TuringScores]):
    """One run with everything computed from its records; its items are streams.

    Attributes:
        withheld: Whether true answers were kept from it.
    """

    asked: ClassVar = ("withheld",)

    withheld: bool

    def accuracy(self, name: str = "all") -> Interval | None:
        """Share of right answers of a question type; None where nothing was answered."""
        return None if self.scores is None else self.scores.accuracy.get(name)


@dataclass(frozen=True, kw_only=True)
class TuringCard(GalleryCard[Sitting, StreamExample]):
    """All runs side by side, one of them looked at closely, stream by stream.

    Attributes:
        options: Of the exam: vocabulary, training data, ε, assumptions and so on, as the runs keep them.
        monitor: Whether the answers could have been guessed.
        lengths: Questions of a stream → how many streams have so many.
    """

    options: Mapping[str, Any]
    monitor: Monitor
    lengths: Mapping[int, int]

    @property
    def vocabulary(self) -> str:
        """Name of the words the questions are made of; empty where the runs do not tell."""
        return str(self.options.get("vocabulary") or "")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null."""
        lengths = {str(k): n for k, n in self.lengths.items()}
        return self.plain(
            "turing",
            "streams",
            how={"options": dict(self.options)},
            found={"monitor": self.monitor.to_dict(), "lengths": lengths},
        )

    def to_markdown(self) -> str:
        """Headline, tables and transcripts as Markdown."""
        return markdown(self)
