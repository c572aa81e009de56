"""Scenes as four data frames: the form importers produce, the store writes and exams read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from sightline.errors import DataError
from sightline.store.schema import SCHEMAS

POLARS_ERRORS: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What polars raises for a damaged file; a panic, which it lets through on some pages, is no Exception."""


def box_share() -> pl.Expr:
    """Share of its image that each box covers, of sightings joined with their views; null where no size is told."""
    area = (pl.col("x1") - pl.col("x0")) * (pl.col("y1") - pl.col("y0"))
    pixels = pl.col("width").cast(pl.Float64) * pl.col("height")
    return pl.when(pl.col("units") == "normalised").then(area).otherwise(area / pixels)


@dataclass(frozen=True)
class Tables:
    """Some scenes in columnar form. Column names and types are those of `SCHEMAS`."""

    views: pl.DataFrame
    objects: pl.DataFrame
    sightings: pl.DataFrame
    relations: pl.DataFrame

    @classmethod
    def build(cls, **frames: pl.DataFrame | None) -> Tables:
        """Tables from partial frames: missing columns become null (lists: empty), missing frames empty.

        >>> Tables.build(views=pl.DataFrame({"scene_id": ["s"], "view_id": ["v"]})).views["units"].to_list()
        ['pixels']
        """
        return cls(**{name: conform(name, frames.get(name)) for name in SCHEMAS})

    @classmethod
    def concat(cls, parts: Iterable[Tables]) -> Tables:
        """All scenes of several parts, in order."""
        all_parts = list(parts)
        if not all_parts:
            return cls.build()
        return cls(**{name: pl.concat([p.frame(name) for p in all_parts]) for name in SCHEMAS})

    def frame(self, name: str) -> pl.DataFrame:
        """One table by name.

        >>> Tables.build().frame("objects").height
        0
        """
        frame: pl.DataFrame = getattr(self, name)
        return frame

    def frames(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """(name, frame) of all four, in the schema's order."""
        for name in SCHEMAS:
            yield name, self.frame(name)

    def sorted(self) -> Tables:
        """Rows of every table sorted by scene, the source's order kept within a scene."""
        return Tables(**{n: f.sort("scene_id", maintain_order=True) for n, f in self.frames()})


def conform(name: str, frame: pl.DataFrame | None) -> pl.DataFrame:
    """A frame with exactly the schema's columns and types; unknown columns are an error."""
    schema = SCHEMAS[name]
    if frame is None:
        return pl.DataFrame(schema=schema)
    unknown = [c for c in frame.columns if c not in schema]
    if unknown:
        raise DataError(f"{name} table has an unknown column", field=unknown[0], expected=", ".join(schema))
    return frame.select(_column(c, t, frame.schema) for c, t in schema.items())


_FILL: Mapping[str, str] = {"units": "pixels", "split": "", "source": ""}


def _column(column: str, dtype: pl.DataType, present: pl.Schema) -> pl.Expr:
    expr = pl.col(column).cast(dtype) if column in present else pl.lit(None, dtype=dtype).alias(column)
    if column in _FILL:
        return expr.fill_null(_FILL[column])
    if column in ("flags", "votes"):
        return expr.fill_null(pl.lit([], dtype=dtype))
    return expr
