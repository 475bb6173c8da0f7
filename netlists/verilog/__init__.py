"""Gate-level (structural) Verilog in: modules, buses, hierarchy flattened to one top. Rules: docs/formats.md."""
