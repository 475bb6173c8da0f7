"""What every part of the service stands on: settings, database, tables, errors, broker."""
