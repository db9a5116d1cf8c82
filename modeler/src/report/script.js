// What the page does beyond showing tables: fold and filter the call tree, draw call paths on demand, save numbers and
// plots as files. Plots are those of plot.rs and heat.rs; tests compare the two. Nothing here fetches anything.
"use strict";
(() => {
const WIDTH = 460, HEIGHT = 270, LEFT = 66, RIGHT = 14, TOP = 12, BOTTOM = 42, STEPS = 64;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);

// Text only ever becomes text: names come from programs that anybody may have written.
function element(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "rect", "line", "circle", "text", "clipPath", "title"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
  made.append(...children.flat(Infinity).filter(child => child !== null && child !== ""));
  return made;
}

// ---- Data

let loading = null;

/** The page's data, unpacked when first needed. */
function data() {
  loading ??= (async () => {
    const letters = atob(one("#data").textContent);
    const bytes = Uint8Array.from(letters, letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const document = JSON.parse(await new Response(stream).text());
    document.byId = new Map(document.models.map(model => [model.id, model]));
    return document;
  })();
  return loading;
}

function path(document, id) {
  const names = [];
  for (; id >= 0; id = document.callpaths[id][0]) names.unshift(document.names[document.callpaths[id][1]]);
  return names;
}

/** Measured points of a model: coordinates and repetitions. */
function measurements(document, model) {
  const layout = document.layouts[model.layout];
  let start = 0;
  return layout.points.map((point, i) => {
    const values = model.values.slice(start, start + layout.repetitions[i]);
    start += layout.repetitions[i];
    return [document.points[point], values];
  });
}

/** A model's function at a point; see `Function` in view.rs. */
function evaluate(f, x) {
  if (f.change) {
    const { parameter, below, above, lower } = f.change;
    const middle = below > 0 ? Math.sqrt(below * above) : 0.5 * (below + above);
    if (x[parameter] < middle) return evaluate(lower, x);
  }
  return f.terms.reduce((sum, [coefficient, remote, factors]) => {
    let value = remote < 0 ? coefficient : coefficient * (x[remote] - 1) / x[remote];
    for (const [l, exponent, log] of factors) value *= x[l] ** exponent * Math.log2(x[l]) ** log;
    return sum + value;
  }, f.constant);
}

function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b), n = sorted.length;
  if (n === 0) return NaN;
  return n % 2 ? sorted[(n - 1) / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

// ---- Numbers as people read them; quantity.rs

const UNITS = {
  s: [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]],
  bytes: [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"]],
};

function number(value) {
  const size = Math.abs(value);
  if (value === 0 || (Number.isInteger(value) && size < 1e6)) return value.toFixed(0);
  if (size < 1e-3 || size >= 999500) return value.toExponential(2).replace("e+", "e");
  if (size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return value.toFixed(2 - Math.floor(Math.log10(size)));
}

function quantity(value, unit) {
  if (value === null || !Number.isFinite(value)) return "n/a";
  const steps = UNITS[unit];
  if (!steps) return unit ? `${number(value)} ${unit}` : number(value);
  if (value === 0) return `0 ${unit}`;
  const [size, name] = [...steps].reverse().find(([size]) => Math.abs(value) >= size * 0.9995) ?? steps[0];
  return `${number(value / size)} ${name}`;
}

function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value.toFixed(value < 9.95 ? 1 : 0)} %`;
}

function signedPercent(share) {
  return Number.isFinite(share) ? (share < 0 ? "−" : "+") + percent(Math.abs(share)) : "n/a";
}

function tickLabel(value, unit) {
  let [digits, name = ""] = quantity(value, unit).split(" ");
  let [mantissa, exponent] = digits.split("e");
  if (mantissa.includes(".")) mantissa = mantissa.replace(/\.?0+$/, "");
  return `${mantissa}${exponent === undefined ? "" : "e" + exponent} ${name}`.trim();
}

// ---- Axes; axis.rs

class Axis {
  constructor(low, high, logarithmic) { Object.assign(this, { low, high, logarithmic }); }

  static over(values, fromZero) {
    const finite = values.filter(Number.isFinite);
    if (finite.length === 0) return null;
    let low = Infinity, high = -Infinity;
    for (const v of finite) { low = Math.min(low, v); high = Math.max(high, v); }
    if (low > 0 && high / low >= (fromZero ? 4 : 2)) return new Axis(low, high, true);
    if (fromZero) low = Math.min(low, 0);
    const same = high - low <= 1e-9 * Math.max(Math.abs(high), Math.abs(low));
    return new Axis(low, same ? (low > 0 ? 2 * low : low + 1) : high, false);
  }

  padded(share) {
    if (this.logarithmic) {
      const factor = (this.high / this.low) ** share;
      return new Axis(this.low / factor, this.high * factor, true);
    }
    const length = this.high - this.low;
    return new Axis(this.low === 0 ? 0 : this.low - share * length, this.high + share * length, false);
  }

  place(value) {
    if (this.logarithmic) return Math.log(Math.max(value, Number.MIN_VALUE) / this.low) / Math.log(this.high / this.low);
    return (value - this.low) / (this.high - this.low);
  }

  value(place) {
    return this.logarithmic ? this.low * (this.high / this.low) ** place : this.low + place * (this.high - this.low);
  }

  ticks() {
    const candidates = this.logarithmic
      ? [...[6, 3, 2].map(step => this.decades([1], step)),
         ...[[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 6, 8]].map(mantissas => this.decades(mantissas, 1))]
      : [2, 1, 0.5, 0.2, 0.1].map(step => this.multiples(step * 10 ** Math.floor(Math.log10(this.high - this.low))));
    return candidates.reduce((best, c) => Math.abs(c.length - 5) < Math.abs(best.length - 5) ? c : best);
  }

  decades(mantissas, step) {
    const found = [];
    for (let d = Math.floor(Math.log10(this.low)); d <= Math.ceil(Math.log10(this.high)); d++) {
      // Such as 1e-6, which 10 ** -6 is not exactly.
      if (d % step === 0) found.push(...mantissas.map(m => Number(`${m}e${d}`)));
    }
    return found.filter(v => v >= this.low && v <= this.high);
  }

  multiples(step) {
    const found = [];
    for (let i = Math.ceil(this.low / step); i <= Math.floor(this.high / step); i++) found.push(i * step);
    return found;
  }
}

// ---- Plots; plot.rs

const fixed = value => value.toFixed(1);

class Frame {
  constructor(x, y) { Object.assign(this, { x, y }); }

  at(x, y) {
    const up = Math.min(Math.max(this.y.place(y), -1), 2);
    return [LEFT + this.x.place(x) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)];
  }

  path(points) {
    return points.map(([x, y], i) => `${i ? "L" : "M"}${this.at(x, y).map(fixed).join(" ")}`).join("");
  }
}

const text = (x, y, anchor, label, kind = null) => element("text", { x, y, "text-anchor": anchor, class: kind }, label);

function drawing(description, ...children) {
  return element("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": description }, children);
}

function clip(id) {
  const area = { x: LEFT, y: TOP, width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM };
  return element("clipPath", { id }, element("rect", area));
}

function rows(frame, unit) {
  return frame.y.ticks().flatMap(tick => {
    const y = frame.at(1, tick)[1];
    return [element("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: fixed(y), y2: fixed(y) }),
            text(LEFT - 7, fixed(y + 3.8), "end", tickLabel(tick, unit))];
  });
}

function columns(frame, ticks) {
  return ticks.flatMap(tick => {
    const x = fixed(frame.at(tick, 1)[0]);
    return [element("line", { class: "tick", x1: x, x2: x, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4 }),
            text(x, HEIGHT - BOTTOM + 17, "middle", number(tick))];
  });
}

function foot(name) {
  return [element("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
          text(fixed((LEFT + WIDTH - RIGHT) / 2), HEIGHT - 6, "middle", name, "name")];
}

function dots(frame, measured) {
  return measured.map(([x, y]) => {
    const [cx, cy] = frame.at(x, y).map(fixed);
    return element("circle", { class: "measured", cx, cy, r: 3.2 });
  });
}

/** Values along one parameter, with the model and its interval. */
class Plot {
  constructor(document, model, parameter, slice, band) {
    Object.assign(this, { model, parameter, slice, band, unit: document.unit, name: document.parameters[parameter] });
    const here = ([x]) => x.every((v, l) => l === parameter || v === slice.fixed[l]);
    this.measured = measurements(document, model).filter(here).flatMap(([x, values]) => values.map(v => [x[parameter], v]));
    const change = model.function.change;
    this.change = change && change.parameter === parameter ? [change.below, change.above] : null;
    const xs = this.measured.map(m => m[0]);
    this.lowest = Math.min(slice.until, ...xs);
    this.largest = Math.max(-Infinity, ...xs);
  }

  value(x) {
    const at = [...this.slice.fixed];
    at[this.parameter] = x;
    return evaluate(this.model.function, at);
  }

  interval(x) {
    const value = Math.max(this.value(x), 0), places = this.slice.places;
    if (!this.band || this.band.length === 0) return [value, value];
    let after = places.findIndex(place => place >= x);
    if (after < 0) after = places.length - 1;
    const before = Math.max(after, 1) - 1;
    const from = places[before], to = places[after], [a, b] = [this.band[before], this.band[after]];
    const t = to <= from ? 1 : Math.min(Math.max(from > 0 ? Math.log(x / from) / Math.log(to / from) : (x - from) / (to - from), 0), 1);
    const between = (a, b) => a > 0 ? a * (b / a) ** t : a + t * (b - a);
    return [value * between(a[0], b[0]), value * between(a[1], b[1])];
  }

  frame() {
    const x = Axis.over([...this.measured.map(m => m[0]), this.slice.until, this.lowest], false);
    const places = [this.lowest, this.largest, this.slice.until];
    const curve = places.map(place => this.value(place));
    const highest = Math.max(0, ...curve, ...this.measured.map(m => m[1]));
    const band = places.map(place => Math.min(this.interval(place)[1], 3 * highest));
    const y = Axis.over([...this.measured.map(m => m[1]), ...curve.concat(band).filter(v => v > 0)], true);
    return x && y && new Frame(x.padded(0.05), y.padded(0.08));
  }

  steps(frame) {
    const [from, to] = [frame.x.place(this.lowest), frame.x.place(this.slice.until)];
    let steps = Array.from({ length: STEPS + 1 }, (_, i) => frame.x.value(from + (to - from) * i / STEPS));
    if (this.change) {
      const [below, above] = this.change;
      steps = steps.filter(x => x < below || x > above).concat(below, above).sort((a, b) => a - b);
    }
    return steps;
  }

  pieces(steps) {
    return this.change ? [steps.filter(x => x <= this.change[0]), steps.filter(x => x > this.change[0])] : [steps];
  }

  svg(id, description) {
    const frame = this.frame();
    if (!frame) return element("p", { class: "note" }, "There is nothing finite to draw.");
    const steps = this.steps(frame);
    const inside = steps.filter(x => x <= this.largest);
    const beyond = inside.slice(-1).concat(steps.filter(x => !(x <= this.largest)));
    const along = xs => this.pieces(xs)
      .map(piece => frame.path(piece.map(x => [x, this.value(x)]).filter(([, y]) => Number.isFinite(y)))).join("");
    const band = this.pieces(steps).map(piece => {
      const ends = piece.map(x => [x, this.interval(x)]);
      const outline = [...ends.map(([x, i]) => [x, i[1]]), ...ends.reverse().map(([x, i]) => [x, i[0]])];
      const d = frame.path(outline.filter(([, y]) => Number.isFinite(y)));
      return d && d + "Z";
    }).join("");
    return drawing(description, clip(id), this.extrapolated(frame), this.changing(frame),
      rows(frame, this.unit), columns(frame, this.ticks(frame)), foot(this.name),
      element("g", { "clip-path": `url(#${id})` },
        element("path", { class: "band", d: band }), element("path", { class: "line", d: along(inside) }),
        element("path", { class: "line beyond", d: along(beyond) }), dots(frame, this.measured)));
  }

  extrapolated(frame) {
    const start = frame.at(this.largest, 1)[0], end = WIDTH - RIGHT;
    if (!Number.isFinite(start) || this.slice.until <= this.largest) return [];
    const area = { x: fixed(start), y: TOP, width: fixed(end - start), height: HEIGHT - TOP - BOTTOM };
    return [element("rect", { class: "extrapolated", ...area }),
            text(fixed(end - 4), HEIGHT - BOTTOM - 7, "end", "not measured", "faint")];
  }

  changing(frame) {
    if (!this.change) return [];
    const [from, to] = this.change.map(x => frame.at(x, 1)[0]);
    const area = { x: fixed(from), y: TOP, width: fixed(to - from), height: HEIGHT - TOP - BOTTOM };
    return [element("rect", { class: "change", ...area }), text(fixed((from + to) / 2), TOP + 11, "middle", "change", "faint")];
  }

  ticks(frame) {
    const sorted = [...new Set([...this.measured.map(m => m[0]), this.slice.until])].sort((a, b) => b - a);
    const kept = [];
    for (const tick of sorted) {
      const room = 7 * number(tick).length + 8;
      if (kept.length === 0 || frame.at(kept.at(-1), 1)[0] - frame.at(tick, 1)[0] >= room) kept.push(tick);
    }
    return kept;
  }
}

