"""``sightline turing``: questions that nobody can guess, asked, written down and looked at."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.console import (
    AllowOutside,
    DataPath,
    Json,
    err,
    interruptible,
    number,
    out,
    outside_allowed,
    print_json,
    progress,
    table,
)
from sightline.errors import ConfigError
from sightline.text import counted

if TYPE_CHECKING:
    from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
    from sightline.store import Dataset

_GUESSABLE = 1_000_000
"""Seeds below it are soon tried."""

_FAREWELL = 0.5
"""Seconds in which a client may still ask once more after the last answer."""

app = typer.Typer(
    help="Ask unpredictable questions about images: print a story, write a test, look at vocabularies.",
    no_args_is_help=True,
    add_completion=False,
)

Words = Annotated[
    str, typer.Option("--vocabulary", help="A ready vocabulary or a YAML file; by default one that fits the data.")
]
Closed = Annotated[
    bool, typer.Option("--closed", help="Read what the annotations do not say as no, rather than as unknown.")
]
ViewId = Annotated[str | None, typer.Option("--view", help="View to ask about; by default the first.")]
Assume = Annotated[
    list[str] | None,
    typer.Option(
        help="Assumptions to make, and no others; with a minus before the name, to give up. Commas or repeated: "
        "forget_facts, forget_elsewhere, independent_groups, relations_alone, independent_relations, "
        "objects_pooled, negatives."
    ),
]
Unassuming = Annotated[bool, typer.Option("--no-assumptions", help="Make none: equation 2 over whole histories.")]
Epsilon = Annotated[float, typer.Option(min=0.0, help="How far from one half the chance of a yes may lie.")]
Support = Annotated[int, typer.Option(min=1, help="Images, objects or pairs a chance must rest on.")]
Smoothing = Annotated[float, typer.Option(min=0.0, help="Yes and no added to every count.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the random choices.")]
Teller = Annotated[
    str,
    typer.Option(
        "--operator", help="Who tells the truth: truth (the annotation), terminal or web (you), file:F (a JSONL)."
    ),
]
Answers = Annotated[
    Path | None,
    typer.Option("--answers", help="Where a person's answers are kept; an interrupted session goes on there."),
]
Most = Annotated[int | None, typer.Option("--questions", min=1, help="Most questions; by default all there are.")]


@app.command("ask")
def ask(
    data: DataPath,
    image: Annotated[str, typer.Option(help="Scene id of the image to ask about.")],
    train: Annotated[
        Path | None, typer.Option(help="Data to learn from; by default DATA without that image.")
    ] = None,
    train_split: Annotated[str | None, typer.Option(help="Learn from this split only.")] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="A corpus made by turing corpus, instead of training data.")
    ] = None,
    vocabulary: Words = "",
    questions: Most = None,
    seed: Seed = 0,
    stream: Annotated[int, typer.Option(min=0, help="Which stream of the image, from 0.")] = 0,
    operator: Teller = "truth",
    answers: Answers = None,
    closed: Closed = False,
    view: ViewId = None,
    assume: Assume = None,
    no_assumptions: Unassuming = False,
    epsilon: Epsilon = 0.1,
    min_support: Support = 30,
    smoothing: Smoothing = 0.0,
    save: Annotated[Path | None, typer.Option(help="Draw picture and questions into this PNG or JPEG.")] = None,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Ask about one image, and print the story."""
    from sightline.cli.turing_print import print_transcript
    from sightline.exams.turing.ask import ask as ask_image
    from sightline.exams.turing.drawing import picture_format
    from sightline.exams.turing.estimate.estimator import named_assumptions
    from sightline.generation import open_any

    if save is not None:
        picture_format(save)  # a suffix nobody can write is refused before anything is asked
    with outside_allowed(allow_outside):
        asked = ask_image(
            open_any(data),
            image,
            train=train,
            train_split=train_split,
            corpus=corpus,
            vocabulary=vocabulary,
            questions=questions,
            seed=seed,
            stream=stream,
            operator=operator,
            answers=answers,
            closed=closed,
            view=view,
            assumptions=named_assumptions(assume or [], none=no_assumptions),
            epsilon=epsilon,
            min_support=min_support,
            smoothing=smoothing,
            on_note=_note,
        )
        if save is not None:
            asked.save(save)
    if json:
        print_json(asked.rows())
        return
    print_transcript(asked)
    if save is not None:
        err.print(f"wrote {save}")


