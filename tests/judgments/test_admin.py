"""The designer's pages in the admin: what a person there sees, and what a stranger does not."""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Assignment, Invitation
from annotation.services.claims import claim_assignment
from annotation.services.submissions import report_problem, submit_assignment
from evaluation.models import Analysis, Consensus, MetricScore
from judgments.design import make_design, read_toml
from judgments.forms.design import DesignForm, starting_values
from judgments.jobs import run_job
from judgments.models import CandidatePair, Dataset, Job, Study, Unit
from judgments.presets import PRESETS
from judgments.services.studies import create_study, design_of
from tests.studies import make_dataset, make_study, make_worker

pytestmark = pytest.mark.django_db

STUDY_PAGES = ["change", "hits", "plan", "controls", "workers", "results", "study-file", "delete"]
LISTS = [
    "judgments_study", "judgments_dataset", "judgments_job", "judgments_item", "judgments_caption",
    "judgments_system", "judgments_unit", "judgments_hit", "annotation_worker", "annotation_assignment",
    "annotation_judgment", "annotation_problemreport", "annotation_participation", "annotation_invitation",
    "evaluation_consensus", "evaluation_analysis", "evaluation_metricscore",
]  # fmt: skip


@pytest.fixture
def designer(client: Client) -> Client:
    """Somebody who may do everything."""
    client.force_login(User.objects.create_superuser("designer"))
    return client


def words(response: Any) -> str:
    """The page as text, runs of space as one."""
    text = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", response.content.decode(), flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(text))


def page(study: Study, name: str) -> str:
    return reverse(f"admin:judgments_study_{name}", args=[study.pk])


def do(study: Study, step: str) -> str:
    return reverse("admin:judgments_study_do", args=[study.pk, step])


def as_posted(form: DesignForm, **changes: Any) -> dict[str, Any]:
    """What a browser sends for the form as it stands."""
    values = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    return {
        name: value for name, value in (values | changes).items() if value is not None and value is not False
    }


def new_design(**changes: Any) -> dict[str, Any]:
    form = DesignForm(base=starting_values(preset="vedantam-2015-triplet"), datasets=["animals"])
    small = {"name": "My triplets", "dataset": "animals", "sampling-references": "2", "units_per_hit": 5}
    pairs = {"sampling-pairs-HC": 2, "sampling-pairs-HI": 2, "sampling-pairs-HM": "", "sampling-pairs-MM": 2}
    return as_posted(form, **(small | pairs | changes))


ADD = "?preset=vedantam-2015-triplet"


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
        assert "Import a dataset first" in words(response)
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
            ("controls-per_hit", "50", "leaves no place in a HIT of 5"),
            ("controls-threshold", "1.5", "less than or equal to 1"),
            ("access-join", "code", "a code is needed"),
            ("slug", "no spaces please", "slug is 'no spaces please'"),
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
        assert "Nothing was saved yet" in words(response)

    def test_a_taken_short_name_is_refused_beside_it(self, designer: Client) -> None:
        make_dataset()
        for _ in range(2):
            response = designer.post(reverse("admin:judgments_study_add") + ADD, new_design())
        assert "There is a study 'my-triplets' already" in words(response)
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

    def test_a_wrong_study_file_is_answered_with_the_nearest_key(self, designer: Client) -> None:
        response = designer.post(
            reverse("admin:judgments_study_from_file"),
            {"text": 'name = "x"\ndataset = "y"\nprotocol = "triplet"\njudgements_per_unit = 3\n'},
        )
        assert "the nearest one is 'judgments_per_unit'" in words(response)

    def test_a_generated_design_is_shown_but_can_no_longer_be_changed(self, designer: Client) -> None:
        study = make_study()
        shown = designer.get(page(study, "change"))
        assert "The design is frozen" in words(shown)
        designer.post(
            page(study, "change"), as_posted(DesignForm(base=study.design, datasets=["animals"]), seed=99)
        )
        study.refresh_from_db()
        assert study.design["seed"] == 3

    def test_every_key_of_a_study_file_is_asked_by_some_form(self) -> None:
        asked = {
            name.replace("-", ".")
            for preset in PRESETS
            for name in DesignForm(base=starting_values(preset=preset), datasets=[]).fields
        }
        whole = make_design({"name": "x", "dataset": "x", "protocol": "triplet"}).model_dump()
        keys = {
            f"{table}.{key}" if isinstance(inner, dict) else table
            for table, inner in whole.items()
            for key in (inner if isinstance(inner, dict) else [""])
        }
        by_start_page = {"protocol", "preset"}
        assert keys - by_start_page - asked == {"sampling.pairs"}
        assert {"sampling.pairs.HC", "sampling.pairs.HI", "sampling.pairs.HM", "sampling.pairs.MM"} <= asked


