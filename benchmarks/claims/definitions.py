# ruff: noqa: E501 (a sentence is one line)
"""Texts that define a term, and say nothing of a study."""

import re

from benchmarks.claims.patterns import CHECKERS, Checker

DEFINITIONS = (
    "They are kept and marked in exports.", "Participants below the pass mark .", "Excluded participants .",
    "All pages of work taken", "None.", "Consensus of each item",
    "At best: if all unjudged texts were relevant.",
    "At best: if all unjudged items were relevant.",
    "Over the texts that have a consensus and references, with 95 % intervals.",
    "The model of Dawid and Skene (1979) weights each participant by an accuracy estimated from the answers. The consensus itself is not changed.",
    "Percent agreement does not correct for chance, Fleiss’ kappa treats all disagreements equally, and Gwet’s AC has identity weights.",
    "Percent agreement does not correct for chance, Fleiss’ kappa treats all disagreements equally, and Gwet’s AC has quadratic weights.",
    "S@k: how often a text that people find relevant is among the first k.",
    "R-precision: the share of relevant texts among the first r, if r are known to be relevant. Over queries with a relevant text, with 95 % intervals.",
    "R-precision: the share of relevant items among the first r, if r are known to be relevant. Over queries with a relevant item, with 95 % intervals.",
    "People’s answers to the judged texts of each system, at any rank, with 95 % intervals from resampled items.",
    "Money: 0.00 USD for approved work", "Money> this study has no budget here",
    "What each metric would have reached after fewer judgments, in the order of arrival. Flat lines mean that more judgments change little.",
    "The page Results holds them against the scores of texts.", "Settled:", "Not decided:", "The model did not converge; treat this result with caution.",
)  # fmt: skip
PATTERNS = [
    *map(re.escape, DEFINITIONS),
    r"Results as of [^;]+; counts as of now\.",
    r"Answers are on the scale .*",
]
CHECKERS.extend(Checker(re.compile(pattern), lambda rows: True, "definitions") for pattern in PATTERNS)
