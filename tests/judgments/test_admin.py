"""The designer's way in the admin: from a preset to a study that is open, answered by a rehearsal, or deleted."""

import html
import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Invitation
from judgments.design.editing.form.design_form import DesignForm
from judgments.design.editing.form.values import starting_values
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.reading.study_files import read_toml
from judgments.jobs.claims import run_job
from judgments.jobs.queues import enqueue
from judgments.kinds import KINDS
from judgments.models import Job, Study, Unit
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study
from tests.judgments.desk import ADD, as_posted, do, new_design, page, words
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db


def test_the_first_page_lists_the_newest_studies_first(designer: Client) -> None:
    days = range(1, 7)
    for day in sorted(days, key=lambda day: day % 3):
        made = make_study(slug=f"of-day-{day}", opened=False)
        Study.objects.filter(pk=made.pk).update(created_at=datetime(2026, 1, day, tzinfo=UTC))
    front = designer.get(reverse("admin:index"))
    listed = [entry["study"].slug for entry in front.context["studies"]]
    assert listed == [f"of-day-{day}" for day in reversed(days)]
    assert '<p class="q-about">6 draft · 1 dataset</p>' in front.content.decode()


def test_the_page_of_a_dataset_of_images_does_not_call_them_texts(designer: Client) -> None:
    shown = words(designer.get(reverse("admin:judgments_dataset_change", args=[make_dataset().pk])))
    assert "The first images" in shown
    assert "source texts" not in shown.lower()


