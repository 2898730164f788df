"""Incident in, text out: terminal, Markdown, JSON, page, notebook. Nothing here infers."""
