"""Datasets: what is in them, and how captions, candidates and judgments come in."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from judgments.admin.addresses import picture_address
from judgments.admin.base import (
    QuorumAdmin,
    ReadOnlyAdmin,
    item_thumbnail,
    signed_in,
    study_column,
    thumbnail,
)
from judgments.forms.uploads import CandidatesForm, DatasetForm, JudgmentsForm, UploadForm
from judgments.jobs import enqueue
from judgments.models import HIT, Caption, Dataset, Item, Job, Output, Study, System, Unit

SAMPLE = 8
IMPORTS = ["import_dataset", "import_candidates", "import_judgments"]


def _count(rows: QuerySet[Any], owner: str) -> Coalesce:
    """How many of ``rows`` belong to the outer row."""
    counted = (
        rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner).annotate(n=Count("pk")).values("n")
    )
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


@admin.register(Dataset)
class DatasetAdmin(QuorumAdmin):
    """Datasets come by upload or command, and stay as they came."""

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
        """Studies stand on it; datasets go with the installation."""
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dataset]:
        """Datasets with their counts, in one query."""
        return (
            super()
            .get_queryset(request)
            .annotate(
                n_images=_count(Item.objects.all(), "dataset"),
                n_captions=_count(Caption.objects.filter(role=Caption.Role.REFERENCE), "dataset"),
                n_systems=_count(System.objects.all(), "dataset"),
                n_studies=_count(Study.objects.all(), "dataset"),
            )
        )

    @display(description="dataset", ordering="name")
    def dataset(self, dataset: Dataset) -> SafeString:
        """The name, leading to the dataset's page."""
        address = reverse("admin:judgments_dataset_change", args=[dataset.pk])
        return format_html('<a class="q-name" href="{}">{}</a>', address, dataset.name)

    @display(description="images", ordering="n_images")
    def image_count(self, dataset: Dataset) -> str:
        """How many images."""
        return f"{dataset.n_images:,}"  # type: ignore[attr-defined]

    @display(description="captions", ordering="n_captions")
    def caption_count(self, dataset: Dataset) -> str:
        """How many references."""
        return f"{dataset.n_captions:,}"  # type: ignore[attr-defined]

    @display(description="systems", ordering="n_systems")
    def system_count(self, dataset: Dataset) -> str:
        """How many systems."""
        return f"{dataset.n_systems:,}"  # type: ignore[attr-defined]

    @display(description="studies", ordering="n_studies")
    def study_count(self, dataset: Dataset) -> str:
        """How many studies."""
        return f"{dataset.n_studies:,}"  # type: ignore[attr-defined]

    def get_urls(self) -> list[URLPattern]:
        """The uploads that belong to a dataset."""
        return [
            path(
                "<int:pk>/candidates/",
                self.admin_site.admin_view(self.candidates_view),
                name="judgments_dataset_candidates",
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
        """Upload a dataset; the import itself is a job."""
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
        """Upload a system's captions."""
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

    def judgments_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Upload judgments that were collected elsewhere."""
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
        """Show the form, or keep its files and lead to the job that reads them."""
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
        """What is in a dataset."""
        dataset = self._dataset(request, object_id, change=False)
        context = {
            **self.admin_site.each_context(request),
            "opts": Dataset._meta,
            "title": dataset.name,
            "dataset": dataset,
            "may_change": self.has_change_permission(request, dataset),
            **_contents(dataset),
        }
        return TemplateResponse(request, "judgments/dataset.html", context)

    def _dataset(self, request: HttpRequest, pk: int | str, *, change: bool) -> Dataset:
        allowed = self.has_change_permission if change else self.has_view_permission
        if not allowed(request):
            raise PermissionDenied
        dataset = Dataset.objects.filter(pk=pk).first() if str(pk).isdecimal() else None
        if dataset is None:
            raise Http404
        return dataset


def _dataset_args(given: dict[str, Any]) -> dict[str, str]:
    return {"name": given["name"], "images": given["pictures_at"], "attribution": given["attribution"]}


def _contents(dataset: Dataset) -> dict[str, Any]:
    """Counts and a few images, in eight queries for any size."""
    items = Item.objects.filter(dataset=dataset)
    sample = list(items.select_related("dataset").prefetch_related("references")[:SAMPLE])
    jobs = Job.objects.filter(kind__in=IMPORTS).filter(
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
            System.objects.filter(dataset=dataset).annotate(n=_count(Output.objects.all(), "system"))
        ),
        "studies": list(Study.objects.filter(dataset=dataset)[:20]),
        "sample": [
            {"item": item, "picture": picture_address(item), "captions": list(item.references.all())[:3]}
            for item in sample
        ],
        "jobs": [job for job in jobs[:5] if job.state != Job.State.DONE],
    }


@admin.register(Item)
class ItemAdmin(ReadOnlyAdmin):
    """The images of all datasets."""

    list_display = ("name", "picture_small", "dataset", "split", "position")
    list_filter = ("split", "dataset")
    list_select_related = ("dataset",)
    search_fields = ("name",)
    fields = ("name", "picture_small", "dataset", "split", "position", "url")
    readonly_fields = ("picture_small",)

    @display(description="picture")
    def picture_small(self, item: Item) -> SafeString | str:
        """The image, small."""
        return thumbnail(item)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Item]:
        """With the dataset, which the picture's place depends on."""
        return super().get_queryset(request).select_related("dataset")


@admin.register(Caption)
class CaptionAdmin(ReadOnlyAdmin):
    """References and candidates."""

    list_display = ("text", "role", "image_name", "dataset", "key")
    list_filter = ("role", "dataset")
    list_select_related = ("dataset", "item")
    search_fields = ("text", "=key")

    @display(description="image", ordering="item__name")
    def image_name(self, caption: Caption) -> str:
        """The image a reference was written for."""
        return caption.item.name if caption.item else "–"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Caption]:
        """With what a row's words need."""
        return super().get_queryset(request).select_related("dataset", "item")


@admin.register(System)
class SystemAdmin(ReadOnlyAdmin):
    """What produced candidates."""

    list_display = ("name", "dataset", "human", "captions")
    list_filter = ("human", "dataset")
    list_select_related = ("dataset",)
    search_fields = ("name",)
    exclude = ("fingerprint",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[System]:
        """With the number of outputs."""
        return super().get_queryset(request).annotate(n=_count(Output.objects.all(), "system"))

    @display(description="captions", ordering="n")
    def captions(self, system: System) -> str:
        """How many it gave."""
        return f"{system.n:,}"  # type: ignore[attr-defined]


@admin.register(Unit)
class UnitAdmin(ReadOnlyAdmin):
    """The units of all studies, with what they compare and what was answered."""

    list_display = ("key", "picture", "study", "kind", "first_text", "second_text", "role", "judgment_count")
    list_filter = ("control", "struck", "filtered", "kind", "study")
    list_select_related = ("study", "item__dataset", "first", "second")
    search_fields = ("=key", "first__text", "second__text", "item__name")
    fields = (
        "key",
        "study",
        "picture",
        "reference",
        "first",
        "second",
        "pair",
        "kind",
        "control",
        "expected",
        "filtered",
        "struck",
    )
    readonly_fields = ("picture",)
    picture = staticmethod(item_thumbnail)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Unit]:
        """With everything a row shows."""
        related = ("study", "item__dataset", "reference", "first", "second", "pair")
        return super().get_queryset(request).select_related(*related).annotate(n=_judged())

    @display(description="first")
    def first_text(self, unit: Unit) -> str:
        """The first candidate, in the unit's own order."""
        return unit.first.text if unit.first else "–"

    @display(description="second")
    def second_text(self, unit: Unit) -> str:
        """The second candidate."""
        return unit.second.text if unit.second else "–"

    @display(description="role", label={"control": "info", "struck": "danger", "filtered": "warning"})
    def role(self, unit: Unit) -> tuple[str, str] | str:
        """Whether it is a control item, or shown although filtered."""
        for name in ("struck", "control", "filtered"):
            if getattr(unit, name):
                return name, name
        return ""

    @display(description="judgments")
    def judgment_count(self, unit: Unit) -> int:
        """How many answers it has."""
        return unit.n  # type: ignore[attr-defined]


def _judged() -> Coalesce:
    """How many judgments a unit has, counted beside it."""
    counted = Unit.objects.filter(pk=OuterRef("pk")).order_by().annotate(n=Count("judgments")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


@admin.register(HIT)
class HITAdmin(ReadOnlyAdmin):
    """The pages of work of all studies."""

    list_display = ("key", study_column, "number", "size", "required", "open_slots")
    list_filter = ("study",)
    list_select_related = ("study",)
    search_fields = ("=key", "=external_id")
    fields = ("key", "study", "number", "required", "open_slots", "external_id")
    readonly_fields = ("number",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[HIT]:
        """With the number of its units."""
        counted = HIT.objects.filter(pk=OuterRef("pk")).order_by().annotate(n=Count("places")).values("n")
        return (
            super()
            .get_queryset(request)
            .select_related("study")
            .annotate(n=Coalesce(Subquery(counted, output_field=IntegerField()), Value(0)))
        )

    @display(description="number", ordering="position")
    def number(self, hit: HIT) -> int:
        """Its place in the study."""
        return hit.position + 1

    @display(description="units")
    def size(self, hit: HIT) -> int:
        """How many units it holds."""
        return hit.n  # type: ignore[attr-defined]
