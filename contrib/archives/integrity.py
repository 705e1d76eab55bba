"""The check of deposits for the command ``check_integrity``."""

from collections.abc import Iterator

from contrib.archives.models import Deposit


def find_deposit_problems() -> Iterator[str]:
    """Yield a message for each draft or public deposit without an address, or without the release's bundle."""
    deposits = Deposit.objects.filter(state__in=[Deposit.State.DRAFT, Deposit.State.PUBLIC])
    for deposit in deposits.select_related("release__study").order_by("pk").iterator():
        release = deposit.release
        place = f"Study {release.study.slug}: release {release.version} is {deposit.state} at {deposit.host}"
        if not (deposit.address and deposit.remote):
            yield f"{place}, and nothing says under which address."
        if release.sha256 not in [file.get("sha256") for file in deposit.sent]:
            yield f"{place}, and the files that went there do not hold its bundle."
