"""Circuit Training's files: `netlist.pb.txt` (reader, writer) and `.plc` (reader, writer). Rules: docs/formats.md."""
