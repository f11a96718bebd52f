"""What a run releases: a tree of noisy counts and the noisy cells of its leaves. No confidential row comes here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacita.privacy import text
from tacita.synthesis.domain import FREE, Codes, Domain, Integers

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
