/** A value outside React that components can watch. */
import { useSyncExternalStore } from "react";

export interface Store<T> {
  get: () => T;
  set: (next: T | ((before: T) => T)) => void;
  subscribe: (listener: () => void) => () => void;
}

export function makeStore<T>(value: T): Store<T> {
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (next) => {
      const after = typeof next === "function" ? (next as (before: T) => T)(value) : next;
      if (Object.is(after, value)) return;
      value = after;
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}

/** A choice that this browser remembers. */
export function makeSetting<T extends string>(name: string, usual: T, allowed: readonly T[]): Store<T> {
  const key = `wellkept.${name}`;
  let kept: string | null = null;
  try {
    kept = localStorage.getItem(key);
  } catch {
    // Storage may be switched off; the usual value holds.
  }
  const store = makeStore<T>(allowed.find((one) => one === kept) ?? usual);
  store.subscribe(() => {
    try {
      localStorage.setItem(key, store.get());
    } catch {
      // As above.
    }
  });
  return store;
}
