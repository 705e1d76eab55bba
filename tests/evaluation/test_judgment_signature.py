"""The judgment signature: what it says of a study, what changes it, and that it is verified from the rows."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from evaluation.data.export.exporting import export_judgments
from evaluation.data.judgment_sets.loaders import load_judgments, signature_of_study
from evaluation.models import Analysis
from evaluation.numeric.signatures import parse
from evaluation.results.aggregation import aggregate_study
from judgments.models import Study
from tests.evaluation.studies import StudyOf, make_dataset

pytestmark = pytest.mark.django_db

LEFT, RIGHT = "first-left", "second-left"


@pytest.fixture(scope="module")
def triplets(module_db: None) -> StudyOf:
    """Two pairs with two references each; three workers, one of whom fails the control item and one leaves a page."""
    dataset = make_dataset("toy", {"a.jpg": ["a dog", "one dog"], "b.jpg": ["a cat", "one cat"]})
    study = StudyOf(dataset, "triplet", controls={"per_hit": 1, "threshold": 0.7}, seed=11)
    hits = []
    for image, key in (("a.jpg", "p1"), ("b.jpg", "p2")):
        pair = study.pair(key, image, f"first of {key}", f"second of {key}")
        references = list(pair.item.references.order_by("position"))
        units = [
            study.unit(f"{key}-{place}", pair=pair, reference=one) for place, one in enumerate(references)
        ]
        control = study.unit(f"c-{key}", image, first="x", control=True, expected=1)
        hits.append(study.hit(f"h-{key}", [*units, control]))
    for hit in hits:
        study.answer(hit, "w-1", [1, 1, 1], presented=[LEFT, RIGHT, LEFT])
        study.answer(hit, "w-3", [2, 2, 2], presented=[LEFT, LEFT, LEFT])
    study.answer(hits[0], "w-2", [1, 2, 1], presented=[LEFT, RIGHT, LEFT])
    return study


def test_it_says_how_the_judgments_came_about(triplets: StudyOf) -> None:
    found = signature_of_study(triplets.study)
    assert str(found).startswith(
        "triplet|pairs:2|units:4|imgs:2|refs:2|votes:1-2|sides:0.5|ctrl:0.7|agg:majority-then-pairs|ties:set-aside"
        "|seed:11|data:"
    )
    assert parse(str(found)) == found
    assert signature_of_study(triplets.study, table=load_judgments(triplets.study)) == found
    assert len(str(found.fields["data"])) == 16


def test_a_unit_without_a_counted_vote_is_seen_in_the_votes(triplets: StudyOf) -> None:
    pair = triplets.study.pairs.first()
    triplets.unit("unjudged", pair=pair)
    assert signature_of_study(triplets.study).fields["votes"] == "0-2"


def test_an_answer_more_changes_the_data_and_the_votes(triplets: StudyOf) -> None:
    before = signature_of_study(triplets.study)
    triplets.answer(triplets.study.hits.get(key="h-p2"), "w-2", [1, 1, 1], presented=[RIGHT, LEFT, LEFT])
    after = signature_of_study(triplets.study)
    assert {name for name in after.fields if after.fields[name] != before.fields[name]} == {"votes", "data"}


def test_units_of_one_caption_have_neither_pairs_nor_sides() -> None:
    study = StudyOf(make_dataset("one", {"a.jpg": ["a dog"]}), "relevance", controls={"per_hit": 0})
    study.answer(study.hit("h", [study.unit("u", "a.jpg", first="a cat")]), "w-1", [1])
    text = str(signature_of_study(study.study))
    assert text.startswith(
        "relevance|units:1|imgs:1|refs:0|votes:1|sides:none|ctrl:none|agg:two-thirds|ties:no-ties"
    )


def test_simulated_answers_are_named(triplets: StudyOf) -> None:
    study = Study.objects.get(pk=triplets.study.pk)
    study.simulated = True
    assert signature_of_study(study).fields["people"] == "simulated"


def test_results_and_manifests_carry_it(triplets: StudyOf, tmp_path: Path) -> None:
    signature = str(signature_of_study(triplets.study))
    assert aggregate_study(study=triplets.study)["signature"] == signature
    assert Analysis.objects.get().judgments == signature
    manifest = export_judgments(study=triplets.study, format="csv", output=tmp_path / "j.csv").manifest
    assert manifest["judgment_signature"] == signature
    # the same judgments in full and in short
    assert manifest["judgments_sha256"].startswith(str(parse(signature).fields["data"]))


def test_verify_computes_a_signature_again(triplets: StudyOf, capsys: pytest.CaptureFixture[str]) -> None:
    signature = str(signature_of_study(triplets.study))
    call_command("verify", signature, "--study", triplets.study.slug)
    assert "The signature holds" in capsys.readouterr().out
    wrong = signature.replace("pairs:2", "pairs:3").replace("seed:11", "seed:12")
    with pytest.raises(CommandError, match="2 of its parts differ"):
        call_command("verify", wrong, "--study", triplets.study.slug)
    said = capsys.readouterr().out
    assert "pairs: stated 3, found 2" in said
    assert "seed: stated 12, found 11" in said


@pytest.mark.parametrize("text", ["|", "triplet|pairs", "a|b:1"])
def test_verify_refuses_what_is_no_signature(triplets: StudyOf, text: str) -> None:
    with pytest.raises(CommandError, match="is no signature"):
        call_command("verify", text, "--study", triplets.study.slug)


def test_verify_asks_which_study_a_signature_is_of() -> None:
    with pytest.raises(CommandError, match="expected --study SLUG"):
        call_command("verify", "triplet|seed:1|v:1")


def test_verify_of_a_study_tells_stored_results_that_the_rows_do_not_give(
    triplets: StudyOf, capsys: pytest.CaptureFixture[str]
) -> None:
    slug = triplets.study.slug
    with pytest.raises(CommandError, match="no stored results"):
        call_command("verify", slug)
    aggregate_study(study=triplets.study)
    call_command("verify", slug)
    assert "holds" in capsys.readouterr().out
    analysis = Analysis.objects.get()
    result = json.loads(json.dumps(analysis.result))
    result["agreement"]["alpha"]["judgments"] += 1
    Analysis.objects.filter(pk=analysis.pk).update(result=result)
    with pytest.raises(CommandError, match="does not hold"):
        call_command("verify", slug)
    assert "agreement.alpha.judgments" in capsys.readouterr().out
