/** Live events by SSE, and whether the server can be reached.

While it cannot, what is on the screen stays and actions wait (`onlineManager`). The last event
number is kept, so that a return brings what happened meanwhile.
*/
import { onlineManager, type QueryClient } from "@tanstack/react-query";
import type { Schema } from "./api";
import { makeStore } from "./store";

export type News = Schema["Event"];

export interface Connection {
  state: "starting" | "live" | "away" | "refused";
  /** When the state began, and when the next try is. */
  since: number;
  nextTryAt: number;
  missed: number;
}

export const connection = makeStore<Connection>({ state: "starting", since: Date.now(), nextTryAt: 0, missed: 0 });
/** The latest events, newest first. */
export const latest = makeStore<readonly News[]>([]);

const KEPT = 40;
const QUIET_MS = 300;
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 20_000;

const KINDS: readonly News["kind"][] = [
  "session_started", "session_ended", "observation_stored", "memory_stored", "memory_changed",
  "memory_closed", "memory_deleted", "memories_archived", "skills_detected", "skill_generated", "lines_given", "lines_judged",
];

/** The queries that an event makes old. */
export function touchedBy(kind: string): readonly string[] {
  if (kind.startsWith("skill")) return ["skills", "health", "next"];
  if (kind.startsWith("session")) return ["sessions", "session", "health", "review", "next", "pages", "replay"];
  if (kind === "observation_stored" || kind.startsWith("lines")) return ["session", "sessions", "health"];
  // New rows wait behind a button: nothing moves under the pointer.
  if (kind === "memory_stored") return ["facets", "review", "health", "session", "map", "next", "pages"];
  return ["memories", "memory", "facets", "review", "health", "session", "map", "next", "pages"];
}

export class LiveFeed {
  #source: EventSource | null = null;
  #timer = 0;
  #flushTimer = 0;
  #wait = FIRST_WAIT_MS;
  #lastId = "";
  #touched = new Set<string>();
  #listeners = new Set<(news: News) => void>();

  constructor(
    readonly client: QueryClient,
    readonly project: string,
  ) {}

  start(): void {
    this.#open();
  }

  stop(): void {
    this.#close();
    clearTimeout(this.#flushTimer);
  }

  onNews(listener: (news: News) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tryNow(): void {
    this.#close();
    this.#open();
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #open(): void {
    const search = new URLSearchParams();
    if (this.project) search.set("project", this.project);
    if (this.#lastId) search.set("after", this.#lastId);
    const source = new EventSource(`/api/events?${search}`);
    this.#source = source;
    source.onopen = () => this.#came();
    source.onerror = () => void this.#failed();
    for (const kind of KINDS) source.addEventListener(kind, (event) => this.#take(event as MessageEvent<string>));
    source.addEventListener("gap", () => void this.client.invalidateQueries());
  }

  #came(): void {
    const wasAway = connection.get().state === "away";
    this.#wait = FIRST_WAIT_MS;
    onlineManager.setOnline(true);
    connection.set({ state: "live", since: Date.now(), nextTryAt: 0, missed: 0 });
    if (wasAway) {
      connection.set((now) => ({ ...now, missed: -1 }));
      void this.client.invalidateQueries();
    }
  }

  async #failed(): Promise<void> {
    this.#close();
    const alive = await fetch("/api/health").then((answer) => answer.ok, () => false);
    const refused = alive && !this.#lastId && connection.get().state === "starting" && (await isRefused());
    const before = connection.get();
    onlineManager.setOnline(alive);
    const state = refused ? "refused" : alive ? "live" : "away";
    connection.set({
      state,
      since: before.state === state ? before.since : Date.now(),
      nextTryAt: Date.now() + this.#wait,
      missed: 0,
    });
    this.#timer = window.setTimeout(() => this.#open(), this.#wait);
    this.#wait = Math.min(LONGEST_WAIT_MS, this.#wait * 1.6);
  }

  #take(event: MessageEvent<string>): void {
    this.#lastId = event.lastEventId || this.#lastId;
    const news = JSON.parse(event.data) as News;
    latest.set((before) => [news, ...before].slice(0, KEPT));
    if (connection.get().missed) connection.set((now) => ({ ...now, missed: now.missed < 0 ? 1 : now.missed + 1 }));
    for (const name of touchedBy(news.kind)) this.#touched.add(name);
    for (const listener of this.#listeners) listener(news);
    // Many events within a moment make one refetch.
    clearTimeout(this.#flushTimer);
    this.#flushTimer = window.setTimeout(() => this.#flush(), QUIET_MS);
  }

  #flush(): void {
    const touched = this.#touched;
    this.#touched = new Set();
    void this.client.invalidateQueries({ predicate: ({ queryKey }) => touched.has(String(queryKey[0])) });
  }
}

async function isRefused(): Promise<boolean> {
  const answer = await fetch("/api/projects").catch(() => null);
  return answer?.status === 401 || answer?.status === 403;
}
