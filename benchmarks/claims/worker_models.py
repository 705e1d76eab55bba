"""Dawid and Skene's model of participants, fitted by plain expectation maximisation from shares of votes."""

import numpy as np

from benchmarks.claims.rows import PAIRED, Rows

STEPS = 20_000
PRIOR = 1.0  # number of answers of each kind that is added to everybody's counts
EQUAL_TOLERANCE = 1e-9


def likely_answers(rows: Rows) -> dict[int, float | None]:
    """Return the likeliest answer to each unit, or None if several are equally likely."""
    labels = [1.0, 2.0] if rows.protocol in PAIRED else [0.0, 1.0]
    units, people = sorted(rows.votes), sorted(rows.voters)
    votes = np.zeros((len(units), len(people), len(labels)))
    for place, unit in enumerate(units):
        for name, value in rows.votes[unit]:
            votes[place, people.index(name), labels.index(value)] += 1
    sure = votes.sum(axis=1) / votes.sum(axis=(1, 2))[:, np.newaxis]
    for _ in range(STEPS):
        before, sure = sure, one_step(votes, sure)
        if np.abs(sure - before).max() < 1e-13:
            break
    return {
        unit: None if row.max() - np.sort(row)[-2] <= EQUAL_TOLERANCE else labels[int(row.argmax())]
        for unit, row in zip(units, sure, strict=True)
    }


def one_step(votes: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Return the chances of each answer after one step of expectation maximisation."""
    counts = np.einsum("upg,ut->ptg", votes, sure) + PRIOR
    errors = counts / counts.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):
        joint = np.log(sure.mean(axis=0)) + np.einsum("upg,ptg->ut", votes, np.log(errors))
    chances = np.exp(joint - joint.max(axis=1, keepdims=True))
    return level(chances / chances.sum(axis=1, keepdims=True))


def level(chances: np.ndarray) -> np.ndarray:
    """Return the chances, where chances that differ only by rounding are replaced by their mean.

    Otherwise rounding errors would break ties that the answers leave open.
    """
    order = np.argsort(chances, axis=None)
    ordered = chances.ravel()[order]
    group = np.cumsum(np.diff(ordered, prepend=ordered[0]) > 1e-13)
    means = np.bincount(group, weights=ordered) / np.bincount(group)
    level = np.empty(len(order))
    level[order] = means[group]
    return level.reshape(chances.shape)
