/** A dialog: focus kept in, Esc closes, focus returns. The browser's own element does most of it. */
import { useEffect, useId, useRef, type ReactNode } from "react";
import { useKeys, type KeyMap } from "@/lib/keys";
import { cx } from "./basics";

const NO_KEYS: KeyMap = {};

export function Dialog({ title, onClose, children, keys = NO_KEYS, wide = false, hideTitle = false }: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  keys?: KeyMap;
  wide?: boolean;
  hideTitle?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useKeys(keys, { modal: true });
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current) onClose();
      }}
      className={cx(
        "fade mx-auto mt-[10vh] max-h-[80vh] w-[calc(100vw-24px)] overflow-auto rounded-dialog border border-edge bg-surface p-0 text-ink shadow-dialog max-tabs:mt-3",
        wide ? "max-w-[760px]" : "max-w-[520px]",
      )}
    >
      <h2 id={titleId} className={hideTitle ? "sr-only" : "px-5 pt-4 text-list font-semibold"}>{title}</h2>
      {children}
    </dialog>
  );
}
