"""How processes ended, whose failure that was, and who only followed."""
