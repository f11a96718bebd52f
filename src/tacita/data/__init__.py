"""The rooms that see rows: what is public about a file (schema), the one door to its rows, the engine, the checks."""
