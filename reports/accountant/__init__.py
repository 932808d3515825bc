"""A month for the accountant: its lines and sums, as files and pages, and what the merchant holds now."""
