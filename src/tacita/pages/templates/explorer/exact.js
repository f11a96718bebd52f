/* Privacy parameters as exact fractions, as in tacita.privacy.loss: ten times "0.1" fills a cap of "1". */

const gcd = (a, b) => { while (b) [a, b] = [b, a % b]; return a < 0n ? -a : a; };

const fraction = (above, below) => {
  const common = gcd(above, below) || 1n;
  return { above: above / common, below: below / common };
};

/* Reads "0.1", "1/3", "2" or "1e-9"; null for anything else, and for what is negative. */
function exact(words) {
  const parts = String(words).trim().split("/");
  if (parts.length > 2) return null;
  const read = parts.map((part) => {
    const [, whole, digits = "", power = "0"] = /^(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/.exec(part.trim()) || [];
    if (whole === undefined || !(whole + digits)) return null;
    const shift = Number(power) - digits.length, number = BigInt(whole + digits);
    return shift >= 0 ? fraction(number * 10n ** BigInt(shift), 1n) : fraction(number, 10n ** BigInt(-shift));
  });
  if (read.includes(null)) return null;
  if (parts.length === 1) return read[0];
  return read[1].above ? fraction(read[0].above * read[1].below, read[0].below * read[1].above) : null;
}

const ZERO = { above: 0n, below: 1n };
const plus = (a, b) => fraction(a.above * b.below + b.above * a.below, a.below * b.below);
const minus = (a, b) => fraction(a.above * b.below - b.above * a.below, a.below * b.below);
const times = (a, b) => fraction(a.above * b.above, a.below * b.below);
const over = (a, b) => fraction(a.above * b.below, a.below * b.above);
const atMost = (a, b) => a.above * b.below <= b.above * a.below;
const equal = (a, b) => a.above === b.above && a.below === b.below;

/* The nearest double: numbers of hundreds of digits would not fit into one before they are divided. */
function double(a) {
  const most = Math.max(a.above.toString().length, a.below.toString().length);
  if (most < 290) return Number(a.above) / Number(a.below);
  const cut = 10n ** BigInt(most - 290);
  return Number(a.above / cut) / Number(a.below / cut || 1n);
}

/* The shortest exact way to write it: a decimal where there is one. */
function text(a) {
  let rest = a.below, digits = 0;
  for (const prime of [2n, 5n]) {
    let many = 0;
    while (rest % prime === 0n) { rest /= prime; many += 1; }
    digits = Math.max(digits, many);
  }
  if (rest !== 1n) return `${a.above}/${a.below}`;
  if (!digits) return String(a.above);
  const sign = a.above < 0n ? "-" : "", size = a.above < 0n ? -a.above : a.above;
  const all = String(size * 10n ** BigInt(digits) / a.below).padStart(digits + 1, "0");
  return `${sign}${all.slice(0, -digits)}.${all.slice(-digits)}`;
}

/* A double as a fraction of so many digits, rounded to the nearest, or down so that a sum stays below its limit. */
function rounded(value, digits, down = false) {
  if (!(value > 0)) return ZERO;
  const power = Math.floor(Math.log10(value)) + 1 - digits;
  const scaled = power >= 0 ? value / 10 ** power : value * 10 ** -power;
  const kept = down ? Math.floor(scaled * (1 + 1e-12)) : Math.round(scaled);
  return exact(`${kept}e${power}`);
}
