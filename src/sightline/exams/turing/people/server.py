"""A small server for one person or program on this machine: loopback only, behind a token, JSON in and out.

Every address begins with the token, which is drawn anew for each server. A request with another name of the host
(DNS rebinding), of another origin, without the token, too long or not JSON is refused before anything is done with
it. Paths are compared with known words and never opened.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any, Final

from sightline.documents import parse_json
from sightline.errors import ConfigError, DataError
from sightline.plain import plain

TOKEN: Final = "SIGHTLINE_TOKEN"  # noqa: S105 - a variable's name
"""Environment variable with a token to use in place of a drawn one: 16 letters, digits, - or _ at least."""

HOST: Final = "127.0.0.1"
_MOST_BYTES: Final = 65_536
_PATIENCE: Final = 20.0
"""Seconds a client has to send its request."""

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'",
}


@dataclass(frozen=True)
class HttpReply:
    """What a server answers: a status, a body and its type; further headers replace the usual ones."""

    status: int
    body: bytes
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


Handle = Callable[[str, str, Mapping[str, Any]], HttpReply]
"""Answers (method, path behind the token, JSON object of the body)."""


def json_reply(value: Any, status: int = 200) -> HttpReply:
    """A reply of JSON, in ASCII."""
    return HttpReply(status, json.dumps(plain(value)).encode())


class LoopbackServer:
    """Serves a function on this machine's loopback address, in threads of its own; requests are handled in turn.

    Args:
        handle: Answers requests; called by one thread at a time.
        port: Where to listen; 0 takes a free one.

    Raises:
        ConfigError: The port is taken, or the token of the environment is none.
    """

    def __init__(self, handle: Handle, port: int = 0) -> None:
        self.token = _token()
        try:
            self._server = _Server((HOST, port), _handler(self.token, handle))
        except OSError as error:
            raise ConfigError(f"port {port} cannot be listened at: {error.strerror or error}") from None
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address with the token: whoever has it may use the server."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """Nothing: a client that went away is no news."""


def _token() -> str:
    given = os.environ.get(TOKEN, "")
    if given and not re.fullmatch(r"[\w-]{16,}", given, re.ASCII):
        raise ConfigError(f"{TOKEN} must have 16 letters, digits, - or _ at least")
    return given or token_urlsafe(24)


def _handler(token: str, handle: Handle) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE
        server_version, sys_version = "Sightline", ""

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def log_message(self, *_: Any) -> None:
            """Nothing: addresses hold the token."""

        def _answer(self, method: str) -> None:
            try:
                refused = _refusal(self, token)
                reply = refused or self._handled(method)
            except _RequestError as error:
                reply = json_reply({"status": "malformed", "error": str(error)}, HTTPStatus.BAD_REQUEST)
            self.send_response(reply.status)
            for name, value in {**_HEADERS, **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = True

        def _handled(self, method: str) -> HttpReply:
            path = self.path.partition("?")[0].split("/", 2)[2]
            body = _body(self) if method == "POST" else {}
            with lock:
                return handle(method, path, body)

    return Handler


class _RequestError(Exception):
    """A request nobody can read."""


def _refusal(request: BaseHTTPRequestHandler, token: str) -> HttpReply | None:
    """Why a request is not looked at further; None where it may be."""
    port = request.server.server_address[1]  # type: ignore[index]
    own = {f"{name}:{port}" for name in (HOST, "localhost")}
    if request.headers.get("Host", "") not in own:
        return json_reply({"status": "refused", "error": "another host"}, HTTPStatus.MISDIRECTED_REQUEST)
    origin = request.headers.get("Origin")
    if origin is not None and origin not in {f"http://{name}" for name in own}:
        return json_reply({"status": "refused", "error": "another origin"}, HTTPStatus.FORBIDDEN)
    parts = request.path.partition("?")[0].split("/", 2)
    given = parts[1] if len(parts) == 3 else ""
    if not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
        return json_reply({"status": "refused", "error": "no such address"}, HTTPStatus.FORBIDDEN)
    return None


def _body(request: BaseHTTPRequestHandler) -> Mapping[str, Any]:
    """The JSON object that was sent."""
    if request.headers.get_content_type() != "application/json":
        raise _RequestError("expected Content-Type: application/json")
    length = request.headers.get("Content-Length", "")
    if not (length.isascii() and length.isdigit()) or int(length) > _MOST_BYTES:
        raise _RequestError(f"expected a Content-Length of {_MOST_BYTES:,} bytes at most")
    try:
        value = parse_json(request.rfile.read(int(length)), "request")
    except (DataError, OSError):
        raise _RequestError("expected JSON") from None
    if not isinstance(value, dict):
        raise _RequestError("expected a JSON object")
    return value
