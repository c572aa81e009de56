"""``sightline prompts``: what would a vision-language model be asked?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sightline.cli import completion
from sightline.cli.console import AllowOutside, Json, out, outside_allowed, print_json
from sightline.text import counted


def command(
    exam: Annotated[str, typer.Argument(help="The exam.", autocompletion=completion.exams)],
    data: Annotated[Path, typer.Option(help="A Sightline dataset, or a folder of a known format.")],
    model: Annotated[
        str | None, typer.Option(help="A vision-language model, whose options the prompts follow; it is not asked.")
    ] = None,
    train: Annotated[Path | None, typer.Option(help="Turing: where the questions are learned from.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Items whose prompts are made.")] = 1,
    most: Annotated[int, typer.Option(min=1, help="Prompts that are printed.")] = 5,
    to: Annotated[Path | None, typer.Option("--out", help="Folder for the pictures, as PNG.")] = None,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Print the prompts of an exam, and keep their pictures; nobody is asked."""
    from sightline.api import exam_prompts
    from sightline.exams.estimates import Workload

    with outside_allowed(allow_outside):
        prompts, items, usage = exam_prompts(exam, data, model, train=train, limit=limit)
    each = Workload.of(usage, max(1, min(limit, items)))
    shown = prompts[:most]
    pictures = [_kept(prompt.picture, to, number) for number, prompt in enumerate(shown, start=1)]
    if json:
        texts = [
            {"text": p.text, "size": list(p.picture.size), "picture": f}
            for p, f in zip(shown, pictures, strict=True)
        ]
        whole = {name: round(value * items, 4) for name, value in asdict(each).items()}
        told = {"exam": exam, "items": items, "asked_about": limit, "prompts": len(prompts)}
        print_json(told | {"about_all_items": whole, "shown": texts})
        return
    for number, (prompt, file) in enumerate(zip(shown, pictures, strict=True), start=1):
        wide, high = prompt.picture.size
        out.print(f"--- {number} of {len(prompts)}; picture {wide}×{high}{f', {file}' if file else ''}")
        out.print(prompt.text)
    unit = counted(min(limit, items), "item")
    out.print(f"--- {counted(len(prompts), 'prompt')} for {unit}")
    out.print(f"--- all {counted(items, 'item')}: about {', '.join(each.words(items, most=True))}")


def _kept(picture: Any, folder: Path | None, number: int) -> str:
    """The file a picture was written to; empty where none was wanted."""
    if folder is None:
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{number:04}.png"
    picture.save(file)
    return str(file)
