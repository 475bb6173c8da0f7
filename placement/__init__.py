"""How good a placement is, what is legal, how to better it. Arrays in, numbers out; no files, sockets or database.

`cost/` the exact proxy cost, full and incremental · `legal/` check, feasibility, packing, legaliser ·
`search/` the exact optimiser · `env/` macro placement as an episode.
"""
