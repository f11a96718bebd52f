"""From a specification to plans: which mechanism makes each product, with every default decided.

Only public things are used here, so `tacita plan` can say the cost and the expected error of a release
before anyone opens the confidential file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any, Generic, TypeVar

from tacita.data.cells import Amount
from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.errors import RefusedError, SpecError, TacitaError, naming
from tacita.mechanisms.table.levels import TableLevels
from tacita.mechanisms.table.measuring import buys_clamp
from tacita.noise.concentrated import rho_for
from tacita.plan import Forecast, Plan, check, claimed
from tacita.plan.bounded import Bounded
from tacita.privacy import UNPROTECTED, Guarantee, Loss, exact, in_sequence, text
from tacita.privacy.json_form import canonical
from tacita.release.cap_spec import CapSpec
from tacita.release.mechanisms import MAGNITUDE_MECHANISMS
from tacita.release.settings import (
    ANY_FILE,
    JOBS_DEFAULT,
    SLOW,
    TWO_YEARS,
    Named,
    arguments_of,
    bounded,
    mechanism_of,
)
from tacita.release.spec import MicrodataSpec, Spec, TableSpec
from tacita.tables.public_totals import refuse_public_totals
from tacita.tables.statistics import TOTAL
from tacita.tables.summed import refuse_levels
from tacita.tables.together import refuse_disagreement

PUBLISHING = (
    "integers",
    "nonnegative",
    "totals",
    "levels",
    "rank",
    "confidence",
    "withhold",
    "agree",
    "public_totals",
)  # what is done to a table after the noise


CHANGES = ("growth", "flows")
S = TypeVar("S", TableSpec, MicrodataSpec)


@dataclass(frozen=True)
class Planned(Generic[S]):
    """One product with the plan that will make it."""

    spec: S
    plan: Plan[Any]
    guarantee: Guarantee

    @property
    def title(self) -> str:
        return self.spec.title or self.spec.name


PlannedTable = Planned[TableSpec]
PlannedMicrodata = Planned[MicrodataSpec]


@dataclass(frozen=True)
class PlannedRelease:
    """Everything that is known before the confidential file is opened."""

    spec: Spec
    schema: Schema
    tables: tuple[PlannedTable, ...]
    microdata: tuple[PlannedMicrodata, ...] = ()

    @property
    def products(self) -> tuple[PlannedTable | PlannedMicrodata, ...]:
        return (*self.tables, *self.microdata)

    @property
    def guarantee(self) -> Guarantee:
        """The promise of all products together; two that ask for the very same thing are drawn and paid for once."""
        return in_sequence(product.guarantee for product in self._drawn())

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What the plans themselves promise, one for each draw of noise, before it is restated for [cap]."""
        return tuple(claimed(product.plan, self.schema) for product in self._drawn())

    def _drawn(self) -> tuple[PlannedTable | PlannedMicrodata, ...]:
        return tuple({canonical(product.plan.describe()): product for product in self.products}.values())

    @property
    def fits(self) -> bool:
        """Whether the release would fit a cap of which nothing is spent yet."""
        return self.guarantee.loss <= self.spec.cap.most_at_once

    @property
    def way_to_fit(self) -> str:
        """What to do where it does not."""
        cost, cap = self.guarantee.loss, self.spec.cap.loss
        if cost.delta > cap.delta and cost.epsilon <= cap.epsilon:
            asked = str(float(cost.delta))
            return f'The cap allows less δ: write delta = "{asked}" in [cap], or lower delta of the products'
        return "Lower epsilon of one, drop one, or have the cap raised"

    def forecasts(self) -> dict[str, Forecast]:
        return {one.spec.name: _understood(one.spec, one.plan.forecast, self.schema) for one in self.products}

    def check(self, data: Any) -> None:
        """Refuse a confidential file that any product cannot be made from, in the words of that product."""
        with naming(data=self.spec.data_names, schema=Path(self.spec.schema_path).name):
            for product in self.products:
                _named(product.spec, check, product.plan, data)


def prepare(spec: Spec, *, rehearsal: bool = False) -> PlannedRelease:
    """Build every plan of a specification and check it against the schema.

    Only a rehearsal may use a mechanism without a guarantee.
    """
    schema = Schema.load(spec.resolve(spec.schema_path))
    with naming(schema=Path(spec.schema_path).name, specification=spec.path.name):
        return _prepared(spec, schema, rehearsal=rehearsal)


