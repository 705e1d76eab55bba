"""The terms and the version of a release, and whether a study can be released on these terms."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.models import Assignment
from evaluation.errors import NotReleasable, ReleaseError
from judgments.kinds import KINDS
from judgments.models import Study

MAX_VERSION_LENGTH = 20
VERSION = re.compile(r"\d+(\.\d+){1,2}")
MAX_RELEASES = 100  # recent releases from which the next version is derived


@dataclass(frozen=True, slots=True)
class ReleaseTerms:
    """The version, title and terms of a release.

    Attributes:
        licence: SPDX identifier.
        title: title of the release; "" for the study's name.
        citation: how to cite the release; "" for its title and version.
        texts, comments: whether to include the texts of captions, and the comments of participants.
    """

    version: str
    licence: str
    title: str = ""
    citation: str = ""
    texts: bool = True
    comments: bool = False


def next_version(study: Study) -> str:
    """Return the version after the highest of the recent ones: 1.0, 1.1, and so on."""
    recent_versions = study.releases.order_by("-pk").values_list("version", flat=True)[:MAX_RELEASES]
    versions = [tuple(map(int, version.split("."))) for version in recent_versions]
    if not versions:
        return "1.0"
    major, minor, *_ = max(versions)
    while study.releases.filter(version=f"{major}.{minor + 1}").exists():
        minor += 1
    return f"{major}.{minor + 1}"


def check_terms(study: Study, terms: ReleaseTerms) -> None:
    """Raise ReleaseError if the terms are invalid or the study cannot be released.

    It cannot be released if it is not closed, has no judgments, or was released as this version before. It cannot be
    released without texts if its answers are about texts.
    """
    if not VERSION.fullmatch(terms.version) or len(terms.version) > MAX_VERSION_LENGTH:
        raise ReleaseError(
            _("%(version)r is not a version; expected numbers such as 1.0 or 1.1.")
            % {"version": terms.version}
        )
    if study.state != Study.State.CLOSED:
        raise NotReleasable(
            _(
                "Study %(slug)r is not closed. Close it first, because a release contains the right answers "
                "of its check questions."
            )
            % {"slug": study.slug}
        )
    if not Assignment.objects.filter(study=study).finished().exists():
        raise NotReleasable(_("Study %(slug)r has no judgments to release.") % {"slug": study.slug})
    if not terms.texts and KINDS[study.protocol].is_open:
        raise ReleaseError(
            _(
                "Study %(slug)r cannot be released without texts, because answers of the protocol %(protocol)s "
                "are about texts."
            )
            % {"slug": study.slug, "protocol": study.protocol}
        )
    if study.releases.filter(version=terms.version).exists():
        raise NotReleasable(describe_earlier_release(study, terms.version))


def describe_earlier_release(study: Study, version: str) -> str:
    return _(
        "Study %(slug)r already has a release %(version)s. Choose another version, such as %(next_version)s."
    ) % {"slug": study.slug, "version": version, "next_version": next_version(study)}
