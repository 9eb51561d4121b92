"""Completion scripts for bash, zsh and fish, from what may stand at each place of a command line.

A place is found by the first two words, so that a script computes nothing while somebody types.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple


class Offer(NamedTuple):
    """What a word may be: one of some words (word -> what it is, or ""), or a file.

    Args:
        listed: whether it may be several of the words, with commas between them.
    """

    words: Mapping[str, str]
    files: bool = False
    listed: bool = False

    def and_also(self, other: Offer) -> Offer:
        """Either of two."""
        files, listed = self.files or other.files, self.listed or other.listed
        return Offer({**self.words, **other.words}, files, listed)

    @property
    def flags(self) -> list[str]:
        """Assignments with which the scripts of bash and zsh remember the rest of it."""
        return ["files=yes"] * self.files + ["listed=yes"] * self.listed


NOTHING = Offer({})

AT_FIRST, LATER = "", "SOURCE"
"""Places without a command: the first word, which may be one, and those after sources."""


class Place(NamedTuple):
    """What may follow some first words.

    Args:
        path: the words, such as "catalog show"; `AT_FIRST` and `LATER` for the planner.
        options: option -> what it does.
        values: option with a value -> what the value may be.
        arguments: what the words without an option may be.
    """

    path: str
    options: Mapping[str, str]
    values: Mapping[str, Offer]
    arguments: Offer


def bash(places: Sequence[Place]) -> str:
    """The script for bash 3.2 and later."""

    def offered(offer: Offer) -> str:
        words = [f"words={shlex.quote(' '.join(offer.words))}"] if offer.words else []
        return "; ".join([*words, *offer.flags])

    return f"""# Completion of the sparkplan command for bash.
_sparkplan() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before at=$COMP_CWORD counted=
    local place= words= files= listed= head= found
    # Each = is a word of its own: that of --option=value, and those of TYPE=N,TYPE=N.
    [[ $word == = ]] && word= && at=$((at + 1))
    while (( at > 1 )) && [[ ${{COMP_WORDS[at-1]}} == = ]]; do
        at=$((at - 2))
        [[ ${{COMP_WORDS[at]}} == -* ]] || counted=yes
    done
    before=${{COMP_WORDS[at-1]}}
    (( at < COMP_CWORD )) && [[ ${{COMP_WORDS[at]}} == -* ]] && before=${{COMP_WORDS[at]}}
    COMPREPLY=()
    [[ -n $counted && $word != *,* ]] && return
    (( COMP_CWORD > 1 )) && place=${{COMP_WORDS[1]}}
    (( COMP_CWORD > 2 )) && place="$place ${{COMP_WORDS[2]}}"
{_cases(places, offered)}
    if [[ -n $listed ]]; then
        head=${{word%"${{word##*,}}"}}
        word=${{word##*,}}
    fi
    while IFS= read -r found; do
        COMPREPLY+=("$found")
    done < <(compgen -P "$head" -W "$words" -- "$word")
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r found; do
            COMPREPLY+=("$found")
        done < <(compgen -f -- "$word")
    fi
}}
complete -F _sparkplan sparkplan
"""


def zsh(places: Sequence[Place]) -> str:
    """The script for zsh: sourced after `compinit`, or a file `_sparkplan` in the `fpath`."""

    def offered(offer: Offer) -> str:
        described = [f"{word}:{what}" if what else word for word, what in offer.words.items()]
        words = [f"offered=({shlex.join(described)})"] if described else []
        return "; ".join([*words, *offer.flags])

    return f"""#compdef sparkplan