/** Time over effort. */
function scatter(document, model, id, description) {
  const points = measurements(document, model);
  const measured = points.flatMap(([, values], i) => model.effort.counts[i] > 0 ? values.map(v => [model.effort.counts[i], v]) : []);
  const [x, y] = [Axis.over(measured.map(m => m[0]), false), Axis.over(measured.map(m => m[1]), true)];
  if (!x || !y) return null;
  const frame = new Frame(x.padded(0.08), y.padded(0.08));
  const ratio = median(measured.map(([count, value]) => value / count));
  const ends = Array.from({ length: STEPS + 1 }, (_, i) => frame.x.value(i / STEPS)).map(x => [x, ratio * x]);
  return drawing(description, clip(id), rows(frame, document.unit), columns(frame, frame.x.ticks()), foot(model.effort.metric),
    element("g", { "clip-path": `url(#${id})` }, element("path", { class: "line proportional", d: frame.path(ends) }), dots(frame, measured)));
}

// ---- Heat maps; heat.rs

const KEY = 92, ACROSS = 54, UP = 34;
const COLOURS = ["#00224e", "#002c64", "#0c3470", "#273e6e", "#38476c", "#46516c", "#535a6d", "#5f636f", "#6b6d72", "#777776",
  "#828079", "#908b78", "#9c9576", "#aaa073", "#b8aa6e", "#c6b667", "#d4c15f", "#e4ce53", "#f2da44", "#fee838"];
