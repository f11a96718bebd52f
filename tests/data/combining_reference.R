# Reference values of R's mice package for tests/unit/inference/test_combine.py: Rscript tests/data/combining_reference.R
# Means and standard errors of Oxygen in five completed files of 31 rows, as printed in the SAS/STAT User's Guide,
# PROC MIANALYZE, "Reading Means and Standard Errors from a DATA= Data Set".
suppressMessages(library(mice))
q <- c(47.0120, 47.2407, 47.4995, 47.1485, 47.0042)
u <- c(0.95984, 0.93540, 1.00766, 0.95439, 0.96528)^2
cat(R.version.string, "mice", as.character(packageVersion("mice")), "\n")
show <- function(name, found) cat(name, sprintf("%.17g", c(found$qbar, found$t, found$df)), "\n")
show("rubin1987, 30 degrees of freedom", pool.scalar(q, u, n = 31, k = 1, rule = "rubin1987"))
show("rubin1987", pool.scalar(q, u, rule = "rubin1987"))
show("reiter2003", pool.scalar(q, u, rule = "reiter2003"))
