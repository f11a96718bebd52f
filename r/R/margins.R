# Sums, differences and ratios of published cells with their margins of error. Rows of totals, and of coarser levels,
# are left out: a total beside its own parts would count twice.

margins <- function(bundle, table, a, b = NULL) {
  if (!table %in% names(bundle$statistics)) {
    stop("table: there is no published table ", table, "; there are ", paste(names(bundle$statistics), collapse = ", "),
         call. = FALSE)
  }
  cells <- cells_of(bundle, table)
  if (!bundle$statistics[[table]] %in% c("count", "sum") || "measure" %in% names(cells)) {
    stop(table, ": holds a ", bundle$statistics[[table]], ", and those of several cells do not add up", call. = FALSE)
  }
  first <- add_cells(cells, a)
  if (is.null(b)) return(as_rows("a", first[["value"]], first[["margin"]]))
  second <- add_cells(cells, b)
  ratio <- first[["value"]] / second[["value"]]
  of_ratio <- sqrt(first[["margin"]]^2 + (ratio * second[["margin"]])^2) / abs(second[["value"]])
  as_rows(
    c("a", "b", "a - b", "a / b"),
    c(first[["value"]], second[["value"]], first[["value"]] - second[["value"]], ratio),
    c(first[["margin"]], second[["margin"]], sqrt(first[["margin"]]^2 + second[["margin"]]^2), of_ratio)
  )
}

# The finest cells of a table, without totals.
cells_of <- function(bundle, table) {
  cells <- bundle$tables[[table]]
  names <- names(cells)[seq_len(match("value", names(cells)) - 1L)]
  if ("level" %in% names && nrow(cells)) return(cells[cells$level == cells$level[nrow(cells)], , drop = FALSE])
  totals <- bundle$totals[[table]]
  keys <- names[!(endsWith(names, "_label") & sub("_label$", "", names) %in% names)]
  summed <- if (length(totals)) setdiff(keys, c(totals, "quantile", "measure")) else character()
  for (name in summed) cells <- cells[cells[[name]] != "Total", , drop = FALSE]
  cells
}

add_cells <- function(cells, where) {
  for (name in names(where)) {
    if (!name %in% names(cells)) stop(name, ": is no column of the table", call. = FALSE)
    if (!all(where[[name]] %in% cells[[name]])) stop(name, ": a code that you gave is not in the table", call. = FALSE)
    cells <- cells[cells[[name]] %in% where[[name]], , drop = FALSE]
  }
  c(value = sum(cells$value), margin = sqrt(sum(cells$margin_of_error^2)))
}

as_rows <- function(what, value, margin) {
  data.frame(what = what, value = value, margin = margin, lower = value - margin, upper = value + margin)
}