class TestFromDraftToOpen:
    def test_the_plan_counts_before_anything_is_generated(self, designer: Client) -> None:
        study = make_study(opened=False)
        shown = words(designer.get(page(study, "plan")))
        # 6 pairs x 2 references = 12 triplets, 4 a HIT beside one control: 3 HITs; (12 + 3) x 3 = 45 judgments
        assert "Units 12" in shown
        assert "Control items 3" in shown
        assert "HITs 3" in shown
        assert "Judgments 45" in shown
        assert not Unit.objects.exists()

    def test_a_design_that_the_dataset_cannot_give_says_so_instead_of_counts(self, designer: Client) -> None:
        study = make_study(opened=False, sampling={"split": "nowhere"})
        assert "gives no candidate pairs" in words(designer.get(page(study, "plan")))

    def test_generating_is_a_job_that_freezes_the_design(self, designer: Client) -> None:
        study = make_study(opened=False)
        designer.post(do(study, "generate"))
        job = Job.objects.get()
        assert (job.kind, job.state) == ("generate_hits", "queued")
        assert "waiting for its turn" in words(designer.get(page(study, "hits")))
        assert run_job(job.pk)
        study.refresh_from_db()
        assert study.state == "generated"
        assert study.hits.count() == 3

    def test_generating_twice_at_once_is_refused(self, designer: Client) -> None:
        study = make_study(opened=False)
        designer.post(do(study, "generate"))
        again = designer.post(do(study, "generate"), follow=True)
        assert "being generated already" in words(again)
        assert Job.objects.count() == 1

    def test_a_failed_job_says_why_on_the_studys_page(self, designer: Client) -> None:
        study = make_study(opened=False, sampling={"split": "nowhere"})
        designer.post(do(study, "generate"))
        run_job(Job.objects.get().pk)
        shown = words(designer.get(page(study, "hits")))
        assert "failed" in shown
        assert "gives no candidate pairs" in shown
        study.refresh_from_db()
        assert study.state == "draft"

    def test_the_progress_of_an_ended_job_asks_the_page_to_load_again(self, designer: Client) -> None:
        study = make_study(opened=False)
        designer.post(do(study, "generate"))
        job = Job.objects.get()
        follow = reverse("admin:judgments_job_progress", args=[job.pk])
        assert "HX-Refresh" not in designer.get(follow).headers
        run_job(job.pk)
        assert designer.get(follow).headers["HX-Refresh"] == "true"

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
        assert controls[0].struck
        assert not controls[0].places.exists()
        assert words(designer.get(page(study, "controls"))).count("struck") >= 1

    def test_the_captions_of_a_relevance_control_stand_together_and_are_struck_together(
        self, designer: Client
    ) -> None:
        study = make_study("relevance")
        Study.objects.filter(pk=study.pk).update(state="generated")
        groups = designer.get(page(study, "controls")).context["groups"]
        assert {len(group.items) for group in groups} == {4}
        designer.post(do(study, "strike"), {"units": groups[0].keys})
        assert Unit.objects.filter(study=study, struck=True).count() == 4

    def test_nothing_is_struck_once_workers_were_let_in(self, designer: Client) -> None:
        study = make_study()
        unit = Unit.objects.filter(study=study, control=True)[0]
        assert "Strike" not in designer.get(page(study, "controls")).content.decode().split("q-controls")[1]
        designer.post(do(study, "strike"), {"units": unit.key})
        unit.refresh_from_db()
        assert not unit.struck

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
        assert "nobody new is let in" in words(closed)

    def test_a_draft_cannot_be_opened(self, designer: Client) -> None:
        study = make_study(opened=False)
        response = designer.post(do(study, "open"), follow=True)
        assert "generate its HITs first" in words(response)

    def test_invitations_are_links_for_one_person_each(self, designer: Client) -> None:
        study = make_study(access={"join": "invited"})
        designer.post(do(study, "invite"), {"count": 3, "note": "lab", "page": "workers"})
        codes = list(Invitation.objects.filter(study=study).values_list("code", flat=True))
        assert len(set(codes)) == 3
        shown = words(designer.get(page(study, "workers")))
        for code in codes:
            assert f"http://testserver/s/{study.slug}/?code={code}" in shown

    def test_a_duplicate_is_a_draft_with_the_same_design(self, designer: Client) -> None:
        study = make_study()
        designer.post(do(study, "duplicate"))
        copy = Study.objects.exclude(pk=study.pk).get()
        assert copy.state == "draft"
        assert design_of(copy).sampling == design_of(study).sampling

    def test_a_rehearsal_answers_a_copy_that_is_marked_as_simulated_wherever_it_is_shown(
        self, designer: Client
    ) -> None:
        study = make_study()
        designer.post(do(study, "rehearse"), {"workers": 6, "spammers": 0.2, "seed": 1})
        run_job(Job.objects.get(kind="rehearse").pk)
        study.refresh_from_db()
        copy = Study.objects.exclude(pk=study.pk).get()
        assert (study.simulated, copy.simulated, copy.state) == (False, True, "closed")
        assert not Assignment.objects.filter(study=study).exists()
        for shown in [
            reverse("admin:judgments_study_changelist"),
            *(page(copy, name) for name in STUDY_PAGES[:1]),
        ]:
            assert "simulated" in words(designer.get(shown))
        for name in ("hits", "controls", "workers", "results"):
            assert "simulated" in words(designer.get(page(copy, name)))
        after = words(designer.get(page(copy, "workers")))
        assert "Open to workers" not in after
        assert re.search(r"units whose known truth was recovered \d+%", after)

    def test_the_metrics_to_compute_with_stand_under_their_name(self, designer: Client) -> None:
        shown = designer.get(page(make_study(), "results")).content.decode()
        assert re.search(r"<legend>Metrics</legend>\s*<div", shown)

    def test_a_study_that_was_never_opened_can_be_deleted_and_an_opened_one_cannot(
        self, designer: Client
    ) -> None:
        draft, opened = make_study(opened=False), make_study(slug="opened")
        assert "Delete “A triplet study”?" in words(designer.get(page(draft, "delete")))
        designer.post(page(draft, "delete"))
        refused = designer.post(page(opened, "delete"), follow=True)
        assert "only a study that was never opened can be deleted" in words(refused)
        assert list(Study.objects.all()) == [opened]