def _prepared(spec: Spec, schema: Schema, *, rehearsal: bool) -> PlannedRelease:
    named = (_with_mechanism(table, spec.cap) for table in _shared_out(spec))
    spec = spec.model_copy(update={"table": tuple(_with_limits(table, schema) for table in named)})
    told = (spec, schema, rehearsal)
    tables = tuple(Planned(table, *_understood(table, _planned, table, *told)) for table in spec.table)
    microdata = tuple(Planned(files, *_understood(files, _planned, files, *told)) for files in spec.microdata)
    planned = PlannedRelease(spec, schema, tables, microdata)
    _refuse_rows_of_years(planned)
    for product in planned.products:
        schema.check_codes(_understood(product.spec, _named, product.spec, product.plan.reads, schema))
    for table in tables:
        _refuse_level_total(table.spec, schema)
        if table.spec.levels:
            _named(table.spec, _check_levels, table, schema)
        if table.spec.agree:
            _named(table.spec, refuse_disagreement, table.plan.describe(), {"totals": table.spec.totals})
        if table.spec.public_totals is not None:
            settings = {key: getattr(table.spec, key) for key in ("totals", "agree", "rank")}
            asked = (table.plan.describe(), settings, table.spec.public_totals, schema)
            _named(table.spec, refuse_public_totals, *asked)
    for files in microdata:
        from tacita.release.survey_tables import check_survey_tables  # estimators are not loaded for tables alone

        _understood(files.spec, _named, files.spec, check_survey_tables, files.spec.tables, files.plan, schema)
    return planned


def _shared_out(spec: Spec) -> tuple[TableSpec, ...]:
    """The tables, those without a price with their part of the ρ that [tables] allows."""
    if spec.tables is None:
        return spec.table
    shares = {table.name: exact(table.share or "1") for table in spec.table if not table.priced}
    whole = rho_for(exact(spec.tables.epsilon), exact(spec.tables.delta)) / sum(shares.values())
    # Rounded down to twelve places, so that the parts can be read.
    parts = {name: text(Fraction(floor(whole * share * 10**12), 10**12)) for name, share in shares.items()}
    if "0" in parts.values():
        raise SpecError("tables: leave a table next to nothing; raise epsilon, or ask for fewer tables")
    return tuple(
        table.model_copy(update={"rho": parts[table.name]}) if table.name in parts else table for table in spec.table
    )


def _with_mechanism(table: TableSpec, cap: CapSpec) -> TableSpec:
    """The mechanism that the relation of the cap asks for, where none is named."""
    if table.mechanism:
        return table
    named = JOBS_DEFAULT if cap.neighbours in ("strong", "weak") else ANY_FILE
    if cap.neighbours == "numbers-within":
        if table.statistic not in MAGNITUDE_MECHANISMS:
            raise SpecError(
                f"statistic of {table.spoken}: what [cap] promises is about numbers of units, so there are sums, "
                f"growth and flows; give one of {', '.join(MAGNITUDE_MECHANISMS)}, or another relation in [cap]"
            )
        named = MAGNITUDE_MECHANISMS[table.statistic]
    elif cap.neighbours == "per-record":
        if table.statistic != "sum":
            raise SpecError(f'statistic of {table.spoken}: under neighbours = "per-record" there are sums; write "sum"')
        named = SLOW
    elif named == ANY_FILE and table.statistic in CHANGES:
        named = TWO_YEARS
    return table.model_copy(update={"mechanism": named})


def _with_limits(table: TableSpec, schema: Schema) -> TableSpec:
    """Where a margin is wanted, the limits that numbers are clamped at in any case: those that are declared, if the
    specification says so or they are too near to each other for buying nearer ones."""
    if table.margin is None or table.statistic not in ("sum", "mean") or table.clamp not in (None, "declared"):
        return table
    of = table.of if isinstance(table.of, str) else None
    kind = schema[of].kind if of is not None and of in schema else None
    if not isinstance(kind, Integer | Numeric):
        return table  # the plan says what is wrong
    if table.clamp is None and buys_clamp(schema, Amount((of or "",)), None):
        return table
    return table.model_copy(update={"clamp": (float(kind.lower), float(kind.upper))})


def _refuse_rows_of_years(release: PlannedRelease) -> None:
    """One product that takes a row for each year of a unit says of the whole file that units have several rows. A run
    would find that too, from the rows."""
    if release.spec.cap.neighbours not in ("add-remove", "replace"):
        return
    years = {
        one.spec.name: "period" in one.spec.options
        if isinstance(one.spec, MicrodataSpec)
        else one.spec.between is not None
        for one in release.products
    }
    yearly = next((one for one in release.products if years[one.spec.name]), None)
    for product in release.products if yearly is not None else ():
        if yearly is not None and not years[product.spec.name] and not isinstance(product.plan, Bounded):
            raise SpecError(
                f"{product.spec.spoken}: takes one row of each {release.spec.cap.unit}, and {yearly.spec.spoken} a row "
                "for each year; give it at_most = <rows>, the most that one has, or a file of one year in a release of "
                "its own, on the same ledger"
            )


