"""`CensoredPosterior`: posterior draws with every record's log-likelihood censored, private at every sample size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import field, frozen

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast
from tacita.plan.fields import above_zero, as_real, real_within
from tacita.plan.how import EACH_PAID, How, as_collected
from tacita.synthesis.comparison.pseudo.base import PosteriorPlan
from tacita.synthesis.comparison.pseudo.fbp import Parameters, SampleModel
from tacita.synthesis.comparison.pseudo.lattice import MOST, Lattice, Point, draw_points
from tacita.synthesis.comparison.pseudo.model import Draws
from tacita.synthesis.comparison.pseudo.reading import Layout, read_sample
from tacita.synthesis.survey.columns import Frame

_STEPS = 256  # of a mean over the public range
_SPREADS = 40
_NARROWEST, _WIDEST = 0.06, 0.7  # spreads, as shares of half the public range
_STEEPEST, _SLOPES = 2.0, 121  # of log weight on the outcome, in units of the ratio of their ranges
_COVERED = 5.0  # how far the log-likelihood may fall before it is censored, unless alpha is given
_MOST_CELLS = 500


@frozen(kw_only=True)
class CensoredPosterior(PosteriorPlan):
    """Synthetic survey samples from a posterior in which each record's log-likelihood is censored at ±`bound`.

    The outcome has a mean in each cell of `by` and one spread; the log weight a mean in each cell, a slope on the
    outcome and one spread. All lie on a public lattice, and draws are exact, so the guarantee holds at every number of
    records. `bound` = ε/(4·sets) is divided equally between outcome and weight. `alpha` is the exponent of every
    record's likelihood; it is the same for all and public, by default such that records within about three standard
    deviations are not censored.

    >>> print(CensoredPosterior(["salary"], "10.8", weight="w", by=["field"]).guarantee)
    ε = 10.8 under one record replaced
    """

    proof = "synthesis/comparison/pseudo/censored.md"

    alpha: float | None = field(default=None, converter=as_real, validator=[above_zero, real_within(0, 1)])

    def __attrs_post_init__(self) -> None:
        if len(self.columns) != 1:
            raise UsageError("columns: the censored posterior is for one outcome; use SurveySynthesis for several")
        if self.weights == "printed":
            raise UsageError('weights: must be "smoothed" or "synthetic"')

    @property
    def how(self) -> How:
        return How(
            "A model was fitted to the confidential records themselves, in which no record can count more than a fixed "
            "amount. Its parameters were then drawn at random, once for each file, and the rows from them. No noise "
            "was added to a measurement: the draw of the parameters is what protects.",
            as_collected(self.design),
            EACH_PAID,
        )

    # ------------------------------------------------------------ what it will do

    def layout(self, schema: Schema) -> Layout:
        layout = super().layout(schema)
        if layout.categories:
            raise UsageError(f"{layout.category_names[0]}: must be a number; the censored posterior takes no category")
        if (cells := schema.domain_size(self.by)) > _MOST_CELLS:
            raise UsageError(f"by: makes {cells:,} cells, more than {_MOST_CELLS}; move a variable to keep")
        return layout

    @property
    def _exponent(self) -> float:
        return float(min(Fraction(1), self.bound / Fraction(_COVERED))) if self.alpha is None else self.alpha

    def lattices(self, schema: Schema) -> tuple[Lattice, Lattice]:
        """The public values of the parameters of the outcome, and of the weight."""
        low, high = self.layout(schema).limits
        half = (high - low) / 2
        shares = np.geomspace(_NARROWEST, _WIDEST, _SPREADS)
        slopes = tuple((np.linspace(-_STEEPEST, _STEEPEST, _SLOPES) * half[1] / half[0]).tolist())
        # A cell's mean at the middle of the outcome can lie outside the range of the weight, by the slope's reach.
        made = []
        for at, (steepest, used) in enumerate(((0.0, (0.0,)), (1.0, slopes))):
            step = 2 * half[at] / _STEPS
            more = round(steepest * _STEPS / 2)
            bins = _STEPS + 1 + 2 * more
            spreads = tuple((shares * half[at]).tolist())
            first = low[at] - step * more
            made.append(Lattice(first, step, bins, used, spreads, self._exponent, float(self.bound)))
        return made[0], made[1]

    def forecast(self, schema: Schema) -> Forecast:
        exponent, bound = self._exponent, float(self.bound)
        sentences = (
            f"each of {self.sets} files is a draw from a posterior in which a record counts {exponent:.2g} and its "
            f"log-likelihood is censored at ±{bound:.3g}",
            f"about as uncertain as a sample of {exponent:.0%} of the records",
        )
        return self._forecast(schema, sentences, {"exponent": exponent})

    def fitted_model(self, layout: Layout, frame: Frame) -> SampleModel:
        return SampleModel(np.eye(frame.cells), *layout.limits)

    # ------------------------------------------------------------ acting

    def measure(self, data: Confidential, entropy: Entropy) -> Draws:
        layout = self.layout(data.schema)
        sample = read_sample(data, layout)
        of_outcome, of_weight = self.lattices(data.schema)
        low, high = layout.limits
        y, w, middle = sample.z[:, 0], sample.z[:, 1], (low[0] + high[0]) / 2
        # A record's two costs lie between 0 and MOST each: together they move the log density by at most 2Δ.
        rate = self.bound / MOST
        zero = np.zeros_like(y)
        args = (sample.cell, sample.cells, rate, self.sets, entropy)
        outcome = draw_points(of_outcome, y, zero, *args, "outcome")
        weight = draw_points(of_weight, w, y - middle, *args, "weight")
        return Draws(sample.frame, _parameters(outcome, weight, middle))


def _parameters(outcome: list[Point], weight: list[Point], middle: float) -> Parameters:
    """Means and covariance of outcome and log weight together."""
    coefficients, covariance = [], []
    for y, w in zip(outcome, weight, strict=True):
        mean = np.array(y.means)
        coefficients.append(np.column_stack([mean, np.array(w.means) + w.slope * (mean - middle)]))
        both = w.slope * y.spread**2
        covariance.append([[y.spread**2, both], [both, w.slope * both + w.spread**2]])
    return {"coefficients": np.array(coefficients), "covariance": np.array(covariance)}
