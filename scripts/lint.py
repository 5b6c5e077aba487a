#!/usr/bin/env python3
"""What a reviewer should not have to say.

    lint.py [FILE...]     checks the tree (or some files of it); prints each violation
    lint.py --self-test   plants a violation of each rule and sees it caught

The last line counts the rules: `N passed, N failed, N skipped`.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLANG_FORMAT = "clang-format-22"
MAX_LINES = 1000
MAX_FUNCTION = 100
MAX_SOURCES = 20

RULES = {}  # name -> (function, what it says)


def rule(function):
    RULES[function.__name__.replace("_", "-")] = function
    return function


class Tree:
    """The files to check, by path relative to the root, and their text."""

    def __init__(self, root, files):
        self.root = root
        self.files = sorted(files)
        self.texts = {}

    def text(self, file):
        if file not in self.texts:
            with open(os.path.join(self.root, file), errors="replace") as handle:
                self.texts[file] = handle.read()
        return self.texts[file]

    def select(self, suffixes, under=("",)):
        return [f for f in self.files if f.endswith(suffixes) and f.startswith(tuple(under))]


def lines_matching(tree, files, pattern, message):
    for file in files:
        for number, line in enumerate(tree.text(file).splitlines(), 1):
            match = pattern.search(line)
            if match:
                yield "%s:%d: %s" % (file, number, message % match.group(0))


CODE = (".cpp", ".h", ".td", ".py", ".sh", ".txt", ".cmake", ".mlir", ".test", ".md", ".map")


@rule
def formatting(tree):
    """C++ is as clang-format 22 lays it out (`make format`)."""
    files = tree.select((".cpp", ".h"))
    if not files:
        return
    run = subprocess.run(
        [CLANG_FORMAT, "--dry-run", "--style=file", *files],
        cwd=tree.root, stderr=subprocess.PIPE, text=True)
    bad = {}
    for line in run.stderr.splitlines():
        match = re.match(r"(\S+?):(\d+):\d+: warning: code should be clang-formatted", line)
        if match:
            bad.setdefault(match.group(1), match.group(2))
    for file, line in bad.items():
        yield "%s:%s: not formatted; run `make format`" % (file, line)
    if run.returncode and not bad:
        yield "clang-format: " + run.stderr.strip()


@rule
def length(tree):
    """No file is longer than 1,000 lines."""
    for file in tree.select(CODE):
        count = tree.text(file).count("\n")
        if count > MAX_LINES:
            yield "%s: %d lines, at most %d: split it" % (file, count, MAX_LINES)


def functions(text):
    """-> (line, lines) of each function that C++ defines at the top or in a class, by braces."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    text = re.sub(r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])+\'|^#[^\n]*', blank,
                  text, flags=re.S | re.M)
    inside = []  # of each open brace: None for a namespace or a class, a line for a function's
    start = 0  # behind the last statement
    for match in re.finditer(r"[{};]", text):
        if match.group(0) == "{":
            header = text[start:match.start()]
            scope = re.match(r"\s*(template\s*<.*>\s*)?(namespace|struct|class|enum|union|extern)\b", header, re.S)
            if any(inside):
                inside.append(False)  # a block of a function
            elif scope and not re.search(r"\)\s*(const\s*)?$", header):
                inside.append(None)
            else:
                begins = match.start() - len(header.lstrip())
                inside.append(text.count("\n", 0, begins) + 1 if "(" in header else False)
        elif match.group(0) == "}" and inside:
            line = inside.pop()
            if line:
                yield line, text.count("\n", 0, match.start()) + 2 - line
        start = match.end()


@rule
def function_length(tree):
    """No function of the tile dialect is longer than 100 lines."""
    for file in tree.select((".cpp", ".h"), ("lib/Dialect/Tile/", "include/fa/Dialect/Tile/")):
        for line, lines in functions(tree.text(file)):
            if lines > MAX_FUNCTION:
                yield "%s:%d: a function of %d lines, at most %d: split it" % (
                    file, line, lines, MAX_FUNCTION)


