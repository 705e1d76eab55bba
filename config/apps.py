"""The app configs of the installation (system checks, commands and signals) and of the admin."""

from collections.abc import Sequence
from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core.checks import CheckMessage, Tags, register
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from judgments.jobs import registry

SIGN_IN_ATTRIBUTE = "signed_in"  # of a request during which somebody signed in; ``config.sign_in`` reads it


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Installation"
    default = True

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from config import checks  # noqa: F401 - registers them
        from config.commands import register_commands

        register_commands()
        title = _("Compiling metrics and statistics (only once)")
        compile_kind = registry.JobKind("config.compiling.compile_in_background", registry.HEAVY, title)
        registry.register({"compile": compile_kind})
        user_logged_in.connect(note_login)


def note_login(*, request: HttpRequest, **_: object) -> None:
    """Mark the request during which somebody signs in."""
    setattr(request, SIGN_IN_ATTRIBUTE, True)


class AdminConfig(SimpleAdminConfig):
    """Django's admin without autodiscovery. ``config.admin.site`` loads its pages together with the URLs."""

    def ready(self) -> None:
        register(check_dependencies, Tags.admin)
        register(check_pages, Tags.admin)


def check_pages(app_configs: Sequence[AppConfig] | None, **options: object) -> list[CheckMessage]:
    """Load the admin's pages, then run Django's checks of them."""
    import_module("config.admin.site")
    return check_admin_app(app_configs, **options)
