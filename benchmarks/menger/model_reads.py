"""Reading a new model direct from the learner and through a cache in each of four cells, the learner's uplink limited.

    python -m benchmarks.menger.model_reads [--readers 16 64 256] [--repetitions 3] [--seed 0]

Needs root (network namespaces). Learner and cells are hosts of their own; what the learner sends passes a token bucket.
Model and rate are a 128th of 16 MB and 128 Mbit/s, so seconds are those of the full size. The learner publishes; each
reader asks within one refresh interval, as actors do, and again every interval until it holds the new version; its time
is from its first question. With caches that includes the cache's own fetch. Weights are random bits, which Reverb's
compression cannot shorten. Readers are threads, in one process a cell, which share its connection to a server as
Reverb's clients do. Caches are what `placewright role cache` runs: ModelServer and Relay.
Writes benchmarks/results/menger_model_reads.json.
"""

from __future__ import annotations

import argparse
import threading
import time
from typing import Any

import numpy as np

from benchmarks.menger.children import Child, serve
from benchmarks.menger.network import Host, Network
from benchmarks.menger.report import end_in_order, header, load, summary, write
from workers.menger.model_cache import FallbackSource, ModelServer, Relay, ReverbSource
from workers.menger.protocol import Model

SCALE = 128
BLOB_BYTES = (16 << 20) // SCALE
UPLINK_BITS_PER_S = 128e6 / SCALE  # slow, so that the link and not this machine's cores is what readers wait for
CELLS = 4
REFRESH_S = 1.0  # of readers and caches
PATIENCE_S = 1200.0
QUIET_S = 4.0  # in which the bytes of the caches' questions are counted


