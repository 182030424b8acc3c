// The order of arrival: a row of events that is reordered by dragging, or with the arrow keys.
import { h, replace } from "./dom.js";

export class Arrivals {
  /** actions: select(event), place(event, index), order(event, by), remove(event), arrive(count). */
  constructor(actions) {
    this.actions = actions;
    this.row = h("ol", { class: "arrivals", "aria-label": "Events in the order of their arrival" });
    this.row.addEventListener("pointerdown", (event) => this.grab(event));
    this.row.addEventListener("pointermove", (event) => this.drag(event));
    this.row.addEventListener("pointerup", () => this.drop());
    this.row.addEventListener("pointercancel", () => this.drop());
    this.slider = h("input", { type: "range", id: "arrived", min: 0, oninput: () => actions.arrive(Number(this.slider.value)) });
    this.words = h("output", { for: "arrived" });
    this.element = h("section", { class: "card", "aria-labelledby": "arrivals" },
      h("h3", {}, h("span", { id: "arrivals" }, "Arrival"), h("span", { class: "soft" }, "drag, or use the arrow keys, to change the order")),
      this.row,
      h("div", { class: "replay" }, h("label", { for: "arrived" }, "Arrived so far"), this.slider, this.words));
  }

  draw(state, answer) {
    this.state = state;
    replace(this.row, state.events.map((event, index) => this.chip(event, index, answer)));
    this.slider.max = state.events.length;
    this.slider.value = state.arrived;
    this.words.textContent = `${state.arrived} of ${state.events.length}`;
  }

  chip(event, index, answer) {
    const judged = index < this.state.arrived ? answer?.events[index] : null;
    const kind = [judged?.late ? "late" : "", index < this.state.arrived ? "" : "future", event === this.grabbed ? "dragged" : ""];
    return h("li", {}, h("button", {
      class: `arrival ${kind.join(" ")}`, "data-index": index, "data-focus": `arrival ${event.id}`,
      "aria-pressed": String(event === this.state.selected), title: judged?.late ?? null,
      "aria-label": `t${index + 1}, time ${event.time}, x ${event.x}${judged?.late ? `, ${judged.late}` : ""}; arrives as number ${index + 1} of ${this.state.events.length}`,
      onclick: () => this.actions.select(event), onkeydown: (key) => this.key(key, event),
    }, h("b", {}, `t${index + 1}`), h("span", { class: "small" }, `at ${event.time}`)));
  }

  key(key, event) {
    const done = {
      ArrowLeft: () => this.actions.order(event, -1),
      ArrowRight: () => this.actions.order(event, 1),
      Delete: () => this.actions.remove(event),
    }[key.key];
    if (!done) return;
    key.preventDefault();
    done();
  }

  grab(pointer) {
    const chip = pointer.target.closest("[data-index]");
    if (!chip || pointer.button !== 0) return;
    this.grabbed = this.state.events[Number(chip.dataset.index)];
    this.row.setPointerCapture(pointer.pointerId);
  }

  drag(pointer) {
    if (!this.grabbed) return;
    const below = document.elementsFromPoint(pointer.clientX, pointer.clientY).find((one) => one.dataset?.index !== undefined);
    const index = below ? Number(below.dataset.index) : -1;
    if (index >= 0 && this.state.events[index] !== this.grabbed) this.actions.place(this.grabbed, index);
  }

  drop() {
    if (!this.grabbed) return;
    const event = this.grabbed;
    this.grabbed = null;
    // Captured pointers click the row, not the button below them.
    this.actions.select(event);
    this.row.querySelector(`[data-focus="arrival ${event.id}"]`)?.focus();
  }
}
