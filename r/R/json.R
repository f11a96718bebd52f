# A reader of JSON in base R, for the documents of a bundle: objects become named lists, arrays become lists, null
# becomes NULL. Text is cut into tokens once, so that long code lists are read in a moment.

read_json <- function(path) {
  text <- paste(readLines(path, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  token <- '"(?:[^"\\\\]|\\\\.)*"|[-+0-9.eE]+|[][{}:,]|true|false|null|NaN|-?Infinity'
  tokens <- regmatches(text, gregexpr(token, text, perl = TRUE))[[1]]
  at <- 0L

  value <- function() {
    at <<- at + 1L
    token <- tokens[[at]]
    first <- substr(token, 1, 1)
    if (first == "{") return(members())
    if (first == "[") return(elements())
    if (first == "\"") return(json_text(token))
    switch(token, true = TRUE, false = FALSE, null = NULL, "NaN" = NaN, "Infinity" = Inf, "-Infinity" = -Inf,
           as.numeric(token))
  }
  elements <- function() {
    held <- list()
    while (tokens[[at + 1L]] != "]") {
      # A null keeps its place: list[n] <- list(NULL), not list[[n]] <- NULL.
      held[length(held) + 1L] <- list(value())
      if (tokens[[at + 1L]] == ",") at <<- at + 1L
    }
    at <<- at + 1L
    held
  }
  members <- function() {
    held <- list()
    names <- character()
    while (tokens[[at + 1L]] != "}") {
      names[length(names) + 1L] <- json_text(tokens[[at + 1L]])
      at <<- at + 2L # the name and its colon
      held[length(names)] <- list(value())
      if (tokens[[at + 1L]] == ",") at <<- at + 1L
    }
    at <<- at + 1L
    names(held) <- names
    held
  }
  value()
}

# A quoted text as it is meant.
json_text <- function(token) {
  text <- substr(token, 2, nchar(token) - 1L)
  if (!grepl("\\", text, fixed = TRUE)) return(text)
  escapes <- regmatches(text, gregexpr("\\\\(u[0-9a-fA-F]{4}|.)", text, perl = TRUE))
  plain <- c(n = "\n", t = "\t", r = "\r", b = "\b", f = "\f")
  meant <- vapply(escapes[[1]], function(one) {
    sign <- substr(one, 2, 2)
    if (sign == "u") return(intToUtf8(strtoi(substr(one, 3, 6), 16L)))
    if (sign %in% names(plain)) plain[[sign]] else sign
  }, "")
  regmatches(text, gregexpr("\\\\(u[0-9a-fA-F]{4}|.)", text, perl = TRUE)) <- list(meant)
  text
}
