"""Slow, obvious context scores, written from the formulas of "Not Using the Car to See the Sidewalk".

A picture is a dict. For classification: ``classes`` (set), ``removable`` (set) and ``scores``: class → edit →
score, where an edit is the class that was removed. For segmentation: ``truth`` and ``before`` (lists of rows of
class names, None for none), ``after``: removed class → rows, ``holes``: removed class → rows of bools.
"""

from __future__ import annotations

from fractions import Fraction


def cases(pictures, category):
    """(S(I − c), [S(I − d) for each context class d]) of the pictures in which a class counts."""
    for picture in pictures:
        if category not in picture["classes"] or category not in picture["removable"]:
            continue
        others = [d for d in picture["removable"] if d != category]
        if others:
            of = picture["scores"][category]
            yield Fraction(of[category]), [Fraction(of[d]) for d in others]


def violations(pictures, category):
    """Formulas (2) and (3) of one class, with ties, the number of cases and the literal denominator."""
    rows = list(cases(pictures, category))
    there = sum(category in picture["classes"] for picture in pictures)
    v_min = sum(min(others) < gone for gone, others in rows)
    v_mean = sum(sum(others) / len(others) < gone for gone, others in rows)
    return {
        "n": len(rows),
        "present": there,
        "v_min": v_min / len(rows) if rows else None,
        "v_mean": v_mean / len(rows) if rows else None,
        "ties_min": sum(min(others) == gone for gone, others in rows) / len(rows) if rows else None,
        "ties_mean": sum(sum(others) / len(others) == gone for gone, others in rows) / len(rows) if rows else None,
        "v_min_literal": v_min / there if there else None,
        "v_mean_literal": v_mean / there if there else None,
    }


def violations_by_context(pictures, classes):
    """V^min by number of context classes: k → (violations, cases)."""
    table = {}
    for category in classes:
        for gone, others in cases(pictures, category):
            hits, n = table.get(len(others), (0, 0))
            table[len(others)] = hits + (min(others) < gone), n + 1
    return table


def iou(truth, said, category, hole=None):
    """Intersection over union of a class, pixels of the hole and pixels without a true label left out."""
    both = either = 0
    for y, row in enumerate(truth):
        for x, label in enumerate(row):
            if label is None or (hole is not None and hole[y][x]):
                continue
            here, there = label == category, said[y][x] == category
            both, either = both + (here and there), either + (here or there)
    return Fraction(both, either) if either else None


def changes(pictures, affected, removed):
    """ΔIoU of class c_i with class c_j removed, one a picture that has both and in which it can be told."""
    for picture in pictures:
        labels = {label for row in picture["truth"] for label in row}
        if affected not in labels or removed not in picture["after"]:
            continue
        hole = picture["holes"][removed]
        before = iou(picture["truth"], picture["before"], affected, hole)
        after = iou(picture["truth"], picture["after"][removed], affected, hole)
        left = any(
            label == affected and not hole[y][x]
            for y, row in enumerate(picture["truth"])
            for x, label in enumerate(row)
        )
        if left:
            yield after - before


def affected_rate(pictures, affected, removed, alpha):
    """Formula (4): (AR, mean ΔIoU, pictures); None without one. α counts as it is written, in decimals."""
    gaps = list(changes(pictures, affected, removed))
    if not gaps:
        return None
    hits = sum(abs(gap) >= Fraction(str(alpha)) for gap in gaps)
    return hits / len(gaps), float(sum(gaps)) / len(gaps), len(gaps)


def dataset_iou(pictures, category):
    """Intersection over union of a class over all pixels of all pictures that have a true label."""
    both = either = 0
    for picture in pictures:
        for row, said in zip(picture["truth"], picture["before"], strict=True):
            for label, answer in zip(row, said, strict=True):
                if label is not None:
                    both += label == category == answer
                    either += category in (label, answer)
    return both / either if either else None


def pixel_accuracy(pictures):
    """Share of the pixels with a true label that have it."""
    pairs = [
        (label, answer)
        for picture in pictures
        for row, said in zip(picture["truth"], picture["before"], strict=True)
        for label, answer in zip(row, said, strict=True)
        if label is not None
    ]
    return sum(label == answer for label, answer in pairs) / len(pairs)


def normalised_cooccurrence(sets):
    """NC(c_i, c_j) = Count(c_i and c_j) / Count(c_i), over sets of classes."""
    classes = sorted(set().union(*sets))
    return {
        (a, b): sum(a in s and b in s for s in sets) / sum(a in s for s in sets)
        for a in classes
        for b in classes
        if a != b
    }


def beaf(removed, others):
    """BEAF's outcomes: of what was removed (before, after) replies, of the rest whether the reply changed.

    True understanding: yes, then no. Ignorance: no, then yes. Stubborn: the same both times. Indecision: of what
    was not removed, a reply that changed. F1 is the harmonic mean of true understanding and 1 − indecision.
    """
    kinds = {("yes", "no"): "true_understanding", ("no", "yes"): "ignorance"}
    kinds |= {("yes", "yes"): "stubborn_yes", ("no", "no"): "stubborn_no"}
    names = [kinds.get(pair, "unparsed") for pair in removed]
    shares = {name: names.count(name) / len(names) for name in (*kinds.values(), "unparsed")}
    read = [pair for pair in others if set(pair) <= {"yes", "no"}]
    shares["indecision"] = sum(a != b for a, b in read) / len(read) if read else None
    if read:
        tu, decided = shares["true_understanding"], 1 - shares["indecision"]
        shares["f1"] = 2 * tu * decided / (tu + decided) if tu + decided else 0.0
    return shares
