"""Names of algorithms: each makes an agent, others are refused, and what the roles offer is among them."""

from __future__ import annotations

import pytest

from workers.agents.agent import AgentConfig
from workers.agents.algorithms import ALGORITHMS, make_agent
from workers.agents.networks import MlpNet
from workers.agents.recurrent_q import QConfig
from workers.menger import config as roles


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_name_makes_an_agent(name):
    config = QConfig() if name == "r2d2" else AgentConfig()
    assert make_agent(name, MlpNet(actions=2), config, 0).config is config


def test_unknown_names_and_unfit_settings_are_refused():
    with pytest.raises(ValueError, match=r"'dqn', allowed are impala, ppo, a2c, a3c, r2d2"):
        make_agent("dqn", MlpNet(actions=2), AgentConfig(), 0)
    with pytest.raises(ValueError, match="needs PPO's clipping"):
        make_agent("a2c", MlpNet(actions=2), AgentConfig(epochs=2), 0)
    with pytest.raises(TypeError, match="needs a QConfig"):
        make_agent("r2d2", MlpNet(actions=2), AgentConfig(), 0)


def test_the_roles_offer_what_learns_from_their_data():
    assert set(roles.ALGORITHMS) == {name for name, it in ALGORITHMS.items() if it.data == "recent"}