const inside = (x, y) => [LEFT + x * (WIDTH - LEFT - KEY), HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM)];

class Heat {
  constructor(document, model, [a, b], at) {
    const levels = l => document.points.map(p => p[l]);
    const axis = l => Axis.over([Math.min(...levels(l)), Math.max(document.target[l], document.today[l])], false).padded(0.04);
    Object.assign(this, { unit: document.unit, names: [document.parameters[a], document.parameters[b]], x: axis(a), y: axis(b) });
    this.until = [document.today[a], document.today[b]];
    this.f = (x, y) => evaluate(model.function, at.map((v, l) => l === a ? x : l === b ? y : v));
    const here = ([x]) => x.every((v, l) => l === a || l === b || v === at[l]);
    this.measured = measurements(document, model).filter(here).map(([x, values]) => [x[a], x[b], median(values)]);
    const cells = [];
    for (let j = 0; j < UP; j++) for (let i = 0; i < ACROSS; i++) cells.push(this.f(this.x.value((i + 0.5) / ACROSS), this.y.value((j + 0.5) / UP)));
    this.values = Axis.over(cells.concat(this.measured.map(m => m[2])), false);
  }

  colour(value) {
    return Math.min(Math.max(Math.floor(this.values.place(value) * COLOURS.length), 0), COLOURS.length - 1) || 0;
  }

