"""`placewright warm-up`: compiles every numba kernel into the cache, so that no job waits for the compiler."""

from __future__ import annotations

import time

import click


@click.command(help="Compile all kernels into the cache (done by set-up; a later job then starts at once).")
def warm_up() -> None:
    from placement.warmup import warm_up as compile_kernels

    begin_s = time.monotonic()
    compile_kernels()
    click.echo(f"kernels ready after {time.monotonic() - begin_s:.1f} s")
