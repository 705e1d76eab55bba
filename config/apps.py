"""Makes the system checks of this installation known."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """No models: checks and start-up only."""

    name = "config"
    verbose_name = "Installation"

    def ready(self) -> None:
        """Registers the checks and makes the broker's folders."""
        from config import checks
        from config.celery import make_broker_folders

        checks.register_all()
        make_broker_folders()