  areas() {
    const paths = COLOURS.map(() => ""), w = (WIDTH - LEFT - KEY) / ACROSS, h = (HEIGHT - TOP - BOTTOM) / UP;
    for (let j = 0; j < UP; j++) {
      const y = this.y.value((j + 0.5) / UP);
      const colours = Array.from({ length: ACROSS }, (_, i) => this.colour(this.f(this.x.value((i + 0.5) / ACROSS), y)));
      for (let start = 0, i = 1; i <= ACROSS; i++) {
        if (i < ACROSS && colours[i] === colours[start]) continue;
        const width = fixed((i - start) * w);
        paths[colours[start]] += `M${fixed(LEFT + start * w)} ${fixed(HEIGHT - BOTTOM - (j + 1) * h)}h${width}v${fixed(h)}h-${width}z`;
        start = i;
      }
    }
    return paths;
  }

  contours() {
    const place = (i, j) => [i / ACROSS, j / UP, this.values.place(this.f(this.x.value(i / ACROSS), this.y.value(j / UP)))];
    let d = "";
    for (const level of this.values.ticks().map(tick => this.values.place(tick))) {
      for (let j = 0; j < UP; j++) for (let i = 0; i < ACROSS; i++) {
        const corners = [place(i, j), place(i + 1, j), place(i + 1, j + 1), place(i, j + 1)], found = [];
        corners.forEach((a, k) => {
          const b = corners[(k + 1) % 4];
          if ((a[2] < level) === (b[2] < level) || !Number.isFinite(a[2]) || !Number.isFinite(b[2])) return;
          const t = (level - a[2]) / (b[2] - a[2]);
          found.push(inside(a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])).map(fixed).join(" "));
        });
        for (let k = 0; k + 1 < found.length; k += 2) d += `M${found[k]}L${found[k + 1]}`;
      }
    }
    return d;
  }

  range() {
    let [right, top] = inside(this.x.place(this.until[0]), this.y.place(this.until[1]));
    const [left, bottom] = inside(0, 0), [end, head] = inside(1, 1);
    if (!(right < end - 12 || top > head + 12)) return [];
    [right, top] = [Math.min(right + 7, end), Math.max(top - 7, head)];
    return [element("path", { class: "range", d: `M${fixed(left)} ${fixed(top)}H${fixed(right)}V${fixed(bottom)}` })];
  }

  axes() {
    const bottom = HEIGHT - BOTTOM, right = inside(1, 0)[0];
    const across = this.x.ticks().flatMap(tick => {
      const x = fixed(inside(this.x.place(tick), 0)[0]);
      return [element("line", { class: "tick", x1: x, x2: x, y1: bottom, y2: bottom + 4 }), text(x, bottom + 17, "middle", number(tick))];
    });
    const up = this.y.ticks().flatMap(tick => {
      const y = inside(0, this.y.place(tick))[1];
      return [element("line", { class: "tick", x1: LEFT - 4, x2: LEFT, y1: fixed(y), y2: fixed(y) }), text(LEFT - 7, fixed(y + 3.8), "end", number(tick))];
    });
    const turned = { class: "name", transform: `translate(14 ${fixed((TOP + bottom) / 2)}) rotate(-90)`, "text-anchor": "middle" };
    return [...across, ...up, text(fixed((LEFT + right) / 2), HEIGHT - 6, "middle", this.names[0], "name"), element("text", turned, this.names[1])];
  }

  key() {
    const left = WIDTH - KEY + 18, height = (HEIGHT - TOP - BOTTOM) / COLOURS.length;
    const boxes = COLOURS.map((fill, i) => element("rect",
      { x: left, y: (HEIGHT - BOTTOM - (i + 1) * height).toFixed(2), width: 12, height: (height + 0.3).toFixed(2), fill }));
    const ticks = this.values.ticks().flatMap(tick => {
      const y = inside(0, this.values.place(tick))[1];
      return [element("line", { class: "tick", x1: left + 12, x2: left + 16, y1: fixed(y), y2: fixed(y) }),
              text(left + 19, fixed(y + 3.8), null, tickLabel(tick, this.unit))];
    });
    return [element("g", { "shape-rendering": "crispEdges" }, boxes), ...ticks];
  }

  svg(description) {
    if (!this.values) return null;
    const areas = this.areas().flatMap((d, i) => d ? [element("path", { fill: COLOURS[i], d })] : []);
    const circles = this.measured.map(([x, y, value]) => {
      const [cx, cy] = inside(this.x.place(x), this.y.place(y)).map(fixed);
      return element("circle", { class: "cell", cx, cy, r: 4.5, fill: COLOURS[this.colour(value)] });
    });
    return drawing(description, element("g", { "shape-rendering": "crispEdges" }, areas),
      element("path", { class: "contour", d: this.contours() }), this.range(), circles, this.axes(), this.key());
  }
}

