"""The released tree and the synthetic files drawn from it. Post-processing only: no confidential row comes here.

What a run releases: a tree of noisy counts and the noisy cells of its leaves. No confidential row comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from attrs import frozen

from tacita.agreement.trees import Consistent, least_squares, onto_simplices, phantom_histogram, shared_out, whole
from tacita.data.schema import Schema
from tacita.implicates import Implicates
from tacita.noise.discrete import DiscreteLaplace
from tacita.privacy import text
from tacita.synthesis.cellplan import CellModel
from tacita.synthesis.domain import FREE, Codes, Domain, Floats, Integers

LEAF = -1  # instead of an elected attribute


@dataclass(frozen=True, eq=False)
class Layer:
    """Nodes of one depth. `attribute` is what a node is split by, `code` the level of its parent's attribute.

    `scale` is the scale of the discrete Laplace noise in `noisy`; None where the count is public.
    """

    parent: Integers
    code: Integers
    attribute: Integers
    noisy: Integers
    scale: Fraction | None


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of leaves of one layer whose noisy count reached the public threshold; the others are not listed.

    `node` is the place of the leaf in `nodes`, `place` the number of the cell among the leaf's free ones. `sums` are
    the noisy totals over all cells of each leaf, where all were drawn.
    """

    layer: int
    nodes: Integers
    possible: Integers
    scale: Fraction
    threshold: int
    node: Integers
    place: Integers
    noisy: Integers
    sums: Integers | None


