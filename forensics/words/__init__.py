"""Every sentence that the analysis says, in both languages, a module for each room that speaks.

A name says what the sentence tells; its fields are filled in by the detector or by verdict/ (`forensics.model.said`).
"""
