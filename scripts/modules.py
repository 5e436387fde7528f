#!/usr/bin/env python3
"""Finds circles of modules: `scripts/modules.py [--list] CRATE_DIRECTORY...`

Reads the `use` declarations and the paths of each source file. A module may name its parents and its children; apart
from that, siblings must not name each other in a circle. Each level of each crate is checked on its own: an arrow
from `a::x` to `b::y` counts as one from `a` to `b`.

Prints each circle with the lines that make it, and ends with 1 when there is one.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

CODE = re.compile(r'//[^\n]*|/\*.*?\*/|r#*"(?:.|\n)*?"#*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.S)


def module_of(source, file):
    """The path of the module in a file, as a tuple of names; the root of the crate is empty."""
    parts = list(file.relative_to(source).with_suffix("").parts)
    return tuple(parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts)


def code_of(text):
    """The text without comments, literals and unit tests; line breaks stay."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    text = CODE.sub(blank, text)
    tests = re.search(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{", text)
    return text[: tests.start()] if tests else text


def paths_of(text):
    """Every path that begins with crate, self or super, with the line on which it begins."""
    for match in re.finditer(r"\b(?:crate|self|super)(?=\s*::)", text):
        line = text.count("\n", 0, match.start()) + 1
        yield from ((line, path) for path in tree_of(text, match.start(), ())[0])


def tree_of(text, at, prefix):
    """Reads `a::{b, c::d}` at a place; answers the paths and the place behind it."""
    paths = []
    while True:
        at += len(text[at:]) - len(text[at:].lstrip())
        if text[at : at + 1] == "{":
            at += 1
            while text[at] != "}":
                inner, at = tree_of(text, at, prefix)
                paths += inner
                at += len(text[at:]) - len(text[at:].lstrip())
                if text[at] == ",":
                    at += 1
                at += len(text[at:]) - len(text[at:].lstrip())
            return paths, at + 1
        name = re.match(r"(?:r#)?\w+|\*", text[at:])
        if not name:
            return [prefix], at
        prefix += (name.group(),)
        at += name.end()
        rename = re.match(r"\s+as\s+\w+", text[at:])
        if rename:
            at += rename.end()
        more = re.match(r"\s*::\s*", text[at:])
        if not more or text[at + more.end() : at + more.end() + 1] == "<":
            return paths + [prefix], at
        at += more.end()


def target_of(path, module, modules):
    """The module that a path leads to, or none outside the crate."""
    here = list(module)
    for i, name in enumerate(path):
        if name == "crate":
            here = []
        elif name == "super":
            if not here:
                return None
            here.pop()
        elif name != "self":
            break
        rest = path[i + 1 :]
    for name in rest:
        if tuple(here + [name]) not in modules:
            break
        here.append(name)
    return tuple(here)


def circle_in(arrows):
    """One circle of a graph, as a list of its nodes, or none."""
    state, trail = {}, []

    def visit(node):
        state[node] = "open"
        trail.append(node)
        for other in sorted(arrows.get(node, ())):
            if state.get(other) == "open":
                return trail[trail.index(other) :]
            if other not in state:
                found = visit(other)
                if found:
                    return found
        state[node] = "done"
        trail.pop()
        return None

    for node in sorted(arrows):
        if node not in state:
            found = visit(node)
            if found:
                return found
    return None


def check(crate, lists):
    source = crate / "src"
    files = {module_of(source, file): file for file in sorted(source.rglob("*.rs"))}
    files = {module: file for module, file in files.items() if "tests" not in module}
    levels = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for module, file in files.items():
        for line, path in paths_of(code_of(file.read_text())):
            target = target_of(path, module, files)
            if target is None or target == module:
                continue
            common = 0
            while common < min(len(module), len(target)) and module[common] == target[common]:
                common += 1
            if common == len(module) or common == len(target):
                continue  # a parent or a child
            levels[module[:common]][module[common]][target[common]].append(f"{file}:{line}")
    count = 0
    for level, arrows in sorted(levels.items()):
        if level: continue
        arrows = {a: dict(b) for a, b in arrows.items()}
        while circle := circle_in(arrows):
            count += 1
            where = "::".join((crate.name,) + level)
            print(f"circle in {where}: {' → '.join(circle + circle[:1])}", file=sys.stderr)
            for a, b in zip(circle, circle[1:] + circle[:1]):
                print(f"    {a} → {b}: {', '.join(arrows[a][b][:4])}", file=sys.stderr)
            if not lists:
                return count
            # Without its weakest arrow the next circle shows.
            a, b = min(zip(circle, circle[1:] + circle[:1]), key=lambda arrow: len(arrows[arrow[0]][arrow[1]]))
            del arrows[a][b]
    return count


def main():
    lists = "--list" in sys.argv
    crates = [Path(name) for name in sys.argv[1:] if name != "--list"]
    return 1 if sum(check(crate, lists) for crate in crates) else 0


if __name__ == "__main__":
    sys.exit(main())
