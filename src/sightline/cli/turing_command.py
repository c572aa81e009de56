"""``sightline turing``: questions that nobody can guess, asked, written down and looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.console import DataPath, Json, counted, err, out, print_json
from sightline.errors import ConfigError

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
        help="Assumptions to make, and no others; with a minus before the name, to give up. Commas or repeated; "
        "docs/howto/turing lists them."
    ),
]
Unassuming = Annotated[bool, typer.Option("--no-assumptions", help="Make none: equation 2 over whole histories.")]
Epsilon = Annotated[float, typer.Option(min=0.0, help="How far from one half the chance of a yes may lie.")]
Support = Annotated[int, typer.Option(min=1, help="Images, objects or pairs a chance must rest on.")]
Smoothing = Annotated[float, typer.Option(min=0.0, help="Yes and no added to every count.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the random choices.")]
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
    operator: Annotated[
        str, typer.Option(help="Who answers: truth (the annotation), person (you), or a JSONL file of answers.")
    ] = "truth",
    answers: Annotated[
        Path | None, typer.Option(help="Where a person's answers are kept; an interrupted session goes on there.")
    ] = None,
    closed: Closed = False,
    view: ViewId = None,
    assume: Assume = None,
    no_assumptions: Unassuming = False,
    epsilon: Epsilon = 0.15,
    min_support: Support = 30,
    smoothing: Smoothing = 0.0,
    save: Annotated[Path | None, typer.Option(help="Draw picture and questions into this PNG.")] = None,
    json: Json = False,
) -> None:
    """Ask about one image, and print the story."""
    from sightline.cli.turing_asking import Wishes, ask_image, assumptions_of
    from sightline.cli.turing_print import print_transcript, transcript_of
    from sightline.exams.turing.asking.stream_json import steps_to_json

    if corpus is not None and (train is not None or train_split is not None or vocabulary):
        raise ConfigError("a corpus brings its training images and vocabulary: give --corpus, or the others")
    if answers is not None and operator != "person":
        raise ConfigError("--answers keeps what a person says: it goes with --operator person")
    if json and operator == "person":
        raise ConfigError("a person needs the terminal: leave --json out, then ask again with the answers")
    wish = Wishes(
        data=data,
        image=image,
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
        assumptions=assumptions_of(assume or [], none=no_assumptions),
        epsilon=epsilon,
        min_support=min_support,
        smoothing=smoothing,
    )
    asked = ask_image(wish)
    transcript = transcript_of(asked.stream, asked.vocabulary)
    if save is not None:
        from sightline.exams.turing.drawing import save_picture, stream_picture
        from sightline.show.frame import frame_of

        save_picture(stream_picture(frame_of(asked.scene, view), transcript), save)
    if json:
        print_json(steps_to_json(asked.stream, asked.vocabulary))
        return
    print_transcript(transcript, asked.facts(seed))
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
    closed: Closed = False,
    view: ViewId = None,
    assume: Assume = None,
    no_assumptions: Unassuming = False,
    epsilon: Epsilon = 0.15,
    min_support: Support = 30,
    smoothing: Smoothing = 0.0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a test and its key.")] = False,
    json: Json = False,
) -> None:
    """Prepare a written test: questions and pictures to hand out, the true answers in a key that stays."""
    from sightline.cli.turing_asking import assumptions_of, vocabulary_named
    from sightline.cli.turing_writing import write_out
    from sightline.exams.turing.exam import TuringExam
    from sightline.generate import open_any

    opened = open_any(data)
    learned = opened if train is None else open_any(train)
    exam = TuringExam(
        train=learned,
        vocabulary=vocabulary_named(vocabulary, learned),
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
        assumptions=assumptions_of(assume or [], none=no_assumptions),
    )
    kept = key or to.with_name(f"{to.name}.key.jsonl")
    told = write_out(exam, opened, to, kept, images=images, overwrite=overwrite, quiet=json)
    if json:
        print_json(told)
        return
    asked = f"{counted(told['questions'], 'question')} about {counted(told['images'], 'image')}"
    out.print(f"{asked}: hand out {to}, keep {kept}")


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
    json: Json = False,
) -> None:
    """List the ready vocabularies, print one as YAML, make one from a dataset, or count what a dataset tells."""
    from sightline.cli import turing_words
    from sightline.cli.turing_asking import vocabulary_named
    from sightline.exams.turing.words.files import dump_vocabulary, load_vocabulary

    if of is None:
        listed = turing_words.ready_words()
        return print_json(listed) if json else turing_words.print_ready(listed)
    if not turing_words.is_data(of):
        if count or words:
            raise ConfigError(f"--counts and --vocabulary go with a dataset; {of} is a vocabulary")
        found = load_vocabulary(of)
        return print_json(turing_words.sizes(found)) if json else out.print(dump_vocabulary(found), end="")
    from sightline.exams.turing.annotations.annotating import annotate
    from sightline.generate import open_any

    opened = open_any(Path(of))
    fitting = vocabulary_named(words, opened)
    if not count and not json:
        return out.print(dump_vocabulary(fitting), end="")
    told = turing_words.counts(annotate(opened, fitting, view=view, closed=closed), fitting)
    return print_json(told) if json else turing_words.print_counts(told)


@app.command("corpus")
def corpus(
    data: DataPath,
    to: Annotated[Path, typer.Option("--out", help="Folder of the corpus.")],
    vocabulary: Words = "",
    split: Annotated[str | None, typer.Option(help="Take this split only.")] = None,
    closed: Closed = False,
    view: ViewId = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a corpus.")] = False,
    json: Json = False,
) -> None:
    """Lay out annotated images for counting, once; turing ask takes the folder with --corpus."""
    from sightline.cli.turing_asking import vocabulary_named
    from sightline.exams.turing.annotations.annotating import annotate
    from sightline.exams.turing.chances.corpus import Corpus
    from sightline.generate import open_any

    opened = open_any(data)
    words = vocabulary_named(vocabulary, opened)
    made = Corpus.build(
        annotate(opened, words, split=split, view=view, closed=closed), words, to, overwrite=overwrite
    )
    if json:
        print_json(
            {"corpus": str(to), "images": len(made), "vocabulary": words.name, "fingerprint": made.fingerprint}
        )
        return
    out.print(f"{counted(len(made), 'image')} in the words of {words.name}: wrote {to}")
