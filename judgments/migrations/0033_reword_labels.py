import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Labels and help texts are reworded; no table is changed."""

    dependencies = [
        ('judgments', '0032_words_of_pages'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='apitoken',
            name='limited',
            field=models.BooleanField(default=False, help_text='The token gives access only to certain studies.', verbose_name='limited to certain studies'),
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='name',
            field=models.CharField(help_text='Purpose of the token, such as the notebook of the pilot.', max_length=100),
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='prefix',
            field=models.CharField(help_text='The first characters of the token.', max_length=12),
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='scopes',
            field=models.JSONField(default=list, help_text='Names from judgments.access.tokens.SCOPES.'),
        ),
        migrations.AlterField(
            model_name='caption',
            name='position',
            field=models.PositiveIntegerField(default=0, help_text='Position among the references of the image.'),
        ),
        migrations.AlterField(
            model_name='dataset',
            name='fingerprint',
            field=models.CharField(help_text='SHA-256 of the imported rows. If the same file is imported again, nothing changes.', max_length=64),
        ),
        migrations.AlterField(
            model_name='dataset',
            name='notes',
            field=models.JSONField(blank=True, default=dict, help_text='Notes of the import about the data.'),
        ),
        migrations.AlterField(
            model_name='dataset',
            name='sharing',
            field=models.CharField(choices=[('members', 'only its members'), ('installation', 'all researchers of this installation'), ('published', 'everybody, even without an account')], default='members', help_text='Who can read the dataset in addition to its members.', max_length=12),
        ),
        migrations.AlterField(
            model_name='hit',
            name='drawn_from',
            field=models.ForeignKey(blank=True, db_index=False, help_text='In an arena: the answers from which the items were sampled. Empty until a participant takes the page.', null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='hits', to='judgments.drawstate', verbose_name='sampled by'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='external_id',
            field=models.CharField(blank=True, help_text="Id of the page of work at the study's crowd.", max_length=80),
        ),
        migrations.AlterField(
            model_name='hit',
            name='extra',
            field=models.PositiveSmallIntegerField(default=0, help_text='Number of places that were added after the design was frozen.', verbose_name='added places'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='open_slots',
            field=models.PositiveSmallIntegerField(help_text='Number of places that are still offered.', verbose_name='open places'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='required',
            field=models.PositiveSmallIntegerField(help_text='Number of different participants who do this page of work.'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='spared',
            field=models.PositiveSmallIntegerField(default=0, help_text='Places that are no longer offered, because the outcome of the items is decided or the offer expired.', verbose_name='places saved'),
        ),
        migrations.AlterField(
            model_name='hit',
            name='version',
            field=models.PositiveIntegerField(default=0, help_text='Number of changes to its items. Items change if check questions are withdrawn, or if an arena samples new items.'),
        ),
        migrations.AlterField(
            model_name='item',
            name='fields',
            field=models.JSONField(blank=True, default=list, help_text='Row of inputs for a HIT template: [[column, text], …].'),
        ),
        migrations.AlterField(
            model_name='item',
            name='position',
            field=models.PositiveIntegerField(help_text='Position in the imported source. Sampling starts from this order.'),
        ),
        migrations.AlterField(
            model_name='item',
            name='scaled',
            field=models.JSONField(blank=True, default=dict, help_text='The sizes in which the picture is available.', verbose_name='picture sizes'),
        ),
        migrations.AlterField(
            model_name='item',
            name='text',
            field=models.TextField(blank=True, help_text='The text that belongs to the image (MC12 §3.2).'),
        ),
        migrations.AlterField(
            model_name='job',
            name='args',
            field=models.JSONField(blank=True, default=dict, verbose_name='arguments'),
        ),
        migrations.AlterField(
            model_name='job',
            name='sent_at',
            field=models.DateTimeField(blank=True, help_text="Time at which the broker delivers the job's message. Empty: no message was sent.", null=True),
        ),
        migrations.AlterField(
            model_name='output',
            name='task',
            field=models.CharField(choices=[('annotation', 'image annotation: captions are ranked for an image'), ('search', 'image search: images are ranked for a caption')], default='annotation', max_length=10),
        ),
        migrations.AlterField(
            model_name='savedpreset',
            name='slug',
            field=models.SlugField(help_text='Study files refer to the preset as preset = "…".', max_length=80, unique=True),
        ),
        migrations.AlterField(
            model_name='savedpreset',
            name='values',
            field=models.JSONField(help_text='The settings of the design, as in a study file.'),
        ),
        migrations.AlterField(
            model_name='study',
            name='design',
            field=models.JSONField(help_text='The frozen StudyDesign. Use design_of(study) to read it.'),
        ),
        migrations.AlterField(
            model_name='study',
            name='paused_at',
            field=models.DateTimeField(blank=True, help_text='Time at which the study was paused. A paused study offers no work, but pages of work in progress can be finished.', null=True),
        ),
        migrations.AlterField(
            model_name='study',
            name='platform',
            field=models.CharField(blank=True, db_column='place', help_text='The crowd at which the study was first opened, live or sandbox. It cannot be changed.', max_length=20, verbose_name='crowd'),
        ),
        migrations.AlterField(
            model_name='study',
            name='simulated',
            field=models.BooleanField(default=False, help_text='Contains simulated answers of a rehearsal, not answers of people.'),
        ),
        migrations.AlterField(
            model_name='studyevent',
            name='by',
            field=models.ForeignKey(blank=True, help_text='Empty if the platform or a command did it.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='studyevent',
            name='study',
            field=models.ForeignKey(blank=True, help_text='Empty if the study was deleted. Only a study that was never opened can be deleted.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='events', to='judgments.study'),
        ),
        migrations.AlterField(
            model_name='studyevent',
            name='what',
            field=models.CharField(help_text='Kind of event, such as opened or budget-raised.', max_length=40),
        ),
        migrations.AlterField(
            model_name='studyevent',
            name='why',
            field=models.CharField(blank=True, help_text='Reason for the action.', max_length=500),
        ),
        migrations.AlterField(
            model_name='studyevent',
            name='words',
            field=models.CharField(help_text='Description of the event in a sentence.', max_length=1000),
        ),
        migrations.AlterField(
            model_name='system',
            name='human',
            field=models.BooleanField(default=False, help_text='The captions are by people, not by a system.', verbose_name='captions by people'),
        ),
        migrations.AlterField(
            model_name='system',
            name='owner',
            field=models.ForeignKey(blank=True, help_text='The account that added the system. Empty if a command added it, or if it came with the dataset.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='systems', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='system',
            name='private',
            field=models.BooleanField(default=False, help_text='The system is not published. Only its owner sees its outputs.'),
        ),
        migrations.AlterField(
            model_name='system',
            name='search_fingerprint',
            field=models.CharField(blank=True, help_text='SHA-256 of the imported rankings of images.', max_length=64, verbose_name='fingerprint of the rankings'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='audited',
            field=models.BooleanField(default=False, help_text='An item below the Bleu-pre threshold, sampled to measure the errors of the filter.'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='content',
            field=models.JSONField(blank=True, default=dict, help_text='Other content of the item, stored when the item was generated.'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='control_kind',
            field=models.CharField(blank=True, choices=[('degraded', 'a caption of the item and a damaged copy of it'), ('repeated', 'an item of the same page of work, shown again'), ('known-good', 'an item whose answer the designer knows'), ('reference', "a person's caption of the image"), ('quiz', 'an item of the quiz that is not on a page of work')], help_text='Empty if the item is not a check question.', max_length=10, verbose_name='kind of check question'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='expected',
            field=models.JSONField(blank=True, help_text='Only for check questions.', null=True, verbose_name='right answer'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='filtered',
            field=models.BooleanField(default=False, help_text='Shown only to fill the last group of ten. The filter left it out, or it is a text of another image (H13 §4.3.2).'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='systems',
            field=models.JSONField(blank=True, default=list, help_text='Row ids of the systems that wrote the text, from an imported file. If there are options, one list of ids for each option. 0: no system. Empty: all systems with this text.'),
        ),
        migrations.AlterField(
            model_name='unit',
            name='withdrawn',
            field=models.BooleanField(default=False, help_text='A check question that was withdrawn because it misled careful participants.'),
        ),
    ]
