"""Bundles that are drawn, theme by theme (forms.py)."""
