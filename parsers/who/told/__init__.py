"""What documents, tables and notes tell: which name is which rank."""
