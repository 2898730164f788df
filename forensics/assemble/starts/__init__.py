"""Who did not come to a start that never came about."""
