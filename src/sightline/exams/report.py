"""The report card: every exam found among some runs, on one page, with a summary first.

What all exams share is here: which runs belong together, labels, the summary, headlines in words, charts and tables
of scores, commands that do it again. An exam adds its own sections and draws its items (`Exam.card`).
"""

from __future__ import annotations

import json
import math
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final

from sightline.errors import ConfigError, naming
from sightline.exams.base import Candidate, Name, options_of
from sightline.exams.card import KINDS, CardContext, CardOptions, cell, has_scene, unknown_scene, value_words
from sightline.exams.checks import read_variations, variations_on_disk
from sightline.exams.checks_card import check_sections, small_sample_words
from sightline.exams.records_reader import RecordsReader
from sightline.exams.registry import exam_of_run
from sightline.exams.replies import reply_sections
from sightline.exams.run import Run
from sightline.exams.run_groups import comparable_groups, numbered, run_labels
from sightline.exams.scoring import RunResult, score_records
from sightline.plain import plain
from sightline.show.chart import SMALL, WIDTH, DotRow, dot_domain, dot_intervals
from sightline.show.page import ExamPart, Example, Figure, FigureRow, Page, Section
from sightline.show.table import Cell, Row, Table, figure, known
from sightline.stats import Interval
from sightline.store import Dataset
from sightline.text import counted

_NAMED: Final = 3
"""Models named in the title, at most."""

_TITLE: Final = 72
"""Characters of the title, unless the first name alone has more."""

OTHERS: Final = 3
"""Other models whose worst items are on show."""


def report_card(
    runs: Sequence[Run],
    open_data: Callable[[Sequence[Run]], Dataset],
    options: CardOptions,
    *,
    blind: Callable[[str], bool],
    load: Callable[[Run], Candidate],
    progress: Callable[[int, int], None] | None = None,
) -> Page:
    """One page of all runs: a part for each exam and dataset.

    Args:
        runs: Runs of any exams, finished or not.
        open_data: Opens the data of runs that belong together.
        options: What the user chose.
        blind: Whether a model spec is a built-in rule that never looks at a picture.
        load: Loads the model of a run.
        progress: Called with (runs scored, runs in all).

    Raises:
        ConfigError: No runs, no such focus, options that no exam takes, or a scene that cannot be shown.
    """
    if not runs:
        raise ConfigError("no runs to report: let a model take an exam first")
    scoring = dict(options.scoring or {})
    scored = count(1)

    def on_scored() -> None:
        done = next(scored)
        if progress is not None:
            progress(done, len(runs))

    groups = comparable_groups(runs)
    contexts = [_context(group, open_data(group), options, scoring, blind, load, on_scored) for group in groups]
    _refuse_strange_scoring(scoring, contexts)
    _refuse_unfocused(options, contexts)
    _refuse_unknown_scenes(options.scenes, contexts)
    keys = numbered([context.exam.name for context in contexts], "{}-{}")
    parts, examples = [], []
    for key, context in zip(keys, contexts, strict=True):
        alone = Counter(c.exam.name for c in contexts)[context.exam.name] == 1
        place = Path(os.path.commonpath([result.run.folder.resolve() for result in context.results]))
        with context.data.faults_told(), naming(place):
            shown = [replace(example, exam=key) for example in _examples(context)]
            parts.append(_part(key, context, shown, alone=alone))
        examples += shown
    return Page(
        title=_title(contexts),
        made=datetime.now(UTC).isoformat(timespec="minutes"),
        lead=tuple(_lead(contexts)),
        summary=summary_table(
            [(part.title, c.main or c.results) for part, c in zip(parts, contexts, strict=True)]
        ).merged(),
        parts=tuple(parts),
        examples=tuple(examples),
        provenance=tuple(_provenance(contexts)),
    )


def _refuse_unknown_scenes(wanted: Sequence[str], contexts: Sequence[CardContext]) -> None:
    """ConfigError for a scene that no model in focus was asked about."""
    asked = [_asked_scenes(context.focus) for context in contexts]
    for name in wanted:
        if not any(name in scenes for scenes in asked):
            at = next((i for i, c in enumerate(contexts) if has_scene(c.data, name)), 0)
            raise ConfigError(unknown_scene(name, asked[at], contexts[at].data, contexts[at].focus.name))


def _asked_scenes(result: RunResult) -> list[str]:
    """Ids of the scenes that a run has answers about, in the order asked."""
    rows = result.records.rows
    return rows["scene_id"].unique(maintain_order=True).to_list() if rows.height else []


