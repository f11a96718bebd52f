"""The real-file accuracy suite: what every plan is worth on public files that nobody here made (`make accuracy`).

Each file has a schema and a list of tries, `NAME.schema.toml` and `NAME.accuracy.toml`: specifications that a user
would write, and the statistics to hold against those of the file itself. `folder` finds files,
`prepared` makes frames of the raw public ones, `tries` reads what to try, `statistics` and `relations` compute,
`measure` rehearses and compares, `published` looks at tables, `page` writes docs/accuracy.md. The files are public, so
everything here may look at their rows.
"""
