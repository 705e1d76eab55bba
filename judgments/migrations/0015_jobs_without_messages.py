"""Workers poll the table of jobs: no message is sent, and a job may wait until it is tried again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0014_outputs_by_task")]

    operations = [
        migrations.RemoveIndex(model_name="job", name="job_state_sent"),
        migrations.RemoveField(model_name="job", name="sent_at"),
        migrations.AddField(
            model_name="job",
            name="retry_at",
            field=models.DateTimeField(
                blank=True, help_text="A worker waits until then; empty: it need not.", null=True
            ),
        ),
        migrations.AddIndex(model_name="job", index=models.Index(fields=["state"], name="jobs_by_state")),
    ]
