"""Ask models behind a server: questions go out as JSON, answers come back, in Sightline's own small form.

Servers that speak OpenAI's chat completions are in `adapters.chat`. Only the address the user wrote is called;
redirections are not followed.
"""

from __future__ import annotations

import base64
import io
import ipaddress
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from http.client import HTTPException, HTTPResponse
from secrets import token_hex
from typing import Any, Final, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from PIL import Image

from sightline.documents import parse_json
from sightline.errors import ConfigError, DataError, ModelError
from sightline.scenes import View
from sightline.skills import Asked
from sightline.text import counted, printable, secrets_of, without_secrets

_LONGEST_WAIT: Final = 60.0
_MOST_BYTES: Final = 4_000_000
_QUOTED: Final = 200
_SHORTEST_SECRET: Final = 4
"""Characters; a shorter word would be taken out of what has nothing to do with it."""


class _PassingError(Exception):
    """A failure that may pass; `wait` is what the server asks for, in seconds."""

    def __init__(self, problem: str, wait: float = 0.0) -> None:
        super().__init__(problem)
        self.wait = wait


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirection: the key goes to the address it was given for, and nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None: the redirection is an error."""


@dataclass(frozen=True)
class JsonClient:
    """Sends JSON to one address and reads JSON back.

    Attributes:
        url: The address.
        timeout: Seconds for one try.
        retries: How often a try is repeated.
        backoff: Seconds before the first repetition, doubled before each other; a server's ``Retry-After`` may ask
            for more, up to a minute.
        key: Sent as a bearer token; not shown.
        sleep: Waits so many seconds.
    """

    url: str = field(repr=False)
    timeout: float = 60.0
    retries: int = 3
    backoff: float = 1.0
    key: str = field(default="", repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.timeout < float("inf"):
            raise ConfigError(f"http: timeout must be positive, found {self.timeout}")
        if self.retries < 0:
            raise ConfigError(f"http: retries must not be negative, found {self.retries}")
        if not 0 <= self.backoff < float("inf"):
            raise ConfigError(f"http: backoff must not be negative, found {self.backoff}")

    @property
    def shown(self) -> str:
        """The address without what follows a question mark, which may be private."""
        return without_secrets(self.url).partition("?")[0]

    @cached_property
    def _secrets(self) -> list[bytes]:
        """What nobody is told, as a server may repeat it: the key, and the secrets of the address."""
        known = [word for word in secrets_of(self.url) if len(word) >= _SHORTEST_SECRET]
        return [word.encode() for word in (self.key, *known) if word]

    def post(self, body: Mapping[str, Any], again: Callable[[], None] | None = None) -> Any:
        """Send JSON; return the JSON the server answers with. Before every further try `again` is called.

        Raises:
            ModelError: It refused, its answer is no JSON, or it failed once more than `retries`.
        """
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        opener, attempt = _opener(self.url), 0
        while True:
            try:
                return self._post_once(opener, data)
            except _PassingError as error:
                attempt += 1
                if attempt > self.retries:
                    tries = counted(attempt, "try", "tries")
                    raise ModelError(f"{self.shown}: no answer after {tries}: {error}") from None
                if again is not None:
                    again()
                self.sleep(min(max(self.backoff * 2 ** (attempt - 1), error.wait), _LONGEST_WAIT))

    def _post_once(self, opener: OpenerDirector, data: bytes) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = Request(self.url, data=data, headers=headers, method="POST")  # noqa: S310 — see `checked_url`
        end = time.monotonic() + self.timeout
        try:
            with opener.open(request, timeout=self.timeout) as response:
                text = self._read(response, end)
        except HTTPError as error:
            with error:
                self._refuse(error)
        except URLError as error:
            raise _PassingError(printable(str(error.reason))) from None
        except (OSError, HTTPException) as error:  # a timeout while reading is an OSError
            told = self._without_secrets(str(error).encode("utf-8", "replace"))
            raise _PassingError(f"{type(error).__name__}: {self._quoted(told)}") from None
        try:
            return parse_json(text, self.shown)
        except DataError:
            raise ModelError(f"{self.shown}: its answer is not JSON: {self._quoted(text)}") from None

    def _without_secrets(self, text: bytes) -> bytes:
        """What a server said, which may repeat what it was sent, without the key and the address's secrets."""
        for word in self._secrets:
            text = text.replace(word, "…".encode())
        return text

    def _read(self, response: HTTPResponse, end: float) -> bytes:
        """Read all of the answer, unless it is too long or drips in for longer than one try may take."""
        text = b""
        while part := response.read1(65536):
            text += part
            if len(text) > _MOST_BYTES:
                raise ModelError(f"{self.shown}: its answer is longer than {_MOST_BYTES:,} bytes")
            if time.monotonic() > end:
                raise TimeoutError("timed out")
        if response.length:
            raise _PassingError("the connection broke off")
        return self._without_secrets(text)

    def _refuse(self, error: HTTPError) -> NoReturn:
        """Raise what a status other than success means: a failure that may pass, or a refusal."""
        try:
            quoted = self._quoted(self._without_secrets(error.read(_MOST_BYTES)))
        except (OSError, HTTPException):
            quoted = ""
        reason = self._quoted(self._without_secrets(str(error.reason).encode("utf-8", "replace")))
        problem = f"status {error.code} {reason}" + (f": {quoted}" if quoted else "")
        if error.code == 429 or error.code >= 500:
            wait = error.headers.get("Retry-After", "")  # seconds, or a date, which is not read
            raise _PassingError(problem, float(wait) if wait.isascii() and wait.isdigit() else 0.0)
        advice = " (redirections are not followed: give the final address)" if 300 <= error.code < 400 else ""
        raise ModelError(f"{self.shown}: {problem}{advice}")

    def _quoted(self, text: bytes) -> str:
        """The beginning of what a server said, in one line."""
        return printable(" ".join(text.decode("utf-8", "replace").split())[:_QUOTED])


