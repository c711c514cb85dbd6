/** Calls to the server, typed by its OpenAPI document (`schema.d.ts`, generated). */
import type { components, paths } from "./schema";
import { route } from "./router";

export type Schema = components["schemas"];

type JsonOf<T> = T extends { responses: { 200: { content: { "application/json": infer R } } } } ? R : never;
type QueryOf<T> = T extends { parameters: { query?: infer Q } } ? Q : never;
type SentTo<T> = T extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;

type Method = "get" | "post" | "patch" | "delete";
type PathsOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type OperationOf<P extends keyof paths, M extends Method> = M extends keyof paths[P] ? paths[P][M] : never;

/** What a path takes. */
export type BodyOf<P extends PathsOf<"post">> = SentTo<OperationOf<P, "post">>;

interface Options<Q, B> {
  path?: Record<string, string>;
  query?: Q;
  body?: B;
  signal?: AbortSignal;
}

/** What the server could not do, in its own words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly hint: string,
    readonly requestId: string,
  ) {
    super(detail || title);
    this.name = "ApiError";
  }
}

/** The server did not answer at all. */
export class UnreachableError extends Error {
  constructor(readonly requestId: string) {
    super("unreachable");
    this.name = "UnreachableError";
  }
}

function requestId(): string {
  return crypto.getRandomValues(new Uint32Array(1))[0]?.toString(16).padStart(8, "0") ?? "0";
}

export function addressOf(template: string, path: Record<string, string> = {}, query: object = {}): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return text ? `${filled}?${text}` : filled;
}

async function call<R>(method: Method, template: string, options: Options<unknown, unknown>): Promise<R> {
  const id = requestId();
  const project = route().params.get("project");
  let response: Response;
  try {
    response = await fetch(addressOf(template, options.path, options.query as object), {
      method: method.toUpperCase(),
      headers: {
        "X-Request-ID": id,
        ...(project ? { "Wellkept-Project": encodeURIComponent(project) } : {}),
        ...(options.body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new UnreachableError(id);
  }
  if (!response.ok) throw await errorOf(response, id);
  return (await response.json()) as R;
}

async function errorOf(response: Response, id: string): Promise<ApiError> {
  let problem: Partial<Schema["Problem"]> = {};
  try {
    problem = (await response.json()) as Partial<Schema["Problem"]>;
  } catch {
    // Not a problem document; the status says enough.
  }
  const { title = response.statusText, detail = "", hint = "", request_id = id } = problem;
  return new ApiError(response.status, title, detail, hint, request_id || id);
}

export function get<P extends PathsOf<"get">>(
  path: P,
  options: Options<QueryOf<OperationOf<P, "get">>, never> = {},
): Promise<JsonOf<OperationOf<P, "get">>> {
  return call("get", path as string, options);
}

export function post<P extends PathsOf<"post">>(
  path: P,
  options: Options<QueryOf<OperationOf<P, "post">>, SentTo<OperationOf<P, "post">>> = {},
): Promise<JsonOf<OperationOf<P, "post">>> {
  return call("post", path as string, options);
}

export function patch<P extends PathsOf<"patch">>(
  path: P,
  options: Options<QueryOf<OperationOf<P, "patch">>, SentTo<OperationOf<P, "patch">>> = {},
): Promise<JsonOf<OperationOf<P, "patch">>> {
  return call("patch", path as string, options);
}

export function remove<P extends PathsOf<"delete">>(
  path: P,
  options: Options<QueryOf<OperationOf<P, "delete">>, never> = {},
): Promise<JsonOf<OperationOf<P, "delete">>> {
  return call("delete", path as string, options);
}