class TestDesigning:
    def test_a_preset_fills_the_form_with_its_papers_numbers(self, designer: Client) -> None:
        make_dataset()
        response = designer.get(reverse("admin:judgments_study_add") + "?preset=hodosh-2013-relevance")
        shown = response.content.decode()
        assert 'name="images_per_hit" value="6"' in shown
        assert 'name="captions_per_image" value="10"' in shown
        assert 'name="filter-bleu_pre" value="0.25"' in shown
        assert "section 4.3.2" in shown

    def test_the_first_page_offers_every_preset_and_a_dataset_first_where_there_is_none(
        self, designer: Client
    ) -> None:
        response = designer.get(reverse("admin:judgments_study_add"))
        assert "Upload your data" in words(response)
        make_dataset()
        shown = words(designer.get(reverse("admin:judgments_study_add")))
        for preset in PRESETS.values():
            assert preset.source in shown

    def test_a_saved_form_is_a_draft_with_that_design(self, designer: Client) -> None:
        make_dataset()
        response = designer.post(reverse("admin:judgments_study_add") + ADD, new_design())
        study = Study.objects.get()
        assert response.headers["Location"] == page(study, "change")
        design = design_of(study)
        assert (study.slug, study.state, design.sampling.references) == ("my-triplets", "draft", 2)
        assert design.sampling.pairs == {"HC": 2, "HI": 2, "MM": 2}
        assert study.created_by is not None

    @pytest.mark.parametrize(
        ("field", "value", "said"),
        [
            ("units_per_hit", "0", "greater than or equal to 1"),
            ("sampling-references", "some", "expected 'all' or a whole number"),
            ("controls-per_hit", "50", "the number of items on a page of work is 5"),
            ("controls-threshold", "1.5", "less than or equal to 1"),
            ("slug", "no spaces please", "“Short name” is 'no spaces please'"),
        ],
    )
    def test_a_mistake_is_named_beside_its_field_and_nothing_is_saved(
        self, designer: Client, field: str, value: str, said: str
    ) -> None:
        make_dataset()
        response = designer.post(reverse("admin:judgments_study_add") + ADD, new_design(**{field: value}))
        assert response.status_code == 200
        assert not Study.objects.exists()
        assert said in words(response)
        assert "Nothing was saved: see" in words(response)

    def test_money_is_typed_as_an_amount_with_its_currency_beside_and_stored_in_cents(
        self, designer: Client
    ) -> None:
        make_dataset()
        add = reverse("admin:judgments_study_add") + ADD
        refused = designer.post(add, new_design(**{"crowd-reward_cents": "1.505"}))
        assert "no more than 2 decimal places" in words(refused)
        designer.post(add, new_design(**{"crowd-reward_cents": "1.50", "crowd-currency": "EUR"}))
        study = Study.objects.get()
        assert design_of(study).crowd.reward_cents == 150
        shown = designer.get(page(study, "change")).content.decode()
        assert re.search(
            r'name="crowd-reward_cents" value="1.50"[^>]*> <span data-currency>EUR</span>', shown
        )
        assert "in cents" not in shown
        Study.objects.update(state="generated")
        assert "Pay for a page of work 1.50 EUR" in words(designer.get(page(study, "change")))

    def test_a_taken_short_name_is_refused_beside_it(self, designer: Client) -> None:
        make_dataset()
        for _ in range(2):
            response = designer.post(reverse("admin:judgments_study_add") + ADD, new_design())
        assert "study 'my-triplets'" in words(response)
        assert response.context["form"].errors["slug"]

    def test_what_the_form_does_not_show_is_kept(self, designer: Client) -> None:
        make_dataset()
        study = create_study(
            design=make_design(
                {"name": "Kept", "dataset": "animals", "protocol": "triplet", "images_per_hit": 9}
            )
        )
        form = DesignForm(base=study.design, datasets=["animals"])
        designer.post(page(study, "change"), as_posted(form, seed=12))
        study.refresh_from_db()
        assert (study.design["seed"], study.design["images_per_hit"]) == (12, 9)

    def test_a_study_file_makes_a_study_and_the_page_gives_the_same_file_back(self, designer: Client) -> None:
        make_dataset()
        text = 'name = "By file"\ndataset = "animals"\nprotocol = "graded"\nseed = 5\n'
        designer.post(reverse("admin:judgments_study_from_file"), {"text": text})
        study = Study.objects.get(slug="by-file")
        again = designer.get(page(study, "study-file"))
        assert again.headers["Content-Disposition"] == 'attachment; filename="by-file.toml"'
        assert read_toml(again.content.decode()) == read_toml(text)

    def test_a_generated_design_is_shown_but_can_no_longer_be_changed(self, designer: Client) -> None:
        text = "Use `<b>` if a < b. " + "请" * 700
        plan = {"hypotheses": [{"text": "People prefer people."}], "exclusions": text.replace("`", "")}
        study = make_study(opened=False, instructions=text, registration=plan)
        generate_hits(study=study)
        shown = designer.get(page(study, "change"))
        assert "The design is frozen" in words(shown)
        folded = re.findall(r"<summary>(Use.*?)</summary>", shown.content.decode())
        assert [html.unescape(summary) for summary in folded] == [text.replace("`", "")[:89] + "…"] * 2
        designer.post(
            page(study, "change"), as_posted(DesignForm(base=study.design, datasets=["animals"]), seed=99)
        )
        study.refresh_from_db()
        assert study.design["seed"] == 3

    def test_every_key_of_a_study_file_is_asked_by_some_form(self) -> None:
        starts = [starting_values(preset=one) for one in PRESETS]
        starts += [starting_values(protocol=one) for one in KINDS]
        asked = {
            name.replace("-", ".") for base in starts for name in DesignForm(base=base, datasets=[]).fields
        }
        whole = make_design({"name": "x", "dataset": "x", "protocol": "triplet"}).model_dump()
        keys = {
            f"{table}.{key}" if isinstance(inner, dict) else table
            for table, inner in whole.items()
            for key in (inner if isinstance(inner, dict) else [""])
        }
        by_start_page = {"protocol", "preset"}
        of_kinds = {"sampling.options", "sampling.appearances", "keywords.titles", "keywords.longest"}
        key_by_key = {"sampling.pairs", "panel.codes", "panel.addresses"}
        assert keys - by_start_page - asked - of_kinds == key_by_key
        assert {"sampling.pairs.HC", "sampling.pairs.HI", "sampling.pairs.HM", "sampling.pairs.MM"} <= asked


