"""The relations exam on the report card: sub-tasks, behaviour, size and place, the data, and the worst scenes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import polars as pl

from sightline.exams.base import Name
from sightline.exams.card import KINDS, WORST_OF_OTHERS, CardContext, value_words
from sightline.exams.relations.analyses import (
    AccuracySlice,
    ByDifficulty,
    Grid,
    Silence,
    Violations,
    by_difficulty,
    consistency,
    counter_heuristic,
    grids,
    silence,
)
from sightline.exams.relations.data_card import DataFacts, data_content, data_facts
from sightline.exams.relations.drawing import worst_examples
from sightline.exams.relations.exam import BOXES_WORDS, RelationsExam, not_scored, notes_of
from sightline.exams.relations.marks import SUBTASKS, Marks, mark_pairs, of_setting
from sightline.exams.relations.measures import SUBTASK_TITLES, task_name
from sightline.exams.relations.pairs import SETTING_WORDS
from sightline.exams.relations.protocols import Protocol
from sightline.exams.scoring import RunResult
from sightline.plain import plain
from sightline.show.chart import heat_grid, stacked_bars
from sightline.show.markup import part_style, render_part
from sightline.show.page import Example, ExampleKind, Figure, FigureRow, Section
from sightline.show.table import Cell, Row, Table, figure, scored, shared
from sightline.skills import Setting
from sightline.stats import Interval
from sightline.text import counted

_PROTOCOLS: Final = {
    Protocol.DEFAULT: (
        "Default protocol. Every ordered pair is asked, (a, b) and (b, a) apart. Precision, recall and F1 pool all "
        "four labels of the sub-task. Pairs {undecided} are left out. Since every other "
        "pair has one label, F1 equals accuracy for a model that always answers; silence lowers recall. The "
        "average is the mean F1 of the three sub-tasks; it resamples an image pair together with the questions "
        "within its two images. A score without any case is left undefined."
    ),
    Protocol.PAPER: (
        "Paper protocol. Depth pools closer, farther and same (across images closer and farther). Pairs labelled "
        "unsure, and those {undecided}, are no truths, but answers on them are false positives; an "
        "answered unsure is no answer. Occlusion pools all four labels. The average is the mean F1 of the three "
        "sub-tasks."
    ),
    Protocol.OFFICIAL: (
        "Official protocol, as the dataset authors' evaluator counts, to the last digit. It takes pairs "
        "{undecided} for misses of the label same (or mutual), and across images never looks at reversed pairs, so "
        "that recall there cannot exceed one half. Undefined scores are 0."
    ),
}


def protocol_words(protocol: Protocol, *, rated: bool) -> str:
    """How a protocol counts, in words; raters are named only where there were some."""
    undecided = "on which the raters found no majority" if rated else "without a label"
    return _PROTOCOLS[protocol].format(undecided=undecided)


OUTCOMES: Final = {
    "correct": "correct",
    "wrong_predicate": "wrong predicate",
    "missed_object": "missed object",
    "spurious_pair": "spurious pair",
    "undecided": "no majority",
}

_F1_PATHS: Final = {name: ("subtasks", name, "micro", "all", "f1") for name in SUBTASK_TITLES} | {
    "average": ("average",)
}
"""Where the scores have the F1 of each sub-task and their average."""
_PACKAGE: Final = "sightline.exams.relations"
_SCALES: Final = ("easy", "moderate", "difficult")
_GRID_TITLES: Final = {"size": "Size", "vertical": "Top to bottom", "horizontal": "Left to right"}


@dataclass(frozen=True)
class Behaviour:
    """What is computed of one run beyond its scores.

    Attributes:
        difficulty: F1 by difficulty; None on detected boxes or where nothing was answered.
        heuristics: Setting → accuracy where the usual cues mislead. `consistency` and `silence` likewise.
        outcomes: Sub-task → outcome → judgements; on detected boxes only.
    """

    difficulty: ByDifficulty | None = None
    heuristics: Mapping[Setting, Mapping[str, AccuracySlice]] = field(default_factory=dict)
    consistency: Mapping[Setting, Mapping[str, Violations]] = field(default_factory=dict)
    silence: Mapping[Setting, Silence] = field(default_factory=dict)
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class RelationsAnalyses:
    """Everything the sections show: what is computed of each run (by name), of the focus, and of the data."""

    runs: Mapping[str, Behaviour]
    grids: Mapping[Setting, Sequence[Grid]]
    data: DataFacts


def analyses(card: CardContext) -> RelationsAnalyses:
    """Compute what the sections show, once a card."""

    def make() -> RelationsAnalyses:
        runs = {result.name: _behaviour(card, result) for result in card.answered}
        return RelationsAnalyses(runs, _grids(card), _described(card))

    return card.once("relations analyses", make)


def marks_of(card: CardContext, result: RunResult) -> Marks:
    """The marked pairs of a run on given boxes, in the order of the annotated pairs; computed once a card."""
    exam = card.exam
    assert isinstance(exam, RelationsExam)
    return card.once(
        ("marks", result.name), lambda: mark_pairs(result.records.rows, exam.settled(card.data).tables(card.data))
    )


def _behaviour(card: CardContext, result: RunResult) -> Behaviour:
    sure: dict[str, Any] = {"resamples": card.options.resamples, "seed": card.options.seed}
    if "outcome" in result.records.rows.columns:
        return Behaviour(outcomes=_outcomes(result))
    if not card.exam.standard(result.run.options):
        return Behaviour()
    marks = marks_of(card, result)
    settings = {setting: of_setting(marks, setting) for setting in SETTING_WORDS if of_setting(marks, setting)}
    return Behaviour(
        difficulty=by_difficulty(marks, protocol=_protocol(card), **sure),
        heuristics={s: counter_heuristic(of["depth"], **sure) for s, of in settings.items() if "depth" in of},
        consistency={s: consistency(of, **sure) for s, of in settings.items()},
        silence={s: silence(of, **sure) for s, of in settings.items()},
    )


def _outcomes(result: RunResult) -> dict[str, dict[str, int]]:
    """Sub-task → outcome → how often, in written order."""
    counted = result.records.rows.group_by("setting", "aspect", "outcome", maintain_order=True).len()
    outcomes: dict[str, dict[str, int]] = {}
    for setting, aspect, outcome, n in counted.iter_rows():
        outcomes.setdefault(f"{setting}/{aspect}", {})[outcome] = n
    return outcomes


def _grids(card: CardContext) -> dict[Setting, tuple[Grid, ...]]:
    """F1 of *closer* by size and place, for the focus on given boxes."""
    if "outcome" in card.focus.records.rows.columns or not card.focus.records.rows.height:
        return {}
    sure: dict[str, Any] = {"resamples": card.options.resamples, "seed": card.options.seed}
    marks = marks_of(card, card.focus)
    return {
        setting: grids(marked, protocol=_protocol(card), **sure)
        for (setting, aspect), marked in marks.items()
        if aspect == "depth"
    }


def _described(card: CardContext) -> DataFacts:
    options = card.options
    split = str(card.focus.run.options.get("split") or "")
    return data_facts(card.data, split, _protocol(card), resamples=options.resamples, seed=options.seed)


def _protocol(card: CardContext) -> Protocol:
    assert isinstance(card.exam, RelationsExam)
    return Protocol(card.exam.protocol)


def document(card: CardContext) -> dict[str, Any]:
    """The analyses as JSON values."""
    made = analyses(card)
    return {
        "protocol": _protocol(card).value,
        "described": plain(made.data),
        "behaviour": plain(made.runs),
        "grids": plain(made.grids),
    }


def reference_lines(card: CardContext, name: Name) -> Sequence[tuple[float, str]]:
    """What one rater reaches, judged by the others."""
    human = _human(card, name)
    return [(human, f"one rater {human:.3f}")] if math.isfinite(human) else []


def _human(card: CardContext, name: Name) -> float:
    """F1 of one rater in what a figure measures; NaN where unknown."""
    return analyses(card).data.human_value("average" if name.path == ("average",) else name.path[1])


def words(name: Name) -> str:
    """A sub-task's figure, or the average."""
    return "average F1" if name.path == ("average",) else SUBTASK_TITLES.get(name.label, name.label).lower()


