// Times and pixels of the lab: one scale for the timeline and for the lanes of other engines.

const MARGIN = 22;

export class Scale {
  constructor(from, to, width) {
    Object.assign(this, { from, to, width });
    this.unit = (width - 2 * MARGIN) / (to - from);
  }

  static of(state, answer, width) {
    const ends = [...(answer?.extents ?? []), ...(answer?.engines ?? []).flatMap((engine) => engine.reports)];
    const begins = ends.map((one) => one.start ?? one.begin).filter(Number.isFinite);
    const finishes = ends.map((one) => one.end).filter(Number.isFinite);
    const times = state.events.map((event) => event.time);
    return new Scale(Math.min(0, ...begins), Math.max(24, ...finishes, ...times.map((time) => time + 2)), width);
  }

  x(at) {
    return MARGIN + (at - this.from) * this.unit;
  }

  time(x) {
    return Math.max(0, Math.min(500, Math.round((x - MARGIN) / this.unit + this.from)));
  }

  /** Round times, far enough apart to be read. */
  ticks() {
    const least = 44 / this.unit;
    const power = 10 ** Math.floor(Math.log10(least));
    const every = Math.max(1, [1, 2, 5, 10].map((step) => step * power).find((step) => step >= least));
    const first = Math.ceil(this.from / every) * every;
    return Array.from({ length: Math.floor((this.to - first) / every) + 1 }, (_, index) => first + index * every);
  }
}

/** Spans in as few rows as keep them apart; they may touch. */
export function rows(spans) {
  const ends = [];
  return spans.map((span) => {
    let row = ends.findIndex((end) => end <= span.left + 0.01);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = span.right;
    return { ...span, row };
  });
}

const SHORTEST = 14;

/** From where to where a bar is drawn: exactly from its start to its end, unless that could not be seen. */
export function bar(scale, start, end) {
  const [left, right] = [scale.x(start), scale.x(end)];
  const missing = Math.max(0, SHORTEST - (right - left)) / 2;
  return { left: left - missing, right: right + missing };
}

/** A number with a minus sign that is as wide as a plus. */
export const minus = (number) => String(number).replace("-", "−");

export const names = (holds) => holds.map((index) => `t${index + 1}`).join(" ") || "∅";
