"""The small parts of the roles: candidates, meters, settings, environments of processes, the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from backend.jobs.topology import RoleKey
from workers.menger.actor import ActorFigures, Candidates
from workers.menger.config import LearningSettingsError, TrainConfig, train_config
from workers.menger.launch import RoleSet, role_environment
from workers.menger.stats import RateMeter, RecentMean


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_only_the_best_few_episodes_are_handed_on_and_not_too_often():
    clock, sent = Clock(), []
    config = TrainConfig(candidates_kept=2, candidate_every_s=2.0)
    candidates = Candidates(lambda info, version: sent.append((info["proxy_cost"], version)), config, clock)

    def round_of(*costs: float, version: int = 1) -> None:
        for cost in costs:
            candidates.offer({"proxy_cost": cost}, version)
        candidates.hand_on()

    round_of(0.9, 0.8, 0.85)
    assert sent == [(0.8, 1)]
    round_of(0.7)  # too early; kept for later
    assert len(sent) == 1
    clock.now_s += 2.5
    round_of(0.75, version=2)
    assert sent[-1] == (0.7, 1)
    clock.now_s += 2.5
    round_of(0.81)  # worse than both that were sent
    clock.now_s += 2.5
    round_of()
    assert len(sent) == 2
    clock.now_s += 2.5
    round_of(0.79, version=9)  # better than the second
    assert sent[-1] == (0.79, 9)


def test_rates_forget():
    clock = Clock()
    meter = RateMeter(window_s=10.0, clock=clock)
    assert meter.per_s() == 0.0
    clock.now_s += 2
    meter.add(10)
    assert meter.per_s() == pytest.approx(5.0)  # over the two seconds there were
    clock.now_s += 8
    assert meter.per_s() == pytest.approx(1.0)
    clock.now_s += 10.5
    assert meter.per_s() == 0.0


def test_means_are_of_the_last_values():
    mean = RecentMean(2)
    assert mean.mean() is None
    for value in (5.0, 1.0, 3.0):
        mean.add(value)
    assert mean.mean() == 2.0


def test_figures_of_an_actor_hold_no_cost_before_the_first_episode():
    figures = ActorFigures()
    assert "episode_cost_mean" not in figures.as_dict(1)
    figures.add_episode({"proxy_cost": 0.9, "infeasible": 0})
    figures.add_episode({"proxy_cost": 0.7, "infeasible": 3})
    told = figures.as_dict(4)
    assert told["episode_cost_mean"] == pytest.approx(0.8)
    assert (told["episode_cost_best"], told["infeasible_episodes"], told["model_version"]) == (0.7, 1, 4)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "no JSON"),
        ("[1]", "must be an object"),
        ('{"batchsize": 4}', "unknown setting 'batchsize', allowed are .*batch_size"),
        ('{"batch_size": 0}', "batch_size is 0"),
        ('{"algorithm": "a2c"}', "algorithm is 'a2c', allowed are impala, ppo"),
    ],
)
def test_settings_of_learning_are_checked(text, why):
    with pytest.raises(LearningSettingsError, match=why):
        train_config(text, seed=0)
    assert train_config('{"batch_size": 4}', seed=7) == TrainConfig(batch_size=4, seed=7)


def test_only_the_learner_may_see_an_accelerator(tmp_path):
    for role in ("actor", "replay", "cache", "optimiser"):
        environment = role_environment(role, data_dir=tmp_path, accelerator=True)
        assert environment["JAX_PLATFORMS"] == "cpu"
        assert environment["CUDA_VISIBLE_DEVICES"] == ""
    assert "JAX_PLATFORMS" not in role_environment("learner", data_dir=tmp_path, accelerator=True)
    assert role_environment("learner", data_dir=tmp_path, accelerator=False)["JAX_PLATFORMS"] == "cpu"
    assert role_environment("actor", data_dir=tmp_path, accelerator=False)["OMP_NUM_THREADS"] == "1"


CACHE = RoleKey("cache", "main", 0)


def test_a_role_of_no_job_ends_with_its_reason(tmp_path):
    roles = RoleSet(
        job_id="nosuchjob",
        data_dir=tmp_path,
        database_url=f"sqlite:///{tmp_path / 'empty.db'}",
        wanted=[CACHE],
        log_dir=tmp_path / "logs",
    )
    roles.start()
    process = roles._processes[CACHE].popen
    assert process.wait(timeout=120) != 0
    (gone,) = roles.poll()
    assert gone.key == CACHE
    assert gone.code != 0
    assert gone.last_stderr_lines
    assert roles.poll() == []  # told once
    roles.stop(5)


def test_an_algorithm_that_is_not_there_is_refused_by_name(tmp_path):
    from workers.cli.train import train

    (tmp_path / "netlist.pb.txt").write_text("")
    result = CliRunner().invoke(train, [str(tmp_path), "--algorithm", "dqn"])
    assert result.exit_code == 2
    assert "'dqn' is not one of 'impala', 'ppo'" in result.output


@pytest.mark.slow
@pytest.mark.slow
def test_train_leaves_a_policy_that_another_training_starts_from(tmp_path):
    """The graph network by IMPALA, then the same network, taken from the policy's file, by PPO."""
    from netlists.samples import write_sample
    from workers.agents.policies import load_info
    from workers.cli.train import train

    write_sample(tmp_path / "sample", "small")
    tiny = {"batch_size": 2, "unroll_length": 8, "environments": 2, "channels": 4, "width": 16, "lstm_width": 8}
    words = [str(tmp_path / "sample"), "--seconds", "240", "--learner-steps", "5", "--json"]

    def run(out, *more):
        result = CliRunner().invoke(train, [*words, "--out", str(out), *more], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return json.loads(result.output.strip().splitlines()[-1])

    out, second = tmp_path / "out", tmp_path / "second"
    report = run(out, "--learning", json.dumps({**tiny, "network": "graph"}))
    assert report["policy_version"] > 5
    info = load_info(out / "policy.npz")
    assert info.algorithm == "impala"
    assert info.network == {"network": "graph", "channels": 4, "width": 16, "lstm_width": 8}
    assert info.designs == [report["design"]]
    assert info.updates >= 5
    assert info.maxima == {"grid": 128, "nodes": 4096}
    assert json.loads((out / "curve.json").read_text())[-1]["policy_version"] > 5
    assert {path.name for path in (out / "logs").iterdir()} == {
        f"{name}-0.log" for name in ("actor-main", "cache-main", "learner", "replay-main")
    }
    assert not (out / ".run").exists()

    shapes = {name: tiny[name] for name in ("batch_size", "unroll_length", "environments")}
    more = ("--algorithm", "ppo", "--policy", str(out / "policy.npz"), "--learning", json.dumps(shapes))
    assert run(second, *more)["algorithm"] == "ppo"
    assert "starting from the policy" in (second / "logs" / "learner-0.log").read_text()
    assert load_info(second / "policy.npz").network == info.network
    assert load_info(second / "policy.npz").designs == info.designs


def test_a_policy_that_is_none_is_refused_before_anything_starts(tmp_path):
    from netlists.samples import write_sample
    from workers.agents.checkpoint import CheckpointError
    from workers.cli.place import place
    from workers.cli.train import train

    write_sample(tmp_path / "sample", "small")
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK")
    words = [str(tmp_path / "sample"), "--policy", str(broken), "--out", str(tmp_path / "out")]
    for command, more in ((train, []), (place, ["--method", "rl"])):
        result = CliRunner().invoke(command, [*words, *more])
        assert isinstance(result.exception, CheckpointError)
        assert "broken.npz: not a readable" in str(result.exception)
    result = CliRunner().invoke(place, [*words, "--method", "search"])
    assert "methods that learn, auto and rl" in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_a_bound_of_the_value_error_must_be_above_zero():
    with pytest.raises(LearningSettingsError, match="huber_at is 0, must be above 0"):
        train_config('{"huber_at": 0}', seed=0)