def reached(result: RunResult) -> str:
    """The average F1, or that of the first sub-task where there is none."""
    assert result.scores.headline is not None
    name, value = result.scores.headline
    what = "an average F1" if name.path == ("average",) else f"an F1 in “{words(name)}”"
    return f"reaches {what} of {value_words(value, name)}"


def details(card: CardContext, result: RunResult) -> Iterator[str]:
    """What one rater reaches, and the weakest sub-task."""
    assert result.scores.headline is not None
    name = result.scores.headline[0]
    human = _human(card, name)
    if math.isfinite(human):
        yield f"A single rater judged by the other raters reaches {figure(human)}."
    if result.scores.weakest is not None:
        name, value = result.scores.weakest
        yield f"{result.name} is weakest in {words(name)} ({figure(value.value)})."


def card_facts(card: CardContext) -> Iterator[tuple[str, str]]:
    """Pairs and images of each setting, and the protocol."""
    split = str(card.focus.run.options.get("split") or "")
    for setting, splits in analyses(card).data.description.splits.items():
        if split in splits:
            counts = splits[split]
            yield SETTING_WORDS[setting], f"{counted(counts.pairs, 'pair')}, {counted(counts.images, 'image')}"
    yield "protocol", _protocol(card).value


def cautions(card: CardContext) -> Iterator[str]:
    """Which sub-tasks were not scored, what answers of files fit no pair, which classes passed all filters."""
    yield from not_scored(card.results)
    yield from (f"{note}." for result in card.results for note in notes_of(result))


