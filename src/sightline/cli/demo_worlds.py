"""The demo's second half: scenes of our own, looked at, taken apart and asked about."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np

from sightline.cli import check_command, export_command, import_command, look_command, stats_command
from sightline.cli.console import out
from sightline.cli.demo_command import (
    class_scorers,
    depth_networks,
    detectors,
    generate_scenes,
    say,
    take,
    view_networks,
)
from sightline.exams.context.exam import ContextExam
from sightline.exams.statements import StatementsExam
from sightline.exams.viewpoint.exam import ViewpointExam
from sightline.files import atomic_write
from sightline.scenes import Object, Scene
from sightline.store import Dataset
from sightline.store.encodings import encode
from sightline.text import counted

_NOTICED = 4  # of 255: less is light that came from an object far away
_SAID: Final = {"left": "left of", "right": "right of", "front": "in front of", "behind": "behind"}
_MOST_STATEMENTS: Final = 6
"""Statements about one scene."""


def show_worlds(
    to: Path, runs: Path, scenes: int = 24, size: str = "480x320"
) -> tuple[Path, list[tuple[str, Path]]]:
    """Generate small datasets, look at them, take an object away, export them, let the rules take the exams.

    Returns the folder of the runs, and what there is to see: a line about it, and the file.
    """
    import sightline

    geospa, kitchen = to / "geospa", to / "kitchen"
    generate_scenes("geospa/train", geospa, scenes, size, views="original,top", canonical=2)
    generate_scenes("kitchen", kitchen, scenes // 3, size)
    seen = [
        *_look(geospa, "none,boxes,masks+amodal,relations"),
        *_look(kitchen, "none,boxes,masks+amodal,depth"),
        *_surroundings(to, -(-scenes // 8), size),
    ]
    for data in (geospa, kitchen):
        say("check", data)
        check_command.command(data)
    say("export clevr", geospa, "--out", to / "geospa.scenes.json")
    export_command.command("clevr", geospa, to=to / "geospa.scenes.json")
    opened = sightline.open(geospa)
    seen += [
        ("geospa/train: a scene with one object taken away", _counterfactual(opened, to / "counterfactual.png")),
        ("geospa/train: canonical views of its objects", _canonical(opened, to / "canonical.png")),
    ]
    page = to / "geospa-stats.html"
    say("stats", geospa, "--out", page)
    stats_command.command(geospa, page)
    seen.append(("geospa/train: what is in it", page))
    runs /= opened.fingerprint[:12]
    take(sightline.RelationsExam(), geospa, runs, depth_networks())
    take(sightline.RelationsExam(no_truth=True), geospa, runs)
    said = _statements(opened, to / "said")
    say("import", said, "--images", said, "--overwrite --out", to / "statements")
    import_command.command(said, to / "statements", images=said, overwrite=True)
    take(StatementsExam(), to / "statements", runs)
    views = to / "views"
    generate_scenes("cad/val", views, scenes, size)
    _say_viewpoints(views, runs)
    company = to / "company"
    generate_scenes("context/street/full", company, scenes // 2, size)
    take(ContextExam(), company, runs, class_scorers())
    _find_and_relate(geospa, runs, detectors())
    return runs, [*seen, *_look(views, "none,boxes,masks+amodal")]


def _say_viewpoints(data: Path, runs: Path) -> None:
    """Let the network say viewpoints in given boxes and in its own, and find the objects that another orders."""
    networks = view_networks()
    take(ViewpointExam(), data, runs, networks)
    for network in networks:
        take(ViewpointExam(boxes="detected"), data, runs, [network], baselines=False)
    _find_and_relate(data, runs, networks)


def _find_and_relate(data: Path, runs: Path, finding: list[str]) -> None:
    """Let detectors find the objects and depth networks order them, pair by pair."""
    import sightline

    pairs = [f"{depth}+{detector}" for depth, detector in zip(depth_networks(), finding, strict=False)]
    if pairs:
        take(sightline.RelationsExam(boxes="detected"), data, runs, pairs, baselines=False)


def _statements(data: Dataset, to: Path) -> Path:
    """Write pictures and statements about them, every other one false, in the form of VSR's; gives the folder."""
    to.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, scene in enumerate(data):
        picture = f"{number:06d}.png"
        atomic_write(to / picture, encode("image", scene.views[0].image())[0])
        named = {o.id: f"{_look_of(o)} {o.category}" for o in scene.objects}
        times = Counter(named.values())
        pairs = [
            (named[r.subject], _SAID[r.predicate], named[r.object])
            for r in scene.relations
            if r.predicate in _SAID and times[named[r.subject]] == times[named[r.object]] == 1
        ]
        chosen = np.random.default_rng(number).permutation(len(pairs))[:_MOST_STATEMENTS]
        for i, (subject, relation, other) in enumerate(pairs[k] for k in chosen):
            ends = (subject, other) if i % 2 else (other, subject)  # turned round it is false
            caption = f"The {ends[0]} is {relation} the {ends[1]}."
            lines.append({"image": picture, "caption": caption, "relation": relation, "label": i % 2})
    atomic_write(to / "test.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines).encode())
    return to


def _look_of(thing: Object) -> str:
    return " ".join(thing.attributes[key] for key in ("size", "color", "material"))


def _surroundings(to: Path, scenes: int, size: str) -> list[tuple[str, Path]]:
    """Generate streets, compared pair by pair, and rooms; take the first room with a phone as well."""
    import sightline

    street, room, phone = to / "street", to / "room", to / "room-phone"
    generate_scenes("street", street, scenes + scenes % 2, size, pairs=True)
    generate_scenes("room", room, scenes, size)
    generate_scenes("room", phone, 1, size, sensor="phone")
    seen = [one for data in (street, room) for one in _look(data, "none,boxes,stuff")]
    across = Counter(r.predicate for scene in sightline.open(street) for r in scene.relations if r.object_scene)
    out.print(f"across two streets: {', '.join(f'{n} {word}' for word, n in across.most_common())}")
    images = [next(iter(sightline.open(data))).views[0].image() for data in (room, phone)]
    atomic_write(to / "phone.png", encode("image", np.concatenate(images, axis=1))[0])
    return [*seen, ("room: an ideal picture, and one as a phone takes it", to / "phone.png")]


def _look(data: Path, panels: str) -> list[tuple[str, Path]]:
    """Contact sheets: a picture of a few scenes, a page of all with every layer."""
    sheet, page = data.with_suffix(".png"), data.with_suffix(".html")
    say("look", data, "--scenes 8 --width 320 --overlay", panels, "--out", sheet)
    look_command.command(data, sheet, panels, scenes=8, width=320)
    say("look", data, "--out", page)
    look_command.command(data, page)
    return [(f"{data.name}: contact sheet", sheet), (f"{data.name}: all scenes, layers to turn on", page)]


def _counterfactual(data: Dataset, file: Path) -> Path:
    """The first view of a scene: as it is, without the object that hides most, and what changed."""
    scene = next(iter(data))
    thing = _hides_most(scene)
    out.print(f"\n>>> scene = sightline.open({str(data.path)!r}).scene({scene.id!r})", style="bold")
    out.print(f">>> scene.without({thing.id!r}).views[0].image()", style="bold")
    before, after = scene.views[0].image(), scene.without(thing.id).views[0].image()
    changed = (np.abs(before.astype(np.int16) - after) > _NOTICED).any(axis=2)
    out.print(
        f"without the {_look_of(thing)} {thing.category}, {changed.mean():.0%} of the pixels look different: {file}"
    )
    marked = np.where(changed[..., None], after, 255 - (255 - after) // 4)
    atomic_write(file, encode("image", np.concatenate((before, after, marked.astype(np.uint8)), axis=1))[0])
    return file


def _hides_most(scene: Scene) -> Object:
    ids, whole = scene.views[0].ids(), scene.views[0].amodal()
    hidden = [(np.delete(whole, i, axis=0) & (ids == i + 1)).sum() for i in range(len(scene.objects))]
    return scene.objects[int(np.argmax(hidden))]


def _canonical(data: Dataset, file: Path) -> Path:
    """The views of every distinct object, twelve objects a row."""
    from sightline.generation import canonical_of

    objects = [thing for scene in data for thing in scene.objects]
    things = {
        (o.category, o.attributes["color"], o.attributes["size"], o.attributes["material"]): o for o in objects
    }
    strips = [np.concatenate(list(canonical_of(data, things[look]))) for look in sorted(things)]
    blank = np.full_like(strips[0], 255)
    strips += [blank] * (-len(strips) % 12)
    rows = [np.concatenate(strips[i : i + 12], axis=1) for i in range(0, len(strips), 12)]
    atomic_write(file, encode("image", np.concatenate(rows))[0])
    out.print(f"canonical views of {counted(len(things), 'object')}: {file}")
    return file
