"""What the REST API takes and gives, as pydantic models: the one source of the OpenAPI description.

The browser application's types are generated from it (`frontend/src/api/types.ts`). Times are UTC ISO 8601,
lengths µm, durations seconds. Ids are opaque strings that cannot be guessed.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Method(StrEnum):
    """How a job places. auto = learning and search together."""

    AUTO = "auto"
    RL = "rl"
    SEARCH = "search"
    ANALYTIC = "analytic"
    ANNEAL = "anneal"


MAX_SECONDS = 7 * 86400
LEARNING_METHODS = (Method.AUTO, Method.RL)
WORK_METHODS = (
    Method.SEARCH,
    Method.ANALYTIC,
    Method.ANNEAL,
)  # can be given a budget of work; learning is asynchronous


def trials_refusal(method: str) -> str | None:
    """Why a job of this method cannot be given a budget of trials; None if it can."""
    if method in WORK_METHODS:
        return None
    allowed = ", ".join(WORK_METHODS)
    return (
        f"trials with method {method}: learning is asynchronous and has no budget of work; methods that have: {allowed}"
    )


class DesignState(StrEnum):
    PARSING = "parsing"
    READY = "ready"
    FAILED = "failed"


class JobState(StrEnum):
    """queued → running → finishing → done; or failed, cancelled (which keep the best placement found)."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHING = "finishing"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


class Schema(BaseModel):
    model_config = ConfigDict(from_attributes=True, extra="forbid")


class Costs(Schema):
    """The proxy cost and its parts, as the exact evaluator gives them."""

    wirelength: float = Field(description="Sum of weight x HPWL over all nets, µm")
    wirelength_cost: float
    density_cost: float
    congestion_cost: float
    proxy_cost: float = Field(description="1 x wirelength + 0.5 x density + 0.5 x congestion")


class Counts(Schema):
    hard_macros: int
    soft_macros: int
    ports: int
    cells: int
    pins: int
    nets: int
    drivers_without_sinks: int
    fixed: int


class ConstraintsRead(Schema):
    """What rules a design has, counted. Lengths µm."""

    fixed_macros: int
    macros_with_halo: int
    macros_in_regions: int
    macros_with_orientations: int = Field(description="Macros whose orientations are listed")
    macros_off_boundary: int = Field(description="Macros that keep a distance from the canvas' edge")
    regions: int
    blockages: int
    macro_spacing_um: float


class CanvasRead(Schema):
    width_um: float
    height_um: float
    columns: int
    rows: int
    hor_routes_per_um: float
    ver_routes_per_um: float
    hor_macro_routes_per_um: float
    ver_macro_routes_per_um: float
    smoothing: int
    utilisation: float = Field(description="Area of hard macros over the canvas less blockages, 0–1")


class DesignFile(Schema):
    name: str = Field(description="Name the client gave, for display only")
    bytes: int


class ReadingOptions(Schema):
    """How a design's files are read."""

    lock_placed: bool = Field(False, description="Of LEF/DEF: what is PLACED stays where it is, as FIXED does")
    missing_cells_as_points: bool = Field(
        False, description="Of LEF/DEF: cell types that no LEF defines are points without size, not an error"
    )
    macros_on_soft_blockages: bool = Field(
        False, description="Of LEF/DEF: SOFT and PARTIAL placement blockages do not keep macros out"
    )
    macro_height: float | None = Field(
        None,
        ge=0,
        le=1e9,
        allow_inf_nan=False,
        description="Of Bookshelf: movable nodes higher than this, in the files' units, are macros; a row by default",
    )


class MacroStates(Schema):
    """Hard macros by what may be done with them; they add up to `counts.hard_macros`."""

    locked: int = Field(description="May not be moved: FIXED, COVER, terminals, what a .plc or a rule fixes")
    hint: int = Field(description="May move; the files say where to start from (PLACED)")
    free: int = Field(description="May move; no file says where they are (UNPLACED)")


class HeightCount(Schema):
    height: float
    nodes: int


class PreviewRead(Schema):
    """What was found in the files, before the cells are clustered."""

    counts: Counts
    macros: MacroStates
    units_per_um: int | None = Field(None, description="Database units, of designs from LEF/DEF")
    grid_um: float | None = Field(None, description="Manufacturing grid, of designs from LEF/DEF")
    die_um: list[tuple[float, float]] = Field(
        default_factory=list, description="Corners of the die, from the canvas's lower left one, where a file gives it"
    )
    rectilinear: bool = Field(False, description="Whether the die has more than four corners")
    blockages: int
    macros_with_halo: int
    macro_height: float | None = Field(
        None, description="Of Bookshelf: movable nodes higher than this were taken for macros"
    )
    node_heights: list[HeightCount] = Field(
        default_factory=list,
        description="Of Bookshelf: movable nodes by height, the highest first, at most 1,000 heights. Those above a"
        " `macro_height` add up to the macros that reading with it would find",
    )


