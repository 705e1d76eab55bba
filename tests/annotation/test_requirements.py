"""Whom a study lets in and gives work to."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.crowds.opening import open_study
from annotation.errors import CountryProblem, RequirementNotMet
from annotation.models import Assignment, Worker
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study
from annotation.work.submissions import submit_and_claim
from common.errors import WrongState
from judgments.design.reading.checking import make_design
from judgments.models import HITUnit, Study
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study
from tests.annotation.casting import joined, make_dataset, make_study, with_person
from tests.annotation.leasing import claimed
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def asking(**workers: Any) -> Study:
    return make_study(make_dataset(), name=f"Asking {sorted(workers)}", workers=workers)


def reviewed(worker: Worker, *, approved: int = 0, rejected: int = 0) -> None:
    """A record of reviewed pages of work, of a study of its own."""
    study, now = make_study(make_dataset("elsewhere"), name="Elsewhere"), timezone.now()
    for index in range(approved + rejected):
        Assignment.objects.create(
            study=study,
            worker=worker,
            state="approved" if index < approved else "rejected",
            slot=index,
            accepted_at=now,
            submitted_at=now,
        )


def answers_for(assignment: Assignment) -> list[dict[str, int]]:
    count = HITUnit.objects.filter(hit=assignment.hit).count()
    return [{"position": position, "value": 1} for position in range(1, count + 1)]


def test_a_worker_says_where_they_live_and_the_study_takes_those_it_asks_for(client: Client) -> None:
    study = asking(countries=["US", "CA"])
    page = client.get(f"/s/{study.slug}/").content.decode()
    assert page.count("<option") == 250  # all of them, so that the list does not tell which are wanted
    assert client.post(f"/s/{study.slug}/", {"name": "ada"}).status_code == 403
    elsewhere = client.post(f"/s/{study.slug}/", {"name": "ada", "country": "DE"})
    assert elsewhere.status_code == 403
    assert "who do not live in Germany" in elsewhere.content.decode()
    assert '<option value="DE" selected>' in elsewhere.content.decode()
    assert not Worker.objects.exists()
    assert client.post(f"/s/{study.slug}/", {"name": "ada", "country": "CA"}).status_code == 303
    assert Worker.objects.get().country == "CA"


def test_a_study_that_does_not_ask_shows_no_list(client: Client) -> None:
    study = make_study(make_dataset())
    assert 'name="country"' not in client.get(f"/s/{study.slug}/").content.decode()


def test_what_was_declared_once_is_not_asked_again_and_not_changed() -> None:
    first = asking(countries=["US"])
    second = make_study(first.dataset, name="Second", workers={"countries": ["DE"]})
    ada = joined(first, country="US")
    page = ada.client.get(f"/s/{second.slug}/").content.decode()
    assert 'name="country"' not in page
    with pytest.raises(RequirementNotMet):
        join_study(study=second, name="ada", known_worker=ada.worker)
    with refuses(CountryProblem, "United States"):
        join_study(study=second, name="ada", known_worker=ada.worker, country="DE")


def test_a_country_that_is_none_is_refused() -> None:
    with refuses(CountryProblem, "XX"):
        join_study(study=make_study(make_dataset()), name="ada", country="xx")


def test_approved_pages_are_counted_over_the_whole_installation() -> None:
    study = asking(approved_at_least=2)
    with refuses(RequirementNotMet, "Approved pages", "2", "0"):
        join_study(study=study, name="ada")
    ada = joined(make_study(study.dataset, name="First"), "ada")
    reviewed(ada.worker, approved=2, rejected=3)
    assert join_study(study=study, name="ada", known_worker=ada.worker).participation.study == study


def test_the_share_approved_must_lie_above_the_mark_when_work_is_asked_for_too() -> None:
    study, ada = with_person(asking(approval_above=0.5))
    assert claim_assignment(study=study, worker=ada.worker) is not None
    Assignment.objects.update(state="returned")
    reviewed(ada.worker, approved=1, rejected=1)
    with refuses(RequirementNotMet, "approved", "50"):
        claim_assignment(study=study, worker=ada.worker)
    told = ada.client.get(f"/s/{study.slug}/work/")
    assert told.status_code == 403
    assert "more than 50 % of your work" in told.content.decode()


def test_who_may_take_no_more_still_submits_what_they_hold() -> None:
    study, ada = with_person(asking(approval_above=0.5))
    claim = claimed(study, ada.worker)
    reviewed(ada.worker, rejected=1)
    again = claimed(study, ada.worker)
    assert again.assignment == claim.assignment
    claim.assignment.study = study
    submission, following = submit_and_claim(
        assignment=claim.assignment, answers=answers_for(claim.assignment)
    )
    assert (submission.assignment.state, following) == ("submitted", None)


def test_nobody_takes_more_hits_than_one_person_may() -> None:
    study, ada = with_person(asking(hits_at_most=1))
    claim = claimed(study, ada.worker)
    claim.assignment.study = study
    _, following = submit_and_claim(assignment=claim.assignment, answers=answers_for(claim.assignment))
    assert following is None
    assert claim_assignment(study=study, worker=ada.worker) is None
    told = ada.client.get(f"/s/{study.slug}/work/", follow=True).content.decode()
    assert "all the pages that one person can do" in told
    assert ">Go on</a>" not in told
    assert claim_assignment(study=study, worker=joined(study, "bob").worker) is not None


def test_a_page_that_was_given_back_does_not_count_against_the_limit() -> None:
    study, ada = with_person(asking(hits_at_most=1))
    claim_assignment(study=study, worker=ada.worker)
    Assignment.objects.update(state="returned")
    assert claim_assignment(study=study, worker=ada.worker) is not None


def test_a_requirement_that_the_crowd_cannot_state_is_told_in_the_plan_and_refused_at_opening(
    admin_client: Client,
) -> None:
    make_dataset()
    values = {
        "name": "Elsewhere",
        "dataset": "shapes",
        "protocol": "graded",
        "crowd": {"backend": "external"},
    }
    study = create_study(design=make_design(values | {"workers": {"approved_at_least": 5}}))
    plan = admin_client.get(f"/admin/judgments/study/{study.pk}/plan/").content.decode()
    assert "approved pages of work: at least 5" in plan
    assert "cannot" in plan
    generate_hits(study=study)
    with pytest.raises(WrongState, match="approved pages"):
        open_study(study=study)
    study.refresh_from_db()
    assert study.state == "generated"
