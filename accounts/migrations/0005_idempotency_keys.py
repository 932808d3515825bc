import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('accounts', '0004_shop_plugin'),
    ]

    operations = [
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('key', models.CharField(max_length=255)),
                ('digest', models.BinaryField(max_length=32)),
                ('created_at', models.DateTimeField()),
                ('status', models.SmallIntegerField()),
                ('body', models.BinaryField()),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='idempotency_key_by_time')],
                'constraints': [models.UniqueConstraint(fields=('merchant', 'mode', 'key'), name='idempotency_key_once')],
            },
        ),
    ]