class DesignRead(ReadingOptions):
    id: str
    name: str
    state: DesignState
    error: str | None = Field(None, description="Why the files could not be used: file, line, thing")
    created_at: datetime
    files: list[DesignFile]
    counts: Counts | None = None
    canvas: CanvasRead | None = None
    derived: dict[str, str] = Field(default_factory=dict, description="Values no file gave, and the rule for each")
    warnings: list[str] = Field(default_factory=list)
    constraints: ConstraintsRead | None = Field(None, description="Rules that came with the files")
    preview: PreviewRead | None = None
    start_costs: Costs | None = Field(None, description="Costs of the start as uploaded")
    start_problems: list[str] = Field(default_factory=list, description="What makes the uploaded start illegal")


class DesignPage(Schema):
    items: list[DesignRead]
    next_cursor: str | None = None


class HaloRead(Schema):
    """Room that a hard macro keeps free around itself, µm, in orientation N."""

    node: int = Field(description="Index into the layout's columns")
    left_um: float
    bottom_um: float
    right_um: float
    top_um: float


class PinSide(Schema):
    """Pins of a hard macro along one of its sides, in orientation N."""

    node: int = Field(description="Index into the layout's columns")
    side: Literal["left", "right", "bottom", "top"]
    from_um: float = Field(description="First pin, from the macro's centre along the side")
    to_um: float = Field(description="Last pin")
    pins: int


class LayoutRead(Schema):
    """Geometry of a design: columns of equal length, one entry a node with a place (macros and ports), in the order
    of `nodes` in a placement's file of the format `json`."""

    canvas: CanvasRead
    name: list[str]
    kind: list[int] = Field(description="0 hard macro, 1 soft macro, 2 port, 3 cell")
    width_um: list[float]
    height_um: list[float]
    x_um: list[float] = Field(description="Centre, start placement")
    y_um: list[float]
    orientation: list[str]
    fixed: list[bool]
    blockages_um: list[tuple[float, float, float, float]]
    halos: list[HaloRead] = Field(default_factory=list, description="Of the hard macros that have one")
    pin_sides: list[PinSide] = Field(
        default_factory=list,
        description="Sides of hard macros that have pins; pins that lie inside, farther from every side than a quarter "
        "of the macro's shorter one, are left out",
    )
    nets: list[list[int]] = Field(
        default_factory=list,
        description="A sample of the nets to draw (at most 2,000, evenly over the file): indices into the columns "
        "above, driver first, cells left out",
    )


# --- topology of a job that learns

MAX_CELLS = 64
MAX_ACTORS = 4096  # of one job, all cells together
MAX_LOCAL_ROLES = 64  # of one job where roles are children of the run
CELL_PATTERN = r"^[A-Za-z0-9_-]{1,32}$"
Actors = Annotated[int, Field(ge=0, le=1024, description="Processes that act")]
Caches = Annotated[int, Field(ge=0, le=16, description="Model caches; 0: actors read from other cells or the learner")]
Shards = Annotated[int, Field(ge=0, le=16, description="Replay shards; 0: actors write to other cells")]


class RoleName(StrEnum):
    """What a process of a job does."""

    LEARNER = "learner"
    ACTOR = "actor"
    CACHE = "cache"
    REPLAY = "replay"
    OPTIMISER = "optimiser"


class CellSpec(Schema):
    """Processes of one cell: a group of hosts with a cheap network between them."""

    name: str = Field(pattern=CELL_PATTERN, description="Part of its queues' names, actor.NAME and so on")
    actors: Actors = 1
    caches: Caches = 1
    replay_shards: Shards = 1


class TopologySpec(Schema):
    """Which processes a job that learns is to have."""

    cells: list[CellSpec] = Field(min_length=1, max_length=MAX_CELLS)
    learners: int = Field(1, ge=1, le=16, description="Processes that train together")
    devices: int | None = Field(
        None,
        ge=1,
        le=64,
        description="Of each learner, the batch spread over them; null = all of its host that divide a batch evenly",
    )
    optimisers: int = Field(1, ge=1, le=64, description="Processes that search; children of the run in any case")
    start_smaller: bool = Field(
        False, description="Start with the workers that there are and grow; else wait until all have come"
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        names = [cell.name for cell in self.cells]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"cell {twice[0]!r} is there {names.count(twice[0])} times, each name must be there once")
        actors = sum(cell.actors for cell in self.cells)
        if not 1 <= actors <= MAX_ACTORS:
            raise ValueError(f"{actors} actors in all cells together, allowed are 1 to {MAX_ACTORS}")
        if not any(cell.replay_shards for cell in self.cells):
            raise ValueError("0 replay shards in all cells together, at least 1 is needed")
        return self


