"""Say why the pages of work of a study must stay: participants have taken them, or may still get them."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import CrowdCall, CrowdSession, Participation, Publication, SpendingRequest, Worker
from common.amounts import thousands
from judgments.models import Study


def describe_taken_work(study: Study) -> str:
    """Return why the study's pages of work must stay, as a sentence for staff; "" if nobody took or may get them."""
    if study.simulated:
        return _(
            "Study %(slug)r contains answers of the rehearsal crowd, so its pages of work must stay. "
            "Duplicate the study instead."
        ) % {"slug": study.slug}
    assignments = study.assignments.exclude(worker__source=Worker.Source.REHEARSAL)
    n = assignments.values("worker").distinct().count()
    if n:
        sentence = ngettext(
            "One participant has taken pages of work, so the pages of work must stay. Duplicate "
            "the study instead.",
            "%(n)s participants have taken pages of work, so the pages of work must stay. "
            "Duplicate the study instead.",
            n,
        )
        return sentence % {"n": thousands(n)}
    n = Participation.objects.filter(study=study).count()
    if n:
        sentence = ngettext(
            "One participant has joined, so the pages of work must stay. Duplicate the study instead.",
            "%(n)s participants have joined, so the pages of work must stay. Duplicate the study instead.",
            n,
        )
        return sentence % {"n": thousands(n)}
    if any(model.objects.filter(study=study).exists() for model in (Publication, CrowdSession, CrowdCall)):
        return _(
            "Pages of work of study %(slug)r are published at its crowd, so they must stay. "
            "Duplicate the study instead."
        ) % {"slug": study.slug}
    waiting_requests = SpendingRequest.objects.filter(study=study, state=SpendingRequest.State.WAITING)
    if waiting_requests.exists():
        return _(
            "A spending request of study %(slug)r is waiting for a second person. Confirm or refuse it first."
        ) % {"slug": study.slug}
    return ""
