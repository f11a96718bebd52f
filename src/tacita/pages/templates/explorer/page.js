/* What moves: prices of products, the cap, α and what was spent. Everything shown follows from `state`. */

const one = (id) => document.getElementById(id);
const put = (id, words) => { const node = one(id); if (node && node.textContent !== words) node.textContent = words; };
const made = (tag, words, kind) => {
  const node = document.createElement(tag);
  if (words !== undefined) node.textContent = words;
  if (kind) node.className = kind;
  return node;
};

const state = {
  epsilon: MODEL.products.map((product) => exact(product.epsilon)),
  delta: MODEL.products.map((product) => exact(product.delta)),
  alpha: MODEL.cap.alpha && exact(MODEL.cap.alpha),
  cap: exact(MODEL.cap.epsilon), capDelta: exact(MODEL.cap.delta), spent: ZERO, years: 1,
  perYear: MODEL.cap.per_year && exact(MODEL.cap.per_year), until: MODEL.cap.until,
  sizes: [10, 100, 1000, 10000], share: 1, keep: false,
};
const start = { ...state, epsilon: [...state.epsilon], delta: [...state.delta] };

/* ---------------------------------------------------------------- costs */

const charge = (at) => {
  const { costs, fixed } = MODEL.products[at];
  return costs ? times(state.epsilon[at], exact(costs)) : exact(fixed[0]);
};
const deltaCharge = (at) => MODEL.products[at].costs ? state.delta[at] : exact(MODEL.products[at].fixed[1]);
/* Two products that ask for the very same thing are drawn and paid for once. */
const paid = () => MODEL.products.map((_, at) => at).filter((at, _, all) => !all.some((other) => other < at
  && MODEL.products[other].drawn === MODEL.products[at].drawn
  && equal(state.epsilon[other], state.epsilon[at]) && equal(state.delta[other], state.delta[at])));
const total = () => paid().reduce((sum, at) => plus(sum, charge(at)), ZERO);
const totalDelta = () => paid().reduce((sum, at) => plus(sum, deltaCharge(at)), ZERO);

const movable = () => MODEL.products.map((_, at) => at).filter((at) => MODEL.products[at].costs);

/* Prices in proportion, each rounded down to three digits, so that together they stay within what they may cost. */
function scaled(members, factor) {
  for (const at of members) {
    const moved = rounded(double(state.epsilon[at]) * factor, 3, true);
    if (moved.above) state.epsilon[at] = moved;
  }
}

/* What cannot be moved keeps its price, and the others share the rest. */
function setTotal(wanted) {
  const fixed = paid().filter((at) => !MODEL.products[at].costs).reduce((sum, at) => sum + double(charge(at)), 0);
  const free = double(total()) - fixed;
  if (free > 0 && wanted > fixed) scaled(movable(), (wanted - fixed) / free);
}

function setPrice(at, epsilon) {
  const others = movable().filter((other) => other !== at);
  const rest = double(total()) - double(charge(at));
  const left = double(total()) - double(times(epsilon, exact(MODEL.products[at].costs)));
  if (state.keep && others.length && left > 0 && rest > 0) scaled(others, left / rest);
  else if (state.keep && others.length) return;
  state.epsilon[at] = epsilon;
}

/* ---------------------------------------------------------------- words */

const belief = (before, epsilon) => 1 / (1 + (1 - before) / before * Math.exp(-epsilon));
function likely(share) {
  if (share < 0.001) return "less than 0.1%";
  if (share > 0.999) return "more than 99.9%";
  return share >= 0.0995 && share <= 0.99 ? `${(100 * share).toFixed(0)}%` : `${(100 * share).toFixed(1)}%`;
}
/* As words.odds_example has it. */
function afterwards(epsilon) {
  const after = 100 * belief(0.5, epsilon);
  if (after >= 99.99) return "may be all but certain of it afterwards";
  return `may hold it at most ${after < 99 ? after.toFixed(0) : Number(after.toPrecision(4))}% likely afterwards`;
}
const short = (a) => /^[^/]{1,9}$/.test(text(a)) ? text(a) : few(double(a), 4);
const tiny = (a) => double(a) < 1e-3 ? Number(double(a).toPrecision(3)).toExponential().replace("-", "−") : few(double(a), 3);
const lossWords = (epsilon, delta) => `ε = ${short(epsilon)}${delta.above ? `, δ = ${tiny(delta)}` : ""}`;

function lasts(cost, delta) {
  const free = minus(state.cap, state.spent);
  if (!cost.above) return null;
  let count = atMost(cost, free) ? Number(over(free, cost).above / over(free, cost).below) : 0;
  if (delta.above) count = Math.min(count, Number(over(state.capDelta, delta).above / over(state.capDelta, delta).below));
  return Math.max(0, count);
}

/* ---------------------------------------------------------------- drawing */

/* Asked once for each drawing: in between it would make the browser lay out what was drawn so far. */
let active = null;

