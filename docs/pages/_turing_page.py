"""docs/results/turing.md and its charts, from what turing_results.py and benchmarks/turing.py measured."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightline.show.xy import Point, band_chart
from sightline.stats import Interval

LEAN, BOUND = 0.15, 0.60
KINDS = ("exist", "unique", "attribute", "relation")
BLIND = {
    "always_yes": "always yes",
    "always_no": "always no",
    "turing_engine": "the engine's own estimate",
    "turing_history": "a regression on the history",
    "turing_logician": "a logician",
}
GUESSERS = ("turing_engine", "turing_history", "turing_logician")
BOUNDED = GUESSERS[1:]
"""Those that must stay below the bound."""

CHANGED = {
    "all rules": "all rules",
    "no logic": "what follows by logic is asked too",
    "no interval": "the 90 % interval is not looked at",
    "certain parts": "conjunctions with a part that is all but certain",
    "ε = 0.15": "ε = 0.15",
    "known negatives left out": "known negatives left out of equation 3",
}


@dataclass(frozen=True)
class Set:
    """One set of images.

    Attributes:
        title: How the page calls it.
        vocabulary: Its words.
        about: What is learned from and what is asked about.
        least: Questions a stream should have on average.
        settings: Options of the exam that keep what guessing gets below the bound.
        why: Why these.
        short: What longer streams would cost, where they are shorter than they should be.
    """

    title: str
    vocabulary: str
    about: str
    least: float
    settings: Mapping[str, Any]
    why: str = ""
    short: str = ""


SETS = {
    "worlds": Set(
        "worlds",
        "worlds",
        "learned from 20,000 generated scenes of `geospa/diverse`, asked about others of it",
        40,
        {"epsilon": 0.10},
        "at 0.15 the engine itself guesses who hides whom",
    ),
    "vrd": Set(
        "VRD",
        "vrd",
        "learned from VRD's training photos, asked about its test photos; closed reading",
        12,
        {"epsilon": 0.10},
        "at 0.15 the regression guesses searches",
    ),
    "vrd25": Set(
        "2.5VRD",
        "vrd25",
        "learned from 2.5VRD's validation photos and one half of its test photos, asked about the other half; "
        "closed reading",
        7,
        {"epsilon": 0.08, "assume": ("-forget_elsewhere",)},
        "its photos were chosen for having pairs, so all hold two objects or more: nothing in one region makes "
        "something in another likelier, which the paper's assumption about disjoint regions forgets; at 0.10 the "
        "logician guesses 0.65 of the questions about attributes",
    ),
}

HEAD = """# The Turing exam: how long, and how unpredictable

Streams of questions by the rules of {doc}`../howto/turing` about images that nothing was learned from, one stream
an image. A chance rests on at least 30 training images, objects or pairs and its 90 % interval lies within
0.5 ± 0.25; nothing is smoothed. ε is smaller than the paper's 0.15: the bound on what guessing gets goes before
length. It was chosen, of 0.08 to 0.15, on images of the same sets, some of them those asked about here. Intervals
are 95 %, by image.

```console
$ python docs/pages/turing_results.py measure worlds vrd vrd25 --work DIR
$ python docs/pages/turing_results.py page --write
```

