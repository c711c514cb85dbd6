"""Permission modes and rules (G8), and what counts as reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.tools.conftest import MakeBench, ToolBench
from wellkept.text.shell.effects import Effect, effect_of
from wellkept.text.shell.permission_rules import allows, forbids, rule_for
from wellkept.text.shell.strict_reader import plain_commands
from wellkept_agent.permissions import Decision, PermissionMode

pytestmark = pytest.mark.feature("G2", "G8")

_READS = r"""
ls -la src | head -20
cat a.txt
cat 'a b.txt' "c d"
grep -rn "def main" src --include='*.py'
git status
git status --short && git log --oneline -5 -- a.txt
git diff HEAD~1 > /dev/null 2>&1
git branch -a
git tag -l 'v*'
git stash list
git --no-pager show HEAD:a.txt
git log --oneline
find . -name '*.py' -type f
sed -n '10,20p' a.txt
sed -n '5p;9p' a.txt
sort a.txt | uniq -c | sort -rn
wc -l *.txt
pwd; whoami
cd src && ls
python --version
echo $HOME
[ -f a.txt ] && echo yes
# only a comment\nls
ls \\n  -l
git show HEAD@{1}
"""
_WRITES = r"""
rm -rf x
echo hi > a.txt
echo hi >> a.txt
cat a.txt >| b.txt
cat a &> out.txt
ls; rm x
ls && touch x
ls | tee x
ls | xargs rm
ls\nrm x
ls & rm x
echo $(rm x)
echo `rm x`
echo "$(rm x)"
echo "`rm x`"
cat <(rm x)
cat <<EOF\nx\nEOF
(rm x)
{ rm x; }
find . -delete
find . -name x -exec rm {} ;
find . -fprint out
find . -okdir rm
find . "-del"ete
find . -del\ete
find . "-del\\nete"
find . $OPTIONS
find {.,-delete}
find *
sed -i s/a/b/ a.txt
sed -n 's/a/b/w out' a.txt
sed -n '1e rm x' a.txt
sed s/a/b/ a.txt
sort -o a.txt a.txt
sort --outp=a.txt b
sort --compress-program=x a
uniq a b
git commit -m x
git -c core.pager=rm log
git checkout .
git branch new
git branch -D old
git tag v1
git stash
git stash drop
git diff --output=x
git diff --outp=x
git log --output x
git grep -Orm x
git grep --open-files-in-pager=rm x
git config user.name x
git remote add x y
git reflog expire --all
git -C sub status
cd sub && git status
git fetch
git $X
FOO=1 ls
LD_PRELOAD=x.so ls
python x.py
./ls
/bin/ls
awk '{print}' a
xxd a b
tree -o x
file -C -m x
date -s tomorrow
date 01010000
env rm x
sudo ls
time ls
rg --pre=rm x
curl example.org
test -v 'a[$(rm x)]'
printf -v 'a[$(rm x)]' x
$CMD
"l"s -la; r"m" x
if true; then rm x; fi
for f in *; do rm $f; done
ls |& tee x
ls 2> log
f() { rm x; }; f
ls 'unclosed
cat <<< x
! rm x
:
"""


def _cases(text: str) -> list[str]:
    return [line.replace("\\n", "\n") for line in text.strip().splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "p"
    (root / "src").mkdir(parents=True)
    (root / "a.txt").write_text("a")
    return root


@pytest.mark.parametrize("command", _cases(_READS))
def test_commands_that_only_read(project: Path, command: str) -> None:
    assert effect_of(command, folder=project, roots=[project]) is Effect.READS


@pytest.mark.parametrize("command", _cases(_WRITES))
def test_everything_else_counts_as_writing(project: Path, command: str) -> None:
    assert effect_of(command, folder=project, roots=[project]) is Effect.WRITES


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/passwd",
        "cat ~/.ssh/id_rsa",
        "cat ../secret",
        "cat src/../../secret",
        "cat < /etc/passwd",
        "grep -f/etc/passwd x",
        "grep --file=/etc/passwd x",
        "cat link",
        "cat l*",
        "cd src && cat ../../secret",
        "cd .. && ls",
        "grep -R secret .",
        "find -L . -name x",
        "cat /etc/*",
    ],
)
def test_reading_elsewhere_is_told_apart(project: Path, command: str) -> None:
    (project / "link").symlink_to("/etc/passwd")
    assert effect_of(command, folder=project, roots=[project]) is Effect.READS_OUTSIDE


def test_words_are_read_as_the_shell_reads_them() -> None:
    found = plain_commands('a \'b c\' "d\\"e" f\\ g h"i"\'j\' # end\nk 2>&1 | l')
    assert found is not None
    assert [[word.text for word in one.words] for one in found] == [
        ["a", "b c", 'd"e', "f g", "hij"],
        ["k"],
        ["l"],
    ]
    assert found[1].redirects[0][0] == "2>&"
    assert plain_commands("") is None
    assert plain_commands("x" * 30_000) is None


# -- Rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("git status *", "git status", True),
        ("git status *", "git status --short", True),
        ("git:*", "git log", True),
        ("npm test *", "npm test 2>&1", True),
        ("git status *", "git statusx", False),
        ("git status *", "git status; rm -rf x", False),
        ("git status *", "git status && rm -rf x", False),
        ("git status *", "git status | sh", False),
        ("git status *", "git status\nrm -rf x", False),
        ("git status *", "git status $(rm -rf x)", False),
        ("git status *", "git status `rm -rf x`", False),
        ("git status *", "git status > ~/.bashrc", False),
        ("git status *", "git status & rm x", False),
        ("git status *", "GIT_PAGER=rm git status", False),
        ("*", "ls; rm x", False),
        ("git status *", "git status <(rm x)", False),
    ],
)
def test_a_rule_never_fits_a_compound_command(pattern: str, command: str, fits: bool) -> None:
    assert allows(pattern, command) is fits


@pytest.mark.parametrize(
    "command",
    ["rm x", "ls; rm x", "ls && rm x", "echo $(rm x)", "(rm x)", "ls | 'rm' x", "! rm x",
     "if true; then rm x; fi", "bash -c 'rm x'", "X=1 rm x; (ls)", "{ rm x; }", "sudo rm x",
     "ls | xargs rm -f", "find . -exec rm x"],
)  # fmt: skip
def test_a_rule_that_forbids_fits_any_part(command: str) -> None:
    assert forbids("rm *", command)


def test_a_rule_that_forbids_leaves_mere_words_alone() -> None:
    assert not forbids("rm *", "ls rm")
    assert not forbids("rm *", "git commit -m 'rm old files'")


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git commit -m x", "Bash(git commit *)"),
        ("npm test", "Bash(npm test *)"),
        ("npm run build", "Bash(npm run build)"),
        ("pytest -q tests", "Bash(pytest *)"),
        ("python -c 'x'", "Bash(python -c 'x')"),
        ("rm -rf build", "Bash(rm -rf build)"),
        ("sudo ls", "Bash(sudo ls)"),
        ("./run.sh x", "Bash(./run.sh x)"),
        ("git status; rm x", ""),
        ("make > log", ""),
        ("rm *", ""),
    ],
)
def test_what_always_offers(command: str, rule: str) -> None:
    assert rule_for(command) == rule


def test_always_allows_the_same_program_but_no_more(make_bench: MakeBench) -> None:
    bench = make_bench(mode="default")
    bench.person.decision = Decision.ALLOW_ALWAYS
    bench.use("Bash", command="touch a")
    bench.use("Bash", command="touch b")
    assert [one.preview for one in bench.person.asked] == ["touch a"]
    bench.person.decision = Decision.DENY
    refused = bench.use("Bash", command="touch c; touch d")
    assert refused.is_error
    assert refused.command == "touch c; touch d"
    assert not (bench.root / "c").exists()


# -- Modes ----------------------------------------------------------------------------------------


def test_default_asks_with_a_diff_and_takes_no_for_an_answer(make_bench: MakeBench) -> None:
    bench = make_bench(mode="default")
    bench.write("a.txt", "one\n")
    bench.use("Read", file_path="a.txt")
    assert not bench.person.asked
    bench.person.decision = Decision.DENY
    output = bench.use("Edit", file_path="a.txt", old_string="one", new_string="two")
    assert output.is_error
    assert "did not allow" in output.content
    assert "-one\n+two" in bench.person.asked[0].preview
    bench.use("Write", file_path="b.txt", content="new\n")
    assert "+new" in bench.person.asked[1].preview
    assert not (bench.root / "b.txt").exists()
    assert not bench.use("Bash", command="ls").is_error
    assert len(bench.person.asked) == 2


def test_a_call_that_cannot_work_is_not_asked_for(make_bench: MakeBench) -> None:
    bench = make_bench(mode="default")
    bench.write("a.txt", "one\n")
    bench.use("Read", file_path="a.txt")
    bench.use("Edit", file_path="a.txt", old_string="nowhere", new_string="x")
    bench.use("Write", file_path="../x", content="x")
    bench.use("Write", file_path="a.txt", content=3)
    assert not bench.person.asked


def test_accept_edits_asks_for_commands_and_for_what_runs_programs(make_bench: MakeBench) -> None:
    bench = make_bench(mode="accept_edits")
    assert not bench.use("Write", file_path="a.txt", content="x").is_error
    assert not bench.person.asked
    bench.person.decision = Decision.DENY
    for name in (".git/hooks/pre-commit", ".vscode/tasks.json", ".claude/settings.json"):
        assert bench.use("Write", file_path=name, content="x").is_error
    assert bench.use("Bash", command="touch x").is_error
    assert len(bench.person.asked) == 4
    bench.session.permissions.allowed.append("Write")
    assert bench.use("Write", file_path=".git/hooks/x", content="x").is_error
    bench.session.permissions.allowed.append("Write(.git/hooks/*)")
    assert not bench.use("Write", file_path=".git/hooks/x", content="x").is_error


def test_dont_ask_declines_what_is_not_allowed(make_bench: MakeBench) -> None:
    bench = make_bench(mode="dont_ask")
    assert bench.use("Bash", command="touch x").is_error
    assert bench.use("Write", file_path="a", content="x").is_error
    assert not bench.use("Bash", command="pwd").is_error
    bench.session.permissions.allowed += ["Bash(touch *)", "Write(docs/*)"]
    assert not bench.use("Bash", command="touch x").is_error
    assert bench.use("Bash", command="touch x; touch y").is_error
    assert not bench.use("Write", file_path="docs/a", content="x").is_error
    assert bench.use("Write", file_path="docs/../b", content="x").is_error
    assert not bench.person.asked


def test_bypass_asks_nothing_but_denied_rules_and_paths_stay(bench: ToolBench) -> None:
    bench.write(".env", "KEY=1\n")
    bench.session.permissions.denied += ["Bash(rm *)", "Read(.env)"]
    assert bench.use("Bash", command="ls; rm x").is_error
    assert bench.use("Read", file_path=".env").is_error
    assert bench.use("Read", file_path="./x/../.env").is_error
    assert bench.use("Write", file_path="/etc/x", content="x").is_error
    assert not bench.use("Bash", command="touch y").is_error


def test_a_skill_may_narrow_the_tools_to_commands(bench: ToolBench) -> None:
    bench.session.permissions.only = ("Read", "Bash(git status:*)")
    assert not bench.use("Bash", command="git status --help >/dev/null").is_error
    assert "allows only" in bench.use("Bash", command="git log").content
    assert "allows only" in bench.use("Bash", command="git status; ls").content
    assert "allows only" in bench.use("Glob", pattern="*").content


def test_reading_outside_is_asked_for_even_in_plan_mode(make_bench: MakeBench) -> None:
    bench = make_bench(mode="plan")
    assert not bench.use("Bash", command="cat /etc/hostname").is_error
    assert bench.person.asked[0].only_reads
    bench.person.decision = Decision.DENY
    assert bench.use("Bash", command="cat /etc/hosts").is_error
    assert bench.session.permissions.mode is PermissionMode.PLAN


def test_a_request_cannot_hide_what_it_does(make_bench: MakeBench) -> None:
    bench = make_bench(mode="default")
    bench.person.decision = Decision.DENY
    bench.use("Bash", command="touch a\x1b[2K\u202e # ls")
    assert bench.person.asked[0].preview == "touch a\\x1b[2K\\u202e # ls"
    assert "\x1b" not in bench.person.asked[0].reason
