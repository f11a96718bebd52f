"""Uniques, attribute disclosure, linkage and membership: brute force, and attacks that must and must not work."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from tacita.errors import UsageError
from tacita.evaluation.encoding import compare
from tacita.evaluation.risk import (
    attribute_disclosure,
    membership_inference,
    nearest_record,
    replicated_uniques,
    uniques,
)
from tacita.evaluation.risk.linkage import Distance, nearest_distances
from tacita.evaluation.risk.membership import _attack


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    area = rng.choice(list("abcdef"), n)
    age = rng.integers(20, 40, n).astype(float)
    ill = np.where(rng.random(n) < 0.5, area, rng.choice(list("abcdef"), n))
    pay = np.round(np.where(rng.random(n) < 0.2, 0, rng.lognormal(3, 0.5, n) * (1 + (area == "a"))), 1)
    return pd.DataFrame({"area": area, "age": age, "ill": ill, "pay": pay})


# ------------------------------------------------------------------ uniques


def test_uniques_and_replicated_uniques_agree_with_counting_rows() -> None:
    original, synthetic = people(150, 1), people(200, 2)
    known = ["area", "age"]
    comparison = compare(original, synthetic)
    rows = [tuple(row) for row in original[known].to_numpy()]
    others = [tuple(row) for row in synthetic[known].to_numpy()]
    alone = [row for row in rows if rows.count(row) == 1]
    again = [row for row in alone if others.count(row) == 1]
    assert 0 < len(again) < len(alone) < len(rows)
    assert uniques(known)(comparison).value == pytest.approx(len(alone) / 150)
    score = replicated_uniques(known)(comparison)
    assert score.value == pytest.approx(len(again) / 150)
    assert score.details["files"][0]["replicated"] == len(again)


def test_a_copy_replicates_every_unique_and_missing_values_match_each_other() -> None:
    original = pd.DataFrame({"x": [1.0, 1.0, 2.0, np.nan, np.nan, 5.0], "y": ["a", "a", None, "b", "b", "c"]})
    score = replicated_uniques(["x", "y"])(compare(original, original))
    assert score.value == pytest.approx(2 / 6)
    assert uniques(["x"])(compare(original.assign(x=7.0), original)).value == 0


def test_keys_are_checked() -> None:
    comparison = compare(people(10, 3), people(10, 4))
    with pytest.raises(UsageError, match="at least one column"):
        uniques([])(comparison)
    with pytest.raises(UsageError, match="named twice"):
        uniques(["age", "age"])(comparison)
    with pytest.raises(UsageError, match="nosuch"):
        uniques(["nosuch"])(comparison)


# ------------------------------------------------------------------ attribute disclosure


def slow_category(people: pd.DataFrame, source: pd.DataFrame, known: list[str], target: str) -> float:
    right = 0.0
    for _, person in people.iterrows():
        same = source[(source[known] == person[known]).all(axis=1)][target]
        counts = (same if len(same) else source[target]).value_counts()
        best = counts.index[counts == counts.max()]
        right += (person[target] in best) / len(best)
    return right / len(people)


def slow_number(people: pd.DataFrame, source: pd.DataFrame, known: list[str], target: str, tolerance: float) -> float:
    """Try every useful guess: the largest value for which each source value is just right."""
    right = 0.0
    for _, person in people.iterrows():
        same = source[(source[known] == person[known]).all(axis=1)][target].to_numpy()
        values = np.sort(same if len(same) else source[target].to_numpy())
        guesses = np.where(values > 0, values * (1 + tolerance), values * (1 - tolerance))
        hits = [(np.abs(g - values) <= tolerance * np.abs(values) + 1e-9).sum() for g in guesses]
        guess = guesses[int(np.argmax(hits))]
        right += abs(guess - person[target]) <= tolerance * abs(person[target]) + 1e-9
    return right / len(people)


def test_share_of_right_categories_agrees_with_looking_up_each_person() -> None:
    original, files = people(120, 5), [people(60, 6), people(60, 7)]
    holdout = people(90, 8)
    score = attribute_disclosure(["area", "age"], "ill")(compare(original, files, holdout=holdout))
    pooled = pd.concat(files)
    assert score.details["right with the release"] == pytest.approx(
        slow_category(original, pooled, ["area", "age"], "ill")
    )
    others = slow_category(original, holdout, ["area", "age"], "ill")
    common = original.ill.value_counts().max() / 120
    assert score.details["right from hold-out records"] == pytest.approx(others)
    assert score.value == pytest.approx(score.details["right with the release"] - max(others, common))
    found = [
        tuple(row) in set(map(tuple, pooled[["area", "age"]].to_numpy()))
        for row in original[["area", "age"]].to_numpy()
    ]
    assert score.details["found in the release"] == pytest.approx(np.mean(found))


def test_share_of_right_numbers_agrees_with_trying_every_guess() -> None:
    original, synthetic = people(100, 9), people(100, 10)
    score = attribute_disclosure(["area"], "pay", tolerance=0.2)(compare(original, synthetic))
    assert score.details["right with the release"] == pytest.approx(
        slow_number(original, synthetic, ["area"], "pay", 0.2)
    )
    one = original.assign(all="x")
    assert score.details["right with one guess for all"] == pytest.approx(slow_number(one, one, ["all"], "pay", 0.2))


def test_negative_numbers_are_guessed_as_well_as_positive_ones() -> None:
    original, synthetic = people(80, 11), people(80, 12)
    plain = attribute_disclosure(["area"], "pay")(compare(original, synthetic))
    flipped = [one.assign(pay=-one.pay) for one in (original, synthetic)]
    mirrored = attribute_disclosure(["area"], "pay")(compare(flipped[0], flipped[1]))
    assert mirrored.details["right with one guess for all"] == plain.details["right with one guess for all"]


def test_copies_disclose_and_constants_do_not() -> None:
    original = people(200, 13).assign(one="x")
    comparison = compare(original, original)
    assert attribute_disclosure(["area", "age", "pay"], "ill")(comparison).value > 0.4
    assert attribute_disclosure(["area"], "one")(comparison).value == 0
    gone = original.assign(ill=None)
    with pytest.raises(UsageError, match="ill: is missing in every original record"):
        attribute_disclosure(["area"], "ill")(compare(gone, original))
    assert attribute_disclosure(["area"], "ill")(compare(original, gone)).details["right with the release"] == 0
    with pytest.raises(UsageError, match="both known and the target"):
        attribute_disclosure(["area", "ill"], "ill")


# ------------------------------------------------------------------ linkage


def test_nearest_distances_agree_with_all_pairs() -> None:
    original = people(60, 14)
    original.loc[3, "pay"] = np.nan
    synthetic = people(40, 15)
    synthetic.loc[[5, 6], "pay"] = np.nan
    comparison = compare(original, synthetic)
    distance = Distance.on(comparison.original)
    found = nearest_distances(distance.points(comparison.synthetic[0]), distance.points(comparison.original))
    width = {
        name: np.nanquantile(original[name], 0.99) - np.nanquantile(original[name], 0.01) for name in ("age", "pay")
    }
    for place, ours in enumerate(found):
        person = synthetic.iloc[place]
        best = np.inf
        for _, other in original.iterrows():
            total = float(person.area != other.area) + float(person.ill != other.ill)
            for name in ("age", "pay"):
                if np.isnan(person[name]) or np.isnan(other[name]):
                    total += float(np.isnan(person[name]) != np.isnan(other[name]))
                else:
                    total += min(1.0, abs(person[name] - other[name]) / width[name])
            best = min(best, total / 4)
        assert ours == pytest.approx(best, abs=1e-12)


def test_copied_records_are_found_and_fresh_ones_are_at_chance() -> None:
    """Continuous data: a fresh sample is nearer to either side half the time, a file with 30% copies is not."""
    rng = np.random.default_rng(16)
    original, holdout, fresh = (pd.DataFrame(rng.normal(size=(800, 3)), columns=list("xyz")) for _ in range(3))
    copies = pd.concat([original.iloc[:240], fresh.iloc[240:]])
    at_chance = nearest_record(records=800)(compare(original, fresh, holdout=holdout))
    assert abs(at_chance.value - 0.5) < 4 * at_chance.details["files"][0]["standard error"]
    caught = nearest_record(records=800)(compare(original, copies, holdout=holdout))
    assert caught.value > 0.6
    assert caught.details["files"][0]["exact copies of training"] == pytest.approx(0.3)
    assert caught.details["files"][0]["exact copies of hold-out"] == 0


def test_constant_and_missing_columns_and_a_missing_holdout() -> None:
    frame = people(30, 17).assign(one=5.0, gone=np.nan)
    other = frame.assign(one=6.0)
    assert nearest_record()(compare(frame, frame, holdout=frame)).value == 0.5
    distance = Distance.on(compare(frame, other).original, ["one"])
    pair = compare(frame, other)
    assert nearest_distances(distance.points(pair.synthetic[0]), distance.points(pair.original)).tolist() == [1.0] * 30
    with pytest.raises(UsageError, match="holdout"):
        nearest_record()(compare(frame, frame))


# ------------------------------------------------------------------ membership


def test_a_copying_synthesizer_is_caught_and_one_that_ignores_its_input_is_not() -> None:
    pool = people(120, 18)

    def copy(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        return frame.sample(len(frame), replace=True, random_state=seed)

    def ignore(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        return people(len(frame), seed)

    caught = membership_inference(pool, copy, shadow_runs=8, test_runs=6, targets=40, seed=1)
    # A bootstrap holds 1 - 1/e = 63% of its rows, and a record that shows up must have been in.
    assert 0.4 < caught.interval[0] < caught.advantage < 0.8
    assert caught.epsilon_needed > 0.8
    blind = membership_inference(pool, ignore, shadow_runs=8, test_runs=12, targets=40, seed=1)
    assert blind.interval[0] < 0 < blind.interval[1] < 0.25
    assert blind.epsilon_needed == 0
    assert caught.metric(compare(pool, pool)).value == pytest.approx(caught.advantage)


def test_intervals_of_a_blind_attack_hold_zero_as_often_as_they_say() -> None:
    """50 experiments on pure noise at 80%: fewer than 30 covering would happen by chance once in 10,000."""
    rng = np.random.default_rng(19)
    covered = 0
    for _ in range(50):
        found = _attack(rng.normal(size=(3, 14, 60)), rng.random((14, 60)) < 0.5, 8, 0.8)
        covered += found.interval[0] <= 0 <= found.interval[1]
    assert covered >= 30


def test_a_known_signal_gives_the_advantage_of_its_theory() -> None:
    """Closeness is N(1, 1) when in and N(0, 1) when out: the best advantage is 2Φ(1/2) - 1 = 0.383."""
    rng = np.random.default_rng(20)
    inside = rng.random((60, 300)) < 0.5
    signal = rng.normal(size=(60, 300)) + inside
    found = _attack(np.stack([signal, rng.normal(size=(60, 300)), np.zeros((60, 300))]), inside, 40, 0.95)
    assert found.attack.startswith("nearest distance")
    assert found.advantage == pytest.approx(0.383, abs=0.04)


def test_membership_arguments_are_checked_and_runs_are_repeatable() -> None:
    pool = people(40, 21)
    seeds: list[int] = []
    sizes: list[int] = []

    def synthesize(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        seeds.append(seed)
        sizes.append(len(frame))
        return frame

    attack = partial(membership_inference, pool, synthesize, shadow_runs=4, test_runs=2, targets=10, choose="random")
    first, second = attack(seed=3, neighbours="replace"), attack(seed=3, neighbours="replace")
    assert sizes == [20] * 12
    assert first == second
    assert seeds[:6] == seeds[6:]
    assert all(a != b for a, b in pairwise(seeds[:6]))
    assert first.advantage > 0.8
    assert attack(seed=3).advantage > 0.8
    assert len(set(sizes[12:])) > 1  # for one record added or removed, each has a coin of its own
    with pytest.raises(UsageError, match="neighbours"):
        attack(neighbours="other")
    with pytest.raises(UsageError, match="shadow runs"):
        membership_inference(pool, synthesize, shadow_runs=2)
    with pytest.raises(UsageError, match="4 rows"):
        membership_inference(pool.head(2), synthesize)


def test_randomised_response_gives_the_advantage_that_its_epsilon_allows() -> None:
    """Every record's presence is told truthfully with odds e^ε : 1, one record in or out: the best advantage is
    tanh(ε/2) = 0.462 at ε = 1, and the attack must come near it without passing it."""
    pool = pd.DataFrame({"x": np.arange(100.0)})

    def respond(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        inside = np.isin(pool["x"], frame["x"])
        told = inside ^ (rng.random(100) < 1 / (1 + np.e))
        return pool[told]

    found = membership_inference(pool, respond, shadow_runs=20, test_runs=40, targets=100, choose="random", seed=4)
    assert found.attack.startswith(("exact matches", "nearest distance"))
    assert found.interval[0] < np.tanh(0.5) < found.interval[1] + 0.02
    assert found.advantage > 0.4
    assert found.epsilon_needed <= 1
