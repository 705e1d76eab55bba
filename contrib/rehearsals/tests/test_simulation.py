"""The rehearsal crowd fills a study through the services of people, and never touches theirs."""

import itertools
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.crowds.opening import open_study
from annotation.errors import JoinRefused
from annotation.models import Assignment, Case, Judgment, Participation, QualityRule, Worker
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study
from common.errors import ServiceBusy, WrongState
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.reports import RehearsalReport
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.integrity import check_integrity
from evaluation.results.aggregation import aggregate_study
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from judgments.studies.generation.plans import plan_study
from judgments.studies.studies import duplicate_study
from tests.marks import long_except
from tests.refusals import refuses
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "protocol", long_except(["triplet", "pairwise", "relevance", "graded"], "triplet", "graded")
)
def test_every_hit_is_filled_and_everything_is_marked(protocol: str) -> None:
    study = make_study(protocol)
    report = rehearse(study=study, crowd=RehearsalCrowd(workers=6, spammers=0.0, seed=1))
    study.refresh_from_db()
    assert (study.simulated, study.state) == (True, "closed")
    for hit in study.hits.all():
        finished = hit.assignments.finished()
        assert hit.open_slots == 0
        assert finished.values("worker").distinct().count() == finished.count() == 3
    assert not Assignment.objects.filter(study=study, simulated=False).exists()
    assert not Worker.objects.filter(assignments__study=study).exclude(source="rehearsal").exists()
    assert report.judgments == Judgment.objects.of_study(study).count()
    assert report.hits == study.hits.count()


def test_careful_workers_recover_the_truth_and_spammers_spoil_it() -> None:
    size: dict[str, Any] = {
        "judgments_per_unit": 7,
        "units_per_hit": 10,
        "sampling": {"pairs": {"HC": 6, "HI": 6, "MM": 3}, "references": 2},
    }
    careful = rehearse(
        study=make_study("triplet", **size), crowd=RehearsalCrowd(workers=9, spammers=0.0, seed=2)
    )
    spoiled = rehearse(
        study=make_study("triplet", name="Spoiled", **size),
        crowd=RehearsalCrowd(workers=9, spammers=1.0, seed=2),
    )
    assert careful.recovered > 0.9
    assert careful.controls_careful is not None
    assert careful.controls_careful > 0.7
    assert spoiled.recovered < 0.75
    assert spoiled.controls_careful is None


def test_a_rehearsal_speaks_of_the_consensus_that_aggregate_finds() -> None:
    pairs = {"pairs": {"HC": 6, "HI": 6, "MM": 3}, "references": 2}
    study = make_study("triplet", judgments_per_unit=5, sampling=pairs)
    report = rehearse(study=study, crowd=RehearsalCrowd(workers=8, spammers=0.5, seed=1))
    found = aggregate_study(study=study)
    assert not all(worker["used"] for worker in found["workers"])
    ties = sum(unit["tie"] for unit in found["units"])
    assert ties > 0  # five answers never tie, so some were set aside
    assert report.units == len(found["units"])
    assert report.undecided == pytest.approx(ties / report.units)
    assert report.recovered <= 1 - report.undecided


def test_the_same_seed_gives_the_same_answers() -> None:
    study = make_study("triplet")
    copy = duplicate_study(study=study)
    generate_hits(study=copy)
    answers = []
    for one in (study, copy):
        rehearse(study=one, crowd=RehearsalCrowd(workers=5, spammers=0.2, seed=4))
        rows = Judgment.objects.of_study(one).values_list("unit__key", "assignment__worker__name", "value")
        answers.append(sorted(rows))
    assert answers[0] == answers[1]


def test_a_rehearsal_that_was_stopped_goes_on() -> None:
    study = make_study("pairwise")

    class Stopped(Exception):
        pass

    def stop(share: float, words: str) -> None:
        if share > 0.4:
            raise Stopped

    with pytest.raises(Stopped):
        rehearse(study=study, crowd=RehearsalCrowd(workers=5, seed=1), progress=stop)
    report = rehearse(study=study, crowd=RehearsalCrowd(workers=5, seed=1))
    assert report.hits == study.hits.count()
    assert Judgment.objects.of_study(study).count() == report.judgments


