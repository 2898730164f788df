"""What is said beside a verdict and changes nothing of it."""
