"""Compares the IR of a document with what the compiler prints.

A block of ```mlir whose first line is `// fa-opt ...` says which command prints it. Its lines
stand in the output in this order, with whatever between them; `...` in a line stands for anything.

    check_docs.py DOCUMENT DIRECTORY     commands run in the directory
"""

import re
import shlex
import subprocess
import sys


def blocks(text):
    """-> (line number, command, lines) of each block that a command prints."""
    for match in re.finditer(r"^```mlir\n// (fa-opt [^\n]*)\n(.*?)^```$", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 2, match.group(1), match.group(2).splitlines()


def pattern(line):
    parts = [re.escape(part).replace(r"\ ", r"\s+") for part in line.strip().split("...")]
    return re.compile(".*".join(parts))


def missing(lines, output):
    """-> the number of the first line that the output lacks, or None."""
    output = iter(output.splitlines())
    for number, line in enumerate(lines):
        if line.strip() in ("", "..."):
            continue
        expected = pattern(line)
        if not any(expected.search(printed) for printed in output):
            return number
    return None


def main():
    path, directory = sys.argv[1:]
    with open(path) as handle:
        text = handle.read()
    checked = failed = 0
    printed = {}
    for at, command, lines in blocks(text):
        if command not in printed:
            run = subprocess.run(shlex.split(command) + ["-o", "/dev/stdout"], cwd=directory, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            printed[command] = run.stdout
        checked += 1
        number = missing(lines, printed[command])
        if number is not None:
            failed += 1
            print("%s:%d: `%s` does not print, after the lines before it:\n%s" % (
                path, at + 1 + number, command, lines[number]))
    print("%d blocks, %d of which differ" % (checked, failed))
    sys.exit(1 if failed or not checked else 0)


if __name__ == "__main__":
    main()
