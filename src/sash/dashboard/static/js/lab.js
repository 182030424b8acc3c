// The window lab: the window, the events, and the answer of the server to them.
import { h, replace } from "./dom.js";
import { Answers } from "./lab-answers.js";
import { Arrivals } from "./lab-arrivals.js";
import { BEST, EXAMPLES } from "./lab-examples.js";
import { Timeline } from "./lab-timeline.js";

const MOST = 40;

export class Lab {
  constructor(place) {
    this.state = { kind: "sliding", numbers: {}, order: "event-time", delay: 2, allowed_lateness: 0, events: [], arrived: 0, selected: null };
    const actions = {
      add: (time) => this.add(time), move: (event, time) => this.move(event, time), select: (event) => this.select(event),
      remove: (event) => this.remove(event), order: (event, by) => this.place(event, this.state.events.indexOf(event) + by),
      place: (event, index) => this.place(event, index), arrive: (count) => this.change({ arrived: count }),
    };
    [this.timeline, this.arrivals, this.answers] = [new Timeline(actions), new Arrivals(actions), new Answers()];
    this.refused = h("p", { class: "refused", role: "alert" });
    this.windowForm = h("form", { class: "card window-form", "aria-label": "The window", onsubmit: (event) => event.preventDefault() });
    this.label = h("h2", {}, "loading…");
    this.meaning = h("p", { class: "meaning" });
    this.formula = h("p", { class: "formula" });
    this.context = h("span", { class: "badge" });
    this.editor = h("div", { class: "editor" });
    this.status = h("p", { class: "unseen", role: "status" });
    this.results = h("div", { class: "results", "aria-busy": "true" },
      h("div", { class: "first" }, h("div", { class: "headline" }, this.label, this.context), this.meaning, this.formula),
      h("section", { class: "card first", "aria-labelledby": "windows" },
        h("h3", {}, h("span", { id: "windows" }, "Events and windows"), h("span", { class: "soft" }, "click the line to add an event, drag one to move it")),
        this.timeline.element, legend(), this.editor),
      this.arrivals.element,
      this.answers.beside, this.answers.below, this.status);
    replace(this.windowForm, h("h2", {}, "Window"), h("p", { class: "soft" }, "loading…"));
    place.append(h("div", { class: "bench" }, this.windowForm, this.results));
    this.use("disorder");
    addEventListener("resize", () => this.draw());
  }

  /** The lab has come into view: before that it has no width to draw on. */
  async shown() {
    if (!this.kinds) {
      this.kinds = await (await fetch("/api/lab")).json();
      this.form();
    }
    this.request();
  }

  form() {
    const { state, kinds } = this;
    const { about, parameters } = kinds[state.kind];
    const kind = h("select", { "data-focus": "kind", onchange: (event) => this.kind(event.target.value) },
      Object.entries(kinds).map(([name, one]) => h("option", { value: name, selected: name === state.kind }, one.title)));
    const example = h("select", { "data-focus": "example", onchange: (event) => { this.use(event.target.value); this.form(); this.request(); } },
      Object.entries(EXAMPLES).map(([name, one]) => h("option", { value: name, selected: name === this.example }, one.title)));
    const order = h("select", { "data-focus": "order", onchange: (event) => this.change({ order: event.target.value }) },
      [["event-time", "event time"], ["arrival", "arrival"]].map(([name, words]) => h("option", { value: name, selected: name === state.order }, words)));
    replace(this.windowForm,
      h("h2", {}, "Window"),
      h("label", { class: "field" }, "Kind", kind),
      h("p", { class: "soft small" }, about),
      h("div", { class: "numbers" }, parameters.map((one) => this.parameter(one))),
      this.refused,
      h("hr"),
      h("p", { class: "soft small" }, "How far an event may lag behind the newest one and be on time, and how much later it still corrects a result:"),
      h("div", { class: "numbers" }, this.number("Delay", "delay"), this.number("Lateness", "allowed_lateness")),
      h("label", { class: "field" }, "Order", order),
      h("hr"),
      h("label", { class: "field" }, "Begin with", example));
  }

  parameter(one) {
    const value = this.state.numbers[one.name] ?? one.default;
    const set = (given) => this.change({ numbers: { ...this.state.numbers, [one.name]: given } });
    const focus = { "data-focus": one.name, name: one.name };
    const input = one.measure === "choice"
      ? h("select", { ...focus, onchange: (event) => set(event.target.value) }, one.choices.map((name) => h("option", { value: name, selected: name === value }, name)))
      : h("input", { ...focus, type: "number", value, min: one.measure === "x" ? null : one.name === "origin" ? 0 : 1, max: 500, step: one.measure === "x" ? "any" : 1, oninput: (event) => set(event.target.valueAsNumber) });
    return h("label", { class: "field" }, capital(one.label), input);
  }

  number(label, name) {
    return h("label", { class: "field" }, label, h("input", {
      type: "number", name, "data-focus": name, min: 0, max: 500, value: this.state[name],
      oninput: (event) => this.change({ [name]: event.target.valueAsNumber }),
    }));
  }

