from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("links", "0002_mail_waits_in_the_outbox"),
    ]

    operations = [
        migrations.AddField(
            model_name="paymentlink",
            name="escrow",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
