from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('settlements', '0002_gas_accounts_retire'),
    ]

    operations = [
        migrations.AddField(
            model_name='gastransaction',
            name='expires_at',
            field=models.DateTimeField(null=True),
        ),
    ]