def weights(version: int) -> np.ndarray:
    """Random mantissas: finite numbers that do not compress."""
    bits = np.random.default_rng(version).integers(1 << 30, size=BLOB_BYTES // 4, dtype=np.uint32)
    return bits.view(np.float32)


def learner() -> None:
    server = ModelServer()

    def publish(version: int) -> float:
        server.publish(Model(version, weights(version)))
        return time.monotonic()

    serve({"port": lambda: server.port, "publish": publish})


def cache() -> None:
    server = ModelServer()
    received: list[int] = []
    source: list[str] = []

    def deliver(model: Model) -> None:
        received.append(model.weights.nbytes)
        server.publish(model)

    relay = Relay(FallbackSource(lambda: source), deliver, REFRESH_S, PATIENCE_S)

    def follow(address: str) -> int:
        source.append(address)
        relay.start()
        return server.port

    serve({"follow": follow, "received": lambda: [len(received), sum(received)], "version": lambda: server.version})


def readers() -> None:
    def read(address: str, than: int, waits_s: list[float]) -> list[float]:
        """Each thread waits its time, then asks until it has a model; returns their seconds."""
        taken_s = [0.0] * len(waits_s)

        def one(k: int) -> None:
            source = ReverbSource(address)
            time.sleep(waits_s[k])
            begin_s = time.monotonic()
            while (model := source.newest(than, PATIENCE_S)) is None:
                time.sleep(REFRESH_S)
            taken_s[k] = time.monotonic() - begin_s
            assert model.weights.nbytes == BLOB_BYTES

        threads = [threading.Thread(target=one, args=(k,)) for k in range(len(waits_s))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return taken_s

    serve({"read": read})


class Bed:
    """Learner, cells with readers, and, if wanted, caches."""

    def __init__(self, network: Network, uplink_bits_per_s: float, cells: int, cached: bool) -> None:
        self.learner_host = network.add_host("learner")
        self.learner_host.limit(uplink_bits_per_s)
        hosts: list[Host] = [network.add_host(f"cell{k}") for k in range(cells)]
        self.learner = Child(self.learner_host, "model_reads", "learner")
        self.readers = [Child(host, "model_reads", "readers") for host in hosts]
        address = f"{self.learner_host.address}:{self.learner.ask('port')}"
        self.caches = [Child(host, "model_reads", "cache") for host in hosts] if cached else []
        ports = [child.ask("follow", address=address) for child in self.caches]
        self.addresses = [f"127.0.0.1:{port}" for port in ports] or [address] * cells
        self.version = 0

    def publish(self) -> None:
        self.version += 1
        self.learner.ask("publish", version=self.version)

    def read(self, waits_s: list[list[float]]) -> list[float]:
        """Publish and let all readers read; their seconds."""
        self.publish()
        for child, address, waits in zip(self.readers, self.addresses, waits_s, strict=True):
            child.tell("read", address=address, than=self.version - 1, waits_s=waits)
        return [value for child in self.readers for value in child.answer()]

    def received(self) -> tuple[int, int]:
        """Models and their bytes that the caches took from the learner so far."""
        told = [child.ask("received") for child in self.caches]
        return sum(count for count, _ in told), sum(size for _, size in told)


def measure(count: int, cached: bool, repetitions: int, seed: int) -> dict[str, Any]:
    """One row, after a round of one reader a cell in which connections are made."""
    random = np.random.default_rng(seed + count)
    rounds, times = [], []
    with Network() as network:
        bed = Bed(network, UPLINK_BITS_PER_S, CELLS, cached)
        bed.read([[0.0]] * CELLS)
        for _ in range(repetitions):
            start = bed.learner_host.counters()
            time.sleep(QUIET_S)
            quiet = bed.learner_host.counters().since(start).sent_stream_bytes / QUIET_S
            models, payload = bed.received()
            before, begin_s = bed.learner_host.counters(), time.monotonic()
            waits = random.uniform(0, REFRESH_S, (CELLS, count // CELLS)).tolist()
            taken = bed.read(waits)
            wall_s = time.monotonic() - begin_s
            sent = bed.learner_host.counters().since(before)
            after_models, after_payload = bed.received() if cached else (models + count, payload + count * BLOB_BYTES)
            times.extend(taken)
            rounds.append(
                {
                    **summary(taken),
                    "models_sent": after_models - models,
                    "model_bytes_sent": after_payload - payload,
                    "uplink_bytes": sent.sent_bytes,
                    "uplink_stream_bytes": sent.sent_stream_bytes,
                    "question_bytes_per_s": round(quiet),
                    "wall_s": round(wall_s, 3),
                    "load": load()[0],
                }
            )
        dropped = bed.learner_host.dropped()
    return {
        "readers": count,
        "cached": cached,
        **summary(times),
        "mean_s_least_and_most": [min(r["mean_s"] for r in rounds), max(r["mean_s"] for r in rounds)],
        "dropped_packets": dropped,
        "rounds": rounds,
    }


def single(seed: int, repetitions: int = 5) -> dict[str, Any]:
    """The service times that the simulation is calibrated with: one reader, direct, and in a cell with its cache."""
    found = {}
    for name, cached in (("direct_s", False), ("cached_s", True)):
        with Network() as network:
            bed = Bed(network, UPLINK_BITS_PER_S, 1, cached)
            bed.read([[0.0]])
            taken, again = [], []
            for _ in range(repetitions):
                taken.extend(bed.read([[0.0]]))
                # the model is there already: the reading alone
                child, address = bed.readers[0], bed.addresses[0]
                again.extend(child.ask("read", address=address, than=bed.version - 1, waits_s=[0.0]))
            found[name] = round(float(np.median(taken)), 5)
            found[name.replace("_s", "_again_s")] = round(float(np.median(again)), 5)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Model reads, direct and through caches.")
    parser.add_argument("--readers", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    end_in_order()
    begin = load()
    one = single(words.seed)
    print("one reader:", one, flush=True)
    rows = []
    for count in words.readers:
        for cached in (False, True):
            row = measure(count, cached, words.repetitions, words.seed)
            rows.append(row)
            shown = {name: row[name] for name in ("readers", "cached", "mean_s", "p99_s", "mean_s_least_and_most")}
            print(shown, row["rounds"][-1], flush=True)
    write(
        "model_reads",
        {
            **header(words.seed, begin),
            "scale": SCALE,
            "blob_bytes": BLOB_BYTES,
            "uplink_bits_per_s": UPLINK_BITS_PER_S,
            "cells": CELLS,
            "refresh_s": REFRESH_S,
            "one_reader": one,
            "rows": rows,
        },
    )


if __name__ == "__main__":
    import sys

    kinds = {"learner": learner, "cache": cache, "readers": readers}
    if len(sys.argv) == 2 and sys.argv[1] in kinds:
        kinds[sys.argv[1]]()
    else:
        main()
