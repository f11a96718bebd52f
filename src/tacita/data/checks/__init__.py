"""What a confidential file must satisfy before anything is spent: the schema's rules, and the design of a sample."""

from tacita.data.checks.rows import FileChecks, Scan, any_repeated, main_table, no_id_among_rows, same_key, table_of

__all__ = ["FileChecks", "Scan", "any_repeated", "main_table", "no_id_among_rows", "same_key", "table_of"]
