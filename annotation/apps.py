"""Who answers."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    """Workers, assignments and their answers."""

    name = "annotation"
    verbose_name = "Annotation"
