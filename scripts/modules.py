#!/usr/bin/env python3
"""Finds circles of top-level modules: `scripts/modules.py [--list] CRATE_DIRECTORY...`

Reads the `use` declarations and the paths of each source file. The top-level modules of a crate must not name each
other in a circle; a module and its children may. Names that the root of the crate re-exports count as the root's.

Prints a circle with the lines that make it, `--list` all of them, and ends with 1 when there is one.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

CODE = re.compile(r'//[^\n]*|/\*.*?\*/|r#*"(?:.|\n)*?"#*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.S)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{")
NAME = re.compile(r"(?:r#)?\w+|\*")


def module_of(source, file):
    """The path of the module in a file, as a list of names; the root of the crate is empty."""
    parts = list(file.relative_to(source).with_suffix("").parts)
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def code_of(text):
    """The text without comments, literals and unit tests; line breaks stay."""
    text = CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    tests = TESTS.search(text)
    return text[: tests.start()] if tests else text


def paths_of(text):
    """Every path that begins with crate, self or super, with the line on which it begins."""
    for match in re.finditer(r"\b(?:crate|self|super)(?=\s*::)", text):
        line = text.count("\n", 0, match.start()) + 1
        yield from ((line, path) for path in tree_of(text, match.start(), ())[0])


def skip(text, at, what=r"\s*"):
    return at + re.compile(what).match(text, at).end() - at


def tree_of(text, at, prefix):
    """Reads `a::{b, c::d}` at a place; answers the paths and the place behind it."""
    while True:
        at = skip(text, at)
        if text[at] == "{":
            paths, at = [], skip(text, at + 1)
            while text[at] != "}":
                inner, at = tree_of(text, at, prefix)
                paths += inner
                at = skip(text, at, r"\s*,?\s*")
            return paths, at + 1
        name = NAME.match(text, at)
        if not name:
            return [prefix], at
        prefix += (name.group(),)
        at = skip(text, name.end(), r"(?:\s+as\s+\w+)?")
        more = re.compile(r"\s*::\s*(?!<)").match(text, at)
        if not more:
            return [prefix], at
        at = more.end()


def target_of(path, module, tops):
    """The top-level module that a path leads to, or none."""
    here, path = list(module), list(path)
    while path and path[0] in ("crate", "self", "super"):
        step = path.pop(0)
        if step == "crate":
            here = []
        elif step == "super":
            here = here[:-1]
    top = (here + path + [None])[0]
    return top if top in tops else None


def circle_in(arrows):
    """One circle of a graph, as a list of its nodes, or none."""
    state, trail = {}, []

    def visit(node):
        state[node] = "open"
        trail.append(node)
        for other in sorted(arrows.get(node, ())):
            if state.get(other) == "open":
                return trail[trail.index(other) :]
            if other not in state and (found := visit(other)):
                return found
        state[node] = "done"
        trail.pop()
        return None

    for node in sorted(arrows):
        if node not in state and (found := visit(node)):
            return found
    return None


def check(crate, lists):
    """Prints the circles of a crate; how many."""
    source = crate / "src"
    modules = [(module_of(source, file), file) for file in sorted(source.rglob("*.rs"))]
    modules = [(module, file) for module, file in modules if module and "tests" not in module]
    tops = {module[0] for module, _ in modules}
    arrows = defaultdict(lambda: defaultdict(list))
    for module, file in modules:
        for line, path in paths_of(code_of(file.read_text())):
            target = target_of(path, module, tops)
            if target and target != module[0]:
                arrows[module[0]][target].append(f"{file}:{line}")
    count = 0
    while circle := circle_in(arrows):
        count += 1
        steps = list(zip(circle, circle[1:] + circle[:1]))
        print(f"circle in {crate.name}: {' → '.join(circle + circle[:1])}", file=sys.stderr)
        for a, b in steps:
            print(f"    {a} → {b}: {', '.join(arrows[a][b][:4])}", file=sys.stderr)
        if not lists:
            break
        # Without its weakest arrow the next circle shows.
        a, b = min(steps, key=lambda step: len(arrows[step[0]][step[1]]))
        del arrows[a][b]
    return count


def main():
    lists = "--list" in sys.argv
    crates = [Path(name) for name in sys.argv[1:] if name != "--list"]
    return 1 if sum(check(crate, lists) for crate in crates) else 0


if __name__ == "__main__":
    sys.exit(main())
