"""Each program of examples/python runs."""

import glob
import importlib.util
import os
import subprocess
import sys
import unittest

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python")
# What each imports beside NumPy.
NEEDS = {"drop_in": ["torch"], "documents": ["torch"], "compiled": ["torch"], "packed": ["torch"], "hugging_face": ["torch", "transformers"],
         "arrays": []}


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


if __name__ == "__main__":
    unittest.main()