def _context(
    runs: Sequence[Run],
    data: Dataset,
    options: CardOptions,
    scoring: Mapping[str, Any],
    blind: Callable[[str], bool],
    load: Callable[[Run], Candidate],
    on_scored: Callable[[], None],
) -> CardContext:
    for run in runs:
        made_on = run.manifest["identity"]["data_fingerprint"]
        if made_on != data.fingerprint:
            raise ConfigError(
                f"{run.folder} was made on other data: fingerprint {made_on[:12]}, "
                f"{data.path} has {data.fingerprint[:12]}"
            )
    exams = [exam_of_run(run, **_scoring_of(run, scoring)) for run in runs]
    results = []
    with ThreadPoolExecutor(1) as reader:  # reads the next run's records while those of one are counted
        read = reader.map(RecordsReader().read, runs, (exam.columns for exam in exams))
        for run, exam, label, records in zip(runs, exams, run_labels(runs), read, strict=True):
            scores = score_records(
                exam, records, lambda: data, details=True, resamples=options.resamples, seed=options.seed
            )
            how: dict[str, Any] = {"resamples": options.resamples, "seed": options.seed}
            varied = read_variations(exam, run.folder, records, variations_on_disk(run.folder), **how)
            results.append(RunResult(run, exam, label, records, scores, blind=blind(run.spec), varied=varied))
            on_scored()
    items = {frozenset(result.records.items["item"]) for result in results}
    if len(items) == 1 and all(run.limited for run in runs):
        results = [replace(result, limited=True) for result in results]
    results.sort(key=lambda result: result.rank, reverse=True)
    shared_facts = exams[0].across(results, resamples=options.resamples, seed=options.seed)
    context = CardContext(exams[0], data, tuple(results), results[0], options, shared_facts, load)
    return replace(context, focus=_focus(results, options.focus))


def _scoring_of(run: Run, scoring: Mapping[str, Any]) -> dict[str, Any]:
    known_options = {o.name for o in options_of(exam_of_run(run)).values() if o.scoring}
    return {key: value for key, value in scoring.items() if key in known_options}


def _refuse_strange_scoring(scoring: Mapping[str, Any], contexts: Sequence[CardContext]) -> None:
    for key in scoring:
        if not any(o.scoring and o.name == key for c in contexts for o in options_of(c.exam).values()):
            names = ", ".join(dict.fromkeys(context.exam.name for context in contexts))
            raise ConfigError(f"--{key} goes with another exam; these are runs of {names}")


def _refuse_unfocused(options: CardOptions, contexts: Sequence[CardContext]) -> None:
    if options.focus and not any(_called(r, options.focus) for c in contexts for r in c.results):
        there = ", ".join(dict.fromkeys(result.name for context in contexts for result in context.results))
        raise ConfigError(f"no run of {options.focus!r} to look at closely; there are {there}")


def _called(result: RunResult, wanted: str) -> bool:
    return wanted in (result.name, result.run.name, result.run.spec)


def _focus(results: Sequence[RunResult], wanted: str) -> RunResult:
    """The run to look at closely: the one wanted, else the best that is not blind, else the best."""
    named = [result for result in results if wanted and _called(result, wanted)]
    return max(named or results, key=lambda r: (r.records.rows.height > 0, bool(named) or not r.blind, r.rank))


def _part(key: str, context: CardContext, examples: Sequence[Example], *, alone: bool) -> ExamPart:
    data, exam = context.data, context.exam
    split = context.focus.run.options.get("split")
    where = data.path.resolve().name + (f", {split}" if split else "")
    facts = [("data", data.path.resolve().name), ("source", data.source), ("split", split or "all")]
    facts += [("fingerprint", data.fingerprint[:12]), *exam.card_facts(context)]
    facts += [("runs", str(len(context.results))), ("looked at closely", context.focus.name)]
    facts += [("on show", counted(len(examples), "example") if examples else "nothing to show")]
    return ExamPart(
        exam=key,
        title=exam.title if alone else f"{exam.title}: {where}",
        lead=tuple(headline(context)),
        facts=tuple((name, value) for name, value in facts if value),
        sections=tuple(map(_merged, _sections(context))),
        warnings=(*_warnings(context), *small_sample_words(context), *exam.cautions(context)),
        commands=tuple(_commands(context)),
        document=_document(context, examples),
        **{"kinds": KINDS, **exam.examples_page(context)},
    )


