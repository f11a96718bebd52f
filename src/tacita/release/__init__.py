"""From a specification to a bundle: what is published, and the evidence that goes with it.

Where to look:

* `spec` reads the TOML file a person writes; `plans` turns it into plans, before any data.
* `run` opens the file, pays through the ledger and publishes. It alone may touch the confidential file.
* `bundle` is the release in memory and on disk; `verify` checks one, down to the byte and back to the ledger.
* `page` and its parts are what readers get; `codebook` (DDI, Frictionless), `sdmx` and the record in `records` are for
  archives and registries; `words` says the promise plainly.
* `trial` draws rows from the schema alone, for rehearsals; `outlook` is what the command line shows.
"""
