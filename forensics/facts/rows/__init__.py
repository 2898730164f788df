"""Rows as all facts read them: which events count, where they stand, who printed them, what their words tell."""
