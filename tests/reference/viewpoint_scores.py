"""Slow, obvious AP and AVP of PASCAL3D+, written from the rules of its script: loops over images, boxes and views.

Objects and detections are dicts as in the files of ``sightline score viewpoint``.
"""

from __future__ import annotations


def overlap(a, b, plus):
    """Intersection over union; sides are longer by `plus`."""
    width = min(a[2], b[2]) - max(a[0], b[0]) + plus
    height = min(a[3], b[3]) - max(a[1], b[1]) + plus
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    areas = sum((box[2] - box[0] + plus) * (box[3] - box[1] + plus) for box in (a, b))
    return shared / (areas - shared)


def section_of(azimuth, views):
    """Go round in sections of equal width; the first is centred on 0."""
    azimuth, width = azimuth % 360, 360 / views
    for k in range(views):
        if k * width - width / 2 <= azimuth < k * width + width / 2:
            return k
    return 0  # the other half of the first


def judged(truth, detections, difficult, plus):
    """Detections of one class in file order, as (score, hit, ignored, true azimuth, its own); and positives."""
    there = [dict(t, taken=False) for t in truth if not (t["difficult"] and difficult == "remove")]
    in_image = {d["image"]: [] for d in (*truth, *detections)}
    for t in there:
        in_image[t["image"]].append(t)
    rows = []
    for d in detections:
        best, of = 0.0, None
        for t in in_image[d["image"]]:
            if overlap(d["box"], t["box"], plus) > best:
                best, of = overlap(d["box"], t["box"], plus), t
        if of is None or best < 0.5:
            rows.append((d["score"], False, False, None, None))
        elif of["difficult"]:
            rows.append((d["score"], False, True, None, None))
        elif of["taken"]:
            rows.append((d["score"], False, False, None, None))
        else:
            of["taken"] = True
            rows.append((d["score"], True, False, of["azimuth"], d["azimuth"]))
    return rows, sum(not t["difficult"] for t in there)


def area(recalls, precisions):
    """Area under the monotone envelope of a curve."""
    total, best, after = 0.0, 0.0, None
    for recall, precision in zip(reversed([0.0, *recalls]), reversed([0.0, *precisions]), strict=True):
        if after is not None:
            total += (after - recall) * best
        best, after = max(best, precision), recall
    return total


def class_scores(truth, detections, views, difficult="remove", plus=0, literal=False):
    """{"ap": x, "avp": {views: x}} of one class; None without an object, AVP None where nobody has an azimuth."""
    rows, positives = judged(truth, detections, difficult, plus)
    rows = [row for row in sorted(rows, key=lambda row: -row[0]) if not row[2]]
    if not positives:
        return {"ap": None, "avp": dict.fromkeys(views)}
    counted = [t for t in truth if not t["difficult"]]
    blind = all(t["azimuth"] is None for t in counted)
    blind = blind or (bool(detections) and all(d["azimuth"] is None for d in detections))

    def score(is_right, in_recall):
        hits = right = 0
        recalls, precisions = [], []
        for said, row in enumerate(rows, start=1):
            good = row[1] and is_right(row)
            hits, right = hits + (good if in_recall else row[1]), right + good
            recalls.append(hits / positives)
            precisions.append(right / said)
        return area(recalls, precisions)

    def viewed(n):
        def is_right(row):
            return None not in row[3:] and section_of(row[3], n) == section_of(row[4], n)

        return None if blind else score(is_right, literal)

    return {"ap": score(lambda row: True, False), "avp": {n: viewed(n) for n in views}}


def scores(truth, detections, views, **how):
    """Every class, and the mean over the classes for which a score is there."""
    classes = sorted({row["class"] for row in (*truth, *detections)})
    found = {
        c: class_scores(*([row for row in rows if row["class"] == c] for rows in (truth, detections)), views, **how)
        for c in classes
    }

    def mean(values):
        known = [v for v in values if v is not None]
        return sum(known) / len(known) if known else None

    average = {
        "ap": mean(s["ap"] for s in found.values()),
        "avp": {n: mean(s["avp"][n] for s in found.values()) for n in views},
    }
    return found | {"mean": average}
