/* The figures of `plan.forecast`, under the same names, for a product at any price. `at` has ε and δ of one row as doubles,
   and α; null says that the mechanism does not exist there. */

const SIZES = [100, 1000, 10000];
const bySize = (stem, value) => Object.fromEntries(SIZES.map((n) => [`${stem}_at_${n}`, value / n]));

const FORMS = {
  count(model, at) {
    const law = noiseFor(at, model.budget, model.reach, model.reach);
    if (!law) return null;
    return {
      margin: law.margin(double(exact(model.confidence))),
      median_error: law.margin(0.5),
    };
  },
  share(model, at) {
    const law = noiseFor(at, model.budget, model.reach, model.reach);
    if (!law) return null;
    const others = Array(model.levels - 1).fill([law.variance * 0.25 ** 2, law.kurtosis]);
    const quarter = (one) => 100 * combinedMargin(one, [[law.variance * 0.75 ** 2, law.kurtosis], ...others]);
    const equal = Array(model.levels - 1).fill([law.variance / model.levels ** 2, law.kurtosis]);
    const small = () => law.margin(0.5 ** (1 / model.levels)) ? 100 * combinedMargin("0.5", equal) : 0;
    const rough = law.margin(0.5) ? 0 : 75 / 2;
    const wide = quarter(model.prudent) + rough, half = rough ? small() : quarter("0.5");
    return { ...bySize("margin_points", wide), ...bySize("median_error_points", half) };
  },
  sums(model, at) {
    const noise = inClamps(model, at, model.part, model.square);
    if (!noise) return null;
    const [wide, half] = [model.prudent, "0.5"].map((one) => combinedMargin(one, Array(model.noises).fill(noise)) * model.times);
    if (model.margin === "at") return { ...bySize("margin", wide), ...bySize("median_error", half) };
    const tail = model.margin && `_${model.margin}`;
    return { [`margin${tail}`]: wide, [`median_error${tail}`]: half };
  },
  levels(model, at) {
    const told = at.delta ? model.concentrated : model.pure;
    if (!inClamps(model, at, told.least)) return null;
    const known = inClamps(model, { epsilon: 1, delta: told.delta }, 1), factor = Math.sqrt(inClamps(model, at, 1)[0] / known[0]);
    return Object.fromEntries(Object.entries(told.figures).map(([name, value]) => [name, value * factor]));
  },
  ratio(model, at) {
    const noises = model.parts.map(([part, square]) => inClamps(model, at, part, square));
    if (!noises.every(Boolean)) return null;
    const [wide, half] = [model.prudent, "0.5"].map((one) => noises.map((noise) => combinedMargin(one, [noise])));
    return {
      margin_in_clamps: wide[0], margin_in_clamps_below: wide[1],
      median_error_in_clamps: half[0], median_error_in_clamps_below: half[1],
    };
  },
  quantiles(model, at) {
    const pure = pureFor(at, (model.budget * model.drawn) / model.shares.length);
    if (!pure) return null;
    const ranks = ([share, most]) => {
      const stray = (model.records * 2 * most) / pure;
      const { fewest, most: above, further, size } = model.heaps;
      const inside = Math.min(Math.max(size / stray, fewest), above);
      const out = Math.min(Math.log(inside / fewest), Math.log(above / inside), further);
      const ends = Math.ceil((model.ends + out) * stray);
      return [
        [`ranks_${share}`, ends],
        [`median_error_ranks_${share}`, Math.hypot(model.middle * stray, model.between * Math.sqrt(ends))],
      ];
    };
    return Object.fromEntries(model.shares.flatMap(ranks));
  },
  jobs(model, at) {
    const law = laplace(model.reach / at.epsilon);
    return law && { typical_error: law.meanAbs, margin_90: law.margin(0.9) };
  },
  log(model, at) {
    const lambda = (model.paper ? 2 : 1) * Math.log1p(at.alpha) / (at.epsilon / model.cells);
    if (lambda >= 1) return null;
    const factor = model.paper ? 1 : 1 - lambda ** 2;
    const above = 0.5 * factor ** (1 / lambda) * lambda / (1 - lambda);
    return { typical_relative_error: 2 * above - (factor / (1 - lambda ** 2) - 1) };
  },
  staircase(model, at) {
    const { known } = model;
    if (double(exact(known.epsilon)) === at.epsilon && double(exact(known.alpha)) === at.alpha) return known.figures;
    const found = staircaseAt(at.epsilon * model.share / model.cells, at.alpha);
    if (found && "margin_95_of_largest" in known.figures) {
      return { typical_error_of_largest: at.alpha * found[0], margin_95_of_largest: at.alpha * found[2] };
    }
    return found && { typical_error_in_S: found[0], margin_90_in_S: found[1], floor: 1 + at.alpha };
  },
  grid(model, at) {
    const points = model.points[at.alpha === null ? "" : at.alphaText];
    if (!points) return null;
    const here = between(model.epsilon.map((one) => double(exact(one))), points, at.stated);
    if (!here) return null;
    const [low, high, place] = here;
    const mixed = (name) => interpolated(low.figures[name], high.figures[name] ?? low.figures[name], place);
    return Object.fromEntries(Object.keys(low.figures).map((name) => [name, mixed(name)]));
  },
  fixed: (model) => model.figures.figures,
};

