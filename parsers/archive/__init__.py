"""From folders, archives and exports to files."""