# Completion of the sparkplan command for zsh.
_sparkplan() {{
    local word=$PREFIX before=$words[CURRENT-1] place= files= listed=
    local -a offered
    if [[ $PREFIX == --*=* ]]; then
        before=${{PREFIX%%=*}}
        compset -P 1 '*='
    fi
    (( CURRENT > 2 )) && place=$words[2]
    (( CURRENT > 3 )) && place="$place $words[3]"
{_cases(places, offered)}
    [[ -n $listed ]] && compset -P '*,'
    (( $#offered )) && _describe -t words word offered
    [[ -n $files ]] && _files
}}
if [[ $funcstack[1] == _sparkplan ]]; then
    _sparkplan "$@"
else
    compdef _sparkplan sparkplan
fi
"""


def _cases(places: Sequence[Place], offered: Callable[[Offer], str]) -> str:
    """The place, and what is offered there, as `case` commands that bash and zsh share.

    Args:
        offered: the commands that offer something.
    """
    names = [place.path for place in places]
    takers: dict[str, list[str]] = {}
    for place in places:
        for option, offer in place.values.items():
            takers.setdefault(offered(offer), []).append(f"{place.path} {option}")
    values = _branches(8, ((options, commands) for commands, options in takers.items()))
    options = _branches(20, (([each.path], offered(Offer(each.options))) for each in places))
    arguments = _branches(20, (([each.path], offered(each.arguments)) for each in places))
    return f"""    case $place in
        {_pattern(name for name in names if " " in name)}) ;;
        *) place=${{place%% *}} ;;
    esac
    case $place in
        {_pattern(names)}) ;;
        *) place={LATER} ;;
    esac
    case "$place $before" in
{values}
        *)
            if [[ $word == -* ]]; then
                case $place in
{options}
                esac
            else
                case $place in
{arguments}
                esac
            fi ;;
    esac"""


def _branches(indent: int, branches: Iterable[tuple[Iterable[str], str]]) -> str:
    return "\n".join(
        f"{' ' * indent}{_pattern(texts)}) {commands} ;;" for texts, commands in branches
    )


def _pattern(texts: Iterable[str]) -> str:
    return "|".join(shlex.quote(text) for text in texts)


def fish(places: Sequence[Place]) -> str:
    """The script for fish."""
    names = " ".join(_fish(place.path) for place in places)
    lines = [_FISH_PLACE.format(names=names, later=LATER)]
    lists: dict[tuple[str, ...], str] = {}  # type names, which many options take, stand there once
    for place in places:
        before = f"complete -c sparkplan -n {_fish(f'__sparkplan_at {_fish(place.path)}')}"
        lines.append(f"{before} {'-F' if place.arguments.files else '-f'}")
        for word, what in place.arguments.words.items():
            lines.append(f"{before} -a {_fish(word)}{_described(what)}")
        for option, what in place.options.items():
            name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            value = ""
            if (offer := place.values.get(option)) is not None:
                words = tuple(offer.words)
                if words and words not in lists:
                    lists[words] = f"__sparkplan_words_{len(lists) + 1}"
                    lines.append(f"set -g {lists[words]} {' '.join(map(_fish, words))}")
                value = _fish_value(offer, lists.get(words))
            lines.append(f"{before} {name}{value}{_described(what)}")
    return "\n".join(lines) + "\n"


def _fish_value(offer: Offer, list_name: str | None) -> str:
    """What completes the value of an option: files or not, and the words of a list by its name."""
    value = f" {'-r -F' if offer.files else '-x'}"
    if list_name is None:
        return value
    words = f"(__sparkplan_list ${list_name})" if offer.listed else f"${list_name}"
    return f"{value} -a '{words}'"


_FISH_PLACE = """# Completion of the sparkplan command for fish.
function __sparkplan_at
    set -l words (commandline -opc)
    set -l names {names}
    set -l place "$words[2] $words[3]"
    contains -- "$place" $names; or set place "$words[2]"
    contains -- "$place" $names; or set place {later}
    test "$place" = "$argv[1]"
end
function __sparkplan_list
    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '')
    set -l head (string match -r -- '.*,' "$typed")
    for word in $argv
        echo "$head$word"
    end
end
complete -c sparkplan -e"""


def _described(what: str) -> str:
    return f" -d {_fish(what)}" if what else ""


def _fish(text: str) -> str:
    """A text in quotes, as fish reads them."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: Mapping[str, Callable[[Sequence[Place]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
