// The timeline of the lab: events that can be added, moved and taken away, and the windows over them.
import { replace, svg } from "./dom.js";
import { Scale, bar, minus, names, rows } from "./lab-scale.js";

const STACK = 40;
const APART = 29;
const ROW = 28;

export class Timeline {
  /** actions: add(time), move(event, time), select(event), remove(event), order(event, by). */
  constructor(actions) {
    this.actions = actions;
    this.element = svg("svg", { class: "timeline", role: "group", "aria-label": "Timeline: events, and the windows below them" });
    this.element.addEventListener("pointerdown", (event) => this.grab(event));
    this.element.addEventListener("pointermove", (event) => this.drag(event));
    this.element.addEventListener("pointerup", () => this.drop());
    this.element.addEventListener("pointercancel", () => this.drop());
  }

  draw(state, answer) {
    this.state = state;
    const width = this.element.clientWidth || 900;
    // A scale that moves under the pointer would run away from it.
    if (!this.grabbed) this.scale = Scale.of(state, answer, width);
    const levels = stacked(state.events, this.scale);
    const axis = 26 + STACK * (Math.max(0, ...levels.values()) + 1);
    const spans = rows((answer?.extents ?? []).filter((one) => one.start !== null).map((extent) => ({
      extent, ...bar(this.scale, extent.start, extent.end),
    })));
    const height = axis + 34 + ROW * (Math.max(-1, ...spans.map((span) => span.row)) + 1) + 8;
    this.element.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.element.setAttribute("height", height);
    replace(this.element,
      svg("rect", { class: "sky", width, height: axis + 24 }),
      this.axis(axis, height),
      spans.map((span) => this.window(span, axis + 34, state)),
      this.watermark(answer, height),
      state.events.map((event, index) => this.event(event, index, axis, axis - 16 - STACK * levels.get(event), answer)));
  }

  axis(y, height) {
    const drawn = svg("g", { "aria-hidden": "true" });
    for (const at of this.scale.ticks()) {
      const x = this.scale.x(at);
      drawn.append(
        svg("line", { class: "grid", x1: x, x2: x, y1: y, y2: height }),
        svg("text", { class: "tick", x, y: y + 18, "text-anchor": "middle" }, at));
    }
    drawn.append(svg("line", { class: "axis", x1: 8, x2: this.scale.width - 8, y1: y, y2: y }));
    return drawn;
  }

  event(event, index, axis, y, answer) {
    const judged = answer?.events[index];
    const late = judged?.late;
    const arrived = index < this.state.arrived;
    const selected = event === this.state.selected;
    const kind = [selected ? "selected" : "", late ? "late" : "", arrived ? "" : "future", this.grabbed === event ? "grabbed" : ""];
    const held = judged?.windows?.length ? `in window ${judged.windows.join(", ")}` : late ?? "in no window";
    return svg("g", {
      class: `event ${kind.join(" ")}`, transform: `translate(${this.scale.x(event.time)},${y})`,
      "data-event": index, "data-focus": `event ${event.id}`, tabindex: "0", role: "slider",
      "aria-label": `event t${index + 1}`, "aria-valuemin": 0, "aria-valuemax": 500, "aria-valuenow": event.time,
      "aria-valuetext": `time ${event.time}, x ${event.x}, ${arrived ? held : "has not arrived"}`,
      onkeydown: (key) => this.key(key, event), onfocus: () => this.actions.select(event),
    },
    svg("line", { class: "stem", y1: 13, y2: axis - y }),
    svg("circle", { r: 13 }),
    svg("text", { class: "x", y: 4, "text-anchor": "middle" }, event.x),
    svg("text", { class: "t", y: -18, "text-anchor": "middle" }, `t${index + 1}`));
  }

  window({ extent, left, right, row }, top, state) {
    const y = top + row * ROW;
    const wide = right - left - 2;
    const holds = extent.holds.includes(state.events.indexOf(state.selected));
    const waits = extent.reported === null;
    const revised = extent.revision ? `, revision ${extent.revision}` : "";
    const standing = waits ? "waits" : `reported when t${extent.reported + 1} arrived${revised}`;
    const [name, content] = [`w ${minus(extent.id)}`, names(extent.holds)];
    const interval = minus(extent.interval);
    const room = wide - 16;
    const drawn = svg("g", {
      class: `window ${waits ? "waits" : ""} ${holds ? "holds" : ""}`, role: "img", "data-window": extent.id,
      "data-holds": extent.holds.join(" "), "data-from": extent.start, "data-to": extent.end,
      "aria-label": `window ${extent.id}, ${interval}, holds ${content}: ${standing}`,
    },
    svg("title", {}, `window ${extent.id}: ${interval}, holds ${content}; ${standing}`),
    svg("rect", { x: left + 1, y, width: wide, height: ROW - 6, rx: 3 }));
    if (name.length * 7 < room) drawn.append(svg("text", { x: left + 10, y: y + 15.5 }, name));
    const shown = [`${interval}  ${content}`, interval].find((words) => (name.length + words.length + 2) * 6.8 < room);
    if (shown) drawn.append(svg("text", { class: "content", x: left + 18 + name.length * 7, y: y + 15.5 }, shown));
    return drawn;
  }

  watermark(answer, height) {
    if (answer?.watermark === null || answer?.watermark === undefined) return null;
    const x = this.scale.x(answer.watermark);
    if (x < 0) return null;
    const left = x > this.scale.width - 120;
    return svg("g", { class: "watermark" },
      svg("line", { x1: x, x2: x, y1: 4, y2: height }),
      svg("text", { x: x + (left ? -6 : 6), y: 12, "text-anchor": left ? "end" : "start" }, `watermark ${answer.watermark}`));
  }

  key(key, event) {
    const step = key.shiftKey ? 5 : 1;
    const done = {
      ArrowLeft: () => this.actions.move(event, event.time - step),
      ArrowRight: () => this.actions.move(event, event.time + step),
      ArrowUp: () => this.actions.order(event, -1),
      ArrowDown: () => this.actions.order(event, 1),
      Delete: () => this.actions.remove(event),
      Backspace: () => this.actions.remove(event),
    }[key.key];
    if (!done) return;
    key.preventDefault();
    done();
  }

  grab(pointer) {
    if (pointer.button !== 0) return;
    const at = pointer.target.closest("[data-event]");
    if (!at && !pointer.target.classList.contains("sky")) return;
    pointer.preventDefault();
    this.element.setPointerCapture(pointer.pointerId);
    this.grabbed = at ? this.state.events[Number(at.dataset.event)] : this.actions.add(this.at(pointer));
    if (this.grabbed) this.actions.select(this.grabbed);
  }

  drag(pointer) {
    if (this.grabbed && this.at(pointer) !== this.grabbed.time) this.actions.move(this.grabbed, this.at(pointer));
  }

  drop() {
    if (!this.grabbed) return;
    const event = this.grabbed;
    this.grabbed = null;
    this.actions.move(event, event.time);
    this.element.querySelector(`[data-focus="event ${event.id}"]`)?.focus();
  }

  at(pointer) {
    return this.scale.time(pointer.clientX - this.element.getBoundingClientRect().left);
  }
}

/** How high each event stands: above those that it would lie on, the first to arrive lowest. */
function stacked(events, scale) {
  const taken = [];
  return new Map(events.map((event) => {
    const x = scale.x(event.time);
    let level = 0;
    while (taken[level]?.some((other) => Math.abs(other - x) < APART)) level += 1;
    (taken[level] ??= []).push(x);
    return [event, level];
  }));
}
