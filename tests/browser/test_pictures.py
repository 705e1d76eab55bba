"""The pictures of README and documentation show today's pages of the demo."""

import pytest

from tests.installations import Installations

ADMIN = """
from django.contrib.auth.models import User
User.objects.create_superuser("admin")
"""


@pytest.mark.long
def test_the_pictures_of_the_documentation_are_of_todays_pages(installations: Installations) -> None:
    with installations.fresh("sqlite", after=ADMIN) as office:
        office.manage("load_demo")
        office.collect_static()
        done = office.run_new("-m", "scripts.pictures", "--check")
        assert done.returncode == 0, done.stdout + done.stderr
