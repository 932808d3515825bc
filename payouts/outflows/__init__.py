"""Which outflow pays which payout, by rules alone, and outflows of a time that a restore lost."""
