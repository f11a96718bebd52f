"""The page on rules: its schema loads, and says what the page says."""

import re
import tomllib
from pathlib import Path

from tacita.data.schema import Rulebook, Schema

PAGE = Path(__file__).parents[2] / "docs" / "rules-between-columns.md"


def test_the_schema_of_the_page_loads_and_its_columns_follow_from_others() -> None:
    (written,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    schema = Schema.from_dict(tomllib.loads(written))
    assert len(schema.rules) == 8
    book = Rulebook.of(schema, schema.names)
    assert sorted(set(book.names) - set(book.drawn)) == ["age_group", "bmi", "income", "state"]
    assert book.borders("age") == (15, 18, 65)
