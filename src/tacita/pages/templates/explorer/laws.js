/* Laws of the noise, as in tacita.noise: how far an error strays. Doubles stand in for certified arithmetic; the tests hold
   every figure against Python's. */

const FINEST = 2 ** 22, LARGEST_SCALE = 2 ** 40, LARGEST_VARIANCE = 2 ** 60, SUMMED = 2 ** 14;

/* Discrete Laplace noise: P(k) proportional to exp(-|k|/scale). */
const laplace = (scale) => scale > 0 && scale <= LARGEST_SCALE && {
  variance: 2 * Math.exp(-1 / scale) / Math.expm1(-1 / scale) ** 2,
  kurtosis: 3,
  meanAbs: -2 * Math.exp(-1 / scale) / Math.expm1(-2 / scale),
  margin(confidence) {
    const rate = 1 / scale, share = (1 - confidence) / 2;
    const exceeds = (m) => Math.exp(-m * rate) / (1 + Math.exp(-rate)) > share;
    let m = Math.max(0, Math.floor((-Math.log(share) - Math.log1p(Math.exp(-rate))) / rate));
    while (m > 0 && !exceeds(m)) m -= 1;
    while (exceeds(m + 1)) m += 1;
    return m;
  },
};

/* Discrete Gaussian noise: P(k) proportional to exp(-k²/(2·variance)). */
const gaussian = (variance) => variance > 0 && variance <= LARGEST_VARIANCE && {
  variance,
  kurtosis: 0,
  margin(confidence) {
    const most = Math.ceil(Math.sqrt(variance) * Math.sqrt(2 * (5 - Math.log(1 - confidence)))) + 2;
    return variance <= SUMMED ? summedMargin(variance, confidence, most) : boundedMargin(variance, confidence, most);
  },
};

function summedMargin(variance, confidence, most) {
  const last = 4 * most, reached = [1];
  for (let k = 1; k <= last; k += 1) reached.push(reached[k - 1] + 2 * Math.exp(-k * k / (2 * variance)));
  const whole = reached[last] + (reached[last] - reached[last - 1]) * variance / last;
  return reached.findIndex((sum) => sum >= confidence * whole);
}

function boundedMargin(variance, confidence, most) {
  const covers = (m) => {
    const tail = erfc((m + 0.5) / Math.sqrt(2 * variance));
    return tail + (m < Math.sqrt(variance) ? 1 / (8 * variance) : 0) <= 1 - confidence;
  };
  let low = -1, high = most;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (covers(middle)) high = middle; else low = middle;
  }
  return high;
}

function erfc(x) {
  if (x < 2) {
    let term = x, sum = x;
    for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum) && n < 200; n += 1) {
      term *= -x * x / n;
      sum += term / (2 * n + 1);
    }
    return 1 - 2 / Math.sqrt(Math.PI) * sum;
  }
  let fraction = x; // the continued fraction x + (1/2)/(x + 1/(x + (3/2)/(x + …)))
  for (let k = 120; k > 0; k -= 1) fraction = x + k / 2 / fraction;
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction;
}

/* ρ of zero-concentrated privacy that (ε, δ) allows, rounded down to nine digits: tacita.noise.concentrated. */
function rhoFor(epsilon, delta) {
  const goal = Math.log(delta);
  let low = 0, high = epsilon + 1;
  while (leastLogDelta(high, epsilon) <= goal) high *= 2;
  for (let step = 0; step < 200; step += 1) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (leastLogDelta(middle, epsilon) <= goal) low = middle; else high = middle;
  }
  if (low <= 0) return null;
  const power = Math.floor(Math.log10(low)) - 8;
  return Math.floor(power < 0 ? low * 10 ** -power : low / 10 ** power) * 10 ** power;
}

function leastLogDelta(rho, epsilon) {
  const at = (order) => {
    const alpha = 1 + Math.exp(order);
    return (alpha - 1) * (alpha * rho - epsilon) - Math.log(alpha - 1) + alpha * Math.log1p(-1 / alpha);
  };
  const step = (Math.sqrt(5) - 1) / 2;
  let left = Math.log(1e-6), right = Math.log(1e9);
  let one = right - step * (right - left), two = left + step * (right - left), atOne = at(one), atTwo = at(two);
  while (right - left > 1e-9) { // the valley is flat: so near its lowest point the value no longer changes
    if (atOne < atTwo) {
      [right, two, atTwo] = [two, one, atOne];
      one = right - step * (right - left);
      atOne = at(one);
    } else {
      [left, one, atOne] = [one, two, atTwo];
      two = left + step * (right - left);
      atTwo = at(two);
    }
  }
  return at((left + right) / 2);
}

const remembered = new Map();
function rho(epsilon, delta) {
  const key = `${epsilon} ${delta}`;
  if (!remembered.has(key)) remembered.set(key, rhoFor(epsilon, delta));
  return remembered.get(key);
}

/* The noise on values that one unit moves by `total` in all and by `square` in their squares, for a part of a budget. */
function noiseFor(budget, part, total, square) {
  if (!budget.delta) return laplace(total / (budget.epsilon * part));
  const concentrated = rho(budget.epsilon, budget.delta);
  if (!concentrated) return false;
  const variance = square / (2 * concentrated * part), digits = variance < 1e6 ? 1e6 : 1;
  return gaussian(Math.ceil(variance * digits) / digits);
}

/* The ε of draws that have no Gaussian form. */
const pureFor = (budget, part) => budget.delta
  ? Math.floor(Math.sqrt(8 * rho(budget.epsilon, budget.delta) * part) * 1e9) / 1e9
  : budget.epsilon * part;

/* Half the length of an interval that holds a sum of independent errors, each [variance, kurtosis]. */
function combinedMargin(confidence, parts) {
  const variance = parts.reduce((sum, [one]) => sum + one, 0);
  const fourth = parts.reduce((sum, [one, kurtosis]) => sum + kurtosis * (one / (variance || 1)) ** 2, 0);
  const told = MODEL.deviations[confidence], place = Math.min(Math.max(fourth, 0), 3) / 3 * (told.length - 1);
  const at = Math.min(Math.floor(place), told.length - 2);
  return (told[at] + (told[at + 1] - told[at]) * (place - at)) * Math.sqrt(variance);
}
