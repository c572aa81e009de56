"""``--track`` and ``sightline track``: TensorBoard reads every figure; wandb and MLflow get their calls.

The stand-ins for wandb and MLflow take only the calls that those packages have; both were also run once for real.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from sightline.exams.relations.simulation import simulated_tables
from sightline.store import write

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "labels"
    write(simulated_tables(images=12, seed=3), folder)
    return folder


def figures(document: dict[str, Any], *path: str) -> dict[str, float]:
    """Every value with an interval in a document of scores, by its path."""
    if {"value", "low", "high"} <= set(document):
        name = "/".join(path)
        ends = {name: document["value"], f"{name}/low": document["low"], f"{name}/high": document["high"]}
        return {key: value for key, value in ends.items() if value is not None}
    inner = [figures(value, *path, key) for key, value in document.items() if isinstance(value, dict)]
    return {key: value for part in inner for key, value in part.items()}


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    events.Reload()
    found = {}
    for tag in events.Tags()["tensors"]:
        if tag != "run":
            found[tag] = [(e.step, float(e.tensor_proto.float_val[0])) for e in events.Tensors(tag)]
    return found


def test_tensorboard_reads_every_figure_of_an_exam(cli: Cli, tmp_path: Path, data: Path) -> None:
    logs = f"tensorboard:{tmp_path / 'logs'}"
    done = cli("exam", "relations", "--data", data, "--out", tmp_path / "runs", "--track", logs, "--json")
    assert done.code == 0, done.err
    assert f"sent to {logs}" in done.err
    for entry in [*done.json["models"], *done.json["baselines"].values()]:
        expected = figures(entry["scores"], "relations")
        folder = tmp_path / "logs" / "relations" / Path(entry["run"]).name.replace("@", "-")
        found = scalars(folder)
        assert len(expected) > 10
        # a baseline's scores in the document have fewer details than the first model's
        assert set(expected) <= set(found)
        for name, value in expected.items():
            assert found[name] == [(0, pytest.approx(value, rel=1e-6))]
    done = cli("track", tmp_path / "runs", "--to", logs, "--step", 7, "--json")
    assert (done.code, done.json["step"]) == (0, 7)
    again = scalars(folder)
    assert {step for values in again.values() for step, _ in values} == {0, 7}
    assert all(math.isfinite(value) for values in again.values() for _, value in values)


class FakeWandb(ModuleType):
    """The calls that are used: init with these keywords, log with a step, finish."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.sent: list[dict[str, Any]] = []

    def init(self, *, project: str, name: str, group: str, resume: str, reinit: bool, **more: Any) -> Any:
        assert (resume, reinit) == ("allow", True)
        assert set(more) <= {"id", "entity", "config"}
        entry = {"project": project, "name": name, "finished": False, **more}
        self.sent.append(entry)
        return SimpleNamespace(
            log=lambda values, step: entry.update(values=values, step=step),
            finish=lambda: entry.update(finished=True),
        )


class FakeMlflow(ModuleType):
    """A client that keeps experiments, runs, parameters and metrics as MLflow's own does."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.uris: list[str] = []

    def MlflowClient(self, tracking_uri: str) -> FakeMlflow:  # noqa: N802 - the package's own name
        self.uris.append(tracking_uri)
        return self

    def get_experiment_by_name(self, name: str) -> Any:
        return SimpleNamespace(experiment_id=self.experiments[name]) if name in self.experiments else None

    def create_experiment(self, name: str) -> str:
        assert name not in self.experiments
        self.experiments[name] = "1"
        return "1"

    def search_runs(self, experiments: list[str], condition: str, max_results: int) -> list[Any]:
        wanted = condition.split("'")[1]
        found = [number for number, run in self.runs.items() if run["tags"]["sightline_key"] == wanted]
        return [SimpleNamespace(info=SimpleNamespace(run_id=number)) for number in found[:max_results]]

    def create_run(self, experiment: str, run_name: str, tags: dict[str, str]) -> Any:
        number = str(len(self.runs))
        self.runs[number] = {"name": run_name, "tags": tags, "params": {}, "metrics": {}, "ended": False}
        return SimpleNamespace(info=SimpleNamespace(run_id=number))

    def log_param(self, number: str, name: str, value: str) -> None:
        assert name not in self.runs[number]["params"], "MLflow refuses to change a parameter"
        self.runs[number]["params"][name] = value

    def log_metric(self, number: str, name: str, value: float, step: int) -> None:
        assert all(c.isalnum() or c in "_-./" for c in name)
        self.runs[number]["metrics"].setdefault(name, []).append((step, value))

    def set_terminated(self, number: str) -> None:
        self.runs[number]["ended"] = True


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sightline.api import examine

    folder = tmp_path_factory.mktemp("runs")
    examine("bottom_edge", data, "relations", out=folder, baselines=False)
    return folder


def test_wandb_gets_a_run_with_figures_and_options(cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    for step in (1, 2):
        assert cli("track", runs, "--to", "wandb:team/depth", "--step", step).code == 0
    first, second = fake.sent
    assert (first["project"], first["entity"], first["finished"], first["step"]) == ("depth", "team", True, 1)
    assert (first["id"], first["values"]) == (second["id"], second["values"])
    assert (first["config"]["exam"], first["config"]["model"]) == ("relations", "bottom_edge")
    metrics = json.loads(next(runs.rglob("metrics.json")).read_text())
    assert set(figures(metrics, "relations")) <= set(first["values"])
    assert str(runs) not in json.dumps(fake.sent)  # no path of this machine


def test_mlflow_gets_one_run_however_often(cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeMlflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    uri = "https://me:secret@host/mlflow"
    for step in (0, 5):
        done = cli("track", runs, "--to", f"mlflow:{uri}", "--step", step)
        assert done.code == 0, done.err
        assert "secret" not in done.out + done.err
    assert fake.uris == [uri, uri]
    (run,) = fake.runs.values()
    assert (run["name"].split("@")[0], run["ended"], run["params"]["model"]) == (
        "relations/bottom_edge",
        True,
        "bottom_edge",
    )
    assert all([step for step, _ in values] == [0, 5] for values in run["metrics"].values())


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("wandb:depth", r'wandb: pip install "sightline-exams\[wandb\]"'),
        ("mlflow:x", r'mlflow: pip install "sightline-exams\[mlflow\]"'),
        ("tensorboard:x", r'tensorboard: pip install "sightline-exams\[tensorboard\]"'),
        ("wandb:", "wandb needs a place: wandb:PROJECT"),
        ("mlflw:x", "unknown tracker 'mlflw', did you mean 'mlflow'"),
    ],
)
def test_what_is_missing_is_said_before_anybody_is_asked(
    cli: Cli, tmp_path: Path, data: Path, place: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("sightline.exams.trackers.import_module", without)
    for words in (("exam", "relations"), ("exam", "all", "--model", "bottom_edge")):
        done = cli(*words, "--data", data, "--out", tmp_path / "runs", "--track", place)
        assert done.code == 2
        assert re.search(message, done.err), done.err
    assert not (tmp_path / "runs").exists()
