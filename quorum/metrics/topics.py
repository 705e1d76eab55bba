"""Latent Dirichlet allocation (Blei, Ng, Jordan 2003) by variational Bayes (Hoffman, Blei, Bach 2010, algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used

from quorum.numeric.arrays import Floats

SWEEPS = 100
TOLERANCE = 1e-3  # the largest change of a document's share of a topic


@dataclass(frozen=True, slots=True, eq=False)
class TopicModel:
    """Topics of V words: Dirichlet parameters (K, V) of the words, `terms`, and (D, K) of the `documents`."""

    terms: Floats
    documents: Floats
    prior: float
    sweeps: int
    converged: bool

    def shares(self, counts: scipy.sparse.csr_array, tolerance: float = TOLERANCE) -> Floats:
        """Return (N, K) expected shares of topics in (N, V) counts of words, with the topics as they are."""
        topics = len(self.terms)
        fitted = fit_topics(counts, topics, prior=self.prior, tolerance=tolerance, fixed=self.terms)
        return _shares(fitted.documents)

    def probabilities(self) -> Floats:
        """Return (K, V) expected probabilities of words in topics."""
        return _shares(self.terms)


def fit_topics(
    counts: scipy.sparse.csr_array,
    topics: int,
    *,
    prior: float,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    sweeps: int = SWEEPS,
    fixed: Floats | None = None,
) -> TopicModel:
    """Fit (D, V) counts of words; both Dirichlet priors are symmetric with `prior`. `fixed` topics stay as they are.

    Given the parts of each word that belong to a topic, documents and topics do not depend on each other, so that one
    sweep for both ascends the bound.
    """
    documents, vocabulary = counts.shape
    rows, columns = counts.nonzero()
    terms = fixed
    if terms is None:
        terms = np.random.default_rng(seed).gamma(100.0, 0.01, (topics, vocabulary))
    gamma = np.ones((documents, topics))
    for sweep in range(1, sweeps + 1):
        theta, beta = _geometric(gamma), _geometric(terms)
        total = np.einsum("ek,ek->e", theta[rows], beta.T[columns])
        ratio = scipy.sparse.csr_array((counts.data / total, (rows, columns)), shape=counts.shape)
        before, gamma = gamma, prior + theta * (ratio @ beta.T)
        if fixed is None:
            terms = prior + beta * (ratio.T @ theta).T
        if np.abs(_shares(gamma) - _shares(before)).max(initial=0.0) <= tolerance:
            return TopicModel(terms, gamma, prior, sweep, True)
    return TopicModel(terms, gamma, prior, sweeps, False)


def _shares(parameters: Floats) -> Floats:
    return np.asarray(parameters / parameters.sum(axis=1, keepdims=True), dtype=np.float64)


def _geometric(parameters: Floats) -> Floats:
    """Return exp(E[log p]) of rows with Dirichlet distributions."""
    digamma = scipy.special.psi
    return np.asarray(np.exp(digamma(parameters) - digamma(parameters.sum(axis=1, keepdims=True))))
