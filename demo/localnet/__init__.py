"""Local chains: real nodes, emulators and the contracts on them, for the demo, the tests and the benchmarks."""
