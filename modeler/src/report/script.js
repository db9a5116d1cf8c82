// What the page does beyond showing tables: fold and filter the call tree, draw call paths on demand, save numbers and
// plots as files. plots.js stands before it in the same scope. Nothing here fetches anything.
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

// ---- Call paths; article.rs

const fixedText = (document, shown, at) => {
  const others = document.parameters.flatMap((name, l) => shown.includes(l) ? [] : [`${name} = ${coordinate(at[l])}`]);
  return others.length ? `, at ${others.join(", ")}` : "";
};

/** A name that a line may end in only behind a mark; `breakable` in markup.rs. */
function breakable(name) {
  const pieces = name.match(/^[<>,()[\]{}&*+\-=|/:; ]+$|[<>,()[\]{}&*+\-=|/:; ]*[^<>,()[\]{}&*+\-=|/:; ]+[<>,()[\]{}&*+\-=|/:; ]*/g) ?? [];
  return pieces.flatMap((piece, i) => [i ? element("wbr") : "", piece.length > 40 ? element("span", { class: "long" }, piece) : piece]);
}

/** Callers, of many the first two and the last five, and the last name; `chain` in markup.rs. */
function chain(names) {
  const callers = names.slice(0, -1), hidden = callers.length > 12 ? callers.length - 7 : 0;
  const caller = (...content) => element("span", { class: "caller" }, content, " → ", element("wbr"));
  const shown = callers.flatMap((name, i) => [
    hidden && i === 2 ? caller(`… ${hidden} callers …`) : "",
    hidden && i >= 2 && i < 2 + hidden ? "" : caller(breakable(name))]);
  return [...shown, element("span", {}, breakable(names[names.length - 1] ?? ""))];
}

/** The article of a call path that the program did not draw. */
function article(document, model) {
  const names = path(document, model.id);
  const heading = element("h3", { title: names.join(" → ") }, chain(names));
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
    model.parts ? note(model.parts) : null,
    note(model.quality),
    model.doubt ? element("p", { class: "warning doubt" }, model.doubt) : null,
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
  const pointText = point => document.parameters.map((name, l) => `${name} = ${coordinate(document.points[point][l])}`).join(", ");
  const header = [["instructions", false], ...model.absorption[0].at.map(([point]) => [pointText(point), true])];
  return element("div", {}, element("p", { class: "note" }, element("strong", {}, "Absorption. "),
    "So many extra instructions of a kind fit into one iteration before it becomes slower. Where few of a kind fit, what executes them is already full: that is the bottleneck."),
    table(header, model.absorption.map(({ mode, at }) => [mode, ...at.map(([, value]) => value)])));
}

function values(document, model) {
  const header = [...document.parameters.map(name => [name, true]), ["repetitions", false], ["model", true], ["median off by", true]];
  const rows = measurements(document, model).map(([x, values]) => {
    const fitted = evaluate(model.function, x);
    return [...x.map(coordinate), values.map(v => quantity(v, document.unit)).join(", "),
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

/** A timeline is a document of its own already. */
const file = svg => svg.classList.contains("timeline") ? new XMLSerializer().serializeToString(svg) : standalone(svg);

/** Adds to each figure below `within` a button that saves its plot. */
function offer(within) {
  for (const caption of all("figcaption", within)) {
    const svg = one("svg", caption.parentNode);
    if (!svg || one("button", caption)) continue;
    const button = element("button", { type: "button", title: "Save this plot as a file" }, "SVG");
    button.addEventListener("click", () =>
      save(svg.getAttribute("aria-label").replace(/[^\w.-]+/g, "_").slice(-80) + ".svg", "image/svg+xml", file(svg)));
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
        [select(`${name} =`, levels[l].map(coordinate), levels[l].indexOf(at[l]), i => { at[l] = levels[l][i]; })]));
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
  hits.textContent = text === "" ? "" : `${matches.length} of ${nodes.length} ${tree.dataset.noun}s`;
}

const labels = new WeakMap();
function label(node) {
  if (!labels.has(node)) {
    const cell = (node.localName === "details" ? node.firstElementChild : node).firstElementChild;
    // A title is the whole name where the text leaves arguments out.
    labels.set(node, (one("[title]", cell)?.title ?? cell.textContent).toLowerCase());
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

/** Browsers take long to print ten thousand call paths that paper hides: these are not in the page meanwhile. */
function take_out_for_paper(tree) {
  const out = [];
  let focused = null;
  window.addEventListener("beforeprint", () => {
    // What is taken out loses the focus; of two such events in a row the second finds nothing to take out.
    if (!out.length) focused = document.activeElement;
    all(".small:not(.small .small)", tree).forEach(node => {
      const place = document.createComment("");
      node.replaceWith(place);
      out.push([place, node]);
    });
  });
  window.addEventListener("afterprint", () => {
    out.splice(0).forEach(([place, node]) => place.replaceWith(node));
    if (focused !== document.activeElement) focused?.focus({ preventScroll: true });
    focused = null;
  });
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
  all("a[data-c]").forEach(link => { link.href = `#c${link.dataset.c}`; });
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
  all("#phases").forEach(offer);
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
  take_out_for_paper(tree);
  if (location.hash) show();
}

// What a test calls to compare with what the program drew.
window.poise = { data, article };
start();