def _merged(section: Section) -> Section:
    """A section in whose tables equal columns are one."""
    return replace(section, content=tuple(c.merged() if isinstance(c, Table) else c for c in section.content))


def _sections(context: CardContext) -> Iterator[Section]:
    """Scores, what the exam adds, what variations and calibration show, and what models wrote."""
    yield from _score_sections(context)
    yield from context.exam.sections(context)
    yield from check_sections(context)
    yield from reply_sections(context.results)


def _score_sections(context: CardContext) -> Iterator[Section]:
    """Charts of the totals, then every printed table of scores."""
    if not context.main:
        return
    names, content = _totals(context), tuple(context.exam.scores(context))
    drawn = [figure for figure in content if isinstance(figure, Figure)]
    small = len(names) + len(drawn) == 3
    figures = [*_forests(context, names, SMALL if small else WIDTH), *drawn]
    tables = [table for table in content if isinstance(table, Table)] or list(score_tables(context))
    kinds = {context.kind(result) for result in context.main}
    key = [("model", context.focus.name), ("rival", "other models"), ("blind", "never look at a picture")]
    key = [pair for pair in key if pair[0] in kinds or (pair[0] == "blind" and "baseline" in kinds)]
    titles = dict.fromkeys(f"{name.table}, " for name in names if name.table)
    alike = not drawn and len({name.percent for name in names}) == 1
    scale = "" if len(figures) < 2 else "; all on one scale" if alike else "; each chart has its own scale"
    key += [("", f"· {''.join(titles)}with 95 % intervals by {context.exam.unit}{scale}")]
    row = FigureRow("", tuple(figures), key=tuple(key), small=small)
    text = (f"Beneath each figure its 95 % interval, by {context.exam.unit}.",)
    yield Section("scores", "Scores", text, (row, *tables) if figures else tuple(tables))


def _totals(context: CardContext) -> list[Name]:
    """Figures that get a chart: totals that are compared, in the table of the headline."""
    names = list(dict.fromkeys(name for result in context.main for name in result.scores.figures))
    titles = {name.table for name in names if name.headline}
    return [n for n in names if n.headline or (n.family == "" and n.table in titles)]


def _forests(context: CardContext, names: Sequence[Name], width: float) -> list[Figure]:
    """A chart a total, best first; all on one scale where all are in per cent, or none is."""
    rows = {name: sorted(_dots(context, name), key=lambda row: -row.value) for name in names}
    lines = {
        name: [(_scale(name) * value, words) for value, words in context.exam.reference_lines(context, name)]
        for name in names
    }
    domain = None
    if len({name.percent for name in names}) == 1:
        drawn = [row for of in rows.values() for row in of], [one for of in lines.values() for one in of]
        domain = dot_domain(*drawn)
    figures = []
    for name in names:
        words = context.exam.words(name)
        words = words[:1].upper() + words[1:]
        title = f"{words}{' in per cent' if name.percent else ''}, with 95 % intervals"
        digits = 1 if name.percent else 3
        how: dict[str, Any] = {"domain": domain, "title": title, "digits": digits, "width": width}
        figures.append(Figure(words, dot_intervals(rows[name], reference_lines=lines[name], **how)))
    return figures


def _dots(context: CardContext, name: Name) -> Iterator[DotRow]:
    """A figure of every run that has it, as a chart shows it."""
    for result in context.main:
        value = result.scores.at(*name.path)
        if value is not None and known(value):
            unit, note = _scale(name), "" if result.finished else "unfinished"
            limits = (unit * value.value, unit * value.low, unit * value.high)
            yield DotRow(result.name, *limits, context.kind(result), note)


def _scale(name: Name) -> float:
    return 100.0 if name.percent else 1.0


def score_tables(context: CardContext) -> Iterator[Table]:
    """Every printed table of scores: a line a run, a column a figure."""
    names = list(dict.fromkeys(n for r in context.main for n in r.scores.figures if n.table))
    for title in dict.fromkeys(name.table for name in names):
        columns = [name for name in names if name.table == title]
        rows = [
            context.row(result, [cell(result.scores.at(*name.path), name) for name in columns])
            for result in context.main
        ]
        yield Table(title, ("model", *(name.label.strip() for name in columns)), tuple(rows))


def best(results: Sequence[RunResult], *, blind: bool) -> RunResult | None:
    """The best finished run with a headline, among blind models or among the others."""
    ranked = [r for r in results if r.finished and r.blind == blind and r.scores.headline]
    return max(ranked, key=lambda r: r.rank, default=None)


