"""Makes the system checks of this installation known."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """No models: checks only."""

    name = "config"
    verbose_name = "Installation"

    def ready(self) -> None:
        """Registers the checks."""
        from config import checks

        checks.register_all()
