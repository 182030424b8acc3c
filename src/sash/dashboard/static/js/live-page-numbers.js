// What is shown of a query over time: one card per number, with its course below it. The numbers of a frame are
// made in live_page_messages.py.
import { chart } from "./chart.js";
import { h, replace, setText } from "./dom.js";
import { NOT_MEASURED, bytes, clock, count, rate, span } from "./format.js";

const lag = (frame) => (frame.watermark === null || frame.at === null ? null : frame.at - frame.watermark);

const METRICS = [
  {
    label: "Rate", unit: "events per second", read: (frame) => frame.rate, write: rate,
    note: (frame, query) => [`${count(frame.totals?.events)} events so far`, busy(query.frames)].filter(Boolean).join(" · "),
  },
  {
    label: "Rows emitted", unit: "per micro-batch", read: (frame) => frame.reports, write: count, step: true,
    shown: (frame) => frame.totals?.reports, note: (frame) => `${count(frame.reports)} by the latest micro-batch`,
  },
  {
    label: "Latency", unit: "of a micro-batch", read: (frame) => frame.latency, write: span,
    note: (frame) => `micro-batch ${frame.batch}, from trigger to commit`,
  },
  {
    label: "Watermark lag", unit: "behind the clock", read: lag, write: span,
    note: (frame) => (frame.watermark === null ? "" : `watermark ${clock(frame.watermark)} · newest ${clock(frame.newest)}`),
  },
  {
    label: "Open windows", unit: "of a busy key", read: (frame) => frame.open, write: count, step: true,
    shown: (frame, query) => (query.about?.plan?.rows === "event" ? "one row per event" : query.about?.plan?.rows === "key" ? "one row per key" : frame.open),
    note: (frame, query) => (query.about?.plan?.rows && query.about.plan.rows !== "window"
      ? "look-backs: nothing to close"
      : frame.open === null ? "not a clock window" : "per busy key, waiting for the watermark"),
  },
  {
    label: "Late events", unit: "per micro-batch", read: (frame) => frame.late, write: count, kind: "late", step: true,
    shown: (frame) => frame.totals?.late, note: (frame) => `${count(frame.late)} in the latest micro-batch`,
  },
  {
    // What a micro-batch writes is not what is held: it is never shown in its place.
    label: "State", unit: "in the state store", write: bytes, read: (frame) => frame.state_bytes,
    note: (frame) => [
      frame.shared && frame.state_bytes !== null ? "of all queries of this stream" : "",
      frame.written !== null ? `${bytes(frame.written)} written by the latest` : "",
    ].filter(Boolean).join(" · "),
  },
];

const DEGREE = {
  label: "Degree", unit: "tasks", read: (frame) => frame.degree, write: count, step: true, wide: true,
  note: (frame, query) => (query.about?.elastic
    ? `${several(changes(query.frames).length, "reconfiguration")} shown, without a restart and without moving state`
    : decided(frame) || "fixed: the shuffle partitions of this query"),
};

/** How the micro-batch was computed, and why: what the driver has decided between two of them. */
const decided = (frame) => (frame.decisions ?? []).join(" · ");

/** Where the number of tasks changed: [{at, from, to}]. */
export function changes(frames) {
  const known = frames.filter((frame) => frame.degree !== null);
  return known.slice(1).flatMap((frame, index) => {
    const before = known[index].degree;
    return before === frame.degree ? [] : [{ at: frame.at, from: before, to: frame.degree }];
  });
}

/** How much of the time the latest micro-batches worked: what is left is room for more events. */
function busy(frames) {
  const latest = frames.slice(-11);
  const [first, last] = [latest.at(0), latest.at(-1)];
  if (latest.length < 3 || !(last.at > first.at)) return "";
  const worked = latest.slice(0, -1).reduce((sum, frame) => sum + (frame.latency ?? NaN), 0);
  return Number.isFinite(worked) ? `busy ${Math.min(100, Math.round((100 * worked) / (last.at - first.at)))}%` : "";
}

const several = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;

export class Metrics {
  constructor() {
    this.cards = [...METRICS, DEGREE].map((metric) => new Card(metric));
    this.element = h("div", { class: "metrics" }, this.cards.map((card) => card.element));
  }

  show(query) {
    this.cards.forEach((card) => card.show(query));
  }
}

class Card {
  constructor(metric) {
    this.metric = metric;
    this.value = h("div", { class: "value" });
    this.note = h("div", { class: "note" });
    this.drawing = h("div", {
      onpointermove: (event) => this.point(event.offsetX / this.drawing.clientWidth),
      onpointerleave: () => this.point(null),
    });
    this.element = h("section", { class: `card metric ${metric.wide ? "wide" : ""}`, "aria-label": metric.label },
      h("div", { class: "label" }, metric.label), this.value, this.note, this.drawing);
  }

  show(query) {
    const { metric } = this;
    this.query = query;
    const latest = query.frames.at(-1);
    const points = query.frames.map((frame) => ({ at: frame.at, value: metric.read(frame), frame }));
    const marks = metric === DEGREE ? changes(query.frames) : [];
    this.chart = chart(points, {
      step: metric.step, kind: metric.kind ?? "", marks, label: this.summary(points),
    });
    const labels = marks.map((mark) => h("span", { style: { left: `${100 * this.chart.share(mark.at)}%` } }, `${mark.from} → ${mark.to}`));
    replace(this.drawing, marks.length ? h("div", { class: "marks", "aria-hidden": "true" }, spread(labels)) : null, this.chart.element);
    this.showFrame(latest);
  }

  showFrame(frame) {
    const { metric } = this;
    const value = frame ? (metric.shown ?? metric.read)(frame, this.query) : null;
    const words = typeof value === "string" ? value : metric.write(value);
    setText(this.value, words);
    this.value.classList.toggle("none", words === NOT_MEASURED || typeof value === "string");
    setText(this.note, frame ? metric.note(frame, this.query) : "");
    this.note.title = this.note.textContent;
  }

  point(share) {
    const near = this.chart?.at(share);
    if (!near) return this.showFrame(this.query?.frames.at(-1));
    setText(this.value, this.metric.write(near.value));
    setText(this.note, `micro-batch ${near.frame.batch}, at ${clock(near.at)}`);
  }

  summary(points) {
    const values = points.map((point) => point.value).filter(Number.isFinite);
    const { label, unit, write } = this.metric;
    if (!values.length) return `${label}: ${NOT_MEASURED}`;
    return `${label}, ${unit}: now ${write(values.at(-1))}, between ${write(Math.min(...values))} and ${write(Math.max(...values))}`;
  }
}

/** Labels that would lie on one another are left out; the marks below them stay. */
function spread(labels) {
  let last = -Infinity;
  return labels.filter((label) => {
    const at = parseFloat(label.style.left);
    if (at - last < 9) return false;
    last = at;
    return true;
  });
}
