"""Parse the creators and the related papers of a release, as people write them in a form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contrib.archives.errors import PublishingError

# Such as "Doe, Jane 0000-0002-1825-0097 (University of Somewhere)". Names match as little as possible (`+?`, `??`), so
# that they do not include the ORCID iD.
_CREATOR = re.compile(
    r"(?P<family>[^,()]+?)(?:, *(?P<given>[^()]+?))??(?: +(?P<orcid>\d{4}-\d{4}-\d{4}-\d{3}[\dX]))?"
    r"(?: *\((?P<affiliation>[^()]+)\))?"
)
_DOI = re.compile(r"(?:doi:|https?://(?:dx\.)?doi\.org/)?(10\.\d{4,9}/\S+)", re.IGNORECASE)
_ARXIV = re.compile(
    r"(?:arxiv:|https?://arxiv\.org/abs/)(\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Creator:
    """A person, or an organisation, whose name is in ``family``. Parts that are not given are ""."""

    family: str
    given: str
    orcid: str
    affiliation: str


@dataclass(frozen=True, slots=True)
class Paper:
    """The identifier of a paper, in the scheme "doi", "arxiv" or "url"."""

    identifier: str
    scheme: str


def read_creators(text: str) -> list[Creator]:
    """Parse creators, one per line or separated by ";". Raise PublishingError if one is invalid."""
    creators = []
    for line in re.split(r"[;\n]", text):
        if not (line := " ".join(line.split())):
            continue
        match = _CREATOR.fullmatch(line)
        if match is None:
            raise PublishingError(
                f"The creator {line!r} cannot be read; expected such as "
                "'Doe, Jane 0000-0002-1825-0097 (University of Somewhere)'."
            )
        creator = Creator(**{name: part or "" for name, part in match.groupdict().items()})
        if creator.orcid and _check_digit(creator.orcid) != creator.orcid[-1]:
            raise PublishingError(
                f"{creator.orcid} is no ORCID iD: its last digit does not follow from the others."
            )
        creators.append(creator)
    return creators


def _check_digit(orcid: str) -> str:
    """Return the check digit of an ORCID iD, by ISO 7064 MOD 11-2."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    digit_value = (12 - total % 11) % 11
    return "X" if digit_value == 10 else str(digit_value)


def read_papers(text: str) -> list[Paper]:
    """Parse DOIs, arXiv ids and https addresses, separated by blanks or commas.

    Raise PublishingError if one is invalid.
    """
    papers = []
    for word in text.replace(",", " ").split():
        if match := _DOI.fullmatch(word):
            papers.append(Paper(match[1].rstrip("."), "doi"))
        elif match := _ARXIV.fullmatch(word):
            papers.append(Paper(f"arXiv:{match[1]}", "arxiv"))
        elif word.startswith("https://"):
            papers.append(Paper(word, "url"))
        else:
            raise PublishingError(
                f"The paper {word!r} cannot be read; expected a DOI, such as 10.1162/tacl_a_00449, "
                "arXiv:2401.12345, or an https address."
            )
    return papers
