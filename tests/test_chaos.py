"""Web server, worker, database and broker are killed while people work: small runs of `python -m tests.chaos`."""

import pytest

from tests.chaos.run import Chaos
from tests.chaos.services import stage


@pytest.mark.long
@pytest.mark.parametrize(
    ("seed", "database", "broker"),
    [
        pytest.param(1, "postgresql", "redis", marks=pytest.mark.redis),
        (2, "sqlite", "none"),
        pytest.param(3, "postgresql", "rabbitmq", marks=pytest.mark.rabbitmq),
    ],
)
def test_nothing_is_lost_or_doubled_and_the_books_agree_after_kills(
    seed: int, database: str, broker: str
) -> None:
    with stage(database, broker) as fresh, fresh() as (installation, services):
        outcome = Chaos(installation, services, seed=seed, hits=8, kills=6).run()
    assert sum(outcome.kills.values()) == 6
    assert sum(outcome.faults.values()) > 8
    assert outcome.acknowledged > 48
    assert outcome.jobs.total() > 12
