from django.db import migrations


class Migration(migrations.Migration):
    """Names, help texts and labels in the words of the pages; no table is changed."""

    dependencies = [
        ('judgments', '0031_content_of_systems'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='hit',
            options={'ordering': ['study_id', 'position'], 'verbose_name': 'page of work', 'verbose_name_plural': 'pages of work'},
        ),
        migrations.AlterModelOptions(
            name='hitunit',
            options={'ordering': ['hit_id', 'position'], 'verbose_name': 'item of a page of work', 'verbose_name_plural': 'items of pages of work'},
        ),
        migrations.AlterModelOptions(
            name='unit',
            options={'ordering': ['study_id', 'position'], 'verbose_name': 'item'},
        ),
    ]
