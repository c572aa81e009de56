"""The statements exam: is what is said of a photo true? For models with the skill *answer*.

Each statement of a dataset (an attribute ``statement`` with its ``label``, as an import of VSR makes them) is put
as a yes–no question of its own, without history. Images are the independent units; every statement counts the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import DataError, PictureError
from sightline.exams.base import Entrants, Exam, Measures, Name, check_split, option
from sightline.exams.hooks import model_call
from sightline.exams.run import ItemRecords, RunRecords
from sightline.exams.turing.conversation import NO, REPLIES, YES, more_than, read_reply
from sightline.scenes import Scene, View
from sightline.skills import Asked, StatementsStudy
from sightline.store import Dataset
from sightline.text import counted

QUESTION: Final = 'Is this statement about the image true? "{}"'
_SHOWN: Final = 100
"""Statements of a relation from which on its accuracy is printed; JSON tells all."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence about a photo.

    Attributes:
        text: The sentence.
        relation: The words of it that say how the two things lie.
        is_true: Whether people called it true.
    """

    text: str
    relation: str
    is_true: bool


@dataclass(frozen=True)
class StatementsItem:
    """All statements about one photo."""

    scene_id: str
    view: View
    statements: tuple[Statement, ...]

    @property
    def id(self) -> str:
        """The scene's id."""
        return self.scene_id

    @property
    def cluster_id(self) -> str:
        """The scene's id: images are independent, the statements about one are not."""
        return self.scene_id


@dataclass(frozen=True)
class StatementsExam(Exam[StatementsItem]):
    """True or false: statements about photos, asked one at a time."""

    split: str | None = option(None, "Split to ask about; by default all scenes.")

    name: ClassVar[str] = "statements"
    title: ClassVar[str] = "Statements"
    baselines: ClassVar[Mapping[str, str]] = {
        name: name for name in ("always_yes", "statement_majority", "relation_majority")
    }
    unit: ClassVar[str] = "image"
    unit_of_items: ClassVar[str] = "image"
    skills: ClassVar[tuple[tuple[str, ...], ...]] = (("answer",),)

    def items(self, data: Dataset) -> list[StatementsItem]:
        """Images with their statements, by scene id."""
        check_split(self.split, data)
        scenes = data.scenes(self.split)
        found = [(scene, statements) for scene in scenes if (statements := tuple(statements_of(scene)))]
        if not found:
            expected = "objects with the attributes statement and label, as an import of VSR makes them"
            raise DataError("there are no statements here", file=data.path, expected=expected)
        return [StatementsItem(scene.id, _picture(scene), statements) for scene, statements in found]

    def entrants(self, models: Sequence[object], data: Dataset, *, baselines: bool) -> Entrants:
        """The models and the blind rules; a note says how many images have no photo."""
        bare, total = data.pictureless
        said = f"{bare:,} of {counted(total, 'image')} have no photo: a model that looks cannot answer there"
        note = (f"{said} (sightline import takes photos along with --images)",) if bare else ()
        return Entrants(tuple(models), self.baselines if baselines else {}, note)

    def study(self, model: Any, data: Dataset) -> StatementsStudy | None:
        """The statements with their labels, for a baseline that promises to answer by other images' alone."""
        if not getattr(model, "cross_fits", False):
            return None
        pairs = [(item.scene_id, s) for item in self.items(data) for s in item.statements]
        relations, truth = tuple(s.relation for _, s in pairs), tuple(s.is_true for _, s in pairs)
        return StatementsStudy(tuple(scene for scene, _ in pairs), relations, truth)

    def ask(self, model: Any, item: StatementsItem) -> ItemRecords:
        """Ask about one image, statement by statement."""
        columns: dict[str, list[Any]] = {
            name: [] for name in ("statement", "relation", "truth", "answer", "right", "said", "confidence")
        }
        for statement in item.statements:
            question = {"type": "statement", "statement": statement.text, "relation": statement.relation}
            text = QUESTION.format(statement.text)
            asked = Asked(item.scene_id, item.view, question, text, text, None, {}, ())
            with model_call(model, "answer"):
                given = model.answer(asked)
            reply, truth = read_reply(given), YES if statement.is_true else NO
            values = (statement.text, statement.relation, truth, reply, reply == truth)
            more = (more_than(reply, given), getattr(given, "confidence", None))
            for column, value in zip(columns.values(), (*values, *more), strict=True):
                column.append(value)
        if not any(sure is not None for sure in columns["confidence"]):
            del columns["confidence"]
        return ItemRecords({}, columns)

    def measures(self, records: RunRecords, data: Callable[[], Dataset]) -> Sequence[Measures]:  # noqa: ARG002
        """Accuracy, of all statements and of each relation, and the share of each reply; by image."""
        rows = records.rows
        units, place = np.unique(rows["cluster_id"].to_numpy().astype(object), return_inverse=True)
        figures = list(_figures(rows))
        counts = np.zeros((len(units), len(figures), 2))
        for column, (_, hits, inside) in enumerate(figures):
            counts[:, column, 0] = np.bincount(place[inside & hits], minlength=len(units))
            counts[:, column, 1] = np.bincount(place[inside], minlength=len(units))
        facts = {"n_images": len(units), "n_statements": rows.height}
        return [Measures(tuple(units.tolist()), counts, _shares, tuple(name for name, _, _ in figures), facts)]


def statements_of(scene: Scene) -> Iterator[Statement]:
    """The statements about a scene, in stored order; a DataError for one without a label."""
    for thing in scene.objects:
        if "statement" in thing.attributes:
            label = thing.attributes.get("label")
            if label not in ("true", "false"):
                raise DataError("not a label", row=scene.id, field="label", expected="true or false", found=label)
            yield Statement(thing.attributes["statement"], thing.attributes.get("relation", ""), label == "true")


def _picture(scene: Scene) -> View:
    """The first view, as a model may see it; one without a photo says so when it is looked at."""
    view = scene.views[0].without_truth()
    return view if view.load_image is not None else replace(view, load_image=partial(_no_photo, scene.id))


def _no_photo(scene_id: str) -> NDArray[np.uint8]:
    raise PictureError("the dataset has no photo of it", row=scene_id, expected="an import with --images")


def _figures(rows: pl.DataFrame) -> Iterator[tuple[Name, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Every figure with the records that count as hits and those it is a share of."""
    right, everything = rows["right"].to_numpy(), np.ones(rows.height, dtype=bool)
    total = Name(("accuracy", "all"), "all", "accuracy", "", "accuracy", headline=1, percent=True)
    yield total, right, everything
    relation = rows["relation"].to_numpy()
    times = rows["relation"].value_counts().sort("count", "relation", descending=[True, False])
    for word, number in times.iter_rows():
        table = "accuracy by relation" if number >= _SHOWN else ""
        is_part = number >= _SHOWN
        path = ("accuracy_by_relation", word)
        yield Name(path, word, table, "relations", f"  {word}", part=is_part, percent=True), right, relation == word
    for word in REPLIES:
        yield Name(("replies", word), word, percent=True), rows["answer"].to_numpy() == word, everything


def _shares(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: NDArray[np.float64] = totals[..., 0] / totals[..., 1]
    return shares