@app.command("write")
def write(
    data: DataPath,
    to: Annotated[Path, typer.Option("--out", help="Folder of the test, to be handed out.")],
    train: Annotated[
        Path | None,
        typer.Option(help="Data to learn from; by default DATA, then name two splits or give --halves."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="File for the true answers; by default OUT.key.jsonl, beside the folder.")
    ] = None,
    images: Annotated[int | None, typer.Option(min=1, help="Only the first so many images.")] = None,
    streams: Annotated[int, typer.Option(min=1, help="Streams an image.")] = 1,
    vocabulary: Words = "",
    questions: Most = None,
    seed: Seed = 0,
    split: Annotated[str | None, typer.Option(help="Ask about this split only.")] = None,
    train_split: Annotated[str | None, typer.Option(help="Learn from this split only.")] = None,
    halves: Annotated[
        bool, typer.Option("--halves", help="Learn from one half of the images, ask about the other.")
    ] = False,
    operator: Teller = "truth",
    answers: Answers = None,
    closed: Closed = False,
    view: ViewId = None,
    assume: Assume = None,
    no_assumptions: Unassuming = False,
    epsilon: Epsilon = 0.1,
    min_support: Support = 30,
    smoothing: Smoothing = 0.0,
    withhold: Annotated[
        bool, typer.Option("--withhold", help="Whoever takes the test is never told the true answers.")
    ] = False,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds for an answer, which the proctor holds to.")
    ] = None,
    training_pictures: Annotated[
        bool,
        typer.Option(
            "--training-pictures", help="Hand out the training images too, where their licence allows it."
        ),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a test and its key.")] = False,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Prepare a written test: questions and pictures to hand out, the true answers in a key that stays."""
    from sightline.exams.turing.exam import TuringExam, write_exam
    from sightline.exams.turing.people.operator import operator_choice
    from sightline.exams.turing.vocabulary.files import named_vocabulary
    from sightline.generation import open_any

    opened = open_any(data, allow_outside=allow_outside)
    learned = opened if train is None else open_any(train, allow_outside=allow_outside)
    exam = TuringExam(
        train=learned,
        vocabulary=named_vocabulary(vocabulary, learned, _note),
        streams=streams,
        questions=questions,
        seed=seed,
        closed=closed,
        min_support=min_support,
        epsilon=epsilon,
        view=view,
        split=split,
        train_split=train_split,
        halves=halves,
        smoothing=smoothing,
        assume=tuple(assume or ()),
        no_assumptions=no_assumptions,
        operator=operator,
        answers=answers,
        withhold=withhold,
        deadline=deadline,
    )
    key = key or to.with_name(f"{to.name}.key.jsonl")
    person = operator_choice(operator).is_person
    with progress("streams", quiet=json or person) as update:
        facts = write_exam(
            exam,
            opened,
            to,
            key,
            images=images,
            training_pictures=training_pictures,
            overwrite=overwrite,
            on_progress=update,
        )
    for scene, why in facts["left_out"].items():
        _note(f"{scene} left out: {why}")
    if (guessable := guessable_seed(opened)) is not None:
        _note(
            f"the scenes were generated with seed {guessable}: whoever tries it has them again, with their truth; "
            "for a test that matters generate them with a --seed nobody would try"
        )
    if json:
        print_json(facts)
        return
    asked = f"{counted(facts['questions'], 'question')} about {counted(facts['images'], 'image')}"
    out.print(f"{asked}: hand out {to}, keep {key}")
    ahead = facts["reading_ahead"]
    out.print(
        f"whoever reads ahead needs no picture for {number(ahead['told'], 2)} of the questions and would be right "
        f"in {number(ahead['accuracy'], 2)} of all; a proctor (sightline turing proctor) leaves nothing to read"
    )


@app.command("proctor")
def proctor(
    test: Annotated[Path, typer.Argument(help="Folder of a written test.")],
    key: Annotated[Path, typer.Option(help="Its key.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0: a free one.")] = 0,
    log: Annotated[
        Path | None, typer.Option(help="File of the answers; by default TEST.log.jsonl, beside the folder.")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds for an answer, in place of what the test says.")
    ] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Speak JSON lines over standard input and output instead.")
    ] = False,
    json: Json = False,
) -> None:
    """Put a written test to a program, one question at a time; its log is scored as a model's answers."""
    from sightline.exams.turing.people.proctor import Proctor, serve_lines
    from sightline.exams.turing.people.server import LoopbackServer

    if stdin and (port or json):
        raise ConfigError("--stdin takes the place of --port, and of --json")
    proctor = Proctor(test, key, log or test.with_name(f"{test.name}.log.jsonl"), deadline=deadline)
    try:
        if stdin:
            serve_lines(proctor, sys.stdin, _write_line)
        else:
            server = LoopbackServer(proctor.handle, port)
            try:
                print_json({"url": server.url, **proctor.info()}) if json else out.print(server.url)
                sys.stdout.flush()
                with interruptible(lambda: f"the answers are kept in {proctor.log}; the same command goes on"):
                    while not proctor.finished:
                        time.sleep(0.2)
                time.sleep(_FAREWELL)
            finally:
                server.close()
    finally:
        proctor.close()
    scored = f"sightline exam turing --test {test} --key {key} --model {proctor.log}"
    err.print(f"{counted(proctor.info()['answered'], 'answer')} in {proctor.log}; next: {scored}")