ATTRIBUTE = re.compile(r'"tile\.\w+"')


@rule
def attributes_are_declared(tree):
    """Attributes of the tile dialect are constants of TileDialect.td, which says what they mean."""
    files = tree.select((".cpp", ".h"), ("lib/", "include/", "runtime/", "tools/"))
    return lines_matching(tree, files, ATTRIBUTE, "%s is a constant of TileDialect.td")


@rule
def folder_size(tree):
    """No folder of a dialect has more than 20 sources."""
    folders = {}
    for file in tree.select((".cpp",), ("lib/Dialect/",)):
        folders.setdefault(os.path.dirname(file), []).append(file)
    for folder, files in sorted(folders.items()):
        if len(files) > MAX_SOURCES:
            yield "%s: %d sources, at most %d: make rooms of it" % (folder, len(files), MAX_SOURCES)


def records(text):
    """-> (line, keyword, name, body) of each `def` and `class` of a .td file."""
    for match in re.finditer(r"^(def|class) (\w+)", text, re.M):
        end = text.find("\n}", match.end())
        semicolon = re.compile(r"[^{]*?;$", re.M).match(text, match.end())
        body = semicolon.group(0) if semicolon else text[match.end():end if end >= 0 else None]
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2), body


@rule
def documentation(tree):
    """Each op and pass has a summary and a description with an example."""
    for file in tree.select((".td",)):
        for line, keyword, name, body in records(tree.text(file)):
            head = body.split("{", 1)[0]
            op = keyword == "def" and (name.endswith("Op") or re.search(r":\s*\w*Op<", head))
            a_pass = keyword == "def" and re.search(r":\s*(Interface)?Pass<", head)
            if not op and not a_pass:
                continue
            what = "op" if op else "pass"
            if not re.search(r'let summary\s*=\s*"[^"]', body):
                yield "%s:%d: %s %s has no summary" % (file, line, what, name)
            description = re.search(r"let description\s*=\s*\[\{(.*?)\}\]", body, re.S)
            if not description or len(description.group(1).split()) < 5:
                yield "%s:%d: %s %s has no description" % (file, line, what, name)
            elif not re.search(r"Example.*```", description.group(1), re.S):
                yield "%s:%d: the description of %s %s has no example" % (file, line, what, name)


TILE = ("lib/Dialect/Tile/", "include/fa/Dialect/Tile/", "lib/Conversion/TileToNVVM/",
        "include/fa/Conversion/TileToNVVM/")
ATTENTION = re.compile(
    r"query|queries|softmax|causal|attention|key[ _]?length|\blse\b|alibi|dropout|Attention|Query"
    r"|Softmax|Causal|LSE|ALiBi|Dropout|softcap|Softcap")


@rule
def tile_knows_no_attention(tree):
    """No word of attention in what is about tiles."""
    return lines_matching(tree, tree.select(CODE, TILE), ATTENTION,
                          "'%s' is a word of attention, which the tile level does not know")


CREATES = re.compile(
    r"\b(scf::(For|While|Parallel|Forall)Op|affine::AffineForOp|math::(Exp|Exp2|ExpM1)Op"
    r"|arith::(MaximumF|MaxNumF|MaxSI|MaxUI)Op|tile::ReduceOp|linalg::\w+Op)::create"
    r"|create<\s*(scf::(For|While)|math::Exp|arith::Max)\w*")


@rule
def conversion_only_retypes(tree):
    """convert-fa-to-tile creates no loop, exponential, maximum or reduction."""
    return lines_matching(tree, tree.select((".cpp", ".h"), ("lib/Conversion/FAToTile/",)), CREATES,
                          "%s in convert-fa-to-tile, which only retypes; it belongs to a pass on fa")


@rule
def license_header(tree):
    """Each C++ and TableGen file names its license at the top."""
    for file in tree.select((".cpp", ".h", ".td")):
        if "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception" not in tree.text(file)[:800]:
            yield "%s:1: no license header; copy it from a file beside it" % file


