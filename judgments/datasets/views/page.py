"""The pages of a dataset: its list, its contents, and pages that apps add."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_POST
from unfold.decorators import display

from common.errors import QuorumError
from common.incoming import RequestBytesExceeded
from judgments.access.dataset_roles import DATASET_ROLES, has_role
from judgments.access.rights import Person
from judgments.access.views import offered_accounts
from judgments.access.visible_rows import visible_rows
from judgments.admin.addresses import picture_address
from judgments.admin.base import row_or_404, signed_in
from judgments.admin.columns import CountColumn, count_rows_by_key
from judgments.admin.documentation import page_of_feature, with_help
from judgments.datasets import uploads
from judgments.datasets.operations import OPERATIONS
from judgments.datasets.views.forms import UPLOAD_FORMS
from judgments.datasets.views.upload_views import UploadViews
from judgments.jobs.queues import enqueue
from judgments.models import (
    Caption,
    Dataset,
    DatasetRole,
    Item,
    Job,
    Output,
    PublishedPair,
    Study,
    System,
    SystemContent,
)
from judgments.studies.step_form import read_posted_parameters

# on a dataset's page: the images, the captions of each image, the studies and the jobs
SAMPLE_SIZE, MAX_CAPTIONS, MAX_STUDIES, MAX_JOBS = 8, 3, 20, 5
# subqueries with the counts of each dataset
IMAGE_COUNT = count_rows_by_key(Item.objects.all(), "dataset")
CAPTION_COUNT = count_rows_by_key(Caption.objects.filter(role=Caption.Role.REFERENCE), "dataset")


@dataclass(frozen=True, slots=True)
class DatasetPage:
    """A page of a dataset that an app adds. Everybody who may read the dataset may open it."""

    name: str
    view: Callable[[HttpRequest, Dataset, dict[str, Any]], HttpResponse]
    title: str = ""  # label of the link on the dataset's main page; "" for no link


DATASET_PAGES: dict[str, DatasetPage] = {}


def add_dataset_page(page: DatasetPage) -> None:
    DATASET_PAGES[page.name] = page


@admin.register(Dataset)
class DatasetAdmin(UploadViews):
    help = "formats.md#one-upload"
    empty_list_text = "A dataset contains pictures or texts, and what people and systems wrote about them."
    list_display = (
        "dataset",
        "source_format",
        CountColumn("images", "n_images", lambda person: IMAGE_COUNT),
        CountColumn("captions", "n_captions", lambda person: CAPTION_COUNT),
        CountColumn(
            "systems",
            "n_systems",
            lambda person: count_rows_by_key(System.objects.visible_to(person), "dataset"),
        ),
        CountColumn(
            "studies",
            "n_studies",
            lambda person: count_rows_by_key(Study.objects.visible_to(person), "dataset"),
        ),
        "sharing",
        "created_at",
    )
    list_display_links = None
    add_label = "Import a dataset"
    search_fields = ("name",)
    actions = None

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="dataset", ordering="name")
    def dataset(self, dataset: Dataset) -> SafeString:
        address = reverse("admin:judgments_dataset_change", args=[dataset.pk])
        return format_html('<a class="q-name" href="{}">{}</a>', address, dataset.name)

    def get_urls(self) -> list[URLPattern]:
        urls = [
            self._url("columns/<slug:upload>/", self.columns_view, "columns", help="imports.md"),
            self._url("<int:pk>/do/<slug:name>/", require_POST(self.do_view), "do"),
        ]
        for name, form_class in UPLOAD_FORMS.items():
            view: Callable[..., HttpResponse] = partial(self.import_view, form_class=form_class)
            help = form_class.help or page_of_feature(form_class)
            urls.append(self._url(f"<int:pk>/{name}/", view, name, help=help))
        for page in DATASET_PAGES.values():
            view = partial(self.page_view, page=page)
            urls.append(self._url(f"<int:pk>/{page.name}/", view, page.name, help=page_of_feature(page.view)))
        return [*urls, *super().get_urls()]

    def _url(self, route: str, view: Callable[..., HttpResponse], name: str, *, help: str = "") -> URLPattern:
        """Return the URL of a view of the admin. ``help`` is the documentation page about the view."""
        return path(
            route, with_help(self.admin_site.admin_view(view), help), name=f"judgments_dataset_{name}"
        )

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        dataset = self._dataset(request, object_id)
        may_own = has_role(request.user, dataset, "owner")
        members = DatasetRole.objects.visible_to(request.user).filter(dataset=dataset)
        return self._page(
            request,
            "judgments/dataset.html",
            dataset.name,
            dataset=dataset,
            may_change=has_role(request.user, dataset, "editor"),
            may_own=may_own,
            members=members.select_related("user", "given_by").order_by("given_at", "pk"),
            roles=DATASET_ROLES,
            sharings=Dataset.Sharing.choices,
            own_account=signed_in(request),
            **(offered_accounts() if may_own else {}),
            links=[
                (reverse(f"admin:judgments_dataset_{name}", args=[dataset.pk]), gettext(page.title))
                for name, page in DATASET_PAGES.items()
                if page.title
            ],
            imports=[
                (reverse(f"admin:judgments_dataset_{name}", args=[dataset.pk]), gettext(form.title))
                for name, form in UPLOAD_FORMS.items()
                if not form.permission or request.user.has_perm(form.permission)
            ],
            may_add_study=request.user.has_perm("judgments.add_study"),
            **_contents_context(dataset, request.user),
        )

    def _dataset(self, request: HttpRequest, pk: int | str) -> Dataset:
        return row_or_404(visible_rows(Dataset.objects.all(), request.user), pk)

    def page_view(self, request: HttpRequest, pk: int, page: DatasetPage) -> HttpResponse:
        dataset = self._dataset(request, pk)
        context = {**self.admin_site.each_context(request), "title": dataset.name, "dataset": dataset}
        return page.view(request, dataset, context)

    def do_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        dataset = self._dataset(request, pk)
        operation = OPERATIONS.get(name)
        if operation is None:
            raise Http404
        if operation.role and not has_role(request.user, dataset, operation.role):
            raise PermissionDenied
        try:
            values = read_posted_parameters(request, operation.parameters)
            sentence = operation.carry_out(dataset=dataset, by=signed_in(request), **values)
        except QuorumError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, sentence)
        # a person who has just given up their own role may not see the dataset any more
        if not Dataset.objects.visible_to(request.user).filter(pk=dataset.pk).exists():
            return redirect("admin:judgments_dataset_changelist")
        return redirect("admin:judgments_dataset_change", dataset.pk)


def import_or_queue(
    request: HttpRequest, file: UploadedFile, read: Callable[[Path], str], *, kind: str, args: dict[str, Any]
) -> None:
    """Import an uploaded file, such as a table of scores, or queue a job if the file is too large for a request.

    Args:
        read: imports the file with this path, and returns the message to show.
        kind, args: the kind of the job, and its arguments besides the upload.
    """
    upload = uploads.store_upload([file])
    try:
        with uploads.open_upload(upload) as files:
            sentence = read(files.path)
    except RequestBytesExceeded:
        enqueue(kind=kind, args={"upload": upload, **args}, user=signed_in(request))
        sentence = gettext("The file is being imported; the list of jobs shows the result.")
    else:
        uploads.discard_upload(upload)
    messages.success(request, sentence)


def _contents_context(dataset: Dataset, person: Person) -> dict[str, Any]:
    """Return the context of a dataset's page. The number of queries does not depend on the size of the dataset."""
    items = Item.objects.filter(dataset=dataset)
    sample = list(items.select_related("dataset").prefetch_related("references")[:SAMPLE_SIZE])
    kinds = ["import_dataset", "scale_pictures", *(form.job for form in UPLOAD_FORMS.values())]
    # the job `import_dataset` has the argument ``name``; the others have ``dataset``
    jobs = visible_rows(Job.objects.filter(kind__in=kinds), person).filter(
        Q(args__dataset=dataset.name) | Q(args__name=dataset.name)
    )
    return {
        "splits": list(items.order_by().values("split").annotate(n=Count("pk")).order_by("split")),
        "counts": Dataset.objects.filter(pk=dataset.pk).values(
            n_images=IMAGE_COUNT,
            n_captions=CAPTION_COUNT,
            n_pairs=count_rows_by_key(PublishedPair.objects.all(), "dataset"),
            n_unscaled=count_rows_by_key(Item.objects.filter(scaled={}).exclude(picture=""), "dataset"),
        )[0],
        "systems": list(
            System.objects.visible_to(person)
            .filter(dataset=dataset)
            .select_related("owner")
            .annotate(
                n=count_rows_by_key(Output.objects.annotations(), "system"),
                search_results=count_rows_by_key(Output.objects.searches(), "system"),
                contents_count=count_rows_by_key(SystemContent.objects.all(), "system"),
            )
        ),
        "studies": list(Study.objects.visible_to(person).filter(dataset=dataset)[:MAX_STUDIES]),
        "sample": [
            {
                "item": item,
                "picture": picture_address(item),
                "captions": list(item.references.all())[:MAX_CAPTIONS],
            }
            for item in sample
        ],
        "has_only_texts": bool(sample) and all(item.text and not picture_address(item) for item in sample),
        "jobs": [job for job in jobs[:MAX_JOBS] if job.is_under_way or job.error],
    }
