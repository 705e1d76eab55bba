"""A source text beside what is judged, items without a picture, and worked examples."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.crowds.mturk.pages import html_page
from annotation.crowds.mturk.questions import QuestionProblem
from annotation.models import Assignment
from annotation.templatetags.annotation_tags import language_direction
from annotation.work.claims import claim_assignment
from annotation.work.sheet.units import units_of_hit
from annotation.work.submissions import submit_assignment
from common.errors import DesignError
from evaluation.data.export.exporting import export_judgments
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.kinds import KINDS
from judgments.models import Item, Study, StudyRole, Unit
from judgments.studies.designs import design_of
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.hits import generate_hits
from judgments.studies.generation.lines import batch_lines
from judgments.studies.studies import create_study
from judgments.studies.study_page import study_page_address
from tests.annotation.calling import accept, join
from tests.annotation.casting import joined, make_dataset, make_study, with_person
from tests.annotation.posting import work_of
from tests.annotation.scenes import make_scenes
from tests.annotation.sourcing import ARABIC, GERMAN, make_texts
from tests.marks import long_except
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

SOURCED = [name for name, kind in KINDS.items() if not kind.no_source_reason]
HOSTILE = '<script>alert("x")</script> & ${field} {{ design }} \u202eturned\n\n</div><img src=x onerror=1>'
BLOCK = re.compile(r'<div class="source" role="region"([^>]*)>(.*?)</div>', re.DOTALL)


def sourced(protocol: str, *, text: str = GERMAN, language: str = "de", **values: Any) -> Study:
    """An open study of this kind that shows its source texts."""
    systems: dict[str, Any] = {"sampling": {"options": 3}, "systems": 4} if protocol == "best-worst" else {}
    if protocol == "grounding":
        dataset = make_scenes(pictures=False)
        Item.objects.update(text=text)
    else:
        dataset = make_texts("texts", text=text, systems=systems.pop("systems", 2))
    controls = (
        {} if KINDS[protocol].expected_choices or protocol == "best-worst" else {"controls": {"per_hit": 0}}
    )
    wanted = {"source": {"show": True, "language": language}, "judged": "translation"} | systems | controls
    return make_study(dataset, protocol, **(wanted | values))


def blocks(html: str) -> list[tuple[str, str]]:
    return BLOCK.findall(html)


@pytest.mark.parametrize("protocol", long_except(SOURCED, "pairwise", "graded", "spans"))
def test_each_step_of_a_page_shows_the_text_of_its_item(protocol: str) -> None:
    study = sourced(protocol)
    html, _ = work_of(study, joined(study))
    shown = blocks(html)
    assert len(shown) == html.count("data-step ")
    for attributes, text in shown:
        assert 'lang="de"' in attributes
        assert 'dir="ltr"' in attributes
        assert 'tabindex="0"' in attributes
        assert re.search(r'aria-labelledby="s\d+"', attributes)
        assert text.startswith(GERMAN)
    assert "Source text" in html


@pytest.mark.parametrize("protocol", long_except(SOURCED, "relevance", "best-worst", "spans"))
def test_a_program_is_told_the_same_text_and_nobody_of_a_picture_that_is_not_there(protocol: str) -> None:
    study, person = with_person(sourced(protocol))
    html, assignment = work_of(study, person)
    for trace in ('<img alt="The', "data-broken", "<figure", "pictures.js", "cannot be loaded", "data-zoom"):
        assert trace not in html
    assert not re.search(r"\bPicture \d+ of\b", html)
    report = person.client.get(f"/s/{study.slug}/work/{assignment.pk}/report/1/").content.decode()
    assert 'value="picture"' not in report
    token = join(study).json()["token"]
    for unit in accept(study, {"Authorization": f"Token {token}"}).json()["units"]:
        assert unit["source"]["language"] == "de"
        assert unit["source"]["text"].startswith(GERMAN)
        assert set(unit["source"]) == {"text", "language"}
        assert unit.get("image", {"url": "", "alt": ""}) == {"url": "", "alt": ""}


@pytest.mark.parametrize("protocol", ["graded", "pairwise", "grounding"])
def test_a_text_and_a_picture_stand_together(protocol: str) -> None:
    dataset = make_scenes() if protocol == "grounding" else make_texts(pictures=True)
    controls: dict[str, Any] = {"controls": {"per_hit": 0}} if protocol == "grounding" else {}
    study = make_study(dataset, protocol, source={"show": True}, **controls)
    html, _ = work_of(study, joined(study))
    steps = html.count("data-step ")
    assert html.count("data-broken") == steps
    assert len(blocks(html)) == steps


def test_nothing_changes_where_no_source_is_shown() -> None:
    study = make_study(make_texts(pictures=True), "graded")
    html, _ = work_of(study, joined(study))
    assert blocks(html) == []
    token = join(study).json()["token"]
    for unit in accept(study, {"Authorization": f"Token {token}"}).json()["units"]:
        assert set(unit) == {"position", "protocol", "question", "image", "caption"}


@pytest.mark.parametrize(
    ("language", "direction"),
    [
        ("ar", "rtl"),
        ("he-IL", "rtl"),
        ("az-Arab", "rtl"),
        ("ar-Latn", "ltr"),
        ("de", "ltr"),
        ("zh-Hant", "ltr"),
    ],
)
def test_the_script_of_the_language_gives_the_direction(language: str, direction: str) -> None:
    assert language_direction(ARABIC, language) == direction


def test_where_the_language_is_not_said_the_text_itself_gives_the_direction() -> None:
    study = sourced("graded", text=ARABIC, language="")
    html, _ = work_of(study, joined(study))
    assert all('dir="auto"' in attributes and "lang=" not in attributes for attributes, _ in blocks(html))


def test_a_heading_of_the_study_s_own_and_the_built_in_one_in_german() -> None:
    own = sourced("graded", source={"show": True, "label": "Newspaper <b>article</b>"})
    html, _ = work_of(own, joined(own))
    assert "Newspaper &lt;b&gt;article&lt;/b&gt;" in html
    built_in = make_study(own.dataset, "slider", source={"show": True}, judged="translation")
    person = joined(built_in, "bea")
    html = person.client.get(f"/s/{built_in.slug}/work/", headers={"accept-language": "de"}).content.decode()
    assert "Ausgangstext</p>" in html


@pytest.mark.parametrize("protocol", long_except(SOURCED, "triplet", "slider", "spans"))
def test_hostile_text_stays_text(protocol: str) -> None:
    study = sourced(protocol, text=HOSTILE)
    html, _ = work_of(study, joined(study))
    assert "<script>alert" not in html
    assert "onerror=1>" not in html
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;" in html


def test_the_preview_of_a_draft_and_of_an_unsaved_design_show_it(designer: Client) -> None:
    from judgments.design.editing.previews import store_preview

    study = sourced("slider", opened=False)
    html = designer.get(f"/s/{study.slug}/preview/").content.decode()
    assert blocks(html)
    session = designer.session
    key = store_preview(session, design_of(study))
    session.save()
    looked = designer.get(f"/look/{key}/").content.decode()
    assert [text for _, text in blocks(looked)] == [text for _, text in blocks(html)]


def test_a_longer_page_asks_the_database_no_more_often(designer: Client) -> None:
    from judgments.design.editing.previews import store_preview

    dataset = make_texts(images=14)
    counts = []
    for size in (2, 10):
        values = {"name": "Look", "dataset": dataset.name, "protocol": "graded", "units_per_hit": size}
        session = designer.session
        key = store_preview(session, make_design(values | {"source": {"show": True}}))
        session.save()
        designer.get(f"/look/{key}/")
        with CaptureQueriesContext(connection) as queries:
            html = designer.get(f"/look/{key}/").content.decode()
        assert len(blocks(html)) == size
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_an_item_of_the_quiz_and_its_explanation_show_it() -> None:
    study = sourced("graded", controls={"per_hit": 0}, quiz={"items": 2, "explain": "after-each"})
    person = joined(study)
    address = f"/s/{study.slug}/quiz/"
    person.client.post(f"{address}start/")
    html = person.client.get(address).content.decode()
    assert len(blocks(html)) == 1
    where = re.search(r'action="([^"]+/answer[^"]*|[^"]+quiz[^"]+)"', html)
    step = re.search(r'name="step" value="(\d+)"', html)
    assert where
    assert step
    answered = person.client.post(
        where[1], {"step": step[1], f"u{step[1]}": "4"}, follow=True
    ).content.decode()
    assert len(blocks(answered)) == 1


def test_a_page_of_mturk_that_stands_alone_shows_it() -> None:
    study = sourced("slider", text=HOSTILE)
    design, hit = design_of(study), study.hits.order_by("position")[0]
    html = html_page(design=design, hit=hit, units=units_of_hit(hit.pk), hosts=["https://www.mturk.com"])
    assert len(blocks(html)) == hit.units.count()
    assert "<script>alert" not in html
    assert ".original" in html
    assert "<img" not in html


def test_a_page_of_mturk_still_refuses_captions_whose_pictures_have_no_address() -> None:
    study = make_study(make_dataset(pictures=False), "graded")
    hit = study.hits.order_by("position")[0]
    with pytest.raises(QuestionProblem, match="https address"):
        html_page(
            design=design_of(study), hit=hit, units=units_of_hit(hit.pk), hosts=["https://www.mturk.com"]
        )


@pytest.mark.parametrize("protocol", long_except(SOURCED, "pairwise", "best-worst", "graded"))
def test_units_and_hits_are_the_same_with_and_without_it(protocol: str) -> None:
    study = sourced(protocol, opened=False)
    design = design_of(study)
    without = design.model_copy(update={"source": type(design.source)()})
    with_it, bare = (list(batch_lines(build_batch(one, study.dataset), one)) for one in (design, without))
    assert with_it == bare
    assert GERMAN not in "".join(with_it)


def test_a_judged_item_without_a_text_is_refused_and_the_first_one_named() -> None:
    dataset = make_texts()
    Item.objects.filter(position__in=(2, 3)).update(text=" \n ")
    with pytest.raises(DesignError, match="documents-02") as refused:
        make_study(dataset, "graded", source={"show": True})
    assert refused.value.field == "source.show"
    assert "documents-03" not in str(refused.value)
    assert not Unit.objects.exists()


def test_an_item_that_nobody_sees_needs_no_text() -> None:
    dataset = make_texts()
    Item.objects.filter(split="dev").update(text="")
    study = make_study(dataset, "graded", source={"show": True}, controls={"per_hit": 0})
    assert study.units.exists()


def test_a_control_item_needs_a_text_too() -> None:
    dataset = make_texts()
    Item.objects.filter(split="dev").update(text="")
    with pytest.raises(DesignError, match="documents-06"):
        make_study(dataset, "graded", source={"show": True}, controls={"per_hit": 1})


@pytest.mark.parametrize("protocol", [name for name, kind in KINDS.items() if kind.no_source_reason])
def test_kinds_that_show_their_own_text_refuse_it(protocol: str) -> None:
    values: dict[str, Any] = {"name": "X", "dataset": "d", "protocol": protocol, "source": {"show": True}}
    with pytest.raises(DesignError) as refused:
        make_design(values)
    assert refused.value.field == "source.show"


def test_a_worker_s_own_copy_of_their_work_holds_the_text() -> None:
    from annotation.work.submissions import submit_assignment
    from annotation.work.summaries import own_answers

    study, person = with_person(sourced("graded"))
    html, assignment = work_of(study, person)
    answers = [{"position": place, "value": 3} for place in range(1, len(blocks(html)) + 1)]
    submit_assignment(assignment=assignment, answers=answers)
    kept = list(own_answers(person.worker))
    assert kept
    assert all(one["shown"]["source"]["text"].startswith(GERMAN) for one in kept)


def test_researchers_read_it_beside_controls_and_disagreements_in_the_words_of_the_workers(
    designer: Client,
) -> None:
    study = sourced("graded")
    controls = designer.get(study_page_address(study, "controls")).content.decode()
    assert GERMAN in controls
    assert "no picture" not in controls
    assert re.search("Expresses the meaning of the source text|Is unrelated to the source text", controls)
    assert "the image" not in re.sub(r"<[^>]*>", "", controls.partition('class="q-controls"')[2])
    unit = Unit.objects.filter(study=study, control=False)[0]
    closer = designer.get(f"{study_page_address(study, 'closer-look')}?id={unit.key}").content.decode()
    assert GERMAN in closer
    assert 'lang="de"' in closer


def test_researchers_read_it_beside_the_items_of_the_quiz(designer: Client) -> None:
    study = sourced("graded", controls={"per_hit": 0}, quiz={"items": 2})
    html = designer.get(study_page_address(study, "quiz")).content.decode()
    assert html.count(GERMAN) >= 2


EXAMPLE = {
    "image": "secret-file-00.jpg",
    "shown": ["A red square.", "A <b>blue</b> one."],
    "answer": "B",
    "why": "It *is* red. <script>alert(1)</script>",
}


def shown(study: Study, person: Any, path: str) -> str:
    return str(person.client.get(f"/s/{study.slug}/{path}/").content.decode())


def test_examples_stand_before_the_work_and_in_its_panel_of_instructions() -> None:
    study, ada = with_person(make_study(make_dataset(), "pairwise", examples=[EXAMPLE]))
    for path in ("start", "work"):
        html = shown(study, ada, path)
        assert "A worked example" in html
        assert '<span class="label">B</span>' in html
        assert "A &lt;b&gt;blue&lt;/b&gt; one." in html
        assert "It <em>is</em> red." in html
        assert "alert(1)" not in html


def test_the_picture_of_an_example_is_for_those_who_joined_and_who_may_see_the_study() -> None:
    study = make_study(make_dataset(), "pairwise", examples=[EXAMPLE])
    other = joined(make_study(study.dataset, name="Other"), "eve")
    ada = joined(study)
    path = f"/s/{study.slug}/examples/1/picture/"
    assert f'src="{path}"' in shown(study, ada, "start")
    picture = ada.client.get(path)
    assert (picture.status_code, picture["Content-Type"]) == (200, "image/jpeg")
    picture.close()
    viewer, elsewhere = Client(), Client()
    viewer.force_login(viewing := User.objects.create_user("viewer", is_staff=True))
    StudyRole.objects.create(study=study, user=viewing, role="viewer")
    elsewhere.force_login(User.objects.create_user("elsewhere", is_staff=True))
    seen = viewer.get(path)
    assert seen.status_code == 200
    seen.close()
    for stranger in (Client(), elsewhere, other.client):
        assert stranger.get(path).status_code == 404
    for number in (0, 2):
        assert ada.client.get(f"/s/{study.slug}/examples/{number}/picture/").status_code == 404


def test_an_example_with_a_picture_that_is_not_there_is_refused_before_anything_is_stored() -> None:
    dataset = make_dataset()
    values = {"name": "n", "dataset": dataset.name, "protocol": "graded"}
    study = create_study(design=make_design(values | {"examples": [EXAMPLE | {"image": "gone.jpg"}]}))
    with refuses(DesignError, "1", "gone.jpg", field="examples"):
        generate_hits(study=study)
    study.refresh_from_db()
    assert study.state == "draft"


def test_no_preset_of_a_paper_shows_an_example_that_the_paper_lacks() -> None:
    """V15 gives workers "no explicit concept" of similarity, and asks for the better description without a word."""
    for name in PRESETS:
        assert make_design({"name": "n", "dataset": "d", "preset": name}).examples == ()
    for name in ("vedantam-2015-triplet", "vedantam-2015-pairwise"):
        assert make_design({"name": "n", "dataset": "d", "preset": name}).instructions == ""


def test_the_preset_of_grades_says_what_each_grade_means_in_the_paper() -> None:
    preset = PRESETS["hodosh-2013-graded"]
    lines = preset.values["instructions"].strip().splitlines()
    assert [line[:7] for line in lines] == ["- **4**", "- **3**", "- **2**", "- **1**"]
    assert "instructions" in preset.ours  # the paper's guidelines are in an appendix; these words are not


def test_each_assignment_keeps_which_texts_its_worker_read() -> None:
    dataset = make_dataset()
    texts: list[dict[str, Any]] = [
        {"consent": "You may stop.", "instructions": "Read both."},
        {"consent": "You may stop.", "instructions": "Read both twice."},
        {"consent": "You may stop at any time.", "instructions": "Read both."},
        {"consent": "You may stop.", "instructions": "Read both.", "examples": [EXAMPLE]},
    ]
    versions = []
    for number, values in enumerate(texts):
        study = make_study(dataset, name=f"Study {number}", **values)
        worker = joined(study, f"worker-{number}", consent=True).worker
        claim_assignment(study=study, worker=worker)
        held = Assignment.objects.get(study=study)
        versions.append((held.consent_version, held.instructions_version))
    consents, instructions = zip(*versions, strict=True)
    assert len(set(consents)) == 2
    assert consents[0] == consents[1] == consents[3]
    assert instructions[0] == instructions[2]
    assert len(set(instructions)) == 3
    assert all(len(version) == 16 for version in consents + instructions)


def test_designers_see_the_versions_with_the_assignment(admin_client: Client) -> None:
    study = make_study(make_dataset(), consent="You may stop.")
    claim_assignment(study=study, worker=joined(study, consent=True).worker)
    held = Assignment.objects.get()
    page = admin_client.get(f"/admin/annotation/assignment/{held.pk}/change/").content.decode()
    assert held.consent_version in page
    assert held.instructions_version in page


def test_an_export_s_manifest_counts_the_versions_that_were_read(tmp_path: Path) -> None:
    study = make_study(make_dataset(), consent="You may stop.")
    for name in ("ada", "bob"):
        claim = claim_assignment(study=study, worker=joined(study, name, consent=True).worker)
        assert claim is not None
        claim.assignment.study = study
        answers = [{"position": place.position, "value": 1} for place in claim.page_units]
        submit_assignment(assignment=claim.assignment, answers=answers)
    made = export_judgments(study=study, format="jsonl", output=tmp_path / "out.jsonl")
    one = Assignment.objects.filter(study=study)[0]
    assert made.manifest["texts_read"] == [
        {
            "consent_version": one.consent_version,
            "instructions_version": one.instructions_version,
            "assignments": 2,
        }
    ]
