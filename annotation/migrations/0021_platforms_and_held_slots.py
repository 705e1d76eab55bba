"""Call the place of paid rows their platform, and held slots so. The columns stay: no row or constraint is touched."""

from django.db import migrations, models
from django.db.models import F, Q


def _rename(model: str, before: str, after: str, field: models.Field) -> list[migrations.operations.base.Operation]:
    return [migrations.RenameField(model, before, after), migrations.AlterField(model, after, field)]


def _platform(**options: object) -> models.CharField:
    return models.CharField(db_column="place", max_length=20, verbose_name="place", **options)


CONSTRAINTS = {
    "budget": [
        models.UniqueConstraint(fields=["study", "platform"], name="one_budget_per_study_and_place"),
    ],
    "crowdsession": [
        models.UniqueConstraint(
            fields=["platform", "external_id", "worker"], name="a_session_once_per_place_id_and_worker"
        ),
    ],
    "publication": [
        models.UniqueConstraint(
            fields=["platform", "external_id"],
            condition=~Q(external_id=""),
            name="a_publication_once_per_place",
        ),
        models.UniqueConstraint(
            fields=["study", "platform", "hit", "number"], name="publications_of_a_hit_are_numbered"
        ),
        models.CheckConstraint(condition=Q(held_slots__lte=F("places")), name="held_places_are_places"),
    ],
    "worker": [
        models.UniqueConstraint(
            fields=["platform", "name"], condition=Q(source="crowd"), name="crowd_worker_name_once_per_place"
        ),
        models.CheckConstraint(
            condition=(Q(source="crowd") & ~Q(platform="")) | (~Q(source="crowd") & Q(platform="")),
            name="a_place_sends_the_workers_of_a_crowd",
        ),
    ],
}
INDEXES = {
    "crowdsession": models.Index(fields=["study", "platform", "status"], name="crowd_sessions_of_a_study"),
    "publication": models.Index(fields=["study", "platform", "state"], name="publications_of_a_study"),
}


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0020_fewer_traces_of_people"),
        ("judgments", "0026_platform_of_a_study"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *(
                    migrations.RemoveConstraint(model, constraint.name)
                    for model, constraints in CONSTRAINTS.items()
                    for constraint in constraints
                ),
                *(migrations.RemoveIndex(model, index.name) for model, index in INDEXES.items()),
                *_rename("budget", "place", "platform", _platform()),
                *_rename("crowdcall", "place", "platform", _platform()),
                *_rename("crowdsession", "place", "platform", _platform()),
                *_rename("publication", "place", "platform", _platform()),
                *_rename(
                    "publication",
                    "held",
                    "held_slots",
                    models.PositiveIntegerField(
                        db_column="held",
                        default=0,
                        help_text="Places whose price is reserved still.",
                        verbose_name="held",
                    ),
                ),
                *_rename(
                    "worker",
                    "place",
                    "platform",
                    _platform(
                        blank=True, help_text="Which crowd sent the person; the sandbox's people are others."
                    ),
                ),
                *(migrations.AddIndex(model, index) for model, index in INDEXES.items()),
                *(
                    migrations.AddConstraint(model, constraint)
                    for model, constraints in CONSTRAINTS.items()
                    for constraint in constraints
                ),
            ]
        )
    ]
