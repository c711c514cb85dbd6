"""Takes secrets of certain form out of a payload before the hook writes it.

Tokens with a provider's own prefix, private keys, passwords in addresses, bearer tokens and what
`<private>` encloses. Everything else is found when the spool is drained. By literals alone: loading
`re` costs the hook more than the rest of it, searching for these bytes next to nothing.

Imported by the hook process at every event.
"""

MARK = b"[redacted:%b]"
MAX_BYTES = 8 << 20

TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.=+/"
# How a provider's tokens begin, and how many characters follow at least.
PREFIXES = (
    *((b"ghp_", 30), (b"gho_", 30), (b"ghu_", 30), (b"ghs_", 30), (b"ghr_", 30)),
    *((b"github_pat_", 40), (b"glpat-", 18), (b"sk-ant-", 30), (b"sk-proj-", 30)),
    *((b"sk_live_", 20), (b"rk_live_", 20), (b"whsec_", 24), (b"xoxb-", 20), (b"xoxp-", 20)),
    *((b"xapp-", 20), (b"AKIA", 16), (b"ASIA", 16), (b"AIza", 35), (b"ya29.", 30), (b"SG.", 40)),
    *((b"npm_", 36), (b"pypi-AgEI", 40), (b"dop_v1_", 40), (b"hf_", 30), (b"shpat_", 30)),
    *((b"hvs.", 24), (b"lin_api_", 30), (b"gsk_", 40), (b"xai-", 40), (b"sbp_", 30)),
    *((b"nvapi-", 40), (b"AGE-SECRET-KEY-1", 40), (b"earer ", 24)),
)
_KEY, _KEY_BEGIN, _KEY_END = b"PRIVATE KEY-----", b"-----BEGIN", b"-----END"
_PRIVATE = ((b"<private>", b"</private>"), (b"<private>", b"<\\/private>"))
_MAX_TOKEN, _MAX_KEY, _MAX_LOGIN = 4096, 16_384, 300
NO_LOGIN = b" /\"'\\<>\n\t"


def without_certain(payload: bytes) -> bytes:
    """The payload without secrets of certain form; a very large one waits for the drain."""
    if len(payload) > MAX_BYTES:
        return payload
    for begin, end in _PRIVATE:
        payload = _without_blocks(payload, begin, end)
    if _KEY in payload:
        payload = _without_keys(payload)
    for prefix, least in PREFIXES:
        if prefix in payload:
            payload = _without_tokens(payload, prefix, least)
    return _without_logins(payload) if b"://" in payload and b"@" in payload else payload


def _without_tokens(payload: bytes, prefix: bytes, least: int) -> bytes:
    parts: list[bytes] = []
    at = 0
    while (found := payload.find(prefix, at)) >= 0:
        start = found + len(prefix)
        rest = payload[start : start + _MAX_TOKEN]
        size = len(rest) - len(rest.lstrip(TOKEN))
        parts.append(payload[at:start])
        at = start
        if size >= least and _begins(payload, found):
            parts.append(MARK % b"token")
            at += size
    return b"".join((*parts, payload[at:]))


def _begins(payload: bytes, at: int) -> bool:
    """Whether a word begins here; in JSON a line end before it is a backslash and a letter."""
    before = payload[max(0, at - 2) : at]
    is_escape = len(before) == 2 and before[:1] == b"\\" and before[1:] in (b"n", b"t", b"r")
    is_inside = before[-1:].isalnum() or before[-1:] == b"_"
    return is_escape or not is_inside or payload[at : at + 5] == b"earer"


def _without_keys(payload: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while (found := payload.find(_KEY, at)) >= 0:
        body = found + len(_KEY)
        parts.append(payload[at:body])
        is_begin = payload.rfind(_KEY_BEGIN, max(at, found - 40), found) >= 0
        at = body
        if is_begin:
            end = payload.find(_KEY_END, body, body + _MAX_KEY)
            quote = payload.find(b'"', body, body + _MAX_KEY)
            at = min(one for one in (end, quote, len(payload)) if one >= 0)
            parts.append(MARK % b"private-key")
    return b"".join((*parts, payload[at:]))


def _without_blocks(payload: bytes, begin: bytes, end: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while (found := payload.find(begin, at)) >= 0:
        stop = payload.find(end, found)
        if stop < 0:
            break
        parts.append(payload[at:found])
        at = stop + len(end)
    return b"".join((*parts, payload[at:])) if parts or at else payload


def _without_logins(payload: bytes) -> bytes:
    """Passwords in addresses: `scheme://user:password@host`."""
    parts: list[bytes] = []
    at = 0
    while (found := payload.find(b"://", at)) >= 0:
        start = found + 3
        login, sign, _ = payload[start : start + _MAX_LOGIN].partition(b"@")
        user, colon, password = login.partition(b":")
        parts.append(payload[at:start])
        at = start
        if sign and colon and password and not any(one in login for one in NO_LOGIN):
            parts.append(user + colon + MARK % b"password")
            at += len(login)
    return b"".join((*parts, payload[at:]))
