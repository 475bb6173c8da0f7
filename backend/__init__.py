"""The service: REST API, database, files, accounts, events. Never imports jax, flax, reverb or tensorflow."""