// ---- Call paths; article.rs

const fixedText = (document, shown, at) => {
  const others = document.parameters.flatMap((name, l) => shown.includes(l) ? [] : [`${name} = ${quantity(at[l], "")}`]);
  return others.length ? `, at ${others.join(", ")}` : "";
};

/** A name that a line may end in only behind a mark; `breakable` in markup.rs. */
function breakable(name) {
  const pieces = name.match(/^[<>,()[\]{}&*+\-=|/:; ]+$|[<>,()[\]{}&*+\-=|/:; ]*[^<>,()[\]{}&*+\-=|/:; ]+[<>,()[\]{}&*+\-=|/:; ]*/g) ?? [];
  return pieces.flatMap((piece, i) => [i ? element("wbr") : "", piece.length > 40 ? element("span", { class: "long" }, piece) : piece]);
}

/** The article of a call path that the program did not draw. */
function article(document, model) {
  const names = path(document, model.id);
  const heading = element("h3", {}, names.flatMap((name, i) => i + 1 < names.length
    ? [element("span", { class: "caller" }, breakable(name), " → "), element("wbr")] : [element("span", {}, breakable(name))]));
  const tag = label => element("span", { class: "tag" }, label);
  const facts = element("p", { class: "facts" }, tag(model.kind), " ", tag(model.shape), " ",
    tag(`${percent(model.shares[0])} today, ${percent(model.shares[1])} at the target`));
  const code = label => element("code", {}, label);
  const note = (...content) => element("p", { class: "note" }, content);
  return element("article", { id: `c${model.id}` }, heading, facts,
    element("p", { class: "expression" }, code(model.expression)),
    element("div", { class: "plots" }, figures(document, model, names.join(" → "))),
    model.effort ? element("p", { class: model.effort.disagrees ? "verdict disagrees" : "verdict" },
      element("strong", {}, "Effort against time. "), model.effort.verdict) : null,
    model.absorption.length ? absorption(document, model) : null,
    note(model.quality),
    model.runner_up ? note("Runner-up: ", code(model.runner_up[0]), `. Why it lost: ${model.runner_up[1]}.`) : null,
    model.warnings.map(([code_, message]) => element("p", { class: "warning" }, code(code_), " " + message)),
    values(document, model),
    model.others.length ? element("table", { class: "metrics" }, model.others.map(([metric, expression]) =>
      element("tr", {}, element("th", { scope: "row" }, metric), element("td", {}, code(expression))))) : null);
}

