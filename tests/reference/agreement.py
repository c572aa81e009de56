"""Rater agreement by loops over single votes."""

from __future__ import annotations

import math
from collections import Counter


def vote_list(row):
    """[2, 0, 1] → [0, 0, 2]."""
    return [label for label, count in enumerate(row) for _ in range(int(count))]


def fleiss_kappa(votes):
    items = [vote_list(row) for row in votes if sum(row) >= 2]
    agreements = []
    for item in items:
        pairs = [(i, j) for i in range(len(item)) for j in range(len(item)) if i != j]
        agreements.append(sum(item[i] == item[j] for i, j in pairs) / len(pairs))
    pooled = Counter(vote for item in items for vote in item)
    n = sum(pooled.values())
    if len(pooled) < 2:
        return math.nan
    expected = sum((count / n) ** 2 for count in pooled.values())
    return (sum(agreements) / len(agreements) - expected) / (1 - expected)


def krippendorff_alpha(votes):
    k = len(votes[0])
    coincidence = [[0.0] * k for _ in range(k)]
    for row in votes:
        item = vote_list(row)
        for i in range(len(item)):
            for j in range(len(item)):
                if i != j:
                    coincidence[item[i]][item[j]] += 1 / (len(item) - 1)
    marginal = [sum(row) for row in coincidence]
    n = sum(marginal)
    if sum(m > 0 for m in marginal) < 2:
        return math.nan
    observed = sum(coincidence[c][d] for c in range(k) for d in range(k) if c != d) / n
    expected = sum(marginal[c] * marginal[d] for c in range(k) for d in range(k) if c != d) / (n * (n - 1))
    return 1 - observed / expected


def dawid_skene(votes, steps):
    """EM for so many steps; prior, confusion, posterior, log-likelihood. Every item needs a vote."""
    k = len(votes[0])
    posterior = []
    for row in votes:
        best = max(row)
        posterior.append([(count == best) / sum(c == best for c in row) for count in row])
    trace = []
    for _ in range(steps):
        prior = [sum(q[z] for q in posterior) / len(votes) for z in range(k)]
        confusion = [[0.0] * k for _ in range(k)]
        for z in range(k):
            for j in range(k):
                confusion[z][j] = sum(q[z] * row[j] for q, row in zip(posterior, votes, strict=True))
            total = sum(confusion[z])
            confusion[z] = [c / total if total else float(j == z) for j, c in enumerate(confusion[z])]
        fit, posterior = 0.0, []
        for row in votes:
            joint = [prior[z] * math.prod(confusion[z][vote] for vote in vote_list(row)) for z in range(k)]
            fit += math.log(sum(joint))
            posterior.append([x / sum(joint) for x in joint])
        trace.append(fit)
    return prior, confusion, posterior, trace


def leave_one_out_counts(votes, undecided):
    """Take each vote out of its item, look what the others say, and book it."""
    counts = []
    for row in votes:
        item = vote_list(row)
        k = len(row)
        booked = [[0.0, 0.0, 0.0] for _ in range(k)]
        for i, vote in enumerate(item):
            others = item[:i] + item[i + 1 :]
            if not others:
                continue
            tally = Counter(others)
            truths = [label for label, count in tally.items() if count > len(others) / 2]
            if undecided == "split":
                truths = [label for label, count in tally.items() if count == max(tally.values())]
            if not truths and undecided == "false_positive":
                booked[vote][1] += 1 / len(item)
            for truth in truths:
                share = 1 / len(item) / len(truths)
                if truth == vote:
                    booked[vote][0] += share
                else:
                    booked[vote][1] += share
                    booked[truth][2] += share
        counts.append(booked)
    return counts
