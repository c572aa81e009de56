"""Models behind a server: questions go out as JSON, answers come back.

Two kinds of server: one that speaks Sightline's own small form, and one that speaks OpenAI's chat completions, as
vLLM, llama.cpp and others do. Only the address the user wrote is called; redirections are not followed.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from sightline.errors import ConfigError, ModelError
from sightline.models.adapters.posting import Post, address
from sightline.models.adapters.prompting import Manner, Pointing
from sightline.scenes import View
from sightline.skills import Asked


class HttpAnswer:
    """A server that takes a question and its picture, and gives back ``{"answer": …}``.

    Sent are ``scene_id``, ``question`` (structured), ``text``, ``long_text``, ``region``, ``labels``, ``history``
    (a list of ``question``, ``text`` and ``answer``) and ``image`` (PNG in base64).
    """

    def __init__(self, post: Post) -> None:
        self.post = post
        self.name = f"http:{post.shown.partition('://')[2]}"
        self._kept: tuple[View, str] | None = None

    def answer(self, asked: Asked) -> str | bool:
        """What the server says."""
        told = self.post.send(self._body(asked))
        if not isinstance(told, dict) or not isinstance(told.get("answer"), str | bool):
            found = json.dumps(told, ensure_ascii=False)[:200]
            raise ModelError(
                f'{self.post.shown}: expected {{"answer": …}} with a text, true or false, found {found}'
            )
        reply: str | bool = told["answer"]
        return reply

    def facts(self) -> dict[str, Any]:
        """Where it is."""
        return {"url": self.post.shown, "kind": "answer"}

    def _body(self, asked: Asked) -> dict[str, Any]:
        return {
            "scene_id": asked.scene_id,
            "question": dict(asked.question),
            "text": asked.text,
            "long_text": asked.long_text,
            "region": asked.region,
            "labels": dict(asked.labels),
            "history": [{"question": dict(q), "text": text, "answer": truth} for q, text, truth in asked.history],
            "image": self._png(asked.view),
        }

    def _png(self, view: View) -> str:
        """The picture; kept for the stream's other questions."""
        if self._kept is None or self._kept[0] is not view:
            self._kept = (view, png(Image.fromarray(view.image())))
        return self._kept[1]


class HttpChat:
    """A server of OpenAI's chat completions with pictures, asked at temperature 0."""

    def __init__(self, post: Post, model: str, manner: Manner, max_new_tokens: int) -> None:
        self.post, self.model, self.manner, self.max_new_tokens = post, model, manner, max_new_tokens
        self.name = f"chat:{model},region={manner.region}" + (f",history={manner.history}" * bool(manner.history))

    def answer(self, asked: Asked) -> str:
        """What the model wrote; nothing where it wrote nothing."""
        told = self.post.send(self._body(asked))
        try:
            written = told["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            found = json.dumps(told, ensure_ascii=False)[:200]
            raise ModelError(f"{self.post.shown}: expected a chat completion, found {found}") from None
        return written if isinstance(written, str) else ""

    def facts(self) -> dict[str, Any]:
        """Where it is and how it is asked."""
        told = {"url": self.post.shown, "kind": "chat", "model": self.model}
        return told | {"max_new_tokens": self.max_new_tokens, **self.manner.facts()}

    def _body(self, asked: Asked) -> dict[str, Any]:
        put = self.manner.put(asked)
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(put.picture)}"}}
        content = [picture, {"type": "text", "text": put.text}]
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": self.max_new_tokens,
            "temperature": 0,
        }


def http(
    url: str,
    kind: Literal["answer", "chat"] = "answer",
    model: str | None = None,
    key: str | None = None,
    timeout: float = 60.0,
    retries: int = 3,
    backoff: float = 1.0,
    region: Pointing | None = None,
    history: int | Literal["all"] | None = None,
    max_new_tokens: int | None = None,
    prompt: Path | None = None,
) -> HttpAnswer | HttpChat:
    """A model behind a server.

    Args:
        url: Where questions are posted; of a chat server the whole address, or its beginning up to ``/v1``.
        kind: Sightline's own form, or OpenAI's chat completions.
        model: With chat: the name the server knows the model by.
        key: Name of the environment variable that has the server's key; sent as a bearer token, never written.
        timeout: Seconds for one try.
        retries: How often a try is repeated that failed by connection, timeout, status 429 or 5xx.
        backoff: Seconds before the first repetition, doubled before each other.
        region: With chat: how regions are pointed at: draw (default), crop or words.
        history: With chat: how many of the latest questions and true answers are told, or ``all``; by default 0.
        max_new_tokens: With chat: the longest answer, by default 16.
        prompt: With chat: text file with a prompt of one's own.

    Raises:
        ConfigError: For what cannot be asked for.
    """
    chat: Mapping[str, object] = {
        "model": model,
        "region": region,
        "history": history,
        "max_new_tokens": max_new_tokens,
        "prompt": prompt,
    }
    given = [name for name, value in chat.items() if value is not None]
    if kind == "answer" and given:
        raise ConfigError(f"http: the option {given[0]} goes with kind=chat")
    target = address(url)
    if kind == "answer":
        return HttpAnswer(Post(target, timeout, retries, backoff, _secret(key)))
    if model is None:
        raise ConfigError("http: kind=chat needs the option model, the name the server knows it by")
    if max_new_tokens is not None and max_new_tokens < 1:
        raise ConfigError(f"http: max_new_tokens must be at least 1, found {max_new_tokens}")
    if re.search(r"/v1/?$", target):
        target = f"{target.rstrip('/')}/chat/completions"
    post = Post(target, timeout, retries, backoff, _secret(key))
    return HttpChat(post, model, Manner.of(region or "draw", history or 0, prompt), max_new_tokens or 16)


def png(picture: Image.Image) -> str:
    """A picture as PNG in base64."""
    made = io.BytesIO()
    picture.save(made, "PNG")
    return base64.b64encode(made.getvalue()).decode("ascii")


def _secret(variable: str | None) -> str:
    """The key; the message does not repeat the option, which may be a key given by mistake."""
    if variable is None:
        return ""
    found = os.environ.get(variable, "").strip()
    if not found:
        raise ConfigError("http: key=NAME names an environment variable that has the key; that one is not set")
    return found
