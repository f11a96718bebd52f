"""What a confidential file must satisfy before anything is spent: the schema's rules, and the design of a sample."""

from tacita.checks.rows import FileChecks, same_key, table_of

__all__ = ["FileChecks", "same_key", "table_of"]