def scores(card: CardContext) -> Iterator[Table]:
    """F1 of every run, one column a sub-task, then the average; one rater in the last line."""
    names = [name for name, path in _F1_PATHS.items() if any(r.scores.at(*path) for r in card.main)]
    rows = [card.row(r, [scored(r.scores.at(*_F1_PATHS[name])) for name in names]) for r in card.main]
    data = analyses(card).data
    if data.human:
        rows.append(Row("one rater", tuple(Cell(figure(data.human_value(name))) for name in names), "human"))
    yield Table(
        "F1, all pairs together", ("model", *(SUBTASK_TITLES.get(n, "Average") for n in names)), tuple(rows)
    )


def sections(card: CardContext) -> Iterator[Section]:
    """Sub-tasks, behaviour, size and place, the data."""
    made = analyses(card)
    tasks = [task_name(*task) for task in SUBTASKS]
    text = (
        "Precision, recall and F1 over the labels the protocol counts: of all pairs together, and as the mean over "
        "scenes, in which a crowded scene weighs no more than a sparse one. Across images the image pair is the "
        "independent unit.",
        protocol_words(_protocol(card), rated=made.data.rated),
    )
    tables = [table for name in tasks for table in (_task_table(card, name), _predicate_table(card, name))]
    yield Section("tasks", "Sub-task by sub-task", (*text, *_human_paragraph(card)), tuple(tables))
    behaviour = [_heuristic_table(card), _consistency_table(card), _silence_table(card)]
    behaviour = [_difficulty_table(card), *behaviour] if made.data.rated else behaviour
    figures = _outcome_figures(card)
    ended = (FigureRow("How judgements ended", figures),) if figures else ()
    detected = _detected_table(card)
    yield Section("behaviour", "Behaviour", (), (*behaviour, *_transfer_tables(card), detected, *ended))
    rows = tuple(_grid_rows(made.grids))
    nothing = f"{card.focus.name} has no answers on given boxes."
    yield Section("grids", "Size and place", (_grid_sentence(card) if rows else nothing,), rows)
    yield Section("data", "The data", (), tuple(data_content(made.data)), folded=True)


