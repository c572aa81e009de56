"""The Turing exam on the report card: accuracy by type, step and story, whether it leaks, and single streams."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from sightline.exams.base import Name
from sightline.exams.card import CardContext, value_words
from sightline.exams.scoring import RunResult
from sightline.exams.turing.conversation import REPLIES
from sightline.exams.turing.drawing import MARKS, StreamExample, stream_example
from sightline.exams.turing.measures import KINDS, stream_rows
from sightline.exams.turing.monitor import GUESSED, LEAST_IMAGES
from sightline.exams.turing.stream.steps import HALTED
from sightline.exams.turing.transcript import transcripts
from sightline.show.chart import SMALL, histogram
from sightline.show.frame import frame_of
from sightline.show.markup import part_style, render_part
from sightline.show.page import Example, Figure, FigureRow, Section
from sightline.show.table import Cell, Row, Table, figure, known, percent, shared
from sightline.show.xy import FEWEST, Point, band_chart, by_part, calibration_chart, common_domain, xy_chart
from sightline.stats import Interval
from sightline.text import counted

_PACKAGE: Final = "sightline.exams.turing"

TYPES: Final = {
    "all": "all questions",
    "exist": "existence",
    "unique": "uniqueness",
    "attribute": "attribute",
    "relation": "relation",
}
"""Question type → how a reader is told of it."""

AXES: Final = {
    "by_step": "By step of the stream",
    "by_story": "By story line",
    "by_support": "By support of the estimate",
}
"""Place in the scores → its heading."""

SCORES_TEXT: Final = (
    "Every question is a yes or a no, chosen so that its true answer cannot be told from the questions and answers "
    "before it. Whoever does not look at the picture is right about half the time; a little more where the "
    "engine’s estimate leaves room, at most ε away from one half. Every question counts the same. An abstention, a "
    "reply nobody can read and a late one are not right. Ambiguous questions are never asked and never count."
)


def document(card: CardContext) -> dict[str, Any]:
    """How the streams were made, and how long they are."""
    options = {key: value for key, value in card.focus.run.options.items() if key not in ("split", "withhold")}
    return {"options": options, "lengths": {str(n): count for n, count in _lengths(card).items()}}


def reference_lines(card: CardContext, name: Name) -> Sequence[tuple[float, str]]:  # noqa: ARG001 - a hook
    """What a coin reaches."""
    return [(0.5, "a coin")]


def words(name: Name) -> str:
    """A figure in words."""
    return "share of right answers" if name.label == "all" else f"{TYPES.get(name.label, name.label)} questions"


def reached(result: RunResult) -> str:
    """How many questions are answered right."""
    assert result.scores.headline is not None
    name, value = result.scores.headline
    return f"answers {value_words(value, name)} of the questions as is true"


def details(card: CardContext, result: RunResult) -> Iterator[str]:  # noqa: ARG001 - a hook
    """The question types with the lowest and the highest accuracy."""
    shares = {kind: result.scores.at("accuracy", kind) for kind in KINDS}
    values = {kind: share.value for kind, share in shares.items() if share is not None and known(share)}
    if len({*values.values()}) > 1:
        low, high = min(values, key=lambda k: values[k]), max(values, key=lambda k: values[k])
        yield (
            f"{result.name} is weakest in {TYPES[low]} questions ({percent(values[low])}) and best in "
            f"{TYPES[high]} questions ({percent(values[high])})."
        )


def card_facts(card: CardContext) -> Iterator[tuple[str, str]]:
    """How much was asked, in which words, and whether true answers were shown."""
    facts, options = card.focus.scores.facts, card.focus.run.options
    streams, images = counted(facts["n_streams"], "stream"), counted(facts["n_images"], "image")
    yield "asked", f"{counted(facts['n_questions'], 'question')} in {streams} about {images}"
    yield "vocabulary", str(options.get("vocabulary") or "")
    yield "true answers", "withheld" if options.get("withhold") else "told after each question"


def cautions(card: CardContext) -> Iterator[str]:
    """A warning where the answers could have been guessed."""
    if card.shared["monitor"]["leaky"]:
        yield verdict(card.shared["monitor"])


def scores(card: CardContext) -> Iterator[Figure | Table]:
    """Accuracy by question type; every run in one line, with how its replies divide."""
    yield _type_figure(card)
    yield _overview_table(card)


def sections(card: CardContext) -> Iterator[Section]:
    """Accuracy in parts, whether it could be guessed, how the streams were made."""
    if card.answered:
        figures = FigureRow("", tuple(_axis_figures(card)), small=True)
        tables = [_axis_table(card, axis) for axis in AXES]
        yield Section("parts", "By step, story line and support", (SCORES_TEXT,), (figures, *tables))
    watched = card.shared["monitor"]
    figures = FigureRow("", tuple(_monitor_figures(card)), small=True)
    yield Section("guessed", "Could it be guessed?", (verdict(watched),), (figures, *_monitor_tables(watched)))
    streams = (_streams_table(card), _options_table(card))
    yield Section("streams", "How the streams were made", (), streams, folded=True)


def verdict(watched: Mapping[str, Any]) -> str:
    """Whether the answers could have been guessed."""
    if not watched["yes_by_step"]:
        return "No question was asked, so there is nothing to watch."
    if watched.get("verdict") == "too few images":
        return f"Too few images to say: {watched['images']}, of {LEAST_IMAGES} at least."
    if watched["leaky"]:
        return "The stream leaks: " + "; ".join(watched["reasons"]) + "."
    return (
        "Nothing speaks for the answers being predictable: of no question type and in no stretch of steps does the "
        f"share of yes lie wholly outside the band, and no blind baseline is clearly above {percent(GUESSED, 0)}."
    )


def _overview_table(card: CardContext) -> Table:
    """Every run in one line: accuracy by question type, then how the replies divide."""
    spoken = [word for word in REPLIES if any(_share(r, word) > 0 for r in card.answered)]
    rows = []
    for result in card.answered:
        cells = [shared(result.scores.at("accuracy", kind)) for kind in TYPES]
        rows.append(card.row(result, [*cells, *(shared(result.scores.at("replies", word)) for word in spoken)]))
    columns = ("model", *("all" if k == "all" else words for k, words in TYPES.items()), *spoken)
    return Table("At a glance", columns, tuple(rows), (("accuracy", len(TYPES)), ("replies", len(spoken))))


def _axis_table(card: CardContext, axis: str) -> Table:
    """Accuracy of every run in parts."""
    parts = card.parts(axis)
    rows = [card.row(r, [shared(r.scores.at(axis, part)) for part in parts]) for r in card.answered]
    return Table(AXES[axis], ("model", *parts), tuple(rows) if parts else ())


def _type_figure(card: CardContext) -> Figure:
    kinds = [kind for kind in TYPES if kind != "all"]
    names = [TYPES[kind] for kind in kinds]
    lines = [by_part(r.name, names, [r.scores.at("accuracy", k) for k in kinds], card.kind(r)) for r in card.few]
    title = "Share of right answers by question type"
    return Figure("By type of question", xy_chart(lines, title=title, x_names=names, joined=False, unit="image"))


def _axis_figures(card: CardContext) -> Iterator[Figure]:
    """Accuracy by step, story line and support, on one scale."""
    values = {
        axis: {r.name: [r.scores.at(axis, part) for part in card.parts(axis)] for r in card.few} for axis in AXES
    }
    domain = common_domain([v for of_axis in values.values() for row in of_axis.values() for v in row])
    for axis, words in AXES.items():
        names = [short(part) for part in card.parts(axis)]
        lines = [by_part(r.name, names, values[axis][r.name], card.kind(r)) for r in card.few]
        title = f"Right answers, {words.lower()}"
        yield Figure(words, xy_chart(lines, title=title, x_names=names, y_domain=domain, unit="image", width=SMALL))


def _monitor_tables(watched: Mapping[str, Any]) -> Iterator[Table]:
    """Share of yes among the true answers, by type and by steps; estimated chances against what was seen."""
    epsilon, by_type = watched["epsilon"], watched["yes_by_type"]
    rows = [Row(TYPES[kind], _share_cells(by_type.get(kind))) for kind in ("all", *KINDS)]
    steps = [Row(f"steps {name}", _share_cells(seen)) for name, seen in watched["yes_by_steps"].items()]
    band = f"{100 * (0.5 - epsilon):.0f}–{100 * (0.5 + epsilon):.0f} %"
    note = f"The engine keeps the estimated chance of a yes within {band}; images are the independent unit."
    columns = ("questions", "true answer yes", "images")
    yield Table("Share of yes, by type", columns, tuple(rows) if steps else (), note=note)
    yield Table("Share of yes, by step", columns, tuple(steps))
    bins = [
        Row(
            f"{100 * one['bin'][0]:.0f}–{100 * one['bin'][1]:.0f} %",
            (
                Cell(f"{100 * one['estimated']:.1f} %"),
                shared(Interval.from_dict(one["seen"])),
                Cell(f"{one['n']:,}"),
            ),
        )
        for one in watched["calibration"]
    ]
    note = f"Mean distance of the two, weighted by questions: {figure(watched['calibration_error'])}."
    yield Table("Calibration", ("estimated", "mean estimate", "seen", "questions"), tuple(bins), note=note)


def _monitor_figures(card: CardContext) -> Iterator[Figure]:
    """The share of yes at every step, calibration of the estimates, and how long streams are."""
    watched = card.shared["monitor"]
    epsilon = watched["epsilon"]
    steps = [Point(one["step"], Interval.from_dict(one), f"step {one['step']}") for one in watched["yes_by_step"]]
    low, high = 100 * (0.5 - epsilon), 100 * (0.5 + epsilon)
    yield Figure(
        "Share of yes, step by step",
        band_chart(steps, epsilon=epsilon, title="Share of yes among the true answers, step by step", width=SMALL),
        f"In per cent. The band is {low:.0f}–{high:.0f}; a step whose interval lies wholly outside is red. "
        f"Steps that fewer than {FEWEST} images reached are left out.",
    )
    bins = []
    for one in watched["calibration"]:
        words = f"{counted(one['n'], 'question')}, estimated {100 * one['estimated']:.0f} %"
        bins.append(Point(one["estimated"], Interval.from_dict(one["seen"]), words))
    yield Figure(
        "Are the estimates right?",
        calibration_chart(bins, title="Share of yes against the chance estimated beforehand", width=SMALL),
        "Share of yes in per cent, by what the engine estimated; on the line they agree.",
    )
    how: dict[str, Any] = {"x_label": "questions", "counted": "stream", "width": SMALL}
    lengths = histogram(_lengths(card), title="Questions asked in a stream", **how)
    yield Figure("How long streams are", lengths, "Streams by questions asked, ambiguous ones left out.")


def _streams_table(card: CardContext) -> Table:
    """How long the streams are, and why they ended."""
    facts = card.focus.scores.facts.get("streams")
    if not facts:
        return Table("Streams", ("",), ())
    named = {
        "mean": "mean",
        "median": "median",
        "q25": "lower quartile",
        "q75": "upper quartile",
        "min": "shortest",
        "max": "longest",
    }
    rows = [Row(f"questions asked, {words}", (Cell(_length(facts[key])),)) for key, words in named.items()]
    rows.append(Row("streams without a question", (Cell(f"{facts['empty']:,}"),)))
    rows.append(Row("ambiguous, of the questions drawn", (Cell(percent(facts["ambiguous"])),)))
    rows += [Row(f"ended: {HALTED.get(why, why)}", (Cell(f"{n:,}"),)) for why, n in facts["halted"].items()]
    return Table("Streams", ("", "seen"), tuple(rows))


def _options_table(card: CardContext) -> Table:
    """The exam's options, in words."""
    options = {k: v for k, v in card.focus.run.options.items() if v is not None}
    rows = [Row(name.replace("_", " "), (Cell(_words(value)),)) for name, value in options.items()]
    return Table("Options", ("", "value"), tuple(rows))


