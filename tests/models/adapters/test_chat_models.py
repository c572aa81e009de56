"""Vision-language models behind a real server: a tiny one answers there, and the network between misbehaves."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.api import examine
from sightline.errors import ConfigError, ModelError
from sightline.exams.budget import Budget, BudgetError
from sightline.exams.context.exam import ContextExam
from sightline.exams.estimates import rehearse, rounded
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.generation import generate, open_any
from sightline.models import candidate, canonical, load
from sightline.models.adapters.chat import likeliest
from sightline.models.adapters.prompts import Prompt
from sightline.skills import skills_of
from sightline.store import Dataset
from sightline.text import without_secrets

KEY = "sk-very-secret-0123456789"


def said(text: str | None, **more: Any) -> dict[str, Any]:
    """A chat completion."""
    usage = {"prompt_tokens": 100, "completion_tokens": 3}
    return {"choices": [{"message": {"content": text}, **more}], "usage": usage}


@dataclass
class ChatServer:
    """Answers with a model, with a fixed text, or as planned: status and body, ``drop``, ``cut`` or ``hang``."""

    answer: Any = "yes"
    plan: list[Any] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    delay: float = 0.0
    port: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def reply(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        with self.lock:
            self.seen.append(body)
            self.keys.append(request.headers.get("Authorization"))
            planned = self.plan.pop(0) if self.plan else None
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self.delay)
        if planned == "hang":
            self.over.wait(5)
        status, told, headers = (
            (200, self._said(body), {}) if planned is None or isinstance(planned, str) else planned
        )
        with self.lock:
            self.at_once -= 1
        if planned in ("hang", "drop"):
            return
        data = told if isinstance(told, bytes) else json.dumps(told).encode()
        request.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data[: len(data) // 2] if planned == "cut" else data)

    def _said(self, body: dict[str, Any]) -> dict[str, Any]:
        picture, text = body["messages"][0]["content"]
        if isinstance(self.answer, str):
            return said(self.answer)
        pixels = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
        with self.lock:
            prompt = Prompt(Image.open(io.BytesIO(pixels)).convert("RGB"), text["text"])
            reply = self.answer.complete(prompt, (), int(body.get("seed", 0)))
        message = {"choices": [{"message": {"content": reply.text}}]}
        return message | {"usage": {"prompt_tokens": reply.tokens_in, "completion_tokens": reply.tokens_out}}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChatServer]:
    made = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                made.reply(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        made.port = listening.server_address[1]
        monkeypatch.setenv("OPENAI_BASE_URL", made.base)
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.over.set()
        listening.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Two scenes of two or three objects."""
    folder = tmp_path_factory.mktemp("scenes")
    generate("geospa/train", folder / "d", scenes=2, seed=5, size=(48, 32), canonical=1, depth=None)
    return open_any(folder / "d")


FAST = ",backoff=0,concurrency=1"


def run(spec: str, data: Dataset, folder: Path, exam: Any = None, **how: Any) -> Run:
    return run_exam(exam or RelationsExam(), candidate(spec), data, folder, **how)


