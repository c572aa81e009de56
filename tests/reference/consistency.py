"""Symmetry and transitivity by loops over pairs and triples."""

from __future__ import annotations

import itertools

CLOSER, FARTHER, SAME = 1, 2, 3
REVERSE = {0: 0, 1: 2, 2: 1, 3: 3}


def said(cluster, first, second, label, n_clusters):
    """One dict (a, b) → code a cluster."""
    answers = [{} for _ in range(n_clusters)]
    for c, a, b, code in zip(cluster, first, second, label, strict=True):
        answers[c][(a, b)] = code
    return answers


def symmetry_depth(answers):
    counts = []
    for answer in answers:
        violations = cases = 0
        for (a, b), code in answer.items():
            back = answer.get((b, a))
            if code in (CLOSER, SAME) and back in (CLOSER, FARTHER, SAME):
                cases += 1
                violations += back not in (FARTHER, SAME)
        counts.append([violations, cases])
    return counts


def symmetry_equal(answers, codes):
    """Exact reversal over the codes that count as answers."""
    counts = []
    for answer in answers:
        violations = cases = 0
        for (a, b), code in answer.items():
            back = answer.get((b, a))
            if code in codes and back in codes:
                cases += 1
                violations += back != REVERSE[code]
        counts.append([violations, cases])
    return counts


def transitivity(answers, every=False):
    """Broken triples among those with both premises, or among every triple that was answered."""
    counts = []
    for answer in answers:
        objects = sorted({x for pair in answer for x in pair})
        violations = cases = 0
        for a, b, c in itertools.permutations(objects, 3):
            premises = answer.get((a, b)) in (CLOSER, SAME) and answer.get((b, c)) in (CLOSER, SAME)
            answered = all(answer.get(pair) in (CLOSER, FARTHER, SAME) for pair in ((a, b), (b, c), (a, c)))
            cases += answered and (premises or every)
            violations += answered and premises and answer[(a, c)] == FARTHER
        counts.append([violations, cases])
    return counts


def within_against_across(within, across):
    """Violations and cases of a ≤ b ≤ c ⇒ a ≤ c where two of the three stand in one image and one in another.

    Args:
        within: Image → {(a, b): code} inside it.
        across: (image, image) → {((image, object), (image, object)): code}, both directions.
    """
    counts = []
    for (one, other), answer in across.items():
        told = dict(answer)
        for image in (one, other):
            told |= {((image, a), (image, b)): code for (a, b), code in within.get(image, {}).items()}
        objects = sorted({end for pair in told for end in pair})
        violations = cases = 0
        for a, b, c in itertools.permutations(objects, 3):
            if len({a[0], b[0], c[0]}) == 1:
                continue
            premises = told.get((a, b)) in (CLOSER, SAME) and told.get((b, c)) in (CLOSER, SAME)
            if premises and told.get((a, c)) in (CLOSER, FARTHER, SAME):
                cases += 1
                violations += told[(a, c)] == FARTHER
        counts.append([violations, cases])
    return counts


def cohen(pairs):
    """Share of equal answers, and Cohen's kappa, of a list of (one, other)."""
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    labels = {label for pair in pairs for label in pair}
    chance = sum(sum(a == x for a, _ in pairs) * sum(b == x for _, b in pairs) for x in labels) / n**2
    return observed, (observed - chance) / (1 - chance)
