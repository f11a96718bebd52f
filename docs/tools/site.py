"""Gathers the pages of the documentation site in build/docs-source: guides, reference, proofs, decisions.

Pages are written for readers of the repository. Here they get the names of the site, and links between them are turned
to these names, so that a link to what is not in the site is an error when it is built (`make docs`, strict). The
reference has a page for each public module, with the names in its `__all__`.
"""

from __future__ import annotations

import importlib
import inspect
import posixpath
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "build" / "docs-source"
# Public modules: each has a page in the reference.
REFERENCE = (
    "tacita",
    "tacita.comparison",
    "tacita.mechanisms.eree",
    "tacita.mechanisms.magnitude",
    "tacita.tables",
    "tacita.inference",
    "tacita.inference.survey",
    "tacita.evaluation",
    "tacita.evaluation.risk",
)
_LINK = re.compile(r"(\]\()([^)#\s:]+)(#[^)\s]*)?\)")


def pages() -> list[str]:
    """Files of the repository that are pages."""
    folders = (ROOT / "docs", ROOT / "src" / "tacita")
    guides_and_proofs = sorted(path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.md"))
    return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "studies/README.md", *guides_and_proofs]


def site_name(path: str) -> str:
    """Where a file or folder of the repository stands in the site.

    >>> site_name("docs/audit.md"), site_name("README.md"), site_name("src/tacita/noise/choice.md")
    ('audit.md', 'index.md', 'proofs/noise/choice.md')
    """
    named = {"README.md": "index.md", "studies/README.md": "studies.md", "docs/decisions": "decisions/index.md"}
    for folder, there in (("docs/", ""), ("src/tacita/", "proofs/")):
        if path not in named and path.startswith(folder):
            return there + path.removeprefix(folder)
    return named.get(path, path)


def turned(text: str, path: str) -> str:
    """A page with links between files of the repository as links between pages of the site.

    >>> turned("[proof](../src/tacita/noise/choice.md#law)", "docs/audit.md")
    '[proof](proofs/noise/choice.md#law)'
    """
    here = posixpath.dirname(site_name(path)) or "."

    def link(written: re.Match[str]) -> str:
        start, target, anchor = written.groups()
        there = site_name(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)))
        return f"{start}{posixpath.relpath(there, here)}{anchor or ''})"

    return _LINK.sub(link, text)


def public(module: str) -> dict[str, str]:
    """The names that a module offers, each with the address of its docstring.

    >>> public("tacita.tables")
    {'publish': 'tacita.tables.publish.publish', 'series': 'tacita.tables.series.series'}
    """
    package = importlib.import_module(module)
    addresses = {}
    for name in sorted(package.__all__):
        thing = getattr(package, name)
        if name.startswith("_") or inspect.ismodule(thing):
            continue
        # A function that is called like its module has the module's address in the package.
        home = getattr(thing, "__module__", module)
        addresses[name] = f"{home if home.endswith(f'.{name}') else module}.{name}"
    return addresses


def reference(module: str) -> str:
    """The page of one public module: what it is for, then every name that it offers."""
    head = f"# `{module}`\n\n::: {module}\n    options: {{members: false, show_root_heading: false}}\n"
    parts = (f"\n::: {address}\n    options: {{heading_level: 2}}\n" for address in public(module).values())
    return head + "".join(parts)


def listed(title: str, folder: str, texts: dict[str, str]) -> str:
    """A page that lists the pages of a folder by their titles."""
    names = sorted(name for name in texts if name.startswith(f"{folder}/"))
    links = [f"- [{texts[name].splitlines()[0].lstrip('# ')}]({name.removeprefix(f'{folder}/')})" for name in names]
    return f"# {title}\n\n" + "\n".join(links) + "\n"


def gather(into: Path = SOURCE) -> None:
    texts = {site_name(path): turned((ROOT / path).read_text(encoding="utf-8"), path) for path in pages()}
    texts["decisions/index.md"] = listed("Decisions", "decisions", texts)
    texts["proofs/index.md"] = listed("Proofs", "proofs", texts)
    texts |= {f"reference/{module}.md": reference(module) for module in REFERENCE}
    shutil.rmtree(into, ignore_errors=True)
    for name, text in texts.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "pictures", into / "pictures")


if __name__ == "__main__":
    gather()
