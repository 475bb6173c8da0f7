"""Writing to replay shards at a fixed offered load: more writers, one shard and four; and the loss of a shard.

    python -m benchmarks.menger.replay_writes [--writers 16 128 512] [--seconds 60] [--repetitions 2] [--seed 0]

Needs root (network namespaces). Every shard is a host whose incoming link is limited, so the time of a write is the
link's and hardly the cores'. All writers together write at random moments (Poisson), at a mean of LOAD of one link,
whatever their number and that of the shards; each is a ShardedWriter, as in an actor, in one of four processes. A
write's time is from the call until the shard has confirmed it. Items are random bits, which Reverb's compression
cannot shorten; before the clock starts each writer writes a compressible one to every shard, which opens its streams.
The loss: the learner reads nothing for a while, so that queues fill; one shard is killed with -9; the writers hear of
it as they would from the database, when its heartbeat is stale. Writes benchmarks/results/menger_replay_writes.json.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from typing import Any

import numpy as np

from benchmarks.menger.children import Child, serve
from benchmarks.menger.network import Network
from benchmarks.menger.report import end_in_order, header, load, summary, write
from workers.menger.replay import ShardedReader, ShardedWriter
from workers.menger.roles import STALE_S
from workers.menger.servers import ReplayServer

ITEM_BYTES = 16 << 10
LINK_BITS_PER_S = 1.5e6
SERVICE_S = 8 * ITEM_BYTES * 1514 / 1448 / LINK_BITS_PER_S  # of one item on its shard's link, with TCP's headers
LOAD = 0.6  # offered, of one link
RATE_PER_S = LOAD / SERVICE_S
PROCESSES = 4
SHARDS = (1, 4)
QUEUE_ITEMS = 4096
WAIT_S = 0.5  # actor.WRITE_WAIT_S
LOSS_WRITERS, LOSS_PAUSE_S, LOSS_AFTER_S = 64, 8.0, 30.0


class NumberedItems:
    """In place of the codec of unrolls: a number and bytes. Positive numbers are real, the rest opens streams."""

    def encode(self, number: int) -> list[np.ndarray]:
        data = np.zeros(ITEM_BYTES, np.uint8)
        if number > 0:
            data = np.random.default_rng(number).integers(256, size=ITEM_BYTES, dtype=np.uint8)
        return [np.asarray(number, np.int64), data]

    def decode(self, arrays: list[np.ndarray]) -> int:
        return int(arrays[0])


def shard() -> None:
    server = ReplayServer(QUEUE_ITEMS)
    serve({"port": lambda: server.port})


def writers() -> None:
    addresses: list[str] = []
    known: list[ShardedWriter] = []
    codec: Any = NumberedItems()

    def make(count: int, first: int, shards: list[str]) -> int:
        """Writers, each with a stream to every shard."""
        addresses[:] = shards
        known[:] = [ShardedWriter(codec, lambda: addresses, start_at=first + k) for k in range(count)]
        for writer in known:
            for _ in shards:
                stored = writer.write([0], WAIT_S)
                while not stored:
                    stored = writer.flush(WAIT_S)
        return count

    def run(begin_s: float, plan: list[list[list[float]]]) -> None:
        """`plan`: of each writer, (second after `begin_s`, number) of its items. Answered by `result`."""
        done.clear()
        running[:] = [
            threading.Thread(target=one, args=(writer, begin_s, items), daemon=True)
            for writer, items in zip(known, plan, strict=True)
        ]
        for thread in running:
            thread.start()

    def one(writer: ShardedWriter, begin_s: float, items: list[list[float]]) -> None:
        for second, number in items:
            time.sleep(max(0.0, begin_s + second - time.monotonic()))
            called_s = time.monotonic()
            before = writer.lost_unrolls
            stored = writer.write([int(number)], WAIT_S)
            while not stored:
                stored = writer.flush(WAIT_S)
            done.append([number, called_s - begin_s, time.monotonic() - called_s, writer.lost_unrolls - before])

    def result() -> list[list[float]]:
        """(number, second of the call, seconds, times sent again) of each write."""
        for thread in running:
            thread.join()
        return done

    def shards_are(shards: list[str]) -> None:
        addresses[:] = shards

    done: list[list[float]] = []
    running: list[threading.Thread] = []
    serve({"make": make, "run": run, "shards": shards_are, "result": result})


def reader() -> None:
    readers: list[ShardedReader] = []
    read: list[list[int]] = []
    go, last_s = threading.Event(), [time.monotonic()]

    def pump(k: int) -> None:
        while True:
            go.wait()
            item: Any = readers[k].read(0.2)
            if item is not None:
                last_s[0] = time.monotonic()
                read[k].append(item)

    def follow(shards: list[str]) -> None:
        codec: Any = NumberedItems()
        for k, address in enumerate(shards):
            readers.append(ShardedReader(codec, lambda address=address: [address], max_held=1))
            read.append([])
            threading.Thread(target=pump, args=(k,), daemon=True).start()
        go.set()

    def taken() -> list[list[int]]:
        """Numbers read from each shard, once nothing has come for two seconds."""
        while time.monotonic() < last_s[0] + 2:
            time.sleep(0.2)
        return [[number for number in numbers if number > 0] for numbers in read]

    serve({"follow": follow, "pause": go.clear, "go": go.set, "taken": taken})


class Bed:
    def __init__(self, network: Network, shards: int, count: int) -> None:
        hosts = [network.add_host(f"shard{k}") for k in range(shards)]
        for host in hosts:
            host.limit(LINK_BITS_PER_S, inward=True)
        self.shards = [Child(host, "replay_writes", "shard") for host in hosts]
        self.reader = Child(network.add_host("learner"), "replay_writes", "reader")
        self.writers = [Child(network.add_host(f"cell{k}"), "replay_writes", "writers") for k in range(PROCESSES)]
        ports = [child.ask("port") for child in self.shards]
        self.addresses = [f"{host.address}:{port}" for host, port in zip(hosts, ports, strict=True)]
        self.reader.ask("follow", shards=self.addresses)
        self.count = count
        for k, child in enumerate(self.writers):
            child.tell("make", count=count // PROCESSES, first=k * (count // PROCESSES), shards=self.addresses)
        for child in self.writers:
            child.answer()

    def start(self, seconds: float, seed: int, first_number: int = 1) -> float:
        """Offer the load for so long, from the moment that is returned on."""
        random = np.random.default_rng(seed)
        moments = np.sort(random.uniform(0, seconds, random.poisson(RATE_PER_S * seconds)))
        plan: list[list[list[float]]] = [[] for _ in range(self.count)]
        for number, (moment, who) in enumerate(
            zip(moments, random.integers(self.count, size=len(moments)), strict=True)
        ):
            plan[who].append([float(moment), first_number + number])
        begin_s = time.monotonic() + 1.0
        share = self.count // PROCESSES
        for k, child in enumerate(self.writers):
            child.ask("run", begin_s=begin_s, plan=plan[k * share : (k + 1) * share])
        return begin_s

    def result(self) -> list[list[float]]:
        for child in self.writers:
            child.tell("result")
        return [write for child in self.writers for write in child.answer()]


def measure(shards: int, count: int, seconds: float, repetitions: int, seed: int) -> dict[str, Any]:
    times: list[float] = []
    medians, loads = [], []
    with Network() as network:
        bed = Bed(network, shards, count)
        for k in range(repetitions):
            bed.start(seconds, seed + k, first_number=1 + 1_000_000 * k)
            taken_s = [item[2] for item in bed.result()]
            medians.append(round(float(np.median(taken_s)), 5))
            times.extend(taken_s)
            loads.append(load()[0])
        spread = [len(numbers) for numbers in bed.reader.ask("taken")]
    return {
        "shards": shards,
        "writers": count,
        "writes": len(times),
        **summary(times),
        "median_s_of_repetitions": medians,
        "read_from_each_shard": spread,
        "load": loads,
    }


def lose(seed: int) -> dict[str, Any]:
    """Four shards, one killed with a filled queue."""
    with Network() as network:
        bed = Bed(network, 4, LOSS_WRITERS)
        begin_s = bed.start(LOSS_PAUSE_S + LOSS_AFTER_S, seed)
        bed.reader.ask("pause")
        time.sleep(begin_s + LOSS_PAUSE_S - time.monotonic())
        killed_s = time.monotonic() - begin_s
        bed.shards[0].kill()
        bed.reader.ask("go")
        time.sleep(STALE_S)
        for child in bed.writers:
            child.ask("shards", shards=bed.addresses[1:])
        told_s = time.monotonic() - begin_s
        writes = bed.result()
        read = [number for numbers in bed.reader.ask("taken") for number in numbers]
    confirmed = {int(number) for number, *_ in writes}
    lost = confirmed - set(read)
    hit = [item for item in writes if item[3] > 0]
    others = [item[2] for item in writes if item[3] == 0 and item[1] > killed_s]
    before = [item[2] for item in writes if item[1] + item[2] < killed_s]
    return {
        "writers": LOSS_WRITERS,
        "shards": 4,
        "killed_at_s": round(killed_s, 2),
        "writers_told_after_s": round(told_s - killed_s, 2),
        "writes": len(writes),
        "confirmed_before_the_loss": sum(item[1] + item[2] < killed_s for item in writes),
        "lost": len(lost),
        "lost_all_confirmed_before_the_loss": all(
            item[1] + item[2] < killed_s for item in writes if int(item[0]) in lost
        ),
        "read_twice": len(read) - len(set(read)),
        "writes_sent_again": len(hit),
        "their_longest_s": round(max((item[2] for item in hit), default=0.0), 3),
        "median_before_s": round(float(np.median(before)), 5),
        "median_of_the_others_after_s": round(float(np.median(others)), 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes to replay shards.")
    parser.add_argument("--writers", type=int, nargs="+", default=[16, 128, 512])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    end_in_order()
    begin = load()
    with Network() as network:
        bed = Bed(network, 1, PROCESSES)
        begin_s = time.monotonic() + 0.5
        plan = [[[2.0 * k, k + 1.0] for k in range(10)]]
        bed.writers[0].ask("run", begin_s=begin_s, plan=plan)
        alone = summary([item[2] for item in bed.writers[0].ask("result")])
    print("a writer alone:", alone, flush=True)
    loss = lose(words.seed)
    print("loss:", loss, flush=True)
    rows = []
    for shards in SHARDS:
        for count in words.writers:
            rows.append(measure(shards, count, words.seconds, words.repetitions, words.seed))
            print(rows[-1], flush=True)
    write(
        "replay_writes",
        {
            **header("replay_writes", words.seed, begin),
            "item_bytes": ITEM_BYTES,
            "link_bits_per_s": LINK_BITS_PER_S,
            "offered_per_s": round(RATE_PER_S, 3),
            "load_of_one_link": LOAD,
            "one_writer": alone,
            "rows": rows,
            "loss": loss,
        },
    )


if __name__ == "__main__":
    kinds = {"shard": shard, "writers": writers, "reader": reader}
    if len(sys.argv) == 2 and sys.argv[1] in kinds:
        kinds[sys.argv[1]]()
    else:
        main()