function figures(document, model, title) {
  const figure = (svg, caption, kind = null) =>
    svg && element("figure", { class: kind }, svg, element("figcaption", {}, caption));
  const slices = document.layouts[model.layout].slices;
  const found = document.parameters.map((name, l) => {
    const caption = `along ${name}${fixedText(document, [l], slices[l].fixed)}`;
    const plot = new Plot(document, model, l, slices[l], model.bands[l]);
    return figure(plot.svg(`clip-${model.id}-${l}`, `${title} ${caption}`), caption);
  });
  const planes = pairs(document);
  if (planes.length) found.push(figure(...plane(document, model, planes[0], slices[planes[0][0]].fixed, title), "heat"));
  const counts = model.effort ? model.effort.counts.filter(count => count > 0) : [];
  // Over one and the same count times say nothing of how they follow it.
  if (counts.length && Math.max(...counts) > Math.min(...counts) * (1 + 1e-9)) {
    const caption = `time against ${model.effort.metric}`;
    found.push(figure(scatter(document, model, `clip-${model.id}-e`, `${title} ${caption}`), caption));
  }
  return found.filter(Boolean);
}

function plane(document, model, [a, b], at, title) {
  const names = document.parameters;
  const caption = `over ${names[a]} and ${names[b]}${fixedText(document, [a, b], at)}: the model; circles are what was measured`;
  return [new Heat(document, model, [a, b], at).svg(`${title} ${caption}`), caption];
}

/** All pairs of parameters that vary, that with most values first. */
function pairs(document) {
  const count = document.parameters.map((_, l) => new Set(document.points.map(p => p[l])).size);
  const varying = count.flatMap((c, l) => c > 1 ? [l] : []).sort((a, b) => count[b] - count[a]);
  const found = [];
  for (let i = 0; i < varying.length; i++) for (let j = 0; j < i; j++) found.push([Math.min(varying[i], varying[j]), Math.max(varying[i], varying[j])]);
  return found;
}

function table(header, rows) {
  const cell = (name, content, i) => element(name, { class: header[i][1] ? "number" : null, scope: name === "th" ? "col" : null }, content);
  return element("div", { class: "scroll" }, element("table", { class: "metrics" },
    element("thead", {}, element("tr", {}, header.map(([label], i) => cell("th", label, i)))),
    element("tbody", {}, rows.map(row => element("tr", {}, row.map((content, i) => cell("td", content, i)))))));
}

function absorption(document, model) {
  const pointText = point => document.parameters.map((name, l) => `${name} = ${quantity(document.points[point][l], "")}`).join(", ");
  const header = [["instructions", false], ...model.absorption[0].at.map(([point]) => [pointText(point), true])];
  return element("div", {}, element("p", { class: "note" }, element("strong", {}, "Absorption. "),
    "So many extra instructions of a kind fit into one iteration before it becomes slower. Where few of a kind fit, what executes them is already full: that is the bottleneck."),
    table(header, model.absorption.map(({ mode, at }) => [mode, ...at.map(([, value]) => quantity(value, ""))])));
}

