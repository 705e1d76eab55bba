"""Two studies beside each other: the page, the call, and who may see them."""

import json
import re
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from contrib.comparing import studies
from contrib.comparing.studies import compare_studies
from judgments.access.roles import give_role
from judgments.jobs.claims import run_job
from judgments.models import Dataset, Job, Study
from tests.doors import signed_in
from tests.evaluation.reporting import words
from tests.evaluation.studies import StudyOf, make_dataset
from tests.evaluation.test_agreement_of_studies import IMAGES, TEXTS, captions, crowd_of
from tests.fetching import questions
from tests.judgments.desk import page

pytestmark = pytest.mark.django_db


def address(study: Study) -> str:
    return page(study, "compare")


def call_address(study: Study) -> str:
    return f"/api/studies/{study.slug}/comparison/"


@pytest.fixture(scope="module")
def dataset(module_db: None) -> Dataset:
    return make_dataset("pets", IMAGES)


@pytest.fixture(scope="module")
def crowd(dataset: Dataset) -> Study:
    return crowd_of(dataset)


@pytest.fixture(scope="module")
def experts(dataset: Dataset) -> Study:
    """Grades of three of them, and of one that the crowd never saw."""
    grades = dict(zip((*TEXTS[:3], "a boat"), ([4, 4], [1, 2], [1, 1], [4, 3]), strict=True))
    return captions(dataset, "experts", "graded", grades)


def test_units_of_two_studies_meet_by_their_captions(crowd: Study, experts: Study) -> None:
    found = compare_studies(first=crowd, second=experts)
    assert found["units"]["shared"] == 3
    assert (found["units"]["by_id"], found["units"]["by_content"]) == (0, 3)
    assert (found["units"]["first_only"], found["units"]["second_only"]) == (1, 1)
    cells = {
        (round(cell["first_at_least"], 2), round(cell["second_at_least"], 2)): cell
        for cell in found["thresholds"]["cells"]
    }
    # shares 1, .67, .33 and means 4, 1.5, 1: both say yes to the dog, the crowd alone to the cat
    cell = cells[0.66, 3.33]
    assert (cell["both"], cell["first_only"], cell["second_only"], cell["neither"]) == (1, 1, 0, 1)
    assert (cell["precision"]["value"], cell["recall"]["value"]) == (0.5, 1.0)
    assert cell["kappa"]["value"] == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    never_seen = compare_studies(first=crowd, second=experts, missing="no")["missing"]
    assert never_seen == {"policy": "no", "taken_as_no": 1, "left_out": 1}


def test_the_page_shows_the_figures_the_counts_and_what_was_left_out(
    designer: Client, crowd: Study, experts: Study
) -> None:
    shown = words(designer.get(address(crowd), {"with": "experts", "cell": "11"}))
    assert "Shared items 3 0 matched by id, 3 matched by content" in shown
    assert "Only in this study 1 left out" in shown
    # cell 11 is .66 (the second of three) and 3.33 (the fifth of seven)
    assert "Thresholds 0.66 (this study) and 3.33 (other study)" in shown
    assert (
        "Items that count as “yes”, of 3 in all: 1 in both studies, 1 only in this study, 0 only in the other "
        "study. Neither study: 1." in shown
    )
    taken = words(designer.get(address(crowd), {"with": "experts", "missing": "no"}))
    assert "counted as “no” in the table of thresholds" in taken


def test_two_choices_are_shown_as_a_table_of_who_says_what(designer: Client, dataset: Dataset) -> None:
    made = []
    for slug, turned in (("one", False), ("two", True)):
        study = StudyOf(dataset, "pairwise", name=slug, slug=slug, controls={"per_hit": 0})
        texts = ("a dog", "a cat") if not turned else ("a cat", "a dog")
        pair = study.pair("p1", "a.jpg", *texts)
        hit = study.hit("h1", [study.unit(f"{slug}-u", pair=pair)])
        study.answer(hit, f"{slug}-w", [2 if turned else 1])
        made.append(study.study)
    shown = words(designer.get(address(made[0]), {"with": "two"}))
    assert "in 1 of the shared items the two studies swap the sides" in shown
    assert "Shared items with a consensus in both studies: 1; with the same consensus: 1" in shown


