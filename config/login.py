"""The admin's login form, with limits on wrong passwords."""

from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from common import rate_limits


class LimitedLoginForm(AuthenticationForm):
    """Check the limits before the password, whose check costs processor time."""

    def clean(self) -> dict[str, Any]:
        try:
            return self._limited()
        except rate_limits.TooMany as error:
            raise ValidationError(str(error), code="too_many") from None

    def _limited(self) -> dict[str, Any]:
        account = str(self.cleaned_data.get("username", "")).casefold()[:150]
        rate_limits.check("login", account)
        rate_limits.check("logins")
        try:
            cleaned: dict[str, Any] = super().clean()
        except ValidationError:  # counting refuses as well, where other attempts came meanwhile
            rate_limits.count("logins")
            rate_limits.count("login", account)
            raise
        return cleaned