def headline(context: CardContext) -> list[str]:
    """What the scores mean, in a few sentences: the best model, the best that never looks, the weakest point."""
    model = best(context.main, blind=False)
    rule = _best_beside(context.main, model)
    models = [r for r in context.main if r.finished and not r.blind and r.scores.headline]
    sentences = []
    if model is not None and model.scores.headline:
        lead = f"The best of the {len(models)} models, {model.name}," if len(models) > 1 else model.name
        name, value = model.scores.headline
        usual = f"reaches {value_words(value, name)} in {context.exam.words(name)}"
        sentences.append(f"{lead} {context.exam.reached(model) or usual}.")
    if rule is not None and rule.scores.headline:
        lead = "Without a look at any picture," if model else "Only blind baselines took the exam; the best,"
        name, value = rule.scores.headline
        if model is not None and model.scores.headline:
            name = model.scores.headline[0]
            value = rule.scores.at(*name.path) or value
        alike = [r.name for r in context.main if r.finished and r.blind and _value_at(r, name) == value.value]
        who = f"{', '.join(alike[:-1])} and {alike[-1]} alike" if len(alike) > 1 else rule.name
        reach = f"{'' if model else ','} {'reach' if len(alike) > 1 else 'reaches'}"
        sentences.append(f"{lead} {who}{reach} {value_words(value, name)}{_against(model, value)}.")
    if (shown := model or rule) is not None:
        details = context.exam.details(context, shown)
        sentences += _weakest(shown) if details is None else details
    return [s.replace(" %", "\u00a0%") for s in sentences] or ["No finished run has a score yet."]


def _weakest(result: RunResult) -> Iterator[str]:
    if result.scores.weakest is not None:
        name, value = result.scores.weakest
        words = value_words(value, name, limits=False)
        yield f"{result.name} is weakest in “{result.exam.words(name)}” ({words})."


def _best_beside(results: Sequence[RunResult], model: RunResult | None) -> RunResult | None:
    """The best finished blind run by the headline of a model, or by its own where there is no model."""
    if model is None or model.scores.headline is None:
        return best(results, blind=True)
    name = model.scores.headline[0]
    known = [r for r in results if r.finished and r.blind and math.isfinite(_value_at(r, name))]
    return max(known, key=lambda r: (_value_at(r, name), r.rank), default=None)


def _value_at(result: RunResult, name: Name) -> float:
    """A figure of a run; NaN where it has none."""
    found = result.scores.at(*name.path)
    return math.nan if found is None else found.value


def _against(model: RunResult | None, blind: Interval) -> str:
    """How the best blind baseline stands to the best model, in the figure that is the model's headline."""
    if model is None or model.scores.headline is None:
        return ""
    name, ours = model.scores.headline
    if not math.isfinite(blind.low + ours.low):
        return ", without an interval to tell them apart"
    if blind.low > ours.high:
        return ": more than any model does"
    if ours.low > blind.high:
        gap = ours.value - blind.value
        return f", {100 * gap:.1f} points less" if name.percent else f", {figure(gap)} less"
    return ": their intervals overlap"


def summary_table(parts: Sequence[tuple[str, Sequence[RunResult]]]) -> Table:
    """Exams × models: the headline figure, the best blind baseline beside it, the weakest point in a sentence.

    Args:
        parts: Title of each exam, and its runs.
    """
    rows = []
    for title, results in parts:
        rule = best(results, blind=True)
        models = [r for r in results if not r.blind] or ([rule] if rule else list(results)[:1])
        ranked = sorted(models, key=lambda r: r.rank, reverse=True)
        rows += [
            Row(title, (Cell(r.name), *_summary(r, _best_beside(results, r))), "blind" if r.blind else "")
            for r in ranked
        ]
    columns = ("exam", "model", "headline", "what it is", "best without looking", "weakest point")
    return Table("", columns, tuple(rows), words=columns[1:2] + columns[3:])


def _summary(result: RunResult, rule: RunResult | None) -> Iterator[Cell]:
    named, weak = result.scores.headline, result.scores.weakest
    yield cell(named[1], named[0]) if named else Cell("–")
    yield Cell(result.exam.words(named[0]) if named else "")
    beside = rule.scores.at(*named[0].path) if named and rule is not None and rule is not result else None
    yield Cell(f"{rule.name} {cell(beside, named[0]).text}") if named and rule and beside else Cell("–")
    yield Cell(f"{result.exam.words(weak[0])}: {cell(weak[1], weak[0]).text}") if weak else Cell("–")


