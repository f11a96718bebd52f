# The folder of a release as R objects. Which columns are codes, what the files are, and which weight they have is what
# the bundle's own documents say.

read_bundle <- function(path) {
  plan_file <- file.path(path, "plan.json")
  if (!file.exists(plan_file)) {
    stop(path, ": is not the folder of a release; name the folder that holds plan.json", call. = FALSE)
  }
  check_files(path)
  plan <- read_json(plan_file)
  resources <- read_json(file.path(path, "datapackage.json"))$resources
  kept <- lapply(resources, function(one) read_resource(path, one))
  paths <- vapply(resources, function(one) one$path, "")
  is_table <- startsWith(paths, "tables/")
  tables <- kept[is_table]
  names(tables) <- sub("\\.csv$", "", basename(paths[is_table]))
  files <- kept[!is_table]
  microdata <- if (length(plan$microdata)) plan$microdata[[1]] else NULL
  bundle <- list(
    title = plan$title,
    rehearsal = plan$rehearsal,
    guarantee = plan$guarantee$in_short,
    protects = plan$guarantee$protects,
    assumes = unlist(plan$guarantee$assumes),
    tables = tables,
    files = files,
    kind = microdata$kind,
    weight = weight_of(microdata, plan$schema, files),
    design = plan$schema$design,
    verdict = microdata$check$verdict,
    statistics = statistics_of(plan$tables),
    totals = stats_named(plan$tables, function(one) unlist(one$settings$totals))
  )
  if (isTRUE(plan$rehearsal)) warning(path, ": is a REHEARSAL, not a release: its noise can be drawn again")
  if (identical(bundle$verdict, "not fit for use")) {
    warning(path, ": its synthetic files failed their self-check and are not fit for use")
  }
  structure(bundle, class = "tacita_bundle")
}

print.tacita_bundle <- function(x, ...) {
  cat(x$title, if (isTRUE(x$rehearsal)) "(REHEARSAL)", "\n")
  cat("guarantee:", x$guarantee, "\n")
  for (name in names(x$tables)) cat("table ", name, ": ", nrow(x$tables[[name]]), " rows\n", sep = "")
  if (length(x$files)) {
    cat(length(x$files), "synthetic file(s) of kind", x$kind)
    if (!is.null(x$weight)) cat(", weight", x$weight)
    cat("\n")
  }
  invisible(x)
}

# Every file that the manifest lists is there and has its size; where R can compute them (4.5 and later), its hash too.
check_files <- function(path) {
  listed <- read_json(file.path(path, "manifest.json"))$files
  for (name in names(listed)) {
    whole <- file.path(path, name)
    if (!identical(as.numeric(file.size(whole)), listed[[name]]$size)) {
      stop(name, ": is missing or was changed after it was written; get the bundle again", call. = FALSE)
    }
  }
  hash <- get0("sha256sum", envir = asNamespace("tools"), inherits = FALSE)
  if (is.null(hash)) return(invisible())
  found <- hash(file.path(path, names(listed)))
  changed <- names(listed)[found != vapply(listed, function(one) one$sha256, "")]
  if (length(changed)) stop(changed[[1]], ": was changed after it was written; get the bundle again", call. = FALSE)
}

read_resource <- function(path, resource) {
  fields <- resource$schema$fields
  types <- c(string = "character", integer = "numeric", number = "numeric", date = "Date")
  classes <- types[vapply(fields, function(one) one$type, "")]
  names(classes) <- vapply(fields, function(one) one$name, "")
  frame <- read.csv(file.path(path, resource$path), colClasses = classes, check.names = FALSE, na.strings = "",
                    encoding = "UTF-8")
  texts <- vapply(frame, is.character, NA)
  frame[texts] <- lapply(frame[texts], as_it_was)
  frame
}

# CSV files have an apostrophe before texts that a spreadsheet would run as a formula.
as_it_was <- function(text) sub("^'([-=+@\t\r])", "\\1", text)

weight_of <- function(microdata, schema, files) {
  if (!length(files)) return(NULL)
  roles <- vapply(schema$variables, function(one) one$role, "")
  named <- c(microdata$mechanism$weight, names(roles)[roles == "weight"])
  held <- named[named %in% names(files[[1]])]
  if (length(held)) held[[1]] else NULL
}

statistics_of <- function(tables) {
  unlist(stats_named(tables, function(one) {
    if (is.null(one$settings$statistic)) "count" else one$settings$statistic
  }))
}

stats_named <- function(tables, of) {
  held <- lapply(tables, of)
  names(held) <- vapply(tables, function(one) one$name, "")
  held
}
