"""Models behind a server: of OpenAI's chat completions (vLLM, Ollama, llama.cpp, hosted), or of our own form."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit, urlunsplit

from sightline.errors import ConfigError, ModelError
from sightline.models.adapters.http import HttpAnswer, JsonClient, checked_url, known_by, png, secret_in, unexpected
from sightline.models.adapters.language import Decide, LanguageModel, Reply
from sightline.models.adapters.prompts import Prompt, PromptStyle, RegionStyle
from sightline.skills import ABSTAIN

_OPENAI: Final = "https://api.openai.com/v1"
_TOP: Final = 20
"""Likeliest first tokens a server is asked for; more it need not give."""
_USUAL_TOKENS: Final = 64


@dataclass(frozen=True)
class ChatOptions:
    """How a chat server is asked, beside the prompt; all of it shapes replies.

    Attributes:
        max_new_tokens: The longest reply, sent as ``max_tokens``.
        max_completion_tokens: The same under the newer name, sent instead; reasoning counts in it.
        temperature: 0 for the likeliest reply.
        enable_thinking: Sent in ``chat_template_kwargs``, for models that may be told not to reason; None for not.
        extra: Other keys of the request, as they are.
    """

    max_new_tokens: int = _USUAL_TOKENS
    max_completion_tokens: int | None = None
    temperature: float = 0.0
    enable_thinking: bool | None = None
    extra: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name in ("max_new_tokens", "max_completion_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"http: {name} must be at least 1, found {value}")

    def body(self) -> dict[str, Any]:
        """Keys of a request."""
        longest = (
            {"max_tokens": self.max_new_tokens}
            if self.max_completion_tokens is None
            else {"max_completion_tokens": self.max_completion_tokens}
        )
        body: dict[str, Any] = longest | {"temperature": self.temperature}
        if self.enable_thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": self.enable_thinking}
        return _merged(body, self.extra or {})


class HttpChat(LanguageModel):
    """A server of OpenAI's chat completions with pictures.

    Args:
        client: Sends the requests.
        model: The name the server knows the model by.
        style: How prompts are made.
        options: What goes with every request.
        concurrency: Items that may be asked at once.
        name: How tables call it; by default the model's name.
        how: Arguments of `LanguageModel`.
    """

    def __init__(
        self,
        client: JsonClient,
        model: str,
        style: PromptStyle,
        options: ChatOptions,
        *,
        concurrency: int = 1,
        name: str = "",
        **how: Any,
    ) -> None:
        if not 1 <= concurrency <= 256:
            raise ConfigError(f"http: concurrency must be 1 to 256, found {concurrency}")
        super().__init__(style, temperature=options.temperature, **how)
        self.client, self.model, self.options, self.concurrency = client, model, options, concurrency
        self.name = name or model
        self.longest_reply = options.max_completion_tokens or options.max_new_tokens

    def complete(self, prompt: Prompt, choices: tuple[str, ...], draw: int) -> Reply:
        """What the server says: its text, or the likeliest word by the likelihoods it gives of the first token."""
        by_likelihood = self.decide == "likelihood" and choices
        body = self._body(prompt) | ({"seed": draw} if self.temperature else {})
        if by_likelihood:
            body |= {"logprobs": True, "top_logprobs": _TOP}
        reply = self.client.post(body, self.count_request)
        try:
            choice = reply["choices"][0]
            written = choice["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise unexpected(self.client, "a chat completion", reply) from None
        text, sure = written if isinstance(written, str) else "", None
        if by_likelihood:
            if not isinstance(choice.get("logprobs"), dict):
                raise ModelError(f"{self.client.shown}: it gives no likelihoods (logprobs): use decide=generate")
            word, chance = likeliest(choice["logprobs"], choices)
            text, sure = (word, chance) if word else (ABSTAIN, None)
        used = reply.get("usage") if isinstance(reply, dict) else None
        counts = used if isinstance(used, dict) else {}
        return Reply(text, _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")), sure)

    @property
    def reply_identity(self) -> str:
        """Address and model with what is sent along."""
        about = {"url": self.client.shown, "model": self.model, "decide": self.decide, "body": self.options.body()}
        return json.dumps(about, sort_keys=True)

    @property
    def fingerprint(self) -> str:
        """What the server is known by: its address, the model's name there, and how it is asked."""
        return known_by(self.client, self.facts())

    def facts(self) -> dict[str, Any]:
        """Where it is and how it is asked."""
        facts = {"url": self.client.shown, "kind": "chat", "model": self.model}
        return facts | {"request": self.options.body(), **self._style_facts()}

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(prompt.picture)}"}}
        content = [picture, {"type": "text", "text": prompt.text}]
        return {"model": self.model, "messages": [{"role": "user", "content": content}]} | self.options.body()


