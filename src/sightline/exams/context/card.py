"""The context exam on the report card: scores and chance, class by class, heat maps, controls, single pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.exams.base import Name
from sightline.exams.card import CardContext
from sightline.exams.context.counts import SUBSETS, ContextRecords, Floats, presence
from sightline.exams.context.drawing import EXAMPLES
from sightline.exams.context.exam import ContextExam, not_removable, thin_figures
from sightline.exams.context.items import ContextItem
from sightline.exams.context.measures import CONTROLS
from sightline.exams.runner import items_of
from sightline.exams.scoring import RunResult
from sightline.show.chart import heat_grid
from sightline.show.curves import DrawnPoint, point_chart
from sightline.show.page import Example, Figure, FigureRow, Section
from sightline.show.table import Cell, Row, Table, shared
from sightline.show.xy import Point, Series, by_part, xy_chart
from sightline.stats import Interval
from sightline.text import counted

MOST: Final = 14
"""Rows and columns of a heat map, at most."""
SHOWN: Final = 0.1
"""Entry from which on a heat map of affected classes shows its row and column."""
ROWS: Final = 2
"""Rows of pictures of one item, at most."""
_LISTED: Final = 200
_NAMED: Final = 8
"""Classes that are named in a sentence, at most."""

_MEANS: Final[dict[str, dict[tuple[str, ...], str]]] = {
    "classify": {
        ("told_apart", "mean"): "told apart",
        ("v_min", "mean"): "V^min",
        ("v_mean", "mean"): "V^mean",
        ("ties_min", "mean"): "ties, min",
        ("ties_mean", "mean"): "ties, mean",
        ("v_min_literal", "mean"): "V^min, literal",
        ("v_min_left", "mean"): "V^min, half left",
        **{("map", key): f"mAP {word}" for key, word in SUBSETS.items()},
    },
    "segment": {
        ("ar", "max", "mean"): "max AR",
        **{("miou", key): f"mIoU {word}" for key, word in SUBSETS.items()},
        ("pixel_accuracy",): "pixel accuracy",
    },
    "answer": {
        ("beaf", "f1"): "F1",
        ("beaf", "true_understanding"): "true understanding",
        ("beaf", "ignorance"): "ignorance",
        ("beaf", "stubborn_yes"): "stubborn yes",
        ("beaf", "stubborn_no"): "stubborn no",
        ("beaf", "unparsed"): "unparsed",
        ("beaf", "indecision"): "indecision",
    },
}
_NOTES: Final = {
    "classify": "V^min: share of images with a class in which it is scored lower, once some context class is "
    "removed, than once it is removed itself; V^mean: lower on average over the context classes. Only strictly "
    "lower counts; ties are given apart and are no success: told apart is strictly higher throughout. Means go "
    "over classes; literal: of all images with the class, removable or not; half left: only over context classes "
    "whose hole leaves half of the object or more, so that what the fill covered is not the model’s mistake.",
    "segment": "AR(c, d): share of images with c from which d can be removed in which that changes the IoU of c by "
    "α or more, the grown hole left out before and after. Means go over classes, each with its worst d.",
    "answer": "Of removed classes, asked about before and after: true understanding is yes, then no; ignorance no, "
    "then yes; stubborn the same twice. Indecision: of all other classes, replies that changed. F1 is the harmonic "
    "mean of true understanding and 1 − indecision.",
}


def words(name: Name) -> str:
    """The headline in words; parts by class."""
    over = name.path[-1]
    kinds = {
        "told_apart": "seen and removed told apart",
        "unaffected": "IoU kept under the worst removal",
        "beaf": "before–after F1",
        "true_understanding": "true understanding",
    }
    kind = name.label if name.path[0] == "beaf" and over != "f1" else kinds.get(name.path[0], name.label)
    return f"{kind}, mean over classes" if over == "mean" else over if name.part else kind


def card_facts(card: CardContext) -> Iterator[tuple[str, str]]:
    """How much was asked, and what filled the holes."""
    facts = card.focus.scores.facts
    yield "asked", counted(facts.get("n_images", 0), "image")
    if "n_cases" in facts:
        yield "cases", f"{facts['n_cases']:,}"
    yield "fill", _exam(card).fill or str(card.focus.run.manifest.get("filled_by", ""))


def cautions(card: CardContext) -> Iterator[str]:
    """What could not be removed, figures that rest on few images, and classes a model does not know."""
    facts, fewest = card.focus.scores.facts, _exam(card).fewest
    if facts.get("n_not_removable"):
        said = not_removable(facts)
        yield f"{said[0].upper()}{said[1:]}."
    cases = facts.get("n_cases_by_class", {})
    thin = [name for name, n in cases.items() if n < fewest]
    if thin:
        listed = f": {', '.join(thin)}" if len(thin) <= _NAMED else ""
        classes = counted(len(cases), "class", "classes")
        yield f"{len(thin)} of {classes} with fewer than {fewest} cases, so thin{listed}."
    for said in thin_figures(facts, fewest):
        yield f"{said[0].upper()}{said[1:]}."
    unknown = card.focus.run.manifest.get("classes_not_known")
    if unknown:
        yield f"{card.focus.name} does not know {', '.join(unknown)}; nothing is counted of them."


def scores(card: CardContext) -> Iterator[Table]:
    """Every run in one line, a table a skill."""
    for skill, paths in _MEANS.items():
        runs = [r for r in card.answered if _skill(r) == skill]
        rows = [card.row(r, [shared(r.scores.at(*path)) for path in paths]) for r in runs]
        chance = next((r.scores.facts["chance"] for r in runs if r.scores.facts.get("n_cases")), None)
        if chance is not None:
            cells = [Cell(f"{100 * chance[path[0]]:.1f} %") if path[0] in chance else Cell("–") for path in paths]
            rows.append(Row("by chance", tuple(cells), "blind"))
        if rows:
            yield Table(_title(skill), ("model", *paths.values()), tuple(rows), note=_NOTES[skill])


def _title(skill: str) -> str:
    return {"classify": "Class scores", "segment": "Segmentation", "answer": "Answers"}[skill]


def document(card: CardContext) -> dict[str, Any]:
    """The images behind each violation, by class, of the run in focus."""
    return {"violations": _violations(card.focus)} if _skill(card.focus) == "classify" else {}


def _violations(result: RunResult) -> dict[str, list[dict[str, Any]]]:
    read = ContextRecords.of(result.records)
    assert read is not None
    made: dict[str, list[dict[str, Any]]] = {}
    broken = read.cases.filter(pl.col("lowest") < pl.col("without")).sort("category", "item")
    for row in broken.select("category", "item", "context", "lowest", "without").iter_rows(named=True):
        made.setdefault(row.pop("category"), []).append(row)
    return made


def sections(card: CardContext) -> Iterator[Section]:
    """What the focus' skill has to show, the controls, and which classes stand together."""
    read = ContextRecords.of(card.focus.records)
    if read is None:
        return
    kinds = {"classify": _classified, "segment": _segmented, "answer": _answered}
    yield from kinds[read.skill](card)
    yield from _edited(card)
    there = presence(read)
    common = sorted(np.argsort(-there.counts, kind="stable")[:MOST].tolist())
    chosen = [there.classes[i] for i in common]
    counts = np.repeat(there.counts[common][:, None], len(common), axis=1)
    np.fill_diagonal(counts, 0)
    grid = heat_grid(
        there.cooccurrence()[np.ix_(common, common)],
        counts,
        chosen,
        chosen,
        "Normalised co-occurrence",
        row_name="of images with",
        col_name="share that also has",
    )
    note = "NC(c, d): of the images with class c, the share that also has d (the paper’s Figure 6)."
    yield Section("cooccurrence", "Which classes stand together", (note,), (Figure("Co-occurrence", grid),))


