"""Map an idempotent function over shards: here and now, or in a pool of processes that survives a killed worker."""

from sightline.engine.processes import Task, WorkerError, run

__all__ = ["Task", "WorkerError", "run"]