class HttpAnswer:
    """A server that takes a question and its picture, and gives back ``{"answer": …}``.

    Sent are ``scene_id`` (a random name, the same for an image while the process lasts: the dataset's own may tell
    what is to be seen), ``question`` (structured), ``text``, ``long_text``, ``region``, ``labels``, ``history`` (a
    list of ``question``, ``text`` and ``answer``) and ``image`` (PNG in base64).
    """

    def __init__(self, client: JsonClient) -> None:
        self.client = client
        self.name = f"http:{client.shown.partition('://')[2]}"
        self._latest: tuple[View, str] | None = None
        self._names: dict[str, str] = {}

    def answer(self, asked: Asked) -> str | bool:
        """What the server says."""
        reply = self.client.post(self._body(asked))
        if not isinstance(reply, dict) or not isinstance(reply.get("answer"), str | bool):
            raise unexpected(self.client, '{"answer": …} with a text, true or false', reply)
        answer: str | bool = reply["answer"]
        return answer

    @property
    def fingerprint(self) -> str:
        """What the server is known by: its address."""
        return known_by(self.client, self.facts())

    def facts(self) -> dict[str, Any]:
        """Where it is."""
        return {"url": self.client.shown, "kind": "answer"}

    def _body(self, asked: Asked) -> dict[str, Any]:
        return {
            "scene_id": self._names.setdefault(asked.scene_id, token_hex(8)),
            "question": dict(asked.question),
            "text": asked.text,
            "long_text": asked.long_text,
            "region": asked.region,
            "labels": dict(asked.labels),
            "history": [{"question": dict(q), "text": text, "answer": truth} for q, text, truth in asked.history],
            "image": self._png(asked.view),
        }

    def _png(self, view: View) -> str:
        """The picture; remembered for the stream's other questions."""
        latest = self._latest
        if latest is None or latest[0] is not view:
            latest = self._latest = (view, png(Image.fromarray(view.image())))
        return latest[1]


def png(picture: Image.Image) -> str:
    """Encode a picture as PNG in base64."""
    file = io.BytesIO()
    picture.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode("ascii")


def known_by(client: JsonClient, facts: Mapping[str, Any]) -> str:
    """Hash of an address and of what shapes the answers; how long to wait for them does not."""
    return blake2b(json.dumps([client.url, facts], sort_keys=True).encode(), digest_size=16).hexdigest()


def unexpected(client: JsonClient, expected: str, reply: object) -> ModelError:
    """The error of a reply that is JSON of another form."""
    beginning = printable(json.dumps(reply, ensure_ascii=False)[:200])
    return ModelError(f"{client.shown}: expected {expected}, found {beginning}")


def secret_in(variable: str | None) -> str:
    """The key; the message does not repeat the option, which may be a key given by mistake."""
    if variable is None:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError("http: key=NAME names an environment variable that has the key; that one is not set")
    return key


def checked_url(url: str) -> str:
    """Return the url if questions can be posted there; ConfigError otherwise.

    >>> checked_url("http://localhost:8000/answer")
    'http://localhost:8000/answer'
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or any(c.isspace() or not c.isprintable() for c in url):
        raise ConfigError("http: url must be like http://localhost:8000/answer")
    if "@" in parts.netloc:
        raise ConfigError("http: no name and password in the url; name a variable that has the key: key=NAME")
    return url


def _opener(url: str) -> OpenerDirector:
    """What opens the url; a server on this machine is never looked for behind a proxy."""
    host = urlsplit(url).hostname or ""
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    return build_opener(_NoRedirect, *([ProxyHandler({})] if local else []))
