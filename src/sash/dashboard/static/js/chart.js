// A line over time, as SVG that fills its box: widths are stretched, strokes and words are not.
import { svg } from "./dom.js";

const WIDTH = 600;
const HEIGHT = 100;

/** points: [{at, value}], a value of null is a gap. Answers with the element and how to look something up. */
export function chart(points, { label, step = false, kind = "", marks = [], zero = true } = {}) {
  const known = points.filter((point) => Number.isFinite(point.value));
  const element = svg("svg", {
    class: `chart ${kind}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": label,
  });
  element.append(svg("line", { class: "base", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }));
  if (!known.length) return { element, at: () => null };
  const from = points[0].at;
  const to = Math.max(points.at(-1).at, from + 1);
  const values = known.map((point) => point.value);
  const low = zero ? Math.min(0, ...values) : Math.min(...values);
  const high = Math.max(...values, low + 1e-9) * 1.08;
  const x = (at) => ((at - from) / (to - from)) * WIDTH;
  const y = (value) => HEIGHT - ((value - low) / (high - low || 1)) * HEIGHT;
  for (const run of runs(points)) {
    const line = path(run, x, y, step);
    const [first, last] = [x(run[0].at), x(run.at(-1).at)];
    element.append(
      svg("path", { class: "area", d: `${line}L${last.toFixed(1)},${HEIGHT}L${first.toFixed(1)},${HEIGHT}Z` }),
      svg("path", { class: "line", d: line }),
    );
  }
  for (const mark of marks) {
    element.append(svg("line", { class: "mark", x1: x(mark.at), x2: x(mark.at), y1: 0, y2: HEIGHT }));
  }
  const cursor = svg("line", { class: "cursor", y1: 0, y2: HEIGHT, visibility: "hidden" });
  element.append(cursor);
  return {
    element,
    share: (at) => (at - from) / (to - from),
    /** The point nearest to a share of the width, with the cursor put there; null takes it away. */
    at(share) {
      cursor.setAttribute("visibility", share === null ? "hidden" : "visible");
      if (share === null) return null;
      const pointedAt = from + share * (to - from);
      const near = known.reduce((best, point) => (Math.abs(point.at - pointedAt) < Math.abs(best.at - pointedAt) ? point : best));
      cursor.setAttribute("x1", x(near.at));
      cursor.setAttribute("x2", x(near.at));
      return near;
    },
  };
}

function* runs(points) {
  let run = [];
  for (const point of points) {
    if (Number.isFinite(point.value)) run.push(point);
    else if (run.length) {
      yield run;
      run = [];
    }
  }
  if (run.length) yield run;
}

function path(run, x, y, step) {
  let drawn = "";
  run.forEach((point, index) => {
    const [px, py] = [x(point.at).toFixed(1), y(point.value).toFixed(1)];
    if (index && step) drawn += `H${px}V${py}`;
    else drawn += `${index ? "L" : "M"}${px},${py}`;
  });
  return run.length === 1 ? `${drawn}h0.1` : drawn;
}
