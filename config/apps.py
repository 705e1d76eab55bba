"""The app of this installation's system checks."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Installation"

    def ready(self) -> None:
        from config import checks  # noqa: F401 - registers them
