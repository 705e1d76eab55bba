"""Latent Dirichlet allocation (Blei, Ng, Jordan 2003) by variational Bayes (Hoffman, Blei, Bach 2010, algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Floats

SWEEPS = 100  # most updates of all parameters
TOLERANCE = 1e-3  # largest change of a document's share of a topic at convergence


@dataclass(frozen=True, slots=True, eq=False)
class TopicModel:
    """K topics of V words, fitted to D documents.

    words: (K, V) parameters of the Dirichlet distribution of each topic's words (lambda of Hoffman et al.). documents:
    (D, K) parameters of the Dirichlet distribution of each document's topics (gamma). prior: the parameter of both
    symmetric priors. sweeps: number of updates of all parameters. converged: whether the last update changed the
    documents' expected shares of topics by little.
    """

    words: Floats
    documents: Floats
    prior: float
    sweeps: int
    converged: bool

    def topic_shares(self, counts: scipy.sparse.csr_array, tolerance: float = TOLERANCE) -> Floats:
        """Return the (N, K) expected shares of the K fitted topics in N documents with (N, V) counts of words."""
        topics = len(self.words)
        model = fit_topics(counts, topics, prior=self.prior, tolerance=tolerance, fixed_words=self.words)
        return _expected_shares(model.documents)

    def word_probabilities(self) -> Floats:
        """Return the (K, V) expected probabilities of V words in K topics."""
        return _expected_shares(self.words)


def fit_topics(
    counts: scipy.sparse.csr_array,
    topics: int,
    *,
    prior: float,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    sweeps: int = SWEEPS,
    fixed_words: Floats | None = None,
) -> TopicModel:
    """Fit topics to (D, V) counts of words. Both Dirichlet priors are symmetric with parameter `prior`.

    `fixed_words` are (K, V) parameters of topics, which are then kept instead of being fitted. Given the topic shares
    of each word, documents and topics do not depend on each other, so one sweep that updates both raises the
    variational bound. Variables are named as by Hoffman et al.: lambda and gamma are `words` and `documents`; beta and
    theta are the topics' distributions of words and the documents' distributions of topics, as their geometric means.
    """
    documents, vocabulary = counts.shape
    rows, columns = counts.nonzero()
    lambdas = fixed_words
    if lambdas is None:
        # Begin with random numbers around 1, with standard deviation 0.1, as the program of Hoffman et al. does.
        lambdas = np.random.default_rng(seed).gamma(100.0, 0.01, (topics, vocabulary))
    gamma = np.ones((documents, topics))
    for sweep in range(1, sweeps + 1):
        theta, beta = _geometric_means(gamma), _geometric_means(lambdas)
        # For each word that a document has, the normaliser of its topic shares (phi).
        normalisers = np.einsum("ek,ek->e", theta[rows], beta.T[columns])
        ratios = scipy.sparse.csr_array((counts.data / normalisers, (rows, columns)), shape=counts.shape)
        gamma_before, gamma = gamma, prior + theta * (ratios @ beta.T)
        if fixed_words is None:
            lambdas = prior + beta * (ratios.T @ theta).T
        change = np.abs(_expected_shares(gamma) - _expected_shares(gamma_before)).max(initial=0.0)
        if change <= tolerance:
            return TopicModel(lambdas, gamma, prior, sweep, True)
    return TopicModel(lambdas, gamma, prior, sweeps, False)


def _expected_shares(parameters: Floats) -> Floats:
    """Return the mean of the Dirichlet distribution with the parameters in each row."""
    return np.asarray(parameters / parameters.sum(axis=1, keepdims=True), dtype=np.float64)


def _geometric_means(parameters: Floats) -> Floats:
    """Return exp(E[log p]) of each row, where p has the Dirichlet distribution with the row's parameters."""
    digamma = scipy.special.psi
    return np.asarray(np.exp(digamma(parameters) - digamma(parameters.sum(axis=1, keepdims=True))))
