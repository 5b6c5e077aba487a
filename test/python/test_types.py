"""Signatures: annotated, as docs/python.md has them, and sound for mypy."""

import ast
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


class Sources(unittest.TestCase):
    """Signatures by the sources alone, so without PyTorch: all that the modules offer, and no more, is documented."""

    def write(self, function, constants):
        """Return a signature as docs/python.md has it; `constants` are the module's."""
        given, parts = function.args, []
        positional = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(positional) - len(given.defaults)) + given.defaults
        pairs = list(zip(positional, defaults))
        pairs += ([(None, None)] if given.kwonlyargs else []) + list(zip(given.kwonlyargs, given.kw_defaults))
        for argument, default in pairs:
            if argument is None:
                parts.append("*")
                continue
            self.assertIsNotNone(argument.annotation, "%s: %s" % (function.name, argument.arg))
            part = "%s: %s" % (argument.arg, ast.unparse(argument.annotation))
            default = constants.get(getattr(default, "id", None), default)
            parts.append(part if default is None else "%s = %s" % (part, ast.unparse(default)))
        if given.kwarg:
            parts.append("**%s: %s" % (given.kwarg.arg, ast.unparse(given.kwarg.annotation)))
        return ("(%s) -> %s" % (", ".join(parts), ast.unparse(function.returns))).replace("torch.", "")

    def test_all(self):
        if not os.path.exists(DOCUMENT):
            self.skipTest("needs docs/python.md of the source tree")
        with open(DOCUMENT) as file:
            documented = dict(re.findall(r"(?m)^(fa_mlir\.[\w.]+)(\(.*)$", re.sub(r"\s*\n     +", " ", file.read()).replace(
                "\n    ", "\n")))
        found = {}
        names = {"_program": ("fa_mlir.", ["compile"]), "_library": ("fa_mlir.", ["cache_info", "device_info", "find"]),
                 "_attention": ("fa_mlir.", ["attention", "explain", "to_mlir"]), "_flex": ("fa_mlir.", ["flex_attention"]),
                 "flash_attn": ("fa_mlir.flash_attn.", None), "flash_attn_3": ("fa_mlir.flash_attn_3.", None),
                 "transformers": ("fa_mlir.transformers.", ["register"])}
        for module, (prefix, wanted) in names.items():
            with open(os.path.join(os.path.dirname(fa_mlir.__file__), module + ".py")) as file:
                body = ast.parse(file.read()).body
            constants = {node.targets[0].id: node.value for node in body if isinstance(node, ast.Assign)
                         and isinstance(node.targets[0], ast.Name)}
            functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
            if wanted is None:
                wanted = ast.literal_eval(constants["__all__"])
                self.assertEqual(sorted(wanted), sorted(name for name in functions if name[0] != "_"))
            for name in wanted:
                found[prefix + {"find": "library_path"}.get(name, name)] = self.write(functions[name], constants)
        self.assertEqual(sorted(documented), sorted(found))
        for name, signature in found.items():
            with self.subTest(name):
                self.assertEqual(documented[name], signature)


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