def likeliest(logprobs: object, choices: tuple[str, ...]) -> tuple[str, float]:
    """The word whose beginnings are likeliest as the first token, and its share of what all the words have.

    Empty where none of them is among the tokens, or two are as likely.

    A token counts for the one word that it begins; one that begins several, or none, counts for nobody.

    >>> first = {"token": "No", "logprob": -0.1, "top_logprobs": [{"token": "No", "logprob": -0.1}]}
    >>> likeliest({"content": [first]}, ("yes", "no"))
    ('no', 1.0)
    """
    try:
        tokens = logprobs["content"][0]["top_logprobs"]  # type: ignore[index]
        pairs = [(str(one["token"]).strip().casefold(), float(one["logprob"])) for one in tokens]
    except (KeyError, IndexError, TypeError, ValueError):
        return "", 0.0
    chances = dict.fromkeys(choices, 0.0)
    for token, log in pairs:
        begun = [word for word in choices if token and word.casefold().startswith(token)]
        if len(begun) == 1:
            chances[begun[0]] += math.exp(log)
    best = max(chances, key=chances.__getitem__)
    if not chances[best] > 0 or list(chances.values()).count(chances[best]) > 1:
        return "", 0.0
    return best, chances[best] / sum(chances.values())


def http(
    url: str,
    kind: Literal["answer", "chat"] = "answer",
    model: str | None = None,
    key: str | None = None,
    timeout: float = 60.0,
    retries: int = 3,
    backoff: float = 1.0,
    region: RegionStyle | None = None,
    history: int | Literal["all"] | None = None,
    max_new_tokens: int | None = None,
    prompt: Path | None = None,
    decide: Decide | None = None,
    per: Literal["pair", "predicate"] | None = None,
    sections: int | None = None,
    elevation: float | None = None,
    temperature: float | None = None,
    max_completion_tokens: int | None = None,
    enable_thinking: bool | None = None,
    concurrency: int | None = None,
    cache: bool | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    extra: Mapping[str, Any] | None = None,
) -> HttpAnswer | HttpChat:
    """Make a model of a server.

    Args:
        url: Where questions are posted; of a chat server the whole address, or its beginning up to ``/v1``.
        kind: Sightline's own form, or OpenAI's chat completions; what follows `backoff` goes with the latter.
        model: The name the server knows the model by.
        key: Name of the environment variable that has the server's key; sent as a bearer token, never written.
        timeout: Seconds for one try.
        retries: How often a try is repeated that failed by connection, timeout, status 429 or 5xx.
        backoff: Seconds before the first repetition, doubled before each other.
        region: How regions and boxes are pointed at: draw (default), crop or words.
        history: How many of the latest questions and true answers are told, or ``all``; by default 0.
        max_new_tokens: The longest answer, by default 64.
        prompt: Text file with a prompt of one's own, for yes–no questions.
        decide: ``generate`` (default) reads what is written; ``likelihood`` compares the likelihoods of the words.
        per: One prompt a pair or a predicate (see `LanguageModel`).
        sections: Directions an object may face, 4 or 8.
        elevation: Degrees that go with an azimuth.
        temperature: By default 0.
        max_completion_tokens: Sent instead of ``max_tokens``.
        enable_thinking: Whether a model that can be told so should reason.
        concurrency: Items that may be asked at once, by default 1.
        cache: Whether replies are kept on disk, by default they are.
        price_in: What a million tokens of prompts costs, by default ``SIGHTLINE_PRICE_IN``.
        price_out: What a million tokens of replies costs, by default ``SIGHTLINE_PRICE_OUT``.
        extra: Other keys of the request, given as ``extra.KEY=VALUE``.

    Raises:
        ConfigError: For what cannot be asked for.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    chat = {name: value for name, value in given.items() if name not in _OF_EVERY_SERVER}
    target = checked_url(url)
    if kind == "answer":
        if chat:
            raise ConfigError(f"http: the option {next(iter(chat))} goes with kind=chat")
        return HttpAnswer(JsonClient(target, timeout, retries, backoff, secret_in(key)))
    if model is None:
        raise ConfigError("http: kind=chat needs the option model, the name the server knows it by")
    if urlsplit(target).path.rstrip("/").endswith("/v1"):
        target = _completions(target)
    return _chat_model(JsonClient(target, timeout, retries, backoff, secret_in(key)), "http", **chat)


_OF_EVERY_SERVER: Final = ("url", "kind", "key", "timeout", "retries", "backoff")


def openai(
    model: str,
    url: str | None = None,
    key: str | None = None,
    timeout: float = 60.0,
    retries: int = 5,
    backoff: float = 1.0,
    region: RegionStyle = "draw",
    history: int | Literal["all"] = 0,
    max_new_tokens: int | None = None,
    prompt: Path | None = None,
    decide: Decide = "generate",
    per: Literal["pair", "predicate"] | None = None,
    sections: int = 8,
    elevation: float = 10.0,
    temperature: float = 0.0,
    max_completion_tokens: int | None = None,
    enable_thinking: bool | None = None,
    concurrency: int = 4,
    cache: bool = True,
    price_in: float | None = None,
    price_out: float | None = None,
    extra: Mapping[str, Any] | None = None,
) -> HttpChat:
    """Make a model of any OpenAI-compatible endpoint; options are those of `http` with ``kind=chat``.

    Args:
        model: The name the server knows the model by; in a spec also ``BASE_URL#MODEL``.
        url: The endpoint's base, as in ``http://localhost:8000/v1``; by default ``OPENAI_BASE_URL``, else OpenAI's.
        key: Name of the environment variable that has the key; by default ``OPENAI_API_KEY`` where that is set.
        timeout: Seconds for one try.
        retries: How often a try is repeated.
        backoff: Seconds before the first repetition.
        region: How regions and boxes are pointed at.
        history: How many of the latest questions and true answers are told.
        max_new_tokens: The longest answer.
        prompt: Text file with a prompt of one's own.
        decide: By what is written, or by likelihood.
        per: One prompt a pair or a predicate.
        sections: Directions an object may face.
        elevation: Degrees that go with an azimuth.
        temperature: Of the replies.
        max_completion_tokens: Sent instead of ``max_tokens``.
        enable_thinking: Whether a model that can be told so should reason.
        concurrency: Items that may be asked at once.
        cache: Whether replies are kept on disk.
        price_in: What a million tokens of prompts costs, by default ``SIGHTLINE_PRICE_IN``.
        price_out: What a million tokens of replies costs, by default ``SIGHTLINE_PRICE_OUT``.
        extra: Other keys of the request.
    """
    base = url or os.environ.get("OPENAI_BASE_URL", "").strip() or _OPENAI
    target = checked_url(base)
    secret = os.environ.get("OPENAI_API_KEY", "").strip() if key is None else secret_in(key)
    if base == _OPENAI and not secret:
        raise ConfigError("openai: OPENAI_API_KEY is not set; for another server set OPENAI_BASE_URL too")
    given = {name: value for name, value in locals().items() if value is not None}
    chat = {name: value for name, value in given.items() if name in _CHAT}
    return _chat_model(JsonClient(_completions(target), timeout, retries, backoff, secret), "openai", **chat)


_CHAT: Final = frozenset(
    {
        *("model", "region", "history", "max_new_tokens", "prompt", "decide", "per", "sections", "elevation"),
        *("temperature", "max_completion_tokens", "enable_thinking", "concurrency", "cache", "extra"),
        *("price_in", "price_out"),
    }
)


_USUAL: Final = {
    "region": "draw",
    "history": 0,
    "decide": "generate",
    "per": None,
    "sections": 8,
    "temperature": 0.0,
}
"""Options that a name tells where they are unusual: ways of asking one model stand side by side."""


def _chat_model(client: JsonClient, kind: str, model: str, **given: Any) -> HttpChat:
    """The model of a chat server; what is not given has the default of whoever takes it."""
    unusual = [f",{key}={given[key]}" for key, usual in _USUAL.items() if given.get(key, usual) != usual]
    name = "".join([f"{kind}:{model}", *unusual])
    of_requests = {"max_new_tokens", "max_completion_tokens", "temperature", "enable_thinking", "extra"}
    options = ChatOptions(**{name: value for name, value in given.items() if name in of_requests})
    of_model = ("decide", "per", "sections", "elevation", "concurrency", "price_in", "price_out")
    how = {name: given[name] for name in of_model if name in given}
    style = PromptStyle.with_template(given.get("region", "draw"), given.get("history", 0), given.get("prompt"))
    return HttpChat(client, model, style, options, name=name, cache=given.get("cache", True), **how)


def _completions(url: str) -> str:
    """The address of chat completions below an endpoint's base.

    >>> _completions("http://localhost:8000/v1/"), _completions("https://h/chat/completions?version=2")
    ('http://localhost:8000/v1/chat/completions', 'https://h/chat/completions?version=2')
    """
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    path = path if path.endswith("/chat/completions") else f"{path}/chat/completions"
    return urlunsplit(parts._replace(path=path))


def _merged(body: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The body with more keys; objects are merged, anything else is replaced."""
    for key, value in more.items():
        inner = body.get(key)
        body[key] = _merged(dict(inner), value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return body


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
