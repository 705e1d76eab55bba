"""The cached figures of large studies are called so."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgments", "0015_jobs_without_messages")]

    operations = [
        migrations.RenameModel(old_name="KeptFigures", new_name="CachedFigures"),
        migrations.AlterModelOptions(
            name="cachedfigures", options={"verbose_name_plural": "cached figures"}
        ),
        migrations.AlterField(
            model_name="cachedfigures",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="cached_figures",
                to="judgments.study",
            ),
        ),
    ]
