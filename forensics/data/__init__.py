"""Facts that detectors use as data: tables with their own columns, no logic."""
