"""Which classes are in which scene: how often they are together, and splits by the company they keep."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.hints import did_you_mean
from sightline.scenes import PART, STUFF, Scene
from sightline.store.dataset import Dataset
from sightline.store.tables import Tables

USUAL: Final = 0.5
"""Share of a class's training scenes from which on another class is its usual company."""


@dataclass(frozen=True)
class Presence:
    """Which classes are in which scene.

    Attributes:
        scenes: Ids of n scenes.
        classes: Names of C classes.
        present: (n, C) whether a class is in a scene.
    """

    scenes: tuple[str, ...]
    classes: tuple[str, ...]
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, named: Mapping[str, Collection[str]], classes: Sequence[str] | None = None) -> Presence:
        """Of scene → its classes; by default all classes there are, sorted.

        >>> Presence.of({"a": ["car", "road"], "b": ["road"]}).present.tolist()
        [[True, True], [False, True]]
        """
        names = sorted(set[str]().union(*named.values())) if classes is None else list(classes)
        flags = [[name in there for name in names] for there in named.values()]
        return cls(tuple(named), tuple(names), np.array(flags, dtype=bool).reshape(len(named), len(names)))

    @property
    def counts(self) -> NDArray[np.int64]:
        """(C,) scenes that have each class."""
        counts: NDArray[np.int64] = np.count_nonzero(self.present, axis=0)
        return counts

    @property
    def per_scene(self) -> NDArray[np.int64]:
        """(n,) classes in each scene."""
        counts: NDArray[np.int64] = np.count_nonzero(self.present, axis=1)
        return counts

    def cooccurrence(self) -> NDArray[np.float64]:
        """NC, (C, C): of the scenes with class i the share that also has class j; NaN for a class that is nowhere.

        >>> Presence.of({"a": ["car", "road"], "b": ["road"]}).cooccurrence().tolist()
        [[1.0, 1.0], [0.5, 1.0]]
        """
        flags = self.present.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio: NDArray[np.float64] = flags.T @ flags / self.counts[:, None]
        return ratio

    def splits(self) -> dict[str, tuple[str, ...]]:
        """Scenes of Full, Co-occur and Single: with one class or more, with two or more, with exactly one."""
        n = self.per_scene
        chosen = {"full": n >= 1, "cooccur": n >= 2, "single": n == 1}
        return {name: self._scenes(where) for name, where in chosen.items()}

    def by_class(self, name: str) -> dict[str, tuple[str, ...]]:
        """Scenes ``with`` a class and ``without`` it; a ConfigError where no scene has it."""
        if name not in self.classes:
            raise ConfigError(f"no object is a {name!r}{did_you_mean(name, list(self.classes))}")
        there = self.present[:, self.classes.index(name)]
        return {"with": self._scenes(there), "without": self._scenes(~there)}

    def out_of_context(self, learned: Presence, usual: float = USUAL) -> tuple[str, ...]:
        """Scenes in which a class is without the company it keeps.

        Usual company of a class are the classes that at least `usual` of the scenes to learn from with it have too;
        a class is out of context where it has usual company and none of it is there.

        Args:
            learned: Of the training set; classes it does not know have no usual company.
            usual: Share of scenes, above 0 and up to 1.
        """
        if not 0.0 < usual <= 1.0:
            raise ConfigError(f"usual company is a share above 0 and up to 1, not {usual:g}")
        place = {name: i for i, name in enumerate(learned.classes)}
        known = [i for i, name in enumerate(self.classes) if name in place]
        there = [place[self.classes[i]] for i in known]
        ratio = learned.cooccurrence()
        np.fill_diagonal(ratio, 0.0)
        company = np.nan_to_num(ratio)[there] >= usual  # (known, learned classes)
        flags = self.present[:, known]
        alone = flags & company.any(axis=1) & (flags.astype(np.int64) @ company[:, there].T == 0)
        return self._scenes(alone.any(axis=1))

    def _scenes(self, where: NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(np.array(self.scenes, dtype=object)[where])


def class_presence(
    data: Dataset, split: str | None = None, *, stuff: bool = False, classes: Sequence[str] | None = None
) -> Presence:
    """Classes that can be seen in each scene of a dataset, in stored order: of things, not of their parts.

    Args:
        data: The dataset.
        split: Only its scenes.
        stuff: Count what is flagged as stuff, and the classes of stuff maps, which takes reading every map.
        classes: Count these alone.

    Raises:
        ConfigError: Nothing in the dataset is of one of the classes.
    """
    tables = data.tables(split)
    there = seen_classes(tables, stuff=stuff)
    if stuff:
        mapped = [(scene.id, name) for scene in data.scenes(split) for name in _mapped(scene)]
        there = pl.concat([there, pl.DataFrame(mapped, schema=there.schema, orient="row")]).unique()
    found = sorted(there["category"].unique())
    for name in classes or ():
        if name not in found:
            raise ConfigError(f"nothing in {data.path} is a {name!r}{did_you_mean(name, found)}")
    return presence_of(there, tables.views["scene_id"].unique(maintain_order=True), classes or found)


def seen_classes(tables: Tables, *, stuff: bool = False) -> pl.DataFrame:
    """Scenes and the classes that can be seen in each, one row a class; no parts, stuff only where asked for."""
    left_out = ["hidden", PART, *([] if stuff else [STUFF])]
    seen = tables.sightings.filter(pl.col("flags").list.set_intersection(left_out).list.len() == 0)
    there = tables.objects.join(seen, on=["scene_id", "object_id"], how="semi")
    return there.select("scene_id", "category").drop_nulls().unique()


def presence_of(there: pl.DataFrame, scenes: pl.Series, classes: Sequence[str]) -> Presence:
    """Which of the classes are in which of the scenes, of rows of `seen_classes`."""
    rows = pl.DataFrame({"scene_id": scenes}).with_row_index("row")
    columns = pl.DataFrame({"category": list(classes)}, schema={"category": pl.String}).with_row_index("column")
    places = there.join(rows, on="scene_id").join(columns, on="category")
    present = np.zeros((len(scenes), len(classes)), dtype=bool)
    present[places["row"].to_numpy(), places["column"].to_numpy()] = True
    return Presence(tuple(scenes), tuple(classes), present)


def _mapped(scene: Scene) -> set[str]:
    """Classes of a scene's stuff maps."""
    maps = ((view.stuff_classes, np.unique(view.stuff())) for view in scene.views if view.load_stuff is not None)
    return {classes[i - 1] for classes, numbers in maps for i in numbers.tolist() if i}
