"""Models that answer in words, whatever runs them: a prompt goes in, a reply comes out; skills are built on that.

`LanguageModel` asks the prompts of every exam (`adapters.prompts`, `adapters.exam_prompts`), reads the replies
strictly, counts requests and tokens, keeps replies by prompt and pixels, and stops where a budget is spent. What
runs the model says how a prompt becomes a reply: transformers (`adapters.vlm`) or a server (`adapters.chat`).
"""

from __future__ import annotations

import json
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from threading import Lock, local
from typing import Any, Final, Literal, Self

import numpy as np

from sightline.errors import ConfigError
from sightline.exams.budget import Budget
from sightline.exams.turing.conversation import NO, YES, quoted, read_reply
from sightline.exams.variants import Swapped, Variant
from sightline.files import atomic_write, user_cache
from sightline.models.adapters.exam_prompts import (
    CHOICES,
    PREDICATE_MEANINGS,
    SWAPPED_MEANINGS,
    pair_prompt,
    predicates_prompt,
    read_choice,
    read_list,
    section_angle,
    viewpoint_prompt,
)
from sightline.models.adapters.prompt_variants import PROMPT_VARIANTS
from sightline.models.adapters.prompts import Prompt, PromptStyle
from sightline.scenes.labels import PREDICATES
from sightline.skills import (
    SILENT,
    UNKNOWN,
    UNPARSED,
    Asked,
    BoxedObjects,
    Judgements,
    Pairs,
    Queries,
    ScoredReply,
    Verdicts,
    ViewAngles,
)

Decide = Literal["likelihood", "generate"]

YES_NO: Final = (YES, NO)
_COUNTED: Final = ("requests", "cached", "tokens_in", "tokens_out", "unparsed", "seconds")


PRICES: Final = ("SIGHTLINE_PRICE_IN", "SIGHTLINE_PRICE_OUT")
"""Environment variables with what a million tokens of prompts and of replies costs."""
_CHARACTERS: Final = 4
_PIXELS: Final = 28 * 28
"""Characters, and pixels, that are taken for a token before a server has counted any."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote.

    Attributes:
        text: All of it.
        tokens_in: Tokens of the prompt, picture included, as far as the model counts them; else 0.
        tokens_out: Tokens of the reply.
        confidence: Probability of the reply among the choices, where the model decides by likelihood; else None.
    """

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    confidence: float | None = None


