/* From the keyboard and the pointer to `state`, and from `state` to the specification that would do it. */

/* ---------------------------------------------------------------- the specification */

function slots() {
  const values = {};
  const changed = (name, now, before) => { if (!equal(now, before)) values[name] = text(now); };
  changed("cap.epsilon", state.cap, start.cap);
  changed("cap.delta", state.capDelta, start.capDelta);
  if (state.alpha) changed("cap.alpha", state.alpha, start.alpha);
  if (Boolean(state.perYear) === Boolean(state.until)) { // one without the other is no allowance yet
    const told = (value) => value ? text(value) : null;
    if (told(state.perYear) !== told(start.perYear)) values["cap.per_year"] = told(state.perYear);
    if (state.until !== start.until) values["cap.until"] = state.until && String(state.until);
  }
  MODEL.products.forEach((product, at) => {
    changed(`${product.slot}.epsilon`, state.epsilon[at], start.epsilon[at]);
    if (`${product.slot}.epsilon` in values) {
      values[`${product.slot}.margin`] = null; // the price is given now, not derived
      values[`${product.slot}.margin_at`] = null;
    }
    changed(`${product.slot}.delta`, state.delta[at], start.delta[at]);
    if (product.alpha_stated && values["cap.alpha"]) values[`${product.slot}.alpha`] = values["cap.alpha"];
  });
  return values;
}

/* Exact numbers stand in quotes, years do not. */
const written = (slot, value) => slot === "cap.until" ? value : `"${value}"`;

function specification() {
  const values = slots();
  if (MODEL.lines) {
    return MODEL.lines.map((line) => {
      if (typeof line === "string") return line;
      const value = line.slot in values ? values[line.slot] && written(line.slot, values[line.slot]) : line.value;
      return value ? line.before + value + line.after : null;
    }).filter((line) => line !== null).join("\n") + "\n";
  }
  const names = Object.fromEntries(MODEL.products.map((product) => [product.slot, `${product.slot.split(".")[0]} "${product.name}"`]));
  return Object.entries(values).filter(([, value]) => value).map(([slot, value]) => {
    const place = slot.slice(0, slot.lastIndexOf("."));
    return `# ${names[place] || "[cap]"}\n${slot.slice(place.length + 1)} = ${written(slot, value)}\n`;
  }).join("\n") || "# nothing was changed\n";
}

function drawSpecification() {
  put("specification", specification());
  const count = Object.values(slots()).filter((value) => value !== null).length;
  put("changes", count ? `${count} value${count > 1 ? "s" : ""} differ${count > 1 ? "" : "s"} from ${MODEL.file}.` : `As ${MODEL.file} has it.`);
}

/* ---------------------------------------------------------------- what a person does */

let waiting = 0;
function draw() {
  if (waiting) return;
  waiting = requestAnimationFrame(() => { waiting = 0; drawAll(); });
}
function drawAll() {
  active = document.activeElement;
  const cost = total();
  drawRelease(cost);
  drawPromise(totalDelta());
  MODEL.products.forEach((_, at) => drawProduct(at, double(cost)));
  drawSpecification();
}

/* A text field with an exact number; what is no number is said and left alone. */
function number(id, set, above = true) {
  const field = one(id);
  if (!field) return;
  field.addEventListener("change", () => {
    const read = exact(field.value), wrong = !read || (above && !read.above);
    field.setAttribute("aria-invalid", String(wrong));
    field.setCustomValidity(wrong ? 'Write a number above 0, such as 0.5 or 1/3' : "");
    if (!wrong) set(read);
    draw();
  });
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") field.dispatchEvent(new Event("change")); });
}

const ofSlider = (value) => rounded(10 ** (value / 100), 2);

