"""The budget: caps, reserve → run → commit, and one append-only hash chain. A crash means spent.

Where to look:

* `ledger.py`  what a person calls: `Ledger.open`, `release`, `disclose`, `quote`, `verify`, `extract`
* `decisions.py`  what people decide on record: caps that rise, waivers, corrections, notes
* `corrections.py`  what supersedes what
* `signatures.py`  keys, and statements signed with them
* `asking.py`  one request: its key, its quote, whether it fits, and whether its units are known by another name
* `releasing.py`  reserve, run, commit: the one place where plans meet rows
* `book.py`    the arithmetic: families of data sets, caps, sums; pure, no file
* `terms.py`   what the book is made of: keys, caps, waivers, reservations
* `store.py`   the chain, and what keeps it: `sqlite_store.py` a file, where of two equal runs one waits,
  `postgres_store.py` a server, with its tables, guards and roles;
  `founding.py` makes one before its first release
* `accounts.py`  what is spent and left, and quotes
* `views.py`   entries and the public extract
"""

from tacita.ledger.accounts import Account, Quote, Share
from tacita.ledger.ledger import Ledger
from tacita.ledger.releasing import Released
from tacita.ledger.terms import Yearly
from tacita.ledger.views import Entry, verify_extract
from tacita.privacy.json_form import (
    guarantee_from_json,
    guarantee_to_json,
    loss_from_json,
    loss_to_json,
    neighbours_from_json,
    neighbours_to_json,
)

__all__ = [
    "Account",
    "Entry",
    "Ledger",
    "Quote",
    "Released",
    "Share",
    "Yearly",
    "guarantee_from_json",
    "guarantee_to_json",
    "loss_from_json",
    "loss_to_json",
    "neighbours_from_json",
    "neighbours_to_json",
    "verify_extract",
]