def _classified(card: CardContext) -> Iterator[Section]:
    runs = [r for r in card.answered if _skill(r) == "classify"]
    numbers = list(card.focus.scores.facts["n_by_context"])
    charts = []
    for path, title in (("v_min", "V^min"), ("v_mean", "V^mean")):
        series = [
            by_part(r.name, numbers, [r.scores.at(f"{path}_by_context", k) for k in numbers], card.kind(r))
            for r in (card.few if card.focus in card.few else runs)
            if r in runs
        ]
        chance = card.focus.scores.facts["chance_by_context"][path]
        points = tuple(Point(i, _exactly(chance[k]), f"chance, {k}") for i, k in enumerate(numbers))
        series.insert(0, Series("by chance", points, "human"))
        how: dict[str, Any] = {"y_domain": (0.0, 1.0), "y_unit": " %", "x_names": numbers, "unit": "image"}
        charts.append(Figure(title, xy_chart(series, title=title, x_label="context classes", **how)))
    text = "Chance grows with the number of context classes k: V^min is k/(k+1) for a model that answers at random."
    yield Section("context", "By number of context classes", (text,), (FigureRow("", tuple(charts)),))
    yield from _class_sections(card, runs)
    listed = [
        Row(
            name,
            (Cell(row["item"]), Cell(row["context"]), *(Cell(f"{row[key]:.2f}") for key in ("lowest", "without"))),
        )
        for name, rows in _violations(card.focus).items()
        for row in rows
    ]
    columns = ("class", "image", "context removed", "score without context", "score without the class")
    table = Table(f"Violations of {card.focus.name}", columns, tuple(listed[:_LISTED]), words=columns[1:3])
    more = (f"The first {_LISTED} of {len(listed):,}; the report’s JSON has all.",) if len(listed) > _LISTED else ()
    yield Section("violations", "The images behind each violation", more, (table,), folded=True)


