/** What floats above the view. Loaded when first opened. */
import { useTranslation } from "react-i18next";
import { keysSetting, label } from "@/lib/keys";
import { closeOverlay, overlay } from "@/lib/overlay";
import { href } from "@/lib/router";
import { useStore } from "@/lib/store";
import { Key, Toggle } from "./basics";
import { CorrectDialog } from "./correct";
import { Dialog } from "./dialog";
import { Palette } from "./palette";
import { ICONS, PLACES } from "./shell";
import { RecipeDialog, TeachDialog } from "./teach";

export default function Overlay() {
  const shown = useStore(overlay);
  switch (shown?.kind) {
    case "palette": return <Palette />;
    case "keys": return <KeysDialog />;
    case "more": return <MoreDialog />;
    case "teach": return <TeachDialog file={shown.file ?? ""} text={shown.text ?? ""} />;
    case "recipe": return <RecipeDialog memory={shown.memory} />;
    case "correct": return <CorrectDialog memory={shown.memory} reason={shown.reason} />;
    default: return null;
  }
}

const KEYS = [
  ["mod+k", "palette"], ["mod+shift+m", "page"], ["/", "search"], ["r", "review"], ["g h", "go"], ["j", "next"], ["k", "back"],
  ["enter", "open"], ["x", "select"], ["y", "confirm"], ["e", "edit"], ["f", "flag"], ["n", "reject"], ["d", "duplicate"],
  ["l", "later"], ["shift+y", "rest"], ["z", "undo"], ["t", "teach"], ["?", "keys"],
] as const;

function KeysDialog() {
  const { t } = useTranslation();
  const setting = useStore(keysSetting);
  return (
    <Dialog title={t("keys.title")} onClose={closeOverlay} wide>
      <dl className="grid grid-cols-2 gap-x-8 gap-y-2 px-5 py-4 max-tabs:grid-cols-1">
        {KEYS.map(([name, what]) => (
          <div key={name} className="flex items-baseline gap-3">
            <dt className="w-24 shrink-0"><Key name={name} /></dt>
            <dd className="text-ink2">{t(`keys.${what}`)}</dd>
          </div>
        ))}
      </dl>
      <div className="flex items-center gap-3 border-t border-line px-5 py-3">
        <Toggle on={setting === "on"} label={t("keys.switch")} onChange={(on) => keysSetting.set(on ? "on" : "off")} />
        <span>{t("keys.switch")}</span>
        <span className="ml-auto text-ink3">{label("escape")}</span>
      </div>
    </Dialog>
  );
}

/** The places that the bottom tabs of a phone have no room for. */
function MoreDialog() {
  const { t } = useTranslation();
  return (
    <Dialog title={t("nav.more")} onClose={closeOverlay}>
      <ul className="p-3">
        {[...PLACES.slice(4), "settings" as const].map((view) => {
          const Icon = ICONS[view];
          return <li key={view}><a href={href(view)} onClick={closeOverlay} className="flex min-h-11 items-center gap-3 rounded-control px-3 hover:bg-selected"><Icon size={18} aria-hidden />{t(`nav.${view}`)}</a></li>;
        })}
        <li><button type="button" onClick={() => overlay.set({ kind: "teach" })} className="flex min-h-11 w-full items-center gap-3 rounded-control px-3 hover:bg-selected"><span className="w-[18px] text-center">+</span>{t("action.teach")}</button></li>
      </ul>
    </Dialog>
  );
}
