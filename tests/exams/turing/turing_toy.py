"""A toy world for the Turing exam: balls and cubes of three colours, drawn as boxes only, answers open or leaky."""

from __future__ import annotations

import numpy as np

from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    Region,
    RelationType,
    Vocabulary,
)
from sightline.scenes import Object, Scene, Sighting, View
from sightline.store import Dataset
from sightline.store.convert import tables_from_scenes

COLOURS = ("red", "blue", "green")
SIZE = (100, 80)


def toy_vocabulary() -> Vocabulary:
    colours = tuple(Attribute(c, "color", c, AttributeSource("attribute", "color", (c,))) for c in COLOURS)
    textures = tuple(
        Attribute(t, "texture", t, AttributeSource("attribute", "texture", (t,))) for t in ("rough", "shiny")
    )
    kinds = tuple(
        ObjectType(name, (name,), (*colours, *textures), frozenset({"color", "texture"}))
        for name in ("ball", "cube")
    )
    links = (RelationType("larger", "larger than", group="size", aspect="box", values=("larger",), margin=0.0),)
    regions = (
        Region("image", (0.0, 0.0, 1.0, 1.0)),
        Region("left", (0.0, 0.0, 0.5, 1.0)),
        Region("right", (0.5, 0.0, 1.0, 1.0)),
    )
    return Vocabulary("toy", kinds, links, regions)


def toy_scenes(n: int, *, seed: int = 0, split: str = "", start: int = 0) -> list[Scene]:
    """Up to five things an image, each of any kind and colour, anywhere."""
    rng = np.random.default_rng(seed)
    return [_scene(f"toy/{split or 'all'}/{seed}/{start + i:05d}", split, rng) for i in range(n)]


def toy_data(n: int, *, seed: int = 0, split: str = "") -> Dataset:
    return Dataset.from_tables(tables_from_scenes(toy_scenes(n, seed=seed, split=split)))


def _scene(name: str, split: str, rng: np.random.Generator) -> Scene:
    objects, sightings = [], []
    for i in range(int(rng.integers(0, 6))):
        looks = {"color": str(rng.choice(COLOURS)), "texture": str(rng.choice(["rough", "shiny"]))}
        objects.append(Object(str(i), str(rng.choice(["ball", "cube"])), looks))
        x, y, side = rng.uniform(0, 70), rng.uniform(0, 50), rng.uniform(5, 30)
        box = (float(x), float(y), float(x + side), float(y + side))
        sightings.append(Sighting("0", str(i), box))
    return Scene(name, split, "toy", (View("0", size=SIZE),), tuple(objects), tuple(sightings))