function drawRelease(cost) {
  const delta = totalDelta(), count = lasts(cost, delta), free = minus(state.cap, state.spent);
  const left = minus(free, cost), fits = atMost(cost, free) && atMost(delta, state.capDelta);
  const certain = belief(0.5, double(cost)), exceptFor = delta.above ? `, except with probability ${tiny(delta)}` : "";
  put("sum-cost", lossWords(cost, delta));
  put("sum-guess", MODEL.holds === "never" ? "no bound" : `50% → ${certain > 0.999 ? "> 99.9%" : likely(certain)}`);
  put("sum-left", fits ? `${short(left)} of ${short(state.cap)}` : "does not fit");
  put("sum-lasts", count === null ? "–" : count === 1 ? "1 release" : `${whole(count)} releases`);
  one("summary").classList.toggle("over", !fits);
  let verdict = `It fits: ${short(left)} of the cap is left after this release.`;
  if (!atMost(cost, free)) verdict = `It does not fit: ${short(cost)} is asked for and ${short(free.above < 0n ? ZERO : free)} is left of the cap.`;
  else if (!fits) verdict = `It does not fit: δ = ${tiny(delta)} is asked for and the cap allows ${state.capDelta.above ? tiny(state.capDelta) : 0}.`;
  put("verdict", verdict); // the one thing that is read aloud at every move; sliders say their own
  put("guess", guessWords(cost, exceptFor));
  one("beliefs").hidden = MODEL.holds !== "always" || Boolean(delta.above);
  for (const before of [1, 10, 50, 90]) {
    const odds = double(cost);
    put(`belief-${before}`, `${likely(belief(before / 100, -odds))} to ${likely(belief(before / 100, odds))}`);
  }
  drawYears(cost, count, free);
  const slider = one("total"), shown = Math.round(100 * Math.log10(Math.max(double(cost), 1e-3)));
  if (active !== slider) slider.value = shown;
  slider.setAttribute("aria-valuetext", `ε = ${short(cost)}`);
  if (active !== one("total-text")) one("total-text").value = text(cost);
}

function guessWords(cost, exceptFor) {
  if (MODEL.holds === "never") return "Nothing bounds what this release shows.";
  const who = `omeone who gives a guess even odds (50%) before seeing the release ${afterwards(double(cost))}${exceptFor}.`;
  return MODEL.holds === "always" ? `S${who}` : `If the bound held for this file: s${who}`;
}

function drawPromise(delta) {
  const words = MODEL.promises[state.alpha ? text(state.alpha) : ""], list = one("left-open");
  put("promise", `${MODEL.kinds[delta.above ? 1 : 0]}: ${words.relation}. Protected: ${words.protects}.`);
  if (list.textContent === words.left_open.join("")) return;
  list.textContent = "";
  list.append(...words.left_open.map((sentence) => made("li", sentence)));
}

/* What one year may take inside the cap. The ledger refuses an allowance that the cap cannot keep up: so does the page. */
function allowanceWords(cost, free) {
  const { perYear, until } = state;
  if (!perYear && !until) return "";
  if (!perYear || !until) return "An allowance takes both: what one year may cost, and the last year it is planned for.";
  const rest = minus(perYear, cost), years = BigInt(Math.max(1, until - new Date().getUTCFullYear() + 1));
  const stated = `With ε = ${text(perYear)} a year until ${until}`, needed = times(perYear, { above: years, below: 1n });
  if (MODEL.cap.account !== "rho" && !atMost(needed, free)) {
    return `${stated}: ${years} year${years > 1n ? "s" : ""} may take ε = ${text(needed)} and ${short(free.above < 0n ? ZERO : free)} is left of the cap, so it would be refused.`;
  }
  if (rest.above < 0n) return `${stated}: this release costs more, and would be refused.`;
  return `${stated}: ε = ${text(rest)} of this year would be left.`;
}

function drawYears(cost, count, free) {
  const bar = one("years-bar");
  bar.textContent = "";
  const all = double(state.cap), part = (share, kind, words) => {
    const block = made("i", undefined, kind);
    block.style.width = `${Math.max(0, Math.min(100, 100 * share))}%`;
    block.title = words;
    bar.append(block);
  };
  if (state.spent.above) part(double(state.spent) / all, "spent", "spent already");
  for (let year = 0; year < Math.min(count || 0, 60); year += 1) part(double(cost) / all, year ? "later" : "this", `release ${year + 1}`);
  let words = "Nothing is spent, so the cap lasts.";
  if (count === 0) words = "Not even one release at this price fits what is left of the cap.";
  else if (count !== null) words = `At this price the cap is enough for ${whole(count)} release${count === 1 ? "" : "s"}: this one and ${whole(count - 1)} later.`;
  put("years-words", `${words} ${allowanceWords(cost, free)}`.trim());
  const yearly = state.years > 0 && free.above > 0n ? over(free, { above: BigInt(state.years), below: 1n }) : ZERO;
  put("years-allowance", state.years > 1
    ? `To last for ${state.years} releases alike, each may cost ε = ${text(rounded(double(yearly), 3, true))}.` : "Write a number above 1 to see what each may cost.");
  one("years-apply").hidden = !(state.years > 1 && yearly.above);
}