BEGINNINGS = re.compile(r"^\s*/// (Of|What|Whether)\b")
NOUNS = re.compile(r"((?:^[ \t]*///.*\n)+)([^;{]*)", re.M)


def nouns_of_functions(text):
    """-> (line, begin of the comment) of each function whose comment names it and says no verb."""
    for match in NOUNS.finditer(text):
        comment = re.match(r"\s*/// (The|A|An|Where|If|With) ", match.group(1))
        head = re.sub(r"\boperator\W+\(", "operator(", match.group(2)).split("(", 1)
        is_function = (len(head) == 2 and head[0].count("<") == head[0].count(">") and "=" not in head[0]
                       and re.search(r"\w\s*$", head[0])
                       and not re.match(r"\s*(struct|class|enum|using|def|#|TEST)", head[0]))
        if comment and is_function:
            yield text.count("\n", 0, match.start()) + 1, comment.group(0).strip()


@rule
def comments_are_sentences(tree):
    """A doc comment is a whole sentence; that of a function begins with a verb."""
    files = tree.select((".cpp", ".h", ".td", ".c"))
    yield from lines_matching(tree, files, BEGINNINGS,
                              "'%s' begins no sentence; begin with a verb (Return whether, Collect)")
    for file in files:
        for line, beginning in nouns_of_functions(tree.text(file)):
            yield "%s:%d: '%s' begins the comment of a function; begin with a verb (Return the)" % (
                file, line, beginning)


# What the field has another word for. In two parts, so that this file does not have them.
OWN_WORDS = {
    "copy" + " engine": "TMA", "cache of second" + " level": "L2",
    "tile-order" + "-warpgroups": "tile-pingpong-warpgroups",
    "turn" + "_take": "pingpong_wait", "turn" + "_pass": "pingpong_arrive",
    "take" + "_number": "scheduler_next", "find" + "_count": "scheduler_peek",
    "open" + "_count": "scheduler_reset", "tile-persist" + "-grid": "tile-make-persistent",
    "own" + "_steps": "warpgroup_bounds", "own" + "_condition": "warpgroup_condition",
    "of" + "_rows": "row_derived", "lag" + " behind": "slack", "wide" + "-threshold": "slack",
    "computed" + "Alike": "isEquivalent", "sent" + "As": "sentThroughRing"}
WORD = re.compile(r"\b(%s)\b" % "|".join(w.replace(" ", r"\s+") for w in OWN_WORDS), re.I)


@rule
def words_of_the_field(tree):
    """No word of our own where the field has one (docs/architecture.md explains the others)."""
    for file in tree.select(CODE):
        text = tree.text(file)
        for match in WORD.finditer(text):
            old = re.sub(r"\s+", " ", match.group(0))
            new = next(v for k, v in OWN_WORDS.items() if k.lower() == old.lower())
            yield "%s:%d: the field says '%s' for '%s'" % (
                file, text.count("\n", 0, match.start()) + 1, new, old)


# In two parts, so that this file does not have them.
PLACES = re.compile("|".join([
    r"(?<![\w.}])/" + r"work/", r"(?<![\w.])/" + r"home/\w", r"\blocal" + r"host\b",
    r"deb\." + r"debian\.org", r"pypi\." + r"org", r"artifact" + r"registry",
    r"\b10(\.\d{1,3}){3}\b"]))


@rule
def no_places(tree):
    """No path or host of the machine that it was written on."""
    files = [f for f in tree.files if not f.endswith((".safetensors", ".png"))]
    return lines_matching(tree, files, PLACES, "'%s' is a place of one machine")


@rule
def commands_exist(tree):
    """A lit test runs something, and a test's file has a suffix that lit reads."""
    for file in tree.select((".mlir",), ("test/",)):
        config = os.path.dirname(file) + "/lit.local.cfg"
        if config in tree.files and ".mlir" not in tree.text(config):
            continue  # another test runs the files of this folder
        if "/Inputs/" not in file and "RUN:" not in tree.text(file):
            yield "%s:1: has no RUN line, so lit runs nothing" % file


