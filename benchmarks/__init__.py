"""The benchmarks of `script/bench`. Figures are medians of alternating rounds, and ratios within one run."""
