// The plan of a query as a graph: its stages from the source to the sink, with what each does.
import { h, replace, svg } from "./dom.js";

const WIDTH = 440;
const LINE = 16;
const LETTERS = 58;
const ELASTIC = "It runs elastic: the number of tasks is chosen again for every micro-batch.";

export class Plan {
  constructor() {
    this.graph = h("div");
    this.text = h("pre", { class: "explain", role: "region", tabindex: "0", "aria-label": "The output of explain()" });
    this.element = h("div", { class: "pair plan" },
      h("section", { class: "card", "aria-labelledby": "plan" }, h("h3", { id: "plan" }, "Plan"), this.graph),
      h("section", { class: "card", "aria-labelledby": "explain" }, h("h3", { id: "explain" }, "explain()"), this.text));
  }

  show(query) {
    if (this.about === query.about && this.name === query.name) return;
    [this.about, this.name] = [query.about, query.name];
    const plan = query.about?.plan;
    this.text.textContent = query.about?.explain ?? "not known: add the query with watching.add(handle, query=q)";
    replace(this.graph,
      plan?.stages ? graph(plan) : h("p", { class: "soft small" }, "not known"),
      query.about?.elastic ? h("p", { class: "soft small" }, ELASTIC) : null);
  }
}

function graph(plan) {
  const boxes = [
    { kind: "end", words: ["source"], sub: [`time ${plan.time}${plan.keys.length ? `, key ${plan.keys.join(", ")}` : ""}`] },
    ...plan.stages.map((stage) => box(stage, plan)),
    { kind: "end", words: ["sink"], sub: [] },
  ];
  const drawn = svg("svg", { class: "graph", role: "img", "aria-label": `Plan: ${["source", ...plan.stages, "sink"].join(", then ")}` });
  let y = 2;
  boxes.forEach((one, index) => {
    const height = 14 + LINE * (one.words.length + one.sub.length);
    const wide = one.kind === "end" ? 180 : WIDTH - 4;
    const left = (WIDTH - wide) / 2;
    if (index) {
      drawn.append(svg("path", { d: `M${WIDTH / 2},${y - 20}V${y - 6}` }), svg("path", { class: "head", d: `M${WIDTH / 2 - 4.5},${y - 8}h9l-4.5,7z` }));
    }
    const part = svg("g", { class: one.kind }, svg("rect", { x: left, y, width: wide, height, rx: 8 }));
    [...one.words, ...one.sub].forEach((line, row) => part.append(svg("text", {
      class: row < one.words.length ? "" : "sub", x: WIDTH / 2, y: y + 19 + row * LINE, "text-anchor": "middle",
    }, line)));
    drawn.append(part);
    y += height + 22;
  });
  drawn.setAttribute("viewBox", `0 0 ${WIDTH} ${y - 18}`);
  return drawn;
}

function box(stage, plan) {
  const folds = stage.startsWith("window");
  const sub = folds ? [
    ...(plan.rows === "window" || !plan.rows ? plan.windows.map((window) => window.label)
      : [`one row per ${plan.rows}: ${plan.windows.map((window) => window.meaning).join(", ")}`]),
    ...(plan.whole ? [`${plan.whole}: whole windows`] : []),
    ...plan.aggregates.map((one) => `${one.name} = ${one.monoid}(${one.columns.join(", ")})`),
    plan.algorithm?.name,
  ].filter(Boolean) : [];
  return { kind: folds ? "stateful" : "stage", words: wrap(stage), sub: sub.flatMap(wrap) };
}

function wrap(words) {
  const lines = [""];
  for (const word of words.split(" ")) {
    if (lines.at(-1).length + word.length > LETTERS) lines.push("");
    lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines;
}
