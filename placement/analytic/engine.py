"""Runs stages of gradient steps for one design: the host's side (exact shape of routes, time) around blocks of steps.

In: a design and positions in cells, (seeds, 2, N) float32. Out: the same after a stage. Called by place.py. Knows
nothing of legality. Time enters only as a limit: while it does not bind, the result depends on seeds and steps alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from netlists.model import ByteArray, Design, Placement
from placement.analytic.arrays import PAIRS_PER_BOX, Float, blockage_centres, make_arrays, segment_slots
from placement.analytic.schedule import KNOBS, Stage
from placement.analytic.shape import Shape, near_pairs, route_shapes
from placement.cost.problem import problem_of

BLOCK_STEPS = 20  # between two exact looks at the routes; they cost as much as about one step
_REACH = 1.0  # cells: macros nearer than this are pairs of the overlap term until the next look


class Engine:
    """One design with the orientations of one placement."""

    def __init__(self, design: Design, orientation: ByteArray) -> None:
        import jax

        self.design = design
        self.problem = problem_of(design)
        self.host = make_arrays(design, orientation)
        self.arrays = jax.device_put(self.host)
        canvas = design.canvas
        self._cell = np.array([[canvas.cell_width_um], [canvas.cell_height_um]])
        boxes = int(self.problem.is_hard.sum()) + len(design.blockages_um)
        self._boxes = self.host.box_node[:boxes]
        self._pairs = PAIRS_PER_BOX * len(self.host.box_node)
        self._segments = segment_slots(self.problem)

    @property
    def free(self) -> Float:
        """(N,) 1 = may move."""
        return self.host.free

    @property
    def free_soft(self) -> Float:
        """(N,) 1 = a soft macro that may move."""
        free = self.host.free.copy()
        free[self._boxes] = 0
        return free

    def positions(self, placement: Placement) -> Float:
        """(2, N) of a placement, in cells; what is not finite goes to the middle."""
        n, blockages = self.design.netlist.node_count, len(self.design.blockages_um)
        z = np.zeros((2, self.host.free.shape[0]))
        z[:, :n] = np.stack([placement.x_um, placement.y_um]) / self._cell
        z[:, n : n + blockages] = blockage_centres(self.design)
        z = np.where(np.isfinite(z), z, self.host.size[:, None] / 2)
        return np.where(self.free > 0, np.clip(z, self.host.low, self.host.high), z).astype(np.float32)

    def centred(self, seed: int) -> Float:
        """(2, N): all that may move around the middle of the canvas, Gaussian, a twentieth of it wide."""
        start = self.positions(self.design.start)
        size = self.host.size[:, None].astype(np.float64)
        z = size * (0.5 + np.random.default_rng(seed).normal(0.0, 0.05, start.shape))
        return np.where(self.free > 0, np.clip(z, self.host.low, self.host.high), start).astype(np.float32)

    def placement(self, z: Float, like: Placement, free: Float) -> Placement:
        """`like` with the nodes of `free` (N,) where z (2, N) has them, inside the canvas in float64."""
        n = self.design.netlist.node_count
        half = self.host.half[:, :n].astype(np.float64)
        size = self.host.size[:, None].astype(np.float64)
        low = np.minimum(half * (1 + 1e-6), size / 2)
        at = np.clip(z[:, :n].astype(np.float64), low, size - low) * self._cell  # nearer than that: the legaliser
        moves = free[:n] > 0
        return like.moved(x_um=np.where(moves, at[0], like.x_um), y_um=np.where(moves, at[1], like.y_um))

    def shape(self, z: Float) -> Shape:
        """The exact shape of routes, and the near pairs of boxes, at z (2, N)."""
        a, p = self.host, self.problem
        term = z[:, a.term_node] + a.term_offset
        grid = np.array([[p.columns], [p.rows]])
        col, row = np.clip(np.floor(term), 0, grid - 1).astype(np.int64)
        pad = len(a.term_node) - 1
        hor, ver = (np.full((3, self._segments), pad, dtype=np.int32) for _ in range(2))
        hor_weight, ver_weight = (np.zeros(self._segments, dtype=np.float32) for _ in range(2))
        stamp = np.full(p.rows * p.columns, -1, dtype=np.int64)
        route_shapes(
            row, col, p.columns, p.net_start, p.net_term, p.net_routes, stamp, hor, hor_weight, ver, ver_weight
        )
        pairs = np.full((2, self._pairs), len(a.box_node) - 1, dtype=np.int32)
        box = self._boxes
        count = len(box)
        x, y = z[:, box] + a.box_offset[:, :count]
        half_w, half_h = a.box_half[:, :count]
        near_pairs(x, y, half_w, half_h, np.float32(_REACH), pairs)
        return Shape(hor, hor_weight, ver, ver_weight, pairs)

    def shapes(self, z: Float) -> Shape:
        """`shape` of every seed, stacked: z (seeds, 2, N)."""
        each = [self.shape(one) for one in z]
        return Shape(*(np.stack([getattr(shape, field) for shape in each]) for field in Shape._fields))

    def run(
        self,
        stage: Stage,
        z: Float,
        free: Float,
        *,
        steps: int | None = None,
        seconds: float | None = None,
        should_stop: Callable[[], bool] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Float:
        """The positions (seeds, 2, N) after a stage.

        A stage has `steps` steps (the stage's own number by default), fewer when `seconds` are too short for them: then
        its schedule passes faster, and always to its end. `should_stop` is asked after every block.
        """
        import jax.numpy as jnp

        from placement.analytic import descent

        state = descent.new_state(jnp.asarray(z))
        blocks = max((stage.steps if steps is None else steps) // BLOCK_STEPS, 1)
        end_s = None if seconds is None else clock() + seconds
        progress, last_s, left = 0.0, clock(), float(blocks)
        compiled = False
        while progress < 1.0 - 1e-9:
            ahead = min(progress + (1.0 - progress) / max(left, 1.0), 1.0)
            moments = progress + (ahead - progress) * (np.arange(BLOCK_STEPS) + 0.5) / BLOCK_STEPS
            knobs = stage.values(moments.astype(np.float32))
            shape = self.shapes(np.asarray(state.z))
            packed = descent.Knobs(*(jnp.asarray(knobs[name]) for name in KNOBS))
            state = descent.block(self.arrays, jnp.asarray(free), shape, state, packed)
            state.z.block_until_ready()
            progress, left = ahead, left - 1
            now_s = clock()
            if end_s is not None:
                # The first block may have waited for the compiler: it says nothing about the next.
                pace_s = now_s - last_s if compiled else 0.0
                affordable = (end_s - now_s) / pace_s if pace_s > 0 else left
                left = min(left, max(affordable, 0.0)) if now_s < end_s else 0.0
                if left < 1.0:
                    break
            last_s, compiled = now_s, True
            if should_stop is not None and should_stop():
                break
        return np.asarray(state.z)
