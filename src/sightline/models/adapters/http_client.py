"""Post JSON to one address, again where a failure may pass: by the standard library alone."""

from __future__ import annotations

import http.client
import ipaddress
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn
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

    def post(self, body: Mapping[str, Any]) -> Any:
        """Send JSON; return the JSON the server answers with.

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
                    tries = "1 try" if attempt == 1 else f"{attempt} tries"
                    raise ModelError(f"{self.shown}: no answer after {tries}: {error}") from None
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
            raise _PassingError(str(error.reason)) from None
        except (OSError, http.client.HTTPException) as error:  # a timeout while reading is an OSError
            raise _PassingError(f"{type(error).__name__}: {error}") from None
        try:
            return json.loads(text)
        except ValueError:
            raise ModelError(f"{self.shown}: its answer is not JSON: {self._quoted(text)}") from None

    def _read(self, response: http.client.HTTPResponse, end: float) -> bytes:
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
        return text

    def _refuse(self, error: HTTPError) -> NoReturn:
        """Raise what a status other than success means: a failure that may pass, or a refusal."""
        try:
            quoted = self._quoted(error.read(_MOST_BYTES))
        except (OSError, http.client.HTTPException):
            quoted = ""
        problem = f"status {error.code} {error.reason}" + (f": {quoted}" if quoted else "")
        if error.code == 429 or error.code >= 500:
            wait = error.headers.get("Retry-After", "")  # seconds, or a date, which is not read
            raise _PassingError(problem, float(wait) if wait.isascii() and wait.isdigit() else 0.0)
        advice = " (redirections are not followed: give the final address)" if 300 <= error.code < 400 else ""
        raise ModelError(f"{self.shown}: {problem}{advice}")

    def _quoted(self, text: bytes) -> str:
        """The beginning of what a server said, in one line, without the key should it repeat that."""
        line = " ".join(text.decode("utf-8", "replace").split())
        return (line.replace(self.key, "…") if self.key else line)[:_QUOTED]


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
    if not usable or any(c.isspace() or not c.isprintable() for c in url):
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