def _task_table(card: CardContext, name: str) -> Table:
    """Precision, recall and F1 of a sub-task, of all pairs together and as the mean over scenes."""
    depth = name.endswith("depth")
    rows = []
    for result in card.main:
        figures = [
            result.scores.at("subtasks", name, kind, "all", f) for kind in ("micro", "macro") for f in _FIGURES
        ]
        if figures[0] is None:
            continue
        pairs = result.scores.facts["subtasks"][name]["pairs"]
        clear = [scored(result.scores.at("subtasks", name, "clear_order", "micro"))] if depth else []
        rows.append(card.row(result, [*map(scored, figures), *clear, Cell(f"{pairs:,}")]))
    unit = "scene" if name.startswith("within") else "image pair"
    columns = ("model", *(["precision", "recall", "F1"] * 2), *(["accuracy"] if depth else []), "pairs")
    last = [("clear orders", 1), ("", 1)] if depth else [("", 1)]
    groups = (("all pairs together (micro)", 3), (f"mean over {unit}s (macro)", 3), *last)
    return Table(SUBTASK_TITLES[name], columns, tuple(rows), groups)


_FIGURES: Final = ("precision", "recall", "f1")


def _predicate_table(card: CardContext, name: str) -> Table:
    """F1 of every label the protocol counts (the paper's Table 7)."""
    labels = list(
        dict.fromkeys(
            n.label
            for result in card.main
            for n in result.scores.figures
            if n.family == "predicates" and n.path[:3] == ("subtasks", name, "micro")
        )
    )
    rows = tuple(
        card.row(r, [scored(r.scores.at("subtasks", name, "micro", label, "f1")) for label in labels])
        for r in card.main
        if labels and r.scores.at("subtasks", name, "micro", "all", "f1") is not None
    )
    return Table(f"F1 by predicate, {SUBTASK_TITLES[name].lower()}", ("model", *labels), rows)


def _difficulty_table(card: CardContext) -> Table:
    """F1 by how well the raters agreed (the paper's Table 9)."""
    runs = [(r, of) for r in card.main if (of := analyses(card).runs[r.name].difficulty) is not None]
    tasks = [name for name in SUBTASK_TITLES if any(name in of.f1 for _, of in runs)]
    average = any(of.average for _, of in runs)
    rows = []
    for result, of in runs:
        parts = [of.f1.get(name, {}) for name in tasks] + ([of.average] if average else [])
        rows.append(card.row(result, [scored(part.get(scale)) for part in parts for scale in _SCALES]))
    groups = tuple((SUBTASK_TITLES[name], 3) for name in tasks) + ((("Average", 3),) if average else ())
    return Table(
        "F1 by difficulty",
        ("model", *(_SCALES * len(groups))),
        tuple(rows),
        groups,
        "Easy: all raters alike; moderate: at least four in five; difficult: a bare majority. "
        "Occlusion, too, is cut by how well the raters agreed on the depth order.",
    )


