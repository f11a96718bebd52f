/* Figures as a reader wants them: a table by size of cell, and the one margin that a wish is about. */

/* Made once: toLocaleString makes a format of its own at each call, which took most of the time of a move. */
const grouped = new Intl.NumberFormat("en-GB"), fine = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 10 });
const whole = (n) => grouped.format(n);

const few = (value, digits = 3) => {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 10 ** digits || Number.isInteger(value)) return whole(Math.round(value));
  return size < 1e-7 ? value.toExponential(1) : fine.format(Number(value.toPrecision(digits)));
};
const percent = (share) => `${few(100 * share, 2)}%`;
const sure = (model) => percent(double(exact(model.confidence)));

/* For a product and its figures: heads and rows of its table, `margin` of a cell of n, and whether that is in the same
   units as n, so that a wish may be in percent of the cell. `share` is what the largest establishment has of its cell. */
function reading(product, figures, alpha, share) {
  const { model } = product, size = alpha ? double(alpha) : 0;
  if (model.form === "count") {
    return {
      heads: ["Cell of", `Margin (${sure(model)})`, "Of the cell", "Half of all errors below"],
      row: (n) => [whole(n), `± ${few(figures.margin)}`, percent(figures.margin / n), few(figures.median_error)],
      margin: () => figures.margin, relative: true, unit: "records",
    };
  }
  if (model.form === "share") {
    const margin = (n) => figures.margin_points_at_100 * 100 / n;
    return {
      heads: ["Cell of", `Margin of a share of one in four (${sure(model)})`],
      row: (n) => [whole(n), `± ${few(margin(n))} points`], margin, unit: "points",
    };
  }
  if (model.form === "sums" && model.margin === "at") {
    const margin = (n) => figures.margin_at_100 * 100 / n;
    return {
      heads: ["Cell of", `Margin (${sure(model)})`, "Half of all errors below"],
      row: (n) => [whole(n), `± ${few(margin(n))}`, few(figures.median_error_at_100 * 100 / n)],
      margin, unit: "units of the column",
    };
  }
  if (model.form === "sums" && model.margin === "in_clamps" && model.statistic === "mean") {
    const margin = (n) => figures.margin_in_clamps / n;
    return {
      heads: ["Cell of", `Margin (${sure(model)})`, "Half of all errors below"],
      row: (n) => [whole(n), `± ${few(margin(n))} × limit`, `${few(figures.median_error_in_clamps / n)} × limit`],
      margin, unit: "times the limit",
      note: "The limit at which numbers are clamped is bought with a quarter of the budget.",
    };
  }
  if (model.form === "sums") {
    const clamped = model.margin === "in_clamps", tail = clamped ? "_in_clamps" : "", by = clamped ? " × limit" : "";
    return {
      heads: ["Cells", `Margin (${sure(model)})`, "Half of all errors below"],
      all: ["every cell", `± ${few(figures[`margin${tail}`])}${by}`, few(figures[`median_error${tail}`]) + by],
      margin: () => figures[`margin${tail}`], unit: clamped ? "times the limit" : "units of the column",
      note: clamped ? "The limit at which numbers are clamped is bought with a quarter of the budget." : "",
    };
  }
  if (model.form === "levels") {
    const names = Object.keys(figures).filter((name) => name.startsWith("margin, ")).map((name) => name.slice(8));
    const worst = Math.max(...names.map((name) => figures[`margin, ${name}`]));
    return {
      heads: ["Level", `Margin (${sure(model)})`, "Half of all errors below"],
      list: names.map((name) => [name, `± ${few(figures[`margin, ${name}`])}`, few(figures[`median_error, ${name}`])]),
      margin: () => worst, relative: model.statistic === "count", unit: "units",
      note: "After the levels agree. A wish is about the level with the widest margin.",
    };
  }
  if (model.form === "ratio") {
    return {
      heads: ["Cells", `Numerator (${sure(model)})`, `Denominator (${sure(model)})`],
      all: ["every cell", `± ${few(figures.margin_in_clamps)} × limit`, `± ${few(figures.margin_in_clamps_below)} × limit`],
      note: "The limits at which one record’s share in either is clamped are bought; the margin of a ratio follows from both.",
    };
  }
  if (model.form === "quantiles") {
    const worst = Math.max(...Object.values(figures));
    const ends = model.shares.length > 1 ? `${model.shares.length} quantiles, the least certain` : "Ranks below and above";
    return {
      heads: ["Cell of", `${ends} (${sure(model)})`, "Of the cell"],
      row: (n) => [whole(n), `± ${few(worst)} ranks`, percent(worst / n)],
      margin: () => worst, relative: true, unit: "ranks",
    };
  }
  if (model.form === "jobs") {
    return {
      heads: ["Cell of", "Nine in ten errors at most", "Of the cell", "Typical error"],
      row: (n) => [whole(n), `± ${few(figures.margin_90)} jobs`, percent(figures.margin_90 / n), few(figures.typical_error)],
      margin: () => figures.margin_90, relative: true, unit: "jobs",
    };
  }
  if (model.form === "log") {
    const margin = (n) => figures.typical_relative_error * (n + 1 / size);
    return {
      heads: ["Cell of", "Typical error", "Of the cell"],
      row: (n) => [whole(n), `± ${few(margin(n))} jobs`, percent(margin(n) / n)], margin, relative: true, unit: "jobs",
    };
  }
  if ("margin_90_in_S" in figures) {
    const scale = (n) => Math.max(size * share * n, figures.floor);
    const margin = (n) => figures.margin_90_in_S * scale(n);
    return {
      heads: ["Cell of (its largest)", "Nine in ten errors at most", "Of the cell", "Typical error"],
      row: (n) => [
        `${whole(n)} (${few(share * n)})`,
        `± ${few(margin(n))} jobs`, percent(margin(n) / n), few(figures.typical_error_in_S * scale(n)),
      ],
      margin, relative: true, unit: "jobs",
    };
  }
  if ("margin_95_of_largest" in figures) {
    const margin = (n) => figures.margin_95_of_largest * share * n;
    return {
      heads: ["Sum of (its largest)", "Nineteen in twenty errors at most", "Of the sum", "Typical error"],
      row: (n) => [
        `${whole(n)} (${few(share * n)})`,
        `± ${few(margin(n))}`, percent(margin(n) / n), few(figures.typical_error_of_largest * share * n),
      ],
      margin, relative: true, unit: "units",
    };
  }
  const listed = Object.entries(figures).map(([name, value]) => [name, few(value)]);
  return { heads: ["Expected", ""], list: listed };
}

