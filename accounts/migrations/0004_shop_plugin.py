from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('accounts', '0003_api_requests'),
    ]

    operations = [
        migrations.AlterField(
            model_name='apikey',
            name='preset',
            field=models.CharField(choices=[('shop', 'Shop'), ('shop_plugin', 'Shop plugin'), ('paid_api', 'Paid API'), ('accountant', 'Accountant'), ('agent', 'Agent'), ('everything', 'Everything as before'), ('custom', 'Chosen one by one')], db_default='everything', max_length=16),
        ),
    ]
