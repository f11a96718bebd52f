"""Pieces that several parts of the page use: sentences, code to copy, the sheet of a mechanism's settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from tacita.data.schema import Schema

# Control characters, and marks that turn the direction of what follows: a name must not rearrange our sentences.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(page: str) -> str:
    """The same page with a mark in place of every character that a reader could not see."""
    return _UNSEEN.sub("\ufffd", page)


def code_blocks(*blocks: tuple[str, str]) -> str:
    """Code to copy, one block per language; quotes stay as they are, since the page sets those of prose its own way."""
    return "".join(
        f"<figure class='code'><figcaption>{escape(language)}</figcaption>"
        f"<pre><code>{escape(code, quote=False)}</code></pre></figure>"
        for language, code in blocks
    )


def bullets(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def stop(words: str) -> str:
    """The full stop that a sentence still needs."""
    return "" if words.endswith(".") else "."


def weight_of(mechanism: Mapping[str, Any], schema: Schema, columns: Sequence[str]) -> str | None:
    """The survey weight of synthetic files, if they have one: a plan that draws it names it, or the schema does."""
    named = (mechanism.get("weight"), *schema.by_role("weight"))
    return next((one for one in named if one is not None and one in columns), None)


def settings_rows(mechanism: dict[str, Any]) -> list[tuple[str, str]]:
    """A plan's settings in words; what is off or empty is left out."""
    kept = {key: value for key, value in mechanism.items() if value not in (None, [], {}, "", "0")}
    return [(key.replace("_", " "), _shown(value)) for key, value in kept.items()]


def sheet(rows: Iterable[tuple[str, str]]) -> str:
    """The mechanism sheet: which method, with which settings, proved where."""
    body = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table class='sheet'><caption>Mechanism sheet</caption><tbody>{body}</tbody></table>"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_shown(inner) for inner in value)
    return str(value)
