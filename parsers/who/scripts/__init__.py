"""What scripts and command lines give to processes: names, numbers, sums."""
