"""Public facts that the simulated panel follows: the Business Dynamics Statistics, which are tabulated from the LBD.

Source: U.S. Census Bureau, Business Dynamics Statistics, 2020 release, by year and two-digit NAICS sector, private
sector, 1978 to 2001 (public domain). Rates are percentages: entries and exits over establishments, jobs over the
average of employment in two years. The statistics begin in 1978; 1976 and 1977 take the figures of 1978.
"""

from __future__ import annotations

from dataclasses import dataclass

YEARS = tuple(range(1976, 2002))


@dataclass(frozen=True)
class Year:
    """Sums over all sectors: entry and exit rates, and the jobs that continuers create and destroy."""

    entry: float
    exit: float
    creation: float
    destruction: float


# Job creation and destruction of continuers: all of it less that of births and deaths.
_FIGURES = {
    1978: (14.80, 10.92, 21.11 - 6.81, 13.46 - 5.29), 1979: (13.74, 10.41, 18.91 - 6.03, 13.00 - 4.50),
    1980: (12.72, 11.23, 15.77 - 5.45, 15.14 - 4.57), 1981: (12.69, 11.33, 16.06 - 6.01, 15.14 - 4.64),
    1982: (12.38, 12.34, 15.71 - 5.54, 16.69 - 5.10), 1983: (13.26, 11.23, 16.57 - 6.14, 17.65 - 5.53),
    1984: (14.25, 10.38, 19.72 - 7.05, 13.21 - 4.76), 1985: (13.70, 12.04, 18.75 - 6.59, 15.09 - 6.05),
    1986: (13.89, 11.42, 18.20 - 6.80, 15.50 - 5.29), 1987: (14.16, 12.01, 19.14 - 7.63, 15.35 - 6.18),
    1988: (13.81, 11.43, 19.17 - 7.11, 15.98 - 5.84), 1989: (13.18, 11.18, 18.25 - 6.62, 15.11 - 5.53),
    1990: (12.55, 10.83, 16.83 - 6.01, 14.62 - 4.95), 1991: (12.30, 11.59, 15.32 - 6.05, 17.68 - 5.98),
    1992: (11.63, 11.27, 16.25 - 5.63, 16.30 - 5.62), 1993: (11.41, 10.33, 16.39 - 5.26, 14.64 - 4.87),
    1994: (11.82, 9.97, 16.10 - 5.70, 14.02 - 4.78), 1995: (11.93, 9.72, 16.52 - 5.83, 12.91 - 4.43),
    1996: (11.70, 9.98, 15.88 - 5.82, 14.08 - 4.68), 1997: (12.11, 10.85, 17.89 - 6.32, 15.08 - 5.58),
    1998: (11.34, 9.91, 16.93 - 5.77, 13.86 - 4.74), 1999: (11.05, 10.03, 16.24 - 5.60, 14.23 - 4.99),
    2000: (10.80, 10.07, 16.69 - 5.51, 13.81 - 4.99), 2001: (10.94, 10.23, 15.60 - 5.55, 15.25 - 5.34),
}  # fmt: skip
BY_YEAR = {year: Year(*_FIGURES[max(year, 1978)]) for year in YEARS}


@dataclass(frozen=True)
class Sector:
    """Averages over 1978 to 2001: establishments (thousands), employees of all, of new and of closing ones, rates.

    Jobs created and destroyed are those of continuers.
    """

    name: str
    establishments: float
    size: float
    birth_size: float
    death_size: float
    entry: float
    exit: float
    creation: float
    destruction: float


SECTORS = {
    "23": Sector("construction", 502.5, 9.85, 4.53, 4.91, 15.68, 13.90, 18.33, 15.95),
    "31": Sector("manufacturing", 329.9, 51.14, 15.48, 19.79, 9.28, 8.94, 8.26, 8.06),
    "42": Sector("wholesale trade", 374.6, 13.20, 6.58, 7.50, 10.78, 9.98, 11.44, 9.48),
    "44": Sector("retail trade", 1038.8, 11.76, 7.18, 5.93, 11.04, 10.75, 9.85, 9.30),
    "48": Sector("transportation and warehousing", 139.6, 22.44, 8.23, 8.64, 15.28, 13.30, 11.72, 9.73),
    "52": Sector("finance and insurance", 314.5, 16.79, 8.86, 9.52, 11.88, 9.38, 11.05, 9.62),
    "53": Sector("real estate", 222.4, 6.80, 4.64, 4.58, 14.65, 12.81, 13.31, 11.79),
    "54": Sector("professional services", 440.6, 10.02, 4.97, 5.25, 14.78, 11.02, 13.40, 10.08),
    "56": Sector("administrative services", 224.2, 21.06, 10.76, 10.74, 17.37, 13.41, 18.01, 13.70),
    "62": Sector("health care", 504.6, 19.85, 10.04, 9.43, 9.61, 7.18, 8.82, 6.67),
    "72": Sector("accommodation and food", 419.4, 18.32, 13.39, 10.63, 14.74, 13.26, 10.34, 10.70),
    "81": Sector("other services", 587.5, 7.32, 3.95, 3.89, 10.84, 9.31, 11.62, 9.94),
}
AVERAGE_ENTRY = sum(one.entry for one in BY_YEAR.values()) / len(BY_YEAR)
AVERAGE_EXIT = sum(one.exit for one in BY_YEAR.values()) / len(BY_YEAR)
