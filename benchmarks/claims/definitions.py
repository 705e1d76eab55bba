# ruff: noqa: E501 (a sentence is one line)
"""Texts that define a term, and say nothing of a study."""

import re

from benchmarks.claims.patterns import CHECKERS, Checker

DEFINITIONS = (
    "They are kept, and marked in exports.", "Participants below the share .", "Excluded participants .",
    "All pages that were taken", "None.", "Consensus of each item",
    "At best: if all that nobody judged were relevant.",
    "Over the texts that have a consensus and references, with 95 % intervals.",
    "Dawid and Skene (1979) weigh each participant by the accuracy that the answers themselves suggest. The consensus stays the rule’s.",
    "Percent agreement takes no chance off, Fleiss’ kappa counts each disagreement alike, and Gwet’s AC has identity weights.",
    "Percent agreement takes no chance off, Fleiss’ kappa counts each disagreement alike, and Gwet’s AC has quadratic weights.",
    "S@k: how often a text that people find relevant is among the first k.",
    "R-precision: the share of relevant ones among the first r, where r are known. Of queries with something relevant, with 95 % intervals.",
    "What people say of the judged texts of each system, wherever it ranked them, with 95 % intervals from resampled items.",
    "Money: 0.00 USD for approved work", "Money> no budget is kept for people of this site",
    "What each metric would have been after fewer judgments, in the order they came in. Lines that run level say that more judgments change little.",
    "The page Results holds them against the scores of texts.", "Settled:", "Not settled:", "The model did not converge: take this with care.",
)  # fmt: skip
PATTERNS = [
    *map(re.escape, DEFINITIONS),
    r"Figures as of [^;]+; counters as of now\.",
    r"Answers are on the scale .*",
]
CHECKERS.extend(Checker(re.compile(pattern), lambda rows: True, "definitions") for pattern in PATTERNS)