function connect() {
  one("total").addEventListener("input", (event) => { setTotal(double(ofSlider(event.target.value))); draw(); });
  number("total-text", (wanted) => setTotal(double(wanted)));
  number("cap-epsilon", (read) => { state.cap = read; });
  number("cap-delta", (read) => { state.capDelta = read; }, false);
  number("spent", (read) => { state.spent = read; }, false);
  one("keep").addEventListener("change", (event) => { state.keep = event.target.checked; });
  one("years").addEventListener("input", (event) => { state.years = Math.max(1, Math.floor(Number(event.target.value)) || 1); draw(); });
  one("per-year").addEventListener("change", (event) => {
    const read = exact(event.target.value), wrong = Boolean(event.target.value.trim()) && !(read && read.above);
    event.target.setAttribute("aria-invalid", String(wrong));
    if (!wrong) state.perYear = read && read.above ? read : null;
    draw();
  });
  one("until").addEventListener("change", (event) => {
    const read = Number(event.target.value);
    state.until = Number.isInteger(read) && read >= 2000 && read <= 2999 ? read : null;
    draw();
  });
  one("years-apply").addEventListener("click", () => {
    setTotal(double(minus(state.cap, state.spent)) / state.years);
    draw();
  });
  one("sizes").addEventListener("change", (event) => {
    const read = event.target.value.replace(/(\d),(?=\d{3}\b)/g, "$1").split(/[\s,;]+/).map(Number).filter((n) => n >= 1 && n < 1e12);
    if (read.length) state.sizes = read.slice(0, 8).map(Math.round);
    draw();
  });
  if (one("alpha")) one("alpha").addEventListener("change", (event) => { state.alpha = exact(event.target.value); draw(); });
  if (one("largest")) one("largest").addEventListener("input", (event) => {
    const read = Number(event.target.value);
    if (read > 0 && read <= 100) state.share = read / 100;
    draw();
  });
  MODEL.products.forEach((product, at) => {
    one(`product-${at}`).addEventListener("toggle", draw);
    if (!product.costs) return;
    one(`epsilon-${at}`).addEventListener("input", (event) => { setPrice(at, ofSlider(event.target.value)); draw(); });
    number(`epsilon-text-${at}`, (read) => setPrice(at, read));
    number(`delta-${at}`, (read) => { state.delta[at] = read; }, false);
    const wanted = one(`wish-${at}`);
    const ask = () => {
      if (!wanted.value.trim()) { put(`wish-words-${at}`, ""); return; }
      const figures = forecast(product, state.epsilon[at], state.delta[at], state.alpha)
        || forecast(product, start.epsilon[at], start.delta[at], start.alpha);
      const price = priced(product, wanted.value, { figures, delta: state.delta[at], alpha: state.alpha, share: state.share });
      if (typeof price !== "string") setPrice(at, price);
      put(`wish-words-${at}`, typeof price === "string" ? price : `ε = ${text(price)} does it.`);
      draw();
    };
    if (wanted) {
      wanted.addEventListener("change", ask);
      wanted.addEventListener("keydown", (event) => { if (event.key === "Enter") ask(); });
    }
  });
  one("reset").addEventListener("click", () => {
    Object.assign(state, start, { epsilon: [...start.epsilon], delta: [...start.delta] });
    document.querySelectorAll("input").forEach((field) => { field.value = field.defaultValue; field.checked = field.defaultChecked; });
    document.querySelectorAll("[id^=wish-words-]").forEach((node) => { node.textContent = ""; });
    if (one("alpha")) one("alpha").value = MODEL.cap.alpha;
    draw();
  });
  one("copy").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(specification()); put("copied", "Copied."); }
    catch {
      getSelection().selectAllChildren(one("specification"));
      put("copied", "Selected: press Ctrl+C or ⌘C.");
    }
  });
  one("download").addEventListener("click", () => {
    const link = made("a");
    link.href = URL.createObjectURL(new Blob([specification()], { type: "application/toml" }));
    link.download = MODEL.file;
    link.click();
    put("copied", "Saved; then: tacita plan, which checks it against the ledger too.");
  });
}

connect();
drawAll();