@dataclass(frozen=True, eq=False)
class Measurement:
    """One measured tree, from the root down."""

    layers: tuple[Layer, ...]
    cells: tuple[Cells, ...]

    def parents(self) -> list[Integers]:
        return [layer.parent for layer in self.layers[1:]]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, column by column."""
        return {
            "layers": [
                {
                    "parent": one.parent.tolist(),
                    "level": one.code.tolist(),
                    "split_by": one.attribute.tolist(),
                    "noisy": one.noisy.tolist(),
                    "scale": None if one.scale is None else text(one.scale),
                }
                for one in self.layers
            ],
            "cells": [
                {
                    "layer": one.layer,
                    "nodes": one.nodes.tolist(),
                    "possible": one.possible.tolist(),
                    "scale": text(one.scale),
                    "threshold": one.threshold,
                    "node": one.node.tolist(),
                    "place": one.place.tolist(),
                    "noisy": one.noisy.tolist(),
                    "sums": None if one.sums is None else one.sums.tolist(),
                }
                for one in self.cells
            ],
        }


def measurement_from(stored: Mapping[str, Any]) -> Measurement:
    def whole(values: Any) -> Integers:
        return np.array(values, dtype=np.int64)

    return Measurement(
        tuple(
            Layer(
                whole(one["parent"]),
                whole(one["level"]),
                whole(one["split_by"]),
                whole(one["noisy"]),
                None if one["scale"] is None else Fraction(one["scale"]),
            )
            for one in stored["layers"]
        ),
        tuple(
            Cells(
                one["layer"],
                whole(one["nodes"]),
                whole(one["possible"]),
                Fraction(one["scale"]),
                one["threshold"],
                whole(one["node"]),
                whole(one["place"]),
                whole(one["noisy"]),
                None if one["sums"] is None else whole(one["sums"]),
            )
            for one in stored["cells"]
        ),
    )


def root_codes(domain: Domain) -> Codes:
    """The root fixes nothing."""
    return np.full((1, len(domain.sizes)), FREE, dtype=np.int16)


def child_codes(fixed: Codes, layer: Layer, children: Layer) -> Codes:
    """What the nodes of a layer fix: what their parent fixes, and its attribute."""
    result = fixed[children.parent]
    result[np.arange(len(result)), layer.attribute[children.parent]] = children.code
    return result


Fit = Literal["least-squares", "phantom"]


@frozen(eq=False, repr=False)
class StepsModel(CellModel[tuple[Measurement, ...]]):
    """Noisy trees, from which any number of files can be drawn. There is one; the paper's way has one per file."""

    form = "steps-model-1"
    any_length = True

    @property
    def paid_files(self) -> int | None:
        return len(self.released) if len(self.released) > 1 else None

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        """What is spread evenly for want of information is not in the difference between files."""
        own = len(self.released) > 1
        frames = tuple(
            self._file(self.released[at if own else 0], one, rows, noisy=m > 1 and not own)
            for at, one in enumerate(random.spawn(m))
        )
        return Implicates(frames, self.schema, self.domain.names, "partial" if own else "one-measurement")

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Attributes that were elected one below the other: where `PairwiseSynthesis(pairs=…)` may start."""
        names, listed = self.domain.names, set()
        for tree in self.released:
            for above, below in pairwise(tree.layers):
                split = below.attribute != LEAF
                for a, b in zip(above.attribute[below.parent[split]], below.attribute[split], strict=True):
                    listed.add((min(names[a], names[b]), max(names[a], names[b])))
        return tuple(sorted(listed))

    # ------------------------------------------------------------ counts

    def estimates(self, tree: int = 0) -> Consistent:
        """The consistent estimate of every node with its exact variance, before anything is rounded or cut at 0."""
        return _consistent(self.released[tree], None)

    def _node_counts(
        self, tree: Measurement, random: np.random.Generator, rows: int | None, *, noisy: bool
    ) -> tuple[Integers, ...]:
        if self.plan.fit == "phantom":
            fan_out = max(2, *self.domain.sizes)
            known = float(tree.layers[0].noisy[0]) if tree.layers[0].scale is None else None
            layers = [one.noisy.astype(np.float64) for one in tree.layers]
            values = phantom_histogram(tree.parents(), layers, fan_out, known)
        else:
            values = _consistent(tree, random if noisy else None).values
        total = float(values[0][0])
        if rows is None and total < 0.5:
            rows = 1  # noise may leave none, and what is paid is paid
        if rows is not None:
            share = rows / total if total > 0 else 0.0
            values = (np.array([float(rows)]), *(one * share for one in values[1:]))
        return whole(tree.parents(), values, random=random)

    def _file(self, tree: Measurement, random: np.random.Generator, rows: int | None, *, noisy: bool) -> pa.Table:
        totals = self._node_counts(tree, random, rows, noisy=noisy)
        pieces: list[Codes] = []
        fixed = root_codes(self.domain)
        for depth, layer in enumerate(tree.layers):
            if depth:
                fixed = child_codes(fixed, tree.layers[depth - 1], layer)
            leaf = layer.attribute == LEAF
            full = np.flatnonzero(leaf & ~(fixed == FREE).any(axis=1))
            pieces.append(np.repeat(fixed[full], totals[depth][full], axis=0))
            bare = leaf & (fixed == FREE).any(axis=1)
            for cells in tree.cells:
                if cells.layer == depth:
                    bare[cells.nodes] = False
                    pieces += self._leaf_rows(cells, fixed[cells.nodes], totals[depth][cells.nodes], random, noisy)
            missing = np.flatnonzero(bare)
            pieces.append(self._evenly(fixed[missing], totals[depth][missing], random))
        codes = np.concatenate(pieces)
        codes = codes[random.permutation(len(codes))]
        return self.records(codes, random)

    def _leaf_rows(
        self, cells: Cells, fixed: Codes, totals: Integers, random: np.random.Generator, noisy: bool
    ) -> list[Codes]:
        """Records of the cells of these leaves: as many as each leaf's total."""
        held = np.bincount(cells.node, weights=cells.noisy, minlength=totals.size)
        # Cells that were not listed have little each. Where the listed ones do not reach the leaf's total, they
        # are raised in proportion; where they exceed it, all move down together (a projection), or in proportion.
        short = (held < totals) | self.plan.clip
        share = np.where(held > 0, totals / np.maximum(held, 1), 0.0)
        values = cells.noisy.astype(np.float64) * share[cells.node]
        project = ~short[cells.node]
        values[project] = onto_simplices(cells.noisy[project].astype(np.float64), cells.node[project], totals)
        listed = held > 0
        kept = np.flatnonzero(values > 0)
        values, node = values[kept], cells.node[kept]
        if noisy:
            moved = np.where(short, np.minimum(share, 1.0), 1.0)
            values += moved[node] * _noise(values.size, cells.scale, random)
        counts = shared_out(values, node, np.where(listed, totals, 0), random=random)
        some = np.flatnonzero(counts)
        codes = self.domain.decoded(fixed, node[some], cells.place[kept[some]])
        drawn = np.repeat(codes, counts[some], axis=0)
        return [drawn, self._evenly(fixed[~listed], totals[~listed], random)]

    def _evenly(self, fixed: Codes, totals: Integers, random: np.random.Generator) -> Codes:
        """Records spread evenly over all cells that can occur, where nothing is known of them."""
        todo = np.repeat(fixed, totals, axis=0)
        wait = np.arange(len(todo))
        sizes = np.array(self.domain.sizes)
        while wait.size:
            drawn = (random.random((wait.size, sizes.size)) * sizes).astype(np.int16)
            rows = np.repeat(fixed, totals, axis=0)[wait]
            todo[wait] = np.where(rows == FREE, drawn, rows)
            wait = wait[self.domain.forbidden(todo[wait])]
        return todo

    # ------------------------------------------------------------ stored

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers."""
        return {"attributes": list(self.domain.names), "trees": [one.to_dict() for one in self.released]}

    def stored(self) -> tuple[Mapping[str, Any], pa.Table]:
        """One row whose columns are the arrays of the trees, the rest as JSON."""
        arrays: dict[str, pa.Array] = {}
        about = [_without_arrays(one.to_dict(), f"{at}", arrays) for at, one in enumerate(self.released)]
        return {"trees": about}, pa.table(arrays)

    @classmethod
    def released_from(
        cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema
    ) -> tuple[Measurement, ...]:
        return tuple(measurement_from(_with_arrays(one, table)) for one in content["trees"])


def _without_arrays(value: Any, path: str, arrays: dict[str, pa.Array]) -> Any:
    """Lists of numbers move into columns; what is left names them."""
    if isinstance(value, dict):
        return {key: _without_arrays(one, f"{path}.{key}", arrays) for key, one in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_without_arrays(one, f"{path}.{at}", arrays) for at, one in enumerate(value)]
    if isinstance(value, list) and not path.endswith((".layers", ".cells")):
        arrays[path] = pa.array([value], type=pa.large_list(pa.int64()))
        return {"column": path}
    return value


def _with_arrays(value: Any, table: pa.Table) -> Any:
    if isinstance(value, dict) and set(value) == {"column"}:
        return table[value["column"]].combine_chunks().values.to_numpy()
    if isinstance(value, dict):
        return {key: _with_arrays(one, table) for key, one in value.items()}
    return [_with_arrays(one, table) for one in value] if isinstance(value, list) else value


def _consistent(tree: Measurement, random: np.random.Generator | None) -> Consistent:
    """Least squares on the tree; with a generator, a draw of the true counts given the noisy ones."""
    values = [one.noisy.astype(np.float64) for one in tree.layers]
    spread = [np.full(one.noisy.size, _variance(one.scale)) for one in tree.layers]
    for cells in tree.cells:
        if cells.sums is None:
            continue
        # The cells of a leaf touch the rest of the tree only through their sum.
        own, below = spread[cells.layer][cells.nodes], cells.possible * _variance(cells.scale)
        weight = own / np.maximum(own + below, np.finfo(np.float64).tiny)
        values[cells.layer][cells.nodes] += weight * (cells.sums - values[cells.layer][cells.nodes])
        spread[cells.layer][cells.nodes] = weight * below
    if random is not None:
        # Solving again with the same noise once more gives draws with exactly the covariance of the estimate.
        values = [one + random.normal(size=one.size) * np.sqrt(var) for one, var in zip(values, spread, strict=True)]
    return least_squares(tree.parents(), values, spread)


def _variance(scale: Any) -> float:
    return 0.0 if scale is None else DiscreteLaplace(scale).variance()


def _noise(count: int, scale: Any, random: np.random.Generator) -> Floats:
    """Discrete Laplace noise for a draw of what may have been; nothing confidential depends on its exactness."""
    stop = -np.expm1(-1 / float(scale))
    return np.asarray(random.geometric(stop, size=count) - random.geometric(stop, size=count), dtype=np.float64)
