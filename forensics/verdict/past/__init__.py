"""What is the same as in earlier attempts and incidents."""