class ReplyCache:
    """Replies kept on disk by a hash of prompt, pixels, model and options, one small JSON file each.

    Args:
        folder: Where; by default ``replies`` in ``SIGHTLINE_CACHE``, else in ``~/.cache/sightline``.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = user_cache() / "replies" if folder is None else folder

    def path(self, model: str, prompt: Prompt, choices: Sequence[str], draw: int) -> Path:
        """The file of a reply."""
        digest = blake2b(digest_size=20)
        about = [model, prompt.text, list(choices), draw, prompt.picture.mode, list(prompt.picture.size)]
        digest.update(json.dumps(about).encode())
        digest.update(prompt.picture.tobytes())
        name = digest.hexdigest()
        return self.folder / name[:2] / f"{name[2:]}.json"

    def read(self, path: Path) -> Reply | None:
        """The reply of a file; None where there is none, or a spoilt one."""
        try:
            stored = json.loads(path.read_bytes())
            tokens = int(stored["tokens_in"]), int(stored["tokens_out"])
            reply = Reply(str(stored["text"]), *tokens, stored.get("confidence"))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return reply

    def write(self, path: Path, reply: Reply) -> None:
        """Keep a reply; a folder that cannot be written to costs nothing but the next request."""
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, json.dumps(asdict(reply)).encode(), sync=False)


class LanguageModel(ABC):
    """A model that answers prompts: skills *answer*, *relate*, *predicates* and *viewpoint*, hence all five exams.

    Args:
        style: How regions and boxes are pointed at, and the prompt of yes–no questions.
        decide: ``likelihood`` takes the likeliest of the words an answer may have, ``generate`` what is written.
        per: Of predicates: one prompt a ``pair``, which lists those that hold, or one a ``predicate``, yes or no;
            None is by predicate with ``likelihood``, else by pair.
        sections: Directions an object may face, 4 or 8.
        elevation: Degrees of elevation that go with an azimuth: nobody is asked for them.
        temperature: 0 for the likeliest reply; above it replies are drawn.
        cache: Replies are kept on disk.
        price_in: What a million tokens of prompts costs, in any currency; None for what the environment says
            (`PRICES`), 0 for nothing.
        price_out: The same of replies.
    """

    def __init__(
        self,
        style: PromptStyle,
        *,
        decide: Decide = "generate",
        per: Literal["pair", "predicate"] | None = None,
        sections: int = 8,
        elevation: float = 10.0,
        temperature: float = 0.0,
        cache: bool = False,
        price_in: float | None = None,
        price_out: float | None = None,
    ) -> None:
        if sections not in (4, 8):
            raise ConfigError(f"sections must be 4 or 8, found {sections}")
        if not 0 <= temperature < float("inf"):
            raise ConfigError(f"temperature must not be negative, found {temperature}")
        if temperature and decide == "likelihood":
            raise ConfigError("by likelihood nothing is drawn: temperature goes with decide=generate")
        self.style, self.decide, self.sections, self.elevation = style, decide, sections, elevation
        self.per = per or ("predicate" if decide == "likelihood" else "pair")
        if self.per == "pair" and decide == "likelihood":
            raise ConfigError("by likelihood predicates are asked one by one: per=predicate")
        self.temperature = temperature
        self._prices = tuple(
            _price(variable) if given is None else given
            for variable, given in zip(PRICES, (price_in, price_out), strict=True)
        )
        self.budget: Budget | None = None
        self._cache = ReplyCache() if cache else None
        self._variation = ""
        self._counts = dict.fromkeys(_COUNTED, 0.0)
        self._lock, self._thread = Lock(), local()

    longest_reply: int = 0
    """Tokens that a reply may have at most; 0 where nobody says."""

    # What runs it.

    @abstractmethod
    def complete(self, prompt: Prompt, choices: tuple[str, ...], draw: int) -> Reply:
        """Run the model on a prompt.

        Args:
            prompt: Picture and text.
            choices: Words an answer may have, for a model that compares their likelihoods; empty for a list.
            draw: Which of several replies this is, from 0.
        """

    @property
    @abstractmethod
    def reply_identity(self) -> str:
        """All that a reply depends on beside prompt and pixels, without secrets."""

    # Skills.

    def answer(self, asked: Asked) -> str:
        """What it says to a yes–no question."""
        text = self.reply(self.style.prompt(asked), YES_NO)
        if read_reply(text) == UNPARSED:
            self._count(unparsed=1)
        return text

    def relate(self, pairs: Pairs) -> Judgements:
        """Depth of every pair and, within an image, occlusion; silence where a reply cannot be read."""
        swap = Swapped() if self._variation == Swapped.name else Variant()
        return swap.judgements(self._relate(swap.pairs(pairs)))

    def _relate(self, pairs: Pairs) -> Judgements:
        n, codes, said, sure = len(pairs), {}, {}, {}
        for aspect, words in CHOICES.items():
            asked = aspect == "depth" or pairs.setting == "within_image"
            codes[aspect], said[aspect], sure[aspect] = np.full(n, SILENT, np.int8), [""] * n, np.full(n, np.nan)
            for row in range(n if asked else 0):
                text = self.reply(pair_prompt(pairs, row, aspect, self.style.region), tuple(words))
                word = self._read(text, tuple(words))
                codes[aspect][row], said[aspect][row] = SILENT if word is None else words[word], quoted(text)
                sure[aspect][row] = getattr(text, "confidence", np.nan)
        confidence = sure if any(np.isfinite(of).any() for of in sure.values()) else {}
        return Judgements(codes["depth"], codes["occlusion"], said if self.decide == "generate" else {}, confidence)

    def predicates(self, queries: Queries) -> Verdicts:
        """Every predicate of every ordered pair; unknown where a reply cannot be read."""
        n, region = len(queries), self.style.region
        answers = np.full((n, n, len(PREDICATES)), UNKNOWN, np.int8)
        chances = np.full(answers.shape, np.nan)
        said: dict[tuple[int, int, int], str] = {}
        words, meanings = self._predicate_words()
        place = [PREDICATES.index(name) for name in words.values()]
        for a, b in ((a, b) for a in range(n) for b in range(n) if a != b):
            first, second = (b, a) if self._variation == Swapped.name else (a, b)
            if self.per == "pair":
                text = self.reply(predicates_prompt(queries, first, second, region, meanings), ())
                hold = read_list(text, tuple(words))
                self._count(unparsed=hold is None)
                said |= {(a, b, k): quoted(text) for k in place}
                if hold is not None:
                    answers[a, b, place] = [word in hold for word in words]
                continue
            for k, word in zip(place, words, strict=True):
                text = self.reply(predicates_prompt(queries, first, second, region, {word: meanings[word]}), YES_NO)
                reply = read_reply(text)
                self._count(unparsed=reply == UNPARSED)
                said[a, b, k] = quoted(text)
                answers[a, b, k] = {YES: 1, NO: 0}.get(reply, UNKNOWN)
                if isinstance(text, ScoredReply) and reply in YES_NO:
                    chances[a, b, k] = text.confidence if reply == YES else 1 - text.confidence
        given = None if np.isnan(chances).all() else chances
        return Verdicts(answers, said if self.decide == "generate" else {}, given)

    def _predicate_words(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Word of an answer → its predicate, and → its meaning; of the swapped pair where that is asked."""
        if self._variation != Swapped.name:
            return {name: name for name in PREDICATES}, PREDICATE_MEANINGS
        words = {word: predicate for word, (predicate, _) in SWAPPED_MEANINGS.items()}
        return words, {word: meaning for word, (_, meaning) in SWAPPED_MEANINGS.items()}

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        """The middle of the section each object is seen from; NaN where a reply cannot be read."""
        if objects.view.size is None:
            height, width = objects.view.image().shape[:2]
            fractions = objects.boxes / np.array([width, height, width, height])
            objects = BoxedObjects(objects.scene_id, objects.view, fractions, objects.categories, objects.objects)
        choices = tuple(map(str, range(1, self.sections + 1)))
        angles, sure, said = np.full((len(objects), 3), np.nan), np.full(len(objects), np.nan), []
        for row in range(len(objects)):
            text = self.reply(viewpoint_prompt(objects, row, self.style.region, self.sections), choices)
            number = self._read(text, choices)
            said.append(quoted(text))
            if number is not None:
                angles[row] = section_angle(int(number), self.sections), self.elevation, 0.0
                sure[row] = getattr(text, "confidence", np.nan)
        confidence = sure if np.isfinite(sure).any() else ()
        return ViewAngles(angles, said if self.decide == "generate" else (), confidence)

    # Around every request.

    def reply(self, prompt: Prompt, choices: tuple[str, ...]) -> str:
        """The text of a reply, from disk where it is kept; BudgetError where no request is left."""
        if self._variation in PROMPT_VARIANTS:
            prompt = replace(prompt, text=PROMPT_VARIANTS[self._variation](prompt.text))
        draw = self._draw if self.temperature else 0
        path = None if self._cache is None else self._cache.path(self.reply_identity, prompt, choices, draw)
        kept = None if self._cache is None or path is None else self._cache.read(path)
        if kept is not None:
            self._count(cached=1)
            return _scored(kept)
        self.count_request()
        start = time.perf_counter()
        reply = self.complete(prompt, choices, draw)
        spent = {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out}
        self._count(seconds=time.perf_counter() - start, **spent)
        if self.budget is not None:
            self.budget.tokens(reply.tokens_in + reply.tokens_out)
        if self._cache is not None and path is not None:
            self._cache.write(path, reply)
        return _scored(reply)

    def count_request(self) -> None:
        """Count a request before it is sent, repeated ones too; BudgetError where none is left."""
        if self.budget is not None:
            self.budget.request()
        self._count(requests=1)

    def has_kept(self, prompt: Prompt, choices: tuple[str, ...], draw: int) -> bool:
        """Whether a reply is on disk from before."""
        cache = self._cache
        return cache is not None and cache.path(self.reply_identity, prompt, choices, draw).is_file()

    def rehearsal(self) -> LanguageModel:
        """A model that takes notes in the place of this one: its `usage` estimates what questions would take."""
        return PromptRecorder(self, keep=False)

    def varied(self, kind: str) -> Self | None:
        """The same model with prompts in other words, options in another order, or (b, a) for (a, b); else None."""
        if kind not in (*PROMPT_VARIANTS, Swapped.name):
            return None
        other = copy(self)
        other._variation = kind
        return other

    def begin_sample(self, number: int) -> None:
        """Note which of several replies is drawn next; ConfigError where all would be the same."""
        if number and not self.temperature:
            raise ConfigError("replies are not drawn at temperature 0: give temperature=0.7, or no --samples")
        self._thread.draw = number

    def usage(self) -> dict[str, float]:
        """Requests, replies kept from before, tokens, replies that could not be read, seconds waited; the cost."""
        counts = {name: value if name == "seconds" else int(value) for name, value in self._counts.items()}
        if any(self._prices):
            tokens = counts["tokens_in"], counts["tokens_out"]
            counts["cost"] = sum(n * price for n, price in zip(tokens, self._prices, strict=True)) / 1e6
        return counts

    def _style_facts(self) -> dict[str, Any]:
        """What shapes its prompts, for a run's manifest."""
        facts: dict[str, Any] = {"decide": self.decide, "per": self.per, "sections": self.sections}
        return facts | {"elevation": self.elevation, "temperature": self.temperature} | self.style.facts()

    @property
    def _draw(self) -> int:
        return int(getattr(self._thread, "draw", 0))

    def _read(self, text: str, choices: tuple[str, ...]) -> str | None:
        word = read_choice(text, choices)
        self._count(unparsed=word is None)
        return word

    def _count(self, **more: float) -> None:
        with self._lock:
            for name, value in more.items():
                self._counts[name] += value


