"""Findings held against symptoms and against each other."""
