"""A claim writes fewer indexes: none that another one begins with, and none for empty columns."""

from django.db import migrations, models

from common.rows.loads import drop_key_indexes

ONE_IS_ENOUGH = {"assignment": ["study_id", "worker_id", "session_id", "exclusion_id"]}


class Migration(migrations.Migration):
    dependencies = [("annotation", "0016_prolific_as_the_first_crowd")]

    operations = [
        migrations.RunPython(drop_key_indexes("annotation", ONE_IS_ENOUGH), migrations.RunPython.noop),
        *(
            migrations.AddIndex(
                model_name="assignment",
                index=models.Index(
                    condition=models.Q((f"{name}__isnull", False)), fields=[name], name=f"work_by_{name}"
                ),
            )
            for name in ("session", "exclusion")
        ),
    ]
