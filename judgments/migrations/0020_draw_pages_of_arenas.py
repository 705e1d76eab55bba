"""Draw the pages of an arena while people work, and store what each was drawn from."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judgments', '0019_fewer_indexes_of_units'),
    ]

    operations = [
        migrations.AddField(
            model_name='hitunit',
            name='chance',
            field=models.FloatField(blank=True, help_text='In an arena, the chance of its pair of systems when it was sampled.', null=True),
        ),
        migrations.AlterField(
            model_name='hit',
            name='version',
            field=models.PositiveIntegerField(default=0, help_text='Number of changes to the items: withdrawn check questions, or new samples of an arena.'),
        ),
        migrations.CreateModel(
            name='DrawState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('answers', models.PositiveIntegerField()),
                ('counts', models.JSONField(help_text='[wins, ties, losses] of each pair of systems.')),
                ('strengths', models.JSONField(help_text='Of each system, in the order of their names.')),
                ('made_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='draw_states', to='judgments.study')),
            ],
            options={
                'ordering': ['study_id', 'number'],
            },
        ),
        migrations.AddField(
            model_name='hit',
            name='drawn_from',
            field=models.ForeignKey(blank=True, db_index=False, help_text='In an arena: the answers from which the items were sampled. Empty until a participant takes the page.', null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='hits', to='judgments.drawstate', verbose_name='sampled by'),
        ),
        migrations.CreateModel(
            name='SystemPair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('start', models.PositiveIntegerField(help_text='Position of the first of its items, which follow one another.')),
                ('units', models.PositiveIntegerField(verbose_name='items')),
                ('wins', models.PositiveIntegerField(default=0, help_text='Answers for the first system.')),
                ('ties', models.PositiveIntegerField(default=0)),
                ('losses', models.PositiveIntegerField(default=0)),
                ('first_system', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.system')),
                ('second_system', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='judgments.system')),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='system_pairs', to='judgments.study')),
            ],
            options={
                'ordering': ['study_id', 'position'],
            },
        ),
        migrations.AddConstraint(
            model_name='drawstate',
            constraint=models.UniqueConstraint(fields=('study', 'number'), name='draw_states_in_order'),
        ),
        migrations.AddConstraint(
            model_name='systempair',
            constraint=models.UniqueConstraint(fields=('study', 'position'), name='system_pairs_in_order'),
        ),
        migrations.AddConstraint(
            model_name='systempair',
            constraint=models.UniqueConstraint(fields=('study', 'first_system', 'second_system'), name='two_systems_are_one_pair'),
        ),
    ]
