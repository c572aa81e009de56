"""Mapping over tasks, inline and in processes; workers are killed for real."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from sightline.engine import Task, WorkerError, run
from sightline.errors import ConfigError, DataError


def square(n: int) -> int:
    return n * n


def slow_first(n: int) -> tuple[int, int]:
    time.sleep(0.3 if n == 0 else 0.0)
    return n, os.getpid()


def fail_on_three(n: int) -> int:
    if n == 3:
        raise DataError("shard is damaged", file="x.parquet", row=3)
    return n


class PickyError(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def fail_picky(n: int) -> int:
    raise PickyError(n, n)


def give_lambda(n: int) -> object:
    return lambda: n


def die_until_tried(payload: tuple[str, int, int]) -> int:
    """Kill this very process on the first `deaths` tries; each try leaves a file."""
    folder, n, deaths = payload
    tries = len(list(Path(folder).glob(f"{n}-*")))
    (Path(folder) / f"{n}-{tries}").touch()
    if tries < deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def wait_for_killer(payload: tuple[str, int]) -> int:
    """Tell the own process id and wait to be killed; on the second try just finish."""
    folder, n = payload
    mark = Path(folder) / f"pid-{n}"
    if not mark.exists():
        mark.with_suffix(".tmp").write_text(str(os.getpid()))
        mark.with_suffix(".tmp").rename(mark)
        time.sleep(60)
    return n


def fail_while_other_works(payload: tuple[str, int]) -> int:
    folder, n = payload
    if n == 0:
        return wait_for_killer(payload)
    while not (Path(folder) / "pid-0").exists():
        time.sleep(0.01)
    raise ValueError("the slow one has begun")


def exit_three(n: int) -> int:
    sys.exit(n)


def numbered(n: int) -> list[Task[int]]:
    return [Task(f"t{i}", i) for i in range(n)]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_results_come_in_task_order(workers: int) -> None:
    assert run(numbered(7), square, workers=workers) == [0, 1, 4, 9, 16, 25, 36]


def test_no_tasks_no_processes() -> None:
    assert run([], square, workers=2) == []


def test_work_happens_in_other_processes_and_order_survives_a_slow_one() -> None:
    seen: list[str] = []
    results = run(numbered(4), slow_first, workers=2, on_done=lambda task, _: seen.append(task.name))
    assert [n for n, _ in results] == [0, 1, 2, 3]
    assert os.getpid() not in {pid for _, pid in results}
    assert sorted(seen) == ["t0", "t1", "t2", "t3"]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_exception_comes_back_whole(workers: int) -> None:
    done: list[int] = []
    with pytest.raises(DataError, match=r"x\.parquet, row 3: shard is damaged") as caught:
        run(numbered(5), fail_on_three, workers=workers, on_done=lambda _, result: done.append(result))
    assert caught.value.row == 3
    assert "in task t3" in caught.value.__notes__
    assert 3 not in done


def test_an_exception_that_cannot_travel_is_told_in_words() -> None:
    with pytest.raises(WorkerError, match="PickyError: 0 and 0"):
        run(numbered(1), fail_picky, workers=1)


def test_a_result_that_cannot_travel_is_an_error() -> None:
    with pytest.raises(Exception, match="lambda") as caught:
        run(numbered(1), give_lambda, workers=1)
    assert "in task t0" in caught.value.__notes__


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_worker_is_replaced(tmp_path: Path, workers: int) -> None:
    tasks = [Task(f"t{n}", (str(tmp_path), n, 1 if n == 1 else 0)) for n in range(4)]
    assert run(tasks, die_until_tried, workers=workers) == [0, 1, 2, 3]
    assert len(list(tmp_path.glob("1-*"))) == 2


def test_a_worker_killed_from_outside_is_replaced(tmp_path: Path) -> None:
    tasks = [Task(f"t{n}", (str(tmp_path), n)) for n in range(2)]
    killed: list[int] = []

    def killer() -> None:
        for n in range(2):
            mark = tmp_path / f"pid-{n}"
            while not mark.exists():
                time.sleep(0.01)
            os.kill(int(mark.read_text()), signal.SIGKILL)
            killed.append(n)

    thread = threading.Thread(target=killer)
    thread.start()
    assert run(tasks, wait_for_killer, workers=2) == [0, 1]
    thread.join()
    assert killed == [0, 1]


def test_a_task_that_always_kills_is_named(tmp_path: Path) -> None:
    tasks = [Task("good", (str(tmp_path), 0, 0)), Task("shard 00001", (str(tmp_path), 1, 99))]
    with pytest.raises(WorkerError, match=r"shard 00001: its worker died 2 times \(last exit code -9\)"):
        run(tasks, die_until_tried, workers=1, retries=1)
    assert len(list(tmp_path.glob("1-*"))) == 2


def test_a_worker_that_exits_counts_as_dead() -> None:
    with pytest.raises(WorkerError, match="exit code 3"):
        run([Task("t", 3)], exit_three, workers=1, retries=0)


def test_an_error_leaves_no_process_behind(tmp_path: Path) -> None:
    tasks = [Task("slow", (str(tmp_path), 0)), Task("bad", (str(tmp_path), 1))]
    with pytest.raises(ValueError, match="the slow one has begun"):
        run(tasks, fail_while_other_works, workers=2)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid-0").read_text()), 0)


@pytest.mark.parametrize(
    ("work", "workers", "retries"),
    [
        (lambda n: n, 1, 0),  # work that does not pickle
        (square, -1, 0),  # a negative number of workers
        (square, 1, -1),  # a negative number of retries
    ],
)
def test_bad_settings(work: object, workers: int, retries: int) -> None:
    with pytest.raises(ConfigError):
        run(numbered(2), work, workers=workers, retries=retries)  # type: ignore[arg-type]
