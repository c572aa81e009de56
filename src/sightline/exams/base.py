"""What an exam is: options, items, a question to a model, and how its records are counted.

An exam is one frozen dataclass that derives from `Exam`. Its fields are its options: the command line, the
manifest, a run's folder name and the command that makes it again follow from them. Everything after the records
(scores with intervals, comparison, printing, the report card) is written once, in `scoring` and `card`, from
`Exam.measures`.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from importlib import import_module
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, Self, TypeVar, get_type_hints

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError
from sightline.exams.hooks import call_hook
from sightline.exams.run_schema import RecordColumn
from sightline.hints import did_you_mean, hint
from sightline.plain import plain
from sightline.stats import Groups, Statistic
from sightline.store.schema import SPLIT_WORDS
from sightline.text import file_name
from sightline.typed import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sightline.exams.card import CardContext
    from sightline.exams.run import ItemRecords, RunRecords
    from sightline.exams.scoring import RunResult
    from sightline.show.page import Example, Figure, Section
    from sightline.show.table import Table
    from sightline.store import Dataset

_OPTION: Final = "sightline"


class Item(Protocol):
    """What a model is shown in one call."""

    @property
    def id(self) -> str:
        """Unique in the exam, and the same in every run over the same data."""

    @property
    def scene_id(self) -> str:
        """The scene it is about (the subject's, if it spans two)."""

    @property
    def cluster_id(self) -> str:
        """The independent unit for statistics: the scene, or the image pair."""


ItemT = TypeVar("ItemT", bound=Item)
T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """How a field of an exam appears outside Python.

    Attributes:
        help: One line for the command line.
        name: What it is called there and in manifests, where that is not the field's name.
        minimum: Smallest number allowed.
        scoring: It changes how records are counted, not what is asked: no part of a run's identity.
        identity: It is part of a run's identity (where a file is kept is not).
        command: The command line has it.
        folder: What stands before its value in a run's folder name; by default its name and a hyphen.
        repeated: On the command line it is given once a value, instead of with commas between.
    """

    help: str = ""
    name: str = ""
    minimum: float | None = None
    scoring: bool = False
    identity: bool = True
    command: bool = True
    folder: str | None = None
    repeated: bool = False


def option(default: Any, help: str = "", **how: Any) -> Any:  # noqa: A002 - as typer calls it
    """Declare a field of an exam as an option; see `Option` for what else can be said."""
    return field(default=default, metadata={_OPTION: Option(help, **how)})


def options_of(exam: type[Exam[Any]] | Exam[Any]) -> dict[str, Option]:
    """The options of an exam by field, each with the name it has outside Python."""
    return {
        f.name: dataclasses.replace(given, name=given.name or f.name)
        for f in dataclasses.fields(exam)  # type: ignore[arg-type]
        if (given := f.metadata.get(_OPTION, Option(command=False))) is not None
    }


@dataclass(frozen=True)
class Name:
    """One figure of an exam.

    Attributes:
        path: Its place in the JSON of scores: ``("f1", "contains")``.
        label: What tables call it.
        table: Title of the printed table it stands in; empty for none.
        family: Holm's family in comparisons; empty for a total that was asked about beforehand and keeps its
            p-value; None where it is not compared.
        compared: Its name in comparisons, where that is not the label.
        rank: Comparisons list lower ranks first.
        headline: Above 0 for a figure that may stand for the exam in a summary; of those that are defined the
            lowest number does.
        part: One of the parts whose lowest is named as the weakest point.
        percent: Tables and charts of the report give it in per cent.
    """

    path: tuple[str, ...]
    label: str
    table: str = ""
    family: str | None = None
    compared: str = ""
    rank: int = 0
    headline: int = 0
    part: bool = False
    percent: bool = False


@dataclass(frozen=True)
class Measures:
    """Figures that are counted over the same independent units.

    Attributes:
        units: C ids of the units, sorted.
        counts: ``(C, *K)`` what each unit adds to the totals.
        statistic: Maps totals ``(B, *K)`` to values (B, M), NaN where undefined.
        names: M.
        facts: What JSON tells beside them (numbers of scenes, of judgements), nested as the paths are.
        proportion: Values lie in [0, 1], and a unit's judgements are counted.
        bounds: What other values lie between; limits of intervals do too.
        detail: Only computed where details are asked for.
    """

    units: tuple[str, ...]
    counts: NDArray[Any]
    statistic: Statistic
    names: tuple[Name, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    proportion: bool = True
    bounds: tuple[float, float] = (-math.inf, math.inf)
    detail: bool = False


@dataclass(frozen=True)
class RankedMeasures:
    """Figures that are not counted but ranked over the same independent units: mean AP, median errors.

    Attributes:
        units: C ids of the units, sorted.
        groups: What each figure is the mean of, in the order of the names; see `stats.ranked_intervals`.
        names: M.
        facts: What JSON tells beside them.
        proportion: Values lie in [0, 1].
        bounds: What the values lie between; limits of intervals do too.
        detail: Only computed where details are asked for.
    """

    units: tuple[str, ...]
    groups: Groups
    names: tuple[Name, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    proportion: bool = True
    bounds: tuple[float, float] = (-math.inf, math.inf)
    detail: bool = False


@dataclass(frozen=True)
class Candidate:
    """A model and the words it was asked for by.

    Attributes:
        spec: What the user wrote, without the secrets of a web address.
        name: How tables call it.
        model: The object itself.
        fingerprint: Changes when the model's files, code or state do. Empty for a built-in model, which its spec
            tells; `run.UNKNOWN_MODEL` and a reason where nobody can tell.
        loadable: The spec loads it again, in another process too; an object that was given has only a name.
        called: The name the user gave it for this run; its folder is called so too.
        private: What loads it, where the spec has lost a secret; never written or shown.
    """

    spec: str
    name: str
    model: object
    fingerprint: str = ""
    loadable: bool = True
    called: str = ""
    private: str = field(default="", repr=False)

    @property
    def key(self) -> str:
        """What tells it from the others that take an exam, and names its folder."""
        return self.called or self.spec


@dataclass(frozen=True)
class Entrants:
    """Who takes an exam.

    Attributes:
        models: Models that were asked for: specs, or objects.
        baselines: Name in tables → spec.
        notes: What the user should know, such as baselines that cannot take part.
    """

    models: tuple[object, ...]
    baselines: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Exam(ABC, Generic[ItemT]):
    """One exam with its options fixed; derive a frozen dataclass from it.

    Class attributes: `name` on the command line and in manifests, `title` on the report card, `baselines` (name in
    tables → model spec) that take part in every run unless told otherwise, `blind` those of them that see all but
    the picture, `unit` what intervals are by, `unit_of_items` what an item is, `data_option` an option that may
    stand in place of ``--data``, `card` the module with what the exam shows on the report card, `shows_attention`
    whether that can be where a model looks, `columns` those of its records that are checked when a run is read,
    `judged_by` those that name a judgement among those of its item (empty: its place among them), `options_by` the
    one that decides which answers a question may have, where not all have the same.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    baselines: ClassVar[Mapping[str, str]] = {}
    unit: ClassVar[str] = "scene"
    unit_of_items: ClassVar[str] = "scene"
    data_option: ClassVar[str] = ""
    card: ClassVar[str] = ""
    shows_attention: ClassVar[bool] = False
    columns: ClassVar[Mapping[str, RecordColumn]] = {}
    judged_by: ClassVar[tuple[str, ...]] = ()
    options_by: ClassVar[str] = ""

    @property
    @abstractmethod
    def skills(self) -> tuple[tuple[str, ...], ...]:
        """Groups of skills; a model needs all the skills of one group."""

    @abstractmethod
    def items(self, data: Dataset) -> Sequence[ItemT]:
        """Make all items, in a fixed order; the runner keeps them. DataError where the data has none."""

    @abstractmethod
    def ask(self, model: Any, item: ItemT) -> ItemRecords:
        """Ask the model about one item; records have the columns truth, answer and right, and the exam's own."""

    @abstractmethod
    def measures(
        self, records: RunRecords, data: Callable[[], Dataset]
    ) -> Sequence[Measures] | Sequence[Measures | RankedMeasures]:
        """Count the records of a run.

        Args:
            records: What was recorded, all of it or of some items.
            data: Opens the dataset, for an exam that must look at it again.
        """

    # What follows has a default that serves most exams.

    def open(self, path: Path | None) -> Dataset:
        """Open the data to examine on."""
        from sightline.generation import open_any

        if path is None:
            raise ConfigError(f"the {self.name} exam needs a dataset: give --data")
        return open_any(path)

    def settled(self, data: Dataset) -> Self:
        """Fill in the options that the data decides where the user left them open; call this before anything else.

        Here: another word for a split becomes the data's own.
        """
        given = getattr(self, "split", None)
        named = split_named(given, data)
        return self if named == given else dataclasses.replace(self, split=named)  # type: ignore[type-var]

    def identity(self, data: Dataset) -> dict[str, Any]:  # noqa: ARG002 - a hook
        """All that changes items or records, as JSON values; kept in the manifest."""
        return {
            o.name: plain(getattr(self, name))
            for name, o in options_of(self).items()
            if o.identity and not o.scoring
        }

    def entrants(self, models: Sequence[object], data: Dataset, *, baselines: bool) -> Entrants:  # noqa: ARG002
        """Say who takes the exam: the models asked for, and the baselines if they are wanted."""
        return Entrants(tuple(models), self.baselines if baselines else {})

    def rivals(self, baselines: Mapping[str, str], models: Sequence[Any]) -> Mapping[str, str]:  # noqa: ARG002
        """Choose the baselines that can stand beside models, which are loaded: all of them."""
        return baselines

    def for_workers(self, folder: Path) -> Self:  # noqa: ARG002 - a hook
        """The same exam for several processes, which may share files in a folder."""
        return self

    def asked_of(self, model: Any, items: Sequence[ItemT]) -> Sequence[ItemT]:  # noqa: ARG002 - a hook
        """The items that a model is asked: all, or those of a kind that it can answer."""
        return items

    def limited(self, items: Sequence[ItemT], limit: int) -> Sequence[ItemT]:
        """The first so many items."""
        return items[:limit]

    def spec(self, model: Any, data: Dataset) -> object | None:  # noqa: ARG002 - a hook
        """What a model's ``check_<exam>`` or ``check`` is told of the questions to come; see `skills`."""
        return None

    def check(self, model: Any, data: Dataset) -> Mapping[str, Any]:
        """Refuse a model that cannot take the exam over this data; else facts for the run's manifest."""
        call_hook(model, "check", self.name, lambda: self.spec(model, data))
        return {}

    def study(self, model: Any, data: Dataset) -> object | None:  # noqa: ARG002 - a hook
        """What a model's ``prepare_<exam>`` or ``prepare`` may learn from; None for nothing. See `skills`."""
        return None

    def asker(self, model: Any, data: Dataset) -> Callable[[ItemT], ItemRecords]:  # noqa: ARG002 - a hook
        """Ask one model item after item; an exam that keeps something in between returns its own function."""
        return partial(self.ask, model)

    def comparable(self, a: RunRecords, b: RunRecords) -> tuple[RunRecords, RunRecords]:
        """Restrict two runs to what both were asked: by default the items both have."""
        common = set(a.items["item"]) & set(b.items["item"])
        return a.of(common), b.of(common)

    def compared_options(self) -> frozenset[str]:
        """Names of the options that must agree between two runs to be compared."""
        return frozenset({"split"})

    def across(self, results: Sequence[RunResult], *, resamples: int, seed: int) -> dict[str, Any]:  # noqa: ARG002
        """JSON facts that need all runs together, such as whether a baseline shows that the questions leak."""
        return {}

    def remarks(self, results: Sequence[RunResult], shared: Mapping[str, Any]) -> Iterable[str | Table]:  # noqa: ARG002
        """Lines and tables printed after the scores; `shared` is what `across` gave."""
        return ()

    def notes(self, result: RunResult) -> Iterable[str]:  # noqa: ARG002 - a hook
        """What the user should know of a run beside its figures, such as questions that were not asked."""
        return ()

    # Checks of single judgements, for every exam alike: see `exams.variants` and `exams.checks`.

    def unvaried(self, kind: str) -> str:  # noqa: ARG002 - a hook
        """Why the questions of this exam cannot be asked in that variation; empty where they can."""
        return ""

    def judgements(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The records that are judgements, with the columns truth, answer and right: those that can be right.

        A column ``confidence`` beside them is the probability that a model gave its answer; ``samples`` a list of
        the answers that it drew.
        """
        return rows.filter(pl.col("right").is_not_null()) if "right" in rows.columns else rows.clear()

    def scored_boxes(self, records: RunRecords) -> pl.DataFrame:  # noqa: ARG002 - a hook
        """Boxes that a model found itself: ``confidence`` (its score), ``right`` (an object's), ``cluster_id``."""
        return pl.DataFrame(schema={"confidence": pl.Float64, "right": pl.Boolean, "cluster_id": pl.String})

    def same_answers(self, before: pl.DataFrame, after: pl.DataFrame) -> NDArray[np.bool_]:
        """(n,) whether a judgement got the same answer in two runs; rows of `judgements`, lined up."""
        same: NDArray[np.bool_] = before["answer"].eq_missing(after["answer"]).to_numpy()
        return same

    def apart(self, options: Mapping[str, Any], facts: Mapping[str, Any]) -> Sequence[str]:  # noqa: ARG002 - a hook
        """Words that tell runs of one model apart, from a manifest's options and facts."""
        usual = {options_of(self)[f.name].name: plain(f.default) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        strange = {key: value for key, value in options.items() if key in usual and value != usual[key]}
        return [f"{key.replace('_', ' ')} {value}" for key, value in strange.items()]

    def standard(self, options: Mapping[str, Any]) -> bool:  # noqa: ARG002 - a hook
        """Whether a run with these options belongs in the main tables of the report."""
        return True

    # The report card. An exam may name a module, `card`, whose functions of these names are called instead.

    def reference_lines(self, card: CardContext, name: Name) -> Sequence[tuple[float, str]]:
        """Values to be marked in the chart of a figure, with words: what one human rater reaches, say."""
        return self._from_card("reference_lines", (), card, name)

    def words(self, name: Name) -> str:
        """How headings and sentences call a figure."""
        label = name.label.strip().replace("_", " ")
        total = name.table if label == "all" else f"{name.table}, {label}"
        return self._from_card("words", total if name.headline and name.table else label, name)

    def reached(self, result: RunResult) -> str:
        """What a run has reached, to follow its name in a sentence; empty for the usual words."""
        return self._from_card("reached", "", result)

    def details(self, card: CardContext, result: RunResult) -> Iterable[str] | None:
        """Sentences after the headline, on the best run: where it is weak, say; None for the usual one."""
        return self._from_card("details", None, card, result)

    def card_facts(self, card: CardContext) -> Iterable[tuple[str, str]]:
        """(name, value) in short: how much was asked, and how."""
        asked = card.focus.records.items.height
        return self._from_card("card_facts", ((f"{self.unit_of_items}s", f"{asked:,}"),), card)

    def scores(self, card: CardContext) -> Iterable[Figure | Table]:
        """Figures beside the charts of the totals; tables in place of those that are printed."""
        return self._from_card("scores", (), card)

    def cautions(self, card: CardContext) -> Iterable[str]:
        """What a reader must know before trusting the figures, beside what is said of every exam."""
        return self._from_card("cautions", (), card)

    def document(self, card: CardContext) -> dict[str, Any]:
        """JSON of the exam's own in the report, beside what every exam has."""
        return self._from_card("document", {}, card)

    def sections(self, card: CardContext) -> Iterable[Section]:
        """Tables and figures of the exam's own on the report card."""
        return self._from_card("sections", (), card)

    def examples(self, card: CardContext, result: RunResult) -> Iterable[Example]:
        """Single items of one run on show; `card.chosen` picks the worst, typical and perfect ones."""
        return self._from_card("examples", (), card, result)

    def examples_page(self, card: CardContext) -> Mapping[str, Any]:
        """What the page says about examples: fields of `show.page.ExamPart` (``examples_…``, kinds, style)."""
        return self._from_card("examples_page", {}, card)

    def _from_card(self, name: str, default: T, *arguments: object) -> T:
        """What a function of the exam's card module gives; the default where there is none."""
        function = getattr(import_module(self.card), name, None) if self.card else None
        value: T = default if function is None else function(*arguments)
        return value


def exam_of(kind: type[Exam[Any]], options: Mapping[str, Any], file: str) -> Exam[Any]:
    """The exam that a manifest's options describe; what is no option of it (a fingerprint, say) is left out.

    Args:
        kind: The exam's class.
        options: By the names they have outside Python.
        file: Where they come from; a DataError says it of a value that does not fit its field.
    """
    given = Value(options, file, "identity.options")
    try:
        hints = get_type_hints(kind)
    except NameError:  # an exam of another package, with types that only its type checker knows
        hints = {}
    return kind(
        **{
            name: given[known.name].read(hints.get(name, Any))
            for name, known in options_of(kind).items()
            if known.name in options
        }
    )


def given_options(exam: Exam[Any]) -> dict[str, Any]:
    """Options that differ from their defaults, by the name they have outside Python."""
    known = options_of(exam)
    return {
        known[f.name].name: value
        for f in dataclasses.fields(exam)  # type: ignore[arg-type]
        if (value := getattr(exam, f.name)) != f.default
    }


def run_name(exam: Exam[Any], spec: str, data: Dataset) -> str:
    """Folder name of a model's run, telling apart what must not be mixed.

    Options that are fields stand there by name; where the identity says more than those, a hash of it.
    """
    identity, known = exam.identity(data), {o.name: o for o in options_of(exam).values()}
    given = {o.name: plain(getattr(exam, name)) for name, o in options_of(exam).items()}
    parts = [file_name(spec) or "model"]
    if any(key not in known or plain(value) != given[key] for key, value in identity.items()):
        text = dumps(plain(identity), sort_keys=True)
        return f"{parts[0]}@{blake2b(text.encode(), digest_size=4).hexdigest()}"
    for key, value in given_options(exam).items():
        if key in identity and value not in ("", None):
            before = known[key].folder
            if value is True:
                parts.append(file_name(key))
                continue
            said = "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
            parts.append(file_name(f"{f'{key}-' if before is None else before}{said}"))
    return "@".join(parts)


def check_split(split: str | None, data: Dataset, *, none: bool = True) -> None:
    """DataError for a split that the data does not have; None stands for all scenes where `none` allows it."""
    if (split is None and none) or split in (data.splits or ("",)):
        return
    expected = " or ".join(data.splits) or "none, the data has no splits"
    beginning = [name for name in data.splits if split and name.startswith(split)]
    near = f", did you mean {beginning[0]!r}?" if beginning else did_you_mean(split or "", data.splits)
    raise DataError(f"no such split{near}", file=data.path, field="split", expected=expected, found=split)


def split_named(given: str | None, data: Dataset) -> str | None:
    """The data's own word for a split: ``val`` is ``validation`` where that is what the data has."""
    if not given or given in data.splits:
        return given
    ours = SPLIT_WORDS.get(given.lower())
    alike = [name for name in data.splits if ours and SPLIT_WORDS.get(name.lower()) == ours]
    return alike[0] if len(alike) == 1 else given


def training_split(exam: Exam[Any], data: Dataset) -> str | None:
    """The split to learn from, by an exam's options `train_split` and `split`; None where there is none.

    Left open (None) it is the data's training split, unless that is examined. ConfigError for one it does not have.
    """
    split: str | None = getattr(exam, "train_split", None)
    test = split_named(getattr(exam, "split", None), data)
    if split is None:
        usual = [name for name in data.splits if SPLIT_WORDS.get(name.lower()) == SPLIT_WORDS["train"]]
        return usual[0] if usual and test not in (None, usual[0]) else None
    named = split_named(split, data)
    if split and (named not in data.splits or named == test):
        others = [name for name in data.splits if name != test]
        raise ConfigError(f"no training split {split!r}: there is {' or '.join(others) or 'none'}")
    return named or None


def unknown_exam(name: str, known: Sequence[str]) -> ConfigError:
    """What to say of an exam that nobody knows."""
    return ConfigError(f"there is no exam {name!r}{hint(name, known)}")
