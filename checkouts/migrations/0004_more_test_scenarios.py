"""Name the test scenarios that were added."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Changes no table: the database knows no list of scenarios."""

    stage = "expand"

    dependencies = [("checkouts", "0003_checkouts_by_reference")]

    operations = [
        migrations.AlterField(
            model_name="checkout",
            name="test_scenario",
            field=models.CharField(
                blank=True,
                choices=[
                    ("completed", "Completed"),
                    ("processing", "Processing"),
                    ("underpaid", "Underpaid"),
                    ("topped_up", "Topped up"),
                    ("part_paid", "Part paid"),
                    ("overpaid", "Overpaid"),
                    ("extra", "Extra"),
                    ("late", "Late"),
                    ("expired", "Expired"),
                    ("reorg", "Reorg"),
                    ("reversed", "Reversed"),
                ],
                max_length=10,
            ),
        )
    ]
