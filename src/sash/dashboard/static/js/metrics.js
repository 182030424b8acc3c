// What is shown of a query over time: one card a number, with its course below it.
import { chart } from "./chart.js";
import { h, replace, setText } from "./dom.js";
import { NOT_MEASURED, bytes, clock, count, rate, span } from "./format.js";

const lag = (frame) => (frame.watermark === null || frame.at === null ? null : frame.at - frame.watermark);

const METRICS = [
  {
    label: "Rate", unit: "events per second", read: (frame) => frame.rate, write: rate,
    note: (frame) => `${count(frame.totals?.events)} events so far · could do ${rate(frame.capacity)}`,
  },
  {
    label: "Latency", unit: "of a micro-batch", read: (frame) => frame.latency, write: span,
    note: (frame) => `micro-batch ${frame.batch}, from trigger to commit`,
  },
  {
    label: "Watermark lag", unit: "behind the clock", read: lag, write: span,
    note: (frame) => (frame.watermark === null ? "" : `watermark ${clock(frame.watermark)} · newest event ${clock(frame.newest)}`),
  },
  {
    label: "Open windows", unit: "of a busy key", read: (frame) => frame.open, write: count, step: true,
    note: (frame) => (frame.open === null ? "not a clock window" : "begun, and waiting for the watermark"),
  },
  {
    label: "Late events", unit: "a micro-batch", read: (frame) => frame.late, write: count, kind: "late", step: true,
    shown: (frame) => frame.totals?.late, note: (frame) => `${count(frame.late)} in the latest micro-batch`,
  },
  {
    label: "State", unit: "in the state store", read: (frame) => frame.state_bytes, write: bytes,
    note: (frame) => [
      frame.state_rows !== null ? `${count(frame.state_rows)} rows` : "",
      frame.written !== null ? `${bytes(frame.written)} written, ${bytes(frame.read)} read by the latest` : "",
    ].filter(Boolean).join(" · "),
  },
];

const DEGREE = {
  label: "Degree", unit: "tasks", read: (frame) => frame.degree, write: count, step: true, wide: true,
  note: (frame, query) => (query.about?.elastic
    ? `${changes(query.frames).length} reconfigurations shown, without a restart and without moving state`
    : "fixed: the shuffle partitions of this query"),
};

/** Where the number of tasks changed: [{at, from, to}]. */
export function changes(frames) {
  const known = frames.filter((frame) => frame.degree !== null);
  return known.slice(1).flatMap((frame, index) => {
    const before = known[index].degree;
    return before === frame.degree ? [] : [{ at: frame.at, from: before, to: frame.degree }];
  });
}

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
    this.tell(latest);
  }

  tell(frame) {
    const { metric } = this;
    const words = frame ? metric.write((metric.shown ?? metric.read)(frame)) : NOT_MEASURED;
    setText(this.value, words);
    this.value.classList.toggle("none", words === NOT_MEASURED);
    setText(this.note, frame ? metric.note(frame, this.query) : "");
    this.note.title = this.note.textContent;
  }

  point(share) {
    const near = this.chart?.at(share);
    if (!near) return this.tell(this.query?.frames.at(-1));
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
    if (at - last < 5) return false;
    last = at;
    return true;
  });
}
