"""Adds why a signed authorisation is not sent yet."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('payouts', '0003_payouts_waiting'),
        ('settlements', '0004_relays'),
    ]

    operations = [
        migrations.AddField(
            model_name='payoutrequest',
            name='trouble',
            field=models.CharField(
                blank=True,
                choices=[('', 'None'), ('gas', 'Gas'), ('funds', 'Funds'), ('used', 'Used'), ('refused', 'Refused')],
                db_default='',
                default='',
                max_length=7,
            ),
        ),
    ]