def _planned(product: Named, spec: Spec, schema: Schema, rehearsal: bool) -> tuple[Plan[Any], Guarantee]:
    mechanism = mechanism_of(product)
    given = arguments_of(spec, product, mechanism)
    if "unit" in given and spec.cap.unit is not None and given["unit"] == schema.id_for(spec.cap.unit):
        given["unit"] = spec.cap.unit  # its id column says the same
    plan: Plan[Any] = _named(product, mechanism, **given)
    if isinstance(product, MicrodataSpec) and product.check is not None:
        from tacita.synthesis.selfcheck import SelfCheck  # loaded where a product has one

        plan = _named(product, SelfCheck, plan, **product.check.settings)
    at_most = spec.cap.at_most if product.at_most is None else product.at_most
    if at_most is not None:
        if spec.cap.at_most is not None and at_most > spec.cap.at_most:
            raise SpecError(
                f"at_most of {product.spoken}: is more than [cap] allows; lower it, or raise the one in [cap]"
            )
        plan = _named(product, bounded, plan, at_most)
    if spec.reason is not None:
        return plan, _undertaken(product, spec, plan)
    if plan.guarantee.holds == "never" and not rehearsal:
        instead = (
            'Set calibration = "proved", or use it in `tacita rehearse` and `tacita study` only'
            if isinstance(product, TableSpec)
            else 'Choose another mechanism; or, where the files may leave without one, say guarantee = "none", and as '
            "reason why, and who decided it"
        )
        raise RefusedError(
            f"{product.spoken}: {product.mechanism} with these settings has no guarantee, so it cannot be released. "
            f"{instead}"
        )
    if spec.cap.holds == "always" and plan.guarantee.holds == "asymptotically":
        raise RefusedError(
            f"{product.spoken}: {product.mechanism} holds asymptotically, and [cap] takes only promises that always "
            'hold. Choose another mechanism, or drop holds = "always" from [cap]'
        )
    try:
        guarantee = claimed(plan, schema).under(spec.cap.relation)
    except RefusedError as error:
        raise RefusedError(
            f"{product.spoken}: {error}. Choose a mechanism that protects what [cap] promises, "
            "or change neighbours in [cap]"
        ) from None
    return plan, guarantee


def _undertaken(product: Named, spec: Spec, plan: Plan[Any]) -> Guarantee:
    """That nothing is promised, and why: what `guarantee` = "none" stands for."""
    if plan.guarantee.holds != "never":
        raise SpecError(
            f'{product.spoken}: guarantee = "none" is for files that have none, and {product.mechanism} promises '
            f"{plan.guarantee}; remove guarantee and reason"
        )
    if spec.cap.holds == "always":
        raise RefusedError(
            f"{product.spoken}: {product.mechanism} has no guarantee, and [cap] takes only promises that always hold. "
            'Choose another mechanism, or drop holds = "always" from [cap]'
        )
    assumes = (f"{UNPROTECTED}{spec.reason}", *plan.guarantee.assumes)
    return Guarantee(spec.cap.relation, Loss.zero(), "never", assumes)


def _named(product: Named, call: Any, *args: Any, **kwargs: Any) -> Any:
    """Call something, and say which product of the specification was meant where it objects."""
    try:
        return call(*args, **kwargs)
    except TacitaError as error:
        raise type(error)(f"{product.spoken}: {error}") from None


def _check_levels(table: PlannedTable, schema: Schema) -> None:
    """Levels that are declared, of a table that can be added up to them."""
    spec = table.spec
    TableLevels.of(schema, (*spec.by, *spec.worker), spec.levels or ())
    settings = {key: getattr(spec, key) for key in ("totals", "rank", "agree", "public_totals")}
    refuse_levels(
        settings,
        additive="growth" not in (spec.statistic, table.plan.describe().get("statistic"))
        and spec.mechanism != MAGNITUDE_MECHANISMS["growth"],
    )


def _refuse_level_total(table: TableSpec, schema: Schema) -> None:
    """A sum stands in the rows of its table under a name that no level may have."""
    for name in (*table.by, *table.worker) if table.totals else ():
        kind = schema[name].kind
        if isinstance(kind, Categorical) and TOTAL in kind.levels:
            raise SpecError(
                f'{table.spoken}: totals: a level of {name} is called "{TOTAL}", as is the sum over its levels; '
                "rename that level, or leave totals out"
            )


def repriced(release: PlannedRelease, product: Planned[S], *, alpha: str | None = None, **price: str) -> Planned[S]:
    """A product of the same release at another price, `epsilon` or `delta`, or under a cap with another `alpha`."""
    cap = release.spec.cap if alpha is None else release.spec.cap.model_copy(update={"alpha": alpha})
    margins = {"margin": None, "margin_at": None} if isinstance(product.spec, TableSpec) else {}
    asked = product.spec.model_copy(update={**margins, **price})
    told = (release.spec.model_copy(update={"cap": cap}), release.schema, True)
    return Planned(asked, *_understood(asked, _planned, asked, *told))


def _understood(product: Named, call: Any, *args: Any) -> Any:
    """Call something that sees the specification and the schema alone, both public: its message may be shown.

    Plans check what people get wrong. What is left, a date for a name or a table within a list, fails somewhere inside.
    """
    try:
        return call(*args)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError, RecursionError) as error:
        raise SpecError(
            f"{product.spoken}: a setting has a value that {product.mechanism} cannot take "
            f"({type(error).__name__}: {str(error)[:200]}); correct it"
        ) from None


def forecast_record(forecast: Forecast) -> dict[str, Any]:
    return {"cells": forecast.cells, "sentences": list(forecast.sentences), "figures": dict(forecast.figures)}
