"""Designs: uploads streamed to disk, and what a worker found in them."""
