"""``sightline train curve``: a checkpoint fine-tuned on few scenes, and what it is then worth on others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.cli.console import cell, counted, err, out, print_json, progress, quiet_stdout, table
from sightline.cli.train_sornet import interruptible
from sightline.cli.train_sources import dataset_of, world_source
from sightline.cli.train_wishes import Wishes, device_of, plan_of
from sightline.errors import ConfigError
from sightline.files import atomic_write

if TYPE_CHECKING:
    from sightline.training.finetuning import Curve
    from sightline.training.plan import Plan
    from sightline.training.sources import Source

CHART = "curve.svg"
_AGAIN = "with what is not learned yet, at its last state or, where none was saved, from its start"
_OTHERS = 1_000_003
"""Added to the seed of a world's scenes to ask about."""


def train_curve(wish: Wishes, scenes: tuple[int, ...], held_out: int) -> None:
    """Fine-tune on each number of scenes, print the curve, draw it."""
    from sightline.show.xy import learning_curve
    from sightline.training.finetuning import curve, refuse_foreign

    refuse_foreign(wish.to)  # before scenes are read or drawn
    device = device_of(wish.device)
    plan = plan_of(wish, device)
    with quiet_stdout(active=wish.json), interruptible(lambda: _AGAIN):
        base, held = _sources(wish, plan, max(scenes), held_out, device)
        with progress("steps", quiet=wish.json) as show:

            def tell(count: int, done: int, total: int) -> None:
                if show is not None:
                    tuned = [n for n in scenes if n]
                    show(tuned.index(count) * total + done, len(tuned) * total)

            made = curve(
                plan,
                base,
                held,
                wish.to,
                scenes=scenes,
                held_out=held_out,
                save_every=wish.save_every,
                device=device,
                progress=tell,
            )
    told = made.to_dict()
    atomic_write(wish.to / CHART, learning_curve(told).encode())
    if wish.json:
        print_json({"chart": str(wish.to / CHART), **told})
        return
    _print(made, held_out)
    err.print(f"chart: {wish.to / CHART}")


def _sources(wish: Wishes, plan: Plan, most: int, held_out: int, device: str) -> tuple[Source, Source]:
    """Scenes to learn from and others to ask about; of a dataset those in front and those at the end."""
    if wish.data is None:
        base = world_source(wish, plan, device, batches=-(-most // plan.batch) or 1)
        held = world_source(wish, plan, device, batches=-(-held_out // plan.batch), seed=plan.seed + _OTHERS)
        return base, held
    from sightline.training.stored import StoredSource

    data = dataset_of(wish)
    whole = StoredSource(
        data,
        plan.views,
        batch=plan.batch,
        seed=plan.seed,
        split=wish.split,
        most_objects=plan.most_objects,
        workers=wish.workers,
        device=device,
    )
    there = len(whole.scenes_there)
    if most + held_out > there:
        raise ConfigError(
            f"{counted(most, 'scene')} to learn from and {held_out:,} to ask about: there are only {there:,}"
        )
    return whole.part(range(there - held_out)), whole.part(range(there - held_out, there))


def _print(made: Curve, held_out: int) -> None:
    title = f"scene accuracy on {counted(held_out, 'held-out scene')}, 95 % interval by scene"
    listing = table(title, "scenes learned from", "all", "spatial", "geometric", "whole scenes")
    rows = [(f"{p.scenes:,}", p.scores) for p in made.points] + [("(commoner answer)", made.majority)]
    for name, scored in rows:
        values = [scored.scene_accuracy[key] for key in ("all", "spatial", "geometric")]
        listing.add_row(name, *(cell(value.to_dict()) for value in (*values, scored.scene_all)))
    out.print(listing)
