"""Declare what “hit_templates” adds. The command has its name for `manage.py`, what it imports, and its class."""

from config.features import Feature


class HITTemplatesConfig(Feature):
    name = "contrib.hit_templates"
    kinds = ("contrib.hit_templates.kind.HITTemplate",)
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

    def start(self) -> None:
        from judgments.jobs.registry import READING, register

        register(
            "import_template",
            "contrib.hit_templates.handlers.import_template_upload",
            queue=READING,
            upload_page="admin:judgments_study_start_bring-template",
        )
