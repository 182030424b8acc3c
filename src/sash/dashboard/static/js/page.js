// The page: which view is shown, and the messages of the server.
import { Lab } from "./lab.js";
import { Board } from "./query-board.js";
import { Queries, listen } from "./server-messages.js";

const VIEWS = ["queries", "lab"];
const queries = new Queries();
const board = new Board(document.getElementById("queries"), queries);
const lab = new Lab(document.getElementById("lab"));
const status = document.getElementById("connection");

function show(view) {
  document.getElementById("loading").hidden = true;
  for (const name of VIEWS) document.getElementById(name).hidden = name !== view;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = view === "lab" ? "Window lab · Sash" : "Queries · Sash";
  if (view === "lab") lab.shown();
  else board.show();
}

const chosenView = () => VIEWS.find((view) => location.hash.slice(1).split("?")[0] === view);

addEventListener("hashchange", () => show(chosenView() ?? "queries"));
if (chosenView()) show(chosenView());

listen(queries, {
  connection(kind, words) {
    status.className = `connection ${kind}`;
    status.textContent = words;
  },
  hello({ queries: names }) {
    // Without queries there is only the lab to look at.
    show(chosenView() ?? (names.length ? "queries" : "lab"));
  },
  changed() {
    if (!document.getElementById("queries").hidden) board.show();
  },
});
