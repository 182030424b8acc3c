// Running queries: a list, and everything about the one that is looked at.
import { chart } from "./chart.js";
import { h, replace } from "./dom.js";
import { clock, rate } from "./format.js";
import { Keys } from "./hottest-keys-and-latest-windows.js";
import { Metrics } from "./live-page-numbers.js";
import { Plan } from "./plan.js";

const HOW = `feed = sash.dashboard.Feed()
watching = sash.dashboard.watch(spark, feed)
page = sash.dashboard.serve(feed)

handle = q.start("out", checkpoint="c", name="trades")
watching.add(handle, query=q, reports="out")`;

export class Board {
  constructor(place, queries) {
    this.queries = queries;
    this.name = null;
    this.list = h("ul", { "aria-label": "Queries" });
    this.title = h("h2");
    this.state = h("p", { class: "soft" });
    this.failure = h("p", { class: "failure", role: "alert", hidden: true });
    [this.metrics, this.keys, this.plan] = [new Metrics(), new Keys(), new Plan()];
    this.board = h("div", { class: "board", hidden: true }, this.list,
      h("div", { class: "detail" }, h("header", {}, this.title, this.state), this.failure,
        this.metrics.element, this.keys.element, this.plan.element));
    this.empty = h("div", { class: "empty" }, h("h2", {}, "No query is running here"),
      h("p", {}, "To show the streaming queries of a Python process here:"), h("pre", {}, HOW),
      h("p", {}, "Queries of another process: ", h("code", {}, "sash.dashboard.watch(spark, MessageFolder(\"frames\"))"),
        " there, and ", h("code", {}, "sash ui --watch frames"), " here. Meanwhile, there is the ",
        h("a", { href: "#lab" }, "window lab"), "."));
    this.loading = h("p", { class: "empty" }, "loading…");
    place.append(this.loading, this.empty, this.board);
  }

  show() {
    const all = [...this.queries.all.values()];
    this.loading.hidden = this.queries.known !== null && all.length >= this.queries.known;
    this.board.hidden = !all.length;
    this.empty.hidden = this.queries.known !== 0 || all.length > 0;
    if (!all.length) return;
    if (!this.queries.all.has(this.name)) this.name = all[0].name;
    replace(this.list, all.map((query) => this.entry(query)));
    this.detail(this.queries.all.get(this.name));
  }

  entry(query) {
    const points = query.frames.slice(-120).map((frame) => ({ at: frame.at, value: frame.rate }));
    return h("li", {}, h("button", {
      class: "query", "data-focus": query.name, "aria-current": String(query.name === this.name),
      onclick: () => { this.name = query.name; this.show(); },
    },
    h("span", { class: "name" }, h("span", { class: `dot ${standing(query)}` }), query.name),
    h("span", { class: "soft small" }, query.ended ? words(query) : rate(query.frames.at(-1)?.rate)),
    chart(points, { label: `rate of ${query.name}` }).element));
  }

  detail(query) {
    this.title.textContent = query.name;
    this.state.textContent = words(query);
    this.failure.hidden = !query.ended?.error;
    this.failure.textContent = query.ended?.error ?? "";
    this.metrics.show(query);
    this.keys.show(query);
    this.plan.show(query);
  }
}

const standing = (query) => (query.ended ? (query.ended.error ? "failed" : "ended") : "running");

function words(query) {
  if (query.ended) return `${query.ended.error ? "failed" : "ended"} at ${clock(query.ended.at)} UTC`;
  const since = query.started ? `running since ${clock(query.started.at)} UTC` : "running";
  return query.about?.elastic ? `${since} · elastic` : since;
}
