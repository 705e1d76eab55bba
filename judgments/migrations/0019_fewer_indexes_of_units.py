"""Generated HITs are stored with fewer indexes: none that another one begins with, and none for empty columns."""

from django.db import migrations, models

from common.rows.loads import drop_key_indexes

ONE_IS_ENOUGH = {
    "candidatepair": ["study_id"],
    "unit": ["study_id", "reference_id", "first_id", "second_id", "pair_id"],
    "hit": ["study_id"],
    "hitunit": ["hit_id"],
}


class Migration(migrations.Migration):
    dependencies = [("judgments", "0018_versions_of_hits")]

    operations = [
        migrations.RunPython(drop_key_indexes("judgments", ONE_IS_ENOUGH), migrations.RunPython.noop),
        *(
            migrations.AddIndex(
                model_name="unit",
                index=models.Index(
                    condition=models.Q((f"{name}__isnull", False)), fields=[name], name=f"units_by_{name}"
                ),
            )
            for name in ("reference", "first", "second", "pair")
        ),
    ]