@app.command("agree")
def agree(
    first: Annotated[Path, typer.Argument(help="Answers of one operator, as --answers keeps them.")],
    second: Annotated[Path, typer.Argument(help="Answers of another one.")],
    to: Annotated[Path | None, typer.Option("--out", help="Write one file made of both.")] = None,
    settle: Annotated[
        str,
        typer.Option(
            help="Where they differ, with --out: ambiguous, ask (you, in the terminal) or file:F (a third one)."
        ),
    ] = "ambiguous",
    json: Json = False,
) -> None:
    """Compare the answers of two operators: agreement, κ, what they differ on; and settle that into one file."""
    from sightline.exams.turing.people import agreement
    from sightline.exams.turing.people.terminal import settle_in_terminal

    third = Path(settle.removeprefix("file:")) if settle.startswith("file:") else None
    if settle not in ("ambiguous", "ask") and third is None:
        raise ConfigError(f"--settle is ambiguous, ask or file:FILE, not {settle!r}")
    if to is None and settle != "ambiguous":
        raise ConfigError("--settle goes with --out")
    found = agreement.agree(first, second)
    settled = None
    if to is not None:
        how = settle_in_terminal if settle == "ask" else agreement.settle_by(third)
        settled = agreement.adjudicate(first, second, to, how)
    if json:
        return print_json(found.to_dict() | ({} if settled is None else {"settled": settled, "out": str(to)}))
    out.print(str(found))
    for row, other in found.disagreements:
        words = row.get("text") or row["question"]
        out.print(f"{row['scene_id']}: {words}  {row['answer']} / {other['answer']}")
    if settled is not None:
        err.print(f"wrote {to}: {counted(settled, 'question')} settled")
    return None


