import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def make_creators_owners(apps, schema_editor):
    Study, StudyRole = apps.get_model("judgments", "Study"), apps.get_model("judgments", "StudyRole")
    made = Study.objects.exclude(created_by=None).values_list("pk", "created_by")
    StudyRole.objects.bulk_create(
        [StudyRole(study_id=study, user_id=user, given_by_id=user, role="owner") for study, user in made], 500
    )


class Migration(migrations.Migration):

    dependencies = [
        ('judgments', '0004_places_of_studies'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='StudyEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(blank=True, help_text="The study's short name at that time.", max_length=80)),
                ('what', models.CharField(help_text='In a word, such as opened or budget-raised.', max_length=40)),
                ('words', models.CharField(help_text='In a sentence.', max_length=1000)),
                ('why', models.CharField(blank=True, help_text='The reason that was given.', max_length=500)),
                ('details', models.JSONField(blank=True, default=dict)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='StudyRole',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'viewer'), ('reviewer', 'reviewer'), ('designer', 'designer'), ('owner', 'owner')], max_length=10)),
                ('given_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['study_id', 'user_id'],
            },
        ),
        migrations.AddField(
            model_name='study',
            name='paused_at',
            field=models.DateTimeField(blank=True, help_text='While an open study hands out nothing; who holds a HIT goes on.', null=True),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('paused_at', None), ('state', 'open'), _connector='OR'), name='only_an_open_study_is_paused'),
        ),
        migrations.AddField(
            model_name='studyevent',
            name='by',
            field=models.ForeignKey(blank=True, help_text='Empty where the platform did it by itself, or a command did.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='studyevent',
            name='study',
            field=models.ForeignKey(blank=True, help_text='Empty once the study, never opened, was deleted.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='events', to='judgments.study'),
        ),
        migrations.AddField(
            model_name='studyrole',
            name='given_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='studyrole',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='roles', to='judgments.study'),
        ),
        migrations.AddField(
            model_name='studyrole',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='study_roles', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='studyrole',
            constraint=models.UniqueConstraint(fields=('study', 'user'), name='one_role_per_study_and_person'),
        ),
        migrations.AddConstraint(
            model_name='studyrole',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'reviewer', 'designer', 'owner'])), name='role_is_a_known_one'),
        ),
        migrations.RunPython(make_creators_owners, migrations.RunPython.noop, elidable=True),
    ]
