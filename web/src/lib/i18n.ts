/** Languages. English is in the page; the others come when they are chosen. */
import i18n from "i18next";
import { initReactI18next } from "react-i18next";
import en from "@/locales/en.json";
import { makeSetting } from "./store";

export const LANGUAGES = { en: "English", zh: "中文", ja: "日本語", fr: "Français" } as const;
export type Language = keyof typeof LANGUAGES;
export const CODES = Object.keys(LANGUAGES) as Language[];

const LOADERS: Record<Exclude<Language, "en">, () => Promise<{ default: object }>> = {
  zh: () => import("@/locales/zh.json"),
  ja: () => import("@/locales/ja.json"),
  fr: () => import("@/locales/fr.json"),
};

export const languageSetting = makeSetting<Language | "auto">("language", "auto", [...CODES, "auto"]);

function wanted(): Language {
  const chosen = languageSetting.get();
  if (chosen !== "auto") return chosen;
  for (const one of navigator.languages) {
    const code = CODES.find((known) => one.toLowerCase().startsWith(known));
    if (code) return code;
  }
  return "en";
}

async function load(): Promise<void> {
  const code = wanted();
  if (code !== "en" && !i18n.hasResourceBundle(code, "translation")) {
    i18n.addResourceBundle(code, "translation", (await LOADERS[code]()).default);
  }
  await i18n.changeLanguage(code);
  document.documentElement.lang = code;
}

export async function startLanguages(): Promise<void> {
  await i18n.use(initReactI18next).init({
    lng: "en",
    fallbackLng: "en",
    resources: { en: { translation: en } },
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  languageSetting.subscribe(() => void load());
  await load();
}
