/** A little Markdown as elements: headings, lists, code blocks and paragraphs. Never HTML. */
import { Fragment, type ReactNode } from "react";
import { Statement } from "./basics";

type Block =
  | { kind: "heading"; text: string; level: number }
  | { kind: "code"; text: string }
  | { kind: "list"; items: string[]; ordered: boolean }
  | { kind: "text"; text: string };

export function blocksOf(source: string): Block[] {
  const blocks: Block[] = [];
  let code: string[] | null = null;
  for (const line of source.split("\n")) {
    if (/^\s*(```|~~~)/.test(line)) {
      if (code) blocks.push({ kind: "code", text: code.join("\n") });
      code = code ? null : [];
      continue;
    }
    if (code) {
      code.push(line);
      continue;
    }
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    const item = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/.exec(line);
    const last = blocks.at(-1);
    if (heading) blocks.push({ kind: "heading", text: heading[2] ?? "", level: heading[1]?.length ?? 1 });
    else if (item) {
      const ordered = item[1] !== undefined;
      if (last?.kind === "list" && last.ordered === ordered) last.items.push(item[2] ?? "");
      else blocks.push({ kind: "list", items: [item[2] ?? ""], ordered });
    } else if (!line.trim()) blocks.push({ kind: "text", text: "" });
    else if (last?.kind === "list" && /^\s{2,}/.test(line)) last.items[last.items.length - 1] += ` ${line.trim()}`;
    else if (last?.kind === "text" && last.text) last.text += `\n${line}`;
    else blocks.push({ kind: "text", text: line });
  }
  if (code) blocks.push({ kind: "code", text: code.join("\n") });
  return blocks.filter((one) => one.kind !== "text" || one.text);
}

function strong(text: string): ReactNode {
  return text.split(/\*\*([^*]+)\*\*/).map((part, index) => (index % 2 ? <strong key={index} className="font-semibold"><Statement text={part} /></strong> : <Fragment key={index}><Statement text={part} /></Fragment>));
}

export function Markdown({ text }: { text: string }) {
  return (
    <div className="space-y-2.5 text-ink2">
      {blocksOf(text).map((one, index) => {
        if (one.kind === "heading") return <p key={index} role="heading" aria-level={Math.min(6, one.level + 2)} className="pt-1.5 font-mono font-semibold text-ink">{"#".repeat(one.level)} {strong(one.text)}</p>;
        if (one.kind === "code") return <pre key={index} tabIndex={0} className="overflow-x-auto rounded-control bg-code p-3 font-mono text-small"><Statement text={one.text} /></pre>;
        if (one.kind === "text") return <p key={index} className="whitespace-pre-wrap">{strong(one.text)}</p>;
        const List = one.ordered ? "ol" : "ul";
        return <List key={index} className={one.ordered ? "list-decimal space-y-1 pl-5" : "list-disc space-y-1 pl-5"}>{one.items.map((item, at) => <li key={at}>{strong(item)}</li>)}</List>;
      })}
    </div>
  );
}
