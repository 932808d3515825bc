"""The log of API requests: what each key asked in the last seven days, and what it was answered."""
