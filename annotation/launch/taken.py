"""What people and crowds have of a study's pages of work, which can then not be discarded."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import (
    ConsentVersion,
    CrowdCall,
    CrowdSession,
    Participation,
    Publication,
    SpendingRequest,
    Worker,
)
from common.amounts import thousands
from judgments.models import Study


def what_was_taken(study: Study) -> str:
    """Return in a sentence who has work of the study, or is about to get it; or ""."""
    if study.simulated:
        return _("The rehearsal crowd works on study %(slug)r; duplicate the study instead.") % {
            "slug": study.slug
        }
    people = study.assignments.exclude(worker__source=Worker.Source.REHEARSAL)
    if n := people.values("worker").distinct().count():
        words = ngettext(
            "One person has taken pages of work; duplicate the study instead.",
            "%(n)s people have taken pages of work; duplicate the study instead.",
            n,
        )
        return words % {"n": thousands(n)}
    if n := Participation.objects.filter(study=study).count():
        words = ngettext(
            "One person has joined; duplicate the study instead.",
            "%(n)s people have joined; duplicate the study instead.",
            n,
        )
        return words % {"n": thousands(n)}
    if any(model.objects.filter(study=study).exists() for model in (Publication, CrowdSession, CrowdCall)):
        return _("Pages of work of study %(slug)r are at its crowd; duplicate the study instead.") % {
            "slug": study.slug
        }
    waiting = SpendingRequest.objects.filter(study=study, state=SpendingRequest.State.WAITING)
    if waiting.exists():
        return _("An order of study %(slug)r waits for a second person; confirm or refuse it first.") % {
            "slug": study.slug
        }
    return ""


def forget_unread_consent(study: Study) -> None:
    """Delete versions of a consent text that nobody was shown; the design's text is the first again."""
    unread = ConsentVersion.objects.filter(study=study)
    unread._raw_delete(unread.db)  # the log keeps that it was changed
