"""Incidents over months: kept in one file, joined by host and device, never by rank."""

from forensics.history.entries import NotAReport, entries_of, load, report_from
from forensics.history.store import NotAHistory, add, mark, recall

__all__ = ["NotAHistory", "NotAReport", "add", "entries_of", "load", "mark", "recall", "report_from"]
