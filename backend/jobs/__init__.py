"""Jobs: the REST routes, and the store through which runs and their roles reach the database."""
