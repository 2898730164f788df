"""Incident in, text out: terminal, Markdown, JSON, page, notebook. Nothing here infers; what is shown is in the report."""