def _value(result: RunResult, *path: str) -> float:
    found = result.scores.at(*path)
    return math.nan if found is None else found.value


def _exactly(value: float) -> Interval:
    return Interval(value, math.nan, math.nan, 0, "")


def _class_sections(card: CardContext, runs: Sequence[RunResult]) -> Iterator[Section]:
    """Classes with enough cases, those with the most first; thin ones folded."""
    focus, cases = card.focus, card.focus.scores.facts["n_cases_by_class"]
    fewest = _exam(card).fewest
    ordered = sorted(cases, key=lambda name: (-cases[name], name))
    many = [name for name in ordered if cases[name] >= fewest]

    def table(names: Sequence[str]) -> Table:
        rows = []
        for name in names:
            scores = (focus.scores.at(*path) for path in (("v_min", name), ("v_mean", name), ("ap", name)))
            rows.append(Row(name, (Cell(f"{cases[name]:,}"), *(shared(score) for score in scores))))
        return Table(focus.name, ("class", "cases", "V^min", "V^mean", "AP"), tuple(rows))

    shown = many or ordered
    against = [DrawnPoint(name, _value(focus, "ap", name), _value(focus, "v_min", name)) for name in shown]
    title = f"V^min against AP, {focus.name}"
    figures = [Figure(title, point_chart(against, title=title, x_label="AP", y_label="V^min"))]
    figures += _before_after(card, runs, "v_min", "ap", shown)
    yield Section("classes", "Class by class", (), (table(shown), FigureRow("", tuple(figures))))
    few = [name for name in ordered if name not in shown]
    if few:
        title = f"Classes with fewer than {fewest} cases"
        yield Section("thin", title, ("Thin: figures of so few cases say little.",), (table(few),), folded=True)