class TestFromDraftToOpen:
    def test_the_plan_counts_before_anything_is_generated(self, designer: Client) -> None:
        study = make_study(opened=False)
        shown = words(designer.get(page(study, "plan")))
        # 6 pairs x 2 references = 12 triplets, 4 a HIT beside one control: 3 HITs; (12 + 3) x 3 = 45 judgments
        assert "Items 12" in shown
        assert "Check questions 3" in shown
        assert "Pages of work 3" in shown
        assert "Judgments 45" in shown
        assert not Unit.objects.exists()

    def test_a_design_that_the_dataset_cannot_give_says_so_instead_of_counts(self, designer: Client) -> None:
        study = make_study(opened=False, sampling={"split": "nowhere"})
        assert "has no split 'nowhere'" in words(designer.get(page(study, "plan")))

    def test_generating_is_one_job_that_the_page_follows(self, designer: Client) -> None:
        study = make_study(opened=False)
        designer.post(do(study, "generate"))
        job = Job.objects.get()
        assert (job.kind, job.state) == ("generate_hits", "queued")
        shown = words(designer.get(page(study, "hits")))
        assert "waiting" in shown
        assert "Generate pages of work" not in shown
        assert "already running" in words(designer.post(do(study, "generate"), follow=True))
        assert Job.objects.count() == 1
        follow = reverse("admin:judgments_job_progress", args=[job.pk])
        assert "HX-Refresh" not in designer.get(follow).headers
        assert run_job(job.pk)
        assert designer.get(follow).headers["HX-Refresh"] == "true"
        study.refresh_from_db()
        assert (study.state, study.hits.count()) == ("generated", 3)
        assert (
            "Two people&#x27;s texts for an item (HC)" in designer.get(page(study, "hits")).content.decode()
        )

    def test_a_failed_job_says_why_on_the_studys_page(self, designer: Client) -> None:
        study = make_study(opened=False, sampling={"split": "nowhere"})
        run_job(enqueue(kind="generate_hits", args={"study": study.slug}).pk)
        shown = words(designer.get(page(study, "hits")))
        assert "failed" in shown
        assert "has no split 'nowhere'" in shown
        study.refresh_from_db()
        assert study.state == "draft"

    def test_control_items_are_shown_with_their_right_answer_and_can_be_struck(
        self, designer: Client
    ) -> None:
        study = make_study()
        Study.objects.filter(pk=study.pk).update(state="generated")
        controls = list(Unit.objects.filter(study=study, control=True).select_related("first", "second"))
        shown = designer.get(page(study, "controls"))
        for unit in controls:
            right = unit.first if unit.expected == 1 else unit.second
            assert right is not None
            assert f'<b>right</b> <bdi dir="auto">{right.text}</bdi>' in shown.content.decode()
        designer.post(do(study, "strike"), {"units": controls[0].key, "page": "controls"})
        controls[0].refresh_from_db()
        assert controls[0].withdrawn
        assert not controls[0].places.exists()
        assert words(designer.get(page(study, "controls"))).count("withdrawn") >= 1

    def test_the_captions_of_a_relevance_control_stand_together_and_are_struck_together(
        self, designer: Client
    ) -> None:
        study = make_study("relevance")
        Study.objects.filter(pk=study.pk).update(state="generated")
        groups = designer.get(page(study, "controls")).context["groups"]
        assert {len(group.items) for group in groups} == {4}
        designer.post(do(study, "strike"), {"units": groups[0].keys})
        assert Unit.objects.filter(study=study, withdrawn=True).count() == 4

    def test_opening_shows_the_link_and_closing_ends_joining(self, designer: Client) -> None:
        study = make_study()
        Study.objects.filter(pk=study.pk).update(state="generated")
        opened = designer.post(do(study, "open"), follow=True)
        study.refresh_from_db()
        assert study.state == "open"
        assert f"http://testserver/s/{study.slug}/" in words(opened)
        closed = designer.post(do(study, "close"), {"page": "workers"}, follow=True)
        study.refresh_from_db()
        assert study.state == "closed"
        assert "The study is closed" in words(closed)
        assert "no new participants can join" in words(designer.get(page(study, "workers")))

    def test_invitations_are_links_for_one_person_each(self, designer: Client) -> None:
        study = make_study(access={"join": "invited"})
        designer.post(do(study, "invite"), {"count": 3, "note": "lab", "page": "workers"})
        codes = list(Invitation.objects.filter(study=study).values_list("code", flat=True))
        assert len(set(codes)) == 3
        shown = words(designer.get(page(study, "workers")))
        for code in codes:
            assert f"http://testserver/s/{study.slug}/?code={code}" in shown

    def test_a_rehearsal_is_of_a_copy_that_is_marked_as_simulated(self, designer: Client) -> None:
        study = make_study()
        designer.post(do(study, "rehearse"), {"workers": 6, "seed": 1})
        assert Job.objects.filter(kind="rehearse").exists()
        study.refresh_from_db()
        copy = Study.objects.exclude(pk=study.pk).get()
        assert (study.simulated, copy.simulated) == (False, True)
        addresses = [reverse("admin:judgments_study_changelist")]
        addresses += [page(copy, name) for name in ("change", "hits", "workers", "rehearsal")]
        for address in addresses:
            assert "simulated" in words(designer.get(address)), address

    def test_the_metrics_to_compute_with_stand_under_their_name(self, designer: Client) -> None:
        shown = designer.get(page(make_study(), "results")).content.decode()
        assert re.search(r"<legend>Metrics</legend><label", shown)

    def test_a_study_that_was_never_opened_can_be_deleted_and_an_opened_one_cannot(
        self, designer: Client
    ) -> None:
        draft, opened = make_study(opened=False), make_study(slug="opened")
        assert "Delete “A triplet study”?" in words(designer.get(page(draft, "delete")))
        designer.post(page(draft, "delete"))
        refused = designer.post(page(opened, "delete"), follow=True)
        assert "can be deleted" in words(refused)
        assert list(Study.objects.all()) == [opened]
