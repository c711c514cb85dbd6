/** One line of the settings: what it is, a note, and its control. */
import type { ReactNode } from "react";

export function Line({ name, note, children }: { name: string; note?: string | undefined; children: ReactNode }) {
  return (
    <div className="flex min-h-10 flex-wrap items-center gap-x-6 gap-y-1 py-1.5">
      <div className="min-w-[200px] flex-1"><p className="font-medium">{name}</p>{note && <p className="text-small break-all text-ink2">{note}</p>}</div>
      <div className="flex flex-wrap items-center gap-2">{children}</div>
    </div>
  );
}
