"""Who speaks: what stands before lines, and which process is which rank."""
