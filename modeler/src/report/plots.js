// Numbers as people read them, axes, plots and heat maps: those of quantity.rs, axis.rs, plot.rs and heat.rs, for call paths that
// the program did not draw. Tests compare the two.
const WIDTH = 460, HEIGHT = 270, LEFT = 66, RIGHT = 14, TOP = 12, BOTTOM = 42, STEPS = 64;

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

function coordinate(value) {
  const size = Math.abs(value);
  if (Number.isSafeInteger(value)) return String(value);
  return size >= 1e-4 && size < 1e9 ? String(Number(value.toPrecision(12))) : quantity(value, "");
}

function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value.toFixed(value < 9.95 ? 1 : 0)} %`;
}

function signedPercent(share) {
  if (!Number.isFinite(share)) return "n/a";
  const text = percent(Math.abs(share));
  return text.startsWith("<") || text.startsWith("0.0") ? text : (share < 0 ? "−" : "+") + text;
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

const KEY = 92, ACROSS = 27, UP = 17;
const COLOURS = ["#00224e", "#002c64", "#0c3470", "#273e6e", "#38476c", "#46516c", "#535a6d", "#5f636f", "#6b6d72", "#777776",
  "#828079", "#908b78", "#9c9576", "#aaa073", "#b8aa6e", "#c6b667", "#d4c15f", "#e4ce53", "#f2da44", "#fee838"];
const inside = (x, y) => [LEFT + x * (WIDTH - LEFT - KEY), HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM)];

/** Where a line of one value crosses an edge of a cell, in the drawing. */
function crossing(a, b, level) {
  if ((a[2] < level) === (b[2] < level) || !Number.isFinite(a[2]) || !Number.isFinite(b[2])) return null;
  const t = (level - a[2]) / (b[2] - a[2]);
  return inside(a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]));
}

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

  corners() {
    return Array.from({ length: UP + 1 }, (_, j) => Array.from({ length: ACROSS + 1 }, (_, i) =>
      [i / ACROSS, j / UP, this.values.place(this.f(this.x.value(i / ACROSS), this.y.value(j / UP)))]));
  }

  cells() {
    const at = this.corners();
    return at.slice(1).map((_, j) => at[j].slice(1).map((_, i) => [at[j][i], at[j][i + 1], at[j + 1][i + 1], at[j + 1][i]]));
  }

  areas() {
    const rectangle = (left, right, bottom, top) => {
      const [x, y] = inside(left / ACROSS, top / UP).map(fixed), [end, foot] = inside(right / ACROSS, bottom / UP).map(fixed);
      return right > left ? `M${x} ${y}H${end}V${foot}H${x}z` : "";
    };
    const above = (cell, level) => {
      const places = cell.flatMap((a, k) => {
        const crossed = crossing(a, cell[(k + 1) % 4], level);
        return [...(a[2] >= level ? [inside(a[0], a[1])] : []), ...(crossed ? [crossed] : [])];
      });
      return places.length ? places.map((place, i) => (i ? "L" : "M") + place.map(fixed).join(" ")).join("") + "z" : "";
    };
    const cells = this.cells(), paths = [rectangle(0, ACROSS, 0, UP)];
    for (let colour = 1; colour < COLOURS.length; colour++) {
      let d = "";
      cells.forEach((row, j) => {
        const is_above = (i, colour) => i < ACROSS && colour < COLOURS.length && row[i].every(corner => corner[2] >= colour / COLOURS.length);
        for (let start = 0, i = 0; i <= ACROSS; i++) {
          if (is_above(i, colour) && !is_above(i, colour + 1)) continue;
          d += rectangle(start, i, j, j + 1);
          start = i + 1;
          if (i < ACROSS && !is_above(i, colour)) d += above(row[i], colour / COLOURS.length);
        }
      });
      paths.push(d);
    }
    return paths;
  }

  contours() {
    const cells = this.cells().flat();
    let d = "";
    for (const level of this.values.ticks().map(tick => this.values.place(tick))) {
      for (const cell of cells) {
        const found = cell.map((a, k) => crossing(a, cell[(k + 1) % 4], level)).filter(Boolean).map(place => place.map(fixed).join(" "));
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
