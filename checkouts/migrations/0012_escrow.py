from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checkouts", "0011_undone_by"),
        # Creating one in escrow writes its hold.
        ("settlements", "0001_tables"),
    ]

    operations = [
        migrations.AddField(
            model_name="checkout",
            name="escrow",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
