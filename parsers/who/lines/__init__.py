"""What stands before the words of a line, and lines in which a process says who it is."""
