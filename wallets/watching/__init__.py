"""Reading the chains: who reads which, in what order, and how what was read is written."""
