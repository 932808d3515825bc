"""The benchmarks of `script/bench`. Figures are medians of alternating rounds, and ratios within one run."""

# It finds the tree's own distributions, which the benchmarks use.
import demo as demo
