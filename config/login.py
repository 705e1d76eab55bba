"""The admin's login form, with limits on wrong passwords."""

from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from common import rate_limits


class LimitedLoginForm(AuthenticationForm):
    """Looks at the limits before the password, whose check costs processor time."""

    def clean(self) -> dict[str, Any]:
        account = str(self.cleaned_data.get("username", "")).casefold()[:150]
        try:
            rate_limits.check("login", account)
            rate_limits.check("logins")
        except rate_limits.TooMany as error:
            raise ValidationError(str(error), code="too_many") from None
        try:
            cleaned: dict[str, Any] = super().clean()
        except ValidationError:
            rate_limits.count("login", account)
            rate_limits.count("logins")
            raise
        return cleaned