  edit() {
    const { events, selected } = this.state;
    const index = events.indexOf(selected);
    const field = (label, value, change, least) => h("label", { class: "field" }, label, h("input", {
      type: "number", value, min: least, "data-focus": `edit ${label}`, disabled: !selected,
      onchange: (event) => { if (Number.isFinite(event.target.valueAsNumber)) change(event.target.valueAsNumber); },
    }));
    replace(this.editor,
      field("Time", selected?.time ?? "", (time) => this.move(selected, time), 0),
      field("x", selected?.x ?? "", (x) => { selected.x = x; this.touch(); }),
      field("Arrives", selected ? index + 1 : "", (number) => this.place(selected, number - 1), 1),
      h("button", { type: "button", class: "button", "data-focus": "add", disabled: events.length >= MOST, onclick: () => this.add() }, "Add event"),
      h("button", { type: "button", class: "button", "data-focus": "remove", disabled: !selected, onclick: () => this.remove(selected) }, selected ? `Remove t${index + 1}` : "Remove"),
      h("button", { type: "button", class: "button", "data-focus": "sort", onclick: () => { events.sort((one, other) => one.time - other.time); this.touch(); } }, "Arrive in order of time"));
  }

  use(example) {
    const { events, delay } = EXAMPLES[example];
    this.example = example;
    this.touched = false;
    this.ids = 0;
    this.state.events = events.map(([time, x]) => ({ id: this.ids++, time, x }));
    Object.assign(this.state, { delay, arrived: events.length, selected: this.state.events[3] });
  }

  kind(kind) {
    Object.assign(this.state, { kind, numbers: {} });
    const best = BEST[kind] ?? "disorder";
    if (!this.touched && best !== this.example) this.use(best);
    this.form();
    this.request();
  }

  add(time) {
    const { events } = this.state;
    if (events.length >= MOST) return null;
    const latest = Math.max(0, ...events.map((event) => event.time));
    const event = { id: this.ids++, time: time ?? Math.min(500, latest + 1), x: 1 + (events.length % 9) };
    events.push(event);
    this.state.arrived = events.length;
    this.state.selected = event;
    this.touch();
    return event;
  }

  move(event, time) {
    event.time = Math.max(0, Math.min(500, Math.round(time)));
    this.touch();
  }

  place(event, index) {
    const { events } = this.state;
    const to = Math.max(0, Math.min(events.length - 1, index));
    events.splice(events.indexOf(event), 1);
    events.splice(to, 0, event);
    this.touch();
  }

  remove(event) {
    const { state } = this;
    const index = state.events.indexOf(event);
    if (index < 0) return;
    state.events.splice(index, 1);
    if (index < state.arrived) state.arrived -= 1;
    state.selected = state.events[Math.min(index, state.events.length - 1)] ?? null;
    this.touch();
  }

  select(event) {
    if (this.state.selected !== event) this.change({ selected: event });
  }

  touch() {
    this.touched = true;
    this.change({});
  }

  change(changes) {
    Object.assign(this.state, changes);
    this.answer = null; // the answer for other events, or another order, must not be shown for these
    this.draw();
    this.request();
  }

  async request() {
    const { kind, numbers, order, delay, allowed_lateness, events, arrived, selected } = this.state;
    const index = events.indexOf(selected);
    const body = JSON.stringify({
      kind, numbers, order, delay, allowed_lateness,
      events: events.slice(0, arrived).map(({ time, x }) => ({ time, x })), selected: index >= 0 && index < arrived ? index : null,
    });
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.results.setAttribute("aria-busy", "true");
    const response = await fetch("/api/lab", { method: "POST", headers: { "content-type": "application/json" }, body });
    const answer = await response.json();
    if (turn !== this.turn) return;
    this.refused.textContent = response.ok ? "" : answer.error;
    this.results.setAttribute("aria-busy", "false");
    if (!response.ok) return;
    this.answer = answer;
    this.label.textContent = answer.window.label;
    this.meaning.textContent = answer.window.meaning;
    this.formula.textContent = answer.window.formula;
    this.context.textContent = answer.window.context;
    this.status.textContent = `${answer.extents.length} windows`;
    this.draw();
    this.answers.draw(this.state, answer, this.timeline.scale);
  }

  draw() {
    this.timeline.draw(this.state, this.answer);
    this.arrivals.draw(this.state, this.answer);
    this.edit();
  }
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

function legend() {
  return h("p", { class: "legend", "aria-hidden": "true" },
    h("span", {}, h("i"), "reported"), h("span", { class: "waits" }, h("i"), "waits"),
    h("span", { class: "chosen-one" }, h("i"), "holds the chosen event"), h("span", { class: "late" }, h("i"), "late event"),
    h("span", { class: "now" }, h("i"), "watermark"),
    h("span", {}, "[a, b) holds a and not b; [a, b] holds both"));
}
