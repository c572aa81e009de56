"""``sightline audit``: how much do blind rules get?"""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.cli.console import AllowOutside, DataPath, Json, number, out, print_json, table
from sightline.errors import DataError
from sightline.plain import plain


def command(
    data: DataPath,
    split: Annotated[str | None, typer.Option(help="Split to audit; by default test.")] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the class prior, by scene.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and resampling.")] = 0,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Guess every clear depth order from boxes or class names alone, without a picture."""
    from sightline.exams.relations import RelationsExam, audit
    from sightline.store import open_dataset

    opened = open_dataset(data, allow_outside=allow_outside)
    exam = RelationsExam(split=split)
    audited = audit(exam.tables(opened), folds=folds, seed=seed)
    chosen = exam.settled(opened).split
    if not audited:
        where = f" in split {chosen}" if chosen else ""
        raise DataError(f"no depth relations{where}, so no depth order to guess", file=opened.path)
    if json:
        print_json(plain(audited))
        return
    for setting, rules in audited.items():
        title = f"{setting}, {chosen or 'all'}: accuracy on pairs with a clear depth order"
        printed = table(title, "blind rule", "accuracy", "95 % by scene", "pairs", "SE / naive SE")
        for name, rule in rules.items():
            low, high = number(rule.accuracy.low), number(rule.accuracy.high)
            cells = (number(rule.accuracy.value), f"[{low}, {high}]", f"{rule.pairs:,}", number(rule.se_ratio, 2))
            printed.add_row(name, *cells)
        out.print(printed)
        out.print()
