// The hottest keys of a query, and the latest windows of the one that is chosen.
import { h, replace, svg } from "./dom.js";
import { bound, count, plain } from "./format.js";

const ROW = 20;
const SHOWN = 12;

export class Keys {
  constructor() {
    this.key = null;
    this.bars = h("ul", { class: "bars" });
    this.measure = h("span", { class: "soft" });
    this.select = h("select", { id: "key", onchange: () => this.choose(this.select.value) });
    this.title = h("span", { id: "latest" });
    this.windows = h("div");
    this.element = h("div", { class: "pair" },
      h("section", { class: "card", "aria-labelledby": "hottest" },
        h("h3", {}, h("span", { id: "hottest" }, "Hottest keys"), this.measure), this.bars),
      h("section", { class: "card", "aria-labelledby": "latest" },
        h("h3", {}, this.title,
          h("span", { class: "chosen soft" }, h("label", { for: "key" }, "of key"), this.select)),
        this.windows));
  }

  show(query) {
    if (this.query !== query) this.key = null;
    this.query = query;
    const { reports } = query;
    this.looksBack = (query.about?.plan?.rows ?? "window") !== "window";
    this.title.textContent = this.looksBack ? "Latest rows" : "Latest windows";
    this.measure.textContent = reports ? `by ${reports.measure}${part(reports)}` : "";
    if (!reports) {
      const why = query.about?.reports ? "nothing has been emitted yet" : "not known: watching.add(…, reports=folder) shows what is written there";
      replace(this.bars, h("li", { class: "soft small" }, why));
      replace(this.windows, h("p", { class: "soft small" }, why));
      replace(this.select);
      return;
    }
    const keys = [...reports.keys].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
    if (this.key === null || !keys.includes(this.key)) this.key = reports.hottest[0]?.[0] ?? keys[0];
    if (document.activeElement !== this.select) {
      replace(this.select, keys.map((key) => h("option", { value: key }, key)));
      this.select.value = this.key;
    }
    this.draw();
    this.fetch();
  }

  draw() {
    const { hottest } = this.query.reports;
    const most = Math.max(...hottest.map(([, number]) => number), 1);
    replace(this.bars, hottest.slice(0, SHOWN).map(([key, number]) => h("li", {},
      h("button", { class: "bar", "data-focus": key, "aria-pressed": String(key === this.key), onclick: () => this.choose(key) },
        h("span", {}, key),
        h("span", { class: "track" }, h("span", { class: "fill", style: { width: `${(100 * number) / most}%` } })),
        h("span", {}, plain(number))))));
  }

  choose(key) {
    this.key = key;
    this.select.value = key;
    this.draw();
    this.fetch();
  }

  async fetch() {
    const request = new URLSearchParams({ query: this.query.name, key: this.key });
    const answer = await fetch(`/api/windows?${request}`);
    if (!answer.ok) return;
    const rows = await answer.json();
    if (request.get("key") === this.key) replace(this.windows, this.looksBack ? null : timeline(rows, this.key), table(rows, this.looksBack));
  }
}

/** Of a large batch only the end is read. */
function part({ read, seen }) {
  return read < seen ? `, of the last ${count(read)} of ${count(seen)} rows` : "";
}

function timeline(all, key) {
  const rows = all.filter((row) => row.start !== null && row.end !== null).slice(-SHOWN);
  if (!rows.length) return h("p", { class: "soft small" }, "no window of this key has been reported yet");
  const [left, right, width] = [8, 8, 700];
  const from = Math.min(...rows.map((row) => row.start));
  const to = Math.max(...rows.map((row) => row.end), from + 1);
  const x = (at) => left + ((at - from) / (to - from)) * (width - left - right);
  const height = rows.length * ROW + 26;
  const drawn = svg("svg", {
    class: "keyline", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `The latest ${rows.length} windows of ${key}, from ${bound(from)} to ${bound(to)}`,
  });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const at = from + share * (to - from);
    const anchor = share === 0 ? "start" : share === 1 ? "end" : "middle";
    drawn.append(
      svg("line", { x1: x(at), x2: x(at), y1: 0, y2: height - 20 }),
      svg("text", { class: "tick", x: x(at), y: height - 5, "text-anchor": anchor }, bound(Math.round(at))));
  }
  rows.forEach((row, index) => {
    const begin = x(row.start);
    const long = Math.max(x(row.end) - begin, 2);
    const words = Object.entries(row.values).slice(0, 3).map(([name, value]) => `${name} ${plain(value)}`).join("   ");
    const room = words.length * 6 + 14;
    const [at, anchor] = room < long ? [begin + 7, "start"]
      : begin + long + room < width ? [begin + long + 7, "start"] : [begin - 7, "end"];
    drawn.append(svg("g", {},
      svg("rect", { class: index === rows.length - 1 ? "latest" : "", x: begin, y: index * ROW + 2, width: long, height: ROW - 5, rx: 4 },
        svg("title", {}, `window ${row.id}: ${bound(row.start)} to ${bound(row.end)}`)),
      svg("text", { x: at, y: index * ROW + 13.5, "text-anchor": anchor }, words)));
  });
  return drawn;
}

function table(rows, looksBack) {
  const latest = rows.slice(looksBack ? -SHOWN : -4).reverse();
  if (!latest.length) return null;
  const names = Object.keys(latest[0].values);
  const heads = (looksBack ? ["time"] : ["window", "from", "to"]).map((name) => h("th", { scope: "col" }, name));
  const numbered = !looksBack && latest.every((row) => row.name === undefined);
  return h("div", { class: numbered ? "scroll numbered" : "scroll" }, h("table", {},
    h("caption", { class: "unseen" }, "The latest of them in numbers"),
    h("thead", {}, h("tr", {}, heads, names.map((name) => h("th", { class: "number", scope: "col" }, name)))),
    h("tbody", {}, latest.map((row) => h("tr", {},
      looksBack ? null : h("td", {}, [row.name, row.id].filter((part) => part !== undefined).join(" ")),
      h("td", {}, bound(row.start)), looksBack ? null : h("td", {}, bound(row.end)),
      names.map((name) => h("td", { class: "number" }, plain(row.values[name]))))))));
}
