"""Whose end, whose error and whose complaint a record tells."""
