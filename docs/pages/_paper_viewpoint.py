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

TABLE_2: Final = {
    ("dpm", 0): "29.6",
    **{
        (form, views): f"{ap} / {avp}"
        for form, cells in {
            "vdpm": ((26.8, 19.5), (29.9, 18.7), (30.0, 15.6), (29.5, 12.1)),
            "dpm-voc-vp": ((27.0, 23.8), (28.3, 21.5), (28.3, 17.3), (27.1, 13.6)),
        }.items()
        for views, (ap, avp) in zip((4, 8, 16, 24), cells, strict=True)
    },
}
"""AP / AVP, per cent, by form and views: DPM over twelve classes, the others over eleven, without bottle."""