def _heuristic_table(card: CardContext) -> Table:
    """Accuracy on clear orders where the usual cues mislead."""
    slices = {
        "all": "all",
        "neither": "cues right",
        "lower_is_farther": "lower is not closer",
        "larger_is_farther": "larger is not closer",
        "both": "both mislead",
    }
    runs = [(r, of) for r in card.main if (of := analyses(card).runs[r.name].heuristics)]
    settings = _settings_of(of for _, of in runs)
    cells = [(setting, part) for setting in settings for part in slices]
    rows = [
        card.row(r, [scored(of[s][part].accuracy) if s in of else Cell("–") for s, part in cells]) for r, of in runs
    ]
    if runs:
        _, fullest = max(runs, key=lambda run: run[0].records.items.height)
        sizes = [Cell(f"{fullest[s][part].pairs:,}" if s in fullest else "–") for s, part in cells]
        rows.append(Row("ordered pairs", tuple(sizes), "count"))
    return Table(
        "Accuracy where the usual cues mislead",
        ("model", *(tuple(slices.values()) * len(settings))),
        tuple(rows),
        tuple((f"Depth {SETTING_WORDS[setting]}", len(slices)) for setting in settings),
        "Pairs with a clear depth order only. The cues: the object whose bottom edge is lower in the image is "
        "closer; the larger object is closer. A model that looks should hold up where both mislead.",
    )


def _consistency_table(card: CardContext) -> Table:
    """How often answers, or the labels themselves, contradict each other."""
    laws = {
        "symmetry": "closer both ways",
        "symmetry_exact": "not the reverse",
        "symmetry_occlusion": "occlusion not the reverse",
        "transitivity": "transitivity",
        "transitivity_strict": "transitivity, strict",
        "transitivity_all": "of all triples",
    }
    made = analyses(card)
    runs = [(r, of) for r in card.main if (of := made.runs[r.name].consistency)]
    every = [*(of for _, of in runs), made.data.consistency]
    settings = _settings_of(every)
    shown = [
        (setting, law)
        for setting in settings
        for law in laws
        if any(setting in of and law in of[setting] and of[setting][law].cases for of in every)
    ]

    def cells(of: Mapping[Setting, Mapping[str, Violations]]) -> list[Cell]:
        return [shared(of[s][law].share, 2) if law in of.get(s, {}) else Cell("–") for s, law in shown]

    rows = [card.row(result, cells(of)) for result, of in runs]
    rows.append(Row("the labels themselves", tuple(cells(made.data.consistency)), "human"))
    groups = [(SETTING_WORDS[s].capitalize(), sum(1 for of, _ in shown if of == s)) for s in settings]
    return Table(
        "Contradictions",
        ("answers of", *(laws[law] for _, law in shown)),
        tuple(rows),
        tuple(group for group in groups if group[1]),
        "Both directions of every pair are asked apart. Closer both ways: (a, b) said closer or same, yet (b, a) "
        "closer. Transitivity: a ≤ b and b ≤ c, yet a > c, as a share of the triples with both premises; strict: "
        "a < b and b < c, yet a > c; of all triples: the first as a share of all ordered triples with an answer. "
        "The labels are symmetric by construction.",
    )


def _silence_table(card: CardContext) -> Table:
    """How often models do not commit themselves; those that always do are named beneath."""
    runs = [(r, of) for r in card.main if (of := analyses(card).runs[r.name].silence)]
    settings = _settings_of(of for _, of in runs)
    asked = {s: ("depth", "occlusion") if s == "within_image" else ("depth",) for s in settings}
    rows, frank = [], []
    for result, of in runs:
        shares: list[Interval | None] = []
        for setting in settings:
            in_setting = of.get(setting)
            shares += [in_setting.unanswered.get(aspect) if in_setting else None for aspect in asked[setting]]
            shares.append(in_setting.unsure if in_setting else None)
        if any(share is not None and share.value > 0 for share in shares):
            rows.append(card.row(result, [shared(share, 2) for share in shares]))
        else:
            frank.append(result.name)
    columns = [c for s in settings for c in (*(f"{aspect} unanswered" for aspect in asked[s]), "depth unsure")]
    groups = tuple((SETTING_WORDS[s].capitalize(), 1 + len(asked[s])) for s in settings)
    note = f"Every pair answered, and never with unsure: {', '.join(frank)}." if frank else ""
    return Table("Silence", ("model", *columns), tuple(rows), groups, note)