def _title(contexts: Sequence[CardContext]) -> str:
    """The models' names, as many as fit a heading."""
    models = list(dict.fromkeys(r.run.name for c in contexts for r in c.results if not r.blind))
    if not models:
        return "Blind baselines"
    shown = 1
    while shown < min(len(models), _NAMED) and len(", ".join(models[: shown + 1])) <= _TITLE:
        shown += 1
    return ", ".join(models[:shown]) + (f" and {len(models) - shown} more" if shown < len(models) else "")


def _lead(contexts: Sequence[CardContext]) -> Iterator[str]:
    exams = list(dict.fromkeys(context.exam.title for context in contexts))
    models = len({r.run.name for c in contexts for r in c.results if not r.blind})
    blind = len({r.run.name for c in contexts for r in c.results if r.blind})
    who = [counted(models, "model")] * bool(models) + [counted(blind, "blind baseline")] * bool(blind)
    yield f"{' and '.join(who)} took {counted(len(exams), 'exam')}: {', '.join(exams)}."


def _intervals_paragraph(contexts: Sequence[CardContext]) -> str:
    units, options = {c.exam.title: c.exam.unit for c in contexts}, contexts[0].options
    where = "; ".join(f"{title}: the {unit}" for title, unit in units.items())
    return (
        f"All intervals are 95 %. Judgements of one independent unit ({where}) stand or fall together, and "
        "intervals that ignore this are too narrow. From 200 units on, percentile bootstrap with "
        f"{options.resamples:,} resamples (seed {options.seed}); below that, or near 0 and 1, a closed formula. "
        "Overlapping intervals do not show that two models are alike: sightline compare tests the difference on "
        "what both were asked."
    )


def _warnings(context: CardContext) -> Iterator[str]:
    """What a reader must know before trusting the figures: unfinished runs, broken items, no blind baseline."""
    if context.focus.limited:
        asked, total = context.focus.records.items.height, int(context.focus.run.manifest.get("items", 0))
        verb = "was" if asked == 1 else "were"
        items = counted(total, context.exam.unit_of_items)
        yield f"Only {asked:,} of {items} {verb} asked, by a limit; the scores cover only those."
    unfinished: dict[str, list[str]] = {}
    for result in context.results:
        run = result.run
        if not result.finished:
            total = int(run.manifest.get("items", 0))
            done, item = result.records.items.height, context.exam.unit_of_items
            answered = f"{done:,} of {counted(total, item)}" if total else counted(done, item)
            state = f"({run.status}): {answered} answered"
            unfinished.setdefault(state, []).append(result.name)
        if earlier := run.answered_earlier:
            kept = f"{earlier:,} of its {context.exam.unit_of_items}s {'was' if earlier == 1 else 'were'}"
            yield f"{result.name}: {kept} answered by an earlier state of the model, and kept on demand."
        if run.broken:
            first = next(iter(run.broken.values()))
            left = counted(len(run.broken), context.exam.unit_of_items)
            yield f"{result.name}: {left} left out for pictures that cannot be read; the first: {first}"
    for state, names in unfinished.items():
        verb, scores = ("is", "Its scores cover") if len(names) == 1 else ("are", "Their scores cover")
        who = ", ".join(names)
        yield f"{who} {verb} unfinished {state}. {scores} only those and cannot be compared with the others."
    if not any(result.blind for result in context.results):
        yield "No blind baseline is among the runs: how much of these scores needs no picture is not shown."


def _examples(context: CardContext) -> Iterator[Example]:
    """Items on show: of the focus, then the worst of a few other models that look."""
    others = [r for r in context.results if r is not context.focus and not r.blind][:OTHERS]
    for result in (context.focus, *others):
        if result.records.rows.height:
            yield from context.exam.examples(context, result)


def _commands(context: CardContext) -> list[str]:
    """Command lines that make these runs and this report again; files are named without their folders."""
    data = shlex.quote(context.data.path.name)
    plans: dict[str, list[str]] = {}
    for result in context.results:
        plans.setdefault(_option_words(result), []).append(result.run.spec)
    lines = []
    for words, specs in plans.items():
        models = " ".join(f"--model {shlex.quote(spec)}" for spec in dict.fromkeys(specs))
        own = context.exam.data_option
        start = f"sightline exam {context.exam.name}" + ("" if own and f"--{own} " in words else f" --data {data}")
        lines.append(" ".join(part for part in (start, words, "--no-baselines", models, "--out runs") if part))
    report = [f"sightline report runs --exam {context.exam.name} --data {data}"]
    report += [f"--{key} {shlex.quote(str(value))}" for key, value in (context.options.scoring or {}).items()]
    usual, options = CardOptions(), context.options
    report += [f"--{k} {v}" for k in ("resamples", "seed") if (v := getattr(options, k)) != getattr(usual, k)]
    report += [f"--scene {shlex.quote(scene)}" for scene in context.options.scenes]
    report += [f"--attention --model {shlex.quote(context.focus.run.spec)}"] if context.options.attention else []
    return [*lines, " ".join([*report, "--out report.html"])]