@app.command("vocabulary")
def vocabulary(
    of: Annotated[
        str | None, typer.Argument(metavar="[NAME|DATA]", help="A ready vocabulary, a YAML file or a dataset.")
    ] = None,
    words: Words = "",
    count: Annotated[
        bool, typer.Option("--counts", help="Of a dataset: how often each word is yes, no, unknown.")
    ] = False,
    closed: Closed = False,
    view: ViewId = None,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """List the ready vocabularies, print one as YAML, make one from a dataset, or count what a dataset tells."""
    from sightline.exams.turing.vocabulary import files

    if of is None:
        rows = [_sizes(files.load_vocabulary(name)) for name in files.vocabularies()]
        return print_json(rows) if json else _print_ready(rows)
    if not Path(of).exists() or Path(of).suffix.lower() in (".yaml", ".yml"):  # a name or a file, not a dataset
        if count or words:
            raise ConfigError(f"--counts and --vocabulary go with a dataset; {of} is a vocabulary")
        named = files.load_vocabulary(of)
        return print_json(_sizes(named)) if json else out.print(files.dump_vocabulary(named), end="")
    from sightline.exams.turing.annotations.annotation import annotate
    from sightline.generation import open_any

    opened = open_any(Path(of), allow_outside=allow_outside)
    fitting = files.named_vocabulary(words, opened, _note)
    if not count and not json:
        return out.print(files.dump_vocabulary(fitting), end="")
    columns = annotate(opened, fitting, view=view, closed=closed)
    facts = {**_sizes(fitting), "images": len(columns), **columns.word_counts(fitting)}
    return print_json(facts) if json else _print_counts(facts)


@app.command("corpus")
def corpus(
    data: DataPath,
    to: Annotated[Path, typer.Option("--out", help="Folder of the corpus.")],
    vocabulary: Words = "",
    split: Annotated[str | None, typer.Option(help="Take this split only.")] = None,
    closed: Closed = False,
    view: ViewId = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a corpus.")] = False,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Lay out annotated images for counting, once; turing ask takes the folder with --corpus."""
    from sightline.exams.turing.annotations.annotation import annotate
    from sightline.exams.turing.estimate.corpus import Corpus
    from sightline.exams.turing.vocabulary.files import named_vocabulary
    from sightline.generation import open_any

    opened = open_any(data, allow_outside=allow_outside)
    words = named_vocabulary(vocabulary, opened, _note)
    columns = annotate(opened, words, split=split, view=view, closed=closed)
    built = Corpus.build(columns, words, to, overwrite=overwrite)
    if json:
        facts = {"corpus": str(to), "images": len(built), "vocabulary": words.name}
        print_json(facts | {"fingerprint": built.fingerprint})
        return
    out.print(f"{counted(len(built), 'image')} in the words of {words.name}: wrote {to}")


def guessable_seed(data: Dataset) -> int | None:
    """The seed of generated scenes, where it is one that is soon tried; None for all other data."""
    from sightline.generation.open import is_generated

    seed = (data.recipe or {}).get("seed") if is_generated(data) else None
    return seed if isinstance(seed, int) and seed < _GUESSABLE else None


def _note(text: str) -> None:
    err.print(f"note: {text}")


def _write_line(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _sizes(vocabulary: Vocabulary) -> dict[str, Any]:
    """How many words of each sort there are."""
    return {
        "name": vocabulary.name,
        "types": len(vocabulary.types),
        "attributes": sum(len(kind.attributes) for kind in vocabulary.types),
        "relations": len(vocabulary.links),
        "regions": len(vocabulary.regions),
    }


def _print_ready(rows: list[dict[str, Any]]) -> None:
    """One line a vocabulary."""
    shown = table("ready vocabularies", *rows[0])
    for row in rows:
        shown.add_row(*map(str, row.values()))
    out.print(shown)


def _print_counts(facts: dict[str, Any]) -> None:
    """Two tables: types with their attributes, then relations."""
    sides = ("yes", "no", "unknown")
    shown = table(f"{facts['name']}: {counted(facts['images'], 'image')}", "type", "attribute", "objects", *sides)
    shown.columns[1].justify = "left"
    for kind in facts["types"]:
        shown.add_row(kind["type"], "", f"{kind['objects']:,}", "", "", "")
        for name, counts in kind["attributes"].items():
            shown.add_row("", name, "", *(f"{counts[side]:,}" for side in sides))
    out.print(shown)
    if facts["relations"]:
        links = table(f"\nrelations of {counted(facts['pairs'], 'pair')}", "relation", *sides)
        for name, counts in facts["relations"].items():
            links.add_row(name, *(f"{counts[side]:,}" for side in sides))
        out.print(links)
