"""The annotation app."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"

    def ready(self) -> None:
        from judgments.jobs import register

        register("import_judgments", "annotation.handlers.import_judgments")
        register("sync_crowd", "annotation.handlers.sync_crowd")
