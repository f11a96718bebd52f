"""The combining rules as text to copy: for the public page and for docs/using-a-release.md.

The R text is run in a test and gives the same numbers as `tacita.inference`; the Stata text follows it line by line.
"""

from __future__ import annotations

PYTHON = """\
import tacita as tc

schema = tc.Schema.load("release.schema.toml")
files = tc.Implicates.read("microdata", schema)  # knows how the files were made, so it knows the rule

mean_pay = tc.combine(files, lambda file: (file["pay"].mean(), file["pay"].var() / len(file)))
print(mean_pay.value, mean_pay.standard_error, mean_pay.interval(0.95))
"""

R = """\
# q: one estimate per synthetic file; u: its variance in that file
# rule: "partial", "full" or "one-measurement", as the release says
# size_ratio (full only): rows of a synthetic file / rows of the original file
combine_synthetic <- function(q, u, rule, level = 0.95, size_ratio = 1) {
  m <- length(q)
  stopifnot(m >= 2, length(u) == m, rule %in% c("partial", "full", "one-measurement"))
  b <- var(q)
  within <- mean(u)
  share <- if (rule == "partial") 1 / m else 1 + 1 / m
  sign <- if (rule == "full") -1 else 1
  total <- sign * within + share * b
  df <- if (b > 0) (m - 1) * (1 + sign * within / (share * b))^2 else Inf
  if (rule == "full") {
    if (total <= 0) { total <- size_ratio * within; df <- Inf }
    df <- max(df, 1)
  }
  half <- qt(1 - (1 - level) / 2, df) * sqrt(total)
  c(estimate = mean(q), variance = total, df = df, lower = mean(q) - half, upper = mean(q) + half)
}
"""

R_EXAMPLE = """\
files <- lapply(1:5, function(l) read.csv(sprintf("microdata/implicate-%02d.csv", l)))
fits <- lapply(files, function(file) lm(pay ~ age, data = file))
combine_synthetic(q = sapply(fits, function(fit) coef(fit)["age"]),
                  u = sapply(fits, function(fit) vcov(fit)["age", "age"]),
                  rule = "partial")
"""

STATA = """\
* q, u: 1 x m matrices of the estimates and of their variances, one column per synthetic file
* rule: partial, full or one-measurement, as the release says
* ratio (full only): rows of a synthetic file / rows of the original file
program define combine_synthetic, rclass
    syntax anything, rule(string) [level(real 95) ratio(real 1)]
    tokenize `anything'
    tempname q u
    matrix `q' = `1'
    matrix `u' = `2'
    local m = colsof(`q')
    if `m' < 2 {
        display as error "at least two synthetic files are needed"
        exit 198
    }
    local mean = 0
    local within = 0
    forvalues l = 1/`m' {
        local mean = `mean' + `q'[1, `l'] / `m'
        local within = `within' + `u'[1, `l'] / `m'
    }
    local b = 0
    forvalues l = 1/`m' {
        local b = `b' + (`q'[1, `l'] - `mean')^2 / (`m' - 1)
    }
    local share = cond("`rule'" == "partial", 1 / `m', 1 + 1 / `m')
    local sign = cond("`rule'" == "full", -1, 1)
    local total = `sign' * `within' + `share' * `b'
    local normal = (`b' == 0)
    local df = 1
    if !`normal' {
        local df = (`m' - 1) * (1 + `sign' * `within' / (`share' * `b'))^2
    }
    if "`rule'" == "full" {
        if `total' <= 0 {
            local total = `ratio' * `within'
            local normal = 1
        }
        local df = max(`df', 1)
    }
    local tail = (1 - `level' / 100) / 2
    local half = cond(`normal', invnormal(1 - `tail'), invttail(`df', `tail')) * sqrt(`total')
    return scalar estimate = `mean'
    return scalar variance = `total'
    return scalar df = cond(`normal', ., `df')
    return scalar lower = `mean' - `half'
    return scalar upper = `mean' + `half'
    display as text "estimate " as result `mean' as text "  s.e. " as result sqrt(`total') ///
        as text "  interval " as result `mean' - `half' as text " to " as result `mean' + `half'
end
"""

STATA_EXAMPLE = """\
matrix q = J(1, 5, .)
matrix u = J(1, 5, .)
forvalues l = 1/5 {
    import delimited "microdata/implicate-0`l'.csv", clear
    regress pay age
    matrix q[1, `l'] = _b[age]
    matrix u[1, `l'] = _se[age]^2
}
combine_synthetic q u, rule(partial)
"""
