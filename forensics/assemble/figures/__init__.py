"""Which of the figures in a log are what, and of which step."""
