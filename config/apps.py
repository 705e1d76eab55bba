"""Makes the system checks of this installation known."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """No models: checks only."""

    name = "config"
    verbose_name = "Installation"

    def ready(self) -> None:
        """Registers the checks."""
        from config import checks
        from config import checks as crowd_checks

        checks.register_setting_checks()
        crowd_checks.register_crowd_checks()
