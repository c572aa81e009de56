"""How figures of docs/results/context.md are written: shares, differences, tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

Figure = Sequence[float | None] | None


def per_cent(value: Figure, *, limits: bool = True, signed: bool = False) -> str:
    """A share in per cent with its interval."""
    if value is None or value[0] is None:
        return "–"
    form = "+.1f" if signed else ".1f"
    text = f"{100 * value[0]:{form}}"
    if limits and len(value) > 1 and value[1] is not None and value[2] is not None:
        text += f" [{100 * value[1]:{form}}, {100 * value[2]:{form}}]"
    return text.replace("-", "−")


def signed(value: float | None) -> str:
    """A correlation."""
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")


def gap(row: Mapping[str, float] | None) -> str:
    """A paired difference in points with its interval."""
    return "–" if row is None else per_cent((row["difference"], row["low"], row["high"]), signed=True)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Iterator[str]:
    """A Markdown table whose first columns are words."""
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * words + "---:|" * (len(heads) - words)
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
