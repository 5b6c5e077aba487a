"""Signatures: annotated, as docs/python.md has them, and sound for mypy."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
import tempfile
import unittest

from support import needs_torch

import fa_mlir

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DOCUMENT = os.path.join(ROOT, "docs", "python.md")
WITHOUT_TORCH = ("compile", "cache_info", "device_info", "library_path")


def describe(function):
    """Return a signature as docs/python.md has it."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    return text.replace("torch.", "")


def functions_of(module):
    return {"%s.%s" % (module.__name__, name): getattr(module, name) for name in module.__all__}


class Signatures(unittest.TestCase):
    def check_all(self, functions):
        documented = {}
        if os.path.exists(DOCUMENT):
            with open(DOCUMENT) as file:
                lines = re.split(r"\n(?=    \S)|\n(?!     )", file.read())
            for line in lines:
                name, parenthesis, rest = " ".join(line.split()).partition("(")
                documented[name] = parenthesis + rest
        for name, function in functions.items():
            with self.subTest(name):
                signature = inspect.signature(function)
                for parameter in signature.parameters.values():
                    self.assertIsNot(parameter.annotation, inspect.Parameter.empty, parameter.name)
                self.assertIsNot(signature.return_annotation, inspect.Signature.empty)
                if documented:
                    self.assertEqual(documented.get(name), describe(function))

    def test_without_torch(self):
        self.check_all({"fa_mlir." + name: getattr(fa_mlir, name) for name in WITHOUT_TORCH})

    @needs_torch
    def test_on_tensors(self):
        names = [name for name in fa_mlir._OF_TORCH]
        self.check_all({"fa_mlir." + name: getattr(fa_mlir, name) for name in names})
        self.check_all(functions_of(fa_mlir.flash_attn))
        self.check_all(functions_of(fa_mlir.flash_attn_3))
        self.check_all({"fa_mlir.transformers.register": fa_mlir.transformers.register})


# To check PyTorch's own annotations takes minutes; `mypy --config-file python/pyproject.toml` does it.
WITHOUT_PYTORCHS = """
[[tool.mypy.overrides]]
module = ["torch", "torch.*", "numpy", "numpy.*"]
follow_imports = "skip"
"""


class Types(unittest.TestCase):
    def setUp(self):
        options = os.path.join(ROOT, "python", "pyproject.toml")
        mypy = importlib.util.find_spec("mypy")
        if not (mypy and mypy.origin) or not os.path.exists(options):  # a folder of that name has no origin
            self.skipTest("needs mypy and python/pyproject.toml of the source tree")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = folder.name
        with open(options) as file:
            self.options = self.write("pyproject.toml", file.read() + WITHOUT_PYTORCHS)

    def write(self, name, text):
        path = os.path.join(self.place, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def run_mypy(self, *arguments):
        command = [sys.executable, "-m", "mypy", "--config-file", self.options, "--cache-dir", self.place, *arguments]
        return subprocess.run(command, cwd=os.path.dirname(os.path.dirname(fa_mlir.__file__)), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_package(self):
        run = self.run_mypy()
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_users(self):
        source = """
import fa_mlir
program = fa_mlir.compile("text", target="cpu")
names: list[str] = program.names
fa_mlir.compile(3)
fa_mlir.no_such_function()
"""
        run = self.run_mypy(self.write("user.py", source))
        self.assertRegex(run.stdout, r'user.py:5: error: Argument 1 to "compile" has incompatible type "int"')


if __name__ == "__main__":
    unittest.main()
