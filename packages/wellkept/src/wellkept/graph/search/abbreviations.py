"""Words that code shortens: a question asks for the environment, the code says `env`.

Knows only words; the caller decides which requests are widened by them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from wellkept.graph.search.tokens import words

_SHORT_FORMS = """
    administrator admin, allocate alloc, application app, argument arg, arguments args,
    asynchronous async, attribute attr, authentication auth, authenticate auth, authorization authz,
    buffer buf, calculate calc, callback cb, certificate cert, character char, command cmd,
    configuration config, configuration conf, configure config, configured config, connection conn,
    context ctx, database db, declaration decl, delete del, dependency dep, dependencies deps,
    description desc, destination dst, development dev, dictionary dict, directory dir,
    document doc, documentation docs, environment env, error err, exception exc, execute exec,
    expression expr, extension ext, function func, function fn, generate gen, implementation impl,
    information info, initialize init, initialise init, integer int, iterate iter, iterator iter,
    language lang, library lib, maximum max, message msg, minimum min, number num, object obj,
    operation op, package pkg, parameter param, parameters params, password passwd, pointer ptr,
    previous prev, process proc, production prod, reference ref, repository repo,
    request req, response resp, response res, separator sep, sequence seq, source src,
    specification spec, standard std, statement stmt, statistics stats, string str,
    synchronous sync, synchronize sync, system sys, template tmpl, temporary tmp, temporary temp,
    utility util, utilities utils, value val, variable var, version ver, vector vec
"""


def with_short_forms(terms: Iterable[str]) -> list[str]:
    """Terms, followed by the usual short or long forms of some of them."""
    given = list(terms)
    known = _forms()
    more = (form for term in given for form in known.get(term, ()))
    return list(dict.fromkeys([*given, *more]))


@cache
def _forms() -> dict[str, list[str]]:
    """Other forms by term, both ways."""
    found: dict[str, list[str]] = {}
    for pair in _SHORT_FORMS.split(","):
        long, short = (words(form)[0] for form in pair.split())
        found.setdefault(long, []).append(short)
        found.setdefault(short, []).append(long)
    return found
