"""A small LEF and DEF that hold one of everything, and a way to write them to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

LEF = """\
VERSION 5.8 ;
BUSBITCHARS "[]" ;
DIVIDERCHAR "/" ;
UNITS
  DATABASE MICRONS 2000 ;
END UNITS
MANUFACTURINGGRID 0.005 ;
SITE core
  CLASS CORE ;
  SYMMETRY Y ;
  SIZE 0.2 BY 2 ;
END core
LAYER M1
  TYPE ROUTING ;
  DIRECTION HORIZONTAL ;
  PITCH 0.2 ;
  WIDTH 0.1 ;
  OFFSET 0.1 0.05 ;
END M1
VIA V12 DEFAULT
  LAYER M1 ;
  RECT -0.1 -0.1 0.1 0.1 ;
END V12
MACRO RAM
  CLASS BLOCK ;
  ORIGIN 0 0 ;
  FOREIGN RAM 0 0 ;
  SIZE 10 BY 4 ;
  SYMMETRY X Y R90 ;
  PIN P
    DIRECTION INPUT ; USE SIGNAL ;
    PORT
      LAYER M1 ;
      RECT 0.9 0.9 1.1 1.1 ;
    END
  END P
  PIN Q
    DIRECTION OUTPUT ;
    PORT
      LAYER M1 ;
      RECT 8 2 9 3 ;
      LAYER M2 ;
      POLYGON 8 2 9 2 9 3 8.5 3 8.5 2.5 8 2.5 ;
    END
  END Q
  PIN VDD
    DIRECTION INOUT ; USE POWER ;
  END VDD
  OBS
    LAYER M1 ;
    RECT 0 0 10 4 ;
  END
END RAM
MACRO BUF
  CLASS CORE ;
  SIZE 0.4 BY 2 ;
  SITE core ;
  PIN A
    DIRECTION INPUT ;
    PORT
      LAYER M1 ; RECT 0.05 0.95 0.15 1.05 ;
    END
  END A
  PIN Y
    DIRECTION OUTPUT ;
    PORT
      LAYER M1 ; RECT 0.25 0.95 0.35 1.05 ;
    END
  END Y
END BUF
END LIBRARY
"""

DEF = """\
# a comment with ; and "quotes
VERSION 5.8 ;
DIVIDERCHAR "/" ;
BUSBITCHARS "[]" ;
DESIGN top ;
TECHNOLOGY tech ;
UNITS DISTANCE MICRONS 1000 ;
PROPERTYDEFINITIONS
  COMPONENT note STRING ;
END PROPERTYDEFINITIONS
DIEAREA ( 0 0 ) ( 100000 80000 ) ;
ROW r0 core 0 0 N DO 500 BY 1 STEP 200 0 ;
ROW r1 core 0 78000 FS DO 500 BY 1 STEP 200 0 ;
TRACKS Y 100 DO 400 STEP 200 LAYER M1 ;
GCELLGRID X 0 DO 10 STEP 10000 ;
VIAS 1 ;
- v1 + RECT M1 ( -10 -10 ) ( 10 10 ) ;
END VIAS
COMPONENTS 5 ;
- a RAM + PLACED ( 20000 30000 ) N ;
- b\\[0\\] RAM + FIXED ( 50000 30000 ) FS + HALO 100 100 100 100 ;
- c RAM
  + SOURCE DIST + UNPLACED + PROPERTY note "+ PLACED ( 1 1 ) N ; " ;
- u1 BUF + PLACED ( 40000 2000 ) N ;   # a remark
- u2 BUF ;
END COMPONENTS
PINS 3 ;
- in + NET n0 + DIRECTION INPUT + USE SIGNAL + LAYER M1 ( -140 -140 ) ( 140 140 ) + PLACED ( 140 51980 ) N ;
- out + NET n2 + DIRECTION OUTPUT + USE SIGNAL
  + PORT + LAYER M1 ( 0 0 ) ( 100 100 ) + FIXED ( 0 10000 ) N
  + PORT + LAYER M1 ( 0 0 ) ( 100 100 ) + FIXED ( 100000 10000 ) N ;
- VDD + NET VDD + DIRECTION INOUT + USE POWER ;
END PINS
BLOCKAGES 3 ;
- PLACEMENT RECT ( 0 60000 ) ( 10000 70000 ) ;
- PLACEMENT + SOFT RECT ( 90000 0 ) ( 100000 10000 ) ;
- LAYER M1 RECT ( 0 0 ) ( 5 5 ) ;
END BLOCKAGES
SPECIALNETS 1 ;
- VDD ( * VDD ) + USE POWER + ROUTED M1 100 ( 0 0 ) ( 10 * ) ;
END SPECIALNETS
NETS 4 ;
- n0 ( PIN in ) ( a P ) ( b\\[0\\] P ) + USE SIGNAL ;
- n1 ( u1 A ) ( a Q )
  + ROUTED M1 ( 0 0 ) ( 10 0 ) MASK 1 ( * 10 ) ;
- n2 ( u1 Y ) ( PIN out ) ( c P + SYNTHESIZED ) + WEIGHT 3 ;
- n3 ( u2 Y ) ;
END NETS
END DESIGN
"""


@pytest.fixture
def lef_text() -> str:
    return LEF


@pytest.fixture
def def_text() -> str:
    return DEF


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """A file of this name and content in a folder of the test's own."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
