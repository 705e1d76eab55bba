"""Who answers."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    """Workers, assignments and their answers."""

    name = "annotation"
    verbose_name = "Annotation"

    def ready(self) -> None:
        """Registers the long work of this app."""
        from judgments.jobs import register

        register("import_judgments", "annotation.handlers.import_judgments")
        register("sync_crowd", "annotation.handlers.sync_crowd")
