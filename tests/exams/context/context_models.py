"""Models that look at the made-up pictures of the context exam's tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import sightline as sl
from exams.context_runs import CLASSES, COLOURS, STUFF, Table
from sightline.scenes import View
from sightline.skills import Asked


class Sees:
    """Names the colour of every pixel; with a fault, it takes a road for a sidewalk unless there is a car."""

    classes = (*CLASSES, *STUFF)

    def __init__(self, *, needs_car: bool = False) -> None:
        self.needs_car = needs_car
        self.name = "needs car" if needs_car else "sees"
        self.calls: list[int] = []

    def segment(self, views: Sequence[View]) -> sl.LabelMaps:
        self.calls.append(len(views))
        known = np.array([COLOURS[name] for name in CLASSES] + [(120,) * 3, (170,) * 3])
        maps = []
        for view in views:
            gap = np.abs(view.image()[:, :, None].astype(int) - known).sum(axis=3)
            labels = gap.argmin(axis=2).astype(np.int32)
            if self.needs_car and not (labels == self.classes.index("car")).any():
                labels[labels == self.classes.index("road")] = self.classes.index("sidewalk")
            maps.append(labels)
        return sl.LabelMaps(self.classes, tuple(maps))


class Looks(Table):
    """Answers by the colours of the picture; it takes what it is asked about for there, if its colour is."""

    name = "looks"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, asked: Asked) -> str:
        self.asked.append(asked.text)
        same = (asked.view.image() == COLOURS[asked.question["class"]]).all(axis=2)
        return "Yes, there is." if same.any() else "no"


class Fixed(Table):
    """The same logits for every picture."""

    def __init__(self, classes: tuple[str, ...] = CLASSES, name: str = "fixed") -> None:
        super().__init__(lambda _, category: float(len(category)), classes)
        self.name = name
