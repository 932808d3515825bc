"""What releases need of each other while one takes the place of the other."""
