"""Figures of PASCAL3D+'s paper (Xiang, Mottaghi, Savarese 2014): its Tables 1 to 4."""

from __future__ import annotations

from typing import Final

CLASSES: Final = (
    *("aeroplane", "bicycle", "boat", "bottle", "bus", "car", "chair", "diningtable", "motorbike", "sofa"),
    *("train", "tvmonitor"),
)

TABLE_1: Final = {
    "categories": "12",
    "objects a category, mean": "≈ 3,000",
    "indoor or outdoor": "both",
    "cluttered background": "yes",
    "objects off the centre": "yes",
    "occlusion label": "yes",
    "orientation label": "yes",
    "dense viewpoint": "yes",
}

_THIRDS: Final = {
    "aeroplane": (57.2, 11.5, 16.2),
    "bicycle": (70.6, 30.4, 8.7),
    "boat": (13.1, 0.7, 0.9),
    "bus": (77.4, 35.7, 4.1),
    "car": (55.3, 12.3, 3.4),
    "chair": (22.0, 7.5, 0.9),
    "diningtable": (33.3, 19.9, 7.8),
    "motorbike": (56.5, 12.6, 0.1),
    "sofa": (35.3, 34.2, 15.8),
    "train": (50.2, 35.2, 15.3),
    "tvmonitor": (58.0, 8.1, 2.2),
}
TABLE_3: Final = _THIRDS | {"mean": (48.1, 18.9, 6.8)}
"""VDPM with 8 views: normalised AP, per cent, by third of the occlusion ratio."""

_ROWS: Final = {
    "true CAD model": "43.8 28.7 43.0 66.0 78.4 67.3 41.8 28.0 60.0 40.3 59.2 72.3 52.4",
    "random CAD model": "32.8±0.3 29.2±0.5 28.7±1.1 62.5±1.0 67.2±0.8 61.8±0.5 35.8±0.8 21.3±0.6 54.6±0.3 34.7±0.5 "
    "53.8±0.6 60.5±2.8 45.2",
    "VDPM, 4 views": "22.6 16.1 23.4 – 50.7 51.2 25.7 12.4 34.4 27.3 35.1 56.6 32.3",
    "VDPM, 8 views": "24.1 16.6 23.5 – 52.7 51.2 27.6 10.8 35.7 29.4 40.2 55.0 33.3",
    "VDPM, 16 views": "24.7 16.6 23.5 – 57.8 51.9 26.5 10.1 37.9 29.5 40.2 55.9 34.1",
    "VDPM, 24 views": "24.5 16.9 20.5 – 57.1 50.9 27.2 11.5 37.3 27.6 39.8 54.7 33.5",
}
TABLE_4: Final = {
    name: dict(zip((*CLASSES, "mean"), (cell.replace("±", " ± ") for cell in row.split()), strict=True))
    for name, row in _ROWS.items()
}
"""Segmentation by pose: IoU, per cent."""

_FORMS: Final = (("dpm", 0), *((form, views) for form in ("vdpm", "dpm-voc-vp") for views in (4, 8, 16, 24)))
_LINES: Final = """
aeroplane 42.2 40.0/34.6 39.8/23.4 43.6/15.4 42.2/8.0 41.5/37.4 40.5/28.6 38.0/15.9 36.0/9.7
bicycle 49.6 45.2/41.7 47.3/36.5 46.5/18.4 44.4/14.3 46.9/43.9 48.1/40.3 45.6/22.9 45.9/16.7
boat 6.0 3.0/1.5 5.8/1.0 6.2/0.5 6.0/0.3 0.5/0.3 0.5/0.2 0.7/0.3 5.3/2.2
bottle 20.0 – – – – – – – –
bus 54.1 49.3/26.1 50.2/35.5 54.6/46.9 53.7/39.2 51.5/48.6 51.9/38.0 55.3/49.0 53.9/42.1
car 38.3 37.2/20.2 37.3/23.5 36.6/18.1 36.3/13.7 45.6/36.9 47.6/36.6 46.0/29.6 42.1/24.6
chair 15.0 11.1/6.8 11.4/5.8 12.8/6.0 12.6/4.4 8.7/6.1 11.3/9.4 10.2/6.1 8.0/4.2
diningtable 9.0 7.2/3.1 10.2/3.6 7.6/2.2 11.1/3.6 5.7/2.1 5.3/2.6 6.2/2.3 5.4/2.1
motorbike 33.1 33.0/30.4 36.6/25.1 38.5/16.1 35.5/10.1 34.3/31.8 38.3/32.0 38.1/16.7 34.8/10.5
sofa 18.9 6.8/5.1 16.0/12.5 16.2/10.0 17.0/8.2 13.3/11.8 13.5/11.0 11.8/7.1 11.0/4.1
train 36.4 26.4/10.7 28.7/10.9 31.5/22.1 32.6/20.0 16.4/11.1 21.3/9.8 28.5/20.2 28.2/20.7
tvmonitor 33.2 35.9/34.7 36.3/27.4 35.6/16.3 33.6/11.2 32.4/32.2 33.1/28.6 30.7/19.9 27.3/12.9
mean 29.6 26.8/19.5 29.9/18.7 30.0/15.6 29.5/12.1 27.0/23.8 28.3/21.5 28.3/17.3 27.1/13.6
"""
_CELLS: Final = {name: cells for name, *cells in map(str.split, _LINES.strip().splitlines())}
TABLE_2_BY_CLASS: Final = {
    form: {name: cells[i].replace("/", " / ") for name, cells in _CELLS.items()} for i, form in enumerate(_FORMS)
}
"""AP / AVP, per cent, by form and views, then class: DPM's mean is over twelve classes, the others' over eleven."""

TABLE_2: Final = {form: cells["mean"] for form, cells in TABLE_2_BY_CLASS.items()}
"""The means alone."""
