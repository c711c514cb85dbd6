/** Chat: answers from memory with citations; word for word, or streamed by a model if one is set. */
import { Send } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schema } from "@/lib/api";
import { useProject } from "@/lib/queries";
import { href } from "@/lib/router";
import { stream } from "@/lib/stream";
import { Badge, Button, Failure, Statement } from "@/parts/basics";
import { Boundary } from "@/parts/boundary";
import { Markdown } from "@/parts/markdown";

interface Turn {
  question: string;
  answer: string;
  citations: readonly Schema["Citation"][];
  model: string | null;
  known: boolean;
  state: "asking" | "done" | "failed";
  error?: unknown;
}

const EXAMPLES = ["check", "traps", "decided"] as const;

export default function Chat() {
  const { t } = useTranslation();
  const project = useProject();
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [question, setQuestion] = useState("");
  const end = useRef<HTMLDivElement>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), [project]);
  const busy = turns.at(-1)?.state === "asking";
  const patchLast = (change: (last: Turn) => Turn) => setTurns((before) => before.map((one, index) => (index === before.length - 1 ? change(one) : one)));
  const ask = async (typed: string) => {
    const asked = typed.trim();
    if (!asked || busy) return;
    setQuestion("");
    setTurns((before) => [...before, { question: asked, answer: "", citations: [], model: null, known: true, state: "asking" }]);
    const abort = new AbortController();
    stop.current = abort;
    try {
      await stream("/api/chat", { question: asked }, ({ kind, data }) => {
        if (kind === "notes") patchLast((last) => ({ ...last, citations: data as Turn["citations"] }));
        if (kind === "text") patchLast((last) => ({ ...last, answer: last.answer + (data as { text: string }).text }));
        if (kind === "done") {
          const done = data as Schema["ChatAnswer"];
          patchLast((last) => ({ ...last, answer: done.answer, citations: done.citations, model: done.model, known: done.known, state: "done" }));
        }
        end.current?.scrollIntoView({ block: "end" });
      }, abort.signal);
    } catch (error) {
      if (!abort.signal.aborted) patchLast((last) => ({ ...last, state: "failed", error }));
    }
  };
  return (
    <div className="flex h-full flex-col">
      <div className="min-h-0 flex-1 overflow-auto">
        <div className="mx-auto max-w-[760px] px-7 py-7 max-tabs:px-4" aria-live="polite">
          <h1 className="font-serif text-verdict font-medium">{t("chat.title")}</h1>
          <p className="mt-1 text-list text-ink2">{t("chat.note")}</p>
          {turns.length === 0 && (
            <ul className="mt-6 space-y-2" aria-label={t("chat.try")}>
              {EXAMPLES.map((one) => <li key={one}><button type="button" onClick={() => void ask(t(`chat.example.${one}`))} className="min-h-9 rounded-large border border-edge bg-surface px-4 py-1.5 text-left text-list hover:bg-selected max-tabs:min-h-11">{t(`chat.example.${one}`)}</button></li>)}
            </ul>
          )}
          {turns.map((turn, index) => <Boundary key={index}><TurnView turn={turn} /></Boundary>)}
          <div ref={end} />
        </div>
      </div>
      <form className="mx-auto flex w-full max-w-[760px] gap-2 px-7 pb-6 max-tabs:px-4" onSubmit={(event) => { event.preventDefault(); void ask(question); }}>
        <input autoFocus value={question} onChange={(event) => setQuestion(event.target.value)} aria-label={t("chat.ask")} placeholder={t("chat.ask")} className="h-10 flex-1 rounded-large border border-field bg-surface px-4 text-list max-tabs:h-11 max-tabs:text-[1rem]" />
        <Button kind="main" type="submit" disabled={!question.trim() || busy} icon={<Send size={15} aria-hidden />} className="h-10">{t("chat.send")}</Button>
      </form>
    </div>
  );
}

function TurnView({ turn }: { turn: Turn }) {
  const { t } = useTranslation();
  return (
    <section className="mt-7 border-t border-line pt-4">
      <h2 className="font-serif text-prompt font-medium"><Statement text={turn.question} /></h2>
      {turn.state === "asking" && !turn.answer && <p className="mt-2 text-ink3">{t("chat.looking")}</p>}
      {turn.answer && <div className="mt-2 text-list"><Markdown text={turn.answer} /></div>}
      {turn.state === "failed" && <div className="mt-3"><Failure error={turn.error} /></div>}
      {turn.citations.length > 0 && (
        <ol className="mt-3 space-y-1.5" aria-label={t("chat.cited")}>
          {turn.citations.map(({ memory }) => <li key={memory.id} className="flex items-baseline gap-3 text-ui"><Badge type={memory.type} /><a href={href("memories", memory.id)} className="line-clamp-2 min-w-0 flex-1 hover:underline"><Statement text={memory.content} /></a><span className="font-mono text-meta text-ink3">m:{memory.short}</span></li>)}
        </ol>
      )}
      {turn.state === "done" && <p className="mt-2 text-small text-ink3">{!turn.known ? t("chat.unknown") : turn.model ? t("chat.byModel", { model: turn.model }) : t("chat.extractive")}</p>}
    </section>
  );
}
