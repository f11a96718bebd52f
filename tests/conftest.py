"""What every test runs under."""

import os

# `make test` runs two processes on two cores: threads of linear algebra would only wait for each other.
for _library in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_library, "1")

# A Spark of a test answers a few hundred small questions: it is compiled quickly and not thoroughly, by one thread.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData")
