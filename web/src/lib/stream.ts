/** Server-sent events that answer a POST: long work with progress, and chat. */
import { ApiError, UnreachableError, type Schema } from "./api";
import { route } from "./router";

export interface StreamEvent {
  kind: string;
  data: unknown;
}

/** Events out of a text that may end in the middle of one; the rest is for the next time. */
export function eventsOf(text: string): { events: StreamEvent[]; rest: string } {
  const parts = text.split(/\r?\n\r?\n/);
  const rest = parts.pop() ?? "";
  const events: StreamEvent[] = [];
  for (const part of parts) {
    const lines = part.split(/\r?\n/);
    const kind = lines.find((line) => line.startsWith("event:"))?.slice(6).trim() ?? "message";
    const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
    if (data) events.push({ kind, data: JSON.parse(data) as unknown });
  }
  return { events, rest };
}

export async function stream(path: string, body: object | null, onEvent: (event: StreamEvent) => void, signal?: AbortSignal): Promise<void> {
  const project = route().params.get("project");
  const answer = await fetch(path, {
    method: "POST",
    headers: { ...(body ? { "Content-Type": "application/json" } : {}), ...(project ? { "Wellkept-Project": encodeURIComponent(project) } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    ...(signal ? { signal } : {}),
  }).catch(() => {
    throw new UnreachableError("");
  });
  if (!answer.ok || !answer.body) throw problemOf(await answer.json().catch(() => ({})), answer.status);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const { events, rest } = eventsOf(text + value);
    text = rest;
    for (const event of events) {
      if (event.kind === "problem") throw problemOf(event.data, 0);
      onEvent(event);
    }
  }
}

function problemOf(data: unknown, status: number): ApiError {
  const problem = data as Partial<Schema["Problem"]>;
  return new ApiError(problem.status ?? status, problem.title ?? "", problem.detail ?? "", problem.hint ?? "", problem.request_id ?? "");
}