@rule
def constraints_are_tested(tree):
    """Each numbered constraint of a verifier has a test of its name."""
    tests = "\n".join(tree.text(f) for f in tree.select((".mlir",), ("test/Dialect/",)))
    if not tests:
        return
    named = set(re.findall(r"@(\w+_c\d+)", tests))
    for file in tree.select((".cpp",), ("lib/Dialect/",)):
        for number, line in enumerate(tree.text(file).splitlines(), 1):
            for constraint in re.findall(r"\((\w+_c\d+)\)", line):
                if constraint not in named:
                    yield "%s:%d: no test has @%s" % (file, number, constraint)
                    named.add(constraint)


def tracked(root):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [f for f in files.splitlines() if os.path.isfile(os.path.join(root, f))]


def closing(passed, failed):
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed else 0


def check(tree):
    failed = 0
    for name, function in RULES.items():
        violations = list(function(tree))
        for violation in violations:
            print("%s [%s]" % (violation, name))
        failed += bool(violations)
    return closing(len(RULES) - failed, failed)


HEADER = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
OP = HEADER + """def A_BOp : A_Op<"b", [Pure]> {
  let summary = "does a thing";
  let description = [{
    Does a thing to what it is given.

    Example:

    ```mlir
    a.b
    ```
  }];
}
"""
PASS = OP.replace('def A_BOp : A_Op<"b", [Pure]>', 'def B : Pass<"b">')
FUNCTION = 'namespace a {\nvoid f(int x,\n       int y) { // }\n  b("}");\n' + "%s" + "}\n} // namespace a\n"
# rule, path, text that it takes, text that it refuses
SELF_TESTS = [
    ("formatting", "lib/A.cpp", HEADER + "int a;\n", HEADER + "int   a ;\n"),
    ("length", "lib/A.cpp", "\n" * 1000, "\n" * 1001),
    ("function-length", "lib/Dialect/Tile/A.cpp", FUNCTION % ("  a();\n" * 96),
     FUNCTION % ("  a();\n" * 97)),
    ("function-length", "lib/Dialect/Tile/A.cpp", "void f() {\n}\n" * 99,
     "struct A {\n  int f() const {\n    if (x) {\n" + "a();\n" * 99 + "    }\n  }\n};\n"),
    ("function-length", "lib/Dialect/FA/A.cpp", FUNCTION % ("  a();\n" * 97), None),
    ("attributes-are-declared", "lib/A.cpp", 'error("no tile.align 16");\n', 'get("tile.align");\n'),
    ("documentation", "include/A.td", OP, OP.replace("let summary", "// let")),
    ("documentation", "include/A.td", OP, OP.replace("let description", "let other")),
    ("documentation", "include/A.td", OP, OP.replace("Example", "Sample")),
    ("documentation", "include/A.td", PASS, PASS.replace("let summary", "// let")),
    ("documentation", "include/A.td", PASS, PASS.replace("Example", "Sample")),
    ("documentation", "include/A.td", OP + "\n" + OP.replace("A_BOp", "A_COp"),
     OP + "\n" + OP.replace("A_BOp", "A_COp").replace("Example", "Sample")),
    ("tile-knows-no-attention", "lib/Dialect/Tile/A.cpp", "// rows\n", "// query rows\n"),
    ("tile-knows-no-attention", "include/fa/Dialect/Tile/A.td", "// x\n", "// the softmax of x\n"),
    ("tile-knows-no-attention", "lib/Conversion/TileToNVVM/A.cpp", "// x\n", "bool isCausal;\n"),
    ("tile-knows-no-attention", "lib/Dialect/FA/A.cpp", "// causal\n", None),
    ("conversion-only-retypes", "lib/Conversion/FAToTile/A.cpp", "arith::MulIOp::create(b);\n",
     "scf::ForOp::create(b);\n"),
    ("conversion-only-retypes", "lib/Conversion/FAToTile/A.cpp", "\n", "math::Exp2Op::create(b);\n"),
    ("conversion-only-retypes", "lib/Conversion/FAToTile/A.cpp", "\n",
     "arith::MaximumFOp::create(b);\n"),
    ("license-header", "lib/A.cpp", HEADER, "int a;\n"),
    ("comments-are-sentences", "lib/A.cpp", "/// Return whether it is.\n/// of it\n",
     "/// Return it.\n  /// " + "Whether it is.\n"),
    ("comments-are-sentences", "include/A.td", "// Of this\n", "/// " + "Of this, that.\n"),
    ("comments-are-sentences", "lib/A.cpp", "/// The sizes.\nstd::vector<int> sizes;\n",
     "  /// The sizes,\n  /// in order.\n  static std::vector<int>\n  sizes(int a);\n"),
    ("comments-are-sentences", "lib/A.cpp", "/// The body.\nfunction_ref<void(int)> body;\n",
     "/// If so.\ntemplate <typename T> bool is(T x) {\n"),
    ("comments-are-sentences", "lib/A.cpp", "/// A line.\nstruct Line {\n  int at(int x);\n};\n"
     "/// The most.\nconstexpr int kMost = f(3);\n", "/// A line.\nLine &operator+=(int x);\n"),
    ("words-of-the-field", "docs/a.md", "the TMA; one of rows; an own step\n",
     "a copy\n" + "engine\n"),
    ("words-of-the-field", "lib/A.cpp", "copy(); // engine\n", "tile.take" + "_number\n"),
    ("no-places", "docs/a.md", "lib/work/a\n", "see /" + "work/main\n"),
    ("commands-exist", "test/A.mlir", "// RUN: true\n", "func.func @f()\n"),
]


