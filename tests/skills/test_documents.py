"""From a file to a skill: formats, fields in every spelling, and what the specification asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.skills.reading import codes, document, skill_of
from wellkept.core.skills import (
    HookEvent,
    InjectionPhase,
    SkillContext,
    SkillDetection,
    SkillFormat,
    SkillKind,
    SkillSource,
)
from wellkept.skills.documents.fields import is_specified_name, usable_name
from wellkept.skills.documents.finding_codes import CODES

pytestmark = pytest.mark.feature("F1")

FULL = """---
name: demo
version: "3.2.0"
description: Plans before it writes
when_to_use: When there is a plan to be made
{user_invocable}: false
{disable_model_invocation}: true
{argument_hint}: [file] <message>
{allowed_tools}:
  - Read
  - Bash(git add *)
license: MIT
compatibility: Needs git
tags: [planning, "two words"]
aliases: /plan, pl
model: inherit
context: fork
agent: planner
{base_dir}: scripts
priority: 250
detect:
  files: [package.json]
  patterns: ['"react"', '"next"']
{inject_into}: [planning, retry]
reminders:
  sparse: Plan.
normal_reminder: Make a plan first.
metadata:
  author: somebody
  version: "1.0"
hooks:
  PreToolUse:
    - matcher: "Write|Edit"
      hooks:
        - type: command
          command: |
            echo before
          once: true
          timeout: 5
  post_tool_use:
    - hooks:
        - command: echo after
  Stop:
    - type: command
      command: echo end
x-own:   {{kept: as, it: is}}
---

# Demo

