"""``sightline exam turing``: the tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sightline.cli.console import cell, counted, number, out, table


def print_scores(told: Mapping[str, Any]) -> None:
    """One column a model: accuracy by type, step and story line; then the streams and whether they leak."""
    shown = {result["run"]: result for result in (*told["models"], *told["baselines"].values())}
    results = list(shown.values())
    size = f"{counted(told['n_questions'], 'question')} about {counted(told['n_images'], 'image')}"
    titles = {
        "accuracy": f"accuracy by question type, {size}, 95 % interval by image",
        "by_step": "accuracy by step",
        "by_story": "accuracy by story line",
    }
    for kind, title in titles.items():
        listing = table(title, "", *(result["model"] for result in results))
        for name in results[0][kind]:
            listing.add_row(name, *(cell(result[kind].get(name)) for result in results))
        out.print(listing)
        out.print()
    print_replies(results)
    print_streams(told)
    print_monitor(told["monitor"])


def print_replies(results: list[dict[str, Any]]) -> None:
    """Share of replies that were no answer, where there are any."""
    idle = [w for w in ("abstain", "unparsed", "late") if any(r["replies"][w]["value"] for r in results)]
    if idle:
        listing = table("replies that are no answer (share)", "", *(result["model"] for result in results))
        for word in idle:
            listing.add_row(word, *(cell(result["replies"][word]) for result in results))
        out.print(listing)
        out.print()


def print_streams(told: Mapping[str, Any]) -> None:
    """How long the streams are, and why they ended."""
    facts = told["streams"]
    ended = ", ".join(f"{why} {n:,}" for why, n in facts["halted"].items())
    shown = {"mean": 1, "min": 0, "median": 0, "max": 0}
    lengths = ", ".join(f"{name} {number(facts[name], digits)}" for name, digits in shown.items())
    out.print(f"streams: {told['n_streams']:,}; questions each: {lengths}; ended: {ended}")
    out.print(f"ambiguous questions, never asked: {number(facts['ambiguous'])} of those drawn")
    out.print()


def print_monitor(watched: Mapping[str, Any]) -> None:
    """Share of yes by type, calibration, blind accuracy, and the verdict."""
    listing = table(f"share of true answers that are yes, to lie within 0.5 ± {watched['epsilon']:g}", "", "yes")
    for name, seen in watched["yes_by_type"].items():
        listing.add_row(name, cell(seen))
    for name, seen in watched["yes_by_steps"].items():
        listing.add_row(f"steps {name}", cell(seen))
    out.print(listing)
    blind = ", ".join(f"{name} {cell(seen)}" for name, seen in watched["blind"].items())
    out.print(f"without looking: {blind or 'nobody sat'}; calibration error {number(watched['calibration_error'])}")
    out.print("leaky: " + "; ".join(watched["reasons"]) if watched["leaky"] else "not leaky")