def self_test():
    failed = passed = 0

    def expect(name, path, text, caught):
        nonlocal failed, passed
        with tempfile.TemporaryDirectory() as root:
            file = os.path.join(root, path)
            os.makedirs(os.path.dirname(file))
            with open(file, "w") as handle:
                handle.write(text)
            violations = list(RULES[name](Tree(root, [path])))
        if bool(violations) == caught:
            passed += 1
        else:
            failed += 1
            print("lint.py: rule %s %s in %s:\n%s" % (
                name, "misses" if caught else "is wrong about", path, violations or text))

    for name, path, good, bad in SELF_TESTS:
        expect(name, path, good, False)
        if bad is not None:
            expect(name, path, bad, True)
    with tempfile.TemporaryDirectory() as root:
        for path, text in (("lib/Dialect/A.cpp", 'error("(a_c1) x");\nerror("(a_c2) x");\n'),
                           ("test/Dialect/a.mlir", "func.func @a_c1()\n")):
            os.makedirs(os.path.dirname(os.path.join(root, path)))
            with open(os.path.join(root, path), "w") as handle:
                handle.write(text)
        found = list(constraints_are_tested(Tree(root, ["lib/Dialect/A.cpp", "test/Dialect/a.mlir"])))
        ok = found == ["lib/Dialect/A.cpp:2: no test has @a_c2"]
        passed, failed = passed + ok, failed + (not ok)
    for count in (MAX_SOURCES, MAX_SOURCES + 1):
        files = ["lib/Dialect/Tile/Room/A%d.cpp" % i for i in range(count)] + ["lib/Dialect/Tile/A.cpp"]
        ok = bool(list(folder_size(Tree("", files)))) == (count > MAX_SOURCES)
        passed, failed = passed + ok, failed + (not ok)
    untested = set(RULES) - {test[0] for test in SELF_TESTS} - {"constraints-are-tested", "folder-size"}
    for name in sorted(untested):
        failed += 1
        print("lint.py: rule %s has no self-test" % name)
    return closing(passed, failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if options.self_test:
        sys.exit(self_test())
    files = [os.path.relpath(f, ROOT) for f in options.files] or tracked(ROOT)
    sys.exit(check(Tree(ROOT, files)))


if __name__ == "__main__":
    main()
