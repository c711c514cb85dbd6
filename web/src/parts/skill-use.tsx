/** Whether a skill is of use: how often it was run, and how the sessions that used it ended. */
import { useTranslation } from "react-i18next";
import type { Schema } from "@/lib/api";
import { ago } from "@/lib/format";
import { href } from "@/lib/router";
import { cx, Section, useNow } from "./basics";

export function SkillUse({ skill }: { skill: Schema["ShownSkill"] }) {
  const { t } = useTranslation();
  const now = useNow();
  const { uses, last_used_at, runs } = skill;
  const worked = runs.filter((one) => one.succeeded).length;
  const judged = runs.filter((one) => one.succeeded !== null).length;
  return (
    <Section title={t("skills.use")} note={runs.length ? t("skills.useRuns", { count: runs.length }) : ""}>
      {runs.length > 0 && (
        <ol className="mb-2 flex flex-wrap gap-1">
          {runs.map((one) => (
            <li key={one.session_id}>
              <a href={href("sessions", one.session_id)} title={ago(one.at, now)} aria-label={t(one.succeeded === null ? "skills.run.open" : one.succeeded ? "skills.run.worked" : "skills.run.failed")} className={cx("block h-[18px] w-3 rounded-[2px] border", one.succeeded === null ? "border-edge bg-sunken" : one.succeeded ? "border-given-edge bg-given-bar" : "border-red bg-red-bg")} />
            </li>
          ))}
        </ol>
      )}
      <p className="text-ink2">
        {uses > 0 ? t("skills.useCount", { count: uses, ago: last_used_at ? ago(last_used_at, now) : "" }) : runs.length ? "" : t("skills.useNever")}
        {judged > 0 && ` ${t("skills.useWorked", { worked, judged })}`}
      </p>
    </Section>
  );
}