def _price(variable: str) -> float:
    """A price from the environment; 0 where there is none."""
    text = os.environ.get(variable, "").strip()
    try:
        price = float(text or 0)
    except ValueError:
        price = math.nan
    if not 0 <= price < math.inf:
        raise ConfigError(f"{variable}: expected what a million tokens costs, found {text!r}")
    return price


def _scored(reply: Reply) -> str:
    """The text of a reply, with its probability where the model gave one."""
    return reply.text if reply.confidence is None else ScoredReply(reply.text, reply.confidence)


class PromptRecorder(LanguageModel):
    """Notes the prompts it is given and says nothing: what would a model be asked, and how much would that take?

    Its `usage` is an estimate: requests are those whose replies the model has not kept; of a prompt's text four
    characters are a token, of its picture 28 × 28 pixels (servers differ); replies are as long as they may be.

    Args:
        like: A model whose style and options the prompts follow; None for the defaults.
        keep: Keep the prompts, with their pictures.
    """

    def __init__(self, like: LanguageModel | None = None, *, keep: bool = True) -> None:
        if like is None:
            super().__init__(PromptStyle())
        else:
            how: Mapping[str, Any] = {"decide": like.decide, "sections": like.sections, "per": like.per}
            super().__init__(like.style, **how)
            self._prices, self._variation = like._prices, like._variation
        self.name, self._like, self._keep = "prompts", like, keep
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt, choices: tuple[str, ...], draw: int) -> Reply:
        """Nothing."""
        if self._keep:
            self.prompts.append(prompt)
        if self._like is not None and self._like.has_kept(prompt, choices, draw):
            self._count(requests=-1, cached=1)
            return Reply("")
        wide, high = prompt.picture.size
        tokens = math.ceil(len(prompt.text) / _CHARACTERS) + math.ceil(wide * high / _PIXELS)
        longest = 1 if self.decide == "likelihood" and choices else self._like.longest_reply if self._like else 0
        return Reply("", tokens, longest)

    @property
    def reply_identity(self) -> str:
        """It replies nothing."""
        return ""