def test_two_crowds_never_mix_their_answers() -> None:
    study = make_study("pairwise")

    def meanwhile(share: float, words: str) -> None:
        with pytest.raises(ServiceBusy):
            rehearse(study=Study.objects.get(), crowd=RehearsalCrowd(workers=5, seed=1))

    rehearse(study=study, crowd=RehearsalCrowd(workers=5, seed=1), progress=meanwhile)
    with refuses(WrongState, "workers 5", "spammers 0.1", "accuracy 0.85", "seed 1"):
        rehearse(study=study, crowd=RehearsalCrowd(workers=5, seed=2))
    again = rehearse(study=study, crowd=RehearsalCrowd(workers=5, seed=1))
    assert again.judgments == Judgment.objects.of_study(study).count()


def test_people_who_left_long_ago_do_not_stand_in_the_way() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)
    claim_assignment(study=study, worker=worker)
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert rehearse(study=study, crowd=RehearsalCrowd(workers=4)).hits == study.hits.count()


def test_a_study_with_people_s_judgments_is_refused() -> None:
    study = make_study()
    worker, _ = make_worker(study)
    claim_assignment(study=study, worker=worker)
    with pytest.raises(WrongState, match="judgments of people"):
        rehearse(study=study, crowd=RehearsalCrowd())
    assert not Assignment.objects.filter(simulated=True).exists()
    study.refresh_from_db()
    assert not study.simulated


def test_a_draft_is_refused() -> None:
    with pytest.raises(WrongState, match="generate them first"):
        rehearse(study=make_study(opened=False), crowd=RehearsalCrowd())


def test_people_cannot_join_a_rehearsed_study_and_it_cannot_be_opened() -> None:
    study = make_study()
    rehearse(study=study, crowd=RehearsalCrowd(workers=4))
    with pytest.raises(JoinRefused):
        join_study(study=study, name="somebody")
    with pytest.raises(WrongState, match="copy to people"):
        open_study(study=study)


def test_a_person_who_joined_before_gets_no_work_of_a_rehearsal() -> None:
    study = make_study("pairwise")
    worker, _ = make_worker(study)

    class Met(Exception):
        pass

    def meet(share: float, words: str) -> None:
        assert claim_assignment(study=study, worker=worker) is None
        raise Met

    with pytest.raises(Met):
        rehearse(study=study, crowd=RehearsalCrowd(workers=5), progress=meet)


def test_the_crowd_is_as_accurate_as_fast_and_as_faithful_as_was_asked() -> None:
    def rehearsed(name: str, **crowd: Any) -> RehearsalReport:
        study = make_study("triplet", name=name)
        return rehearse(study=study, crowd=RehearsalCrowd(workers=6, spammers=0.0, seed=1, **crowd))

    perfect = rehearsed("Perfect", accuracy=1.0, drop_outs=0.0)
    guessing = rehearsed("Guessing", accuracy=0.5, drop_outs=0.5)
    fast = rehearsed("Fast", speed=4.0, drop_outs=0.0)
    assert perfect.controls_careful is not None
    assert guessing.controls_careful is not None
    assert perfect.controls_careful > 0.85 > guessing.controls_careful
    assert perfect.returned == 0 < guessing.returned
    assert fast.hours < perfect.hours / 2


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"workers": 0}, "workers is 0.*100,000"),
        ({"spammers": 1.5}, r"spammers is 1\.5"),
        ({"accuracy": -1.0}, "accuracy is -1"),
        ({"drop_outs": 1.0}, r"drop_outs is 1.*0\.9"),
        ({"speed": 0.0}, "speed is 0"),
    ],
)
def test_what_is_no_crowd_is_refused_by_name(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WrongState, match=sentence):
        RehearsalCrowd(**wrong)


def test_a_careful_crowd_takes_about_the_hours_that_the_plan_says() -> None:
    study = make_study("pairwise", units_per_hit=2, sampling={"pairs": {"HC": 10, "HI": 6, "MM": 4}})
    crowd = RehearsalCrowd(workers=40, spammers=0.0, drop_outs=0.0, seed=5)
    plan = plan_study(design_of(study), study.dataset)
    report = rehearse(study=study, crowd=crowd)
    assert report.judgments == plan.judgments
    assert report.hours == pytest.approx(plan.hours, rel=0.1)


SIZE: dict[str, Any] = {
    "judgments_per_unit": 5,
    "units_per_hit": 10,
    "sampling": {"pairs": {"HC": 12, "HI": 9, "MM": 3}, "references": 2},
}


def triplets(name: str, **values: Any) -> Study:
    return make_study("triplet", name=name, **(SIZE | values))