function values(document, model) {
  const header = [...document.parameters.map(name => [name, true]), ["repetitions", false], ["model", true], ["median off by", true]];
  const rows = measurements(document, model).map(([x, values]) => {
    const fitted = evaluate(model.function, x);
    return [...x.map(v => quantity(v, "")), values.map(v => quantity(v, document.unit)).join(", "),
      quantity(fitted, document.unit), signedPercent(median(values) / fitted - 1)];
  });
  const button = element("button", { type: "button" }, "These values as CSV");
  button.addEventListener("click", () => {
    const lines = measurements(document, model).flatMap(([x, values]) =>
      values.map((v, i) => [...x, i + 1, v, evaluate(model.function, x)].join(",")));
    const title = [...document.parameters.map(quoted), "repetition", quoted(document.metric), "model"].join(",");
    save(`callpath-${model.id}.csv`, "text/csv", [title, ...lines, ""].join("\n"));
  });
  return element("details", { class: "values" }, element("summary", {}, "Measured values"), table(header, rows), element("p", { class: "note" }, button));
}

// ---- Files

const quoted = label => `"${String(label).replaceAll('"', '""')}"`;

function save(name, kind, content) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([content], { type: kind })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function table_of_all(document) {
  const cells = model => [quoted(path(document, model.id).join("->")), model.kind, quoted(model.growth), quoted(model.expression),
    model.now, ...model.then, ...model.shares, model.measured].map(cell => cell ?? "").join(",");
  const header = "callpath,kind,growth,model,today,predicted,lower,upper,share_today,share_target,share_target_with_callees,measured_today";
  return [header, ...document.models.map(cells), ""].join("\n");
}

/** A plot as a file of its own: with the page's rules for plots, colours of today's scheme filled in. */
function standalone(svg) {
  const colours = getComputedStyle(document.documentElement);
  const rules = [...document.styleSheets[0].cssRules].filter(rule => rule.selectorText?.startsWith(".plot"));
  const style = rules.map(rule => rule.cssText).join("\n").replace(/var\((--[a-z-]+)\)/g, (_, name) => colours.getPropertyValue(name).trim());
  const copy = svg.cloneNode(true);
  const background = element("rect", { width: WIDTH, height: HEIGHT, fill: colours.getPropertyValue("--paper").trim() });
  const rulesElement = document.createElementNS(copy.namespaceURI, "style");
  rulesElement.textContent = style;
  copy.prepend(rulesElement, background);
  copy.setAttribute("width", 2 * WIDTH);
  copy.setAttribute("height", 2 * HEIGHT);
  return new XMLSerializer().serializeToString(copy);
}

/** Adds to each figure below `within` a button that saves its plot. */
function offer(within) {
  for (const caption of all("figcaption", within)) {
    const svg = one("svg", caption.parentNode);
    if (!svg || one("button", caption)) continue;
    const button = element("button", { type: "button", title: "Save this plot as a file" }, "SVG");
    button.addEventListener("click", () =>
      save(svg.getAttribute("aria-label").replace(/[^\w.-]+/g, "_").slice(-80) + ".svg", "image/svg+xml", standalone(svg)));
    caption.append(" ", button);
  }
}

/** Where more than two parameters vary, lets people choose which two a heat map shows, and where the others stay. */
async function choose(within, id) {
  const content = await data(), planes = pairs(content), heat = one("figure.heat", within);
  if (planes.length < 2 || !heat) return;
  const model = content.byId.get(id), at = [...content.layouts[model.layout].slices[planes[0][0]].fixed];
  const levels = content.parameters.map((_, l) => [...new Set([...content.points.map(p => p[l]), content.target[l]])].sort((a, b) => a - b));
  let shown = planes[0];
  const controls = element("p", { class: "note controls" });
  const select = (label, options, chosen, change) => {
    const menu = element("select", {}, options.map((option, i) => element("option", { value: i }, option)));
    menu.selectedIndex = chosen;
    menu.addEventListener("change", () => { change(menu.selectedIndex); draw(); });
    return element("label", {}, label + " ", menu, " ");
  };
  const draw = () => {
    const [svg, caption] = plane(content, model, shown, at, path(content, id).join(" → "));
    one("svg", heat).replaceWith(svg);
    one("figcaption", heat).replaceChildren(caption);
    controls.replaceChildren(select("over", planes.map(([a, b]) => `${content.parameters[a]} and ${content.parameters[b]}`),
      planes.indexOf(shown), i => { shown = planes[i]; }),
      ...content.parameters.flatMap((name, l) => shown.includes(l) ? [] :
        [select(`${name} =`, levels[l].map(v => quantity(v, "")), levels[l].indexOf(at[l]), i => { at[l] = levels[l][i]; })]));
    offer(heat);
  };
  heat.append(controls);
  draw();
}

