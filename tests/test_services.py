"""The tests' own promise: one that uses a service is marked, so that the marks tell what a machine cannot run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import services
from tests.chaos.services import postgres, rabbitmq, redis
from tests.installations import Installation


def test_the_fixture_of_a_service_brings_its_marker(request: pytest.FixtureRequest, redis_url: str) -> None:
    assert services.needs(request.node) == {"redis"}


def test_a_database_brings_the_marker_of_its_server(request: pytest.FixtureRequest, database: str) -> None:
    assert services.needs(request.node) == {"postgresql"} & {database}


@pytest.mark.parametrize("service", sorted(services.TITLES))
def test_a_service_is_refused_to_a_test_without_its_marker(service: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=rf"expected the marker @pytest\.mark\.{service},"):
        services.demand(service)


def test_no_server_is_started_and_no_database_made_without_the_marker(
    installation_on: Callable[[str], Installation], tmp_path: Path
) -> None:
    for service, start in {"postgresql": postgres, "redis": redis, "rabbitmq": rabbitmq}.items():
        with pytest.raises(pytest.fail.Exception, match=service), start(tmp_path):
            pass
    with pytest.raises(pytest.fail.Exception, match="postgresql"):
        installation_on("postgresql")
