"""Prints the licences of everything that is linked into the program, each text once, with the works that it belongs to.

    scripts/dist/licences.py TARGET PROGRAM
"""

import sys
import textwrap

import image
import linked

LINE = "-" * 100


def standard_texts(work):
    """The usual texts for a work that comes with none."""
    texts = []
    if "MIT" in work.licence:
        lines = (linked.ROOT / "LICENSE-MIT").read_text().splitlines()
        holders = ", ".join(author.split(" <")[0] for author in work.authors)
        texts.append("\n".join(f"Copyright (c) {holders}" if "Copyright (c)" in line else line for line in lines))
    if "Apache-2.0" in work.licence:
        texts.append((linked.ROOT / "LICENSE-APACHE").read_text())
    if not texts:
        sys.exit(f"{work.name} {work.version} ({work.licence or 'no licence'}) has no text of its licence")
    return texts


def plain(text):
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def grouped(works):
    """[(text, [names])], in the order of the first name; texts that differ only in their spaces are one."""
    groups = {}
    for work in works:
        for text in work.texts or standard_texts(work):
            _, names = groups.setdefault(" ".join(text.split()), (plain(text), []))
            name = f"{work.name} {work.version}"
            if name not in names:
                names.append(name)
    return list(groups.values())


def page(target, static):
    crates, _ = linked.crates(target)
    works = [*crates.values(), *(work for _, work in linked.others(target, static))]
    works.sort(key=lambda work: (work.name.lower(), work.version))
    yield "Bailiwick is licensed under MIT OR Apache-2.0 (LICENSE-MIT, LICENSE-APACHE). The program contains:\n"
    for work in works:
        yield f"{work.name} {work.version}: {work.licence}"
    if static:
        yield "\nThe GNU C Library is linked statically. With the sources of Bailiwick, which are those of the commit that the"
        yield "program names (bailiwick_build_info), anyone can link it to another version: docs/install.md."
    for text, names in grouped(works):
        heading = textwrap.fill(", ".join(names), len(LINE), break_on_hyphens=False)
        yield f"\n{LINE}\n{heading}\n{LINE}\n\n{text}"


if __name__ == "__main__":
    target, program = sys.argv[1:]
    print("\n".join(page(target, not image.libraries(program))))
