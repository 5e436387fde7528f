"""The shell blocks of a document and the output it shows after them. See tour.sh and guides.sh.

blocks.py extract PAGE          all blocks as a script
blocks.py sign-in README        what a sign-in needs of the README's tour
blocks.py compare PAGE OUTPUT   whether each block prints what the page shows
blocks.py shown PAGE OUTPUT     the same, only for the blocks whose output the page shows
blocks.py write PAGE OUTPUT     puts this output into the page
"""

import re
import sys

BLOCK = re.compile(r"```sh\n(.*?)```\n(?:\n(?:<!-- output: (\w+) -->|```text\n(.*?)```)\n)?", re.S)


def blocks(readme):
    """(code, shown output or None) of each shell block."""
    return [(code, shown) for code, _, shown in BLOCK.findall(readme)]


def extract(readme, wanted=lambda number, code: True):
    for number, (code, _) in enumerate(blocks(readme)):
        if not wanted(number, code):
            continue
        # `export NAME=…` is what readers type for themselves: TOUR_NAME takes its place where that is set.
        code = re.sub(r"^export (\w+)=(.*)$", r"export \1=${TOUR_\1-\2}", code, flags=re.M)
        print(f"echo '=== {number}'")
        print(code)


def outputs(text):
    parts = re.split(r"^=== \d+\n", text, flags=re.M)
    return parts[1:]


def compare(readme, text, is_whole=True):
    wrong = 0
    for number, ((_, shown), got) in enumerate(zip(blocks(readme), outputs(text), strict=True)):
        if (shown or "") != got and (shown or is_whole):
            wrong += 1
            print(f"block {number} prints\n{got}but the page shows\n{shown or 'nothing'}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


def write(path, readme, text):
    got = iter(outputs(text))

    def put(match):
        output = next(got)
        shown = f"\n```text\n{output}```\n" if output else ""
        return f"```sh\n{match[1]}```\n{shown}"

    with open(path, "w", encoding="utf-8") as file:
        file.write(BLOCK.sub(put, readme))


if __name__ == "__main__":
    command, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if command == "extract":
        extract(source)
    elif command == "sign-in":
        extract(source, lambda number, code: number == 0 or "code_challenge" in code)
    else:
        with open(sys.argv[3], encoding="utf-8") as file:
            printed = file.read()
        if command == "write":
            write(path, source, printed)
        else:
            compare(source, printed, is_whole=command == "compare")