def choices(dataset: Dataset, slug: str, protocol: str, *pairs: tuple[str, str, str, int]) -> Study:
    """Pairs of a.jpg: kind, both texts, and which one the only worker chooses."""
    made = StudyOf(dataset, protocol, name=slug.title(), slug=slug, controls={"per_hit": 0})
    rows = [
        made.pair(f"{slug}-{number}", "a.jpg", first, second, kind=kind)
        for number, (kind, first, second, _answer) in enumerate(pairs)
    ]
    made.answer(
        made.hit("h1", [made.unit(row.key, pair=row) for row in rows]), slug, [pair[-1] for pair in pairs]
    )
    return made.study


def test_where_two_studies_part_the_page_says_whether_people_like_the_longer_text(
    designer: Client, dataset: Dataset, tmp_path: Path
) -> None:
    liked = choices(
        dataset, "liked", "pairwise",
        ("HC", "a dog", "a big dog", 2), ("HC", "a cat on a mat", "a cat", 2), ("HM", "a tree", "two men", 1),
    )  # fmt: skip
    alike = choices(
        dataset, "alike", "triplet",
        ("HC", "a dog", "a big dog", 1), ("HC", "a cat", "a cat on a mat", 2), ("HM", "two men", "a tree", 2),
    )  # fmt: skip
    found = compare_studies(first=liked, second=alike)["pairs"]
    # They part on both pairs of HC: the longer text is liked once, "a cat" once; of HM they name the same.
    counts = {
        kind: [(of[name]["value"], of[name]["n"]) for name in ("same", "longer")]
        for kind, of in found.items()
    }
    assert counts == {"HC": [(0, 2), (0.5, 2)], "HM": [(1, 1), (None, 0)], "all": [(1 / 3, 3), (0.5, 2)]}
    shown = words(designer.get(address(liked), {"with": "alike"}))
    assert "Winners by pair kind" in shown
    assert "HC 0 %" in shown
    assert "pairs" not in compare_studies(
        first=captions(dataset, "g", "graded", {"a dog": [1]}),
        second=captions(dataset, "h", "graded", {"a dog": [1]}),
    )
    said = StringIO()
    call_command(
        "agreement", "study:liked", "--with", "study:alike", "--output", str(tmp_path / "c.json"), stderr=said
    )
    assert re.search(r"HC +0 .* 2 +50 ", said.getvalue())
    assert json.loads((tmp_path / "c.json").read_text())["pairs"] == found


def test_triplets_and_pairwise_votes_part_as_often_as_was_counted_on_pascal_50s(shared: Path) -> None:
    """The notes beside the data count 64.4 (HC), 99.7 (HI), 98.4 (HM) and 81.4 % (MM) with the same winner."""
    folder = str(shared / "data" / "pascal-50s")
    call_command("import_dataset", "pascal-50s", folder, "--name", "pascal-50s", stdout=StringIO())
    for protocol in ("pairwise", "triplet"):
        call_command(
            "import_judgments", "pascal-50s", folder, "--dataset", "pascal-50s", "--study", protocol,
            "--protocol", protocol, stdout=StringIO(),
        )  # fmt: skip
    liked, published = Study.objects.get(slug="pairwise"), Study.objects.get(slug="triplet")
    found = compare_studies(first=liked, second=published)["pairs"]
    same = {
        kind: (round(of["same"]["value"] * of["same"]["n"]), of["same"]["n"]) for kind, of in found.items()
    }
    # Two pairs of MM and one of HM are twice in the data, and are one pair each here; of one of MM both name the same
    # winner, and of that of HM.
    assert same == {
        "HC": (644, 1000), "HI": (997, 1000), "HM": (984 - 1, 999), "MM": (814 - 1, 998), "all": (3437, 3997),
    }  # fmt: skip
    liked_more = []
    for row in map(json.loads, Path(folder, "pairs.jsonl").read_text().splitlines()):
        winner = 1 if 2 * row["pairwise_votes"].count(1) > len(row["pairwise_votes"]) else 2
        more = len(row["first"].split()) - len(row["second"].split())
        if row["kind"] == "HC" and winner != row["triplet_winner"] and more:
            liked_more.append((more > 0) == (winner == 1))
    longer = found["HC"]["longer"]
    assert (longer["value"], longer["n"]) == (
        pytest.approx(sum(liked_more) / len(liked_more)),
        len(liked_more),
    )
    for of in found.values():
        assert of["same"]["low"] < of["same"]["value"] < of["same"]["high"]


