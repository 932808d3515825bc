"""Add looser rules for approving payouts that wait."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('accounts', '0006_payout_approvals'),
    ]

    operations = [
        migrations.AddField(
            model_name='merchant',
            name='next_payout_rules',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='merchant',
            name='next_payout_rules_at',
            field=models.DateTimeField(null=True),
        ),
    ]
