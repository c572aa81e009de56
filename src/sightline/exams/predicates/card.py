"""The predicates exam on the report card: tables by predicate, accuracy by slices, and single scenes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError, ModelError
from sightline.exams.base import Name
from sightline.exams.card import CardContext, value_words
from sightline.exams.predicates.drawing import KINDS, PHRASES, SceneExample, attention_of, scene_example
from sightline.exams.predicates.measures import ANSWERS, AXES
from sightline.exams.runner import items_of
from sightline.exams.scoring import RunResult
from sightline.scenes.labels import GEOMETRIC, PREDICATES, SPATIAL
from sightline.show.chart import SMALL
from sightline.show.markup import part_style, render_part
from sightline.show.page import Example, ExampleKind, Figure, FigureRow, Section
from sightline.show.table import Cell, Row, Table, known, percent, scored, shared
from sightline.show.xy import Series, by_part, common_domain, xy_chart
from sightline.stats import Interval
from sightline.text import counted

GROUPS: Final = {"all": "all predicates", "spatial": "spatial", "geometric": "geometric"}
"""Groups of predicates, as a reader is told of them."""

NAMES: Final = (*GROUPS, *PREDICATES)

MEASURES: Final[dict[str, tuple[str, str]]] = {
    "scene_accuracy": (
        "Scene accuracy",
        "Right judgements as a share of all in the scene, then the mean over scenes: a crowded scene weighs no "
        "more than a sparse one.",
    ),
    "scene_all_by": ("Scene-all accuracy", "Share of the scenes in which every single judgement is right."),
    "f1": (
        "F1",
        "Over the judgements of all scenes together, where “it holds” is the positive answer. A dash where a model "
        "gave one and the same answer throughout, as the majority does, or nothing was true or said to be.",
    ),
    "micro_accuracy": ("Micro accuracy", "Right judgements of all scenes together, as a share of all judgements."),
    "unknown": (
        "Could not say",
        "Share of the judgements that were answered “unknown”. Above they count as not right.",
    ),
}
"""Measure → its title and what it is."""

AXIS_TITLES: Final = {
    "n_objects": "By number of objects",
    "hidden": "By how much is hidden, in per cent",
    "subject_how": "By placement of the subject",
    "object_how": "By placement of the object",
}
"""Axis of the slices → its heading."""

QUESTIONS_NOTE: Final = "Every ordered pair of a scene’s objects is asked about eight predicates."

SLICES_NOTE: Final = (
    "Scene accuracy in per cent over the judgements of each part, with 95 % intervals; the charts of a row share "
    "one scale. Of each pair the more hidden object counts, by its hidden share in the scene’s first view; at 100 "
    "it is wholly hidden. An object is contained or supported by another, or independent: it stands on the table "
    "by itself."
)

_PACKAGE: Final = "sightline.exams.predicates"
_ORDERED: Final = frozenset({"n_objects", "hidden"})
_HIDDEN: Final = {"0–0.25": "0–25", "0.25–0.5": "25–50", "0.5–0.75": "50–75", "0.75–<1": "75–99", "1": "100"}
_AS: Final[dict[str, Callable[[Interval | None], Cell]]] = {"f1": scored}


def words(name: Name) -> str:
    """A group's figure with the measure; a predicate alone."""
    return f"scene accuracy, {GROUPS[name.label]}" if name.label in GROUPS else spoken(name.label)


def reached(result: RunResult) -> str:
    """How much of a scene is right, and how often all of it."""
    name, value = result.scores.headline or (None, None)
    assert name is not None
    assert value is not None
    whole = result.scores.at("scene_all_by", "all")
    scenes = percent(whole.value) if whole is not None and known(whole) else "none"
    right = value_words(value, name)
    return f"has on average {right} of a scene’s judgements right, and every single one in {scenes} of the scenes"


def details(card: CardContext, result: RunResult) -> Iterator[str]:  # noqa: ARG001 - a hook
    """Both groups of predicates, and the predicate with the lowest scene accuracy."""
    spatial, geometric = (result.scores.at("scene_accuracy", group) for group in ("spatial", "geometric"))
    parts = []
    if spatial is not None and geometric is not None and known(spatial) and known(geometric):
        shares = f"{percent(spatial.value)} of the spatial predicates right and {percent(geometric.value)}"
        parts.append(f"{result.name} has {shares} of the geometric ones")
    if result.scores.weakest is not None:
        name, value = result.scores.weakest
        weak = f"is weakest in “{words(name)}” ({percent(value.value)})"
        parts.append(f"it {weak}" if parts else f"{result.name} {weak}")
    if parts:
        yield f"{'; '.join(parts)}."