def upload(name: str, text: str | bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)


CSV = "image,caption\na.jpg,A dog runs .\na.jpg,A brown dog .\nb.jpg,A cat sleeps .\n"


class TestUploading:
    def send(self, designer: Client, **values: Any) -> Any:
        fields = {"name": "mine", "format": "csv", "files": [upload("captions.csv", CSV)]}
        return designer.post(reverse("admin:judgments_dataset_add"), fields | values)

    def test_an_uploaded_dataset_is_imported_by_a_job_that_tells_what_came_of_it(
        self, designer: Client
    ) -> None:
        response = self.send(designer)
        job = Job.objects.get()
        assert response.headers["Location"] == reverse("admin:judgments_job_change", args=[job.pk])
        assert run_job(job.pk)
        dataset = Dataset.objects.get(name="mine")
        assert dataset.captions.count() == 3
        shown = words(designer.get(response.headers["Location"]))
        assert "done" in shown
        assert "Go to mine" in shown
        assert "images 2 captions 3" in shown
        assert "True" not in shown

    def test_the_form_asks_for_the_name_and_the_file_before_it_asks_for_pictures(
        self, designer: Client
    ) -> None:
        shown = designer.get(reverse("admin:judgments_dataset_add")).content.decode()
        names = ["name", "format", "files", "pictures_zip", "pictures_at", "attribution"]
        places = [shown.index(f' name="{name}"') for name in names]
        assert places == sorted(places)

    def test_a_name_with_a_blank_in_it_is_told_what_a_name_may_hold(self, designer: Client) -> None:
        shown = words(self.send(designer, name="my photos"))
        assert "Only letters from a to z, digits, hyphens and underscores can be used" in shown
        assert "slug" not in shown

    def test_a_new_study_from_a_datasets_page_is_about_that_dataset(self, designer: Client) -> None:
        make_dataset(name="other")
        dataset = make_dataset()
        address = reverse("admin:judgments_study_add") + f"?dataset={dataset.name}"
        assert (
            address
            in designer.get(reverse("admin:judgments_dataset_change", args=[dataset.pk])).content.decode()
        )
        assert f"&amp;dataset={dataset.name}" in designer.get(address).content.decode()
        form = designer.get(f"{address}&preset=vedantam-2015-triplet").content.decode()
        assert f'<option value="{dataset.name}" selected>' in form

    def test_a_zip_of_a_folder_is_unpacked(self, designer: Client) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("my set/captions.csv", CSV)
            archive.writestr("__MACOSX/._captions.csv", "x")
        self.send(designer, files=[upload("set.zip", packed.getvalue())])
        assert run_job(Job.objects.get().pk)
        assert Dataset.objects.get().items.count() == 2

    def test_an_error_in_the_file_names_line_and_column_and_not_the_servers_folders(
        self, designer: Client, settings: Any
    ) -> None:
        self.send(designer, files=[upload("captions.csv", "image,caption\na.jpg,\n")])
        job = Job.objects.get()
        run_job(job.pk)
        job.refresh_from_db()
        assert job.state == "failed"
        assert job.error.startswith("captions.csv, line 2")
        assert str(settings.DATA_DIR) not in job.error
        assert job.error in words(designer.get(reverse("admin:judgments_job_change", args=[job.pk])))

    def test_an_unsafe_zip_is_refused_beside_the_field(self, designer: Client) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("../../captions.csv", CSV)
        response = self.send(designer, files=[upload("set.zip", packed.getvalue())])
        assert "leads out of the archive's folder" in words(response)
        assert not Job.objects.exists()

    def test_candidates_of_a_system_are_uploaded_on_the_datasets_page(self, designer: Client) -> None:
        self.send(designer)
        run_job(Job.objects.get().pk)
        dataset = Dataset.objects.get()
        designer.post(
            reverse("admin:judgments_dataset_candidates", args=[dataset.pk]),
            {
                "system": "parrot",
                "format": "csv",
                "files": [upload("c.csv", "image,caption\na.jpg,A dog .\n")],
            },
        )
        assert run_job(Job.objects.get(kind="import_candidates").pk)
        shown = words(designer.get(reverse("admin:judgments_dataset_change", args=[dataset.pk])))
        assert "parrot" in shown

    def test_judgments_collected_elsewhere_become_a_study(self, designer: Client) -> None:
        dataset = make_dataset()
        caption = dataset.captions.get(key="000.jpg#0")
        rows = "".join(
            f"u1,relevance,000.jpg,{caption.key},{caption.text},w-{number},{number % 2}\n"
            for number in range(3)
        )
        designer.post(
            reverse("admin:judgments_dataset_judgments", args=[dataset.pk]),
            {
                "study": "elsewhere", "format": "csv", "protocol": "",
                "files": [upload("j.csv", "unit,protocol,image,first,first_text,worker,value\n" + rows)],
            },
        )  # fmt: skip
        assert run_job(Job.objects.get().pk)
        study = Study.objects.get(slug="elsewhere")
        assert study.source == "imported"
        shown = words(designer.get(page(study, "results")))
        assert "imported" in shown
        assert "Open to workers" not in shown