def _option_words(result: RunResult) -> str:
    """The options a run was given, as the command line takes them; capitals stand for what was no file."""
    known_options = {o.name: o for o in options_of(result.exam).values() if o.command and not o.scoring}
    types = {options_of(result.exam)[f.name].name: str(f.type) for f in fields(result.exam)}  # type: ignore[arg-type]
    words = []
    for key, value in result.run.manifest.get("given", {}).items():
        if key not in known_options or value in (None, False):
            continue
        flag = f"--{key.replace('_', '-')}"
        many = value if known_options[key].repeated or not isinstance(value, list) else ",".join(map(str, value))
        for one in many if isinstance(many, list) else [many]:
            text = key.upper() if isinstance(one, dict) else str(one)
            text = shlex.quote(Path(text).name if "Path" in types[key] else text)
            words.append(flag if one is True else f"{flag}{'=' if text.startswith('-') else ' '}{text}")
    return " ".join(words)


def _document(context: CardContext, examples: Sequence[Example]) -> dict[str, Any]:
    """The exam's results for JSON."""
    data, options = context.data, context.options
    document: dict[str, Any] = {
        "exam": context.exam.name,
        "resamples": options.resamples,
        "seed": options.seed,
        "focus": context.focus.name,
        "warnings": list(_warnings(context)),
        "data": {
            "name": data.path.resolve().name,
            "source": data.source,
            "fingerprint": data.fingerprint,
            "split": context.focus.run.options.get("split"),
        },
        "runs": [_run_document(result) for result in context.results],
        **context.shared,
        **context.exam.document(context),
        "examples": [example.to_dict() for example in examples],
    }
    values: dict[str, Any] = plain(document)
    return values


def _run_document(result: RunResult) -> dict[str, Any]:
    run = result.run
    return {
        "label": result.name,
        "name": run.name,
        "spec": run.spec,
        "blind": result.blind,
        "status": run.status,
        "done": result.records.items.height,
        "items": int(run.manifest.get("items", 0)),
        "options": run.options,
        "model": dict(run.manifest.get("model", {})),
        "versions": dict(run.manifest.get("versions", {})),
        "scores": result.scores.to_dict(),
        **(result.varied.to_dict() if result.varied.kinds else {}),
    }


def _provenance(contexts: Sequence[CardContext]) -> Iterator[Section]:
    results = {r.run.folder: r for context in contexts for r in context.results}.values()
    said = {(r.name, r.run.spec): _facts_words(r.run.manifest.get("model", {})) for r in results}
    rows = tuple(Row(name, (Cell(spec), Cell(words or "–"))) for (name, spec), words in said.items())
    columns = ("model", "asked for as", "says of itself")
    yield Section("intervals", "Intervals", (_intervals_paragraph(contexts),))
    yield Section("models", "Models in their own words", (), (Table("", columns, rows, words=columns[1:]),))
    data = {c.data.fingerprint: c.data for c in contexts}
    rows = tuple(Row(d.path.resolve().name, (Cell(d.source), Cell(mark))) for mark, d in data.items())
    versions = sorted({(name, v) for r in results for name, v in r.run.manifest.get("versions", {}).items()})
    words = "Made with " + ", ".join(f"{name} {version}" for name, version in versions) + "."
    columns = ("data", "source", "fingerprint")
    table = Table("", columns, rows, words=columns[1:])
    yield Section("data", "Data and software", (words,) if versions else (), (table,))


def _facts_words(facts: Mapping[str, object]) -> str:
    """Facts on one line.

    >>> _facts_words({"margin": 0.12345, "heads": [8, 4]})
    'margin 0.1235, heads [8, 4]'
    """

    def said(value: object) -> str:
        if isinstance(value, float):
            return f"{value:.4g}"
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

    return ", ".join(f"{key} {said(value)}" for key, value in facts.items())
