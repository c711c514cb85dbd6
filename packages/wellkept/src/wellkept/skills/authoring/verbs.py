"""The verbs that write, switch, generate and trust skills. `core.verbs` says what a declaration is.

Agents write skills where a person added the toolset. Only a person accepts a generated skill,
trusts hooks, or takes a skill from an address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.records import replace
from wellkept.core.team.people import Role, asking
from wellkept.core.text import counted
from wellkept.core.verbs import Arg, Effect, verb
from wellkept.memory.arguments import Names
from wellkept.skills.changes import (
    DeletedSkill,
    ExportedSkills,
    GeneratedSkills,
    NewSkill,
    ReviewedSkills,
    SkillHookRow,
    SwitchedSkills,
    TrustedHooks,
)
from wellkept.skills.results import ShownSkill, SkillRow
from wellkept.skills.verbs import WithSkills, names_of

if TYPE_CHECKING:
    from wellkept.skills.authoring.edit_fields import FieldValue
    from wellkept.skills.library.api import Skills

MAX_TEXT_CHARS = 1 << 20
_LISTS = frozenset(("tags", "aliases", "allowed_tools", "inject_into"))
_NEW_BODY = "# {title}\n\nDescribe here what to do, step by step.\n"


@verb(
    noun="skill",
    effect=Effect.ADDS,
    repeatable=False,
    toolset="skills",
    needs_toolset=True,
    aliases=("skill_create",),
    tell="Make a skill in one of the project's folders, or in the person's own.",
    on_files=True,
    examples=({"name": "tidy", "description": "Tidies up.", "dry_run": True},),
)
def new(
    wk: WithSkills,
    name: Annotated[str, Arg("Its name, and that of its folder.", 0, 64)] = "",
    *,
    description: Annotated[str, Arg("What it does and when to use it.", 0, 1024)] = "",
    body: Annotated[
        str | None, Arg("Instructions; - reads standard input.", 1, MAX_TEXT_CHARS, pipe=True)
    ] = None,
    tags: Annotated[Names, Arg("Tag. Repeatable.", flag="--tag")] = (),
    folder: Annotated[
        Literal[".skills", ".claude/skills", ".agents/skills", ".opencode/skills", "user"],
        Arg("Where; user applies to all projects.", flag="--in"),
    ] = ".skills",
    url: Annotated[
        str | None, Arg("Fetch a SKILL.md over https instead, show it, and ask.", hidden=True)
    ] = None,
    sha256: Annotated[
        str | None, Arg("Accept only a document with this hash.", hidden=True, metavar="HEX")
    ] = None,
    update: Annotated[bool, Arg("Accept a changed document.", hidden=True)] = False,
    dry_run: Annotated[bool, Arg("Only show it.", hidden=True)] = False,
) -> NewSkill:
    """Create a skill: a folder NAME with SKILL.md; or add one from an address.

    With --url the copy is stored with its hash. A changed document is used only after you confirm
    it with --update. Nothing else fetches skills.
    """
    if url is not None:
        return _fetched(wk.skills, url, sha256=sha256, update=update, dry_run=dry_run)
    if not name or not description:
        raise UsageError(
            f"A skill needs a {'description' if name else 'name'}.",
            hint="For example: wellkept skill new tidy --description 'Tidies up.'",
        )
    if dry_run:
        return NewSkill(
            skill=SkillRow(name=name, description=description, source=f"project:{folder}"),
            body=body or "",
            dry_run=True,
        )
    title = name.replace("-", " ").capitalize()
    made = wk.skills.create(
        name,
        description=description,
        body=_NEW_BODY.format(title=title) if body is None else body,
        tags=names_of(tags),
        folder=folder,
    )
    return NewSkill(skill=SkillRow.of(made), body=made.body, findings=made.findings)


def _fetched(
    skills: Skills, url: str, *, sha256: str | None, update: bool, dry_run: bool
) -> NewSkill:
    asking().require_person("Taking a skill from an address")
    fetched = skills.fetch_remote(url)
    skill = fetched.skill
    if not dry_run:
        skill = skills.add_remote(fetched, sha256=sha256, update=update)
    return NewSkill(
        skill=SkillRow.of(skill),
        body=skill.body,
        url=url,
        sha256=fetched.sha256,
        findings=skill.findings,
        dry_run=dry_run,
        question="" if fetched.is_known else f"Use this skill from {url}?",
    )


def _edit_arguments(given: dict[str, object]) -> dict[str, object]:
    """`fields`, an object by name whose null removes a field, as `set` and `unset`."""
    fields = given.pop("fields", None)
    if not isinstance(fields, dict):
        return given
    named = cast("dict[str, Any]", fields)
    put = [f"{key}={_written(value)}" for key, value in named.items() if value is not None]
    gone = [key for key, value in named.items() if value is None]
    return {**given, **({"set": put} if put else {}), **({"unset": gone} if gone else {})}


def _written(value: Any) -> str:
    return ",".join(cast("list[str]", value)) if isinstance(value, list) else str(value)


@verb(
    noun="skill",
    effect=Effect.ADDS,
    toolset="skills",
    needs_toolset=True,
    tell="Set fields or the text of a skill's document; the rest stays as it is.",
    on_files=True,
    reads=_edit_arguments,
    examples=({"name": "tidy", "set": ["version=1.2.0"]},),
)
def edit(
    wk: WithSkills,
    name: Annotated[str, Arg("Name, alias or id.", 1, 200, names="skill")],
    *,
    set: Annotated[Names, Arg("Set a field. Repeatable.", metavar="FIELD=VALUE")] = (),
    unset: Annotated[Names, Arg("Remove a field. Repeatable.", metavar="FIELD")] = (),
    body: Annotated[
        str | None, Arg("New instructions; - reads standard input.", 0, MAX_TEXT_CHARS, pipe=True)
    ] = None,
    text: Annotated[
        str | None,
        Arg(
            "The whole new SKILL.md instead; - reads it.", 1, MAX_TEXT_CHARS, hidden=True, pipe=True
        ),
    ] = None,
) -> ShownSkill:
    """Change fields of a skill; the rest of its file stays byte for byte.

    Separate list values (tags, aliases, allowed-tools, inject-into) with commas. Without options,
    the file opens in $EDITOR.
    """
    changes: dict[str, FieldValue | None] = {}
    for one in names_of(set):
        key, sign, value = one.partition("=")
        if not sign or not key.strip():
            raise UsageError(f"{one!r} is not FIELD=VALUE.", hint="For example: version=1.2.0")
        changes[key.strip()] = _field_value(key.strip(), value)
    changes |= dict.fromkeys(names_of(unset))
    if not changes and body is None and text is None:
        raise UsageError("Nothing is to be changed.", hint="Set or unset a field, or give a body.")
    return ShownSkill.of(wk.skills.edit(name, changes, body=body, text=text), done="Changed")


def _field_value(field: str, text: str) -> FieldValue:
    if field.replace("-", "_") in _LISTS:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text.lower() == "true" if text.lower() in ("true", "false") else text


@verb(
    noun="skill",
    effect=Effect.REMOVES,
    repeatable=False,
    on_files=True,
    examples=({"name": "tidy", "dry_run": True},),
)
def delete(
    wk: WithSkills,
    name: Annotated[str, Arg("Name, alias or id.", 1, 200, names="skill")],
    *,
    dry_run: Annotated[bool, Arg("Only show what would go.")] = False,
) -> DeletedSkill:
    """Delete a skill and its folder permanently."""
    files = wk.skills.delete(name, dry_run=dry_run)
    return DeletedSkill(
        name=name,
        files=tuple(map(str, files)),
        dry_run=dry_run,
        question=f"Delete the skill {name!r} permanently?",
    )


@verb(noun="skill", effect=Effect.ADDS, on_files=True, examples=({"names": ["tidy"]},))
def enable(
    wk: WithSkills,
    names: Annotated[Names, Arg("Names.", aka=("name",), names="skill")] = (),
    *,
    force: Annotated[
        bool, Arg("Give them to the agent of one session, whatever it is asked.")
    ] = False,
    session: Annotated[
        str | None, Arg("With --force: which; usually the latest here.", names="session")
    ] = None,
    off: Annotated[bool, Arg("With --force: force none any more.", hidden=True)] = False,
) -> SwitchedSkills:
    """Enable skills in this project, or force them in one session.

    With --force also those that are switched off; the names replace those that were forced before,
    and without names you see what is forced.
    """
    known = names_of(names)
    if not force:
        return SwitchedSkills(
            items=tuple(SkillRow.of(wk.skills.enable(one)) for one in _some(known))
        )
    if off and known:
        raise UsageError("--off forces none, so no NAME fits.", hint="Leave one of them out.")
    chosen = session or wk.skills.latest_session()
    if known or off:
        wk.skills.force(*known, session=chosen)
    forced = tuple(one.skill.name for one in wk.skills.forced(chosen))
    return SwitchedSkills(session=chosen, forced=forced)


@verb(noun="skill", effect=Effect.ADDS, on_files=True, examples=({"names": ["tidy"]},))
def disable(
    wk: WithSkills, names: Annotated[Names, Arg("Names.", 1, aka=("name",), names="skill")]
) -> SwitchedSkills:
    """Disable skills in this project; their files stay unchanged."""
    return SwitchedSkills(
        items=tuple(SkillRow.of(wk.skills.disable(one)) for one in _some(names_of(names)))
    )


def _some(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise UsageError("No skill is named.", hint="`wellkept skill list` shows what there is.")
    return names


@verb(
    noun="skill",
    effect=Effect.ADDS,
    role=Role.ADMIN,
    on_files=True,
    examples=({"names": ["tidy"], "to": "claude-code"},),
)
def export(
    wk: WithSkills,
    names: Annotated[Names, Arg("Names.", names="skill")] = (),
    *,
    to: Annotated[
        str,
        Arg("A client (its folder in this project), or a folder.", 1, metavar="CLIENT|FOLDER"),
    ],
    generated: Annotated[bool, Arg("Also enabled generated ones.")] = False,
    detected: Annotated[bool, Arg("Also those detected for this project.")] = False,
    overwrite: Annotated[bool, Arg("Overwrite existing ones.")] = False,
) -> ExportedSkills:
    """Copy skills with their files to a folder, each as NAME/SKILL.md.

    With the name of a client (claude-code, codex, cursor, gemini, opencode), copies to that
    client's skill folder in this project.
    """
    folder = wk.skills.export_folder(to)
    # Resolve all names before copying any.
    known = [wk.skills.get(one).name for one in names_of(names)]
    known += wk.skills.names_to_export(folder, generated=generated, detected=detected)
    if not known:
        raise UsageError("Nothing to export.", hint="Pass the name of a skill.")
    targets = [wk.skills.export(o, folder, overwrite=overwrite) for o in dict.fromkeys(known)]
    return ExportedSkills(items=tuple(map(str, targets)))


# -- From sessions --------------------------------------------------------------------------------


@verb(
    noun="skill",
    effect=Effect.ADDS,
    finds=True,
    on_files=True,
    examples=({"dry_run": True},),
)
def generate(
    wk: WithSkills,
    *,
    session: Annotated[
        str | None, Arg("Id or its beginning. Default: recent sessions.", metavar="ID")
    ] = None,
    refine: Annotated[
        str | None,
        Arg("Make this one anew, from all good sessions that used or resemble it.", names="skill"),
    ] = None,
    replace_edits: Annotated[
        bool, Arg("With --refine: also one that was edited by hand.", hidden=True)
    ] = False,
    rules_only: Annotated[bool, Arg("No model for the wording.", hidden=True)] = False,
    dry_run: Annotated[bool, Arg("Only show them.")] = False,
) -> GeneratedSkills:
    """Generate skills from successful sessions.

    A session qualifies when it has ended, has at least 3 tool calls, was successful (tests after
    the last edit, a commit that was kept, your own words), and no skill covers the same task.
    Generated skills wait for `wellkept skill review`. Exits with 1 when nothing was generated.
    Refining keeps the steps of at least half of the sessions; the text before stays as a version.
    """
    maker = wk.skills.generator
    if refine is None:
        done = maker.generate(session or None, dry_run=dry_run, with_model=not rules_only)
        return GeneratedSkills(made=done.made, passed=done.passed, dry_run=dry_run)
    again = maker.refine(
        refine, dry_run=dry_run, with_model=not rules_only, replace_edits=replace_edits
    )
    return GeneratedSkills(
        made=(again.skill,), before=again.before, sessions=again.sessions, dry_run=dry_run
    )


@verb(
    noun="skill",
    effect=Effect.ADDS,
    on_files=True,
    aliases=("skill_generated",),
    examples=({},),
)
def review(
    wk: WithSkills,
    name: Annotated[str, Arg("Name. Empty: all, without their texts.", 0, 200, names="skill")] = "",
    answer: Annotated[
        Literal["accept", "reject", "edit"] | None, Arg("Enable it, or reject it for good.")
    ] = None,
    *,
    text: Annotated[
        str | None,
        Arg(
            "With edit: the whole SKILL.md; - reads it; default: $EDITOR.",
            0,
            MAX_TEXT_CHARS,
            pipe=True,
        ),
    ] = None,
) -> ReviewedSkills:
    """List, show, accept, reject or edit generated skills.

    Without NAME, lists them with their use and success. With NAME, shows the skill; accept, reject
    or edit decides.
    """
    library = wk.skills.library
    if not name:
        if answer is not None:
            raise UsageError("No skill named.", hint="Pass a NAME; without one, skills are listed.")
        return ReviewedSkills(
            items=tuple(
                replace(one, skill=replace(one.skill, text=""), editions=())
                for one in library.views()
            )
        )
    if answer is not None:
        asking().require_person("Reviewing a skill")
        library.review(name, answer, text=text)
    return ReviewedSkills(items=(library.view(name),), named=True, decided=answer is not None)


# -- Hooks ----------------------------------------------------------------------------------------


@verb(
    noun="skill",
    effect=Effect.ADDS,
    role=Role.ADMIN,
    on_files=True,
    examples=({"dry_run": True},),
)
def trust(
    wk: WithSkills,
    names: Annotated[Names, Arg("Names. Empty: all.", names="skill")] = (),
    *,
    revoke: Annotated[bool, Arg("Trust them no longer.")] = False,
    seen: Annotated[Names, Arg("Only with these fingerprints.", hidden=True)] = (),
    dry_run: Annotated[bool, Arg("Only list them.")] = False,
) -> TrustedHooks:
    """Show the hooks of skills and allow them to run in this folder.

    A hook is a shell command that runs before or after a tool, or at the end, while its skill is in
    use. Without NAME, the hooks of all skills. Trust is per user, per folder, and for the current
    files of the skill: a changed file needs new trust.
    """
    hooks, known = wk.skills.hooks, names_of(names)
    if revoke and not dry_run:
        hooks.untrust(*known)
        gone = f"No longer trusted: {', '.join(known) or 'all skills here'}"
        return TrustedHooks(items=tuple(map(SkillHookRow.of, hooks.list())), notes=(gone,))
    chosen = {wk.skills.get(one).name for one in known}
    listed = [one for one in hooks.list() if not known or one.skill.name in chosen]
    rows = tuple(map(SkillHookRow.of, listed))
    if dry_run or not (listed or known):
        none = "None of these skills has hooks." if known else "No skill here has hooks."
        many = counted(len(listed), "command")
        return TrustedHooks(
            items=rows,
            dry_run=dry_run,
            question=f"Allow {many} to run in {wk.root}?" if listed and not revoke else "",
            notes=() if listed else (none,),
        )
    asking().require_person("Trusting hooks")
    if seen and {one.fingerprint for one in rows} != {*names_of(seen)}:
        raise ConflictError("The hooks were changed since they were shown.", hint="Look again.")
    trusted = tuple(one.name for one in hooks.trust(*known, seen=listed))
    return TrustedHooks(
        items=tuple(map(SkillHookRow.of, hooks.list())),
        trusted=trusted,
        notes=(f"Trusted: {', '.join(trusted)}",),
    )