def hand_in(study: Study, name: str) -> Assignment:
    """A worker joins, takes a HIT, always chooses the first, and hands it in."""
    worker, _ = make_worker(study, name)
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    assert claim.assignment.hit is not None
    count = claim.assignment.hit.places.count()
    answers = [{"position": number, "value": 1} for number in range(1, count + 1)]
    return submit_assignment(assignment=claim.assignment, answers=answers).assignment


def answered_study(**values: Any) -> Study:
    """An opened study with one worker's HIT handed in and another's held."""
    study = make_study(**values)
    hand_in(study, "w-1")
    worker, _ = make_worker(study, "w-2")
    assert claim_assignment(study=study, worker=worker) is not None
    return study


class TestCost:
    @pytest.mark.parametrize("name", [*STUDY_PAGES])
    def test_a_page_of_a_study_costs_at_most_twelve_queries(
        self, designer: Client, django_assert_max_num_queries: Callable[..., Any], name: str
    ) -> None:
        study = make_study(opened=False) if name in ("plan", "delete") else answered_study()
        with django_assert_max_num_queries(12):
            assert designer.get(page(study, name)).status_code == 200

    def test_the_form_of_a_draft_and_the_datasets_page_cost_at_most_twelve_queries(
        self, designer: Client, django_assert_max_num_queries: Callable[..., Any]
    ) -> None:
        study = make_study(opened=False)
        for address in (
            page(study, "change"),
            page(study, "hits"),
            reverse("admin:judgments_study_add") + ADD,
            reverse("admin:judgments_dataset_change", args=[study.dataset_id]),
        ):
            with django_assert_max_num_queries(12):
                assert designer.get(address).status_code == 200

    def test_a_list_of_thirty_rows_costs_no_more_queries_than_one_of_three(self, designer: Client) -> None:
        def costs() -> dict[str, int]:
            counted = {}
            for name in LISTS:
                with CaptureQueriesContext(connection) as queries:
                    assert designer.get(reverse(f"admin:{name}_changelist")).status_code == 200
                counted[name] = len(queries)
            return counted

        many_rows(3)
        few = costs()
        many_rows(30)
        assert {name: cost for name, cost in costs().items() if cost > few[name]} == {}


