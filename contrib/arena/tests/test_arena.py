"""Pages of an arena: drawn when somebody takes them, recorded, drawn again, counted."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.crowds import backend_of
from annotation.crowds.base import CrowdWork
from annotation.crowds.opening import open_study
from annotation.crowds.reported_work import IncompleteWork, exclude_unknown_work, record_work
from annotation.models import Assignment, Judgment, Worker
from annotation.privacy.erasing import erase_person
from annotation.quality.exclusions import exclude_worker, lift_exclusion
from annotation.work.answers.revisions import revise_judgments
from annotation.work.claims import claim_assignment
from annotation.work.slots.release import return_assignment
from annotation.work.submissions import submit_and_claim, submit_assignment
from annotation.work.system_pairs import counts_for_pair, recount_system_pairs, tally_answers
from common.errors import DesignError
from contrib.arena.tests.arenas import arena
from contrib.arena.tests.drawing_again import draw_page_again
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.integrity import check_integrity
from judgments.design.reading.checking import make_design
from judgments.models import DrawState, HITUnit, Study, SystemPair
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from judgments.studies.generation.plans import plan_study
from tests.annotation.casting import joined
from tests.annotation.crowds.panels import ADA, do_page, pages, session, start
from tests.annotation.leasing import claimed

pytestmark = pytest.mark.django_db

CHOSEN = {
    "method": "even", "scores": {}, "seed": 0, "floor": 1.0, "per": "pairs", "budget": 1, "population": 2,
    "chances": {"one": 0.5},
}  # fmt: skip


def answers_of(claim: Any, value: int = 1) -> list[dict[str, Any]]:
    return [{"position": place.position, "value": value} for place in claim.page_units]


def person(study: Study) -> Worker:
    return Worker.objects.filter(name="ada").first() or joined(study, "ada").worker


def counts(study: Study) -> list[tuple[int, int, int]]:
    return list(SystemPair.objects.filter(study=study).values_list("wins", "ties", "losses"))


def test_a_page_is_drawn_when_it_is_taken_and_says_how() -> None:
    study = arena()
    assert SystemPair.objects.filter(study=study).count() == 6
    assert not HITUnit.objects.filter(hit__study=study, unit__control=False).exists()
    claim = claimed(study, person(study))
    assert sorted(place.unit.control for place in claim.page_units) == [False] * 4 + [True]
    places = HITUnit.objects.filter(hit=claim.assignment.hit, unit__control=False)
    # before any answer, all six pairs of systems are alike
    assert places.order_by("position").values_list("chance", flat=True)[0] == pytest.approx(1 / 6)
    assert len({place.unit.item_id for place in claim.page_units}) == 5
    again = claimed(study, person(study))
    assert [place.unit.pk for place in again.page_units] == [place.unit.pk for place in claim.page_units]
    assert DrawState.objects.filter(study=study).count() == 1


def test_answers_are_counted_whichever_side_they_were_for() -> None:
    study = arena()
    claim = claimed(study, person(study))
    _, following = submit_and_claim(assignment=claim.assignment, answers=answers_of(claim))
    assert sum(map(sum, counts(study))) == 4
    for row in SystemPair.objects.filter(study=study):
        there = {"wins": row.wins, "ties": row.ties, "losses": row.losses}
        assert there == counts_for_pair(tally_answers(study), row.first_system_id, row.second_system_id)
    assert following is not None
    state = DrawState.objects.filter(study=study).order_by("number").last()
    assert state is not None
    assert (state.answers, [tuple(row) for row in state.counts]) == (4, counts(study))
    # a repeated submission, a revision, an exclusion and its end leave each current answer counted once
    submit_assignment(assignment=claim.assignment, answers=answers_of(claim))
    claim.assignment.refresh_from_db()
    revise_judgments(assignment=claim.assignment, answers=answers_of(claim, 0))
    assert [sum(column) for column in zip(*counts(study), strict=True)] == [0, 4, 0]
    exclusion = exclude_worker(study=study, worker=claim.assignment.worker, why="careless")
    assert sum(map(sum, counts(study))) == 0
    lift_exclusion(exclusion=exclusion, why="a mistake")
    assert sum(map(sum, counts(study))) == 4
    before = counts(study)
    recount_system_pairs(study)
    assert (counts(study), check_integrity().problems) == (before, [])


def study_of_a_panel() -> Study:
    """An arena of which a participant of a panel has submitted both pages of a session."""
    crowd = {"backend": "external", "reward_cents": 50, "budget_cents": 100_000}
    study = arena(opened=False, crowd=crowd, panel={"preset": "prolific", "hits": 2, "signature": ""})
    generate_hits(study=study)
    open_study(study=study)
    study.refresh_from_db()
    browser, _ = start(study, ADA)
    for _ in range(2):
        do_page(study, browser)
    return study


def test_all_answers_of_a_session_that_the_panel_names_after_all_are_counted_again() -> None:
    study = study_of_a_panel()
    before, one = counts(study), session(study)
    assert sum(map(sum, before)) == 8
    assert exclude_unknown_work(session=one) == 2
    assert sum(map(sum, counts(study))) == 0
    work = CrowdWork(one.external_id, ADA["PROLIFIC_PID"], "submitted")
    record_work(backend=backend_of(study), publication=one.publication, work=work)
    assert (counts(study), pages(study, "submitted"), check_integrity().problems) == (before, 2, [])


def test_a_page_that_cannot_count_again_leaves_the_other_pages_of_its_session_counted() -> None:
    study = study_of_a_panel()
    one = session(study)
    exclude_unknown_work(session=one)
    newest = Assignment.objects.filter(session=one).latest("accepted_at")
    again = {
        "study": study,
        "hit": newest.hit,
        "worker": newest.worker,
        "slot": 1,
        "expires_at": newest.expires_at,
    }
    Assignment.objects.create(**again)  # the same page, taken again outside the session
    work = CrowdWork(one.external_id, ADA["PROLIFIC_PID"], "submitted")
    with pytest.raises(IncompleteWork):
        record_work(backend=backend_of(study), publication=one.publication, work=work)
    assert (sum(map(sum, counts(study))), pages(study, "submitted")) == (4, 1)


def test_a_whole_arena_can_be_drawn_again_from_what_is_stored() -> None:
    study = arena(pages=30)
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, spammers=0.0, seed=5, drop_outs=0.2))
    hits = study.hits.exclude(drawn_from=None)
    assert len(hits) == 30
    for hit in hits:
        stored = HITUnit.objects.filter(hit=hit, chance__isnull=False).order_by("position")
        assert [(one.unit, one.chance) for one in draw_page_again(hit)] == list(
            stored.values_list("unit_id", "chance")
        )
    assert check_integrity().problems == []
    # nobody judged a unit twice, and 30 pages of 4 drew more than there are units
    own = Judgment.objects.filter(assignment__study=study, unit__control=False)
    assert max(Counter(own.values_list("unit", "assignment__worker")).values()) == 1


def test_pages_of_somebody_erased_can_be_drawn_again() -> None:
    study = arena()
    claim = claim_assignment(study=study, worker=person(study))
    while claim is not None:
        _, claim = submit_and_claim(assignment=claim.assignment, answers=answers_of(claim))
    hits = list(study.hits.exclude(drawn_from=None))
    assert len(hits) > 3
    before = [draw_page_again(hit) for hit in hits]
    erase_person(study=study, worker=person(study))
    assert [draw_page_again(hit) for hit in hits] == before
    assert check_integrity().problems == []


def test_more_is_asked_about_systems_of_which_little_is_known() -> None:
    study = arena(arena={"pages": 40, "even": 0.01})
    last = SystemPair.objects.get(study=study, position=5).second_system_id
    known = SystemPair.objects.exclude(first_system=last).exclude(second_system=last)
    assert known.update(wins=100, losses=100) == 3
    claim = claimed(study, person(study))
    assert DrawState.objects.get(study=study).answers == 600
    first = HITUnit.objects.filter(hit=claim.assignment.hit, chance__isnull=False).order_by("position")[0]
    pair = first.unit.pair
    assert pair is not None
    assert last in {pair.first_system_id, pair.second_system_id}
    assert 0.25 < (first.chance or 0) < 1 / 3


def test_a_page_that_somebody_else_drew_leaves_out_what_one_has_met() -> None:
    study = arena(pages=60, sampling={"pairs": {"MM": 8}})
    ada, bob = joined(study, "ada").worker, joined(study, "bob").worker
    for _ in range(2):  # eight units, so that ada has met all of them
        claim = claimed(study, ada)
        submit_assignment(assignment=claim.assignment, answers=answers_of(claim))
    assert claim_assignment(study=study, worker=ada) is None
    taken = claimed(study, bob)
    return_assignment(assignment=taken.assignment)
    assert claim_assignment(study=study, worker=ada) is None
    assert Assignment.objects.filter(study=study, worker=ada).count() == 2


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"protocol": "graded"}, "arena"),
        ({"crowd": {"backend": "mturk"}}, r"crowd\.backend.*mturk"),
        ({"sampling": {"pairs": {"HC": 3}}}, r"sampling\.pairs"),
        ({"stopping": {"rule": "settled"}}, r"stopping\.rule.*settled"),
        ({"controls": {"per_hit": 1, "kinds": ["repeated"]}}, "controls.kinds has 'repeated'"),
        ({"arena": {"pages": 3, "even": 0}}, "arena.even is 0"),
        ({"sampling": {"only": ["one"]}, "chosen": CHOSEN}, "cannot be combined"),
    ],
)
def test_what_cannot_be_drawn_live_is_refused_with_a_sentence(values: dict[str, Any], said: str) -> None:
    usual = {"name": "x", "dataset": "x", "protocol": "pairwise", "arena": {"pages": 3}}
    with pytest.raises(DesignError, match=said):
        make_design(usual | values)


def test_the_plan_counts_pages_and_a_design_without_an_arena_is_as_before() -> None:
    study = arena(pages=7)
    plan = plan_study(design_of(study), study.dataset)
    assert (plan.hits, plan.units, plan.judgments) == (7, 72, 35)
    assert "arena" not in make_design({"name": "x", "dataset": "x", "protocol": "pairwise"}).model_dump()


def test_exported_files_have_chances_and_bring_them_back(tmp_path: Path) -> None:
    study = arena(pages=20, controls={"per_hit": 1, "threshold": 0})
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, spammers=0.0, seed=2))
    for form in ("jsonl", "csv"):
        call_command("export_judgments", study.slug, format=form, output=tmp_path / f"arena.{form}")
    rows = [json.loads(line) for line in (tmp_path / "arena.jsonl").read_text("utf-8").splitlines()]
    assert list(rows[0])[-1] == "chance"
    stored = HITUnit.objects.filter(hit__study=study).values_list("hit__key", "unit__key", "chance")
    chances = {(hit, unit): chance for hit, unit, chance in stored}
    assert [row["chance"] for row in rows] == [chances[row["hit"], row["unit"]] for row in rows]
    assert {row["chance"] is None for row in rows if row["control"]} == {True}
    with (tmp_path / "arena.csv").open(encoding="utf-8", newline="") as file:
        assert [row["chance"] for row in csv.DictReader(file)] == [
            "" if row["chance"] is None else repr(row["chance"]) for row in rows
        ]
    call_command(
        "import_judgments", "csv", str(tmp_path / "arena.csv"), dataset=study.dataset.name, study="back"
    )
    back = Study.objects.get(slug="back")
    assert Judgment.objects.filter(assignment__study=back).count() == len(rows)
    # and exported once more, as the file has the same chances
    call_command("export_judgments", "back", format="jsonl", output=tmp_path / "back.jsonl")
    returned = [json.loads(line) for line in (tmp_path / "back.jsonl").read_text("utf-8").splitlines()]
    assert {(row["hit"], row["unit"]): row["chance"] for row in returned} == {
        (row["hit"], row["unit"]): row["chance"] for row in rows
    }


def test_a_file_with_chances_has_them_in_every_judged_row(tmp_path: Path) -> None:
    study = arena(pages=6, controls={"per_hit": 0})
    rehearse(study=study, crowd=RehearsalCrowd(workers=2, spammers=0.0, seed=2))
    place = tmp_path / "arena.jsonl"
    call_command("export_judgments", study.slug, format="jsonl", output=place)
    rows = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    for change, problem in [
        ({"chance": None}, "chance"),
        ({"chance": 0}, "a number above"),
        ({"chance": 1.5}, "a number above"),
        ({"hit": None}, "drawn"),
    ]:
        place.write_text("".join(json.dumps(row) + "\n" for row in [*rows[:-1], rows[-1] | change]))
        with pytest.raises(CommandError, match=problem):
            call_command("import_judgments", "jsonl", str(place), dataset=study.dataset.name, study="back")
    assert not Study.objects.filter(slug="back").exists()
