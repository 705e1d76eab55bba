"""Whether any HIT of a study changed is asked by the pages that say how much work there is, however many HITs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0021_unique_keys_of_units_as_index")]

    operations = [
        migrations.AddIndex(
            model_name="hit",
            index=models.Index(fields=["study"], condition=models.Q(("version__gt", 0)), name="changed_hits"),
        )
    ]
