"""LEF and DEF in, DEF and OpenROAD Tcl out."""
