// Messages of the server, gathered by query. The server keeps the history; a reconnection goes on from it.

const HISTORY = 600;

export class Queries {
  constructor() {
    this.all = new Map();
    this.known = null; // how many queries the server has; null until it has answered
  }

  take(message) {
    const query = this.all.get(message.query) ?? { name: message.query, frames: [] };
    this.all.set(message.query, query);
    if (message.kind === "frame") {
      query.frames.push(message);
      if (query.frames.length > HISTORY) query.frames.shift();
    } else {
      query[message.kind] = message;
      if (message.kind === "started") delete query.ended;
    }
  }

  clear() {
    this.all.clear();
  }
}

export function listen(queries, { changed, hello, connection }) {
  const source = new EventSource("/api/messages");
  source.addEventListener("open", () => connection("live", "live"));
  source.addEventListener("error", () => connection("lost", "no connection; trying again"));
  source.addEventListener("hello", (event) => {
    const greeting = JSON.parse(event.data);
    queries.clear();
    queries.known = greeting.queries.length;
    hello(greeting);
  });
  source.addEventListener("messages", (event) => {
    const messages = JSON.parse(event.data);
    messages.forEach((message) => queries.take(message));
    changed(messages);
  });
}
