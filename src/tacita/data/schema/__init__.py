"""The public domain of a confidential file: read from a person's TOML, never from the rows.

`Schema` is the whole; `Variable` one column; `Categorical`, `Integer`, `Numeric`, `Date` and `Identifier` say what a
column may hold; `Rule` what every record keeps (`[[rules]]`); `Hierarchy` the coarser levels of a categorical column
(`[hierarchy.NAME]`); `SurveyDesign` how a sample was drawn (`[design]`). The roles are

- `id`: tells units apart (`entity = "workplace"`, `"worker"`, or any word for other files);
- `workplace`: an attribute of the establishment, public under α-neighbours;
- `worker`: an attribute of the person who holds the job;
- `size`: the number of workers in a file whose rows are establishments, one row each;
- `public`, `confidential`, `weight`, `design`: as the words say.

Strict rules (`outside = "error"`, or no `missing`) refuse the whole file before anything is spent; the refusal
is seen by the data steward only. To let a file through whatever its rows hold, map to a declared level.
"""

from tacita.data.schema.design import SurveyDesign
from tacita.data.schema.hierarchy import Hierarchy
from tacita.data.schema.kinds import Categorical, Date, Identifier, Integer, Kind, Numeric, Role, TableName, Variable
from tacita.data.schema.model import Schema, entity_word
from tacita.data.schema.rulebook import Rulebook
from tacita.data.schema.rules import Rule

__all__ = [
    "Categorical",
    "Date",
    "Hierarchy",
    "Identifier",
    "Integer",
    "Kind",
    "Numeric",
    "Role",
    "Rule",
    "Rulebook",
    "Schema",
    "SurveyDesign",
    "TableName",
    "Variable",
    "entity_word",
]
