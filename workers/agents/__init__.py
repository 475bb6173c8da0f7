"""The learning core: maths, networks and agents as pure functions of arrays. No files, processes or sockets here
(`checkpoint.py` alone writes files); `workers/menger/` is the wiring around it."""
