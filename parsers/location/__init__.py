"""Where hosts stand and what they hang on: racks, switches, zones."""
