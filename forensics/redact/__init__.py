"""What a bundle or a report tells about its owner, replaced so that it can be shown to others.

names.py finds the names and holds what each becomes, bundles.py rewrites a bundle, reports.py a report. Beside the one
road of the analysis: nothing of it is imported by a detector, and the verdict of what is rewritten stays the same.
"""
