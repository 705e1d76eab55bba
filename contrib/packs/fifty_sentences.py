"""PASCAL-50S and ABSTRACT-50S for packs, the sets of Vedantam et al. 2015 (V15).

The files are read without a database, in formats of the feature `published_sets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy

from contrib.packs.reading import ReplicationError
from contrib.packs.references import references_by_image
from evaluation.presentation.content import Estimate, estimate_of
from evaluation.results.metrics.pair_variants import accuracy_over_all
from evaluation.results.metrics.scoring import score_pairs
from evaluation.results.metrics.texts import PairTexts
from judgments.importers import open_dataset, open_judgments
from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation import pair_winners
from quorum.statistics.crossed import ITEM
from quorum.statistics.meta import PeoplesWinners, ReferenceCurve, accuracy_by_references, random_subsets

PASCAL, ABSTRACT = "pascal-50s", "abstract-50s"
TRIPLET_REFERENCES = 48  # references of an image in triplets; PASCAL-50S has two more
DATASET_TITLES = {PASCAL: "PASCAL-50S", ABSTRACT: "ABSTRACT-50S"}
# V15's words are runs of letters, digits and underscores; with these words, its scores are reproduced.
TOKENIZER = "v15"


@dataclass(frozen=True, slots=True)
class FiftySentenceData:
    """PASCAL-50S or ABSTRACT-50S (V15), with P candidate pairs.

    Attributes:
        pairs: candidate pairs, each with the winner of its triplets (1 or 2 for a candidate, 0 for a tie), and with its
            kind: two people's captions (HC), one of them of another image (HI), a machine's and a person's (HM), two
            machines' (MM).
        systems: the systems, or "human", that wrote the two candidates of each pair.
        references: the first 48 references of each image, for all images.
        votes: (P, 48) answers to the triplets, 1 or 2; empty if unpublished.
        pairwise_winners: (P,) winners of the pairwise votes; empty if unpublished.
    """

    pairs: tuple[PairTexts, ...]
    systems: tuple[tuple[str, str], ...]
    references: Mapping[str, list[str]]
    votes: Ints
    pairwise_winners: Ints

    @property
    def winners(self) -> Ints:
        return np.array([pair.winner for pair in self.pairs], dtype=np.int64)

    @property
    def kinds(self) -> list[str]:
        return [pair.kind for pair in self.pairs]

    @property
    def images(self) -> list[str]:
        return [pair.image for pair in self.pairs]

    @property
    def clusters(self) -> dict[str, list[str]]:
        return {ITEM: self.images}

    @property
    def people(self) -> PeoplesWinners:
        """People's winners, clustered only by image, since the people are not published."""
        return PeoplesWinners.from_winners(self.winners, clusters=self.clusters)

    def is_of_kind(self, kind: str) -> Flags:
        return np.array([pair_kind == kind for pair_kind in self.kinds], dtype=np.bool_)

    def scores(
        self,
        metrics: Sequence[str],
        tokenizer: str = TOKENIZER,
        reference_indices: Sequence[int] | None = None,
    ) -> tuple[dict[str, Floats], dict[str, str]]:
        """Return the scores of the candidates by metric, and the signature of each metric.

        The scores of a metric are a (P, 2) array, with a row for each of P pairs.

        Args:
            reference_indices: indices, from 0 to 47, of the references of each image to use; by default all.
        """
        # Use the same list object for all candidates of an image, so that its n-grams are counted once.
        references = self.references
        if reference_indices is not None:
            references = {
                image: [texts[index] for index in reference_indices] for image, texts in references.items()
            }
        pairs = [replace(pair, references=references[pair.image]) for pair in self.pairs]
        result, scores = score_pairs(pairs, list(references.values()), metrics=metrics, tokenizer=tokenizer)
        return scores, {name: metric_scores.signature for name, metric_scores in result.scores.items()}


