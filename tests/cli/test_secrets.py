"""Secrets in the address of a server: they are sent to it, and stand in no file, folder name, message or page."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sightline.errors import SightlineError
from sightline.generation import generate
from sightline.models.registry import candidate
from sightline.text import printable, secrets_of, without_secrets

Cli = Callable[..., Any]
SECRETS = ("sk-0123456789abcdef", "t0k/en+Value", "pass-phrase", "bearer-key-777")
QUERY = "api_key=sk-0123456789abcdef&access_token=t0k%2Fen%2BValue&version=2&sig=pass-phrase"


@pytest.fixture
def echo() -> Iterator[Any]:
    """A server that repeats what it was sent, in its answers and its refusals."""

    class Handler(BaseHTTPRequestHandler):
        refuses = False
        seen: list[tuple[str, str]] = []  # noqa: RUF012

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            type(self).seen.append((self.path, self.headers["Authorization"]))
            told = f"\x1b[31m{self.path} {self.headers['Authorization']} {' '.join(SECRETS)}"
            data = told.encode() if self.refuses else json.dumps({"answer": f"yes {told}"}).encode()
            self.send_response(401 if self.refuses else 200, "No " + SECRETS[0] if self.refuses else None)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        Handler.seen = []
        Handler.url = f"http://127.0.0.1:{listening.server_address[1]}"  # type: ignore[attr-defined]
        yield Handler
        listening.shutdown()
        thread.join()


@pytest.mark.long
def test_an_exam_leaves_no_secret_anywhere(
    echo: Any, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EYE_KEY", SECRETS[3])
    for name, scenes in (("train", 12), ("data", 2)):
        generate("geospa/train", tmp_path / name, scenes=scenes, seed=len(name), size=(48, 32), depth=None)
    spec = f"http:url={echo.url}/answer?{QUERY},key=EYE_KEY,retries=0"
    exam = ["exam", "turing", "--data", tmp_path / "data", "--train", tmp_path / "train", "--min-support", 3]
    exam += ["--questions", 3, "--model", spec, "--no-baselines", "--out", tmp_path / "runs"]
    outcomes = [cli(*exam, "--json"), cli(*exam), cli(*exam, "--overwrite", "--workers", 1)]
    assert [done.code for done in outcomes] == [0, 0, 0], outcomes[-1].err
    assert echo.seen[0] == (f"/answer?{QUERY}", f"Bearer {SECRETS[3]}")  # the server has them all
    assert len(echo.seen) % 2 == 0
    assert (
        echo.seen[: len(echo.seen) // 2] == echo.seen[len(echo.seen) // 2 :]
    )  # again in the other process, with the secrets; not in between
    outcomes.append(cli("report", tmp_path / "runs", "--out", tmp_path / "card.html", "--resamples", 100))
    outcomes.append(cli("score", "turing", "--run", next((tmp_path / "runs" / "turing").iterdir())))
    echo.refuses = True
    outcomes.append(cli(*exam, "--overwrite"))
    assert (outcomes[3].code, outcomes[-1].code) == (0, 2)
    assert "/answer: status 401 No …: " in " ".join(outcomes[-1].err.split())
    outcomes.append(cli(*exam[:-5], "--model", misspelt(echo.url)[1], "--out", tmp_path / "no"))
    for done in outcomes:
        for secret in SECRETS:
            assert secret not in done.out + done.err
            assert "\x1b" not in done.out + done.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"manifest.json", "records.jsonl", "card.html", "card.json", "card.md"} <= {path.name for path in files}
    for path in files:
        for secret in (*SECRETS, "t0k%2Fen%2BValue"):
            assert secret not in path.as_posix()
            assert secret.encode() not in path.read_bytes(), path
    manifest = json.loads(next((tmp_path / "runs").rglob("manifest.json")).read_text())
    assert "version=2" in manifest["identity"]["model"]  # what tells two servers apart stays


def misspelt(url: str) -> list[str]:
    """Specs with secrets that cannot be loaded."""
    place = url.partition("://")[2]
    return [
        f"http:url=http://me:{SECRETS[2]}@{place}/answer",
        f"http://me:{SECRETS[2]}@{place}/answer?{QUERY}",
        f"http:url={url}/answer?api_key={SECRETS[0]},{SECRETS[0]}",
        f"http:url={url}/answer?{QUERY},kind=talk",
        f"http:url={url}/{'x' * 300}?{QUERY},kind=chat",
        f"http:url={url}/answer,key={SECRETS[3]}",
        f"httpp:url={url}/answer?{QUERY}",
    ]


@pytest.mark.parametrize("number", range(7))
def test_errors_repeat_no_secret(number: int) -> None:
    with pytest.raises(SightlineError) as told:
        candidate(misspelt("http://127.0.0.1:9")[number])
    assert not [secret for secret in SECRETS if secret in str(told.value)], str(told.value)


def test_two_servers_are_told_apart_but_not_by_their_secrets() -> None:
    specs = {
        name: candidate(f"http:url=http://127.0.0.1:9/{query}").spec
        for name, query in {"a": "x?v=1&key=1", "b": "x?v=1&key=2", "c": "x?v=2&key=1", "d": "y?v=1&key=1"}.items()
    }
    assert specs["a"] == specs["b"]
    assert len(set(specs.values())) == 3


@pytest.mark.parametrize(
    ("text", "shown", "secrets"),
    [
        ("https://h/a", "https://h/a", []),
        ("https://u:p%40w@h:8/a?x=1#frag", "https://…@h:8/a?x=1", ["p%40w", "p@w", "u"]),
        ("https://tok@h", "https://…@h", ["tok"]),
        ("http://h/?TOKEN=a&b=2", "http://h/?TOKEN=…&b=2", ["a"]),
        ("http://h/?q=0123456789abcdef", "http://h/?q=…", ["0123456789abcdef"]),  # long enough to be one
        ("http://h/?0123456789abcdef", "http://h/?…", ["0123456789abcdef"]),
        ("see http://h/?key=a, or HTTPS://h/?pwd=b", "see http://h/?key=…, or HTTPS://h/?pwd=…", ["a"]),
        ("no address: key=7", "no address: key=7", []),
    ],
)
def test_addresses_without_their_secrets(text: str, shown: str, secrets: list[str]) -> None:
    assert without_secrets(text) == shown
    assert secrets_of(text) == secrets


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path, cli: Cli) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202etxt.exe\r\x00\x9b31m"
    assert printable(hostile) == r"\x1b]0;owned\x07\x1b[2J\u202etxt.exe\x0d\x00\x9b31m"
    assert printable("né\t→ 中\n") == "né\t→ 中\n"
    (tmp_path / "m.py").write_text(
        f"import numpy as np\nfrom sightline.skills import Verdicts\nclass M:\n    name = {hostile!r}\n"
        "    def predicates(self, queries):\n"
        "        return Verdicts(np.ones((len(queries), len(queries), 8), dtype=np.int8))\nm = M()\n"
        "class Broken(M):\n    def predicates(self, queries):\n"
        f"        raise ValueError({hostile!r})\nb = Broken()\n"
    )
    generate("geospa/train", tmp_path / "d", scenes=2, size=(40, 30), depth=None, canonical=1)
    words = ("exam", "predicates", "--data", tmp_path / "d", "--no-baselines", "--out", tmp_path / "r", "--model")
    outcomes = [cli(*words, f"{tmp_path / 'm.py'}:{name}") for name in ("m", "b")]
    outcomes += [cli(*words, f"{tmp_path / 'm.py'}:m", "--json"), cli("compare", tmp_path / "r", tmp_path / "r")]
    assert [done.code for done in outcomes[:3]] == [0, 2, 0], outcomes[0].err
    assert "owned" in outcomes[0].out
    assert "owned" in outcomes[1].err
    for done in outcomes:
        for code in "\x1b\x07\u202e\r\x00\x9b":
            assert code not in done.out + done.err
