"""Who is who by chains of records: what one record calls a process, another one calls a rank."""