Body.
"""
STYLES = {
    "kebab": "user-invocable disable-model-invocation argument-hint allowed-tools base-dir inject-into",
    "snake": "user_invocable disable_model_invocation argument_hint allowed_tools base_dir inject_into",
    "camel": "userInvocable disableModelInvocation argumentHint allowedTools baseDir injectInto",
}


@pytest.mark.parametrize("style", STYLES)
def test_every_field_is_read_in_every_spelling(style: str, tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    keys = dict(zip(STYLES["snake"].split(), STYLES[style].split(), strict=True))
    skill = skill_of(FULL.format(**keys), base_dir=tmp_path)
    assert codes(skill) == {"yaml-bracket", "field-unknown"}
    assert (skill.name, skill.version, skill.license) == ("demo", "3.2.0", "MIT")
    assert skill.when_to_use == "When there is a plan to be made"
    assert skill.compatibility == "Needs git"
    assert skill.tags == ("planning", "two words")
    use = skill.invocation
    assert (use.user_invocable, use.disable_model_invocation, use.is_hidden) == (False, True, True)
    assert use.argument_hint == "[file] <message>"
    assert use.allowed_tools == ("Read", "Bash(git add *)")
    assert use.aliases == ("plan", "pl")
    assert (use.model, use.context, use.agent) == ("inherit", SkillContext.FORK, "planner")
    assert skill.base_dir == tmp_path / "scripts"
    assert skill.priority == 250
    assert skill.detection == SkillDetection(("package.json",), ('"react"', '"next"'))
    assert skill.inject_into == (InjectionPhase.PLANNING, InjectionPhase.RETRY)
    assert (skill.reminders.sparse, skill.reminders.normal) == ("Plan.", "Make a plan first.")
    assert skill.reminders.detailed is None
    assert skill.metadata == (("author", "somebody"), ("version", "1.0"))
    assert skill.extra == (("x-own", "{kept: as, it: is}"),)
    assert skill.body == "# Demo\n\nBody."


@pytest.mark.feature("F8")
def test_hooks_are_read_with_matcher_once_and_time() -> None:
    keys = {key: key for key in STYLES["snake"].split()}
    before, after, end = skill_of(FULL.format(**keys)).hooks
    assert (before.event, before.matcher, before.command) == (
        HookEvent.PRE_TOOL_USE,
        "Write|Edit",
        "echo before",
    )
    assert (before.once, before.timeout_s) == (True, 5.0)
    assert (after.event, after.matcher, after.once) == (HookEvent.POST_TOOL_USE, "", False)
    assert (end.event, end.command) == (HookEvent.STOP, "echo end")


@pytest.mark.feature("F8")
@pytest.mark.parametrize(
    ("hooks", "code"),
    [
        ("  SessionStart:\n    - command: x\n", "hook-event"),
        ("  Stop:\n    - type: prompt\n      prompt: x\n", "hook-type"),
        ("  Stop:\n    - type: command\n", "hook-command"),
        ("  PreToolUse:\n    - matcher: '['\n      command: x\n", "hook-matcher"),
        (f"  PreToolUse:\n    - matcher: '{'a' * 600}'\n      command: x\n", "hook-matcher"),
        ("  Stop:\n    - [x]\n", "field-kind"),
    ],
)
def test_a_hook_that_cannot_run_is_left_out_with_a_finding(hooks: str, code: str) -> None:
    skill = skill_of(document(more=f"hooks:\n{hooks}"))
    assert code in codes(skill)
    assert skill.hooks == ()


def test_a_light_document_needs_no_folder_of_its_name() -> None:
    skill = skill_of(
        "---\nname: adk-app\ndescription: Starts apps\ntags: [setup]\n---\nGo.",
        format=SkillFormat.LIGHT,
        name="other-file",
    )
    assert (skill.name, skill.tags, skill.findings) == ("adk-app", ("setup",), ())


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("# CLAUDE.md\n\nThis file guides.", "CLAUDE.md"),
        ("\n\nPlain words first.\n\n## Later", "Later"),
        ("Only words.", "Only words."),
        ("---\n\nA rule on top, and no fence.", "A rule on top, and no fence."),
        ("", ""),
    ],
)
def test_a_convention_file_is_named_by_its_file_and_told_by_its_heading(
    text: str, description: str
) -> None:
    skill = skill_of(text, format=SkillFormat.CONVENTION, name="CLAUDE")
    assert skill.name == "CLAUDE"
    assert skill.description in (description, "---")
    assert skill.findings == ()


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("compatibility: " + "x" * 501 + "\n", {("compatibility-long", 4)}),
        ("compatibility:\n", {("compatibility-long", 4)}),
        ("metadata: [a]\n", {("metadata-text", 4)}),
        ("metadata:\n  a:\n    b: c\n", {("metadata-text", 5)}),
        ("metadata:\n  v: 1.0\n  w: '1.0'\n", {("metadata-number", 5)}),
        ("color: red\n", {("field-unknown", 4)}),
        ("user-invocable: maybe\n", {("field-value", 4)}),
        ("context: sideways\n", {("field-value", 4)}),
        ("inject-into: [sometimes]\n", {("field-value", 4)}),
        ("priority: high\n", {("field-value", 4)}),
        ("priority: 7\n", {("priority-range", 4)}),
        ("license: [a, b]\n", {("field-kind", 4)}),
        ("tags:\n  a: b\n", {("field-kind", 5)}),
        ("aliases: [two words]\n", {("field-value", 4)}),
        ("base_dir: ../other\n", {("path-unsafe", 4)}),
        ("base_dir: /etc\n", {("path-unsafe", 4)}),
        ("base_dir: C:\\Windows\n", {("path-unsafe", 4)}),
        ("base_dir: ~/x\n", {("path-unsafe", 4)}),
        ("allowed-tools: Read\nallowedTools: Grep\n", {("field-twice", 5)}),
        ("allowed-tools: Bash(git:*) Bash(jq:*) Read\n", set[tuple[str, int]]()),
    ],
)
def test_every_finding_has_its_line(more: str, found: set[tuple[str, int]], tmp_path: Path) -> None:
    skill = skill_of(document(more=more), base_dir=tmp_path)
    assert {(f.code, f.line) for f in skill.findings} == found
    assert skill.base_dir == tmp_path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no front matter", {"head-missing", "name-missing", "description-missing"}),
        ("---\nname: demo\n", {"fence", "name-missing", "description-missing"}),
        ("\n\n---\nname: demo\ndescription: x\n---\nBody", {"fence-late"}),
        ("---\nname: Demo\ndescription: x\n---\nBody", {"name-form", "name-folder"}),
        ("---\nname: other\ndescription: x\n---\nBody", {"name-folder"}),
        ("---\ndescription: x\n---\nBody", {"name-missing"}),
        ("---\nname: demo\n---\nBody", {"description-missing"}),
        (f"---\nname: demo\ndescription: {'x' * 1025}\n---\nBody", {"description-long"}),
        ("---\nname: demo\ndescription: x\n---\n", {"body-empty"}),
        (document(body="line\n" * 501), {"body-long"}),
        (document(body="word " * 5000), {"body-long"}),
        (document(body="字" * 5001), {"body-long"}),
        (document().replace("\n", "\r\n"), set[str]()),
        ("\ufeff" + document(), set[str]()),
    ],
)
def test_the_specification_is_held_to_its_limits(text: str, found: set[str]) -> None:
    assert codes(skill_of(text)) == found


@pytest.mark.parametrize("name", ["a", "pdf-tools", "x2", "naïve-études", "数据分析", "a" * 64])
def test_names_that_keep_the_rules(name: str) -> None:
    assert is_specified_name(name)
    assert usable_name(name) == name


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("", ""),
        ("-a", "a"),
        ("a-", "a-"),
        ("a--b", "a--b"),
        ("My Cool Skill!", "my-cool-skill"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\nb", "a-b"),
        ("x" * 65, "x" * 64),
        ("under_score", "under_score"),
        ("plugin:skill", "plugin:skill"),
        ("\x1b[31mred", "31mred"),
        ("💥", ""),
    ],
)
def test_names_that_break_the_rules_become_something_that_can_be_typed(
    name: str, usable: str
) -> None:
    assert not is_specified_name(name)
    assert usable_name(name) == usable


def test_with_strict_every_field_outside_the_specification_is_named() -> None:
    text = document(more="version: 1.0.0\nlicense: MIT\nallowed-tools: Read\n")
    assert codes(skill_of(text)) == set()
    assert codes(skill_of(text, strict=True)) == {"not-portable"}


def test_a_priority_stays_in_the_range_of_its_source() -> None:
    builtin = SkillSource(SkillKind.BUILTIN, "wellkept", 25)
    assert skill_of(document(more="priority: 900\n"), source=builtin).priority == 50
    assert skill_of(document(more="priority: 30\n"), source=builtin).priority == 30


@pytest.mark.feature("F7")
def test_the_id_follows_the_content_and_the_key_does_not() -> None:
    one, other = skill_of(document()), skill_of(document(body="Do it now."))
    assert one.id.startswith("demo-")
    assert len(one.id) == len("demo-") + 12
    assert one.id != other.id
    assert one.key == other.key == "project:.claude/skills:demo"


def test_a_skill_that_breaks_a_rule_can_still_be_used() -> None:
    skill = skill_of("---\nname: Other Name\ndescription: Use it: now\n---\nBody")
    assert (skill.is_valid, skill.is_usable) == (False, True)
    assert skill.description == "Use it: now"
    assert not skill_of("").is_usable


@given(st.binary(max_size=300))
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    for text in (data, b"---\n" + data + b"\n---\n" + data):
        skill = skill_of(text)
        assert skill.name
        assert {finding.code for finding in skill.findings} <= set(CODES)
        skill.body.encode()
        skill.description.encode()


LINES = st.sampled_from(
    ["name: demo", "description: >-", "  words", "metadata:", "  a: [1", "hooks:", "  Stop:", "---",
     "    - command: |", "        x", "tags: [a, b]", "- x", "\tq: 1", "allowed-tools: {a: b}",
     "reminders: x", "detect: [a]", "base_dir: [..]", "priority: 9999999999999", "aliases: [[a]]",
     "inject_into: {a: b}", "context: [fork, main]", "", "# c", "'q: x", "user-invocable: []"]
)  # fmt: skip


@given(st.lists(LINES, max_size=14))
def test_no_mixture_of_fields_makes_reading_fail(lines: list[str]) -> None:
    text = "---\n" + "\n".join(lines) + "\n---\nBody"
    skill = skill_of(text)
    assert all(1 <= (f.line or 1) <= text.count("\n") + 1 for f in skill.findings)
