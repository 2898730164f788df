"""Geometry of the page's drawings: plain numbers and path texts for the templates. No colours, no text escaping."""
