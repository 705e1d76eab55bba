import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from common.features import move_content_types


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("evaluation", "0008_move_registrations"),
        ("judgments", "0031_content_of_systems"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Registration",
                    fields=[
                        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                        ("content", models.JSONField(help_text="Hypotheses, rules, planned analyses and the design, as registered.")),
                        ("sha256", models.CharField(help_text="Of the content as canonical JSON.", max_length=64)),
                        ("registered_at", models.DateTimeField(default=django.utils.timezone.now)),
                        ("registered_by", models.ForeignKey(blank=True, help_text="Empty where a command did it.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                        ("study", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name="registration", to="judgments.study")),
                    ],
                    options={"db_table": "evaluation_registration", "ordering": ["id"]},
                )
            ]
        ),
        move_content_types("registration", before="evaluation", after="registration"),
    ]  # fmt: skip
