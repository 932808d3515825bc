"""Local chains to pay on: real nodes, emulators and the contracts on them, for demos, tests and benchmarks."""
