"""Who answers."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    """Workers, assignments and their answers."""

    name = "annotation"
    verbose_name = "Annotation"

    def ready(self) -> None:
        """Says who does this app's jobs."""
        from judgments import jobs

        jobs.register("import_judgments", "annotation.handlers.import_judgments")
        jobs.register("rehearse", "annotation.handlers.rehearse")
