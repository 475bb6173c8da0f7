"""Measurements of the distributed parts: models, replay, whole jobs; and the simulation that goes beyond them."""