def many_rows(count: int) -> None:
    """``count`` rows or more of everything that has a list."""
    study = Study.objects.filter(slug="crowded").first()
    if study is None:
        study = make_study(slug="crowded", judgments_per_unit=40)
        CandidatePair.objects.filter(study=study).update(published_winner=1)
    units, pairs = list(study.units.all()), list(study.pairs.all())
    for number in range(Job.objects.count(), count):
        assignment = hand_in(study, f"w-{number}")
        report_problem(assignment=assignment, position=1, what="other", comment="blurred")
        make_study(opened=False, slug=f"study-{number}")
        Dataset.objects.create(name=f"more-{number}", source_format="csv", fingerprint="")
        Job.objects.create(kind="generate_hits", args={"study": f"study-{number}"})
        Invitation.objects.create(study=study, code=f"code-{number}")
        analysis = Analysis.objects.create(study=study, what="aggregation", data_hash=str(number), result={})
        MetricScore.objects.create(
            analysis=analysis, metric="cider", pair=pairs[number % 6], first=1, second=0
        )
        if number < len(units):
            Consensus.objects.create(study=study, unit=units[number], n=3, value=1)
        elif number < len(units) + len(pairs):
            Consensus.objects.create(study=study, pair=pairs[number - len(units)], n=3, value=1)