@pytest.mark.long
def test_a_real_model_behind_the_server_takes_the_exams(
    server: ChatServer, tiny_vlm: Path, generated: Path, tmp_path: Path, pictured_exam: Any
) -> None:
    """Every reply is what the model says when it is asked here, whatever went wrong on the way."""
    from sightline.models.adapters.vlm import VisionLanguage

    server.answer = VisionLanguage(tiny_vlm, decide="generate", max_new_tokens=2)
    server.plan = [(429, {"error": "slowly"}, {"Retry-After": "0"}), (500, "oops", {}), "drop", "cut"]
    spec = f"openai:tiny{FAST},max_completion_tokens=2,region=words"
    results = examine(spec, generated, out=tmp_path / "runs", limit=1, baselines=False)
    assert {"relations", "predicates", "context"} <= {exam.exam.name for exam in results.exams}
    assert not server.plan
    generate("cad/train", tmp_path / "cars", scenes=1, seed=5, size=(48, 32), depth=None)
    turing, images = pictured_exam
    for exam, data in ((turing, images), ("viewpoint", tmp_path / "cars")):
        (other,) = examine(spec, data, exam, out=tmp_path / "runs", limit=1, baselines=False)
        assert other.run.manifest["usage"]["requests"] == other.records.rows.height > 0
    local = examine(
        f"hf:{tiny_vlm},decide=generate,max_new_tokens=2,region=words",
        generated,
        ["relations", "predicates"],
        out=tmp_path / "local",
        limit=1,
        baselines=False,
    )
    for here, there in zip(local, (r for r in results if r.run.exam in ("relations", "predicates")), strict=True):
        assert here.records.rows["said"].to_list() == there.records.rows["said"].to_list()
        usage = there.run.manifest["usage"]
        assert usage["tokens_out"] == here.run.manifest["usage"]["tokens_out"] > 0
        # Random weights say nothing readable, and nothing is guessed; of the requests some were repeated.
        assert 0 < usage["unparsed"] <= usage["requests"]
        assert set(there.records.rows["answer"]) <= {None, "unknown"}


@pytest.mark.long
def test_a_real_model_behind_the_server_is_asked_in_other_words(
    server: ChatServer, tiny_vlm: Path, scenes: Dataset, tmp_path: Path
) -> None:
    """Reworded, reordered and swapped prompts reach the model, and what it says of them is held together."""
    from sightline.models.adapters.prompt_variants import reordered, reworded
    from sightline.models.adapters.vlm import VisionLanguage

    server.answer = VisionLanguage(tiny_vlm, decide="generate", max_new_tokens=2)
    spec = f"openai:tiny{FAST},max_completion_tokens=2,cache=false"
    kinds = ["paraphrase", "circular", "swap"]
    for name, exam in (("relations", RelationsExam()), ("predicates", PredicatesExam())):
        server.seen.clear()
        (result,) = examine(spec, scenes, exam, out=tmp_path / name, limit=1, baselines=False, vary=kinds)
        texts = [body["messages"][0]["content"][1]["text"] for body in server.seen]
        as_is = texts[: len(texts) // 4]
        assert texts[len(as_is) : 2 * len(as_is)] == [reworded(text) for text in as_is]
        assert texts[2 * len(as_is) : 3 * len(as_is)] == [reordered(text) for text in as_is]
        assert len(texts) == 4 * len(as_is)
        assert {kind: of.reason for kind, of in result.varied.kinds.items()} == dict.fromkeys(kinds, "")
        for of in result.varied.kinds.values():
            assert of.judgements == result.records.rows.filter(result.records.rows["right"].is_not_null()).height
            assert of.consistency is not None
            assert 0 <= of.consistency.value <= 1
    swapped = set(texts[3 * len(as_is) :])
    assert any("fits_inside: the second object is hollow" in text for text in swapped)


def test_what_is_sent(server: ChatServer, asked: Any) -> None:
    spec = "openai:org/eye,temperature=0.5,max_completion_tokens=9,enable_thinking=false,extra.top_p=0.9"
    model: Any = load(f"{spec},extra.chat_template_kwargs.style=short,extra.reasoning_effort=low")
    assert skills_of(model) == ("relate", "predicates", "answer", "viewpoint")
    model.begin_sample(2)
    assert model.answer(asked()) == "yes"
    body = server.seen[0]
    assert body.pop("messages")[0]["role"] == "user"
    assert body == {
        "model": "org/eye",
        "max_completion_tokens": 9,
        "temperature": 0.5,
        "seed": 2,
        "top_p": 0.9,
        "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": False, "style": "short"},
    }
    assert server.keys == [f"Bearer {KEY}"]
    assert model.usage() == {
        "requests": 1,
        "cached": 0,
        "tokens_in": 100,
        "tokens_out": 3,
        "unparsed": 0,
        "seconds": model.usage()["seconds"],
    }


