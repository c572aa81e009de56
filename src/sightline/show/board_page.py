"""A leaderboard as one HTML page: filters, ranks with ranges, and which models can be told apart."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from markupsafe import Markup

from sightline import __version__
from sightline.show.chart import DotRow, dot_intervals
from sightline.show.markup import part_style, render_part
from sightline.show.table import Table, figure, percent

_PACKAGE: Final = "sightline.show"
_MOST_APART: Final = 12
"""Models up to which every pair stands in a grid."""


def board_html(exams: Sequence[Mapping[str, Any]], overview: Table, resamples: int, seed: int) -> str:
    """Write the page.

    Args:
        exams: Plain values of each exam, as `exams.board.Board.to_dict` has them.
        overview: Models × exams.
        resamples: Behind ranks and intervals.
        seed: Of the resampling.
    """
    style = part_style(_PACKAGE, "page.css") + part_style(_PACKAGE, "board.css")
    script = part_style(_PACKAGE, "board.js")
    return render_part(
        _PACKAGE,
        "board.html.j2",
        exams=[_exam(exam) for exam in exams],
        overview=overview,
        resamples=resamples,
        seed=seed,
        version=__version__,
        style=style,
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        datasets=list(dict.fromkeys(exam["data"] for exam in exams)),
        titles=list(dict.fromkeys(exam["title"] for exam in exams)),
    )


def _exam(exam: Mapping[str, Any]) -> dict[str, Any]:
    """What the template shows of one exam."""
    scale = 100.0 if exam["percent"] else 1.0
    rows = exam["rows"]
    dots = []
    for row in rows:
        value, low, high = (scale * _number(row["value"][end]) for end in ("value", "low", "high"))
        note = "" if row["ranks"] else "unfinished"
        dots.append(DotRow(row["model"], value, low, high, "baseline" if row["blind"] else "rival", note))
    title = f"{exam['figure']}{' in per cent' if exam['percent'] else ''}, with 95 % intervals by {exam['unit']}"
    ranked = [row["model"] for row in rows if row["ranks"]]
    return {
        **exam,
        "key": f"{exam['exam']}-{exam['data']}",
        "chart": dot_intervals(dots, title=title, digits=1 if exam["percent"] else 3),
        "lines": [_line(row, bool(exam["percent"])) for row in rows],
        "grid": _grid(ranked, exam["pairs"], exam["percent"]) if 1 < len(ranked) <= _MOST_APART else None,
        "ranked": ranked,
    }


def _line(row: Mapping[str, Any], in_percent: bool) -> dict[str, Any]:
    value = row["value"]
    said = percent(value["value"]) if in_percent else figure(value["value"])
    scale, digits = (100, 1) if in_percent else (1, 3)
    limits = "" if value["low"] is None else f"{scale * value['low']:.{digits}f}–{scale * value['high']:.{digits}f}"
    ranks = row["ranks"]
    place = "–" if not ranks else str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"
    when = (row["when"] or "")[:10]
    return {**row, "said": said, "limits": limits, "place": place, "when": when}


def _grid(
    models: Sequence[str], pairs: Sequence[Mapping[str, Any]], in_percent: bool
) -> list[list[dict[str, str]]]:
    """Row against column: better, worse, or not told apart, with the difference and its p-value in words."""
    by_pair = {(pair["a"], pair["b"]): (pair, 1) for pair in pairs}
    by_pair |= {(pair["b"], pair["a"]): (pair, -1) for pair in pairs}
    grid = []
    for a in models:
        line = []
        for b in models:
            pair, sign = by_pair.get((a, b), (None, 1))
            if pair is None or pair["p_holm"] is None:
                line.append({"mark": "", "kind": "none", "words": ""})
                continue
            gap = sign * pair["difference"]
            shown = f"{100 * gap:+.1f} points" if in_percent else f"{gap:+.3f}"
            apart = pair["p_holm"] < 0.05 and gap != 0
            kind = ("better" if gap > 0 else "worse") if apart else "alike"
            words = f"{a} against {b}: {shown}, p {pair['p_holm']:.3f} after Holm"
            line.append({"mark": {"better": "▲", "worse": "▽", "alike": "·"}[kind], "kind": kind, "words": words})
        grid.append(line)
    return grid


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