def test_without_another_study_the_page_says_what_to_do(designer: Client) -> None:
    alone = captions(make_dataset("alone", IMAGES), "alone", "graded", {"a dog": [1]})
    shown = words(designer.get(address(alone)))
    assert "study to compare" in shown
    assert "import judgments" in shown


@pytest.mark.parametrize(
    "sent", [{"with": "nobody"}, {"with": "experts", "missing": "x", "cell": "999999999"}]
)
def test_what_is_no_choice_is_no_crash(
    designer: Client, crowd: Study, experts: Study, sent: dict[str, str]
) -> None:
    assert designer.get(address(crowd), sent).status_code == 200


def test_open_answers_are_not_compared(designer: Client, dataset: Dataset, crowd: Study) -> None:
    written = StudyOf(dataset, "caption", slug="written", controls={"per_hit": 0}).study
    assert "cannot compare the study" in words(designer.get(address(written)))
    assert "written" not in designer.get(address(crowd)).content.decode()


def viewer_of(study: Study) -> Client:
    """Somebody with a role in one study alone."""
    person = User.objects.create_user("viewer", is_staff=True)
    give_role(study=study, user=person, role="viewer")
    return signed_in(person)


def test_a_study_that_a_person_may_not_see_is_neither_offered_nor_compared(
    crowd: Study, experts: Study
) -> None:
    client = viewer_of(crowd)
    assert "Experts" not in words(client.get(address(crowd)))
    shown = client.get(address(crowd), {"with": "experts"})
    assert "Shared items" not in words(shown)
    answer = client.get(call_address(crowd), {"with": "experts"})
    unknown = client.get(call_address(crowd), {"with": "nowhere"})
    assert (answer.status_code, unknown.status_code) == (404, 404)
    assert answer.json()["title"] == unknown.json()["title"]
    assert client.get(address(experts), {"with": "crowd"}).status_code == 404
    assert client.get(call_address(experts), {"with": "crowd"}).status_code == 404


def test_the_call_gives_what_the_page_shows(designer: Client, crowd: Study, experts: Study) -> None:
    answer = designer.get(call_address(crowd), {"with": "experts"})
    assert answer.status_code == 200
    expected = compare_studies(first=crowd, second=experts)
    assert {name: answer.json()[name] for name in expected} == expected
    assert designer.get(call_address(crowd)).status_code == 400
    assert designer.get(call_address(crowd), {"with": "experts", "missing": "maybe"}).status_code == 400


def test_a_large_study_is_counted_by_a_job_while_the_page_says_so(
    designer: Client, crowd: Study, experts: Study
) -> None:
    with patch.object(studies, "MANY_UNITS", 3):
        asked = designer.get(call_address(crowd), {"with": "experts"})
        assert (asked.status_code, asked["Retry-After"]) == (202, "5")
        assert "Computing the results" in words(designer.get(address(crowd), {"with": "experts"}))
        (job,) = Job.objects.filter(kind="figures")
        assert run_job(job.pk)
        assert "Shared items 3" in words(designer.get(address(crowd), {"with": "experts"}))
        assert designer.get(call_address(crowd), {"with": "experts"}).json()["units"]["shared"] == 3


def test_the_page_asks_as_often_for_many_units_as_for_few(
    designer: Client, dataset: Dataset, crowd: Study, experts: Study
) -> None:
    many = {f"thing {number}": [1, 2] for number in range(60)}
    captions(dataset, "many", "graded", many)
    counted = []
    for slug in ("experts", "many"):
        designer.get(address(crowd), {"with": slug})
        with questions() as asked:
            designer.get(address(crowd), {"with": slug})
        counted.append(len(asked))
    assert counted[0] == counted[1]
