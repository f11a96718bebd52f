# Reference values of R's survey package for tests/unit/inference/test_survey_tables_against_r.py.
# Rscript tests/data/table_reference.R SAMPLE.csv > values.tsv, SAMPLE.csv being the synthetic file that the test writes.
# Each line: design, statistic, field, gender ("all" on margins), estimate, standard error.
suppressMessages(library(survey))
data <- read.csv(commandArgs(trailingOnly = TRUE)[1], stringsAsFactors = FALSE)
data$one <- 1
data$all <- "all"
options(survey.adjust.domain.lonely = FALSE)
number <- function(x) sprintf("%.17g", x)
designs <- list(
  weights = svydesign(id = ~1, weights = ~w, data = data),
  strata = svydesign(id = ~1, strata = ~field, weights = ~w, data = data),
  fpc = svydesign(id = ~1, strata = ~field, weights = ~w, fpc = ~fpc, data = data),
  clusters = svydesign(id = ~district, strata = ~field, weights = ~w, nest = TRUE, data = data),
  crossed = svydesign(id = ~1, strata = ~interaction(field, gender), weights = ~w, data = data)
)
for (name in names(designs)) {
  d <- designs[[name]]
  for (field in c("field", "all")) for (gender in c("gender", "all")) {
    by <- reformulate(unique(c(field, gender)))
    tables <- list(
      "count" = svyby(~one, by, d, svytotal),
      "mean of pay" = svyby(~pay, by, d, svymean),
      "ratio of pay to hours" = svyby(~pay, by, d, svyratio, denominator = ~hours),
      "median of pay" = svyby(~pay, by, d, svyquantile, quantiles = 0.5)
    )
    for (statistic in names(tables)) {
      found <- tables[[statistic]]
      errors <- unlist(SE(found))
      for (row in seq_len(nrow(found))) {
        cat(name, statistic, found[row, field], found[row, gender], number(coef(found)[row]), number(errors[row]), sep = "\t")
        cat("\n")
      }
    }
  }
}
