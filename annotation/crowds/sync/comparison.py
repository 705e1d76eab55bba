"""Compare the publications of a study with the external HITs (offers of work) at its crowd, and record their work.

A ``Publication`` is the database's row of an external HIT, and a ``CrowdPublication`` is what the crowd reports of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from annotation.crowds import Ability, CrowdBackend
from annotation.crowds.base import CrowdPublication, RetryLater
from annotation.crowds.extra_slots import remove_extra_slots
from annotation.crowds.outbox.delivery import finish_call
from annotation.crowds.reported_work import IncompleteWork, record_work
from annotation.crowds.sync.endings import end_publication, end_superseded_sessions
from annotation.crowds.sync.report import Discrepancy
from annotation.models import CrowdCall, CrowdSession, Publication, at_crowd
from annotation.money.ledger import OverBudget
from annotation.work.slots.release import expire_overdue
from common.amounts import spell_cents
from judgments.jobs.runs import Progress
from judgments.models import Study
from judgments.studies.designs import design_of

Status = CrowdSession.Status
State = Publication.State
MAX_UNREADABLE = 3  # number of external HITs in a row that cannot be read, after which a sync gives up
# after this time, external HITs are read even if they seem unchanged
FULL_READ_INTERVAL = timedelta(hours=24)


@dataclass(slots=True)
class CrowdComparison:
    """The comparison of all publications of a study with the external HITs at its crowd.

    Attributes:
        is_full: whether to read the work on external HITs that seem unchanged, too.
        discrepancies: the differences found so far.
        asked_at: when the crowd was asked for its external HITs.
    """

    study: Study
    backend: CrowdBackend
    is_full: bool
    discrepancies: list[Discrepancy] = field(default_factory=list)
    asked_at: datetime = field(init=False)

    def note(self, kind: str, sentence: str, **ids: str) -> None:
        self.discrepancies.append(Discrepancy(kind, sentence, ids))

    def run(self, progress: Progress | None) -> None:
        self.mark_changed_publications()
        expire_overdue(study=self.study)
        publications = Publication.objects.filter(platform=self.study.platform, study=self.study)
        open_publications = list(publications.filter(state__in=[State.PUBLISHED, State.EXPIRED]))
        self.asked_at = timezone.now()
        reports = list(self.backend.fetch_publications(self.study, known=open_publications))
        self.sync_reported(reports, progress)
        self.note_missing(open_publications, {report.external_id for report in reports})
        # open ones beyond those of the design, which were added for people whom the crowd sent
        remove_extra_slots(study=self.study)

    def mark_changed_publications(self) -> None:
        """Mark the publications, of all studies on the platform, of which the crowd's queue says that they changed."""
        publications = Publication.objects.filter(platform=self.study.platform)
        for external_id in self.backend.ids_with_news(self.study.platform):
            publications.filter(external_id=external_id).update(hinted_at=timezone.now())

    def sync_reported(self, reports: list[CrowdPublication], progress: Progress | None) -> None:
        """Synchronise the external HITs that the crowd lists. Stop after several unreadable ones in a row."""
        unreadable_count = 0
        for number, report in enumerate(reports, 1):
            publication = self.match_publication(report)
            if publication is None or self.can_skip(publication, report):
                continue
            try:
                self.sync_publication(publication, report)
                unreadable_count = 0
            except RetryLater as problem:  # the next sync reads it again, since it is not marked as read
                unreadable_count += 1
                external_id = publication.external_id
                self.note("not-looked-at", f"{external_id}: {problem}", publication=external_id)
                if unreadable_count == MAX_UNREADABLE:
                    break
            if progress is not None:
                progress(number / len(reports), f"{number} of {len(reports)} looked at")

    def can_skip(self, publication: Publication, report: CrowdPublication) -> bool:
        """Return whether a finished publication has the facts of the last sync (``seen``), and this one is not full."""
        is_unchanged = publication.state == State.FINISHED and publication.seen == dict(report.facts)
        return is_unchanged and not self.is_full

    def note_missing(self, publications: list[Publication], listed_ids: set[str]) -> None:
        """Note external HITs that are published according to the database, but that the crowd does not list."""
        currency = design_of(self.study).currency
        for publication in publications:
            if publication.external_id not in listed_ids:
                cents = spell_cents(publication.held_slots * publication.price_cents, currency)
                self.note(
                    "only-here",
                    f"{publication.external_id} is published by our rows, and {self.backend.title} does not have it; "
                    f"{cents} stay reserved for it.",
                    publication=publication.external_id,
                )

    def match_publication(self, report: CrowdPublication) -> Publication | None:
        """Return the publication of a reported external HIT.

        If the outcome of the call that created the HIT was unknown, the call is marked as done. If there is no
        publication, or it belongs to another external HIT, this is noted as a discrepancy, and None is returned.
        """
        publications, external_id = at_crowd(Publication, self.study), report.external_id
        publication = publications.filter(external_id=external_id).first()
        if publication is not None:
            return publication
        publication = publications.filter(token=report.token).first()
        if publication is None:
            self.note(
                "only-there",
                f"{external_id} was published for this study, and our rows do not have it: it was published by another "
                "copy of this database. Nobody's work on it is taken.",
                publication=external_id,
            )
            return None
        first_id = publication.external_id
        if first_id:
            sentence = f"{external_id} was published a second time for what {first_id} is; close it by hand."
            self.note("twice-there", sentence, publication=external_id, first=first_id)
            return None
        call = CrowdCall.objects.get(key=publication.token)
        expires_at = report.expires_at.isoformat() if report.expires_at else ""
        answer = {"external_id": external_id, "group_id": report.group_id, "expires_at": expires_at}
        try:
            finish_call(call=call, answer=answer)
        except OverBudget as problem:
            sentence = f"{external_id} was published, and there is no money for it here: {problem}"
            self.note("only-there", sentence, publication=external_id)
            return None
        publication.refresh_from_db()
        return publication if publication.external_id else None  # None if the call was dropped before

    def sync_publication(self, publication: Publication, report: CrowdPublication) -> None:
        """Record the work on an external HIT if it may have changed, and end its publication if the HIT is over."""
        self.compare_terms(publication, report)
        read_at = timezone.now()
        if self.must_read_work(publication, report):
            self.record_all_work(publication)
            end_superseded_sessions(publication)  # whose id the crowd confirmed for another worker
        if report.is_over and report.readable:
            end_publication(publication, read_at=read_at, asked_at=self.asked_at)
        Publication.objects.filter(pk=publication.pk).update(seen=dict(report.facts), looked_at=read_at)

    def must_read_work(self, publication: Publication, report: CrowdPublication) -> bool:
        """Return whether the work on an external HIT must be read, since it may have changed."""
        if self.is_full or _has_news(publication, report):
            return True
        # before unconfirmed work is excluded, read whether the crowd knows it by now
        return report.is_over and _has_unconfirmed_work(publication)

    def record_all_work(self, publication: Publication) -> None:
        """Record all work on an external HIT, and note work whose answers are missing."""
        for work in self.backend.fetch_work(publication):
            try:
                record_work(backend=self.backend, publication=publication, work=work)
            except IncompleteWork as problem:
                session_id = self.backend.session_id(publication.platform, work.external_id)
                hit_id = publication.external_id
                sentence = f"Assignment {session_id} of {hit_id} was submitted at the crowd. {problem}"
                self.note("no-answers", sentence, publication=hit_id, assignment=session_id)

    def compare_terms(self, publication: Publication, report: CrowdPublication) -> None:
        """Note whether the crowd deleted an external HIT, or reports another pay or number of places."""
        external_id, title = publication.external_id, self.backend.title
        currency = design_of(publication.study).currency
        if not report.readable:
            sentence = f"{external_id} was deleted at {title}; what was submitted is not shown there."
            self.note("deleted-there", sentence, publication=external_id)
        if report.reward_cents is not None and report.reward_cents != publication.reward_cents:
            reported_pay = spell_cents(report.reward_cents, currency)
            pay = f"{reported_pay} at {title}, and {spell_cents(publication.reward_cents, currency)}"
            self.note("money", f"{external_id} pays {pay} by our rows.", publication=external_id)
        extensions = publication.calls.filter(kind=Ability.EXTEND).exclude(
            state__in=[CrowdCall.State.DONE, CrowdCall.State.DROPPED]
        )
        if report.places != publication.places and not extensions.exists():
            people = f"{report.places} people at {title}, and for {publication.places}"
            self.note("places", f"{external_id} is for {people} by our rows.", publication=external_id)


def _has_news(publication: Publication, report: CrowdPublication) -> bool:
    """Return whether the work on an external HIT may have changed since it was last read.

    This is so if the reported facts have changed, if a notification came, or if the last reading was long ago.
    """
    read_at, facts = publication.looked_at, dict(report.facts)
    if read_at is None or publication.seen != facts or timezone.now() - read_at > FULL_READ_INTERVAL:
        return True
    return publication.hinted_at is not None and publication.hinted_at >= read_at


def _has_unconfirmed_work(publication: Publication) -> bool:
    sessions = CrowdSession.objects.filter(publication=publication, confirmed=False)
    return sessions.filter(status__in=[Status.WORKING, Status.SUBMITTED]).exists()
