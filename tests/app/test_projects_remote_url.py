"""However a remote is written, the same repository gets the same name, and no password survives."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.git.config import is_shorthand, parse_config, read_remote

pytestmark = pytest.mark.feature("A1")


@pytest.mark.parametrize(
    ("url", "slug"),
    [
        ("https://github.com/Acme/Widget.git", "github.com/acme/widget"),
        ("http://www.github.com/acme/widget/", "github.com/acme/widget"),
        ("git@github.com:acme/widget.git", "github.com/acme/widget"),
        ("github.com:acme/widget", "github.com/acme/widget"),
        ("ssh://git@github.com:22/acme/widget.git", "github.com/acme/widget"),
        ("ssh://git@ssh.github.com:443/acme/widget", "github.com/acme/widget"),
        ("git+ssh://git@GitHub.com./acme//widget.git/", "github.com/acme/widget"),
        ("git://github.com/acme/widget?x=1#main", "github.com/acme/widget"),
        ("https://gitlab.com/group/sub/deep/tool.git", "gitlab.com/group/sub/deep/tool"),
        ("git@gitlab.example.org:2222/Group/Tool", "gitlab.example.org/2222/Group/Tool"),
        ("https://example.org/Path/Case", "example.org/Path/Case"),
        ("https://example.org/a%20b/c", "example.org/a b/c"),
        ("ssh://[2001:db8::1]:22/srv/repo.git", "2001:db8::1/srv/repo"),
        ("[2001:db8::1]:srv/repo.git", "2001:db8::1/srv/repo"),
        ("host.example:/srv/git/repo/.git", "host.example/srv/git/repo"),
        ("https://org@dev.azure.com/org/My%20App/_git/api", "dev.azure.com/org/my app/api"),
        ("git@ssh.dev.azure.com:v3/org/My%20App/api", "dev.azure.com/org/my app/api"),
        ("hg::https://example.org/a/b", "example.org/a/b"),
    ],
)
def test_addresses_of_a_repository_are_read(url: str, slug: str):
    found = read_remote(url)
    assert found is not None
    assert found.slug == slug


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/git/repo",
        "../sibling",
        "./here:there",
        "file:///srv/git/repo",
        "C:\\repo",
        "C:/repo",
        "C:",
        "\\\\server\\share\\repo",
        "https://github.com",
        "https://github.com/",
        "https:///a/b",
        "host:",
        "https://github.com/../../etc",
        "https://github.com/a\nb/c",
        "https://github.com/a%00b/c",
        "ext::sh -c whoami",
        "s3://bucket/repo",
    ],
)
def test_local_paths_and_nonsense_name_no_repository(url: str):
    assert read_remote(url) is None


_NAME = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=12)
_SECRET = st.text(string.ascii_letters + string.digits + ":@%!", min_size=1, max_size=20).map(
    lambda text: f"Zz{text}zZ"
)


@given(owner=_NAME, groups=st.lists(_NAME, max_size=3), repo=_NAME, user=_NAME, secret=_SECRET)
def test_every_form_of_one_address_gives_one_name(
    owner: str, groups: list[str], repo: str, user: str, secret: str
):
    path = "/".join([owner, *groups, repo])
    forms = [
        f"https://git.example.org/{path}",
        f"https://GIT.example.org:8443/{path}.git",
        f"https://{user}:{secret}@git.example.org/{path}.git/",
        f"http://{secret}@git.example.org//{path}",
        f"ssh://{user}@git.example.org:2222/{path}.git",
        f"ssh://git.example.org/{path}/",
        f"{user}@git.example.org:{path}.git",
        f"git.example.org:{path}/",
        f"git.example.org:/{path}",
        f"{user}:{secret}@git.example.org:{path}",
        f"git://git.example.org/{path}.git",
    ]
    names = {read_remote(form) for form in forms}
    assert {name.slug if name else None for name in names} == {f"git.example.org/{path}"}


@given(st.text(max_size=80))
def test_any_text_is_read_without_failing(text: str):
    found = read_remote(text)
    is_shorthand(text)
    assert found is None or (found.slug.count("/") >= 1 and "\n" not in found.slug)


@pytest.mark.parametrize(
    ("url", "short"),
    [
        ("gh:acme/widget", True),
        ("work:tools/x", True),
        ("git@host:acme/widget", False),
        ("github.com:acme/widget", False),
        ("https://host/acme", False),
        ("C:/repo", False),
        ("/srv/x", False),
    ],
)
def test_shorthand_is_told_from_addresses(url: str, short: bool):
    assert is_shorthand(url) is short


def test_a_configuration_is_read_as_git_reads_it():
    config = parse_config(
        "\ufeff# comment\n"
        "[core]\r\n\tbare = false\r\n"
        '[remote "origin"] url = "https://a.example/x#y" ; note\n'
        "\turl = https://second.example/x\n"
        '[Remote "With \\"quotes\\""]\n\turl = git@b.example:\\\nlong/path # note\n'
        "[remote.OLD]\n\tURL = c.example:a/b  \n"
        "[remote]\n\turl = ignored\n"
        "broken [ line\n"
        '[remote "empty"]\n\turl =\n\tfetch\n'
    )
    assert config.remote_urls() == {
        "origin": "https://a.example/x#y",
        'With "quotes"': "git@b.example:long/path",
        "old": "c.example:a/b",
    }
    assert not config.has_includes


@pytest.mark.parametrize("text", ["[include]\n path = x", '[includeIf "gitdir:~/w/"]\npath = x'])
def test_includes_are_noticed(text: str):
    assert parse_config(text).has_includes


@given(st.text())
def test_any_text_is_parsed_without_failing(text: str):
    parse_config(text).remote_urls()
