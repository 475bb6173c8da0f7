"""Writing to replay shards at a fixed offered load: more writers, one shard and four; and the loss of a shard.

    python -m benchmarks.menger.replay_writes [--writers 16 128 512] [--seconds 60] [--repetitions 2] [--seed 0]

Needs root (network namespaces). Every shard is a host whose incoming link is limited, so the time of a write is the
link's and hardly the cores'. All writers together write at random moments (Poisson), at a mean of LOAD of one link,
whatever their number and that of the shards; each is a ShardedWriter, as in an actor, in one of two processes. A
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
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.menger.children import Child, serve
from benchmarks.menger.network import Network
from benchmarks.menger.report import end_in_order, header, load, summary, write
from workers.menger.reverb_native import UNROLL_TABLE, ItemReader, queue_table, start_server

if TYPE_CHECKING:
    from workers.menger.replay import ShardedWriter

ITEM_BYTES = 16 << 10
LINK_BITS_PER_S = 1.5e6
SERVICE_S = 8 * ITEM_BYTES * 1514 / 1448 / LINK_BITS_PER_S  # of one item on its shard's link, with TCP's headers
LOAD = 0.6  # offered, of one link
RATE_PER_S = LOAD / SERVICE_S
PROCESSES = 2
SHARDS = (1, 4)
QUEUE_ITEMS = 4096
WAIT_S = 0.5  # actor.WRITE_WAIT_S
STALE_S = 5.0  # roles.STALE_S
LOSS_WRITERS, LOSS_PAUSE_S, LOSS_AFTER_S = 64, 8.0, 30.0


class NumberedItems:
    """In place of the codec of unrolls: a number and bytes. Positive numbers are real, the rest opens streams."""

    def encode(self, number: int) -> list[np.ndarray]:
        data = np.zeros(ITEM_BYTES, np.uint8)
        if number > 0:
            data = np.random.default_rng(number).integers(256, size=ITEM_BYTES, dtype=np.uint8)
        return [np.asarray(number, np.int64), data]


def shard() -> None:
    _server, port = start_server([queue_table(UNROLL_TABLE, QUEUE_ITEMS)])  # as servers.ReplayServer does
    serve({"port": lambda: port})


def writers() -> None:
    from workers.menger.replay import ShardedWriter  # here: it brings jax, of which only these need anything

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
    """Takes from every shard as soon as there is something, as replay.ShardedReader does, a thread a shard."""
    read: list[list[int]] = []
    go, last_s = threading.Event(), [time.monotonic()]

    def pump(address: str, numbers: list[int]) -> None:
        source = ItemReader(address, UNROLL_TABLE, in_flight=1)
        while True:
            go.wait()
            try:
                number = int(source.read()[0])
            except RuntimeError:
                return  # the shard was killed
            last_s[0] = time.monotonic()
            if number > 0:
                numbers.append(number)

    def follow(shards: list[str]) -> None:
        for address in shards:
            read.append([])
            threading.Thread(target=pump, args=(address, read[-1]), daemon=True).start()
        go.set()

    def taken() -> list[list[int]]:
        """Numbers read from each shard, once nothing has come for two seconds."""
        while time.monotonic() < last_s[0] + 2:
            time.sleep(0.2)
        return read

    serve({"follow": follow, "pause": go.clear, "go": go.set, "taken": taken})


class Bed:
    """Four shards, a learner that reads, and the processes of the writers."""

    def __init__(self, network: Network) -> None:
        hosts = [network.add_host(f"shard{k}") for k in range(max(SHARDS))]
        for host in hosts:
            host.limit(LINK_BITS_PER_S, inward=True)
        self.shards = [Child(host, "replay_writes", "shard") for host in hosts]
        self.reader = Child(network.add_host("learner"), "replay_writes", "reader")
        self.writers = [Child(network.add_host(f"cell{k}"), "replay_writes", "writers") for k in range(PROCESSES)]
        ports = [child.ask("port") for child in self.shards]
        self.addresses = [f"{host.address}:{port}" for host, port in zip(hosts, ports, strict=True)]
        self.reader.ask("follow", shards=self.addresses)
        self.count = 0

    def make_writers(self, shards: int, count: int) -> None:
        """So many writers in place of those before, to the first shards."""
        self.count = count
        share = count // PROCESSES
        for k, child in enumerate(self.writers):
            child.tell("make", count=share, first=k * share, shards=self.addresses[:shards])
        for child in self.writers:
            child.answer()

    def start(self, seconds: float, seed: int) -> float:
        """Offer the load for so long, from the moment that is returned on."""
        random = np.random.default_rng(seed)
        moments = np.sort(random.uniform(0, seconds, random.poisson(RATE_PER_S * seconds)))
        plan: list[list[list[float]]] = [[] for _ in range(self.count)]
        for number, (moment, who) in enumerate(
            zip(moments, random.integers(self.count, size=len(moments)), strict=True)
        ):
            plan[who].append([float(moment), 1 + number])
        begin_s = time.monotonic() + 1.0
        share = self.count // PROCESSES
        for k, child in enumerate(self.writers):
            child.ask("run", begin_s=begin_s, plan=plan[k * share : (k + 1) * share])
        return begin_s

    def result(self) -> list[list[float]]:
        for child in self.writers:
            child.tell("result")
        return [write for child in self.writers for write in child.answer()]


def measure(bed: Bed, shards: int, count: int, seconds: float, repetitions: int, seed: int) -> dict[str, Any]:
    bed.make_writers(shards, count)
    before = [len(numbers) for numbers in bed.reader.ask("taken")]
    times: list[float] = []
    medians, loads = [], []
    for k in range(repetitions):
        bed.start(seconds, seed + k)
        taken_s = [item[2] for item in bed.result()]
        medians.append(round(float(np.median(taken_s)), 5))
        times.extend(taken_s)
        loads.append(load()[0])
    after = [len(numbers) for numbers in bed.reader.ask("taken")]
    return {
        "shards": shards,
        "writers": count,
        "writes": len(times),
        **summary(times),
        "median_s_of_repetitions": medians,
        "read_from_each_shard": [b - a for a, b in zip(before, after, strict=True)][:shards],
        "load": loads,
    }


def lose(bed: Bed, seed: int) -> dict[str, Any]:
    """Four shards, one killed with a filled queue; the bed has three afterwards."""
    bed.make_writers(4, LOSS_WRITERS)
    earlier = [len(numbers) for numbers in bed.reader.ask("taken")]
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
    read = [n for numbers, k in zip(bed.reader.ask("taken"), earlier, strict=True) for n in numbers[k:]]
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
        bed = Bed(network)
        bed.make_writers(1, PROCESSES)
        for k, child in enumerate(bed.writers):
            plan = [[[2.0 * n, n + 1.0] for n in range(15)] if k == 0 else []]
            child.ask("run", begin_s=time.monotonic() + 0.5, plan=plan)
        alone = summary([item[2] for item in bed.result()])
        print("a writer alone:", alone, flush=True)
        rows = []
        for shards in SHARDS:
            for count in words.writers:
                rows.append(measure(bed, shards, count, words.seconds, words.repetitions, words.seed))
                print(rows[-1], flush=True)
        loss = lose(bed, words.seed)
        print("loss:", loss, flush=True)
    write(
        "replay_writes",
        {
            **header(words.seed, begin),
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
