"""Pages of datasets: their contents and uploads."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from judgments.access.roles import Person, loaded_by, visible_rows
from judgments.admin.base import (
    QuorumAdmin,
    count_of,
    picture_address,
    signed_in,
)
from judgments.datasets.upload_forms import (
    CandidatesForm,
    DatasetForm,
    JudgmentsForm,
    RankingsForm,
    UploadForm,
)
from judgments.jobs import enqueue
from judgments.models import Caption, Dataset, Item, Job, Output, Study, System

SAMPLE = 8
IMPORTS = ["import_dataset", "import_candidates", "import_rankings", "import_judgments"]


@admin.register(Dataset)
class DatasetAdmin(QuorumAdmin):
    """Datasets are uploaded or imported by command, and never changed."""

    list_display = (
        "dataset",
        "source_format",
        "image_count",
        "caption_count",
        "system_count",
        "study_count",
        "created_at",
    )
    list_display_links = None
    add_label = "Import a dataset"
    search_fields = ("name",)
    actions = None

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dataset]:
        return (
            super()
            .get_queryset(request)
            .annotate(
                n_images=count_of(Item.objects.all(), "dataset"),
                n_captions=count_of(Caption.objects.filter(role=Caption.Role.REFERENCE), "dataset"),
                n_systems=count_of(System.objects.all(), "dataset"),
                n_studies=count_of(Study.objects.visible_to(request.user), "dataset"),
            )
        )

    @display(description="dataset", ordering="name")
    def dataset(self, dataset: Dataset) -> SafeString:
        address = reverse("admin:judgments_dataset_change", args=[dataset.pk])
        return format_html('<a class="q-name" href="{}">{}</a>', address, dataset.name)

    @display(description="images", ordering="n_images")
    def image_count(self, dataset: Dataset) -> str:
        return f"{dataset.n_images:,}"  # type: ignore[attr-defined]

    @display(description="captions", ordering="n_captions")
    def caption_count(self, dataset: Dataset) -> str:
        return f"{dataset.n_captions:,}"  # type: ignore[attr-defined]

    @display(description="systems", ordering="n_systems")
    def system_count(self, dataset: Dataset) -> str:
        return f"{dataset.n_systems:,}"  # type: ignore[attr-defined]

    @display(description="studies", ordering="n_studies")
    def study_count(self, dataset: Dataset) -> str:
        return f"{dataset.n_studies:,}"  # type: ignore[attr-defined]

    def get_urls(self) -> list[URLPattern]:
        return [
            path(
                "<int:pk>/candidates/",
                self.admin_site.admin_view(self.candidates_view),
                name="judgments_dataset_candidates",
            ),
            path(
                "<int:pk>/rankings/",
                self.admin_site.admin_view(self.rankings_view),
                name="judgments_dataset_rankings",
            ),
            path(
                "<int:pk>/judgments/",
                self.admin_site.admin_view(self.judgments_view),
                name="judgments_dataset_judgments",
            ),
            *super().get_urls(),
        ]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = DatasetForm(request.POST or None, request.FILES or None)
        words = {
            "title": "Import a dataset",
            "lead": "Images and the sentences people wrote about them.",
            "button": "Import",
        }
        return self._upload(request, form, "import_dataset", words, _dataset_args)

    def candidates_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        dataset = self._dataset(request, pk, change=True)
        form = CandidatesForm(request.POST or None, request.FILES or None)
        words = {
            "title": f"{dataset.name}: import candidates",
            "lead": f"What a system says about the images of {dataset.name}.",
            "button": "Import",
        }
        return self._upload(
            request,
            form,
            "import_candidates",
            words,
            lambda given: {"dataset": dataset.name, "system": given["system"]},
        )

    def rankings_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        dataset = self._dataset(request, pk, change=True)
        form = RankingsForm(request.POST or None, request.FILES or None)
        words = {
            "title": f"{dataset.name}: import rankings",
            "lead": f"Lists in which systems ranked captions for the images of {dataset.name}, or images for captions.",
            "button": "Import",
        }
        return self._upload(request, form, "import_rankings", words, lambda given: {"dataset": dataset.name})

    def judgments_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        dataset = self._dataset(request, pk, change=True)
        if not request.user.has_perm("judgments.add_study"):
            raise PermissionDenied
        form = JudgmentsForm(request.POST or None, request.FILES or None)
        words = {
            "title": f"{dataset.name}: import judgments",
            "lead": f"Judgments about {dataset.name} that were collected elsewhere.",
            "button": "Import",
        }
        return self._upload(
            request,
            form,
            "import_judgments",
            words,
            lambda given: {"dataset": dataset.name, "study": given["study"], "protocol": given["protocol"]},
        )

    def _upload(
        self, request: HttpRequest, form: UploadForm, kind: str, words: dict[str, str], args_of: Any
    ) -> HttpResponse:
        """Show the form, or store its files and lead to the job that reads them."""
        if request.method == "POST" and form.is_valid():
            upload = form.keep()
            if upload is not None:
                args = {"upload": upload, "format": form.cleaned_data["format"], **args_of(form.cleaned_data)}
                job = enqueue(kind=kind, args=args, user=signed_in(request))
                return redirect(reverse("admin:judgments_job_change", args=[job.pk]))
        context = {**self.admin_site.each_context(request), "opts": Dataset._meta, "form": form, **words}
        return TemplateResponse(request, "judgments/upload.html", context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        dataset = self._dataset(request, object_id, change=False)
        context = {
            **self.admin_site.each_context(request),
            "opts": Dataset._meta,
            "title": dataset.name,
            "dataset": dataset,
            "may_change": self._may_extend(request, dataset),
            "may_add_study": request.user.has_perm("judgments.add_study"),
            **_contents(dataset, request.user),
        }
        return TemplateResponse(request, "judgments/dataset.html", context)

    def _dataset(self, request: HttpRequest, pk: int | str, *, change: bool) -> Dataset:
        known = str(pk).isdecimal() and len(str(pk)) < 19
        rows = visible_rows(Dataset.objects.all(), request.user)
        dataset = rows.filter(pk=pk).first() if known else None
        if dataset is None:
            raise Http404
        if change and not self._may_extend(request, dataset):
            raise PermissionDenied
        return dataset

    def _may_extend(self, request: HttpRequest, dataset: Dataset) -> bool:
        """Return whether the person may add systems and judgments: who imported the dataset may."""
        return self.has_change_permission(request) or loaded_by(dataset, signed_in(request))


def _dataset_args(given: dict[str, Any]) -> dict[str, str]:
    return {"name": given["name"], "images": given["pictures_at"], "attribution": given["attribution"]}


def _contents(dataset: Dataset, person: Person) -> dict[str, Any]:
    """Counts and a few images, in eight queries for any size."""
    items = Item.objects.filter(dataset=dataset)
    sample = list(items.select_related("dataset").prefetch_related("references")[:SAMPLE])
    jobs = visible_rows(Job.objects.filter(kind__in=IMPORTS), person).filter(
        Q(args__dataset=dataset.name) | Q(args__name=dataset.name)
    )
    return {
        "splits": list(items.order_by().values("split").annotate(n=Count("pk")).order_by("split")),
        "counts": {
            "images": items.count(),
            "captions": Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE).count(),
            "pairs": dataset.published_pairs.count(),
        },
        "systems": list(
            System.objects.filter(dataset=dataset).annotate(
                n=count_of(Output.objects.annotations(), "system"),
                found=count_of(Output.objects.searches(), "system"),
            )
        ),
        "studies": list(Study.objects.visible_to(person).filter(dataset=dataset)[:20]),
        "sample": [
            {"item": item, "picture": picture_address(item), "captions": list(item.references.all())[:3]}
            for item in sample
        ],
        "jobs": [job for job in jobs[:5] if job.state != Job.State.DONE],
    }
