"""`CensoredPosterior`: the whole law enumerated on small lattices, drawn from exactly, and private at every size."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from support.goodness_of_fit import counts_p_value, fits
from support.pseudo import SCHEMA, survey
from tacita.data.confidential import Confidential
from tacita.errors import UsageError
from tacita.implicates import Synthetic
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.plan import Plan
from tacita.privacy import AddRemoveOne, Loss
from tacita.release.settings import plan_from_record
from tacita.synthesis.comparison.pseudo import CensoredPosterior
from tacita.synthesis.comparison.pseudo.lattice import MOST, Lattice, draw_points

SMALL = Lattice(0.0, 1.0, 5, (-0.5, 0.0, 1.0), (0.4, 0.9), alpha=0.6, depth=1.5)
CELLS = 2
Records = list[tuple[float, float, int]]  # value, given, cell


def law(lattice: Lattice, records: Records, rate: float) -> dict[tuple[float, ...], float]:
    """Every probability, from costs written out here: minus a censored log-likelihood, in whole steps."""
    log_weight = {}
    for slope, spread in itertools.product(lattice.slopes, lattice.spreads):
        for means in itertools.product(lattice.means(), repeat=CELLS):
            cost = 0
            for value, given, cell in records:
                at = min(max(math.floor((value - slope * given - lattice.first) / lattice.step + 0.5), 0), 4)
                away = (lattice.first + at * lattice.step - means[cell]) / spread
                lost = lattice.alpha * (away**2 / 2 + math.log(spread / lattice.spreads[0]))
                cost += min(round(lost / lattice.depth * MOST), MOST)
            log_weight[slope, spread, *means] = -rate * cost
    top = max(log_weight.values())
    total = sum(math.exp(one - top) for one in log_weight.values())
    return {theta: math.exp(one - top) / total for theta, one in log_weight.items()}


def distance(one: dict[Any, float], other: dict[Any, float]) -> float:
    return max(abs(math.log(one[theta] / other[theta])) for theta in one)


# Few and many records, together and apart: the loss is largest where the others leave no doubt.
FILES: list[Records] = [
    [],
    [(0.0, 0.0, 0)],
    [(0.0, 0.5, 0), (4.0, -1.0, 1), (2.0, 0.3, 1)],
    [(0.0, 0.1, 0)] * 12 + [(0.0, -0.2, 1)] * 12,
    [(0.0, g, 0) for g in np.linspace(-4, 4, 25)] + [(4.0, g, 1) for g in np.linspace(-4, 4, 25)],
]
STRANGERS = [(0.0, 0.0, 0), (4.0, 0.0, 0), (4.0, 3.0, 0), (2.0, -4.0, 0), (9.0, 9.0, 0)]


def worst(rate: float) -> tuple[float, float]:
    """The largest loss found for a record that is added, and for one that is replaced."""
    added, replaced = 0.0, 0.0
    for file in FILES:
        laws = [law(SMALL, [*file, one], rate) for one in STRANGERS]
        without = law(SMALL, file, rate)
        added = max(added, *(distance(one, without) for one in laws))
        replaced = max(replaced, *(distance(*pair) for pair in itertools.combinations(laws, 2)))
    return added, replaced


def test_the_loss_of_one_factor_stays_within_its_bound_and_would_not_with_a_fifth_more() -> None:
    bound = SMALL.depth
    added, replaced = worst(bound / MOST)
    assert added <= bound + 1e-9
    assert replaced <= 2 * bound + 1e-9
    added, replaced = worst(1.2 * bound / MOST)
    assert added > bound
    assert replaced > bound  # half the bound for replacement is already too much here


def test_two_opposite_records_come_near_the_bound_for_replacement() -> None:
    """Where two explanations are equally good, the record decides between them: 2Δ is not loose by much."""
    rate = SMALL.depth / MOST
    file = [(0.0, 0.1, 0)] * 8 + [(4.0, 0.1, 0)] * 7 + [(0.0, 0.0, 1)] * 9
    one, other = law(SMALL, [*file, (0.0, 0.1, 0)], rate), law(SMALL, [*file, (4.0, 0.1, 0)], rate)
    assert 1.2 * SMALL.depth < distance(one, other) <= 2 * SMALL.depth


def test_the_plan_spends_what_it_says() -> None:
    """Two factors with cost up to MOST at this rate, which a replaced record may move either way, m times."""
    given = CensoredPosterior(["pay"], "3.6", weight="w", by=["region"], sets=3)
    rate = given.bound / MOST
    assert 2 * given.sets * 2 * MOST * rate == given.epsilon
    assert all(Fraction(one.depth) == Fraction(float(given.bound)) for one in given.lattices(SCHEMA))
    assert all(one.costs().min() >= 0 and one.costs().max() <= MOST for one in given.lattices(SCHEMA))


def test_membership_is_never_promised_since_the_design_is_published() -> None:
    """A record more is seen with certainty: the number of records in each cell leaves exactly as it is."""
    frame = survey(60)
    made = [plan(epsilon="1", sets=1).rehearse(one, SCHEMA, seed=s) for s, one in enumerate((frame, frame.iloc[1:]))]
    with_it, without = (int(one.released.frame.counts.sum()) for one in made)
    assert with_it == without + 1
    with pytest.raises(UsageError, match="who is in the file is no secret"):
        plan(neighbours=AddRemoveOne("person"))


def test_draws_follow_the_enumerated_law() -> None:
    records = [(0.0, 0.5, 0), (4.0, -1.0, 1), (2.0, 0.3, 1), (1.0, 1.0, 0), (3.0, 2.0, 1)]
    rate = Fraction(3, 2) / MOST
    value, given, cell = (np.array(one) for one in zip(*records, strict=True))
    points = draw_points(SMALL, value, given, cell, CELLS, rate, 6000, SeededEntropy(5), "test")
    seen = Counter((one.slope, one.spread, *one.means) for one in points)
    wanted = law(SMALL, records, float(rate))
    assert set(seen) <= set(wanted)
    places = list(wanted)
    observed = [seen[theta] for theta in places]
    assert fits(counts_p_value(observed, [wanted[theta] for theta in places]))
    # A rate a fifth larger is another law, and the same test would see it.
    other = law(SMALL, records, 1.2 * float(rate))
    assert not fits(counts_p_value(observed, [other[theta] for theta in places]))


def plan(**changed: Any) -> CensoredPosterior:
    return CensoredPosterior(
        **({"columns": ["pay"], "weight": "w", "by": ["region"], "epsilon": "20", "sets": 3} | changed)
    )


def test_claims_and_identity() -> None:
    given = plan(keep=["sex"], total=5000, alpha=0.3, weights="synthetic")
    assert isinstance(given, Plan)
    assert given.guarantee.holds == "always"
    assert given.guarantee.loss == Loss("20")
    assert any("region, sex of every record are public" in one for one in given.guarantee.assumes)
    record = json.loads(json.dumps(given.describe()))
    assert record == given.describe()
    assert plan_from_record(record) == given
    assert given.forecast(SCHEMA).figures["exponent"] == 0.3
    assert plan().forecast(SCHEMA).figures["exponent"] == pytest.approx(20 / 12 / 5)
    proof = files("tacita").joinpath(given.proof).read_text(encoding="utf-8")
    assert all(f"## {one}" in proof for one in ("Precondition", "Algorithm", "Claim", "Proof", "Assumes"))


def test_files_come_back_and_follow_the_sample() -> None:
    frame = survey(3000)
    given = plan(epsilon="60", keep=["sex"])
    result = given.rehearse(frame, SCHEMA, seed=3)
    assert isinstance(result, Synthetic)
    assert result.implicates.kind == "partial"
    assert given.restore(result.to_bytes()).implicates.tables == result.implicates.tables
    for one in result.implicates:
        for level in SCHEMA.levels("region"):
            ours, theirs = np.log(one[one["region"] == level]["pay"]), np.log(frame[frame["region"] == level]["pay"])
            assert ours.mean() == pytest.approx(theirs.mean(), abs=0.1)
            assert ours.std() == pytest.approx(theirs.std(), rel=0.2)
        correlation = np.corrcoef(np.log(one["pay"]), np.log(one["w"]))[0, 1]
        assert correlation < -0.6


def test_an_extreme_record_moves_little() -> None:
    """What the guarantee is for: the law with one wild record is close, at twenty records as at two thousand."""
    frame = survey(20)
    other = frame.copy()
    other.loc[0, ["pay", "w"]] = [100_000, 2000]
    drawn = [plan(sets=1, epsilon="4").rehearse(one, SCHEMA, seed=s) for s in range(5) for one in (frame, other)]
    assert all(np.isfinite(one.released.parameters["coefficients"]).all() for one in drawn)


def test_neighbouring_files_ask_for_the_same_randomness() -> None:
    frame = survey(60)
    recording = Recording(SeededEntropy(17))
    result = plan().run(Confidential.from_frame(frame, SCHEMA), recording)
    other = frame.copy()
    other.loc[3, ["pay", "w"]] = [100_000, 2000]
    replaying = Replaying(recording)
    again = plan().run(Confidential.from_frame(other, SCHEMA), replaying)
    compare(recording, replaying)
    assert again.seed == result.seed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"columns": ["pay", "hours"]}, "for one outcome"),
        ({"weights": "printed"}, "weights: must be"),
        ({"alpha": 1.5}, "alpha: must be a number from 0 to 1"),
        ({"total": 0}, "total: must be a number above 0"),
        ({"epsilon": "-1"}, "epsilon: must be above 0"),
    ],
)
def test_wrong_settings_are_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(**changed)


def test_a_category_is_refused() -> None:
    with pytest.raises(UsageError, match="job: must be a number"):
        plan(columns=["job"]).reads(SCHEMA)
