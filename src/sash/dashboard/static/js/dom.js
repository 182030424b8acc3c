// Elements without a framework: h("p", {class: "soft"}, "words") and the same for SVG.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [rule, to] of Object.entries(value)) element.style.setProperty(rule, to);
    else if (name in element && (name === "value" || name === "checked")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** The children of an element, all at once; the focus stays with what has the same data-focus. */
export function replace(element, ...children) {
  const held = element.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  element.replaceChildren(...children.flat().filter(Boolean));
  if (held) element.querySelector(`[data-focus="${CSS.escape(held)}"]`)?.focus();
}

export const setText = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};