/* A wish such as "±5% for cells over 500", "5% at 500" or "200". */
function wish(words) {
  const numbers = words.replace(/(\d),(?=\d{3}\b)/g, "$1");
  const [, amount, sign, size] = /(\d+(?:\.\d+)?)\s*(%?)(?:\D+(\d+))?/.exec(numbers) || [];
  return Number(amount) > 0 && { amount: Number(amount), isPercent: sign === "%", size: size ? Number(size) : null };
}

/* The price of a wish: an exact ε, or words that say why there is none. */
function priced(product, words, at) {
  const asked = wish(words), here = reading(product, at.figures, at.alpha, at.share);
  if (!asked) return "Write a margin, such as 5% at 500, or 200.";
  if (asked.isPercent && !here.relative && here.unit !== "points") return `Write it in ${here.unit}: a percentage is for counts.`;
  if (asked.isPercent && here.relative && !asked.size) return "Say for cells of how many: 5% at 500.";
  const wanted = asked.isPercent && here.relative ? asked.amount / 100 * asked.size : asked.amount;
  if (here.row && !asked.size && here.row(1)[1] !== here.row(1000)[1]) return `Say for cells of how many: ${asked.amount} at 500.`;
  const found = epsilonFor((epsilon) => {
    const figures = forecast(product, epsilon, at.delta, at.alpha);
    const shown = figures && reading(product, figures, at.alpha, at.share).margin(asked.size || 1) * (product.model.rounded || 1);
    return figures && shown <= wanted;
  });
  return found || "No price in reach gives so narrow a margin; ask for a wider one.";
}