Measured in pieces: `--images` and `--fewer` were as many as the tables say.
"""

CLOSED = """*Closed reading*: VRD and 2.5VRD name a few relations of each photo and say nothing of the others; what
they do not say is read as not so. VRD gives no image sizes: the extent of an image's boxes stands for the image.
Classes are attributes of a dozen wider types, since a single class is too rare to be asked for. The generated
scenes are annotated completely."""


def write_page(results: Path, *, write: bool) -> str:
    """The page as Markdown; with `write` page and charts are replaced."""
    told = {name: json.loads(file.read_text()) for name in SETS if (file := results / f"{name}.json").exists()}
    if not told:
        raise SystemExit(f"no results in {results}: `turing_results.py measure` writes them")
    main = {name: one["main"]["all rules"] for name, one in told.items()}
    speed = results.parent / "turing_speed.json"
    parts = [HEAD, *about(main), CLOSED, *lengths(main), *guessing(main), *words(main), *rates(main), *costs(told)]
    parts += [*(speeds(json.loads(speed.read_text())) if speed.exists() else ())]
    page = "\n\n".join(part.strip() for part in parts) + "\n"
    if write:
        for name, one in main.items():
            drawn = band_chart(
                points(one), epsilon=LEAN, title=f"{SETS[name].title}: share of yes by step", width=640
            )
            light = drawn.replace("currentColor", "#1c232b")
            light = light.replace("display:block;", "display:block;background:#ffffff;", 1)  # pages may be dark
            (results / f"{name}.svg").write_text(light + "\n", encoding="utf-8")
        results.with_suffix(".md").write_text(page, encoding="utf-8")
    return page


def about(main: Mapping[str, Any]) -> Iterator[str]:
    lines = (
        f"- **{SETS[name].title}**: {SETS[name].about}; {options(name)}: {SETS[name].why}. "
        f"{one['train_images']:,} images learned from, {one['images']:,} asked about, "
        f"{one['questions']:,} questions."
        for name, one in main.items()
    )
    yield "\n".join(wrapped(line).replace("\n", "\n  ") for line in lines)


def options(name: str) -> str:
    """What differs from the defaults, as on the command line."""
    given = SETS[name].settings
    assumed = "".join(f" --assume={word}" for word in given.get("assume", ()))
    return f"`--epsilon {given['epsilon']:.2f}{assumed}`"


def lengths(main: Mapping[str, Any]) -> Iterator[str]:
    yield "## How long streams are"
    yield wrapped(
        """Questions a stream before nothing unpredictable is left, by type of question. Ambiguous questions are
        those the annotation cannot decide; they are not asked and not counted. *Vague*: share of questions that say
        "something" or "feature of the landscape"; at most 5 % were asked for on VRD and 2.5VRD."""
    )
    heads = ("", "asked for", "mean", "least", "quartiles", "most", "labelled", *KINDS, "ambiguous", "vague")
    yield grid(
        heads,
        {
            SETS[name].title: [
                f"≥ {SETS[name].least:.0f}",
                spread(one["mean_length"], 1),
                f"{one['lengths'][0]:.0f}",
                "–".join(f"{q:.0f}" for q in one["lengths"][1:4]),
                f"{one['lengths'][4]:.0f}",
                f"{one['labels']:.1f}",
                *(f"{one['by_type'][kind] / one['images']:.1f}" for kind in KINDS),
                f"{100 * one['ambiguous']:.1f} %",
                f"{100 * one['vague']:.1f} %",
            ]
            for name, one in main.items()
        },
    )
    short = [name for name, one in main.items() if one["mean_length"]["value"] < SETS[name].least]
    for name in short:
        yield wrapped(f"On {SETS[name].title} streams are shorter than asked for. {SETS[name].short}")


def guessing(main: Mapping[str, Any]) -> Iterator[str]:
    yield "## What guessing gets"
    yield wrapped(
        f"""Accuracy without a look at the picture. Asked for: at most {BOUND:.2f} for regression and logician,
        overall and for each type of question. The regression starts from the engine's estimate and learns, from
        streams about training images, where question, regions and earlier answers say more; the logician applies
        every rule of the exam's logic, else the frequency of yes for the words. *Could be told*: what would be
        told from {BOUND:.2f} four times in five."""
    )
    heads = ("", "model", "all", *KINDS, "could be told")
    rows = [f"| {' | '.join(heads)} |", f"| --- | --- |{' ---: |' * (len(heads) - 2)}"]
    for name, one in main.items():
        seen = one["monitor"]
        for who in GUESSERS:
            figures = [seen["overall"][who], *(seen["by_type"][who][kind] for kind in KINDS)]
            cells = [*(spread(figure) for figure in figures), f"{seen['detectable'][who]:.3f}"]
            rows.append(f"| {SETS[name].title} | {BLIND[who]} | {' | '.join(cells)} |")
    yield "\n".join(rows)
    for name, one in main.items():
        seen = one["monitor"]
        above = [
            f"{BLIND[who]} gets {value:.3f} of {kind}"
            for who in BOUNDED
            for kind, value in {
                "all": seen["overall"][who]["value"],
                **{f"{k} questions": v["value"] for k, v in seen["by_type"][who].items()},
            }.items()
            if value is not None and value > BOUND
        ]
        met = "the bound is met" if not above else "above the bound: " + "; ".join(above)
        yield wrapped(f"{SETS[name].title}: {met}. Always yes gets {spread(one['blind']['always_yes'])}.")


def words(main: Mapping[str, Any]) -> Iterator[str]:
    yield "## What guessing gets by word"
    yield wrapped(
        f"""Words with 100 questions or more, the three that each model guesses best: accuracy, and the one-sided
        95 % limit it lies above after Holm's correction over all words of that model. Asked for: no limit above
        {BOUND:.2f}. *Verdict* is the monitor's."""
    )
    heads = ("", "model", "words", "guessed best", "limits above 0.60", "verdict")
    rows = [f"| {' | '.join(heads)} |", "| --- | --- | ---: | --- | ---: | --- |"]
    for name, one in main.items():
        seen = one["monitor"]
        for who in GUESSERS:
            found = seen["by_word"][who]
            best = ", ".join(
                f"{word} {v['value']:.3f} (> {v['low']:.3f}, n {v['n']})" for word, v in list(found.items())[:3]
            )
            over = sum(v["low"] > BOUND for v in found.values())
            rows.append(
                f"| {SETS[name].title} | {BLIND[who]} | {len(found)} | {best} | {over} | {seen['verdict']} |"
            )
    yield "\n".join(rows)