def card_facts(card: CardContext) -> Iterator[tuple[str, str]]:
    """How much the focus was asked, and what it was shown."""
    facts, run = card.focus.scores.facts, card.focus.run
    yield "asked", f"{counted(facts['n_scenes'], 'scene')}, {counted(facts['n_judgements'], 'judgement')}"
    yield "views shown", ", ".join(map(str, run.manifest.get("views") or ()))


def scores(card: CardContext) -> Iterator[Table]:
    """Every run in one line: the groups' scene accuracy, then the other measures of all predicates together."""
    rows = []
    for result in card.answered:
        accuracy = [entry(result, "scene_accuracy", group) for group in GROUPS]
        others = [entry(result, measure, "all") for measure in MEASURES if measure != "scene_accuracy"]
        rows.append(card.row(result, [*accuracy, *others]))
    columns = ("model", *GROUPS, "scene-all", "F1", "micro accuracy", "unknown")
    yield Table("At a glance", columns, tuple(rows), (("scene accuracy", 3), ("all predicates", 4)))


def sections(card: CardContext) -> Iterator[Section]:
    """The focus predicate by predicate, scene accuracy by slices, and every figure in a table."""
    if not card.answered:
        return
    yield Section("predicates", "Predicate by predicate", (QUESTIONS_NOTE,), (focus_table(card),))
    yield Section("slices", "Where it is right", (SLICES_NOTE,), tuple(slice_figures(card)))
    tables = (*measure_tables(card), *slice_tables(card))
    yield Section("measures", "Every measure and slice", (), tables, folded=True)


def focus_table(card: CardContext) -> Table:
    """The focus, predicate by predicate, beside what the baselines reach."""
    blind = [r for r in card.answered if r.blind and r is not card.focus]
    rows = []
    for name in NAMES:
        cells = [entry(card.focus, measure, name) for measure in MEASURES]
        cells += [entry(r, "scene_accuracy", name) for r in blind]
        rows.append(Row(GROUPS.get(name, spoken(name)), tuple(cells), "focus" if name == "all" else ""))
    columns = (
        "predicate",
        "scene accuracy",
        "scene-all",
        "F1",
        "micro accuracy",
        "unknown",
        *(r.name for r in blind),
    )
    groups = ((card.focus.name, len(MEASURES)), ("scene accuracy without looking", len(blind)))
    return Table("", columns, tuple(rows) if card.focus in card.answered else (), groups if blind else groups[:1])


def measure_tables(card: CardContext) -> Iterator[Table]:
    """One table a measure: every run, every group and predicate. Without an unknown there is no table of them."""
    for measure, (title, note) in MEASURES.items():
        if measure == "unknown" and not any(_unsure(r) for r in card.answered):
            continue
        rows = tuple(card.row(r, [entry(r, measure, name) for name in NAMES]) for r in card.answered)
        groups = (("together", len(GROUPS)), ("spatial", len(SPATIAL)), ("geometric", len(GEOMETRIC)))
        yield Table(title, ("model", *map(spoken, NAMES)), rows, groups, note)


def slice_tables(card: CardContext) -> Iterator[Table]:
    """Scene accuracy of every run by each axis and group."""
    for axis in AXES:
        parts = card.parts("slices", axis)
        for group, words in GROUPS.items() if parts else ():
            rows = tuple(
                card.row(r, [shared(_sliced(r, axis, part, group)) for part in parts]) for r in card.answered
            )
            columns = ("model", *(part_words(axis, part) for part in parts))
            yield Table(f"{AXIS_TITLES[axis]}, {words}", columns, rows)


def slice_figures(card: CardContext) -> Iterator[FigureRow]:
    """Scene accuracy by each axis: one small chart a group, all of an axis on one scale."""
    for axis, title in AXIS_TITLES.items():
        parts = card.parts("slices", axis)
        if not parts:
            continue
        named = [part_words(axis, part) for part in parts]
        values = {
            (group, r.name): [_sliced(r, axis, part, group) for part in parts] for group in GROUPS for r in card.few
        }
        domain = common_domain([value for row in values.values() for value in row])
        figures = []
        for group, words in GROUPS.items():
            lines = [by_part(r.name, named, values[group, r.name], card.kind(r)) for r in card.few]
            chart = _chart(
                lines, named, domain, f"Scene accuracy {title.lower()}, {words}", joined=axis in _ORDERED
            )
            figures.append(Figure(words.capitalize(), chart))
        yield FigureRow(title, tuple(figures), small=True)


def _chart(
    lines: Sequence[Series], names: Sequence[str], domain: tuple[float, float], title: str, *, joined: bool
) -> str:
    return xy_chart(lines, title=title, x_names=names, y_domain=domain, joined=joined, width=SMALL)


