"""A rehearsal with sorts of careless people and the rules on: who is caught, who is hurt."""

import itertools
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Assignment, Case, Judgment, Participation, QualityRule
from annotation.rehearsal import Crowd, rehearse
from common.errors import WrongState
from evaluation.data.integrity import check_integrity
from judgments.models import Study
from tests.studies import make_study

pytestmark = pytest.mark.django_db

SIZE: dict[str, Any] = {
    "judgments_per_unit": 5,
    "units_per_hit": 10,
    "sampling": {"pairs": {"HC": 12, "HI": 9, "MM": 3}, "references": 2},
}


def triplets(name: str, **values: Any) -> Study:
    return make_study("triplet", name=name, **(SIZE | values))


@pytest.mark.parametrize(("sort", "protocol"), [
    ("one-sided", "triplet"), ("alternating", "triplet"), ("one-sided", "relevance"), ("alternating", "graded"),
])  # fmt: skip
def test_people_of_a_sort_answer_as_it_says(sort: str, protocol: str) -> None:
    study = make_study(protocol)
    crowd = Crowd(workers=6, spammers=1.0, sorts=sort, seed=1)
    rehearse(study=study, crowd=crowd)
    for page in Assignment.objects.filter(study=study).finished():
        seen = [page.answers[str(place)]["value"] for place in range(1, len(page.answers) + 1)]
        changes = sum(before != after for before, after in itertools.pairwise(seen))
        assert changes == (0 if sort == "one-sided" else len(seen) - 1)


def test_rules_catch_the_one_sided_and_spare_the_careful() -> None:
    study = triplets("Watched", rules=[{"rule": "side-bias", "action": "exclude"}])
    crowd = Crowd(workers=6, spammers=0.4, sorts="one-sided", seed=4, drop_outs=0.0)
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
    without = rehearse(study=triplets("Without"), crowd=Crowd(**crowd))
    rules = [{"rule": name, "action": "exclude"} for name in ("side-bias", "alternation")]
    with_rules = rehearse(study=triplets("With", rules=rules), crowd=Crowd(**crowd))
    assert without.by_sort == ()
    assert with_rules.recovered > without.recovered


def test_the_recommended_rules_are_on_where_that_is_asked_for() -> None:
    study = triplets("Recommended")
    rehearse(study=study, crowd=Crowd(workers=8, spammers=0.25, sorts="alternating", seed=1, rules=True))
    assert QualityRule.objects.filter(study=study, enabled=True).count() > 4
    assert "pasted-text" not in QualityRule.objects.filter(study=study).values_list("rule", flat=True)
    paused = Participation.objects.filter(study=study, standing="paused").count()
    assert paused == Case.objects.filter(study=study, action="pause").values("worker").distinct().count() > 0


def test_a_rehearsal_with_rules_is_gone_on_with_by_the_same_people() -> None:
    study = triplets("Cut off", rules=[{"rule": "side-bias", "action": "exclude"}])
    crowd = Crowd(workers=8, spammers=0.4, sorts="one-sided", seed=5)

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
    with pytest.raises(WrongState, match="sorts names 'lazy'; expected some of fast, random"):
        Crowd(sorts="fast,lazy")


def test_the_command_says_what_became_of_each_sort(capsys: Any) -> None:
    study = triplets("Told", rules=[{"rule": "side-bias", "action": "exclude"}])
    call_command(
        "rehearse", study.slug, "--workers", "8", "--spammers", "0.25", "--sorts", "one-sided", "--seed", "1"
    )
    said = capsys.readouterr().out
    assert "Careful workers: 0 of " in said
    assert "stopped after 20 answers (middle half 20 to 20); 0 of their" in said
    assert "judgments of excluded people were invalidated" in said
