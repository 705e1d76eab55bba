"""Declare what “hit_templates” adds. The command has its name for `manage.py`, what it imports, and its class."""

from django.utils.translation import gettext_lazy as _

from config.features import Feature
from judgments.jobs.registry import READING, JobKind


class HITTemplatesConfig(Feature):
    name = "contrib.hit_templates"
    kinds = ("contrib.hit_templates.kind.HITTemplate",)
    rehearsals = ("contrib.hit_templates.rehearsal.TemplateRehearsal",)
    pages = ("contrib.hit_templates.page",)
    commands = {
        "Studies": {
            "study template": (
                "import_template",
                "a HIT template with its inputs",
                "contrib.hit_templates.management.ImportTemplate",
            )
        }
    }
    jobs = {
        "import_template": JobKind(
            "contrib.hit_templates.handlers.import_template_upload",
            READING,
            _("Import of a HIT template"),
            upload_page="admin:judgments_study_start_bring-template",
        ),
    }
