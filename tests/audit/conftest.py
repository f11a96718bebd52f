"""Every test here opens small files, and many."""

from support.shared_desks import shared_desks  # noqa: F401 -- a fixture that every test here uses
