"""What every test runs under."""

import os

# A Spark of a test answers a few hundred small questions: compiled once and quickly, by one thread that collects. The
# second compiler and the parallel collector, for servers that run for days, took most of its processor time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData")
