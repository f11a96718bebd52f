"""Specifications with places for prices: what a person wrote stays, and what cannot be told is left alone."""

from __future__ import annotations

import tomllib

import pytest

from tacita.demo import SPEC
from tacita.release.spec_template import filled, template_of

TWO = """title = "epsilon"
[cap]
epsilon = "2"            # for all years
[[table]]
name = "one"
margin = "5%"
margin_at = 500
[table.where]
epsilon = ["a"]
[[table]]                # the second
epsilon='1'
name = "two"
[[microdata]]
name = "files"
"""


def test_a_template_with_nothing_put_in_is_the_file() -> None:
    for words in (SPEC, TWO):
        lines = template_of(words)
        assert lines is not None
        assert filled(lines, {}) == words


def test_a_price_is_put_in_its_own_place() -> None:
    lines = template_of(TWO)
    assert lines is not None
    prices = {"cap.epsilon": "3", "table.0.epsilon": "0.2", "table.0.margin": None, "table.0.margin_at": None}
    made = filled(lines, {**prices, "table.1.delta": "1e-9", "microdata.0.epsilon": "4"})
    assert 'epsilon = "3"            # for all years' in made
    read = tomllib.loads(made)
    assert read["cap"] == {"epsilon": "3"}
    assert read["table"][0] == {"name": "one", "epsilon": "0.2", "where": {"epsilon": ["a"]}}
    assert read["table"][1] == {"name": "two", "epsilon": "1", "delta": "1e-9"}
    assert read["microdata"] == [{"name": "files", "epsilon": "4"}]


@pytest.mark.parametrize(
    "words",
    [
        '[cap]\nepsilon = "1"\nnote = """\nepsilon = "2"\n"""\n',
        '[[table]]\nname = """\n[cap]\n"""\nepsilon = "1"\n',
        'cap = { epsilon = "1" }\ntable = [{ name = "one" }]\n[other]\nepsilon = "2"\n',
    ],
)
def test_a_file_whose_prices_cannot_be_told_has_no_template(words: str) -> None:
    assert template_of(words) is None
