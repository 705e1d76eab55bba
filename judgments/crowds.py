"""The crowds that a design can name: the register that study files, forms and requirements go by.

What each can do stands in its backend (annotation.backends), the other half of adding one.
"""

from __future__ import annotations

from dataclasses import dataclass

COUNTRIES, APPROVAL_RATE, APPROVED, HITS_AT_MOST = "countries", "approval-rate", "approved", "hits-at-most"


@dataclass(frozen=True, slots=True)
class CrowdWords:
    """What is said of a crowd where its backend is not known.

    Attributes:
        label: in the form.
        requirements: what it can state to its workers, or what is checked here. Here, a country is what the worker
            declares and approval is this installation's own record; a crowd that sends its workers by a link keeps its
            record to itself.
    """

    label: str
    requirements: frozenset[str]


CROWDS: dict[str, CrowdWords] = {
    "local": CrowdWords(
        "People who come by the link", frozenset({COUNTRIES, APPROVAL_RATE, APPROVED, HITS_AT_MOST})
    ),
    "external": CrowdWords(
        "A panel that sends its people here (Prolific, Connect, SONA, links of your own)",
        frozenset({COUNTRIES, HITS_AT_MOST}),
    ),
    "mturk": CrowdWords(
        "Amazon Mechanical Turk", frozenset({COUNTRIES, APPROVAL_RATE, APPROVED, HITS_AT_MOST})
    ),
}
