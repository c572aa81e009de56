"""A run on disk: ``manifest.json``, append-only ``records.jsonl``, ``metrics.json``.

The manifest says ``running`` from the first second. Every finished item is one line of ``records.jsonl``, written
in one system call, so a process killed at any point loses at most the item in flight; opening the run again cuts
off a torn last line and goes on. Scores are never kept in memory: they are computed from the records on disk.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import polars as pl

from sightline import __version__
from sightline.errors import ConfigError, DataError, shown
from sightline.exams.run_schema import RecordColumn, parse_records, read_manifest
from sightline.files import atomic_write, differences, open_locked, read_bytes
from sightline.text import counted

MANIFEST: Final = "manifest.json"
RECORDS: Final = "records.jsonl"
METRICS: Final = "metrics.json"
VARIATION: Final = "variation"
"""Option of a run whose questions were changed; such runs lie in the folder `VARIATIONS` of the run they vary."""
VARIATIONS: Final = "variations"
UNKNOWN_MODEL: Final = "unknown"
"""Begins the fingerprint of a model of which nobody can tell whether it has changed; the reason follows."""

_SYNC_SECONDS: Final = 2.0
_APPENDING: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


@dataclass(frozen=True)
class RunIdentity:
    """What makes two runs the same run: only then may one resume the other."""

    exam: str
    options: Mapping[str, Any]
    model: str
    model_name: str
    model_fingerprint: str
    data_fingerprint: str

    def conflict(self, other: Mapping[str, Any]) -> str | None:
        """Name of the first field in which a stored identity differs, the model's fingerprint last, or None.

        A model of which nobody can tell whether it has changed differs from itself.
        """
        names = [key for key, *_ in differences(asdict(self), dict(other), depth=1)]
        if self.model_fingerprint.startswith(UNKNOWN_MODEL):
            names.append("model_fingerprint")
        return min(names, key=lambda name: name == "model_fingerprint", default=None)


@dataclass(frozen=True)
class ItemRecords:
    """The records of one item.

    Attributes:
        shared: What all of them have in common.
        columns: What tells them apart, column by column, all of one length.
    """

    shared: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class RunRecords:
    """What a run recorded.

    Attributes:
        rows: A row a judgement, with item, scene_id, cluster_id and what all records of the item share.
        items: A row an item, also of those without a single judgement: item, scene_id, cluster_id and what its
            records share.
        file: Where they were read from.
    """

    rows: pl.DataFrame
    items: pl.DataFrame
    file: Path | None = None

    def of(self, items: Collection[str]) -> RunRecords:
        """The records of some items."""
        wanted = pl.col("item").is_in(list(items))
        return RunRecords(self.rows.filter(wanted), self.items.filter(wanted), self.file)


@dataclass(frozen=True)
class Asking:
    """What one call asked a model.

    Attributes:
        items: Ids of the items that were wanted; None for all there are.
        asked: How many of them were asked now and answered.
        kept: How many had been answered before.
        kept_from: When the latest of those was, ISO 8601 in UTC; None where there was none.
        earlier: How many of those an earlier state of the model answered, and were kept on demand.
    """

    items: frozenset[str] | None
    asked: int
    kept: int
    kept_from: str | None
    earlier: int = 0

    def joined(self, before: Asking) -> Asking:
        """What this call and one right before it asked together; what that one answered was not there already."""
        kept = self.kept - before.asked
        kept_from = self.kept_from if kept else None
        return replace(self, asked=self.asked + before.asked, kept=kept, kept_from=kept_from)

    def words(self, unit: str) -> str:
        """How many items were asked and how many were there already, and from when.

        >>> Asking(None, 3, 0, None).words("scene")
        '3 scenes asked'
        """
        there = f", {self.kept:,} there already from {local_time(self.kept_from)}" if self.kept else ""
        before = f", {self.earlier:,} of these by an earlier state of the model" if self.earlier else ""
        return f"{counted(self.asked, unit)} asked{there}{before}"


@dataclass
class Run:
    """One model on one exam over one dataset.

    Attributes:
        folder: Where it lives.
        manifest: What is known about it, as written on disk.
        done: Ids of the items whose records are on disk.
        kept_from: When the latest answer was recorded that was there at the start, ISO 8601 in UTC.
        asking: What this call asked the model; None for a run that was only read.
    """

    folder: Path
    manifest: dict[str, Any]
    done: set[str] = field(default_factory=set)
    kept_from: str | None = None
    asking: Asking | None = None
    broken: dict[str, str] = field(default_factory=dict)
    """Items left out because a picture cannot be read: id → what is wrong with it."""
    _answered: bool = False
    _descriptor: int = -1
    _synced: float = 0.0

    @classmethod
    def start(
        cls,
        folder: Path,
        identity: RunIdentity,
        *,
        data_path: Path | None = None,
        resume: bool = False,
        overwrite: bool = False,
    ) -> Run:
        """Create a run, or resume the one in the folder if it is the same one.

        Args:
            folder: Where it lives.
            identity: What the run is of; ConfigError where the folder holds answers of another.
            data_path: The dataset.
            resume: Go on with the answers of a model that has changed, or of which that cannot be told.
            overwrite: Throw away what the folder holds.
        """
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = open_locked(
            folder / RECORDS, busy=f"{folder}: another process is writing this run", flags=_APPENDING
        )
        try:
            if overwrite:
                os.truncate(folder / RECORDS, 0)
                (folder / METRICS).unlink(missing_ok=True)
            known = (folder / MANIFEST).exists()
            if not known and (folder / RECORDS).stat().st_size:
                raise DataError("records without a manifest: nobody knows whose they are", file=folder / RECORDS)
            run = cls.open(folder) if known and not overwrite else cls(folder, _new_manifest(identity, data_path))
            written = None if run.status == "running" else run.manifest.get("answered")  # it may have been killed
            run.kept_from = written or _when(os.fstat(descriptor).st_mtime)
            run._descriptor, run.done = descriptor, run._recover()
            if run.done:
                run._take_up(identity, resume=resume)
                run.manifest["answered"] = run.kept_from
            else:  # nothing was answered: nobody's answers are mixed
                run.manifest = _new_manifest(identity, data_path)
            run.broken = dict(run.manifest.get("broken", {}))
            run.manifest = {k: v for k, v in run.manifest.items() if k not in ("error", "ended")}
            run.manifest |= {"status": "running"} | _data_paths(data_path)
            run._save()
        except BaseException:
            os.close(descriptor)
            raise
        return run

    def _take_up(self, identity: RunIdentity, *, resume: bool) -> None:
        """Go on with the answers on disk if they are this model's; ConfigError where they are not."""
        stored = self.manifest["identity"]
        conflict = identity.conflict(stored)
        if conflict is None:
            return
        if conflict != "model_fingerprint":
            raise ConfigError(
                f"{self.folder} holds another run: its {conflict} is {stored.get(conflict)!r}, now it is "
                f"{asdict(identity)[conflict]!r}; choose another folder, or --overwrite it"
            )
        if not resume:
            unknown = identity.model_fingerprint.startswith(UNKNOWN_MODEL)
            reason = identity.model_fingerprint.removeprefix(UNKNOWN_MODEL).lstrip(": ")
            why = f"it cannot be told whether it is still the same: {reason}" if unknown else "it has changed since"
            raise ConfigError(
                f"{self.folder} holds answers of {identity.model_name} from {local_time(self.kept_from)}, and "
                f"{why} (model_fingerprint). --overwrite asks everything again, --resume goes on with those "
                "answers; in Python overwrite=True, resume=True"
            )
        earlier = {"at": _now(), "items": len(self.done), "model_fingerprint": stored["model_fingerprint"]}
        self.manifest["resumed"] = [*self.manifest.get("resumed", []), earlier]
        self.manifest["identity"] = asdict(identity)

    @classmethod
    def open(cls, folder: Path) -> Run:
        """A run for reading; DataError where the folder holds none or a broken one."""
        path = folder / MANIFEST
        manifest = read_manifest(path, RunIdentity)
        return cls(folder, manifest, broken=dict(manifest.get("broken") or {}))

    @property
    def asked(self) -> frozenset[str] | None:
        """Ids of the items that this call wanted; None for all there are."""
        return None if self.asking is None else self.asking.items

    @property
    def name(self) -> str:
        """How tables call the model."""
        return str(self.manifest["identity"]["model_name"])

    @property
    def exam(self) -> str:
        """Name of the exam."""
        return str(self.manifest["identity"]["exam"])

    @property
    def spec(self) -> str:
        """What the user asked for."""
        return str(self.manifest["identity"]["model"])

    @property
    def status(self) -> str:
        """``running`` (or killed while running), ``stopped`` (a limit was set), ``finished`` or ``failed``."""
        return str(self.manifest["status"])

    @property
    def limited(self) -> bool:
        """Whether it was stopped by a limit alone: all it was asked for is answered."""
        return self.status == "stopped" and "error" not in self.manifest

    @property
    def answered_earlier(self) -> int:
        """How many items were answered by earlier states of the model, before it was last resumed."""
        counts = [entry.get("items") for entry in self.manifest.get("resumed", ())]
        return max((n for n in counts if isinstance(n, int)), default=0)

    @property
    def when(self) -> str | None:
        """When the latest answer was recorded, or else when it began, ISO 8601."""
        return self.manifest.get("answered") or self.manifest.get("ended") or self.manifest.get("started")

    @property
    def data(self) -> Path | None:
        """The dataset: where it was, or else by the path it was named by, from here; None for none."""
        named, absolute = self.manifest.get("data"), self.manifest.get("data_absolute")
        places = [Path(place) for place in (absolute, named) if place]
        return next((place for place in places if place.exists()), Path(named) if named else None)

    @property
    def options(self) -> dict[str, Any]:
        """The exam's options."""
        return dict(self.manifest["identity"]["options"])

    def note(self, **facts: Any) -> None:
        """Note facts in the manifest: how many items there are, what the model tells of itself, seeds."""
        self.manifest |= facts
        self._save()

    def append(self, item_id: str, scene_id: str, cluster_id: str, marks: ItemRecords) -> None:
        """Write one item's records: one line, one system call."""
        line = {"item": item_id, "scene_id": scene_id, "cluster_id": cluster_id, **marks.shared}
        line["records"] = dict(marks.columns)
        data = (json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            error.filename = str(self.folder / RECORDS)
            raise
        self.done.add(item_id)
        self._answered = True
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            os.fsync(self._descriptor)
            self._synced = time.monotonic()

    def note_broken(self, item_id: str, problem: str) -> None:
        """Note an item that was left out because a picture of it cannot be read."""
        self.broken[item_id] = problem
        self.note(broken=self.broken)

    def records(self, items: Collection[str] | None = None) -> pl.DataFrame:
        """Records on disk, all or of some items; a row a judgement with item, scene_id, cluster_id, as written."""
        return self.read(items).rows

    def read(
        self, items: Collection[str] | None = None, columns: Mapping[str, RecordColumn] | None = None
    ) -> RunRecords:
        """Records on disk, all or of some items; DataError where they are damaged, or lack one of the columns."""
        path = self.folder / RECORDS
        lines = _whole_lines(path)
        if not lines:
            none = pl.DataFrame(schema={"item": pl.String, "scene_id": pl.String, "cluster_id": pl.String})
            return RunRecords(none, none, path)
        records = RunRecords(*parse_records(lines, path, columns or {}), path)
        return records if items is None else records.of(items)

    def write_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Keep what was last computed from the records beside them."""
        atomic_write(self.folder / METRICS, _json(metrics))

    def close(self, *, finished: bool) -> None:
        """Mark the end: ``finished``, or ``stopped`` when items are left by choice."""
        self._end("finished" if finished else "stopped")
        os.fsync(self._descriptor)
        self._save()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            stopped = isinstance(error, KeyboardInterrupt)
            self._end("stopped" if stopped else "failed")
            self.manifest["error"] = f"{type(error).__name__}: {error}"
            self._save()
        os.close(self._descriptor)
        self._descriptor = -1

    def _end(self, status: str) -> None:
        self.manifest |= {"status": status, "ended": _now(), "items_done": len(self.done)}
        self.manifest |= {"answered": _now()} if self._answered else {}

    def _recover(self) -> set[str]:
        """Cut off a torn last line; the ids of all items written whole."""
        path = self.folder / RECORDS
        whole = _whole_lines(path)
        if len(whole) < path.stat().st_size:
            os.truncate(path, len(whole))
        return set(parse_records(whole, path, {})[1]["item"]) if whole else set()

    def _save(self) -> None:
        atomic_write(self.folder / MANIFEST, _json(self.manifest))


def require_alike(a: Run, b: Run, options: Iterable[str]) -> None:
    """ConfigError unless two runs are of one exam over the same data, with these options the same."""
    pairs = [
        (key, a.manifest["identity"][key], b.manifest["identity"][key]) for key in ("exam", "data_fingerprint")
    ]
    pairs += [(key, a.options.get(key), b.options.get(key)) for key in sorted(options)]
    for key, of_a, of_b in pairs:
        if of_a != of_b:
            over = f", over {a.data} and {b.data}" if key == "data_fingerprint" else ""
            said = f"{key} is {shown(of_a)} in one and {shown(of_b)} in the other"
            raise ConfigError(f"runs cannot be compared: {said} ({a.folder} and {b.folder}{over})")


def tell_apart(a: Run, b: Run) -> dict[str, tuple[Any, Any]]:
    """What differs between two runs: model, its fingerprint, options, data, when; name → what each has."""
    identities = [run.manifest["identity"] for run in (a, b)]
    rows = {key: tuple(identity[key] for identity in identities) for key in ("model", "model_fingerprint")}
    rows |= {f"option {key}": (a.options.get(key), b.options.get(key)) for key in sorted({*a.options, *b.options})}
    rows |= {"data": (str(a.data), str(b.data)), "when": (a.when, b.when), "run": (str(a.folder), str(b.folder))}
    return {key: (pair[0], pair[1]) for key, pair in rows.items() if pair[0] != pair[1]}


def _whole_lines(path: Path) -> bytes:
    """The file up to and with its last newline; a line cut short by a kill is not read."""
    data = read_bytes(path) if path.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def _new_manifest(identity: RunIdentity, data_path: Path | None) -> dict[str, Any]:
    return {
        "status": "running",
        "identity": asdict(identity),
        **_data_paths(data_path),
        "started": _now(),
        "versions": {
            "sightline": __version__,
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "polars": version("polars"),
        },
    }


def _data_paths(path: Path | None) -> dict[str, str | None]:
    """The dataset as it was named, and from wherever it is looked for."""
    return {"data": str(path) if path else None, "data_absolute": str(path.absolute()) if path else None}


def local_time(when: str | None) -> str:
    """A time of a manifest (ISO 8601) as people here write it, to the minute.

    >>> local_time("2026-03-01T12:30:05+00:00")[:8], local_time(None)
    ('2026-03-', 'an unknown time')
    """
    try:
        return datetime.fromisoformat(when or "").astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return "an unknown time"


def _now() -> str:
    return _when(time.time())


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
