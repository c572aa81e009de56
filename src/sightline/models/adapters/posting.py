"""JSON posted to one address, again where a failure may pass: by the standard library alone."""

from __future__ import annotations

import http.client
import ipaddress
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from sightline.errors import ConfigError, ModelError

_LONGEST_WAIT: Final = 60.0
_MOST_BYTES: Final = 4_000_000
_QUOTED: Final = 200


class _PassingError(Exception):
    """A failure that may pass; `wait` is what the server asks for, in seconds."""

    def __init__(self, problem: str, wait: float = 0.0) -> None:
        super().__init__(problem)
        self.wait = wait


class _Stay(HTTPRedirectHandler):
    """No redirection is followed: the key goes to the address it was given for, and nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None: the redirection is an error."""


@dataclass(frozen=True)
class Post:
    """A way to send JSON to one address and to read JSON back.

    Attributes:
        url: The address.
        timeout: Seconds for one try.
        retries: How often a try is repeated.
        backoff: Seconds before the first repetition, doubled before each other; a server's ``Retry-After`` may ask
            for more, up to a minute.
        key: Sent as a bearer token; not shown.
        sleep: Waits so many seconds.
    """

    url: str
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
        return self.url.partition("?")[0]

    def send(self, body: Mapping[str, Any]) -> Any:
        """The JSON the server answers with.

        Raises:
            ModelError: It refused, its answer is no JSON, or it failed once more than `retries`.
        """
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        opener = _opener(self.url)
        for again in range(self.retries + 1):
            try:
                return self._tried(opener, data)
            except _PassingError as error:
                if again == self.retries:
                    tries = f"{again + 1} tries" if again else "1 try"
                    raise ModelError(f"{self.shown}: no answer after {tries}: {error}") from None
                self.sleep(min(max(self.backoff * 2**again, error.wait), _LONGEST_WAIT))
        raise AssertionError("unreachable")

    def _tried(self, opener: OpenerDirector, data: bytes) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = Request(self.url, data=data, headers=headers, method="POST")  # noqa: S310 — see `address`
        end = time.monotonic() + self.timeout
        try:
            with opener.open(request, timeout=self.timeout) as response:
                text = self._read(response, end)
        except HTTPError as error:
            with error:
                self._refused(error)
        except URLError as error:
            raise _PassingError(str(error.reason)) from None
        except (OSError, http.client.HTTPException) as error:  # a timeout while reading is an OSError
            raise _PassingError(f"{type(error).__name__}: {error}") from None
        try:
            return json.loads(text)
        except ValueError:
            raise ModelError(f"{self.shown}: its answer is not JSON: {self._quoted(text)}") from None

    def _read(self, response: http.client.HTTPResponse, end: float) -> bytes:
        """All of the answer, unless it is too long or drips in for longer than one try may take."""
        parts: list[bytes] = []
        while part := response.read1(65536):
            parts.append(part)
            if sum(map(len, parts)) > _MOST_BYTES:
                raise ModelError(f"{self.shown}: its answer is longer than {_MOST_BYTES:,} bytes")
            if time.monotonic() > end:
                raise TimeoutError("timed out")
        if response.length:
            raise _PassingError("the connection broke off")
        return b"".join(parts)

    def _refused(self, error: HTTPError) -> None:
        try:
            said = self._quoted(error.read(_MOST_BYTES))
        except (OSError, http.client.HTTPException):
            said = ""
        problem = f"status {error.code} {error.reason}" + (f": {said}" if said else "")
        if error.code == 429 or error.code >= 500:
            raise _PassingError(problem, _asked_wait(error))
        where = " (redirections are not followed: give the final address)" if 300 <= error.code < 400 else ""
        raise ModelError(f"{self.shown}: {problem}{where}")

    def _quoted(self, text: bytes) -> str:
        """The beginning of what a server said, in one line, without the key should it repeat that."""
        said = " ".join(text.decode("utf-8", "replace").split())
        return (said.replace(self.key, "…") if self.key else said)[:_QUOTED]


def address(url: str) -> str:
    """The url if questions can be posted there; ConfigError otherwise.

    >>> address("http://localhost:8000/answer")
    'http://localhost:8000/answer'
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or any(c.isspace() or not c.isprintable() for c in url):
        raise ConfigError("http: url must be like http://localhost:8000/answer")
    if "@" in parts.netloc:
        raise ConfigError("http: no name and password in the url; name a variable that has the key: key=NAME")
    return url


def _opener(url: str) -> OpenerDirector:
    """Opens the url; a server on this machine is never looked for behind a proxy."""
    host = urlsplit(url).hostname or ""
    return build_opener(_Stay, *([ProxyHandler({})] if _is_here(host) else []))


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _asked_wait(error: HTTPError) -> float:
    """Seconds a server asks to wait; 0 where it asks for none, or for a date."""
    said = error.headers.get("Retry-After", "")
    return float(said) if said.isascii() and said.isdigit() else 0.0
