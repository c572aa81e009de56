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
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import polars as pl

from sightline.errors import ConfigError, DataError
from sightline.exams.run_schema import RecordColumn, parse_records, read_manifest
from sightline.files import atomic_write, differences, open_locked, read_bytes

MANIFEST: Final = "manifest.json"
RECORDS: Final = "records.jsonl"
METRICS: Final = "metrics.json"
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
        """Name of the first field in which a stored identity differs, or None."""
        return next((key for key, *_ in differences(asdict(self), dict(other), depth=1)), None)


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
    """

    rows: pl.DataFrame
    items: pl.DataFrame

    def of(self, items: Collection[str]) -> RunRecords:
        """The records of some items."""
        wanted = pl.col("item").is_in(list(items))
        return RunRecords(self.rows.filter(wanted), self.items.filter(wanted))


@dataclass
class Run:
    """One model on one exam over one dataset.

    Attributes:
        folder: Where it lives.
        manifest: What is known about it, as written on disk.
        done: Ids of the items whose records are on disk.
        asked: Ids of those that were asked for; None for all there are.
    """

    folder: Path
    manifest: dict[str, Any]
    done: set[str] = field(default_factory=set)
    asked: frozenset[str] | None = None
    broken: dict[str, str] = field(default_factory=dict)
    """Items left out because a picture cannot be read: id → what is wrong with it."""
    _descriptor: int = -1
    _synced: float = 0.0

    @classmethod
    def start(cls, folder: Path, identity: RunIdentity, *, data_path: Path | None = None) -> Run:
        """Create a run, or resume the one in the folder if it is the same one."""
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = open_locked(
            folder / RECORDS, busy=f"{folder}: another process is writing this run", flags=_APPENDING
        )
        try:
            known = (folder / MANIFEST).exists()
            if not known and (folder / RECORDS).stat().st_size:
                raise DataError("records without a manifest: nobody knows whose they are", file=folder / RECORDS)
            run = cls.open(folder) if known else cls(folder, _new_manifest(identity, data_path))
            conflict = identity.conflict(run.manifest["identity"])
            if conflict:
                stored = run.manifest["identity"].get(conflict)
                raise ConfigError(
                    f"{folder} holds another run: its {conflict} is {stored!r}, "
                    f"now it is {asdict(identity)[conflict]!r}; choose another folder or remove it"
                )
            run._descriptor, run.done = descriptor, run._recover()
            run.broken = dict(run.manifest.get("broken", {}))
            run.manifest = {k: v for k, v in run.manifest.items() if k not in ("error", "ended")}
            run.manifest["status"] = "running"
            run._save()
        except BaseException:
            os.close(descriptor)
            raise
        return run

    @classmethod
    def open(cls, folder: Path) -> Run:
        """A run for reading; DataError where the folder holds none or a broken one."""
        path = folder / MANIFEST
        manifest = read_manifest(path, RunIdentity)
        return cls(folder, manifest, broken=dict(manifest.get("broken") or {}))

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
            return RunRecords(none, none)
        records = RunRecords(*parse_records(lines, path, columns or {}))
        return records if items is None else records.of(items)

    def write_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Keep what was last computed from the records beside them."""
        atomic_write(self.folder / METRICS, _json(metrics))

    def close(self, *, finished: bool) -> None:
        """Mark the end: ``finished``, or ``stopped`` when items are left by choice."""
        self.manifest |= {
            "status": "finished" if finished else "stopped",
            "ended": _now(),
            "items_done": len(self.done),
        }
        os.fsync(self._descriptor)
        self._save()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            stopped = isinstance(error, KeyboardInterrupt)
            self.manifest |= {"status": "stopped" if stopped else "failed", "ended": _now()}
            self.manifest |= {"error": f"{type(error).__name__}: {error}", "items_done": len(self.done)}
            self._save()
        os.close(self._descriptor)
        self._descriptor = -1

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
            raise ConfigError(f"runs cannot be compared: {key} is {of_a!r} in one and {of_b!r} in the other")


def _whole_lines(path: Path) -> bytes:
    """The file up to and with its last newline; a line cut short by a kill is not read."""
    data = read_bytes(path) if path.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def _new_manifest(identity: RunIdentity, data_path: Path | None) -> dict[str, Any]:
    return {
        "status": "running",
        "identity": asdict(identity),
        "data": str(data_path) if data_path else None,
        "started": _now(),
        "versions": {
            "sightline": version("sightline"),
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "polars": version("polars"),
        },
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
