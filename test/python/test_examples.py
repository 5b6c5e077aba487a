"""Each program of examples/python runs."""

import glob
import importlib.util
import os
import re
import subprocess
import sys
import unittest

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python")
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
# What each imports beside NumPy.
NEEDS = {"drop_in": ["torch"], "documents": ["torch"], "compiled": ["torch"], "packed": ["torch"], "hugging_face": ["torch", "transformers"],
         "arrays": []}


class Readme(unittest.TestCase):
    def test_runs(self):
        """Its section on Python is five lines, one of a shell, which run as they are written."""
        if not os.path.exists(README):
            self.skipTest("needs README.md of the source tree")
        with open(README) as file:
            section = file.read().split("## From Python\n")[1].split("\n## ")[0]
        (_, shell), (_, source) = blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.S)
        self.assertEqual([language for language, _ in blocks], ["sh", "python"])
        self.assertEqual(len((shell + source).splitlines()), 5)
        self.assertRegex(shell, r"^make wheel && python3 -m venv env && env/bin/pip install torch build/dist/fa_mlir-\*\.whl\n$")
        if not importlib.util.find_spec("torch"):
            self.skipTest("needs PyTorch >= 2.6")
        run = subprocess.run([sys.executable, "-c", source + "print(out.shape)"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        self.assertEqual((run.returncode, run.stdout), (0, "torch.Size([1, 8, 1024, 64])\n"))


class Examples(unittest.TestCase):
    def test_all(self):
        found = {os.path.basename(path)[:-3]: path for path in glob.glob(os.path.join(EXAMPLES, "*.py"))}
        if not found:
            self.skipTest("needs examples/python of the source tree")
        self.assertEqual(sorted(found), sorted(NEEDS))
        for name, path in sorted(found.items()):
            with self.subTest(name):
                missing = [module for module in NEEDS[name] if not importlib.util.find_spec(module)]
                if missing:
                    self.skipTest("needs " + " and ".join(missing))
                run = subprocess.run([sys.executable, path], text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT)
                self.assertEqual(run.returncode, 0, run.stdout)
                self.assertRegex(run.stdout, r"\(\d+, |torch.Size\(\[\d+, ")
                self.assertNotRegex(run.stdout, r"(?m)False$")  # what they print of a comparison


if __name__ == "__main__":
    unittest.main()
