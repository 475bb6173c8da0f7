"""What is to be placed: model, readers, writers, samples. Files in, `Design` out. Imports numpy only.

Start at `model.py` (the arrays), then `load.py` (files to a `Design`).
"""