class CellPatch(Schema):
    """New numbers for one cell; what is left out stays. A name that is new makes a cell (numbers left out: 0)."""

    name: str = Field(pattern=CELL_PATTERN)
    actors: Actors | None = None
    caches: Caches | None = None
    replay_shards: Shards | None = None


class TopologyPatch(Schema):
    """Scales a job up or down. Cells that are not named stay as they are."""

    cells: list[CellPatch] = Field(min_length=1, max_length=MAX_CELLS)


class RolesRestart(Schema):
    """Which roles to restart, one after another; all conditions must hold, none given = every role."""

    role: RoleName | None = None
    cell: str | None = Field(None, pattern=CELL_PATTERN)
    index: int | None = Field(None, ge=0)


class RoleRead(Schema):
    """One process of a job, as it last reported. Figures that it does not have are null."""

    id: str
    role: RoleName
    cell: str = Field(description='"" for learners and optimisers, which belong to no cell')
    index: int
    host: str
    pid: int
    address: str | None = Field(description="Where it serves others")
    version: str = Field(description="Of the program")
    state: str = Field(description='In words: "running", "waiting for …", "stopped", "failed: …"')
    alive: bool = Field(description="Heard of within three heartbeats, and not ended")
    stopping: bool = Field(description="Told to stop")
    restarting: bool = Field(description="Waits for its turn of a rolling restart")
    heartbeat_age_s: float = Field(description="By the database's clock")
    steps_per_s: float | None = Field(None, description="Actor: environment steps; learner: updates")
    model_version: int | None = Field(None, description="Actor, cache: of the model held; learner: of the newest")
    model_age_s: float | None = Field(None, description="Since that version came")
    versions_behind: int | None = Field(None, description="The learner's newest version less this one's")
    model_source: str | None = Field(None, description="Address that the model came from")
    queue_fill: float | None = Field(None, description="Replay shard: share of its places that are taken, 0-1")
    bytes_held: int | None = Field(None, description="Replay shard: before compression")
    bytes_in: int | None = Field(None, description="Since its start: models or unrolls taken, before compression")
    bytes_out: int | None = Field(None, description="Since its start: unrolls or models given, before compression")
    data_wait_share: float | None = Field(
        None, description="Learner: share of the last 10 s that it waited for data, its device idle, 0-1"
    )
    rss_mb: float | None = None
    refused_unrolls: int | None = Field(None, description="Learner: unrolls that were nonsense or not sealed")
    refused_models: int | None = Field(None, description="Actor, cache: answers of model sources that were not sealed")


class QueueRead(Schema):
    """Places on one role queue: what this job wants, has, and may have beside other jobs."""

    queue: str
    wanted: int
    present: int = Field(description="Alive and not told to stop")
    allowed: int | None = Field(description="Its fair share of the workers' slots; null where roles are local")


class TopologyRead(Schema):
    """What a job is to have and what it has."""

    job_id: str
    state: JobState
    local: bool = Field(description="Roles are children of the run; else workers take them from queues")
    desired: TopologySpec
    queues: list[QueueRead]
    waiting_for: list[str] = Field(description='What is missing, in words: "actor.east: 1 of 3"; empty = complete')
    roles: list[RoleRead]


class JobCreate(Schema):
    design_id: str
    method: Method = Method.AUTO
    seconds: float = Field(
        60,
        ge=0,
        le=MAX_SECONDS,
        description="Time budget of the whole run; beside `trials` a limit, a week unless given",
    )
    trials: int | None = Field(
        None,
        ge=0,
        le=10**12,
        description="Work budget of all workers together, in place of time: equal design, seed, workers and trials "
        "give equal files. Methods search, analytic, anneal; a step of global placement counts as 1,000 trials",
    )
    seed: int = Field(0, ge=0, lt=2**31)
    workers: int = Field(2, ge=1, le=64, description="Processes that search or act")
    from_scratch: bool = Field(False, description="Ignore the given positions of everything that may move")
    place_cells: bool = Field(
        False,
        description="Then place the standard cells of the flat design roughly between the macros of the best result, "
        "into its DEF or .pl (docs/cells.md); takes as long again as `seconds`, or a minute, at most",
    )
    name: str | None = Field(None, max_length=200)
    constraints: dict[str, Any] | None = Field(
        None,
        description="Rules of this job, on top of the design's: the object of a constraints file (docs/constraints.md)",
        examples=[{"version": 1, "macro_spacing_um": 2, "macros": [{"pattern": "*", "halo_um": [1, 1, 1, 1]}]}],
    )
    topology: TopologySpec | None = Field(
        None, description="Methods auto and rl: the processes, in place of those that `workers` would give"
    )

    @model_validator(mode="after")
    def _only_learning_has_a_topology(self) -> Self:
        if self.topology is not None and self.method not in LEARNING_METHODS:
            raise ValueError(
                f"topology with method {self.method}: nothing learns; methods with one: {', '.join(LEARNING_METHODS)}"
            )
        return self

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        if self.trials is not None:
            if refusal := trials_refusal(self.method):
                raise ValueError(refusal)
            if "seconds" not in self.model_fields_set:
                self.seconds = MAX_SECONDS
        return self