def _before_after(
    card: CardContext, runs: Sequence[RunResult], path: str, shade: str, classes: Sequence[str]
) -> Iterator[Figure]:
    """One chart a rival: each class under the one and under the other, coloured by how good the focus is at it."""
    where = {"v_min": ("v_min",), "ar": ("ar", "max")}[path]
    words_ = {"v_min": "V^min", "ar": "max AR"}[path]

    for rival in [r for r in runs if r is not card.focus and card.kind(r) != "baseline"][:2]:
        points = [
            DrawnPoint(n, _value(rival, *where, n), _value(card.focus, *where, n), _value(card.focus, shade, n))
            for n in classes
        ]
        title = f"{words_} by class: below the line {card.focus.name} is the better"
        x_label, y_label = (f"{words_}, {who.name}" for who in (rival, card.focus))
        drawn = point_chart(points, title=title, x_label=x_label, y_label=y_label, diagonal=True)
        yield Figure(title, drawn, f"Darker: higher {'AP' if shade == 'ap' else 'IoU'}.")


def _segmented(card: CardContext) -> Iterator[Section]:
    runs = [r for r in card.answered if _skill(r) == "segment"]
    facts, focus = card.focus.scores.facts, card.focus
    pairs = facts.get("images_by_pair", {})
    rates = {(c, d): focus.scores.at("ar", "pairs", c, d) for c in pairs for d in pairs[c]}
    gaps = {(c, d): focus.scores.at("delta_iou", c, d) for c, d in rates}
    known = {pair: i.value for pair, i in rates.items() if i is not None and math.isfinite(i.value)}
    rows, columns = _loud(known)
    if rows:
        n = np.array([[pairs[c].get(d, 0) if (c, d) in known else 0 for d in columns] for c in rows])
        how: dict[str, Any] = {"row_name": "affected", "col_name": "removed"}
        ar = _grid(known, rows, columns)
        delta = _grid({p: i.value for p, i in gaps.items() if i is not None}, rows, columns)
        most = float(np.nanmax(np.abs(delta)))
        maps = (
            Figure("AR", heat_grid(ar, n, rows, columns, "AR", **how), "Share of images that are affected."),
            Figure(
                "Mean ΔIoU",
                heat_grid(delta, n, rows, columns, "Mean ΔIoU", domain=(most or 1.0, -(most or 1.0)), **how),
                "Darker is worse: the IoU falls.",
            ),
        )
        said = f"Rows and columns with an entry above {SHOWN:g}; α = {_exam(card).alpha:g}; small: images."
        quiet = f"Of all pairs, {100 * facts['ar']['sparsity']:.0f} % lie at {SHOWN:g} or below."
        yield Section("affected", "Which class suffers from which removal", (said, quiet), (FigureRow("", maps),))
    yield Section("classes", "Class by class", (), tuple(_class_rows(card, runs)))
    turned = []
    for c, by in facts.get("turned", {}).items():
        for d, of in by.items():
            to = ", ".join(f"{word} {100 * share:.0f} %" for word, share in list(of["to"].items())[:3])
            turned.append(Row(f"{c} without {d}", (Cell(to), Cell(f"{100 * of['distance']:.0f} %"))))
    heads = ("affected pixels of", "turn into", "distance from the hole")
    note = "Distance: mean, in shares of the picture’s longer side."
    title = f"What affected pixels turn into, {focus.name}"
    table = Table(title, heads, tuple(turned), note=note, words=heads[1:2])
    yield Section("turned", "What changes, and where", (), (table,), folded=len(turned) > 12)


def _loud(values: dict[tuple[str, str], float]) -> tuple[list[str], list[str]]:
    """Rows and columns with an entry above `SHOWN`, the loudest where there are too many."""
    loud = sorted((pair for pair, value in values.items() if value > SHOWN), key=lambda pair: -values[pair])
    return tuple(sorted(list(dict.fromkeys(pair[i] for pair in loud))[:MOST]) for i in (0, 1))  # type: ignore[return-value]


def _grid(values: dict[tuple[str, str], float], rows: Sequence[str], columns: Sequence[str]) -> Floats:
    return np.array([[values.get((c, d), math.nan) for d in columns] for c in rows])


