"""Which modules see confidential rows, and which arithmetic they may not use: read off their source.

A module is held to the rule unless it stands in one of the lists below with a reason, so that a new one is held to it
from its first day. What the rule forbids is what a library may compute differently when other rows are there: matrix
products, sums of floats, and vectorised transcendental functions. `tacita.data.rowwise` has what to use instead; a sum
of whole numbers says so by dtype=np.int64, which also makes it one.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import tacita

SOURCE = Path(tacita.__file__).parent

_PUBLIC = "sees public or released numbers only"
_PAPER = "as a paper has it: no guarantee, or one that holds asymptotically"
_INSIDE = "its figures are for the agency alone"

# Folders and modules that are not held to the rule.
EXEMPT = {
    "__init__.py": "names only",
    "agreement": _PUBLIC,
    "audit": "runs plans on made-up files",
    "data/checks": "says yes or no, before anything is measured",
    "cli": _PUBLIC,
    "demo.py": "a made-up file",
    "dossier": _INSIDE,
    "data/draft.py": "drafts a schema from a public file",
    "errors.py": _PUBLIC,
    "evaluation": _INSIDE,
    "data/half_samples.py": "half-samples follow from public columns",
    "implicates.py": _PUBLIC,
    "inference": _PUBLIC,
    "ledger": _PUBLIC,
    "measured.py": _PUBLIC,
    "mechanisms/comparators.py": _PAPER,
    "mechanisms/eree/calibration.py": _PUBLIC,
    "mechanisms/eree/calibration_supremum.py": _PUBLIC,
    "mechanisms/eree/requirements.py": _PUBLIC,
    "mechanisms/eree/staircase_design.py": _PUBLIC,
    "mechanisms/eree/vector_design.py": _PUBLIC,
    "mechanisms/kng/convergence.py": _PAPER,
    "mechanisms/magnitude/error.py": _PUBLIC,
    "mechanisms/magnitude/flows_design.py": _PUBLIC,
    "mechanisms/magnitude/together_design.py": _PUBLIC,
    "mechanisms/slow/error.py": _PUBLIC,
    "mechanisms/survey/measured.py": _PUBLIC,
    "mechanisms/change/accuracy.py": _PUBLIC,
    "mechanisms/table/accuracy.py": _PUBLIC,
    "mechanisms/table/clamp.py": _PUBLIC,
    "mechanisms/survey/paper.py": _PAPER,
    "noise": "samplers: exact by their own proofs, floats decide nothing there that exact arithmetic does not confirm",
    "plan.py": _PUBLIC,
    "privacy": _PUBLIC,
    "release": _PUBLIC,
    "data/schema": _PUBLIC,
    "simulated": "files that nobody is in",
    **{
        f"synthesis/file/{name}.py": _PUBLIC
        for name in (
            "agreeing",
            "bins",
            "budget",
            "division",
            "ends",
            "evening",
            "field",
            "fitting",
            "graph",
            "intervals",
            "likely",
            "model",
            "records",
            "rounds",
            "sizes",
            "sweeps",
            "tails",
            "targets",
            "trends",
            "values",
        )
    },
    "synthesis/pairwise/mixture.py": _PUBLIC,
    "synthesis/pairwise/model.py": _PUBLIC,
    "synthesis/pairwise/queries.py": _PUBLIC,
    "synthesis/pairwise/records.py": _PUBLIC,
    "synthesis/pairwise/targets.py": _PUBLIC,
    "synthesis/panel/formal/accounts.py": _PUBLIC,
    "synthesis/panel/formal/counted.py": _PUBLIC,
    "synthesis/panel/formal/drawing.py": _PUBLIC,
    "synthesis/panel/formal/foresight.py": _PUBLIC,
    "synthesis/panel/formal/former.py": _PUBLIC,
    "synthesis/panel/formal/growth.py": _PUBLIC,
    "synthesis/panel/formal/hills.py": _PUBLIC,
    "synthesis/panel/formal/lives.py": _PUBLIC,
    "synthesis/panel/formal/model.py": _PUBLIC,
    "synthesis/panel/formal/pinned.py": _PUBLIC,
    "synthesis/panel/formal/released.py": _PUBLIC,
    "synthesis/panel/formal/sensitivities.py": _PUBLIC,
    "synthesis/panel/formal/smoothing.py": _PUBLIC,
    "synthesis/panel/formal/steps.py": _PUBLIC,
    "synthesis/panel/formal/targets.py": _PUBLIC,
    "synthesis/panel/rules.py": "for tests and reports",
    **{
        f"synthesis/panel/{name}.py": "plain panels have no guarantee"
        for name in (
            *("categories", "lifetable", "logit", "matching", "models", "normal", "numbers", "planes", "predictors"),
            *("quantiles", "residuals", "scores", "sequence", "tables", "trees", "writing"),
        )
    },
    "synthesis/comparison/pseudo/fbp.py": _PAPER,
    "synthesis/comparison/pseudo/kernel.py": _PAPER,
    "synthesis/comparison/pseudo/model.py": _PUBLIC,
    "synthesis/comparison/pseudo/nuts.py": _PAPER,
    "synthesis/comparison/pseudo/plan.py": _PAPER,
    "synthesis/quantile/budget.py": _PUBLIC,
    "synthesis/quantile/curve.py": _PUBLIC,
    "synthesis/quantile/numeric.py": _PUBLIC,
    "synthesis/quantile/ranks.py": _PUBLIC,
    "synthesis/comparison/steps/budget.py": _PUBLIC,
    "synthesis/comparison/steps/model.py": _PUBLIC,
    "synthesis/survey/holding.py": _PUBLIC,
    "synthesis/survey/model.py": _PUBLIC,
    "synthesis/survey/moments.py": _PAPER,
    "synthesis/survey/posterior.py": _PUBLIC,
    "synthesis/survey/records.py": _PUBLIC,
    "tables": _PUBLIC,
    "synthesis/file/totals.py": _PUBLIC,
    "synthesis/pinned/adjusting.py": _PUBLIC,
    "synthesis/pinned/plain.py": _PUBLIC,
}

# Functions of modules that are held to the rule, and why they may break it.
REVIEWED = {
    "data/cells.py::Tally.over": "the engine's sums of whole numbers",
    "data/cells.py::unit_totals": "the engine's sums of whole numbers",
    "data/cells.py::values": "the engine's sums of whole numbers",
    "data/elsewhere.py::CodedElsewhere.sums": "the engine's sums of products of whole numbers",
    "data/elsewhere.py::AddedElsewhere.steps": "the engine's sums of whole numbers",
    "data/pairs.py::moved": "the engine's sums of whole numbers",
    "data/sized.py::BySize.over": "the engine's sums of whole numbers",
    "data/pairs.py::_units": "the engine's sums of whole numbers",
    "data/confidential.py::Confidential._content": "the engine's sums of 30-bit whole numbers",
    "mechanisms/magnitude/reading.py::_added_up": "the engine's sums of 30-bit whole numbers",
    "mechanisms/kng/boxes.py::_score": "a sum of whole numbers in compiled code, which takes no dtype",
    "mechanisms/kng/line.py::Lattice.value": "the value of a released threshold",
    "mechanisms/kng/plane.py::_envelope": "sums of whole numbers in compiled code, which takes no dtype",
    "mechanisms/kng/plane.py::_refine": "whole numbers; and which way a box is split, which the law does not depend on",
    "mechanisms/kng/sheet.py::_cut": "which boxes are cut, and how far rounding may reach; the law depends on neither",
    "synthesis/comparison/independent.py::IndependentModel._mended": "synthetic records",
    "synthesis/pairwise/plan.py::_noisy_records": "released counts",
    "synthesis/panel/formal/lattice.py::Bins.capped_means": "public bins",
    "synthesis/panel/formal/lattice.py::Bins.coarser": "released counts",
    "synthesis/panel/formal/lattice.py::Steps.logs": "public bins",
    "synthesis/panel/formal/measuring.py::_growth": "the mean of released counts; its own sums are of whole numbers",
    "synthesis/panel/formal/measuring.py::_sizes": "sums of released laws; its own sums are of whole numbers",
    "synthesis/panel/formal/measuring.py::_sums": "the sum of released lives; its own sums are of whole numbers",
    "synthesis/panel/formal/ratios.py::Range.effects": "released counts",
    "synthesis/panel/formal/ratios.py::Range.paths": "released counts",
    "synthesis/panel/formal/ratios.py::Range.starts": "released counts",
    "synthesis/panel/formal/sums.py::above_clamp": "released counts",
    "synthesis/panel/formal/sums.py::_below": "released counts",
    "synthesis/panel/formal/sums.py::_falling": "released counts",
    "synthesis/panel/formal/sums.py::tails_apart": "released counts",
    "synthesis/panel/formal/sums.py::unit_counts": "released counts",
    "synthesis/panel/formal/sums.py::unseen_above": "released counts",
    "synthesis/panel/formal/units.py::counted_as_large": "synthetic records",
    "synthesis/panel/formal/units.py::alive": "released counts",
    "synthesis/panel/formal/units.py::periods": "public years",
    "synthesis/comparison/pseudo/lattice.py::Lattice.costs": "a public table of costs",
    "synthesis/pinned/measuring.py::_beyond": "released counts",
    "synthesis/quantile/octaves.py::Octaves.curve": "released counts",
    "synthesis/quantile/octaves.py::Octaves._unseen": "released counts",
    "synthesis/quantile/octaves.py::Octaves._between": "released counts",
    "synthesis/quantile/octaves.py::_ends": "released counts",
    "synthesis/quantile/octaves.py::_told": "released counts",
    "synthesis/quantile/own.py::Own.above": "released quantiles",
    "synthesis/quantile/own.py::Own.redrawn": "two draws of what a tail may be",
    "synthesis/quantile/own.py::Own.unsure": "released quantiles, redrawn",
    "synthesis/quantile/owning.py::measure_ranks": "draws of released models; its own counts are of whole numbers",
    "synthesis/quantile/design.py::Design.of": "a released draft",
    "synthesis/quantile/design.py::_directions": "a released draft",
    "synthesis/quantile/design.py::anchor_weights": "the inverse of public corners",
    "synthesis/quantile/fitting.py::_plane": "released values at public corners",
    "synthesis/quantile/number.py::_Measuring._parts": "released counts and a released draft",
    "synthesis/quantile/model.py::QuantileModel._group_rows": "released counts",
    "synthesis/quantile/model.py::QuantileModel._kept_rows": "public columns",
    "synthesis/quantile/model.py::QuantileModel._sizes": "released counts",
    "synthesis/quantile/sharing.py::Shares.draw": "synthetic values",
    "synthesis/quantile/sharing.py::Shares.table": "released counts",
    "synthesis/quantile/sharing.py::cells_for": "public numbers of levels",
    "synthesis/quantile/variables.py::Column.published": "synthetic values",
    "synthesis/comparison/steps/cells.py::measure_cells": "whole numbers of cells, and released counts",
    "synthesis/comparison/steps/electing.py::_caps": "released counts",
    "synthesis/comparison/steps/electing.py::candidates": "whole numbers of levels",
    "synthesis/comparison/steps/electing.py::elect": "whole numbers of candidates",
    "synthesis/comparison/steps/measuring.py::_children": "whole numbers of nodes",
    "synthesis/comparison/steps/measuring.py::measure": "whole numbers of nodes",
    "synthesis/comparison/steps/electing.py::": "a public table of breakpoints",
    "synthesis/comparison/steps/electing.py::_breakpoints": "a public table of breakpoints",
    "synthesis/comparison/steps/electing.py::_slopes": "a public table of breakpoints",
    "synthesis/comparison/steps/electing.py::log_units": "logarithms of public numbers of levels",
    "synthesis/selfcheck/yardstick.py::centred": "synthetic values",
    "synthesis/survey/columns.py::Measure.value": "synthetic values, and the middle of a released range",
    "synthesis/survey/distribution.py::_middle": "released thresholds",
    "synthesis/survey/shape.py::shaped": "synthetic values",
    "data/workforce.py::_from_flat": "the engine's sums of counts",
    "data/workforce.py::_to_cells": "the engine's sums of counts",
}

_PRODUCTS = {"dot", "vdot", "inner", "matmul", "einsum", "tensordot", "convolve", "correlate", "trace"}
_SUMS = {
    *("sum", "nansum", "mean", "nanmean", "average", "std", "var", "nanstd", "nanvar", "prod", "cumsum", "cumprod"),
    *("reduce", "reduceat", "trapezoid", "cov", "corrcoef", "polyfit", "interp", "fsum"),
}
_FUNCTIONS = {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "power", "float_power", "cbrt", "hypot"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
}


def breaches(source: str) -> Iterator[tuple[str, int, str]]:
    """Qualified name of the function, line and what was found, for everything that the rule forbids."""
    yield from _walk(ast.parse(source), ())


def _walk(node: ast.AST, inside: tuple[str, ...]) -> Iterator[tuple[str, int, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inside = (*inside, node.name)
    if found := _forbidden(node):
        yield ".".join(inside), getattr(node, "lineno", 0), found
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, inside)


def _forbidden(node: ast.AST) -> str | None:
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
        return "@"
    if isinstance(node, ast.Attribute) and node.attr == "linalg":
        return "linalg"
    if isinstance(node, ast.ImportFrom | ast.Import):
        names = [*(one.name for one in node.names), getattr(node, "module", None) or ""]
        return "blas" if any("blas" in name or name.endswith("linalg") for name in names) else None
    if not isinstance(node, ast.Call):
        return None
    given = {one.arg: ast.unparse(one.value) for one in node.keywords if one.arg}
    if given.get("fastmath", "False") != "False" or given.get("parallel", "False") != "False":
        return "fastmath or parallel"
    if not isinstance(node.func, ast.Attribute):
        return None
    name, owner = node.func.attr, ast.unparse(node.func.value)
    if name in _PRODUCTS:
        return name
    if name in _SUMS and given.get("dtype") != "np.int64" and owner != "math":
        return name
    if name in _FUNCTIONS and owner in ("np", "numpy", "scipy.special", "special"):
        return f"np.{name}"
    return "bincount with weights" if name == "bincount" and "weights" in given else None


def modules() -> Iterator[tuple[str, str]]:
    """Every module that is held to the rule, with its source."""
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        names = {str(place), *(str(parent) for parent in place.parents)}
        if not names & set(EXEMPT) and place.name != "__init__.py":
            yield str(place), path.read_text(encoding="utf-8")
