"""A budget of requests or tokens for models that are paid by them, shared by all runs of one command."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Literal, Protocol

from sightline.errors import ConfigError, SightlineError

Unit = Literal["requests", "tokens"]

_WRITTEN: Final = re.compile(r"(\d[\d_,]*)\s*(requests?|tokens?)?")


class Spending(Protocol):
    """So many requests, and tokens of prompts and replies."""

    @property
    def requests(self) -> float:
        """Requests."""

    @property
    def tokens_in(self) -> float:
        """Tokens of prompts."""

    @property
    def tokens_out(self) -> float:
        """Tokens of replies."""


class BudgetError(SightlineError):
    """The budget is spent: the run stops here and keeps what was answered."""


@dataclass
class Budget:
    """So many requests, or tokens of prompts and replies together; what was kept from before costs nothing.

    Attributes:
        limit: How many.
        unit: Of what.
        spent: How many are gone.
    """

    limit: int
    unit: Unit = "requests"
    spent: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read a budget as it is written on the command line; ConfigError for anything else.

        >>> Budget.parse("500").unit, Budget.parse("20,000 tokens").limit
        ('requests', 20000)
        """
        match = _WRITTEN.fullmatch(text.strip().lower())
        if match is None or not int(re.sub(r"\D", "", match[1])):
            raise ConfigError(f"a budget is a number of requests, as in 500, or '20000 tokens'; found {text!r}")
        return cls(
            int(re.sub(r"\D", "", match[1])), "tokens" if (match[2] or "").startswith("token") else "requests"
        )

    @classmethod
    def of(cls, given: Budget | int | str | None) -> Budget | None:
        """A budget as it was given: itself, a number of requests, or words as `parse` reads them."""
        return given if given is None or isinstance(given, Budget) else cls.parse(str(given))

    @property
    def left(self) -> int:
        """How many are left."""
        return max(0, self.limit - self.spent)

    def needed(self, each: Spending) -> float:
        """What something takes of this budget, in its unit."""
        return each.requests if self.unit == "requests" else each.tokens_in + each.tokens_out

    def request(self) -> None:
        """Take one request before it is sent; BudgetError where nothing is left."""
        with self._lock:
            if self.spent >= self.limit:
                raise BudgetError(f"the budget of {self.limit:,} {self.unit} is spent")
            self.spent += self.unit == "requests"

    def tokens(self, number: int) -> None:
        """Take the tokens of an answer that came; the next request finds out whether any are left."""
        with self._lock:
            self.spent += number if self.unit == "tokens" else 0