// ---- The call tree

function filter(tree, wanted, hits) {
  const nodes = all("[id^=n]", tree);
  const text = wanted.trim().toLowerCase();
  tree.classList.toggle("filtered", text !== "");
  const matches = text === "" ? [] : nodes.filter(node => label(node).includes(text));
  nodes.forEach(node => node.classList.remove("hit", "way"));
  // Only so many callers are unfolded: more would take long to lay out and help nobody.
  matches.forEach((node, i) => {
    node.classList.add("hit");
    for (let above = node.parentNode; above !== tree; above = above.parentNode) {
      if (above.classList.contains("way") && (above.open || i >= 500)) break;
      above.classList.add("way");
      if (i < 500) above.open = true;
    }
  });
  hits.textContent = text === "" ? "" : `${matches.length} of ${nodes.length} call paths`;
}

const labels = new WeakMap();
function label(node) {
  if (!labels.has(node)) {
    const cell = (node.localName === "details" ? node.firstElementChild : node).firstElementChild;
    // The title is the whole name where the text leaves arguments out.
    labels.set(node, (one("[title]", cell) ?? cell).title.toLowerCase());
  }
  return labels.get(node);
}

function unfold(node) {
  for (let above = node.parentElement; above; above = above.parentElement) if (above.localName === "details") above.open = true;
}

/** Shows what the address names: draws the call path if the program did not, unfolds its place in the tree. */
async function show() {
  const id = location.hash.slice(1);
  let target = document.getElementById(id);
  if (!target && /^c\d+$/.test(id)) {
    const content = await data(), model = content.byId.get(Number(id.slice(1)));
    if (!model) return;
    target = article(content, model);
    one("#callpaths .legend").after(target);
    finish(target);
  }
  if (!target) return;
  unfold(target);
  if (target.localName === "article") await choose_once(target);
  target.scrollIntoView();
  all(".shown").forEach(other => other.classList.remove("shown"));
  target.classList.add("shown");
}

const chosen = new WeakSet();
async function choose_once(target) {
  if (chosen.has(target)) return;
  chosen.add(target);
  await choose(target, Number(target.id.slice(1)));
}

/** Adds to an article what only scripts can do. */
function finish(target) {
  offer(target);
  const back = element("a", { href: `#n${target.id.slice(1)}` }, "in the tree");
  one(".facts", target).append(" ", back);
}

function start() {
  if (!("DecompressionStream" in window)) return;
  all(".script").forEach(hidden => { hidden.hidden = false; });
  all(".noscript").forEach(shown => { shown.hidden = true; });
  const tree = one(".tree"), form = one("form.filter"), input = one("input", form);
  form.hidden = false;
  form.addEventListener("submit", event => event.preventDefault());
  let waiting;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => filter(tree, input.value, one(".hits", form)), 120);
  });
  all("[data-tree]").forEach(button => button.addEventListener("click", () => {
    const open = button.dataset.tree === "open";
    all("details", tree).forEach(node => { node.open = open; });
  }));
  all("article").forEach(finish);
  one("[data-save=csv]").addEventListener("click", async () => save("callpaths.csv", "text/csv", table_of_all(await data())));
  one("[data-save=json]").addEventListener("click", async () => {
    const { byId, ...document } = await data();
    save("report.json", "application/json", JSON.stringify(document));
  });
  // Menus come when their article is near: until then nothing has to be unpacked.
  if (Number(one("#data").dataset.parameters) > 2 && "IntersectionObserver" in window) {
    const near = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(entry => {
      near.unobserve(entry.target);
      choose_once(entry.target);
    }), { rootMargin: "600px" });
    all("article").forEach(article => near.observe(article));
  }
  window.addEventListener("hashchange", show);
  if (location.hash) show();
}

// What a test calls to compare with what the program drew.
window.poise = { data, article };
start();
})();
