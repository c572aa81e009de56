"""What a run takes: said before it by its prompts alone, and again by what the first replies took.

Only models that are asked in words have prompts to count: their method ``rehearsal()`` gives a model that takes
notes in their place and has the same `usage`. Of any other model the time of the first items is all there is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sightline.errors import SightlineError
from sightline.exams.base import Exam
from sightline.exams.budget import Budget
from sightline.exams.hooks import model_call
from sightline.store import Dataset
from sightline.text import counted

LONG: Final = 60.0
"""Seconds that are left to go, from which on a run is announced as a long one."""
MEASURED: Final = 2.0
"""Seconds of asking that the time of an item is measured over."""
REHEARSED: Final = 5
"""Items whose prompts are made to estimate those of all."""
REPLY_SECONDS: Final = 1.0
"""What a reply is taken to last, before there is one."""


@dataclass(frozen=True)
class Workload:
    """What an item takes, on average.

    Attributes:
        requests: Requests that are sent; what is kept from before is none.
        tokens_in: Tokens of prompts.
        tokens_out: Tokens of replies; at most, before there is one.
        cost: In the currency of the prices; 0 where nobody gave any.
    """

    requests: float
    tokens_in: float
    tokens_out: float
    cost: float = 0.0

    @classmethod
    def of(cls, usage: Mapping[str, float], items: int) -> Workload:
        """The mean over some items of what a model says it used."""
        return cls(*(usage.get(key, 0.0) / items for key in ("requests", "tokens_in", "tokens_out", "cost")))

    def words(self, items: int, *, most: bool) -> list[str]:
        """What so many items take; `most` says that of the replies only the longest are known."""
        words = [f"{round(self.requests * items):,} requests"]
        if self.tokens_in:
            words.append(f"{rounded(self.tokens_in * items)} tokens read")
        if self.tokens_out:
            words.append(f"{'at most ' * most}{rounded(self.tokens_out * items)} written")
        if self.cost:
            words.append(f"a cost of {'at most ' * most}{self.cost * items:,.2f}")
        return words


def rounded(number: float) -> str:
    """A number in two or three figures, as an estimate has them.

    >>> rounded(1234.0), rounded(56_789), rounded(4_321_000)
    ('1,200', '57,000', '4.3 million')
    """
    if number >= 1e6:
        return f"{number / 1e6:,.1f} million"
    digits = len(str(round(number)))
    return f"{round(number, 2 - digits) if digits > 2 else round(number):,.0f}"


def duration(seconds: float) -> str:
    """Seconds as hours and minutes.

    >>> duration(95), duration(7300)
    ('2 min', '2 h 2 min')
    """
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def usage_of(model: Any) -> dict[str, float]:
    """What a model says that it has used; empty for one that counts nothing."""
    usage = getattr(model, "usage", None)
    if not callable(usage):
        return {}
    with model_call(model, "usage"):
        return {str(name): value for name, value in usage().items()}


def rehearse(exam: Exam[Any], model: Any, data: Dataset, items: Sequence[Any], samples: int) -> Workload | None:
    """Make the prompts of a few items, evenly spread; None for a model that has none, or cannot take part so.

    Args:
        exam: The exam.
        model: The model.
        data: The scenes.
        items: Those that are to be asked.
        samples: How often each will be asked.
    """
    rehearsal = getattr(model, "rehearsal", None)
    if not callable(rehearsal) or not items:
        return None
    notes = rehearsal()
    chosen = (
        items if len(items) <= REHEARSED else [items[i * (len(items) - 1) // (REHEARSED - 1)] for i in range(5)]
    )
    try:
        exam.check(notes, data)
        ask = exam.asker(notes, data)
        for item in chosen:
            ask(item)
    except SightlineError:  # a picture that cannot be read, say: the run itself finds out and says so
        return None
    usage = {key: samples * value for key, value in usage_of(notes).items()}
    return Workload.of(usage, len(chosen))


def forecast(each: Workload, items: int, at_once: int, variants: int, budget: Budget | None) -> str:
    """A sentence on what a run will take, before its first reply; empty for a short one that its budget holds.

    Args:
        each: What an item takes.
        items: Items to be asked.
        at_once: Requests that are under way together.
        variants: Runs of the same questions, changed, that follow.
        budget: What there is.
    """
    runs = 1 + variants
    seconds = each.requests * items * runs * REPLY_SECONDS / at_once
    short = budget is not None and each.requests and budget.left < budget.needed(each) * items * runs
    if seconds < LONG and not short:
        return ""
    what = counted(items, "item") + (f", as they are and in {counted(variants, 'variant')}" if variants else "")
    words = [what, f"about {', '.join(each.words(items * runs, most=True))}"]
    words.append(f"{duration(seconds)} at {REPLY_SECONDS:.0f} s a reply; the first replies will tell")
    said = "; ".join(words)
    if short and budget is not None:
        enough = min(items, int(budget.left / budget.needed(each)))
        said += f". A budget of {budget.left:,} {budget.unit} is enough for about {counted(enough, 'item')}"
    return said


class RestForecast:
    """Says once how long the rest of a run takes and what it uses, where that is long.

    The first items, as many as are asked at once, are not timed: with them the model loads and compiles.

    Args:
        announce: Says it; None says nothing.
        model: The model; what it has used so far is left out.
        at_once: Items that are asked at once.
    """

    def __init__(self, announce: Callable[[str], None] | None, model: Any, at_once: int) -> None:
        self.announce, self.model, self.at_once = announce, model, at_once
        self._before = usage_of(model) if announce is not None else {}
        self._begun = 0.0

    def after(self, asked: int, left: int) -> None:
        """Call it after every item.

        Args:
            asked: Items that were asked.
            left: Items to go.
        """
        if self.announce is None or asked < self.at_once:
            return
        now = time.monotonic()
        if asked == self.at_once:
            self._begun = now
        elif now - self._begun >= MEASURED:
            seconds = left * (now - self._begun) / (asked - self.at_once)
            if seconds >= LONG:
                self.announce(self._sentence(asked, left, seconds))
            self.announce = None

    def _sentence(self, asked: int, left: int, seconds: float) -> str:
        used = {key: value - self._before.get(key, 0) for key, value in usage_of(self.model).items()}
        each = Workload.of(used, asked)
        about = ", ".join([duration(seconds), *(each.words(left, most=False) if each.requests else [])])
        bound = "; --budget bounds it" if each.requests else ""
        return f"{counted(left, 'item')} to go, about {about}, judging by the first {asked}{bound}"


class Pace:
    """Lets items begin while a budget has room for them, so that it is not spread over items nobody finishes.

    Args:
        model: The model; what it says that it used tells what an item takes.
        budget: What there is; None bounds nothing.
        each: What an item takes by its prompts; None where nobody knows: then the first one goes alone.
    """

    def __init__(self, model: Any, budget: Budget | None, each: Workload | None) -> None:
        self.model, self.budget, self.each = model, budget, each
        self._before = usage_of(model) if budget is not None else {}

    def allows(self, finished: int, running: int) -> bool:
        """Whether another item may begin beside those that are running."""
        if self.budget is None or not running or not self._before:
            return True
        each = self.each
        if finished:
            used = {key: value - self._before[key] for key, value in usage_of(self.model).items()}
            each = Workload.of(used, finished)
        return each is not None and self.budget.left >= self.budget.needed(each) * (running + 1)
