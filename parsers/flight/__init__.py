"""The flight recorder's pickles as columns."""