@pytest.mark.parametrize(("sort", "protocol"), long_except([
    ("one-sided", "triplet"), ("alternating", "triplet"), ("one-sided", "relevance"), ("alternating", "graded"),
], ("one-sided", "relevance"), ("alternating", "graded")))  # fmt: skip
def test_people_of_a_sort_answer_as_it_says(sort: str, protocol: str) -> None:
    study = make_study(protocol)
    crowd = RehearsalCrowd(workers=6, spammers=1.0, sorts=sort, seed=1)
    rehearse(study=study, crowd=crowd)
    for page in Assignment.objects.filter(study=study).finished():
        seen = [page.answers[str(place)]["value"] for place in range(1, len(page.answers) + 1)]
        changes = sum(before != after for before, after in itertools.pairwise(seen))
        assert changes == (0 if sort == "one-sided" else len(seen) - 1)


def test_rules_catch_the_one_sided_and_spare_the_careful() -> None:
    study = triplets("Watched", rules=[{"rule": "side-bias", "action": "exclude"}])
    crowd = RehearsalCrowd(workers=6, spammers=0.4, sorts="one-sided", seed=4, drop_outs=0.0)
    report = rehearse(study=study, crowd=crowd)
    careful, one_sided = report.by_sort
    assert (careful.sort, careful.stopped) == ("careful", 0)
    # whoever came to twenty answers was stopped there
    assert one_sided.stopped > 1
    assert one_sided.answers is not None
    assert one_sided.answers[1] == 20.0
    assert one_sided.kept <= 19 * (one_sided.people - one_sided.stopped)
    assert one_sided.judgments - one_sided.kept == report.invalidated > 0
    # newcomers came, and every place was filled in the end
    assert report.workers > 6
    assert not study.hits.exclude(open_slots=0).exists()
    assert check_integrity().problems == []
    assert report.judgments == Judgment.objects.of_study(study).current().count()


def test_the_rules_make_the_consensus_better_where_many_do_not_look() -> None:
    crowd: dict[str, Any] = {"workers": 8, "spammers": 0.5, "sorts": "one-sided,alternating", "seed": 1}
    without = rehearse(study=triplets("Without"), crowd=RehearsalCrowd(**crowd))
    rules = [{"rule": name, "action": "exclude"} for name in ("side-bias", "alternation")]
    with_rules = rehearse(study=triplets("With", rules=rules), crowd=RehearsalCrowd(**crowd))
    assert without.by_sort == ()
    assert with_rules.recovered > without.recovered


def test_the_recommended_rules_are_on_where_that_is_asked_for() -> None:
    study = triplets("Recommended")
    rehearse(
        study=study, crowd=RehearsalCrowd(workers=8, spammers=0.25, sorts="alternating", seed=1, rules=True)
    )
    assert QualityRule.objects.filter(study=study, enabled=True).count() > 4
    assert "pasted-text" not in QualityRule.objects.filter(study=study).values_list("rule", flat=True)
    paused = Participation.objects.filter(study=study, standing="paused").count()
    assert paused == Case.objects.filter(study=study, action="pause").values("worker").distinct().count() > 0


def test_a_rehearsal_with_rules_is_gone_on_with_by_the_same_people() -> None:
    study = triplets("Cut off", rules=[{"rule": "side-bias", "action": "exclude"}])
    crowd = RehearsalCrowd(workers=8, spammers=0.4, sorts="one-sided", seed=5)

    class CutOffHere(Exception):
        pass

    def cut(share: float, words: str) -> None:
        if share > 0.5:
            raise CutOffHere

    with pytest.raises(CutOffHere):
        rehearse(study=study, crowd=crowd, progress=cut)
    report = rehearse(study=study, crowd=crowd)
    assert not study.hits.exclude(open_slots=0).exists()
    one_sided = report.by_sort[1]
    assert one_sided.stopped > 1
    assert one_sided.kept <= 19 * (one_sided.people - one_sided.stopped)


def test_a_sort_that_is_none_is_refused_by_name() -> None:
    with refuses(WrongState, "lazy", "random"):
        RehearsalCrowd(sorts="fast,lazy")


def test_the_command_says_what_became_of_each_sort(capsys: Any) -> None:
    study = triplets("Told", rules=[{"rule": "side-bias", "action": "exclude"}])
    call_command(
        "rehearse", study.slug, "--workers", "8", "--spammers", "0.25", "--sorts", "one-sided", "--seed", "1"
    )
    said = capsys.readouterr().out
    assert "Careful participants: 0 of " in said
    assert "stopped after 20 answers (middle half 20 to 20); 0 of their" in said
    assert "judgments of excluded participants were invalidated" in said
