"""``sightline train``: teach a network of our own, or see how few scenes it needs to learn on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sightline.cli.console import (
    Json,
    cell,
    counted,
    err,
    interruptible,
    out,
    print_json,
    progress,
    quiet_stdout,
    table,
)
from sightline.errors import ConfigError, MissingExtraError
from sightline.files import atomic_write
from sightline.plain import plain
from sightline.training.context.options import ContextNet, Strategy

if TYPE_CHECKING:
    from sightline.training.context.options import ContextOptions
    from sightline.training.inpainter.setup import InpainterOptions
    from sightline.training.plan import TrainingTask
    from sightline.training.relations.options import RelationsOptions
    from sightline.training.sornet.finetune import Curve
    from sightline.training.sornet.setup import SornetOptions
    from sightline.training.viewpoint.setup import ViewNetOptions

Device = Literal["auto", "cpu", "cuda"]
CHART = "curve.svg"
_FEW = "0,8,32,128,512"
_CONTEXT_NETS = get_args(ContextNet)
_CURVE_RESUME = "with what is not learned yet, at its last state or, where none was saved, from its start"


def command(
    what: Annotated[
        Literal["sornet", "curve", "viewpoint", "detector", "relations", "context", "inpainter"],
        typer.Argument(
            help="A SORNet; the curve of a checkpoint fine-tuned on few scenes; a ViewNet, for detection and "
            "viewpoint; a detector of any world's classes; a network that relates two objects; a classifier or "
            "segmenter taught with objects removed; or an in-painter."
        ),
    ],
    to: Annotated[
        Path,
        typer.Option(
            "--out", help="Folder of the training; one begun here is gone on with. --model takes it in exams."
        ),
    ],
    world: Annotated[
        list[str] | None,
        typer.Option(
            help="Train on scenes of this world, drawn while training goes on; of several in turn, of one named "
            "twice two times. A ViewNet learns from one, by default cad/train; a detector from all scenes of all."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Train on this Sightline dataset, which has canonical views.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only this split of the dataset.")] = None,
    size: Annotated[
        Literal["tiny", "small", "base", "large", "paper", "paper-tiny"] | None,
        typer.Option(help="Of the network; by default tiny or the checkpoint's. A ViewNet: tiny, base or large."),
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(help="Views to show, the original first; by default original,top or the checkpoint's."),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="By default 2000; 300 from a checkpoint.")] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Scenes of a step; by default 256, on a CPU 16, from a checkpoint 32; on a CPU of little memory "
            "fewer. Of a ViewNet 128, on a CPU 32.",
        ),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Highest learning rate; by default 1e-3, 1e-4 from a checkpoint.")
    ] = None,
    optimizer: Annotated[
        Literal["muon", "adamw"] | None, typer.Option(help="By default muon, adamw from a checkpoint.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of weights, scenes and changes.")] = 0,
    augmentation: Annotated[
        Literal["full", "light", "none"],
        typer.Option(help="How pictures are changed: full also takes colour away, stretches and dulls."),
    ] = "light",
    auxiliary: Annotated[
        Literal["both", "pose", "pointing", "none"],
        typer.Option(help="Losses beside the predicates': on each object's pose and measures, on pointing at it."),
    ] = "both",
    canonical: Annotated[
        int, typer.Option(min=1, help="Canonical views a world's object has to choose from; fewer of many objects.")
    ] = 32,
    start: Annotated[
        str | None, typer.Option(help="Checkpoint to begin with; sornet is the one that comes with Sightline.")
    ] = None,
    scenes: Annotated[
        str | None,
        typer.Option(
            help=f"Curve: scenes of each point; by default {_FEW}. Viewpoint: scenes that are drawn once and kept, "
            "0 draws each for one use; by default 2000 on a CPU, 0 on a card. Detector: scenes of each world, "
            "by default 2000."
        ),
    ] = None,
    held_out: Annotated[int | None, typer.Option(min=1, help="Curve: scenes to ask about; by default 500.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes that place or decode scenes; 0 does it here.")] = 0,
    device: Annotated[
        Device, typer.Option(help="Where to train; auto takes the card where there is one.")
    ] = "auto",
    save_every: Annotated[
        int,
        typer.Option(
            min=1,
            help="Steps between states to go on from; one is also saved after a minute, then every ten minutes.",
        ),
    ] = 500,
    tensorboard: Annotated[bool, typer.Option(help="Write the log for TensorBoard too.")] = False,
    model: Annotated[
        Literal["mlp", "consistent", "vipcnn", "pprfcn", "drnet", "vtranse", "light", "vgg19", "upernet"] | None,
        typer.Option(
            help="Relations: mlp judges pair by pair, consistent keeps to one depth order of all; the next four "
            "are published networks that look at pictures. Context: light (MobileNetV2) or vgg19 classify, upernet "
            "segments."
        ),
    ] = None,
    recipe: Annotated[
        Literal["ours", "paper"] | None,
        typer.Option("--plan", help="Relations: our plan, or the 2.5VRD paper's, with its own network."),
    ] = None,
    cues: Annotated[
        str | None,
        typer.Option(help="Relations: boxes (b), classes (c), depth maps (d), appearance (a); by default bc."),
    ] = None,
    study: Annotated[
        Literal["within", "across", "joint"] | None,
        typer.Option(help="Relations: learn from pairs within an image, across two, or both (the default)."),
    ] = None,
    depth: Annotated[
        Path | None, typer.Option(help="Relations, cue d: folder of depth maps, or an ONNX depth network.")
    ] = None,
    backbone: Annotated[
        Path | None,
        typer.Option(
            help="Relations, cue a: checkpoint of a detector or classifier, or torchvision's MobileNetV2 (.pth)."
        ),
    ] = None,
    removal: Annotated[
        Strategy | None,
        typer.Option(
            help="Context: which class is removed. Classifiers: none, rand (the default) or const; upernet: none, "
            "random, sizebased, hardnegative, each also with the negative loss (by default hardnegative-negative)."
        ),
    ] = None,
    fill: Annotated[
        str | None,
        typer.Option(
            help="Context: exact (the default), exact-hole, grey, kept or network:FILE fills what is removed."
        ),
    ] = None,
    part: Annotated[
        Literal["full", "cooccur"] | None,
        typer.Option(help="Context: learn from all scenes, or from those of two classes and more alone."),
    ] = None,
    json: Json = False,
) -> None:
    """Train a network of our own on a world or a stored dataset. Run again, it goes on."""
    for package in ("torch", "safetensors", "lightning"):
        if find_spec(package) is None:
            raise MissingExtraError(package, extra="train")
    own = {"--plan": recipe, "--cues": cues, "--study": study, "--depth": depth, "--backbone": backbone}
    edited = {"--removal": removal, "--fill": fill, "--part": part}
    if what in ("context", "inpainter"):
        others = {
            "--data": data,
            "--split": split,
            "--views": views,
            "--held-out": held_out,
            "--optimizer": optimizer,
        }
        _refuse({**others, **own}, what)
        usual: dict[str, Any] = {
            "steps": steps,
            "batch": batch,
            "rate": rate,
            "seed": seed,
            "size": size,
            "workers": workers,
        }
        usual["worlds"] = tuple(world or ())
        count = None if scenes is None else _numbers(scenes)[0]
        how: dict[str, bool | int] = {"save_every": save_every, "tensorboard": tensorboard, "json": json}
        if what == "inpainter":
            _refuse(edited | {"--model": model, "--start": start}, what)
            from sightline.training.inpainter.setup import InpainterOptions

            _train_inpainter(InpainterOptions(kept=count, **usual), to, device, **how)  # type: ignore[arg-type]
            return
        if model not in (None, *_CONTEXT_NETS):
            raise ConfigError(f"sightline train context takes --model {', '.join(_CONTEXT_NETS)}, not {model}")
        from sightline.training.context.options import ContextOptions

        given = {"net": model or "light", "removal": removal, "fill": fill or "exact", "part": part or "full"}
        context = ContextOptions(scenes=count, start=start, **given, **usual)  # type: ignore[arg-type]
        _train_context(context, to, device, **how)  # type: ignore[arg-type]
        return
    _refuse(edited, what)
    if what == "relations":
        if model in _CONTEXT_NETS:
            raise ConfigError(f"--model {model} is for sightline train context")
        foreign = {
            "--size": size,
            "--views": views,
            "--start": start,
            "--held-out": held_out,
            "--optimizer": optimizer,
        }
        _refuse(foreign, what)
        if world is not None and len(world) > 1:
            raise ConfigError("sightline train relations takes one --world")
        from sightline.training.relations.options import RelationsOptions

        relations = RelationsOptions(
            data=data,
            world=world[0] if world else None,
            scenes=None if scenes is None else _numbers(scenes)[0],
            split=split,
            model=model or "mlp",  # type: ignore[arg-type]
            paper=recipe == "paper",
            cues=cues or "bc",
            study=study or "joint",
            depth=depth,
            backbone=backbone,
            steps=steps,
            batch=batch,
            rate=rate,
            seed=seed,
        )
        _train_relations(relations, to, device, save_every=save_every, tensorboard=tensorboard, json=json)
        return
    _refuse(own | {"--model": model}, what)
    if what in ("viewpoint", "detector"):
        others = {"--data": data, "--split": split, "--views": views, "--start": start, "--held-out": held_out}
        _refuse(others, what)
        if what == "detector" and not world:
            raise ConfigError("sightline train detector needs --world")
        if what == "viewpoint" and world is not None and len(world) > 1:
            raise ConfigError("sightline train viewpoint takes one --world")
        from sightline.training.viewpoint.setup import ViewNetOptions

        viewnet = ViewNetOptions(
            world=world[0] if world else "cad/train",
            size=size,
            steps=steps,
            batch=batch,
            rate=rate,
            optimizer=optimizer,
            seed=seed,
            augmented=augmentation != "none",
            kept=None if scenes is None else _numbers(scenes)[0],
            workers=workers,
        )
        worlds = tuple(dict.fromkeys(world)) if what == "detector" and world else ()
        _train_viewnet(viewnet, worlds, to, device, save_every=save_every, tensorboard=tensorboard, json=json)
        return
    from sightline.training.sornet.setup import SornetOptions

    options = SornetOptions(
        worlds=tuple(world or ()),
        data=data,
        split=split,
        size=size,
        views=None if views is None else tuple(v.strip() for v in views.split(",") if v.strip()),
        steps=steps,
        batch=batch,
        rate=rate,
        optimizer=optimizer,
        seed=seed,
        augmentation=augmentation,
        auxiliary=auxiliary,
        canonical=canonical,
        start=start,
        workers=workers,
    )
    if what == "sornet":
        if scenes is not None or held_out is not None:
            raise ConfigError("--scenes and --held-out are for sightline train curve")
        _train_sornet(options, to, device, save_every=save_every, tensorboard=tensorboard, json=json)
        return
    if start is None:
        raise ConfigError("sightline train curve needs --start, the checkpoint to fine-tune")
    if tensorboard:
        raise ConfigError("--tensorboard is for sightline train sornet")
    if len(options.worlds) > 1:
        raise ConfigError("sightline train curve takes one --world: its scenes are counted")
    points = _numbers(scenes or _FEW)
    _train_curve(options, to, device, points, held_out or 500, save_every=save_every, json=json)


def _refuse(foreign: Mapping[str, object], what: str) -> None:
    """A ConfigError for the first of the options of other trainings that was given."""
    if given := [name for name, value in foreign.items() if value is not None]:
        raise ConfigError(f"{given[0]} is not for sightline train {what}")


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(
            f"--scenes {text!r}: expected whole numbers with commas between, such as {_FEW}"
        ) from None


def _train_sornet(
    options: SornetOptions, to: Path, on: Device, *, save_every: int, tensorboard: bool, json: bool
) -> None:
    """Train, and say where the weights are."""
    from sightline.training.folder import begun
    from sightline.training.plan import chosen_device
    from sightline.training.sornet.setup import plan_of, source_of
    from sightline.training.sornet.task import WEIGHTS, SornetTask

    stored = begun(to, WEIGHTS)  # a folder of something else shows before scenes are read or drawn
    device, note = chosen_device(on), _noting(quiet=json)
    options = replace(options, batch=_batch(stored, options.batch))
    plan = plan_of(options, device)
    if device == "cpu" and options.batch is None:
        note(f"{counted(plan.batch, 'scene')} a step, to suit this CPU; --batch sets it")

    def task() -> TrainingTask:
        with progress("canonical views", quiet=json or not options.worlds) as show_bank:
            return SornetTask(plan, source_of(options, plan, device, note, show_bank))

    _train(task, plan.steps, to, device, "predicates", save_every=save_every, tensorboard=tensorboard, json=json)


def _train_viewnet(
    options: ViewNetOptions,
    worlds: tuple[str, ...],
    to: Path,
    on: Device,
    *,
    save_every: int,
    tensorboard: bool,
    json: bool,
) -> None:
    """Train, on the classes of some worlds a detector alone, and say where the weights are."""
    from sightline.training.folder import begun
    from sightline.training.plan import chosen_device
    from sightline.training.relations.detector import detector_plan, detector_task
    from sightline.training.viewpoint.setup import plan_of, source_of
    from sightline.training.viewpoint.task import WEIGHTS, ViewNetTask

    stored = begun(to, WEIGHTS)
    device = chosen_device(on)
    options = replace(options, batch=_batch(stored, options.batch))
    plan = detector_plan(options, device) if worlds else plan_of(options, device)

    def task() -> TrainingTask:
        with progress("views", quiet=json) as show_views:
            if worlds:
                return detector_task(worlds, options, plan, device, show_views)
            return ViewNetTask(plan, source_of(options, plan, device, show_views))

    exam, relates = ("relations --boxes detected", "blind_mlp+") if worlds else ("viewpoint", "")
    _train(
        task,
        plan.steps,
        to,
        device,
        exam,
        relates=relates,
        save_every=save_every,
        tensorboard=tensorboard,
        json=json,
    )


def _train_relations(
    options: RelationsOptions, to: Path, on: Device, *, save_every: int, tensorboard: bool, json: bool
) -> None:
    """Train, and say where the weights are."""
    from sightline.training.folder import begun
    from sightline.training.plan import chosen_device
    from sightline.training.relations.options import plan_of, seen_plan
    from sightline.training.relations.seen import SeenTask
    from sightline.training.relations.setup import seen_source, source_of
    from sightline.training.relations.task import WEIGHTS, RelationsTask

    begun(to, WEIGHTS)
    device = chosen_device(on)
    steps = seen_plan(options, device).steps if options.looks else plan_of(options).steps

    def task() -> TrainingTask:
        with progress("scenes", quiet=json or options.world is None) as show_scenes:
            if options.looks:
                looking = seen_plan(options, device)
                return SeenTask(looking, seen_source(options, looking, show_scenes))
            plan = plan_of(options)
            return RelationsTask(plan, source_of(options, plan, show_scenes))

    _train(task, steps, to, device, "relations", save_every=save_every, tensorboard=tensorboard, json=json)


def _train_context(
    options: ContextOptions, to: Path, on: Device, *, save_every: int, tensorboard: bool, json: bool
) -> None:
    """Draw scenes without their objects, train, and say where the weights are."""
    from sightline.training.context.setup import plan_of, task_of
    from sightline.training.folder import begun
    from sightline.training.plan import chosen_device

    device = chosen_device(on)
    stored = begun(to, "segmenter.safetensors" if options.net == "upernet" else "classifier.safetensors")
    plan = plan_of(replace(options, batch=_batch(stored, options.batch)), device)

    def task() -> TrainingTask:
        with progress("scenes", quiet=json) as show_scenes:
            return task_of(options, plan, device, show_scenes)

    _train(task, plan.steps, to, device, "context", save_every=save_every, tensorboard=tensorboard, json=json)


def _train_inpainter(
    options: InpainterOptions, to: Path, on: Device, *, save_every: int, tensorboard: bool, json: bool
) -> None:
    """Train an in-painter, and say where the weights are."""
    from sightline.training.folder import begun
    from sightline.training.inpainter.setup import plan_of, source_of
    from sightline.training.inpainter.task import WEIGHTS, InpainterTask
    from sightline.training.plan import chosen_device

    device = chosen_device(on)
    options = replace(options, batch=_batch(begun(to, WEIGHTS), options.batch))
    plan = plan_of(options, device)

    def task() -> TrainingTask:
        return InpainterTask(plan, source_of(options, plan, device))

    _train(task, plan.steps, to, device, "", save_every=save_every, tensorboard=tensorboard, json=json)


def _batch(stored: Mapping[str, Any] | None, asked: int | None) -> int | None:
    """The batch of a training that goes on: it was chosen on a machine that may have been another one."""
    begun_with = None if stored is None else stored["plan"].get("batch")
    return begun_with if asked is None and isinstance(begun_with, int) and begun_with > 0 else asked


def _train(
    open_task: Callable[[], TrainingTask],
    steps: int,
    to: Path,
    device: str,
    exam: str,
    *,
    relates: str = "",
    save_every: int,
    tensorboard: bool,
    json: bool,
) -> None:
    """Train the network of a task in a folder, and say where the weights are and which exam they take."""
    from sightline.training.fit import fit
    from sightline.training.folder import STATE

    note = _noting(quiet=json)
    kept: list[int] = []

    def resume_point() -> str:
        if kept:
            return f"after step {kept[-1]:,} of {steps:,}, kept in {to / STATE}"
        return "at the last state" if (to / STATE).exists() else "from the start, no state was saved yet"

    def on_saved(step: int) -> None:
        if not kept and step < steps:
            note(
                f"{to / STATE} holds the training after step {step:,}: stopped now, the same command goes on there"
            )
        kept.append(step)

    with quiet_stdout(active=json), interruptible(lambda: f"the same command goes on {resume_point()}"):
        task = open_task()
        loss = task.metrics[0]
        with _bar(steps, loss, quiet=json) as show, _board(to, active=tensorboard) as add_scalars:

            def on_row(done: int, total: int, row: Mapping[str, float]) -> None:
                show(done, total, row)
                add_scalars(row)

            every = max(1, min(50, steps // 20))
            _, fitted = fit(
                task, to, log_every=every, save_every=save_every, progress=on_row, saved=on_saved, device=device
            )
    if json:
        print_json({**plain(fitted), "device": device})
        return
    last = fitted.last  # of a training done before whose log is gone there is none
    words = f", loss {last[loss]:.3f}" if last else ""
    if "right" in last:
        words += f", right {last['right']:.1%}"
    out.print(f"{fitted.weights}: {counted(fitted.steps, 'step')}{words}{' in the last batch' if last else ''}")
    if exam:
        err.print(f"next: sightline exam {exam} --data DIR --model {relates}{fitted.weights}")
    else:
        err.print(f"next: sightline exam context --data DIR --model MODEL --fill network:{fitted.weights}")


def _train_curve(
    options: SornetOptions,
    to: Path,
    on: Device,
    scenes: tuple[int, ...],
    held_out: int,
    *,
    save_every: int,
    json: bool,
) -> None:
    """Fine-tune on each number of scenes, print the curve, draw it."""
    from sightline.show.xy import learning_curve
    from sightline.training.plan import chosen_device
    from sightline.training.sornet.finetune import curve, refuse_foreign
    from sightline.training.sornet.setup import curve_sources, plan_of

    refuse_foreign(to)  # before scenes are read or drawn
    device = chosen_device(on)
    plan = plan_of(options, device)
    with quiet_stdout(active=json), interruptible(lambda: f"the same command goes on {_CURVE_RESUME}"):
        with progress("canonical views", quiet=json or not options.worlds) as show_bank:
            base, held = curve_sources(
                options,
                plan,
                device,
                most=max(scenes),
                held_out=held_out,
                on_note=_noting(quiet=json),
                on_bank=show_bank,
            )
        with progress("steps", quiet=json) as show:

            def on_step(count: int, done: int, total: int) -> None:
                if show is not None:
                    tuned = [n for n in scenes if n]
                    show(tuned.index(count) * total + done, len(tuned) * total)

            made = curve(
                plan,
                base,
                held,
                to,
                scenes=scenes,
                held_out=held_out,
                save_every=save_every,
                device=device,
                progress=on_step,
            )
    atomic_write(to / CHART, learning_curve(made.to_dict()).encode())
    if json:
        print_json({"chart": str(to / CHART), **made.to_dict()})
        return
    _print_curve(made, held_out)
    err.print(f"chart: {to / CHART}")


def _print_curve(made: Curve, held_out: int) -> None:
    title = f"scene accuracy on {counted(held_out, 'held-out scene')}, 95 % interval by scene"
    rows = table(title, "scenes learned from", "all", "spatial", "geometric", "whole scenes")
    points = [(f"{p.scenes:,}", p.scores) for p in made.points] + [("(commoner answer)", made.majority)]
    for name, scored in points:
        values = [scored.scene_accuracy[key] for key in ("all", "spatial", "geometric")]
        rows.add_row(name, *(cell(plain(value)) for value in (*values, scored.scene_all)))
    out.print(rows)


def _noting(*, quiet: bool) -> Callable[[str], None]:
    return (lambda _: None) if quiet else (lambda text: err.print(f"note: {text}"))


@contextmanager
def _bar(steps: int, loss: str, *, quiet: bool) -> Iterator[Any]:
    """A progress bar with the log's last row; yields a `training.log.Progress`."""
    if quiet or not err.is_terminal:
        yield lambda *_: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[row]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("steps", total=steps, row="")

        def show(done: int, total: int, row: Mapping[str, float]) -> None:
            speed = next(f"{row[name]:,.0f} {name[: -len('_per_s')]}/s" for name in row if name.endswith("_per_s"))
            text = f"loss {row[loss]:.3f}, right {row['right']:.1%}, {speed}"
            bar.update(task, completed=done, total=total, row=text)

        yield show


@contextmanager
def _board(to: Path, *, active: bool) -> Iterator[Any]:
    """Where rows of the log go besides its file: nowhere, or to TensorBoard."""
    if not active:
        yield lambda _: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("--tensorboard needs the package tensorboard: pip install tensorboard") from None
    writers: list[SummaryWriter] = []

    def add_scalars(row: Mapping[str, float]) -> None:
        if not writers:  # not before the training has begun: its folder may hold another one
            writers.append(SummaryWriter(str(to / "tensorboard")))
        for name in row.keys() - {"step"}:
            writers[0].add_scalar(name, row[name], int(row["step"]))

    try:
        yield add_scalars
    finally:
        for writer in writers:
            writer.close()