def rates(main: Mapping[str, Any]) -> Iterator[str]:
    yield "## How often the answer is yes"
    yield wrapped(
        """The share of yes among the true answers, by type of question. *Calibration*: how far the estimated chance
        lies from the share of yes seen, on average over bins of the estimate."""
    )
    yield grid(
        ("", "all", *KINDS, "calibration"),
        {
            SETS[name].title: [
                *(spread(one["monitor"]["yes_by_type"][kind]) for kind in ("all", *KINDS)),
                f"{one['monitor']['calibration_error']:.3f}",
            ]
            for name, one in main.items()
        },
    )
    yield "Estimated against seen, with the questions each bin holds:"
    heads = ("", "estimated", "mean estimate", "share of yes seen", "questions")
    rows = [f"| {' | '.join(heads)} |", f"| --- | --- |{' ---: |' * (len(heads) - 2)}"]
    for name, one in main.items():
        for cell in one["monitor"]["calibration"]:
            low, high = cell["bin"]
            seen = f"{cell['estimated']:.3f} | {spread(cell['seen'])} | {cell['n']:,}"
            rows.append(f"| {SETS[name].title} | {low:.2f}–{high:.2f} | {seen} |")
    yield "\n".join(rows)
    for name in main:
        yield f"![{SETS[name].title}: share of yes at each step against the band 0.5 ± 0.15](turing/{name}.svg)"


def costs(told: Mapping[str, Any]) -> Iterator[str]:
    yield "## What each rule costs"
    yield wrapped(
        """Each rule switched off in turn, over fewer images, at the ε of the set unless a row says otherwise: what
        a rule costs is how much longer streams are without it, what it is worth how much more is guessed. The
        logician has practised on 40 images here."""
    )
    for name, one in told.items():
        if "all rules" not in one.get("variants", {}):
            continue
        fewer = one["variants"]["all rules"]["images"]
        heads = (
            f"{SETS[name].title}, {fewer} images",
            "questions",
            "labelled",
            "engine",
            "logician",
            "calibration",
        )
        yield grid(
            heads,
            {
                CHANGED[key]: [
                    spread(row["mean_length"], 1),
                    f"{row['labels']:.1f}",
                    *(spread(guessed) for guessed in row["blind"].values()),
                    f"{row['monitor']['calibration_error']:.3f}",
                ]
                for key, row in one["variants"].items()
            },
        )


def speeds(told: Mapping[str, Any]) -> Iterator[str]:
    yield "## Speed"
    few, many = told["steps"]
    race, run = told["pandas"], told["streams"]
    asked = "/".join(sorted({str(row["questions"]) for row in run["streams"]}))
    grown = ", ".join(f"{int(n):,}: {ms:.1f} ms" for n, ms in told["growth_ms"].items())
    yield wrapped(
        f"""`python benchmarks/turing.py --write`: made-up images, {told["images"]:,} of them with
        {told["objects"]:,} objects, one core, CPU time; a calibration kernel of 20 million dependent float steps
        took {told["calibration_s"]:.3f} s beside it. A step learns the last answer and weighs every candidate
        anew."""
    )
    yield grid(
        ("", "target", "measured"),
        {
            f"a step among {few['candidates']:,} candidates, median": ["≤ 25 ms", f"{few['median_ms']:.1f} ms"],
            "the slowest of its steps": ["≤ 25 ms", f"{few['worst_ms']:.1f} ms"],
            f"a step among {many['candidates']:,} candidates, median": ["", f"{many['median_ms']:.1f} ms"],
            "times faster than pandas, equal counts": ["≥ 20", f"{race['ratio']:.0f}"],
            f"a stream of {asked} questions over {run['images']:,} images, the slowest": [
                "≤ 1 s",
                f"{run['worst_s']:.2f} s",
            ],
            "a stream's own memory after 1, 6 and 12 steps": [
                "constant",
                " / ".join(f"{mb:.0f} MB" for mb in told["memory_mb"].values()),
            ],
        },
    )
    yield wrapped(f"A median step by training images: {grown}, {told['images']:,}: {few['median_ms']:.1f} ms.")


def points(one: Mapping[str, Any]) -> list[Point]:
    found = []
    for row in one["monitor"]["yes_by_step"]:
        low, high = (math.nan if row[key] is None else row[key] for key in ("low", "high"))
        interval = Interval(row["value"], low, high, row["n"], row["method"])
        found.append(Point(row["step"], interval, f"step {row['step']}"))
    return found


def spread(told: Mapping[str, Any], digits: int = 3) -> str:
    """A value over its interval."""
    if told["value"] is None:
        return "–"
    if told["low"] is None:
        return f"{told['value']:.{digits}f}"
    return f"{told['value']:.{digits}f} ({told['low']:.{digits}f}–{told['high']:.{digits}f})"


def grid(heads: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    lines = [f"| {' | '.join(heads)} |", f"| --- |{' ---: |' * (len(heads) - 1)}"]
    return "\n".join([*lines, *(f"| {head} | {' | '.join(cells)} |" for head, cells in rows.items())])


def wrapped(text: str) -> str:
    """A paragraph, filled to the house's width."""
    return textwrap.fill(" ".join(text.split()), 116, break_long_words=False, break_on_hyphens=False)