class JobRead(Schema):
    id: str
    design_id: str
    design_name: str
    name: str | None
    method: Method
    seconds: float
    trials: int | None = Field(None, description="Work budget; then `seconds` is a limit")
    seed: int
    workers: int
    from_scratch: bool = False
    place_cells: bool = False
    state: JobState
    stage: str | None = Field(None, description="What the run is doing now, in words")
    cause: str | None = Field(None, description="Why it failed or was cancelled")
    progress: float = Field(ge=0, le=1)
    eta_s: float | None
    attempt: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    start_costs: Costs | None = Field(None, description="Costs of the legalised start")
    best_costs: Costs | None = Field(None, description="Costs of the best legal placement so far")
    best_placement_id: str | None = None
    constrained: bool = Field(False, description="Whether the job has constraints of its own")
    topology: TopologySpec | None = Field(None, description="The processes it is to have; null where nothing learns")


class JobPage(Schema):
    items: list[JobRead]
    next_cursor: str | None = None


class EventKind(StrEnum):
    """Kinds of event on the stream: the SSE `event:` field."""

    STATE = "state"  # data: {"state": …, "stage": …, "cause": …}
    PROGRESS = "progress"  # data: {"progress": …, "eta_s": …, "stage": …, "best_proxy_cost": …}; not stored, no id
    PLACEMENT = "placement"  # data: PlacementRead: a new entry of the leaderboard
    METRICS = "metrics"  # data: {"points": [MetricPoint…]}; not stored, no id
    LOG = "log"  # data: {"level": "info"|"warning"|"error", "message": …, "role": …}


class EventRead(Schema):
    """One stored event. On the stream: `id: <id>`, `event: <kind>`, `data: <this, as JSON>`."""

    id: int
    kind: EventKind
    at: datetime
    data: dict[str, Any]


class MetricPoint(Schema):
    """Values of one moment. Known names: best_proxy_cost, best_wirelength_cost, best_density_cost,
    best_congestion_cost (cost curve); episodes_per_s, steps_per_s, learner_steps_per_s, policy_lag, policy_version,
    loss, data_wait_share, episode_cost_mean (learning); search_trials_per_s."""

    time_s: float = Field(description="Seconds since the run started")
    values: dict[str, float]


class MetricsRead(Schema):
    points: list[MetricPoint]


class CellsRead(Schema):
    """What placing the standard cells gave: lengths of the whole flat design, all nets, weighted."""

    hpwl_before_um: float = Field(description="Each cell at the centre of its soft macro")
    hpwl_after_um: float = Field(description="Of the file that was written, read back")
    overflow: float = Field(description="Share of the cells' area that has no room in its bin")
    seconds: float
    warnings: list[str] = Field(default_factory=list)


class PlacementRead(Schema):
    id: str
    job_id: str
    rank: int = Field(description="1 = best of its job")
    costs: Costs
    legal: bool
    problems: list[str] = Field(default_factory=list)
    provenance: dict[str, Any] = Field(description="start, policy_version, search stages with gains, seed, seconds")
    created_at: datetime
    formats: list[Literal["plc", "pb", "def", "tcl", "pl", "svg", "png", "json", "constraints"]]
    cells: CellsRead | None = Field(None, description="Of the best placement of a job with `place_cells`")


class PlacementPage(Schema):
    items: list[PlacementRead]
    next_cursor: str | None = None


class Problem(BaseModel):
    """Problem details (RFC 9457): the body of every error."""

    type: str = Field("about:blank", examples=["/docs/problems/design-not-found"])
    title: str
    status: int
    detail: str
    instance: str | None = None
    errors: list[dict[str, Any]] | None = Field(None, description="One entry a wrong field")


class Health(Schema):
    status: Literal["ok", "degraded"]
    version: str
    database: Literal["ok", "down"]
    worker: Literal["ok", "down", "unknown"] = Field(description="Whether a worker has been heard of lately")
    queued_jobs: int
    oldest_queued_s: float | None