def read_fifty_sentence_data(name: str, folder: Path) -> FiftySentenceData:
    """Read the set ``PASCAL`` or ``ABSTRACT`` from its folder."""
    references = references_by_image(
        open_dataset(name, folder).rows(), lambda row: row.position < TRIPLET_REFERENCES
    )
    rows = list(open_dataset(name, folder).pairs())
    triplets = open_judgments(name, folder, protocol="triplet")
    # The pair and the answer of each triplet, pair by pair. An answer is 1 or 2, and never None.
    votes = [(str(row.pair), int(row.value or 0)) for row in triplets.judgments()]
    # Of PASCAL-50S, only the winners are published.
    winners = _majority_winners(votes) if votes else {row.pair: row.winner for row in triplets.winners()}
    pairwise_winners: list[int] = []
    if name == PASCAL:
        pairwise_judgments = open_judgments(name, folder, protocol="pairwise")
        pairwise_votes = [(str(row.pair), int(row.value or 0)) for row in pairwise_judgments.judgments()]
        winner_by_pair = _majority_winners(pairwise_votes)
        pairwise_winners = [winner_by_pair[row.pair] for row in rows]
    # The pairs have no references of their own: ``scores`` adds those of their images.
    pairs = tuple(
        PairTexts(number, row.kind, row.image, row.first_text, row.second_text, (), winners[row.pair])
        for number, row in enumerate(rows)
    )
    return FiftySentenceData(
        pairs,
        systems=tuple((row.first_system, row.second_system) for row in rows),
        references=references,
        votes=np.array([vote for _, vote in votes], dtype=np.int64).reshape(len(rows), -1),
        pairwise_winners=np.array(pairwise_winners, dtype=np.int64),
    )


def read_triplet_votes(path: Path, pairs: Sequence[PairTexts]) -> Ints:
    """Read the votes of the authors' MATLAB file of triplets: (P, 48) for P pairs, 1 or 2 for a pair's candidates.

    The file has the triplets pair by pair. Each is a row of the sentences A, B and C, and the winner: 1 for B, -1
    for C. B and C are the two candidates of the pair.

    Raises:
        ReplicationError: the file is not such a file, or is about other pairs.
    """
    try:
        triplets = scipy.io.loadmat(path, squeeze_me=True)["triplets"]
        rows = [tuple(row) for row in np.atleast_1d(triplets).tolist()]
        sides = np.array([1 if int(winner) == 1 else 2 for *_, winner in rows]).reshape(len(pairs), -1)
        # B and C of the first triplet of each pair.
        candidates = [[str(text).strip() for text in row[1:3]] for row in rows[:: sides.shape[1]]]
    except (ValueError, KeyError, TypeError) as error:
        raise ReplicationError(
            f"{path}: {error}; expected triplets of A, B, C and a winner, equally many for each of {len(pairs)} pairs."
        ) from None
    for number, (pair, texts) in enumerate(zip(pairs, candidates, strict=True)):
        expected_texts = [pair.first.strip(), pair.second.strip()]
        if expected_texts != texts:
            raise ReplicationError(f"{path}, pair {number}: B and C are {texts}, expected {expected_texts}.")
    return sides


def _majority_winners(votes: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Return the winner of each pair, 1 or 2, by the majority of its votes, and 0 if both have equally many.

    ``votes`` are ids of pairs, each with a vote for its first (1) or second (2) candidate.
    """
    result = pair_winners([pair for pair, _ in votes], [vote for _, vote in votes])
    return dict(zip(result.pairs.tolist(), result.winner.tolist(), strict=True))


def accuracy_by_kind(data: FiftySentenceData, scores: Floats) -> dict[str, Estimate]:
    """Return how often (P, 2) scores of P pairs name people's winner, by kind and as "all". A tie counts half."""
    accuracy = accuracy_over_all(scores, data.people, data.kinds)
    return {kind: estimate_of(share) for kind, share in accuracy.items()}


def scores_by_shared_subsets(
    data: FiftySentenceData,
    metrics: Sequence[str],
    sizes: Sequence[int],
    *,
    draws: int,
    seed: int,
    tokenizer: str = TOKENIZER,
) -> dict[str, dict[int, tuple[Floats, Floats]]]:
    """Return the scores of the candidates by random subsets of the references, for ``accuracy_by_references``.

    ``scores[metric][size]`` are two (D, P) arrays: the scores of the first and of the second candidates of P pairs in
    D draws. Each draw is a random subset of ``size`` references, the same for all pairs. Of all 48 references, there
    is only one subset.
    """
    scores: dict[str, dict[int, tuple[Floats, Floats]]] = {metric: {} for metric in metrics}
    for size in sizes:
        scores_of_draws = [
            data.scores(metrics, tokenizer, reference_indices.tolist())[0]
            for reference_indices in random_subsets(TRIPLET_REFERENCES, size, draws, seed=seed)
        ]
        for metric in metrics:
            # (D, P, 2) scores of pairs as two (D, P) arrays
            first, second = np.stack([by_metric[metric] for by_metric in scores_of_draws]).transpose(2, 0, 1)
            scores[metric][size] = first, second
    return scores


def curve_over_decided_pairs(
    data: FiftySentenceData, scores: Mapping[int, tuple[Floats, Floats]]
) -> ReferenceCurve:
    """Return how often scores name people's winner of the decided pairs of all kinds, by number of references."""
    return accuracy_by_references(scores, data.winners, data.kinds, clusters=data.clusters)["all"]
