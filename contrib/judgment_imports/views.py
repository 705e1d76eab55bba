"""Judgments collected elsewhere, over HTTP: POST /api/datasets/{name}/judgments/."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.parameters import Parameters
from contrib.judgment_imports.importing import import_judgments
from judgments.access.dataset_roles import require_editor
from judgments.access.permissions import staff_of
from judgments.api.resources import dataset_for
from judgments.importers import ImportProblem
from judgments.importers.options import OPTIONS, mapping_of
from judgments.kinds import KINDS

BODY_NAME = "rows"  # stands in error messages in place of a file's name


class SentJudgments(Parameters):
    """Judgments as JSON objects, with the options of the command `study import`."""

    study = serializers.SlugField(max_length=80, help_text="Slug of the study to create.")
    protocol = serializers.ChoiceField(
        choices=list(KINDS), required=False, help_text="Protocol of rows that name none."
    )
    rows = serializers.ListField(
        child=serializers.DictField(),
        min_length=1,
        help_text="Judgments as objects, whose members are named like the columns of a file.",
    )
    scale = serializers.CharField(
        required=False,
        max_length=40,
        help_text="Scale of graded or slider answers as LOW:HIGH[:STEP], such as 1:5:0.5 (default: inferred from the "
        "answers).",
    )
    design = serializers.DictField(
        required=False,
        help_text="Keys of a study file for the new study; answers to a HIT template need its template.",
    )
    match_names = serializers.BooleanField(default=False, help_text=OPTIONS["match_names"].help_text)
    dry_run = serializers.BooleanField(
        default=False, help_text="Check the rows as an import does, but store nothing."
    )

    def get_fields(self) -> dict[str, Any]:
        # "match_names" is no text and has a field above. Rows without a table have no "header_row".
        text_options = OPTIONS.keys() - {"match_names", "header_row"}
        options = {
            name: serializers.CharField(required=False, help_text=OPTIONS[name].help_text)
            for name in text_options
        }
        return super().get_fields() | dict(sorted(options.items()))


class ImportedStudySerializer(serializers.Serializer[Any]):
    """The study that an import created, or that has the same judgments already."""

    study = serializers.CharField(
        help_text="Slug of the study; with several criteria, the slugs of their studies, separated by commas."
    )
    created = serializers.BooleanField(
        help_text="false if the study with the same judgments existed already, and with `dry_run`."
    )
    counts = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Numbers of the study's rows by noun, such as judgments; empty with `dry_run`.",
    )
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Sentences about oddities of the data."
    )


class DatasetJudgmentsView(APIView):
    """POST /api/datasets/{name}/judgments/"""

    scope: ClassVar[str] = "studies"

    @extend_schema(
        request=SentJudgments,
        responses={
            200: ImportedStudySerializer,
            201: ImportedStudySerializer,
            404: OpenApiResponse(description="No such dataset that you may read."),
            409: OpenApiResponse(
                description="The study has other judgments, or you are no editor of the dataset."
            ),
        },
        operation_id="datasets_import_judgments",
        summary="Import judgments collected elsewhere",
    )
    def post(self, request: Request, name: str) -> Response:
        """Store judgments as a study, all or none. The body can have 2.5 MB; the command imports larger files."""
        dataset = dataset_for(request, name)
        if not staff_of(request).has_perm("judgments.add_study"):
            raise PermissionDenied("You may not create studies.")
        require_editor(staff_of(request), dataset)
        values = SentJudgments.read(request.data)
        mapping = mapping_of(values, Path(BODY_NAME))
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"{BODY_NAME}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in values["rows"]))
            try:
                summary = import_judgments(
                    format="jsonl",
                    path=path,
                    dataset=dataset.name,
                    study=values["study"],
                    protocol=values.get("protocol"),
                    mapping=mapping,
                    scale=values.get("scale", ""),
                    design=values.get("design"),
                    dry_run=values["dry_run"],
                )
            except ImportProblem as problem:
                # of several refused rows, each has a problem of its own
                for row_problem in getattr(problem, "problems", (problem,)):
                    row_problem.file = BODY_NAME
                raise
        reply = {
            "study": summary.what,
            "created": summary.created,
            "counts": summary.counts,
            "notes": summary.notes,
        }
        return Response(ImportedStudySerializer(reply).data, status=201 if summary.created else 200)