def _transfer_tables(card: CardContext) -> Iterator[Table]:
    """Per model with several study plans: depth F1 by what it learned from and what it was asked (Table 8)."""
    plans = {"within_image": "within an image", "across_images": "across two images", "joint": "both"}
    on_truth = [r for r in card.answered if r.run.options.get("boxes", "truth") == "truth"]
    specs = dict.fromkeys(r.run.spec for r in on_truth if r.run.options.get("study", "same") != "same")
    for spec in specs:
        by_plan = {r.run.options.get("study", "same"): r for r in on_truth if r.run.spec == spec}
        rows = []
        for plan, words in plans.items():
            cells = []
            for setting in SETTING_WORDS:
                result = by_plan.get(plan) or (by_plan.get("same") if plan == setting else None)
                path = ("subtasks", f"{setting}/depth", "micro", "all", "f1")
                cells.append(scored(result.scores.at(*path) if result else None))
            rows.append(
                Row(f"learned from pairs {words}" if plan != "joint" else "learned from both", tuple(cells))
            )
        name = next(iter(by_plan.values())).run.name
        yield Table(f"Transfer: {name}", (name, "asked within an image", "asked across two images"), tuple(rows))


def _detected(card: CardContext) -> list[RunResult]:
    return [r for r in card.answered if r.run.options.get("boxes", "truth") != "truth"]


def _detected_table(card: CardContext) -> Table:
    """F1 on boxes the models found themselves (the paper's Table 5)."""
    runs = _detected(card)
    names = [name for name, path in _F1_PATHS.items() if any(r.scores.at(*path) for r in runs)]
    rows = [
        Row(
            f"{r.run.name}, {BOXES_WORDS[r.run.options['boxes']]}",
            tuple(scored(r.scores.at(*_F1_PATHS[name])) for name in names),
            card.row(r, ()).kind,
        )
        for r in runs
    ]
    return Table(
        "F1 on detected boxes",
        ("model", *(SUBTASK_TITLES.get(name, "Average") for name in names)),
        tuple(rows),
        note="Detections pass the filters the data was collected with, then as many are kept as there are "
        "annotated objects; both boxes of a pair must overlap the true ones by IoU > 0.5. Perfect predicates are "
        "the ceiling the detector sets.",
    )


def _outcome_figures(card: CardContext) -> tuple[Figure, ...]:
    """How judgements on detected boxes ended, one chart a run."""
    figures = []
    for result in _detected(card):
        ended = analyses(card).runs[result.name].outcomes
        rows = {SUBTASK_TITLES[t]: {OUTCOMES[o]: float(n) for o, n in of.items()} for t, of in ended.items()}
        counts = {task: int(sum(of.values())) for task, of in rows.items()}
        title = f"How judgements ended: {result.run.name}, {BOXES_WORDS[result.run.options['boxes']]}"
        chart = stacked_bars(rows, categories=list(OUTCOMES.values()), counts=counts, title=title)
        figures.append(Figure(title, chart))
    return tuple(figures)


def _grid_rows(made: Mapping[Setting, Sequence[Grid]]) -> Iterator[FigureRow]:
    """F1 of *closer* by size and place, setting by setting, one heat map an attribute."""
    for setting, by_attribute in made.items():
        maps = tuple(Figure(_GRID_TITLES[grid.attribute], _heat(grid, setting)) for grid in by_attribute)
        yield FigureRow(SETTING_WORDS[setting].capitalize(), maps, small=True)


def _heat(grid: Grid, setting: Setting) -> str:
    edges = [f"{100 * edge:.0f}" if grid.attribute != "size" else f"{100 * edge:.1f}" for edge in grid.edges]
    names = [f"{low}–{high}" for low, high in pairwise(edges)]
    unit = {"size": "% of the image", "vertical": "% from the top", "horizontal": "% from the left"}[grid.attribute]
    title = f"F1 of closer, {_GRID_TITLES[grid.attribute].lower()}, {SETTING_WORDS[setting]}"
    return heat_grid(
        grid.f1, grid.pairs, names, names, title, row_name=f"a: {unit}", col_name=f"b: {unit}", width=360
    )


