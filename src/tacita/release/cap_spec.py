"""`[cap]` of a specification: what is protected, and the most that may be lost, ever and in one year."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tacita.errors import UsageError
from tacita.ledger.terms import Yearly
from tacita.noise.concentrated import rho_for
from tacita.privacy import Loss, Neighbours, exact
from tacita.privacy.json_form import neighbours_from_json
from tacita.privacy.neighbours import Scaling
from tacita.release.spec_values import AtMost, Exact, Part

_OF_RECORDS = ("scaling", "offset", "reference")
# Where the privacy layer says it otherwise.
_KINDS = {"strong": "strong-alpha", "weak": "weak-alpha", "add-remove": "add-remove-one", "replace": "replace-one"}
Year = Annotated[int, Field(ge=2000, le=2999)]


class CapSpec(Part):
    """The most that may ever be lost about the units of this file, over all releases together.

    `at_most` is for files in which a unit has several rows: no more than so many are used for any product, and every
    loss is that of a whole unit. `account` = "rho" keeps the account in the ρ that (epsilon, delta) allows: losses of
    many tables then add up to far less. `per_year` is the most that one calendar year may take inside the cap, and
    `until` the last year that this is planned for.
    """

    neighbours: Literal["strong", "weak", "add-remove", "replace", "numbers-within", "per-record"]
    alpha: Exact | None = None
    unit: str | None = None
    scaling: Scaling | None = None
    offset: Exact | None = None
    reference: Exact | None = None
    epsilon: Exact
    delta: Exact = "0"
    account: Literal["epsilon", "rho"] = "epsilon"
    at_most: AtMost | None = None
    holds: Literal["always"] | None = None  # "always" refuses promises that hold asymptotically
    per_year: Exact | None = None
    until: Year | None = None

    @model_validator(mode="after")
    def _relation_is_complete(self) -> CapSpec:
        needs = {
            "strong": {"alpha"},
            "weak": {"alpha"},
            "numbers-within": {"alpha", "unit"},
            "per-record": {"unit", *_OF_RECORDS},
        }
        for key in ("alpha", "unit", *_OF_RECORDS):
            needed = key in needs.get(self.neighbours, {"unit"})
            if needed and getattr(self, key) is None:
                raise ValueError(f'neighbours = "{self.neighbours}" needs the key {key}; add it to [cap]')
            if not needed and getattr(self, key) is not None:
                raise ValueError(f'neighbours = "{self.neighbours}" has no {key}; remove that key from [cap]')
        if self.neighbours == "per-record":
            try:
                _ = self.relation  # refuses sizes that mean nothing
            except UsageError as error:
                raise ValueError(str(error)) from None
            if exact(self.reference or "") < exact(self.offset or ""):
                raise ValueError(
                    "reference: must be at least the offset, below which the loss grows with the square of a number: "
                    "large numbers would lose many times what is stated; raise the reference, or lower the offset"
                )
            if self.account != "rho":
                raise ValueError('neighbours = "per-record" is kept in ρ; add account = "rho" and delta to [cap]')
        in_rho = self.neighbours in ("add-remove", "replace", "per-record") and exact(self.delta)
        if self.account == "rho" and not in_rho:
            raise ValueError(
                'account = "rho" is for neighbours = "add-remove", "replace" or "per-record" and needs delta, such as '
                '"1e-9"; add it to [cap], or remove account'
            )
        if self.at_most is not None and self.neighbours not in ("add-remove", "replace"):
            raise ValueError(
                f'neighbours = "{self.neighbours}" has no at_most: its units are taken whole, and of a worker with '
                "several jobs you keep the main job; remove at_most from [cap]"
            )
        if (self.per_year is None) != (self.until is None):
            raise ValueError(
                'per_year and until go together, such as per_year = "1" and until = 2030: add the other one to [cap]'
            )
        if self.per_year is not None and not 0 < exact(self.per_year) <= exact(self.epsilon):
            raise ValueError("per_year: must be above 0 and no more than epsilon; correct it in [cap]")
        return self

    @property
    def relation(self) -> Neighbours:
        """The neighbours as the privacy layer knows them."""
        said = {key: value for key in ("alpha", "unit", *_OF_RECORDS) if (value := getattr(self, key)) is not None}
        return neighbours_from_json({"kind": _KINDS.get(self.neighbours, self.neighbours), **said})

    @property
    def loss(self) -> Loss:
        if self.account == "rho":
            return Loss(rho=rho_for(exact(self.epsilon), exact(self.delta)))
        return Loss(self.epsilon, delta=self.delta)

    @property
    def yearly(self) -> Yearly | None:
        """The allowance per year as the ledger knows it."""
        if self.per_year is None or self.until is None:
            return None
        if self.account == "rho":
            return Yearly(Loss(rho=rho_for(exact(self.per_year), exact(self.delta))), self.until)
        return Yearly(Loss(self.per_year), self.until)

    @property
    def most_at_once(self) -> Loss:
        """What one release may cost: the cap, or the allowance of one year."""
        return self.loss if self.yearly is None else self.yearly.limit(self.loss)
