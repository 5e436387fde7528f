"""The README's tour: its shell blocks and the output it shows after them. See tour.sh.

tour.py extract README          all blocks as a script
tour.py sign-in README          what a sign-in needs of it
tour.py compare README OUTPUT   whether the output is the one shown
tour.py write README OUTPUT     shows this output
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
        # What a reader types for himself.
        code = re.sub(r"^export BASE=.*$", "export BASE=$TOUR_BASE", code, flags=re.M)
        code = re.sub(r"^export PASSWORD=.*$", "export PASSWORD=$TOUR_PASSWORD", code, flags=re.M)
        print(f"echo '=== {number}'")
        print(code)


def outputs(text):
    parts = re.split(r"^=== \d+\n", text, flags=re.M)
    return parts[1:]


def compare(readme, text):
    wrong = 0
    for number, ((_, shown), got) in enumerate(zip(blocks(readme), outputs(text), strict=True)):
        if (shown or "") != got:
            wrong += 1
            print(f"block {number} of the tour prints\n{got}but the README shows\n{shown or 'nothing'}", file=sys.stderr)
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
        compare(source, printed) if command == "compare" else write(path, source, printed)