def _grid_sentence(card: CardContext) -> str:
    """How to read the grids, with the extremes of the first one."""
    base = (
        f"F1 of “a is closer than b” for {card.focus.name}, by the size or place of a (rows) and b (columns). Bins "
        "hold equally many objects; the small figure counts ordered pairs. Even shading means the score does not "
        "hang on that property; a dark corner beside a pale one means that the model follows the cue."
    )
    for setting, by_attribute in analyses(card).grids.items():
        grid = next((g for g in by_attribute if g.attribute == "vertical"), None)
        if grid is None or len(grid.edges) < 3:
            continue
        low, high = grid.f1[-1, 0], grid.f1[0, -1]
        if math.isfinite(low) and math.isfinite(high):
            where = "Within an image" if setting == "within_image" else "Across two images"
            return (
                f"{base} {where}, F1 is {figure(low, 2)} when a is at the bottom and b at the top, and "
                f"{figure(high, 2)} the other way round."
            )
    return base


def _human_paragraph(card: CardContext) -> tuple[str, ...]:
    """What the human reference is, where there is one."""
    if not analyses(card).data.human:
        return ()
    tie = "is left out" if _protocol(card) is Protocol.DEFAULT else "is a false positive"
    return (
        "One rater: the vote of a single rater against the majority of the other raters of the same pair, counted "
        "as the protocol counts a model and averaged over all raters; nothing is drawn by lot. Where the others "
        f"tie, a vote {tie}. A reference, not a bound: models are judged by all raters together.",
    )


def _settings_of(mappings: Iterable[Mapping[Setting, object]]) -> list[Setting]:
    """Settings that some of the mappings have, in the order of every table."""
    present = {setting for mapping in mappings for setting in mapping}
    return [setting for setting in SETTING_WORDS if setting in present]


def examples(card: CardContext, result: RunResult) -> Iterator[Example]:
    """The scenes where the model errs most on plain pairs, each beside a right answer that was as hard."""
    if "outcome" in result.records.rows.columns:
        return
    options, each = card.options, 4 if card.options.examples is None else card.options.examples
    marks = marks_of(card, result)
    wanted: set[str] = set()
    if options.scenes:
        rows = result.records.rows.filter(pl.col("scene_id").is_in(options.scenes))
        wanted = set(rows["cluster_id"])
        if not wanted:
            return
    if result is not card.focus:
        each = min(each, WORST_OF_OTHERS)
    kind: ExampleKind = "chosen" if wanted else "worst"
    for example in worst_examples(marks, card.data, each=each, clusters=wanted):
        title = f"{SUBTASK_TITLES[example.subtask]}: {example.cluster}"
        html = render_part(_PACKAGE, "example.html.j2", example=example)
        facts = example.to_dict()
        yield Example("relations", result.name, kind, example.cluster, title, html, example.note, facts)


def examples_page(card: CardContext) -> dict[str, Any]:
    """What the page says of the scenes on show."""
    alike = "a pair of the same sub-task that was answered right, with the same label where there is one"
    if analyses(card).data.rated:
        lead = (
            "Where a model errs most although the raters agree: the raters’ unanimity on its wrong answers, as a "
            "share of all answers in the scene, scenes with few answers held back. Each is drawn with its plainest "
            f"mistake; beside it stands {alike}, on which the raters agreed just as much. Silence is not counted, "
            "nor pairs the raters could not tell."
        )
    else:
        lead = (
            "Where a model errs most: wrong answers as a share of all in the scene, scenes with few answers held "
            f"back. Each is drawn with a mistake; beside it stands {alike}. Silence is not counted."
        )
    kinds = {**KINDS, "worst": "The gravest first, sub-task by sub-task."}
    return {"examples_lead": (lead,), "kinds": kinds, "style": part_style(_PACKAGE, "example.css")}
