"""A page with every kind of content, all of whose words are hostile if wanted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sightline.exams.predicates.drawing import SizedPicture
from sightline.show.chart import DotRow, dot_intervals
from sightline.show.markup import part_style
from sightline.show.page import ExamPart, Example, ExampleKind, Figure, FigureRow, Page, Section, render_part
from sightline.show.table import Cell, Row, Table, scored, shared
from sightline.show.xy import by_part, xy_chart
from sightline.stats import Interval

HOSTILE = "<script>alert('x')</script>\"&|*_\x00\x1b\ud800{{ 7*7 }} https://example.org/x.js"
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
MODELS = ("sornet", "a_rather_long_model_name@revision")
EXAMS = {"predicates": "Predicates", "turing": "Turing exam"}
KINDS: tuple[ExampleKind, ...] = ("worst", "typical", "perfect")
SIGNS = {
    "false_positive": ("+", "wrongly said"),
    "false_negative": ("−", "missed"),
    "true_positive": ("✓", "rightly said"),
}
MARKS = {"wrong": ("✗", "not true"), "silent": ("∅", "no answer"), "right": ("✓", "true")}


def interval(value: float, room: float = 0.02) -> Interval:
    return Interval(value, value - room, value + room, 900, "percentile bootstrap")


def page(words: str = "words") -> Page:
    """A report of two exams; `words` stand wherever words can."""
    return Page(
        title=f"{MODELS[0]} {words}",
        made="2026-01-02T03:04:05+00:00",
        lead=(f"The best of the 2 models, {MODELS[0]}, is right in 93.0 % of the judgements.", words),
        summary=_summary(words),
        parts=tuple(_part(exam, title, words) for exam, title in EXAMS.items()),
        examples=tuple(_example(exam, model, kind, words) for exam in EXAMS for model in MODELS for kind in KINDS),
        provenance=_provenance(words),
        warnings=(f"One run is unfinished: {words}",),
    )


def _summary(words: str) -> Table:
    rows = []
    for exam in EXAMS.values():
        for i, model in enumerate(MODELS):
            weakest = Cell(f"weakest at contains: 41.0 % ({words})")
            cells = (Cell(model), shared(interval(0.93 - i / 10)), Cell("60.1 %", "majority"), weakest)
            rows.append(Row(exam, cells, "" if i else "focus"))
    columns = ("exam", "model", "headline", "best blind baseline", "weakest point")
    return Table("Exams and models", columns, tuple(rows), words=("model", "weakest point"))


def _provenance(words: str) -> tuple[Section, ...]:
    columns = ("model", "asked for as", "says of itself")
    models = Table("", columns, _rows(words, 2), words=columns[1:])
    versions = "runs made with numpy 2.0; data fingerprint 0123456789abcdef"
    return (
        Section("intervals", "Intervals", (f"All intervals are 95 %. {words}",)),
        Section("models", "Models in their own words", content=(models,)),
        Section("versions", "Versions", (versions,), folded=True),
    )


def _rows(words: str, cells: int) -> tuple[Row, ...]:
    kinds = ("focus", "blind")
    return tuple(Row(f"{words} {i}", (Cell(words),) * cells, kind) for i, kind in enumerate(kinds))


def _part(exam: str, title: str, words: str) -> ExamPart:
    sections = (
        Section("scores", "Scores", (words,), (_forests(words), _scores(words), Table("Absent", ("a",), ()))),
        Section("parts", "Where it falls", (), _where(words)),
        Section("more", f"More {words}", (words,), (_scores(words),), folded=True),
    )
    return ExamPart(
        exam,
        title,
        lead=(f"{MODELS[0]} is best. {words}",),
        facts=(("Data", f"replica {words}"), ("Split", "test")),
        sections=sections,
        warnings=(f"Mind this: {words}",),
        commands=(f"sightline exam {exam} --data '{words}'", "sightline report runs"),
        document={"exam": exam, "score": float("nan")},
        examples_lead=(words,),
        examples_legend=_legend(exam),
        kinds={"worst": f"Most mistakes. {words}"},
        style=part_style(f"sightline.exams.{exam}", "example.css"),
    )


def _forests(words: str) -> FigureRow:
    rows = [DotRow(MODELS[0], 93.0, 92.0, 94.0, "model", words), DotRow(words, 60.0, 59.0, 61.0)]
    charts = tuple(Figure(name, dot_intervals(rows, digits=1)) for name in ("All", "Spatial"))
    key = (("model", "examined here"), ("blind", "blind baselines"), ("dash", words), ("", "95 % intervals."))
    return FigureRow("", charts, key=key)


def _scores(words: str) -> Table:
    columns = ("model", *("precision", "recall", "F1") * 2)
    cells = tuple(scored(interval(0.8 + i / 40)) for i in range(6))
    rows = tuple(Row(model, cells, "" if i else "focus") for i, model in enumerate(MODELS))
    return Table(
        "Micro and macro", columns, rows, (("all pairs together (micro)", 3), (f"mean ({words})", 3)), words
    )


def _where(words: str) -> tuple[Table | Figure | FigureRow, ...]:
    names = ["2", "3", "4", "5"]
    blind = by_part(words, names, [interval(0.6 - i / 40) for i in range(4)])
    model = by_part(MODELS[0], names, [interval(0.95 - i / 40) for i in range(4)], "model")
    chart = xy_chart([blind, model], x_names=names, title=words, width=340.0, height=150.0)
    narrow = [Table(f"Narrow {i}", ("a", "b"), _rows("n", 1), note=words) for i in range(2)]
    small = FigureRow("By number", tuple(Figure(f"{words} {i}", chart) for i in range(3)), words, small=True)
    return (small, Figure(words, chart, words), *narrow)


def _legend(exam: str) -> str:
    values: dict[str, Any] = {"kinds": SIGNS} if exam == "predicates" else {"marks": MARKS}
    return render_part(f"sightline.exams.{exam}", "legend.html.j2", **values)


def _example(exam: str, model: str, kind: ExampleKind, words: str) -> Example:
    html = _scene(words) if exam == "predicates" else _stream(words)
    table = Table("", ("", "question"), _rows(words, 1)) if exam == "turing" else None
    title, note = f"scene_{kind} {words}", f"3 of 4 wrong {words}"
    return Example(exam, model, kind, f"{kind}/{words}", title, html, note, {"wrong": 3}, table)


def _scene(words: str) -> str:
    view = SimpleNamespace(svg=dot_intervals([DotRow(words, 0.5)], title=words), name=words)
    asked = SimpleNamespace(patch=PIXEL, number=1, words=words, hidden=0.4, heat=[SizedPicture(PIXEL, 1, 1)])
    outcome = SimpleNamespace(predicate="left", right=3, asked=4, pairs={"true_positive": [1]})
    outcome.sentences = lambda kind: [f"1 left of 3 {words}"]
    scene = SimpleNamespace(views=[view], objects=[asked] * 2, outcomes=[outcome] * 4)
    values = {"scene": scene, "kinds": SIGNS, "phrases": {"left": words}}
    return render_part("sightline.exams.predicates", "example.html.j2", **values)


def _stream(words: str) -> str:
    svg = dot_intervals([DotRow(words, 0.5)], title=words)
    line = SimpleNamespace(number=1, p_yes=None, support=40, label=words, reply="yes")
    one = SimpleNamespace(line=line, outcome="wrong", opens=True, map="", css="#ffffff", answer="no")
    one.before = one.region = one.after = words
    stream = SimpleNamespace(svg=svg, questions=[one] * 3, transcript=SimpleNamespace(scene_id=words))
    return render_part("sightline.exams.turing", "example.html.j2", stream=stream, marks=MARKS)