def _words(value: Any) -> str:
    """An option's value in words; of switches those that are on, or off, whichever are fewer."""
    if isinstance(value, dict):
        off = [name.replace("_", " ") for name, on in value.items() if on is False]
        if off and all(isinstance(on, bool) for on in value.values()):
            return f"all but {', '.join(off)}" if len(off) < len(value) else "none"
        if value and all(on is True for on in value.values()):
            return "all: " + ", ".join(name.replace("_", " ") for name in value)
        return ", ".join(f"{name} {_words(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def short(part: str) -> str:
    """A part's name with thousands as k, for there is little room.

    >>> short("1000–9999"), short("10000+"), short("30–99")
    ('1k–10k', '10k+', '30–99')
    """
    return part.replace("1000–9999", "1k–10k").replace("10000+", "10k+")


def _lengths(card: CardContext) -> dict[int, int]:
    """Questions of a stream → how many streams have so many."""
    return dict(sorted(Counter(stream_rows(card.focus.records)["length"].to_list()).items()))


def _share_cells(values: Mapping[str, Any] | None) -> tuple[Cell, Cell]:
    if values is None:
        return Cell("–"), Cell("–")
    return shared(Interval.from_dict(values)), Cell(f"{values['n']:,}")


def _share(result: RunResult, word: str) -> float:
    share = result.scores.at("replies", word)
    return share.value if share is not None and math.isfinite(share.value) else 0.0


def _length(value: float | None) -> str:
    """A number of questions, with a decimal only where it is no whole one."""
    return "–" if value is None else f"{value:,.1f}".removesuffix(".0")


def examples(card: CardContext, result: RunResult) -> Iterator[Example]:
    """Single streams: the picture with what was found on it, and every question with its answers."""
    by_item = {f"{t.scene_id}#{t.stream}": t for t in transcripts(result.records.rows)}
    columns = {"item": [*by_item], "scene_id": [t.scene_id for t in by_item.values()]}
    counts = {"asked": [t.asked for t in by_item.values()], "right": [t.right for t in by_item.values()]}
    schema = {"item": pl.String, "scene_id": pl.String, "asked": pl.Int64, "right": pl.Int64}
    several = len(by_item) > len({*columns["scene_id"]})
    for kind, ids in card.chosen(result, pl.DataFrame(columns | counts, schema=schema)).items():
        for name in ids:
            transcript = by_item[name]
            scene = card.data.scene(transcript.scene_id)
            view = result.run.options.get("view")
            frame = frame_of(scene, None if view is None else scene.view(view))
            stream = stream_example(frame, transcript)
            html = render_part(_PACKAGE, "example.html.j2", stream=stream, marks=MARKS)
            title = f"{transcript.scene_id} · stream {transcript.stream}" if several else transcript.scene_id
            facts, table = stream.to_dict(), _stream_table(stream, result.name)
            yield Example(card.exam.name, result.name, kind, name, title, html, _stream_note(stream), facts, table)


def _stream_table(stream: StreamExample, model: str) -> Table:
    """Every question of a stream with its answers, for Markdown."""
    rows = []
    for one in stream.questions:
        label = f" (Label this {one.line.label})" if one.line.label else ""
        reply = f"{MARKS[one.outcome][0]} {one.line.reply or ''}".strip() if one.outcome else ""
        cells = (Cell(stream.transcript.said(one.line) + label), Cell(one.answer), Cell(reply))
        rows.append(Row(str(one.line.number), cells))
    return Table("", ("", "question", "true answer", model), tuple(rows))


def _stream_note(stream: StreamExample) -> str:
    transcript = stream.transcript
    asked = counted(transcript.asked, "answer")
    whole = f"all {asked} right" if transcript.asked else "nobody was asked"
    parts = [f"{stream.wrong} of {asked} not right" if stream.wrong else whole]
    parts += [f"{transcript.ambiguous} ambiguous"] if transcript.ambiguous else []
    parts += [f"ended: {HALTED.get(transcript.halted, transcript.halted)}"] if transcript.halted else []
    return " · ".join(parts)


def examples_page(card: CardContext) -> dict[str, Any]:  # noqa: ARG001 - a hook
    """What the page says of the streams on show."""
    lead = (
        "What a model answered, question by question. The regions in which an object was labelled are drawn on the "
        "picture, and so are the labelled objects; the small maps show where every other question looks. A region "
        "stands for “partially visible in the designated region of the image”, and every search is for objects not "
        "labelled before."
    )
    legend = render_part(_PACKAGE, "legend.html.j2", marks=MARKS)
    return {"examples_lead": (lead,), "examples_legend": legend, "style": part_style(_PACKAGE, "example.css")}
