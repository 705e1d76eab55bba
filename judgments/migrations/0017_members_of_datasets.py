"""Datasets have members, and systems owners.

What is there stays readable to those who read it: datasets are shared with the installation, and systems are published.
Who loaded a dataset could add to it, and owns it now.
"""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

SHARING = [
    ("members", "its members alone"),
    ("installation", "all researchers of this installation"),
    ("published", "everybody, also without an account"),
]


def make_owners(apps, schema_editor):
    Dataset, Job = apps.get_model("judgments", "Dataset"), apps.get_model("judgments", "Job")
    DatasetRole = apps.get_model("judgments", "DatasetRole")
    for dataset in Dataset.objects.iterator(500):
        # a later upload of the same files did not create it, and an earlier dataset may have had its name
        done = Job.objects.filter(
            kind="import_dataset",
            state="done",
            args__name=dataset.name,
            finished_at__gte=dataset.created_at,
        )
        first = done.order_by("finished_at", "pk").first()
        if first is not None and first.created_by_id is not None:
            DatasetRole.objects.create(dataset=dataset, user_id=first.created_by_id, role="owner")


class Migration(migrations.Migration):
    dependencies = [
        ("judgments", "0016_names_of_the_glossary"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="sharing",
            field=models.CharField(choices=SHARING, default="installation", max_length=12),
        ),
        migrations.AlterField(
            model_name="dataset",
            name="sharing",
            field=models.CharField(choices=[('members', 'only its members'), ('installation', 'all researchers of this installation'), ('published', 'everybody, even without an account')], default='members', help_text='Who can read the dataset in addition to its members.', max_length=12),
        ),
        migrations.AddConstraint(
            model_name="dataset",
            constraint=models.CheckConstraint(
                condition=models.Q(("sharing__in", ["members", "installation", "published"])),
                name="sharing_is_a_known_one",
            ),
        ),
        migrations.AddField(
            model_name="system",
            name="owner",
            field=models.ForeignKey(blank=True, help_text='The account that added the system. Empty if a command added it, or if it came with the dataset.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='systems', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name="system",
            name="private",
            field=models.BooleanField(default=False, help_text='The system is not published. Only its owner sees its outputs.'),
        ),
        migrations.AddConstraint(
            model_name="system",
            constraint=models.CheckConstraint(
                condition=models.Q(("private", False), ("owner__isnull", False), _connector="OR"),
                name="a_private_system_has_an_owner",
            ),
        ),
        migrations.CreateModel(
            name="DatasetRole",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("viewer", "viewer"), ("editor", "editor"), ("owner", "owner")],
                        max_length=10,
                    ),
                ),
                ("given_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="roles",
                        to="judgments.dataset",
                    ),
                ),
                (
                    "given_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="dataset_roles",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["dataset_id", "user_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset", "user"), name="one_role_per_dataset_and_person"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["viewer", "editor", "owner"])),
                        name="dataset_role_is_a_known_one",
                    ),
                ],
            },
        ),
        migrations.RunPython(make_owners, migrations.RunPython.noop, elidable=True),
    ]