function inClamps(model, at, part, square = model.records) {
  const law = noiseFor(at, part * model.budget, FINEST * model.records, FINEST * FINEST * square);
  return law && [law.variance / FINEST ** 2, law.kurtosis];
}

/* The neighbours of a value on a rising grid and how far it lies between them, on the scale of logarithms. */
function between(grid, points, value) {
  const above = grid.findIndex((one) => one >= value * (1 - 1e-12));
  if (above < 0) return null;
  if (Math.abs(grid[above] - value) <= 1e-12 * value) return points[above] && [points[above], points[above], 0];
  if (!above || !points[above] || !points[above - 1]) return null;
  return [points[above - 1], points[above], Math.log(value / grid[above - 1]) / Math.log(grid[above] / grid[above - 1])];
}

const interpolated = (low, high, place) => low > 0 && high > 0 && place
  ? low * (high / low) ** place : low + (high - low) * place;

function staircaseAt(epsilon, alpha) {
  const { epsilon: grid, figures } = MODEL.staircase, names = Object.keys(figures);
  if (epsilon < Math.max(0.04, Math.ceil(2000 * Math.log1p(alpha) + 1) / 1000)) return null;
  const line = (name) => {
    const here = between(grid.map(Number), figures[name], Math.min(epsilon, Number(grid[grid.length - 1])));
    return here && here[0].map((low, at) => interpolated(low, here[1][at], here[2]));
  };
  const here = between(names.map(Number), names.map(line), alpha);
  return here && here[0].map((low, at) => interpolated(low, here[1][at], here[2]));
}

/* ε and δ of one row, where a unit has several: tacita.privacy.Loss.per_row. */
function perRow(product, epsilon, delta) {
  const share = double(epsilon) / product.rows;
  let steps = 1;
  for (let k = 1; k < product.rows; k += 1) steps += Math.exp(k * share);
  return { epsilon: share, delta: double(delta) / steps, stated: double(epsilon) };
}

/* A product's figures at an exact ε, δ and α. */
function forecast(product, epsilon, delta, alpha) {
  const price = perRow(product, epsilon, delta);
  if (!(price.epsilon > 0)) return null;
  const size = alpha ? double(alpha) : null;
  return FORMS[product.model.form](product.model, { ...price, alpha: size, alphaText: alpha && text(alpha) }) || null;
}

/* The least ε of two digits at which the margin is the wanted one, as tacita plans from a margin; null where none is. */
function epsilonFor(enough) {
  const candidates = [];
  for (let power = -4; power < 4; power += 1) {
    for (let two = 10; two < 100; two += 1) candidates.push(exact(`${two}e${power - 1}`));
  }
  let low = 0, high = candidates.length - 1;
  while (high > 0 && enough(candidates[high]) === null) high -= 1; // beyond the end of a grid
  if (!enough(candidates[high])) return null;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (enough(candidates[middle])) high = middle; else low = middle + 1;
  }
  return candidates[low];
}
