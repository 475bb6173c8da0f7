"""Texts that the netlist tests start from."""

from __future__ import annotations

import pytest

# Two macros of 10 x 4 µm, a soft macro, two ports; every kind of edge. Node numbers: rst 0, out 1, A 2, A/q 3, A/d 4,
# B 5, B/d 6, Grp_0 7, Grp_0/Pinput 8, Grp_0/Poutput 9.
TINY = """\
node {
  name: "__metadata__"
  attr {
    key: "soft_macro_area_bloating_ratio"
    value {
      f: 1.5
    }
  }
}
node {
  name: "rst"
  input: "A/d"
  input: "Grp_0/Pinput"
  attr {
    key: "side"
    value {
      placeholder: "LEFT"
    }
  }
  attr {
    key: "type"
    value {
      placeholder: "PORT"
    }
  }
  attr {
    key: "x"
    value {
      f: 0
    }
  }
  attr {
    key: "y"
    value {
      f: 20
    }
  }
}
node { name: "out" attr { key: "type" value { placeholder: "port" } }
  attr { key: "side" value { placeholder: "right" } } attr { key: "x" value { f: 50 } }
  attr { key: "y" value { i: 10 } } }
node {
  name: "A"
  attr {
    key: "height"
    value {
      f: 4
    }
  }
  attr {
    key: "orientation"
    value {
      placeholder: "FN"
    }
  }
  attr {
    key: "type"
    value {
      placeholder: "MACRO"
    }
  }
  attr {
    key: "width"
    value {
      f: 10
    }
  }
  attr {
    key: "x"
    value {
      f: 20.125
    }
  }
  attr {
    key: "y"
    value {
      f: 30.5
    }
  }
}
node {
  name: "A/q"
  input: "B/d"
  attr {
    key: "macro_name"
    value {
      placeholder: "A"
    }
  }
  attr {
    key: "type"
    value {
      placeholder: "MACRO_PIN"
    }
  }
  attr {
    key: "weight"
    value {
      f: 12
    }
  }
  attr {
    key: "x_offset"
    value {
      f: -4
    }
  }
  attr {
    key: "y_offset"
    value {
      f: -1.5e0
    }
  }
}
node {
  name: "A/d"
  attr {
    key: "macro_name"
    value {
      placeholder: "A"
    }
  }
  attr {
    key: "type"
    value {
      placeholder: "MACRO_PIN"
    }
  }
}
node {
  name: "B"
  attr {
    key: "type"
    value {
      placeholder: "macro"
    }
  }
  attr {
    key: "ref_name"
    value {
      s: "RAM_\\"64\\""
    }
  }
  attr {
    key: "width"
    value {
      f: 10
    }
  }
  attr {
    key: "height"
    value {
      f: 4
    }
  }
  attr {
    key: "x"
    value {
      f: 40
    }
  }
  attr {
    key: "y"
    value {
      f: 10
    }
  }
}
node {
  name: "B/d"
  attr {
    key: "macro_name"
    value {
      placeholder: "B"
    }
  }
  attr {
    key: "type"
    value {
      placeholder: "MACRO_PIN"
    }
  }
}
node {
  name: "Grp_0"
  attr {
    key: "type"
    value {
      placeholder: "macro"
    }
  }
  attr {
    key: "width"
    value {
      f: 2
    }
  }
  attr {
    key: "height"
    value {
      f: 2
    }
  }
  attr {
    key: "x"
    value {
      f: 25
    }
  }
  attr {
    key: "y"
    value {
      f: 25
    }
  }
}
node {
  name: "Grp_0/Pinput"
  attr {
    key: "macro_name"
    value {
      placeholder: "Grp_0"
    }
  }
  attr {
    key: "type"
    value {
      placeholder: "macro_pin"
    }
  }
}
node {
  name: "Grp_0/Poutput"
  input: "out"
  attr {
    key: "macro_name"
    value {
      placeholder: "Grp_0"
    }
  }
  attr {
    key: "type"
    value {
      placeholder: "macro_pin"
    }
  }
}
"""

TINY_PLC = """\
# Placement file for Circuit Training
# Columns : 5  Rows : 4
# Width : 50.0  Height : 40.0
# Project : demo
# Block : tiny
# Routes per micron, hor : 10.5 ver : 11.5
# Routes used by macros, hor : 3.5  ver : 4.5
# Smoothing factor : 0
# Overlap threshold : 0.004
# Blockage : 0.0 30.0 10.0 40.0 1.0
# node_index x y orientation fixed
0 0 20 - 1
1 50 10 - 0
2 20.125 30.5 S 1
5 40 10.1 E 0
7 25 25 N 0
"""


@pytest.fixture
def tiny() -> str:
    return TINY


@pytest.fixture
def tiny_plc() -> str:
    return TINY_PLC
