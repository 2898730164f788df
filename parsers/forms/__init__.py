"""Forms of records: tables, pairs, documents, whatever they are about."""