def examples(card: CardContext, result: RunResult) -> Iterator[Example]:
    """Single scenes: views, what was asked about, and what became of the judgements."""
    items = {item.id: item for item in items_of(card.exam.settled(card.data), card.data)}
    model = _attentive(card, result) if card.options.attention and result is card.focus else None
    shown_views = tuple(map(str, result.run.manifest.get("views") or ()))
    for kind, ids in card.chosen(result).items():
        for name in ids:
            item = items[name]
            records = result.records.rows.filter(pl.col("item") == name)
            # A blind model was shown no view; the reader sees all of them.
            queries = item.queries(shown_views or tuple(item.views))
            example = scene_example(
                card.data.scene(item.scene_id),
                queries,
                item.facts.truth,
                verdicts_of(records, item.facts.objects),
                hidden=item.facts.hidden,
                attention=None if model is None else attention_of(model, queries, result.name),
            )
            yield _example(result, kind, example)


def _example(result: RunResult, kind: ExampleKind, example: SceneExample) -> Example:
    asked = counted(example.asked, "judgement")
    counts = [f"{example.wrong:,} of {asked} wrong" if example.wrong else f"all {asked} right"]
    for outcome, (mark, meaning) in KINDS.items():
        if example.count(outcome):
            counts.append(f"{mark} {example.count(outcome)} {meaning}")
    note = " · ".join(counts)
    html = render_part(_PACKAGE, "example.html.j2", scene=example, kinds=KINDS, phrases=PHRASES)
    return Example(
        result.exam.name, result.name, kind, example.scene_id, example.scene_id, html, note, example.to_dict()
    )


def examples_page(card: CardContext) -> dict[str, Any]:  # noqa: ARG001 - a hook
    """What the page says of the scenes on show."""
    lead = (
        "What a model said of single scenes, mistakes first. Numbers stand on the objects, dashed where one is "
        "wholly hidden; the patches are what the model was asked about. A line tells all of one subject: “1 left "
        "of 3, 4” is two judgements. Facts rightly denied are not listed. Where attention is shown, the glow runs "
        "from the least to the most the model drew from any place for one object, on one scale for all views."
    )
    legend = render_part(_PACKAGE, "legend.html.j2", kinds=KINDS)
    return {"examples_lead": (lead,), "examples_legend": legend, "style": part_style(_PACKAGE, "example.css")}


def cautions(card: CardContext) -> Iterator[str]:
    """A warning where the model whose attention is shown has changed since the run."""
    run = card.focus.run
    if card.options.attention and card.load(run).fingerprint != run.manifest["identity"]["model_fingerprint"]:
        yield f"{run.name} has changed since it took the exam: the attention shown is of the model as it is now."


def verdicts_of(records: pl.DataFrame, objects: Sequence[str]) -> NDArray[np.int8]:
    """One scene's records as verdicts, (n, n, 8) int8; what is not in the records is `UNKNOWN`."""
    places = {name: i for i, name in enumerate(objects)}
    answers = np.full((len(objects), len(objects), len(PREDICATES)), ANSWERS["unknown"], dtype=np.int8)
    for subject, other, predicate, word in records.select("subject", "object", "predicate", "answer").iter_rows():
        if subject not in places or other not in places:
            raise DataError("the records name an object the scene has not", row=str(records["scene_id"][0]))
        answers[places[subject], places[other], PREDICATES.index(predicate)] = ANSWERS[word]
    return answers


def _attentive(card: CardContext, result: RunResult) -> Any:
    """The model of a run, loaded to show where it looks; ModelError where it has no attention to show."""
    loaded = card.load(result.run)
    if not callable(getattr(loaded.model, "attention", None)):
        raise ModelError(f"{result.run.name} has no attention to show: it has no method attention(queries)")
    return loaded.model


def part_words(axis: str, part: str) -> str:
    """A part of an axis in words: hidden shares in per cent, anything else as it is.

    >>> part_words("hidden", "0.75–<1"), part_words("n_objects", "6")
    ('75–99', '6')
    """
    return _HIDDEN.get(part, part) if axis == "hidden" else part


def spoken(predicate: str) -> str:
    """A predicate as a heading.

    >>> spoken("can_contain")
    'can contain'
    """
    return predicate.replace("_", " ")


def entry(result: RunResult, measure: str, name: str) -> Cell:
    """One figure over its interval."""
    return _AS.get(measure, shared)(result.scores.at(measure, name))


def _sliced(result: RunResult, axis: str, part: str, group: str) -> Interval | None:
    return result.scores.at("slices", axis, part, "scene_accuracy", group)


def _unsure(result: RunResult) -> bool:
    share = result.scores.at("unknown", "all")
    return share is not None and math.isfinite(share.value) and share.value > 0