class TestStrangers:
    def addresses(self, study: Study) -> list[str]:
        job = Job.objects.create(kind="generate_hits", args={"study": study.slug})
        return [
            *(page(study, name) for name in STUDY_PAGES),
            page(study, "download") + "?job=1",
            *(reverse(f"admin:{name}_changelist") for name in LISTS),
            reverse("admin:judgments_study_add"),
            reverse("admin:judgments_study_from_file"),
            reverse("admin:judgments_dataset_add"),
            reverse("admin:judgments_dataset_change", args=[study.dataset_id]),
            reverse("admin:judgments_dataset_candidates", args=[study.dataset_id]),
            reverse("admin:judgments_dataset_judgments", args=[study.dataset_id]),
            reverse("admin:judgments_job_change", args=[job.pk]),
            reverse("admin:judgments_job_progress", args=[job.pk]),
        ]

    def test_nobody_signed_in_and_people_without_staff_rights_get_the_login_page(
        self, client: Client
    ) -> None:
        study = make_study()
        for person in (None, User.objects.create_user("visitor")):
            if person is not None:
                client.force_login(person)
            for address in self.addresses(study):
                response = client.get(address)
                assert response.status_code == 302, address
                assert response.headers["Location"].startswith("/admin/login/")

    def test_staff_without_permissions_are_refused_everywhere(self, client: Client) -> None:
        study = make_study()
        client.force_login(User.objects.create_user("clerk", is_staff=True))
        for address in self.addresses(study):
            assert client.get(address).status_code == 403, address

    @pytest.mark.parametrize(
        "step",
        ["generate", "strike", "open", "close", "duplicate", "rehearse", "invite", "compute", "export"],
    )
    def test_no_step_is_taken_by_anybody_without_permission(self, client: Client, step: str) -> None:
        study = make_study()
        clerk = User.objects.create_user("clerk", is_staff=True)
        assert client.post(do(study, step)).status_code == 302
        client.force_login(clerk)
        assert client.post(do(study, step)).status_code == 403
        assert not Job.objects.exists()
        assert Study.objects.count() == 1

    def test_who_may_only_look_sees_no_step_that_changes_and_can_take_none(self, client: Client) -> None:
        study = make_study()
        reader = User.objects.create_user("reader", is_staff=True)
        reader.user_permissions.add(Permission.objects.get(codename="view_study"))
        client.force_login(reader)
        shown = words(client.get(page(study, "workers")))
        assert "Close" not in shown
        assert "Rehearse" not in shown
        assert client.post(do(study, "close")).status_code == 403
        assert client.get(reverse("admin:judgments_study_add")).status_code == 403
        study.refresh_from_db()
        assert study.state == "open"

    def test_a_step_needs_a_post(self, designer: Client) -> None:
        study = make_study()
        assert designer.get(do(study, "close")).status_code == 405
        assert designer.post(do(study, "explode")).status_code == 404

    def test_judgments_cannot_be_added_changed_or_deleted(self, designer: Client) -> None:
        study = answered_study()
        judgment = Assignment.objects.get(study=study, state="submitted").judgments.all()[0]
        assert designer.get(reverse("admin:annotation_judgment_add")).status_code == 403
        change = reverse("admin:annotation_judgment_change", args=[judgment.pk])
        assert designer.get(change).status_code == 200
        assert designer.post(change, {"value": 2}).status_code == 403
        assert (
            designer.post(reverse("admin:annotation_judgment_delete", args=[judgment.pk])).status_code == 403
        )

    def test_no_page_of_a_worker_shows_what_is_stored_of_their_secrets(self, designer: Client) -> None:
        worker, _ = make_worker(make_study())
        shown = designer.get(reverse("admin:annotation_worker_change", args=[worker.pk])).content.decode()
        assert worker.token_hash not in shown
        assert worker.resume_hash not in shown

    def test_hostile_names_and_captions_are_escaped(self, designer: Client) -> None:
        study = make_study(name="<script>alert(1)</script>")
        Study.objects.filter(pk=study.pk).update(state="generated")
        caption = Unit.objects.filter(study=study, control=True)[0].first
        assert caption is not None
        type(caption).objects.filter(pk=caption.pk).update(text="<img src=x onerror=alert(1)>")
        for name in ("change", "hits", "controls", "workers", "results"):
            shown = designer.get(page(study, name)).content.decode()
            assert "<script>alert" not in shown
            assert "<img src=x" not in shown
