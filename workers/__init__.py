"""Who does the work: `agents/` (pure maths), `menger/` (the roles), `run.py` (one job), `tasks.py`, `cli/`."""
