# Reference values of R's survey package for tests/unit/inference/test_survey_against_r.py.
# Rscript tests/data/survey_reference.R DATA > values.tsv, DATA being the folder that holds survey_r_package/.
# Each line: case, then estimates, then standard errors (or a covariance matrix), then degrees of freedom.
suppressMessages(library(survey))
folder <- commandArgs(trailingOnly = TRUE)[1]
load_file <- function(...) read.csv(gzfile(file.path(folder, ...)), check.names = FALSE, na.strings = "")
numbers <- function(x) paste(sprintf("%.17g", as.vector(x)), collapse = ",")
say <- function(case, result, design, error = SE(result)) {
  cat(case, numbers(coef(result)), numbers(unlist(error)), numbers(degf(design)), sep = "\t")
  cat("\n")
}
ends <- function(case, result) cat(case, numbers(confint(result)[, 1]), numbers(confint(result)[, 2]), "0\n", sep = "\t")

apistrat <- load_file("survey_r_package", "apistrat.csv.gz")
d <- svydesign(id = ~1, strata = ~stype, weights = ~pw, fpc = ~fpc, data = apistrat)
say("apistrat mean", svymean(~api00, d), d)
say("apistrat total", svytotal(~enroll, d), d)
say("apistrat ratio", svyratio(~api.stu, ~enroll, d), d)
say("apistrat domains", svyby(~api00, ~stype + sch.wide, d, svymean), d)
say("apistrat domain totals", svyby(~enroll, ~sch.wide, d, svytotal), d)
say("apistrat domain ratios", svyby(~api.stu, ~awards, d, svyratio, denominator = ~enroll), d)
by_award <- svyby(~api00, ~awards, d, svymean, covmat = TRUE)
say("apistrat covariance", by_award, d, vcov(by_award))
say("apistrat proportions", svymean(~awards, d), d)
say("apistrat proportions by domain", svyby(~awards, ~stype, d, svymean), d)
quartiles <- svyquantile(~api00, d, c(0.25, 0.5, 0.9))
say("apistrat quantiles", quartiles, d)
ends("apistrat quantile intervals", quartiles)
open <- svydesign(id = ~1, strata = ~stype, weights = ~pw, data = apistrat)
say("apistrat without fpc", svymean(~api00, open), open)

apiclus2 <- load_file("survey_r_package", "apiclus2.csv.gz")
d <- svydesign(id = ~dnum + snum, fpc = ~fpc1 + fpc2, data = apiclus2)
say("apiclus2 mean", svymean(~api00, d), d)
say("apiclus2 total", svytotal(~enroll, d, na.rm = TRUE), d)
say("apiclus2 ratio", svyratio(~api.stu, ~enroll, d, na.rm = TRUE), d)
say("apiclus2 domains", svyby(~api00, ~stype, d, svymean), d)
say("apiclus2 domain totals", svyby(~enroll, ~stype, d, svytotal, na.rm = TRUE), d)
say("apiclus2 quantiles", svyquantile(~api00, d, c(0.25, 0.5, 0.75)), d)
open <- svydesign(id = ~dnum + snum, weights = ~pw, data = apiclus2)
say("apiclus2 without fpc", svymean(~api00, open), open)

nhanes <- load_file("survey_r_package", "nhanes.csv.gz")
d <- svydesign(id = ~SDMVPSU, strata = ~SDMVSTRA, weights = ~WTMEC2YR, nest = TRUE, data = nhanes)
say("nhanes mean", svymean(~HI_CHOL, d, na.rm = TRUE), subset(d, !is.na(HI_CHOL)))
say("nhanes total", svytotal(~HI_CHOL, d, na.rm = TRUE), subset(d, !is.na(HI_CHOL)))
say("nhanes domains", svyby(~HI_CHOL, ~race + RIAGENDR, d, svymean, na.rm = TRUE), d)
say("nhanes proportions", svyby(~agecat, ~race, d, svymean), d)

nhanes2 <- load_file("nhanes2_nmihs", "nhanes2.csv.gz")
d <- svydesign(id = ~psuid, strata = ~stratid, weights = ~finalwgt, nest = TRUE, data = nhanes2)
say("nhanes2 domains", svyby(~zinc, ~region, d, svymean, na.rm = TRUE), d)
say("nhanes2 quantiles", svyquantile(~zinc, d, c(0.1, 0.5, 0.9), na.rm = TRUE), subset(d, !is.na(zinc)))
say("nhanes2 domain quantiles", svyby(~zinc, ~region, d, svyquantile, quantiles = 0.5, na.rm = TRUE), d)

nhanes2brr <- load_file("nhanes2_nmihs", "nhanes2brr.csv.gz")
d <- svrepdesign(weights = ~finalwgt, repweights = "brr_[0-9]+", type = "BRR", combined.weights = TRUE, data = nhanes2brr)
nhanes2brr$tall <- d$variables$tall <- ifelse(d$variables$height > 170, "tall", "other")
say("brr mean", svymean(~height, d), d)
say("brr total", svytotal(~weight, d), d)
say("brr ratio", svyratio(~weight, ~height, d), d)
say("brr domains", svyby(~weight, ~tall, d, svymean), d)
say("brr proportions", svymean(~tall, d), d)
say("brr quantiles", svyquantile(~height, d, c(0.25, 0.5)), d)
d <- svrepdesign(weights = ~finalwgt, repweights = "brr_[0-9]+", type = "BRR", combined.weights = TRUE,
                 data = nhanes2brr, mse = TRUE)
say("brr around the estimate", svyratio(~weight, ~height, d), d)
columns <- grep("brr_[0-9]+", names(nhanes2brr))
faycols <- 0.3 * nhanes2brr$finalwgt + 0.7 * nhanes2brr[, columns]
d <- svrepdesign(weights = ~finalwgt, repweights = faycols, type = "Fay", rho = 0.3, combined.weights = TRUE,
                 data = nhanes2brr)
say("fay ratio", svyratio(~weight, ~height, d), d)

nhanes2jk <- load_file("nhanes2_nmihs", "nhanes2jk.csv.gz")
d <- svrepdesign(weights = ~finalwgt, repweights = "jkw_[0-9]+", type = "JKn", rscales = rep(0.5, 62), scale = 1,
                 combined.weights = TRUE, data = nhanes2jk)
say("jkn ratio", svyratio(~weight, ~height, d), d)

nmihs <- load_file("nhanes2_nmihs", "nmihs.csv.gz")
d <- svrepdesign(weights = ~finalwgt, repweights = "bsrw[0-9]+", type = "bootstrap", combined.weights = TRUE, data = nmihs)
say("bootstrap mean", svymean(~birth_weight, d), d)

apisrs <- load_file("survey_r_package", "apisrs.csv.gz")[1:20, ]
left_out <- apisrs$pw * (1 - diag(20)) * 20 / 19
d <- svrepdesign(weights = ~pw, repweights = left_out, type = "JK1", scale = 19 / 20, combined.weights = TRUE, data = apisrs)
say("jk1 mean", svymean(~api00, d), d)

few <- rbind(apistrat[apistrat$stype == "E", ][1:10, ], apistrat[apistrat$stype == "H", ][1, ])
d <- svydesign(id = ~1, strata = ~stype, weights = ~pw, data = few)
for (rule in c("certainty", "adjust")) {
  options(survey.lonely.psu = rule)
  say(paste("one psu", rule, "mean"), svymean(~api00, d), d)
  say(paste("one psu", rule, "total"), svytotal(~api00, d), d)
}
