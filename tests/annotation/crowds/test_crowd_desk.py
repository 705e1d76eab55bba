"""The page of the crowd and its forms: what they show of money and wages, and what they let nobody do."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.crowds.sessions import open_session, worker_for_crowd_id
from annotation.crowds.views.figures import FIGURES
from annotation.models import Budget, CrowdCall, CrowdSession, Publication, Worker
from annotation.money import ledger
from annotation.work.joining import join_from_crowd
from judgments.design.reading.checking import make_design
from judgments.models import HIT, Job, Study, StudyEvent
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.crowds.framing import funded_study, publish
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return funded_study()


def test_figures_that_another_version_cached_are_shown(study: Study) -> None:
    figures = FIGURES.compute(study)
    cached = FIGURES.as_json(figures)
    assert {"pays", "unopposed", "overclaims", "overclaimed", "confirm"} <= cached.keys()
    assert {"counted", "below"} <= cached["wages"].keys()
    assert FIGURES.from_json(cached) == figures
    older = {key: cached[key] for key in ("forecast", "wages", "pays", "unopposed")}
    assert FIGURES.from_json(older).overclaim_count == 0


def make_draft(**values: Any) -> Study:
    """A small design, nothing generated."""
    make_dataset(pictures=False)
    small = {"name": "Draft", "dataset": "shapes", "protocol": "triplet", "units_per_hit": 4}
    sampling = {"pairs": {"MM": 6}, "references": 2}
    return create_study(
        design=make_design({**small, "sampling": sampling, "controls": {"per_hit": 1}, **values})
    )


def paid_worker(study: Study, raw: str = "A1ADA", hit: HIT | None = None) -> CrowdSession:
    """Somebody whose work was approved."""
    worker = worker_for_crowd_id(study=study, crowd_id=raw, id_name="WorkerId")
    join_from_crowd(study=study, worker=worker, consent=True)
    up = Publication.objects.filter(study=study).order_by("pk")[0] if hit is None else publish(study, hit)
    session = open_session(publication=up, worker=worker, external_id=f"3{raw}")
    CrowdSession.objects.filter(pk=session.pk).update(status="approved", confirmed=True)
    return session


def sent(client: Client, study: Study, step: str, **fields: Any) -> str:
    """The page that follows the step."""
    return words(client.post(do(study, step), {"page": "crowd", **fields}, follow=True))


GOOD = [
    ("set-budget", {"amount": "120.50"}, "The budget is changed."),
    ("extend-crowd", {"hours": "48", "why": "The weekend."}, "offer the work for 48 hours from now"),
    ("bonus", {"worker": "*", "amount": "0.50", "why": "Thank you."}, "is being paid"),
    (
        "write-workers",
        {"worker": "*", "subject": "Thanks", "text": "It helped."},
        "One message is being sent.",
    ),
    (
        "write-workers",
        {"worker": "", "subject": "Thanks", "text": "All of you."},
        "One message is being sent.",
    ),
    ("qualify-worker", {"worker": "*", "qualification": "trained", "value": "3"}, "to give"),
    ("block-worker", {"worker": "*", "why": "A script."}, "from all your work"),
    ("unblock-worker", {"worker": "*"}, "lift the block of"),
]


def test_a_form_well_filled_in_is_done_and_carried_out_in_the_background(
    designer: Client, study: Study
) -> None:
    worker = paid_worker(study).worker.name
    for step, fields, said in GOOD:
        filled = {name: worker if value == "*" else value for name, value in fields.items()}
        before = CrowdCall.objects.filter(study=study, state="waiting").count()
        shown = sent(designer, study, step, **filled)
        assert said in shown, step
        if step != "set-budget":
            assert CrowdCall.objects.filter(study=study, state="waiting").count() > before, step
            assert Job.objects.filter(kind="sync_crowd", args__study=study.slug, state="queued").count() == 1
            assert "Comparison with the crowd: waiting" in shown


BAD = [
    ("set-budget", {"amount": "much"}, "cents: Expected an amount such as 12.30."),
    ("set-budget", {"amount": "-1"}, "cents: Expected an amount"),
    ("set-budget", {"amount": "12,30"}, "cents: Expected an amount"),
    ("set-budget", {"amount": "nan"}, "cents: Expected an amount"),
    ("set-budget", {"amount": "1e999999999999999999"}, "cents: Expected an amount"),
    ("set-budget", {"amount": "99999999999"}, "cents: Expected an amount"),
    ("extend-crowd", {"hours": "soon", "why": "x"}, "hours: "),
    ("extend-crowd", {"hours": "0", "why": "x"}, "hours: "),
    ("extend-crowd", {"hours": "9000", "why": "x"}, "hours: "),
    ("bonus", {"worker": "nobody", "amount": "1.00", "why": "x"}, "no participant 'nobody' took part"),
    ("bonus", {"worker": "*", "amount": "0.005", "why": "x"}, "cents: Expected an amount"),
    ("bonus", {"worker": "*", "amount": "0", "why": "x"}, "cents: "),
    ("bonus", {"worker": "*", "amount": "1.00", "why": " "}, "why: "),
    ("bonus", {"worker": "*", "amount": "90.00", "why": "x"}, "108.00"),
    ("write-workers", {"worker": "nobody", "subject": "a", "text": "b"}, "no participant 'nobody' took part"),
    ("write-workers", {"worker": "*", "subject": "", "text": "b"}, "subject: "),
    ("qualify-worker", {"worker": "*", "qualification": "", "value": "1"}, "qualification: "),
    ("qualify-worker", {"worker": "*", "qualification": "trained", "value": "x"}, "value: "),
    ("block-worker", {"worker": "*", "why": ""}, "why: A block needs a reason"),
    ("unblock-worker", {"worker": "nobody"}, "no participant 'nobody' took part"),
]


def test_a_form_filled_in_wrong_stands_there_again_with_the_reason(designer: Client, study: Study) -> None:
    worker = paid_worker(study).worker.name
    for step, fields, said in BAD:
        filled = {name: worker if value == "*" else value for name, value in fields.items()}
        response = designer.post(do(study, step), {"page": "crowd", **filled}, follow=True)
        assert response.redirect_chain[-1][0].endswith(f"/crowd/#{step}")
        form = re.split(r'<details class="q-step" id="', response.content.decode())
        (own,) = [part for part in form if part.startswith(f'{step}" open>')]
        assert html.escape(said, quote=True) in own, fields
        for value in filter(None, filled.values()):
            assert value in own
    assert not CrowdCall.objects.filter(study=study).exists()
    assert Budget.objects.get(study=study).budget_cents == 10_000
    assert said not in words(designer.get(page(study, "crowd")))  # once


def test_a_study_that_is_closed_or_has_nothing_up_is_not_offered_longer(
    designer: Client, study: Study
) -> None:
    Study.objects.filter(pk=study.pk).update(state="closed")
    assert "is closed" in sent(designer, study, "extend-crowd", hours="5", why="x")
    Study.objects.filter(pk=study.pk).update(state="open")
    Publication.objects.filter(study=study).update(state="finished")
    assert "has no published work" in sent(designer, study, "extend-crowd", hours="5", why="x")
    assert not CrowdCall.objects.filter(study=study).exists()


def test_places_that_come_again_and_cost_too_much_leave_all_as_it_was(designer: Client, study: Study) -> None:
    Budget.objects.filter(study=study).update(budget_cents=80)  # one publication's two places cost 72
    assert "left" in sent(designer, study, "extend-crowd", hours="5", why="x")
    assert not CrowdCall.objects.filter(study=study).exists()
    assert Budget.objects.get(study=study).reserved_cents == 0


def parked(study: Study, kind: str, *, unsure: bool, key: str = "k") -> CrowdCall:
    return CrowdCall.objects.create(
        study=study, platform=study.platform, kind=kind, key=key, state="parked", problem="The answer was lost.",
        worker=paid_worker(study).worker, answer={"unsure": True} if unsure else {},
    )  # fmt: skip


def test_of_what_nobody_knows_a_person_says_whether_it_was_done(designer: Client, study: Study) -> None:
    call = parked(study, "message", unsure=True)
    shown = designer.get(page(study, "crowd")).content.decode()
    assert do(study, "call-was-done") in shown
    assert ">Try again<" not in shown
    assert "The request now counts as done." in sent(designer, study, "call-was-done", call=str(call.pk))
    call.refresh_from_db()
    assert call.state == "done"
    assert "only failed requests" in sent(designer, study, "call-was-not-done", call=str(call.pk))


def test_what_was_refused_can_be_tried_again(designer: Client, study: Study) -> None:
    call = parked(study, "message", unsure=False)
    text = words(designer.get(page(study, "crowd")))
    assert f"message participants · {call.worker} The answer was lost." in text
    assert "The request will be tried again." in sent(designer, study, "retry-call", call=str(call.pk))
    call.refresh_from_db()
    assert call.state == "waiting"
    for key in ("", "x", "999999999999999999999"):
        assert "no such outbox message" in sent(designer, study, "retry-call", call=key)


def test_a_publication_that_may_be_there_is_asked_for_again_and_found(designer: Client, study: Study) -> None:
    call = parked(study, "publish", unsure=True)
    shown = designer.get(page(study, "crowd")).content.decode()
    assert do(study, "retry-call") in shown
    assert do(study, "call-was-done") not in shown
    assert "The request will be tried again." in sent(designer, study, "retry-call", call=str(call.pk))
    call.refresh_from_db()
    assert call.state == "waiting"


def test_calls_that_are_alike_stand_in_one_line(designer: Client, study: Study) -> None:
    now = timezone.now().replace(second=1)
    for number in range(30):
        CrowdCall.objects.create(
            study=study, platform=study.platform, kind="expire", key=f"e{number}", made_at=now, state="done",
            done_at=now,
            publication=Publication.objects.filter(study=study)[0],
        )  # fmt: skip
    assert "take down published work similar requests: 30" in words(designer.get(page(study, "crowd")))


def test_a_draft_says_what_it_will_cost_and_whether_that_is_fair(designer: Client) -> None:
    study = make_draft(
        judgments_per_unit=10, seconds_per_unit=9,
        crowd={"backend": "mturk", "reward_cents": 5, "budget_cents": 60, "floor_cents_per_hour": 900},
    )  # fmt: skip
    response = designer.get(page(study, "plan"))
    plan, part = response.context["plan"], response.context["plan_parts"][0]["facts"]
    # ten places a HIT: the fee is 40 %, 2 cents on 5
    assert part.forecast.places == plan.hits * 10
    assert part.forecast.cents == plan.hits * 10 * 7
    text = words(response)
    assert f"{part.forecast.cents - 60} USD is missing from the budget" in text.replace("0.", "").replace(
        ".", ""
    )
    seconds = 9 * (plan.units + plan.controls) / plan.hits
    assert part.forecast.wage_cents == round(5 * 3600 / seconds)
    assert part.fair_cents == -(-900 * seconds // 3600)
    assert "This is below the wage floor" in text


def test_a_draft_of_volunteers_speaks_of_no_money(designer: Client) -> None:
    study = make_draft()
    text = words(designer.get(page(study, "plan")))
    assert "Participants' time" in text
    assert "Cost" not in text


def test_names_are_offered_and_no_raw_ids(designer: Client, study: Study) -> None:
    session = paid_worker(study, "A1SECRET")
    shown = designer.get(page(study, "crowd")).content.decode()
    assert f'<option value="{session.worker.name}">' in shown
    assert "A1SECRET" not in shown
    assert Worker.objects.count() == 1


def test_the_workers_page_gives_no_link_where_a_crowd_sends_the_people(
    designer: Client, study: Study
) -> None:
    text = words(designer.get(page(study, "workers")))
    assert "Mechanical Turk sends participants" in text
    assert f"/s/{study.slug}/" not in text


def test_before_opening_it_says_that_nothing_is_up_and_what_an_hour_would_pay(designer: Client) -> None:
    study = make_draft(
        crowd={"backend": "mturk", "reward_cents": 5, "budget_cents": 10, "floor_cents_per_hour": 900}
    )
    generate_hits(study=study)
    text = words(designer.get(page(study, "crowd")))
    assert "Nothing has been published yet." in text
    assert "not enough, so nothing will be published" in text
    assert "below the wage floor of 9.00" in text


@pytest.fixture
def paying_study() -> Study:
    return make_study(make_dataset(pictures=False), crowd={"reward_cents": 12, "floor_cents_per_hour": 900})


def test_before_anybody_is_paid_it_says_what_the_study_costs(designer: Client, paying_study: Study) -> None:
    text = words(designer.get(page(paying_study, "crowd")))
    copies = sum(paying_study.hits.values_list("required", flat=True))
    assert f"Expected cost {copies * 12 // 100}.{copies * 12 % 100:02d}" in text
    assert f"{copies} submissions" in text
    assert "Not supported" not in text  # what this site lacks of a crowd is no news
    assert "the wage floor is 9.00" in text


def test_a_crowd_that_can_do_nothing_is_asked_for_nothing(designer: Client, paying_study: Study) -> None:
    shown = designer.get(page(paying_study, "crowd")).content.decode()
    for step in ("bonus", "block-worker", "write-workers", "extend-crowd", "set-budget", "sync-crowd"):
        assert do(paying_study, step) not in shown


def test_a_budget_is_changed_in_amounts_and_never_below_what_is_taken(
    designer: Client, paying_study: Study
) -> None:
    paying_study.platform = "mturk-sandbox"
    paying_study.save(update_fields=["platform"])
    budget = ledger.set_budget(study=paying_study, platform=paying_study.platform, cents=500)
    ledger.book_money(budget=budget, key="reserve:x", what="reserve", reserved=300)

    def change(amount: str) -> str:
        sent = {"page": "crowd", "amount": amount, "why": "More pairs."}
        return words(designer.post(do(paying_study, "set-budget"), sent, follow=True))

    assert "Expected an amount such as 12.30" in change("1e3x")
    assert "Expected an amount such as 12.30" in change("1.005")
    assert "3.00 USD is reserved" in change("2.99")
    assert "The budget is changed." in change("12.30")
    assert Budget.objects.get(study=paying_study).budget_cents == 1230
    said = StudyEvent.objects.filter(study=paying_study, what="budget").first()
    assert said is not None
    assert said.by is not None
    assert said.words == "The budget at mturk-sandbox is 12.30 USD, before it was 5.00 USD. More pairs."
