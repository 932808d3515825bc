import django.db.models.deletion
import django.db.models.functions.text
import functools
import gateway.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='FiatInterest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('fiw',), **{}), max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('email', models.CharField(max_length=254)),
                ('company', models.CharField(blank=True, max_length=120)),
                ('country', models.CharField(blank=True, max_length=80)),
                ('monthly_volume', models.DecimalField(decimal_places=2, max_digits=20, null=True)),
                ('created_at', models.DateTimeField()),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='fiat_interests', to='accounts.merchant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('merchant'), models.F('mode'), django.db.models.functions.text.Lower('email'), name='fiat_interest_once'), models.CheckConstraint(condition=models.Q(('mode__in', ['live', 'test'])), name='fiat_interest_mode_known')],
            },
        ),
    ]
