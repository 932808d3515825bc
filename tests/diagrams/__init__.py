"""The diagrams in docs/diagrams: tables from Django's models, sequences from declared steps that a test sees happen."""
