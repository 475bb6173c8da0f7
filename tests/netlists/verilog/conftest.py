"""A small gate-level netlist with hierarchy, and the masters it is made of."""

from __future__ import annotations

from netlists.model import PinDirection
from netlists.verilog.masters import Master, MasterPin

IN, OUT = PinDirection.INPUT, PinDirection.OUTPUT

MASTERS = {
    "INV": Master(width_um=1, height_um=2, pins={"A": MasterPin(-0.25, 0, IN), "Z": MasterPin(0.25, 0.5, OUT)}),
    "NAND2": Master(
        width_um=2, height_um=2, pins={"A": MasterPin(0, 0, IN), "B": MasterPin(0, 1, IN), "Z": MasterPin(1, 0, OUT)}
    ),
    "RAM": Master(
        width_um=30,
        height_um=20,
        is_macro=True,
        pins={
            "CK": MasterPin(-15, 0, IN),
            **{f"D[{bit}]": MasterPin(-15, bit, IN) for bit in range(4)},
            **{f"Q[{bit}]": MasterPin(15, bit, OUT) for bit in range(4)},
        },
    ),
}

TEXT = """\
// a comment; with a semicolon
`timescale 1ns / 1ps
module half (a, \\y[0] , ck);
  input [3:0] a;
  input ck;
  output \\y[0] ;
  wire [3:0] q, d;
  assign d = {a[3:2], 2'b01};
  RAM ram (.CK(ck), .D(d), .Q(q));
  NAND2 \\g/1  (.A(q[3]), .B(q[0]), .Z(\\y[0] ));
  INV unused (.A(q[1]), .Z());
endmodule
/* another
   comment */
(* keep = 1 *)
module top (input wire [3:0] in, input ck, output [1:0] out);
  wire n, alias_n;
  half #(.P(1)) h0 (in, n, ck);
  half h1 (.a({in[0], in[1], in[2], in[3]}), .ck(ck), .\\y[0] (out[1]));
  assign alias_n = n;
  INV i0 (alias_n, out[0]);
endmodule
"""
