"""Find the reasons why a release must not be sent to an archive."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.translation import gettext as _

from annotation.models import Erasure
from contrib.archives.models import Deposit
from evaluation.models import Release

Archive = Deposit.Archive
# Phrases of licences of texts, in English and German, which the licence of a release can contradict.
_NON_COMMERCIAL = re.compile(r"\bBY[ -]NC\b|\bnon[ -]?commercial|\bnicht[ -]?kommerziell", re.IGNORECASE)
_SHARE_ALIKE = re.compile(r"\bBY(?:[ -]NC)?[ -]SA\b|\bshare[ -]?alike", re.IGNORECASE)
_NO_DERIVATIVES = re.compile(r"\bBY(?:[ -]NC)?[ -]ND\b|\bno[ -]?deriv", re.IGNORECASE)
_NO_RIGHTS = re.compile(
    r"all rights reserved|alle rechte vorbehalten|\bproprietary\b|\b(?:no|not|never|without)\b[^.;]{0,30}\bredistribut"
    r"|\b(?:no|not)\b[^.;]{0,20}\bdistribut|\bkeine weitergabe|\bresearch(?: purposes| use)? only\b"
    r"|\bonly for (?:[\w-]+ ){0,2}research|\bnur (?:für|zu) forschung",
    re.IGNORECASE,
)


def find_refusals(
    release: Release, to: str, repository: str, *, has_creators: bool, cleared: bool
) -> Iterator[str]:
    """Yield the reasons for which a release must not be sent.

    Args:
        to: the archive, a value of ``Deposit.Archive``.
        repository: owner and name at Hugging Face; "" if unknown.
        cleared: whether the person states that the release's licence covers the texts.
    """
    if to == Archive.ZENODO and not has_creators:
        yield _(
            "Zenodo requires the names of the people who made the data; expected at least one creator "
            "(--creators)."
        )
    if to == Archive.HUGGINGFACE and not repository:
        yield _("Expected the owner and name of the Hugging Face repository, such as my-lab/judgments.")
    if refusal := erasure_refusal(release):
        yield refusal
    dataset = release.study.dataset
    rights = dataset.attribution  # source and licence, as a person wrote them
    if not release.texts or cleared:
        return
    if not rights.strip():
        yield _(
            "This release contains the texts of dataset %(name)r, and the dataset has no licence. "
            "Enter source and licence on the page of the dataset, choose a release without texts, "
            "or confirm that you may publish the texts (--cleared)."
        ) % {"name": dataset.name}
    elif _contradicts_licence(rights, release.licence):
        yield _(
            "This release contains the texts of dataset %(name)r under the licence %(licence)s, "
            "but the licence of the texts is different (%(rights)s). Choose a release without "
            "texts or with a licence that fits, or confirm that you may publish the texts "
            "(--cleared)."
        ) % {"name": dataset.name, "licence": release.licence, "rights": " ".join(rights.split())[:200]}


def _contradicts_licence(rights: str, licence: str) -> bool:
    """Return whether a release's licence allows what the texts' licence forbids, or breaks its share-alike terms."""
    is_non_commercial = bool(_NON_COMMERCIAL.search(rights))
    # Texts under BY-SA must stay under BY-SA; BY-NC-SA would forbid commercial use.
    fits_share_alike = "SA" in licence and (is_non_commercial or "NC" not in licence)
    return bool(
        _NO_RIGHTS.search(rights)
        or (is_non_commercial and "NC" not in licence)
        or (_NO_DERIVATIVES.search(rights) and "ND" not in licence)
        or (_SHARE_ALIKE.search(rights) and not fits_share_alike)
    )


def erasure_refusal(release: Release) -> str:
    """Return why a release must not be published because a participant was erased after it was made; "" otherwise."""
    for erasure in Erasure.objects.filter(study=release.study_id).iterator():
        earlier_hashes = [entry["sha256"] for entry in erasure.content.get("releases", ())]
        # Erasures at the end of retention only remove names, which a release does not have.
        if release.sha256 in earlier_hashes and not erasure.content.get("retention"):
            return _(
                "A participant was erased after release %(version)s was made, so the release may "
                "still contain their answers. Make a new release and publish the new release."
            ) % {"version": release.version}
    return ""
