"""What `script/bench` runs. Figures are medians of rounds that take turns, and ratios within one run."""
