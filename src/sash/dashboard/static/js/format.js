// Numbers for people. What was not measured is shown as such.

export const NOT_MEASURED = "not measured";

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });

const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(value) : NOT_MEASURED);

export function rate(value) {
  if (!known(value)) return NOT_MEASURED;
  return `${value < 10 ? short.format(value) : whole.format(value)}/s`;
}

export function bytes(value) {
  if (!known(value)) return NOT_MEASURED;
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (value >= size) return `${short.format(value / size)} ${unit}`;
  }
  return `${whole.format(value)} B`;
}

export function span(milliseconds) {
  if (!known(milliseconds)) return NOT_MEASURED;
  const sign = milliseconds < 0 ? "−" : "";
  const size = Math.abs(milliseconds);
  for (const [unit, length] of [["d", 864e5], ["h", 36e5], ["min", 6e4], ["s", 1e3]]) {
    if (size >= length) return `${sign}${short.format(size / length)} ${unit}`;
  }
  return `${sign}${whole.format(size)} ms`;
}

export function clock(milliseconds) {
  return known(milliseconds) ? new Date(milliseconds).toISOString().slice(11, 19) : NOT_MEASURED;
}

/** A bound of a window: a clock time, or a plain number where times are integers. */
export function bound(value) {
  if (!known(value)) return "–";
  return Math.abs(value) > 1e11 ? clock(value) : String(value);
}

export function plain(value) {
  if (typeof value !== "number") return value === null || value === undefined ? "–" : String(value);
  return Number.isInteger(value) ? whole.format(value) : short.format(value);
}
