"""Whose rank the name at the head of a line is."""