def test_two_spellings_of_an_endpoint(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = canonical(f"openai:{server.base}#org/eye,region=crop")
    assert spec == f"openai:org/eye,url={server.base},region=crop"
    assert without_secrets(spec) == spec  # the model's name stays
    one, other = candidate(f"openai:{server.base}#org/eye"), candidate("openai:org/eye")
    assert one.fingerprint == other.fingerprint  # OPENAI_BASE_URL names the same
    assert candidate(f"openai:{server.base}#org/ear").fingerprint != one.fingerprint
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        load("openai:gpt")
    assert load(f"openai:{server.base}#org/eye")  # a server of one's own needs none


@pytest.mark.parametrize(
    ("text", "word", "right"),
    [
        ("first", "closer", None),  # the word
        ("<think>Is it second?</think> **First**", "closer", None),  # a model that reasons
        ("Sorry, I cannot tell.", None, "Sorry, I cannot tell."),  # nothing is guessed
        (None, None, ""),  # nothing was said
    ],
)
def test_replies_become_answers(
    text: str | None, word: str | None, right: str | None, server: ChatServer, scenes: Dataset, tmp_path: Path
) -> None:
    server.answer = None
    server.plan = [(200, said(text), {})] * 1000
    rows = run(f"openai:m{FAST},cache=false", scenes, tmp_path / "r", limit=1).records()
    depth = rows.filter(rows["aspect"] == "depth")
    assert set(depth["answer"]) == {word}
    assert set(depth["said"]) == {text or ""}
    assert set(rows.filter(rows["aspect"] == "occlusion")["answer"]) == {None if word is None else "occludes"}


def test_a_list_of_predicates(server: ChatServer, scenes: Dataset, tmp_path: Path) -> None:
    server.answer = "left, can_support"
    rows = run(f"openai:m{FAST}", scenes, tmp_path / "r", PredicatesExam(), limit=1).records()
    held = rows.filter(rows["answer"] == "yes")
    assert set(held["predicate"]) == {"left", "can_support"}
    assert set(rows["answer"]) == {"yes", "no"}
    assert len(server.seen) == len(rows) / 8  # a prompt a pair
    each = run(f"openai:m{FAST},per=predicate", scenes, tmp_path / "e", PredicatesExam(), limit=1)
    assert set(each.records()["answer"]) == {"unknown"}
    assert each.manifest["usage"]["unparsed"] == each.manifest["usage"]["requests"] == len(rows)


def test_replies_are_kept_by_prompt_and_pixels(
    server: ChatServer, scenes: Dataset, tmp_path: Path, asked: Any
) -> None:
    spec = f"openai:m{FAST}"
    first = run(spec, scenes, tmp_path / "a")
    requests = len(server.seen)
    again = run(spec, scenes, tmp_path / "b")
    assert len(server.seen) == requests  # all from disk
    assert again.manifest["usage"]["cached"] == requests == first.manifest["usage"]["requests"]
    assert again.records().equals(first.records())
    model: Any = load(spec)
    noise = np.random.default_rng(1).integers(0, 256, (20, 40, 3), dtype=np.uint8)
    view = asked().view
    changed = type(view)("0", load_image=lambda: noise)
    for question in (asked(), asked(), asked(view=changed), asked(text="Is there a cube?")):
        model.answer(question)
    assert len(server.seen) == requests + 3  # the same question about the same pixels is not asked again
    for other in (f"openai:n{FAST}", f"{spec},extra.top_p=0.5", f"{spec},cache=false"):
        load(other).answer(asked())  # another model, other options, no cache
    assert len(server.seen) == requests + 6
    for file in (tmp_path / "cache" / "replies").rglob("*.json"):
        file.write_text("{")  # spoilt
    model.answer(asked())
    assert len(server.seen) == requests + 7


@pytest.mark.parametrize("unit", ["requests", "tokens"])
def test_a_budget_stops_the_run_and_keeps_what_is_there(
    unit: Any, server: ChatServer, scenes: Dataset, tmp_path: Path
) -> None:
    spec = f"openai:m{FAST},cache=false"
    items = RelationsExam().settled(scenes).items(scenes)
    needed = [2 * len(item.pairs) for item in items]
    limit = needed[0] + 1 if unit == "requests" else 103 * (needed[0] + 1)
    stopped = run(spec, scenes, tmp_path / "r", budget=Budget(limit, unit))
    assert stopped.status == "stopped"
    assert len(server.seen) == needed[0] + 1
    assert stopped.done == {items[0].id}
    assert stopped.manifest["budget"].startswith(f"the budget of {limit:,} {unit} is spent: 1 of 2 items")
    assert stopped.asking is not None
    assert stopped.asking.items == {items[0].id}
    more = run(spec, scenes, tmp_path / "r", budget=Budget(10_000))
    assert (more.status, "budget" in more.manifest) == ("finished", False)
    assert more.manifest["usage"]["requests"] == sum(needed) + 1


def test_every_try_counts_towards_a_budget(server: ChatServer, asked: Any) -> None:
    server.plan = [(500, "oops", {})] * 10
    model = candidate(f"openai:m{FAST},cache=false").model
    model.budget = Budget(3)  # type: ignore[attr-defined]
    with pytest.raises(BudgetError, match="the budget of 3 requests is spent"):
        model.answer(asked())  # type: ignore[attr-defined]
    assert len(server.seen) == 3


def test_a_long_run_says_what_it_will_take(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sightline.exams import estimates

    scenes = generate("geospa/train", tmp_path / "d", scenes=3, seed=5, size=(48, 32), depth=None)
    said: list[str] = []
    run("openai:m,backoff=0,concurrency=4", scenes, tmp_path / "short", announce=said.append)
    assert not said  # half a minute is not long
    monkeypatch.setattr(estimates, "LONG", 0.0)
    monkeypatch.setattr(estimates, "MEASURED", 0.0)
    spec = f"openai:m{FAST},cache=false,price_in=10,price_out=100"
    done = run(spec, scenes, tmp_path / "long", announce=said.append)
    each = [2 * len(item.pairs) for item in RelationsExam().settled(scenes).items(scenes)]
    before, sentence = said
    assert before.startswith(f"3 items; about {sum(each)} requests, ")  # before anybody is asked
    assert f"at most {rounded(sum(each) * 64)} written, a cost of at most" in before
    assert sentence.startswith("1 item to go, about 0 min, ")
    mean = sum(each[:2]) / 2
    assert f"{round(mean)} requests, {rounded(100 * mean)} tokens read, {rounded(3 * mean)} written" in sentence
    assert sentence.endswith("judging by the first 2; --budget bounds it")
    usage = done.manifest["usage"]
    assert usage["cost"] == pytest.approx((usage["tokens_in"] * 10 + usage["tokens_out"] * 100) / 1e6, abs=1e-3)
    assert (
        candidate(spec).fingerprint == candidate(f"openai:m{FAST},cache=false").fingerprint
    )  # a price answers nothing


def test_what_is_kept_from_before_is_not_estimated(server: ChatServer, scenes: Dataset, tmp_path: Path) -> None:
    exam = RelationsExam().settled(scenes)
    items = exam.items(scenes)
    model = candidate(f"openai:m{FAST},price_in=10").model
    every = sum(2 * len(item.pairs) for item in items)
    each = rehearse(exam, model, scenes, items, 1)
    assert each is not None
    assert not server.seen
    assert each.requests * len(items) == every
    words = len(model.style.template) / 4  # type: ignore[attr-defined]
    assert words / 2 < each.tokens_in / each.requests < 4 * words  # a text of that kind and 48 × 32 pixels
    assert each.cost == pytest.approx(each.tokens_in * 10 / 1e6)
    again = rehearse(exam, model, scenes, items, 3)
    assert again is not None
    assert again.requests == 3 * each.requests
    run(f"openai:m{FAST}", scenes, tmp_path / "r", limit=1)
    rest = rehearse(exam, model, scenes, items, 1)
    assert rest is not None
    assert rest.requests * len(items) == every - 2 * len(items[0].pairs)


def test_prices_from_the_environment(server: ChatServer, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_PRICE_IN", "3")
    monkeypatch.setenv("SIGHTLINE_PRICE_OUT", "20")
    model: Any = load(f"openai:m{FAST},cache=false")
    model.answer(asked())
    assert model.usage()["cost"] == pytest.approx((100 * 3 + 3 * 20) / 1e6)
    monkeypatch.setenv("SIGHTLINE_PRICE_OUT", "much")
    with pytest.raises(
        ConfigError, match="SIGHTLINE_PRICE_OUT: expected what a million tokens costs, found 'much'"
    ):
        load("openai:m")


@pytest.mark.parametrize("unit", ["requests", "tokens"])
def test_a_small_budget_finishes_as_many_items_as_it_can(
    unit: Any, server: ChatServer, generated: Path, tmp_path: Path
) -> None:
    """Several items are asked at once, but not so many that nobody has enough left to be finished."""
    data = Dataset.open(generated)
    exam = PredicatesExam()
    needed = [len(item.patches) * (len(item.patches) - 1) for item in exam.items(data)]
    server.delay, server.answer = 0.002, "left"
    for items in (1, 3):
        requests = sum(needed[:items]) + 1
        budget = Budget(requests if unit == "requests" else 103 * requests, unit)
        spec = "openai:m,backoff=0,cache=false,concurrency=4"
        stopped = run(spec, data, tmp_path / f"{items}", exam, budget=budget)
        assert stopped.status == "stopped"
        assert items - 1 <= len(stopped.done) <= items  # without holding back it was none of one, none of three
        assert len(stopped.done) >= 1
    assert server.most_at_once <= 4


def test_a_budget_that_is_too_small_says_how_far_it_goes(
    server: ChatServer, scenes: Dataset, tmp_path: Path
) -> None:
    said: list[str] = []
    with pytest.raises(ConfigError, match="the budget of 1 requests is spent"):
        examine(
            f"openai:m{FAST}",
            scenes,
            "relations",
            out=tmp_path,
            baselines=False,
            budget=Budget(1),
            announce=said.append,
        )
    (sentence,) = said
    assert sentence.endswith("A budget of 1 requests is enough for about 0 items")


def test_requests_of_varied_runs_are_counted_and_their_budget_told(
    server: ChatServer, scenes: Dataset, tmp_path: Path
) -> None:
    server.answer = "first"
    spec, exam = f"openai:m{FAST},cache=false", RelationsExam().settled(scenes)
    every = sum(2 * len(item.pairs) for item in exam.items(scenes))
    how: dict[str, Any] = {"out": tmp_path / "r", "baselines": False, "vary": ["swap", "mirror"]}
    whole = examine(spec, scenes, "relations", **how)
    assert len(server.seen) == 3 * every
    (note,) = [note for note in whole.exams[0].notes if "request" in note]
    assert note.startswith(f"openai:m, with 2 variants: {3 * every} requests, ")
    how |= {"out": tmp_path / "b", "budget": Budget(every + 1)}
    stopped = examine(spec, scenes, "relations", **how)
    variations = stopped.to_dict()[0]["variations"]
    assert "is spent: 0 of 2 items are answered, in swap" in variations["swap"]["reason"]
    assert any(note.startswith("openai:m, swap: the budget of") for note in stopped.exams[0].notes)
    assert not any(note.startswith("openai:m: the budget") for note in stopped.exams[0].notes)


def test_tables_call_an_endpoint_as_it_was_typed(server: ChatServer) -> None:
    for spec, name in {
        "openai:org/eye": "openai:org/eye",
        f"openai:{server.base}#llava": "openai:llava",
        "openai:m,region=crop,temperature=0.5,concurrency=2": "openai:m,region=crop,temperature=0.5",
        f"http:url={server.base},kind=chat,model=m,history=2": "http:m,history=2",
    }.items():
        assert candidate(spec).name == name


def test_budgets_are_written_so() -> None:
    assert Budget.parse("1_000 tokens") == Budget(1000, "tokens")
    for text in ("0", "many", "5 dollars", "-3"):
        with pytest.raises(ConfigError, match="a budget is a number of requests"):
            Budget.parse(text)
    spent = Budget(1)
    spent.request()
    with pytest.raises(BudgetError):
        spent.request()


def test_items_are_asked_at_once_and_written_in_order(server: ChatServer, generated: Path, tmp_path: Path) -> None:
    data = Dataset.open(generated)
    server.delay, server.answer = 0.01, "second"
    fast = run("openai:m,backoff=0,concurrency=3", data, tmp_path / "r")
    assert 2 <= server.most_at_once <= 3
    server.delay = 0.0
    slow = run(f"openai:m{FAST}", data, tmp_path / "s")
    assert fast.records().equals(slow.records())
    assert slow.manifest["usage"]["requests"] == 0  # the order of the questions changes nothing


@pytest.mark.parametrize("name", ["turing", "context", "predicates"])
def test_every_exam_may_be_asked_at_once(
    name: str, server: ChatServer, generated: Path, tmp_path: Path, pictured_exam: Any
) -> None:
    """The same records, whoever waits for whom: streams of questions and edits are made in several threads."""
    exam: Any = {"turing": pictured_exam[0], "context": ContextExam(), "predicates": PredicatesExam()}[name]
    server.delay, server.answer = 0.005, "yes"
    spec = "openai:m,backoff=0,cache=false,concurrency="
    fast, slow = (
        run(f"{spec}{n}", open_any(generated), tmp_path / str(n), exam, limit=5).records() for n in (4, 1)
    )  # opened twice: streams that were made stay with the data
    assert server.most_at_once > 1
    assert fast.drop("seconds", strict=False).equals(slow.drop("seconds", strict=False))


def test_draws_are_kept(server: ChatServer, scenes: Dataset, tmp_path: Path) -> None:
    words = ("first", "second", "first")
    items = RelationsExam().settled(scenes).items(scenes)
    server.plan = [(200, said(word), {}) for item in items for word in words for _ in range(2 * len(item.pairs))]
    drawn = run(f"openai:m{FAST},temperature=1", scenes, tmp_path / "r", samples=3)
    rows = drawn.records()
    depth = rows.filter(rows["aspect"] == "depth")
    assert {tuple(of) for of in depth["samples"]} == {("closer", "farther", "closer")}
    assert set(depth["answer"]) == {"closer"}  # the first draw is the answer
    assert {body["seed"] for body in server.seen} == {0, 1, 2}
    assert drawn.options["samples"] == 3
    again = run(f"openai:m{FAST},temperature=1", scenes, tmp_path / "again", samples=3)
    assert again.manifest["usage"]["requests"] == 0  # draws are kept too, each by its number
    with pytest.raises(ConfigError, match="replies are not drawn at temperature 0"):
        run(f"openai:m{FAST}", scenes, tmp_path / "t", samples=2)


def test_likelihoods_of_a_server(server: ChatServer, asked: Any) -> None:
    tokens = [
        {"token": "No", "logprob": -0.2},
        {"token": " no", "logprob": -3.0},
        {"token": "Yes", "logprob": -1.9},
    ]
    server.plan = [(200, said("No", logprobs={"content": [{"top_logprobs": tokens}]}), {}), (200, said("No"), {})]
    model: Any = load(f"openai:m{FAST},decide=likelihood,cache=false")
    said_no = model.answer(asked())
    assert said_no == "no"
    chances = np.exp([-0.2, -3.0, -1.9])
    assert said_no.confidence == pytest.approx(chances[:2].sum() / chances.sum())
    assert (server.seen[0]["logprobs"], server.seen[0]["top_logprobs"]) == (True, 20)
    with pytest.raises(ModelError, match="it gives no likelihoods"):
        model.answer(asked())
    assert likeliest({"content": []}, ("a", "b")) == ("", 0.0)
    tie = [{"token": "a", "logprob": -1.0}, {"token": "b", "logprob": -1.0}]
    assert likeliest({"content": [{"top_logprobs": tie}]}, ("a", "b")) == ("", 0.0)


@pytest.mark.parametrize(
    ("planned", "says"),
    [
        ((200, b"<html>", {}), "its answer is not JSON"),  # garbage
        ((200, {"choices": []}, {}), "expected a chat completion"),  # JSON of another form
        ((401, {"error": f"bad key {KEY}"}, {}), "status 401"),  # refused
    ],
)
def test_garbage_ends_the_run_and_another_call_goes_on(
    planned: Any, says: str, server: ChatServer, scenes: Dataset, tmp_path: Path
) -> None:
    items = RelationsExam().settled(scenes).items(scenes)
    first = 2 * len(items[0].pairs)
    server.plan = [(200, said("first"), {})] * first + [planned]
    with pytest.raises(ModelError, match=says) as raised:
        run(f"openai:m{FAST}", scenes, tmp_path / "r")
    assert KEY not in str(raised.value)
    assert Run.open(tmp_path / "r").status == "failed"
    done = run(f"openai:m{FAST}", scenes, tmp_path / "r")
    assert done.status == "finished"
    assert len(server.seen) == first + 1 + 2 * len(items[1].pairs)


def test_a_slow_server_is_asked_again(server: ChatServer, asked: Any) -> None:
    server.plan = ["hang"]
    assert load(f"openai:m{FAST},timeout=0.3").answer(asked()) == "yes"
    assert len(server.seen) == 2


@pytest.mark.long
def test_the_key_is_nowhere(
    server: ChatServer, scenes: Dataset, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from sightline.api import report

    server.answer = f"second. {KEY}"  # a server that repeats it
    results = examine(f"openai:m{FAST}", scenes, ["relations", "context"], out=tmp_path / "runs", baselines=False)
    report(tmp_path / "runs", tmp_path / "card.html", data=scenes, resamples=50)
    print(results, results[0].run.manifest)
    assert server.keys[0] == f"Bearer {KEY}"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"manifest.json", "records.jsonl", "card.html"} <= {path.name for path in files}
    assert any("replies" in path.parts for path in files)
    page = (tmp_path / "card.html").read_text()
    assert "Replies in their own words" in page
    assert "second. …" in page  # what was said stands there, without the key
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
    captured = capfd.readouterr()
    assert KEY not in captured.out + captured.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (",concurrency=0", "concurrency must be 1 to 256"),  # nobody asks
        (",max_completion_tokens=0", "max_completion_tokens must be at least 1"),  # no room
        (",sections=5", "sections must be 4 or 8"),  # no such sections
        (",temperature=-1", "temperature must not be negative"),  # colder than cold
        (",temperature=1,decide=likelihood", "by likelihood nothing is drawn"),  # nothing to draw
        (",per=pair,decide=likelihood", "predicates are asked one by one"),  # a list has no likelihood
        (",extra=1", "openai has no option 'extra'"),  # of what?
        (",region=point", "expected draw or crop or words"),  # no such way
    ],
)
def test_bad_options(options: str, says: str, server: ChatServer) -> None:
    with pytest.raises(ConfigError, match=says):
        load(f"openai:m{options}")