function drawProduct(at, all) {
  const product = MODEL.products[at], epsilon = state.epsilon[at], cost = charge(at), open = one(`product-${at}`).open;
  const share = all ? double(cost) / all : 0;
  put(`share-${at}`, cost.above ? percent(share) : "");
  put(`price-${at}`, product.costs ? `ε = ${short(epsilon)}` : cost.above ? `ε = ${short(cost)}, fixed` : "no guarantee");
  one(`bar-${at}`).style.width = `${100 * share}%`;
  put(`alone-${at}`, product.costs ? `Alone it takes a guess from 50% to ${likely(belief(0.5, double(cost)))} at the most.` : "");
  const slider = one(`epsilon-${at}`), field = one(`epsilon-text-${at}`);
  if (slider) {
    if (active !== slider) slider.value = Math.round(100 * Math.log10(double(epsilon)));
    if (active !== field) field.value = text(epsilon);
  }
  const headline = (words) => {
    put(`head-${at}`, words);
    if (slider) slider.setAttribute("aria-valuetext", `ε = ${short(epsilon)}, ${words}`);
  };
  /* Figures that would come out as they stand are left alone: a move of one price then draws one table. */
  const shown = one(`figures-${at}`);
  const asked = [text(epsilon), text(state.delta[at]), state.alpha && text(state.alpha), state.share, state.sizes, open].join("|");
  if (shown.asked === asked) return;
  shown.asked = asked;
  shown.textContent = "";
  const figures = forecast(product, epsilon, state.delta[at], state.alpha);
  if (!figures) {
    shown.append(made("p", missingWords(product), "note"));
    headline("no forecast here");
    return;
  }
  const read = reading(product, figures, state.alpha, state.share);
  if (open) {
    shown.append(tableOf(read));
    if (read.note) shown.append(made("p", read.note, "note"));
    shown.append(...grown(product, epsilon));
  }
  const size = state.sizes[Math.min(2, state.sizes.length - 1)];
  const [first] = read.list || [];
  headline(read.row ? `${read.row(size)[1]} at ${whole(size)}` : read.all ? read.all[1] : first ? `${first[0]}: ${first[1]}` : "");
}

function missingWords(product) {
  const { model } = product;
  if (model.form === "grid" && state.alpha && !model.points[text(state.alpha)]) {
    return `Computed for α = ${Object.keys(model.points).join(", ")} only. Copy the specification and run tacita plan.`;
  }
  if (model.form === "grid") return `Computed from ε = ${model.epsilon[0]} to ${model.epsilon.at(-1)}, where the mechanism exists.`;
  return `${product.mechanism} does not exist, or its noise exceeds any count, at this price. Raise ε${state.alpha ? ", or lower α" : ""}.`;
}

/* What is no formula says so, and lends its words from the nearest computed price. */
function grown(product, epsilon) {
  const { model } = product, notes = [];
  if (model.form === "staircase") notes.push(made("p", "Looked up in a table of ε and α, and interpolated between its points.", "note"));
  if (model.form !== "grid" && model.form !== "fixed") return notes;
  let said = model.form === "fixed" ? model.figures.said : [], words = "";
  if (model.form === "grid") {
    const points = model.points[state.alpha ? text(state.alpha) : ""], wanted = Math.log(double(epsilon));
    const near = points.map((point, at) => [point, Math.abs(Math.log(double(exact(model.epsilon[at]))) - wanted), model.epsilon[at]])
      .filter(([point]) => point).sort((a, b) => a[1] - b[1])[0];
    words = `Computed at ${model.epsilon.length} prices and interpolated between them. At ε = ${near[2]}, the nearest of them, tacita plan says:`;
    said = near[0].said;
  }
  if (words) notes.push(made("p", words, "note"));
  const list = made("ul", undefined, "note");
  list.append(...said.map((sentence) => made("li", sentence)));
  return [...notes, list];
}

function tableOf(read) {
  const table = made("table"), head = made("tr"), body = made("tbody"), top = made("thead");
  read.heads.forEach((words, at) => {
    const cell = made("th", words, at ? "number" : "");
    cell.scope = "col";
    head.append(cell);
  });
  top.append(head);
  const rows = read.list || (read.row ? state.sizes.map(read.row) : [read.all]);
  for (const cells of rows) {
    const row = made("tr");
    cells.forEach((words, at) => {
      const cell = made(at ? "td" : "th", words, at ? "number" : "");
      if (!at) cell.scope = "row";
      row.append(cell);
    });
    body.append(row);
  }
  table.append(top, body);
  return table;
}
