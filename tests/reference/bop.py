"""Read a dataset of the BOP challenge by the text of its format, and count what it says of masks anew.

Written from ``docs/bop_datasets_format.md`` of the BOP toolkit: matrices row by row, lengths in millimetres, a
point of a model at ``K [R_m2c, t_m2c]``, of the world at ``K [R_w2c, t_w2c]``; ``px_count_valid`` are pixels of the
silhouette where the depth image is not zero.
"""

import json

import numpy as np
from PIL import Image


def load(file):
    """JSON with numbers of images as keys."""
    return {int(key): value for key, value in json.loads(file.read_text(encoding="utf-8")).items()}


def box_of(mask):
    """x, y, width, height of a mask's pixels."""
    rows, columns = np.nonzero(mask)
    return [
        int(columns.min()),
        int(rows.min()),
        int(columns.max() - columns.min() + 1),
        int(rows.max() - rows.min() + 1),
    ]


def read(folder):
    """Every annotated object: scene, image, number of its kind, where its origin is seen, depth of its pixels.

    All that the files say twice is held together on the way.
    """
    found = []
    for scene in sorted(place for split in folder.iterdir() if split.is_dir() for place in split.iterdir()):
        assert len(scene.name) == 6
        assert scene.parent.name.partition("_")[0] in ("train", "val", "test")
        cameras, poses, facts = (load(scene / f"scene_{name}.json") for name in ("camera", "gt", "gt_info"))
        assert set(cameras) == set(poses) == set(facts)
        for image, camera in cameras.items():
            picture = np.asarray(Image.open(scene / "rgb" / f"{image:06d}.png"))
            steps = np.asarray(Image.open(scene / "depth" / f"{image:06d}.png"))
            assert steps.dtype in (np.uint16, np.int32)
            assert steps.shape == picture.shape[:2]
            depth = steps.astype(float) * camera["depth_scale"]
            k = np.array(camera["cam_K"], float).reshape(3, 3)
            outside = np.array(camera["cam_R_w2c"], float).reshape(3, 3)
            assert np.allclose(outside @ outside.T, np.eye(3))
            for place, (pose, fact) in enumerate(zip(poses[image], facts[image], strict=True)):
                turn = np.array(pose["cam_R_m2c"], float).reshape(3, 3)
                origin = np.array(pose["cam_t_m2c"], float)
                assert np.allclose(turn @ turn.T, np.eye(3), atol=1e-9)
                assert np.isclose(np.linalg.det(turn), 1.0)
                masks = [
                    np.asarray(Image.open(scene / kind / f"{image:06d}_{place:06d}.png")) > 0
                    for kind in ("mask", "mask_visib")
                ]
                whole, visible = masks
                assert not (visible & ~whole).any()
                assert fact["px_count_all"] == whole.sum()
                assert fact["px_count_visib"] == visible.sum()
                assert fact["px_count_valid"] == (whole & (steps > 0)).sum()
                assert np.isclose(fact["visib_fract"], visible.sum() / max(whole.sum(), 1))
                assert fact["bbox_obj"] == box_of(whole)
                assert fact["bbox_visib"] == (box_of(visible) if visible.any() else [-1] * 4)
                seen = k @ origin
                found.append(
                    {
                        "scene": int(scene.name),
                        "image": image,
                        "kind": int(pose["obj_id"]),
                        "at": (seen[0] / seen[2], seen[1] / seen[2]),
                        "far": origin[2],
                        "depth": depth[visible & (steps > 0)],
                        "box": fact["bbox_obj"],
                        "size": max(fact["bbox_obj"][2:]) * origin[2] / k[0, 0],
                    }
                )
    return found
