"""What the beginnings of all files amount to, before numbers are believed as ranks."""
