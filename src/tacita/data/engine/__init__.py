"""Group-bys on the engine the user has: DuckDB by default, Spark or PostgreSQL through the same Ibis expressions.

`connect` opens one by its name, `engine_for` the one that reads certain places; `backends` holds what differs between
DuckDB and Spark, `postgres` what a server does otherwise; `frames` turns tables in memory and SAS, Stata
and SPSS files and sheets of Excel into Arrow; `expressions` brings stored values into one canonical form.
"""

from tacita.data.engine.backends import Engine, connect
from tacita.data.engine.expressions import (
    bounds_of,
    canonical_number,
    day_in,
    divided,
    exactly,
    is_missing,
    is_whole,
    level_code,
    nearest,
    number_in,
    number_of,
    ruled_number,
    text_of,
    unit_of_rows,
)
from tacita.data.engine.frames import code_text, to_arrow
from tacita.data.engine.places import engine_for

__all__ = [
    "Engine",
    "bounds_of",
    "canonical_number",
    "code_text",
    "connect",
    "day_in",
    "divided",
    "engine_for",
    "exactly",
    "is_missing",
    "is_whole",
    "level_code",
    "nearest",
    "number_in",
    "number_of",
    "ruled_number",
    "text_of",
    "to_arrow",
    "unit_of_rows",
]
