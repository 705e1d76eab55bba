"""Rankings of images for a caption beside those of captions for an image; designs say where their pairs come from."""

from django.db import migrations, models

CROSSED_TEXTS_AND_IMAGES = ("relevance", "graded", "slider")


def _say_that_pairs_were_crossed(apps, schema_editor):
    """Designs from before this key crossed every text of the split with every image of it."""
    Study, SavedPreset = apps.get_model("judgments", "Study"), apps.get_model("judgments", "SavedPreset")
    for study in Study.objects.filter(protocol__in=CROSSED_TEXTS_AND_IMAGES).iterator(100):
        if _say_crossed(study.design):
            study.save(update_fields=["design"])
    for preset in SavedPreset.objects.iterator(100):
        if preset.values.get("protocol") in CROSSED_TEXTS_AND_IMAGES and _say_crossed(preset.values):
            preset.save(update_fields=["values"])


def _say_crossed(values):
    sampling = values.setdefault("sampling", {})
    if "pairs_from" in sampling:
        return False
    sampling["pairs_from"] = "crossed"
    return True


class Migration(migrations.Migration):
    dependencies = [("judgments", "0001_version_0_5_0")]

    operations = [
        migrations.RemoveConstraint(model_name="output", name="one_output_per_system_image_and_rank"),
        migrations.AddField(
            model_name="output",
            name="task",
            field=models.CharField(choices=[('annotation', 'image annotation: captions are ranked for an image'), ('search', 'image search: images are ranked for a caption')], default='annotation', max_length=10),
        ),
        migrations.AddField(
            model_name="system",
            name="search_fingerprint",
            field=models.CharField(blank=True, help_text='SHA-256 of the imported rankings of images.', max_length=64, verbose_name='fingerprint of the rankings'),
        ),
        migrations.AddConstraint(
            model_name="output",
            constraint=models.UniqueConstraint(
                condition=models.Q(task="annotation"),
                fields=("system", "item", "rank"),
                name="one_output_per_system_image_and_rank",
            ),
        ),
        migrations.AddConstraint(
            model_name="output",
            constraint=models.UniqueConstraint(
                condition=models.Q(task="search"),
                fields=("system", "caption", "rank"),
                name="one_found_image_per_system_caption_and_rank",
            ),
        ),
        migrations.AlterField(
            model_name="unit",
            name="filtered",
            field=models.BooleanField(default=False, help_text='The filter left the text out, or the text belongs to another item (H13 §4.3.2).', verbose_name='added to fill a group'),
        ),
        migrations.RunPython(_say_that_pairs_were_crossed, migrations.RunPython.noop, elidable=True),
    ]
