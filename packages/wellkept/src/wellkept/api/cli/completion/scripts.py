"""The completion scripts of the shells. Each asks `answer` and does nothing else."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

_BASH: Final = """\
_wellkept_complete() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :file) compopt -o default ;;
            :dir) compopt -o dirnames ;;
            *) COMPREPLY+=("$line") ;;
        esac
    done < <(_WELLKEPT_COMPLETE=bash _WELLKEPT_LINE="${COMP_LINE:0:COMP_POINT}" "$1" 2>/dev/null)
}
complete -o nosort -F _wellkept_complete wellkept
"""
_ZSH: Final = """\
#compdef wellkept
_wellkept_complete() {
    local line
    local -a found
    for line in "${(@f)$(_WELLKEPT_COMPLETE=zsh _WELLKEPT_LINE="${(j: :)words[1,CURRENT]}" \\
        "$words[1]" 2>/dev/null)}"; do
        case $line in
            '') ;;
            :file) _files ;;
            :dir) _files -/ ;;
            *) found+=("$line") ;;
        esac
    done
    (( $#found )) && _describe -V wellkept found
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _wellkept_complete "$@"
else
    compdef _wellkept_complete wellkept
fi
"""
_FISH: Final = """\
function __wellkept_complete
    set -l typed (commandline -cp | string collect)
    for line in (env _WELLKEPT_COMPLETE=fish _WELLKEPT_LINE="$typed" wellkept 2>/dev/null)
        switch $line
            case ':file'
                __fish_complete_path (commandline -ct)
            case ':dir'
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete --no-files --keep-order --command wellkept --arguments '(__wellkept_complete)'
"""
SCRIPTS: Final = MappingProxyType({"bash": _BASH, "zsh": _ZSH, "fish": _FISH})
