// Why the windows of the chosen event were reported, what other engines would report, and the Python for it all.
import { h, replace, svg } from "./dom.js";
import { bar, minus, names, rows } from "./lab-scale.js";

const ROW = 24;

export class Answers {
  constructor() {
    this.story = h("div");
    this.code = h("pre", { role: "region", tabindex: "0", "aria-label": "Python" });
    this.copy = h("button", { class: "button", onclick: () => this.copied() }, "Copy");
    this.engines = h("div");
    this.beside = h("div", { class: "two" },
      h("section", { class: "card", "aria-labelledby": "story" }, h("h3", { id: "story" }, "The chosen event"), this.story),
      h("section", { class: "card", "aria-labelledby": "python" }, h("h3", {}, h("span", { id: "python" }, "Python"), this.copy), this.code));
    this.below = h("section", { class: "card", "aria-labelledby": "engines" },
      h("h3", {}, h("span", { id: "engines" }, "What engines report"),
        h("span", { class: "soft" }, "simulated, over the same events without the late ones")),
      this.engines);
  }

  draw(state, answer, scale) {
    this.code.textContent = answer.python;
    replace(this.story, story(state, answer), reports(answer));
    replace(this.engines, engines(state, answer, scale));
  }

  async copied() {
    try {
      await navigator.clipboard.writeText(this.code.textContent);
      this.copy.textContent = "Copied";
      setTimeout(() => { this.copy.textContent = "Copy"; }, 1500);
    } catch {
      getSelection().selectAllChildren(this.code); // no clipboard without a secure address
    }
  }
}

function story(state, answer) {
  const story = answer.story;
  if (!story) return [h("p", { class: "soft" }, "Choose an event that has arrived, to see which windows hold it and why they were reported.")];
  const event = answer.events[story.event];
  const ids = event.windows;
  const where = ids.length ? `is in ${ids.length === 1 ? "window" : "windows"} ${ids.map(minus).join(", ")}` : "is in no window";
  return [
    h("p", { id: "mapping" }, h("b", {}, `t${story.event + 1}`), ` at ${event.time} ${where}. `,
      event.mapping ? h("span", { class: "mono soft" }, event.mapping) : ""),
    h("p", { class: "soft small" }, sentence(numbered(story.verdict))),
    story.absence ? h("p", {}, `It ${story.absence}.`) : null,
    story.held.length ? h("ul", { class: "story" }, story.held.flatMap((held) => held.why.map((why) => h("li", {}, h("b", {}, `w ${minus(held.id)} `), numbered(why))))) : null,
  ];
}

/** What Sash reported, and the arrival that caused it. */
function reports(answer) {
  if (!answer.reports.length) return h("p", { class: "soft small report-list" }, "Nothing has been reported yet.");
  return h("div", { class: "scroll report-list" }, h("table", {},
    h("caption", { class: "unseen" }, "Reports of Sash, in order"),
    h("thead", {}, h("tr", {}, ["when", "reported", "holds"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, answer.reports.map((report) => h("tr", { "data-report": report.id },
      h("td", {}, `t${report.arrival + 1} arrives`),
      h("td", {}, `w ${minus(report.id)}${report.revision ? `, revision ${report.revision}` : ""}`),
      h("td", {}, names(report.holds)))))));
}

/** Explanations number the arrivals, as the names of events here do. */
const numbered = (words) => words.replace(/\bevent (\d+)\b/g, "t$1");

function sentence(words) {
  return words ? `${words[0].toUpperCase()}${words.slice(1)}.` : "";
}

function engines(state, answer, scale) {
  if (!answer.engines.length) {
    return [h("p", { class: "soft" }, state.order === "arrival"
      ? "The model of other engines knows event time only."
      : "Other engines are modelled for windows of time and of rows.")];
  }
  const groups = new Map();
  for (const engine of answer.engines) {
    const shown = engine.same === null ? engine.remark : JSON.stringify(engine.reports.map((report) => [report.holds, report.arrival]));
    groups.set(shown, [...(groups.get(shown) ?? []), engine]);
  }
  const rank = (engine) => (engine.same === null ? 2 : engine.same ? 0 : 1);
  const sorted = [...groups.values()].sort(([one], [other]) => rank(one) - rank(other));
  return [h("ul", { class: "answers plain" }, sorted.map((group) => h("li", {}, who(group), lane(group[0], state, scale))))];
}

function who(group) {
  const [first] = group;
  const [kind, words] = first.same === null ? ["", "not known"] : first.same ? ["same", "reports what Sash reports"] : ["differs", "differs from Sash"];
  return h("div", { class: "who" },
    group.map((engine) => h("b", { title: engine.profile }, engine.engine)),
    h("span", { class: `badge ${kind}` }, words),
    first.remark ? h("span", { class: "soft small" }, first.remark) : null);
}

function lane(engine, state, scale) {
  if (engine.same === null) return null;
  if (!engine.reports.length) return h("p", { class: "soft small" }, "no reports");
  const spans = rows(engine.reports.map((report) => ({ report, ...bar(scale, report.begin, report.end) })));
  const height = (Math.max(...spans.map((span) => span.row)) + 1) * ROW + 6;
  const selected = state.events.indexOf(state.selected);
  const drawn = svg("svg", {
    class: "timeline", viewBox: `0 0 ${scale.width} ${height}`, role: "img",
    "aria-label": `${engine.engine} reports ${engine.reports.map((report) => names(report.holds)).join("; ")}`,
  });
  for (const { report, left, right, row } of spans) {
    const words = names(report.holds);
    const wide = right - left - 2;
    const part = svg("g", { class: `engine ${report.holds.includes(selected) ? "holds" : ""}` },
      svg("title", {}, `${words}, when t${report.arrival + 1} arrives`),
      svg("rect", { x: left + 1, y: 4 + row * ROW, width: wide, height: ROW - 5, rx: 3 }));
    if (words.length * 6.6 < wide - 10) part.append(svg("text", { x: left + 9, y: 18 + row * ROW }, words));
    drawn.append(part);
  }
  return drawn;
}
