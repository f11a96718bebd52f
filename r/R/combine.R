# One answer from several synthetic files. The rules are those of docs/using-a-release.md: with q the mean of the
# estimates, B their variance and U the mean of their variances, T = sign * (scale * U + N) + share * B.

combine <- function(files, analysis, rule = NULL, level = 0.95, size_ratio = 1, drawn_parameters = FALSE,
                    noise_variance = NULL) {
  if (inherits(files, "tacita_bundle")) {
    if (is.null(rule)) rule <- files$kind
    files <- files$files
  }
  rules <- c("partial", "full", "one-measurement", "fixed-measurement", "large-sample")
  if (is.null(rule) || !rule %in% rules) stop("rule: must be one of ", paste(rules, collapse = ", "), call. = FALSE)
  if (!(size_ratio > 0 && is.finite(size_ratio))) stop("size_ratio: must be above 0", call. = FALSE)
  if (rule == "fixed-measurement" && is.null(noise_variance)) {
    stop("noise_variance: this rule needs the variance that the noise causes in the estimate", call. = FALSE)
  }
  m <- length(files)
  if (m < (if (rule == "large-sample") 1 else 2)) {
    stop("files: this rule needs at least 2 synthetic files, and there is ", m, "; one file does not show how far the ",
         "protection moved it. Ask for more files, or, for a completely synthesized large sample without privacy noise, ",
         "use rule = \"large-sample\"", call. = FALSE)
  }
  answers <- lapply(files, function(file) as_answer(analysis(file)))
  estimates <- do.call(rbind, lapply(answers, `[[`, "estimate"))
  variances <- do.call(rbind, lapply(answers, `[[`, "variance"))
  if (!all(is.finite(estimates)) || !all(is.finite(variances)) || any(variances < 0)) {
    stop("analysis: gave a missing, infinite or negative number for one of the files", call. = FALSE)
  }
  analysis_df <- do.call(pmin, lapply(answers, `[[`, "df"))
  within <- colMeans(variances)
  between <- if (m > 1) apply(estimates, 2, var) else 0 * within
  sign <- if (rule == "full") -1 else 1
  scale <- if (rule == "large-sample") size_ratio + (1 + size_ratio * drawn_parameters) / m else 1
  share <- switch(rule, partial = 1 / m, "fixed-measurement" = 1 / m, "large-sample" = 0, 1 + 1 / m)
  fixed <- scale * within + (if (rule == "fixed-measurement") noise_variance else 0)
  total <- sign * fixed + share * between
  own <- ifelse(share * between > 0, max(m - 1, 1) * (1 + sign * fixed / (share * between))^2, Inf)
  df <- degrees(rule, own, fixed, total, analysis_df)
  if (rule == "full") total <- ifelse(total > 0, total, size_ratio * within)
  half <- qt(1 - (1 - level) / 2, df) * sqrt(total)
  value <- colMeans(estimates)
  made <- data.frame(estimate = value, standard_error = sqrt(total), df = df, lower = value - half, upper = value + half)
  rownames(made) <- if (is.null(names(answers[[1]]$estimate))) NULL else names(answers[[1]]$estimate)
  made
}

# The degrees of freedom, given those of the analysis of one file.
degrees <- function(rule, own, fixed, total, analysis_df) {
  if (rule == "full") return(pmin(ifelse(total > 0, pmax(own, 1), Inf), analysis_df))
  if (rule != "one-measurement") return(pmin(own, analysis_df))
  # Barnard and Rubin (1999), where the analysis of one file rests on few.
  known <- ifelse(total > 0, fixed / total, 1)
  observed <- known * analysis_df * (analysis_df + 1) / (analysis_df + 3)
  ifelse(is.finite(analysis_df) & known > 0, 1 / (1 / own + 1 / observed), own)
}

# What an analysis may return: c(estimate, variance), a list with estimate, variance and perhaps df, or a fitted model
# or survey statistic with coef() and vcov().
as_answer <- function(result) {
  if (is.numeric(result) && !is.object(result) && length(result) == 2) {
    return(list(estimate = unname(result[1]), variance = unname(result[2]), df = Inf))
  }
  if (is.list(result) && !is.object(result) && all(c("estimate", "variance") %in% names(result))) {
    df <- if (is.null(result$df)) Inf else result$df
    return(list(estimate = result$estimate, variance = result$variance, df = rep_len(df, length(result$estimate))))
  }
  if (!is.object(result)) {
    stop("analysis: must return c(estimate, variance), a list with estimate and variance, or a fitted model",
         call. = FALSE)
  }
  estimate <- coef(result)
  df <- if (inherits(result, "lm") && !inherits(result, "glm")) df.residual(result) else Inf
  list(estimate = estimate, variance = diag(as.matrix(vcov(result))), df = rep_len(df, length(estimate)))
}

# An analysis for combine(): the mean of a column, or the share of rows at one code, with the weight of the files.
mean_of <- function(bundle, column, code = NULL, weight = bundle$weight) {
  force(weight)
  function(file) {
    file <- file[!is.na(file[[column]]), , drop = FALSE]
    y <- if (is.null(code)) file[[column]] else as.numeric(file[[column]] == code)
    if (is.null(weight)) return(c(mean(y), var(y) / length(y)))
    w <- file[[weight]]
    mean <- sum(w * y) / sum(w)
    c(mean, sum((w * (y - mean))^2) / sum(w)^2 * length(y) / (length(y) - 1))
  }
}