def _class_rows(card: CardContext, runs: Sequence[RunResult]) -> Iterator[Table | FigureRow]:
    focus = card.focus.scores
    companions, images = focus.facts.get("companions", {}), focus.facts.get("n_by_companion", {})
    rows = []
    for name in focus.below("iou"):
        paths = (("iou", name), ("iou_by_companion", name, "with"), ("iou_by_companion", name, "without"))
        first, *cells = (shared(focus.at(*path)) for path in (*paths, ("ar", "max", name)))
        times = (f"{images[name][word]:,}" if name in images else "–" for word in ("with", "without"))
        by = [cell for pair in zip(map(Cell, times), cells[:2], strict=True) for cell in pair]
        rows.append(Row(name, (first, Cell(companions.get(name, "–")), *by, *cells[2:])))
    columns = ("class", "IoU", "companion", "with it", "IoU with it", "without it", "IoU without it", "max AR")
    own = "the removable class that most images with the class have too, of equals the larger"
    chosen = "as asked for" if _exam(card).companion else own
    note = f"Companion (the paper’s Table 2): {chosen}; beside it the images with it, and without it."
    yield Table(card.focus.name, columns, tuple(rows), note=note, words=("companion",))
    figures = tuple(_before_after(card, runs, "ar", "iou", list(focus.below("ar", "max"))[1:]))
    if figures:
        yield FigureRow("", figures)


def _answered(card: CardContext) -> Iterator[Section]:
    by_class = card.focus.scores.below("true_understanding")
    times = card.focus.scores.facts["n_removed_by_class"]
    rows = [Row(name, (Cell(f"{times[name]:,}"), shared(value))) for name, value in by_class.items()]
    table = Table(card.focus.name, ("class", "removals", "true understanding"), tuple(rows))
    yield Section("classes", "Class by class", (), (table,))


def _edited(card: CardContext) -> Iterator[Section]:
    """What of a removed class comes back, and whether edits that remove nothing stay quiet."""
    paths = [("comes_back",), *(("controls", name) for name in CONTROLS.values())]
    rows = [card.row(r, [shared(r.scores.at(*path)) for path in paths]) for r in card.answered]
    heads = (f"affected by {word.replace('_', ' ')}" for word in CONTROLS.values())
    facts = card.focus.scores.facts
    text = (
        f"Still found: {facts.get('still_found', '')}. A false edit fills the hole mirrored left to right, an "
        "empty region the same hole where no object is: neither removes anything, so what they affect is the "
        "fill’s doing."
    )
    text += "" if facts.get("n_controls") else " An exact fill changes nothing there, so there are none here."
    table = Table("", ("model", "removed and still found", *heads), tuple(rows))
    yield Section("edits", "The fill, and edits that remove nothing", (text,), (table,))


def examples(card: CardContext, result: RunResult) -> Iterator[Example]:
    """Single pictures: as they are, the object without its context, the context without the object."""
    exam = _exam(card)
    items: dict[str, ContextItem] = {item.id: item for item in items_of(exam, card.data)}
    skill = _skill(result)
    read = ContextRecords.of(result.records)
    if read is None:
        return
    for kind, ids in card.chosen(result).items():
        for name in ids:
            edits = exam.edits(items[name])
            rows = list(islice(EXAMPLES[skill](read, edits), ROWS))
            svg = "".join(drawing for drawing, _ in rows)
            if svg:
                note = "; ".join(said for _, said in rows)
                facts = {"rows": [said for _, said in rows], "fill": exam.fill}
                yield Example(exam.name, result.name, kind, name, name, svg, note, facts)


def examples_page(card: CardContext) -> dict[str, Any]:  # noqa: ARG001 - a hook
    """What the page says of the pictures on show."""
    lead = (
        "Single pictures, mistakes first. Blue boxes mark the class that is asked about, magenta ones the context; "
        "a thin dark line is the edge of what was filled. Below each picture stands the model’s score of the "
        "class, the IoU outside the hole, or its reply; pixels tinted blue lost their class when another one was "
        "removed."
    )
    return {"examples_lead": (lead,)}


def _skill(result: RunResult) -> str:
    return str(result.scores.facts.get("skill", ""))


def _exam(card: CardContext) -> ContextExam:
    settled = card.exam.settled(card.data)
    assert isinstance(settled, ContextExam)
    return settled
