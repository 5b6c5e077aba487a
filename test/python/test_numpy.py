"""The package without PyTorch: NumPy on the CPU, errors, the command, what the wheel holds."""

import copy
import math
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy as np

import fa_mlir

TEXT = """
func.func @causal(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %cap: f32 {fa.name = "cap"})
    -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%cap) with [causal]
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c: f32):
      %x = arith.minimumf %s, %c : f32
      fa.yield %x : f32
    } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, f32)
    -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
"""


def attend(q, k, v, cap):
    """Causal attention with capped scores, in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, group, axis=1) for x in (k, v))
    s = np.minimum(q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3]), cap)
    i, j = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
    s = np.where(j <= i + k.shape[2] - q.shape[2], s, -np.inf)
    most = s.max(axis=3, keepdims=True)
    p = np.exp(s - most)
    total = p.sum(axis=3, keepdims=True)
    return (p / total) @ v, (most + np.log(total))[..., 0]


class OnArrays(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(3)
        draw = lambda *shape: random.standard_normal(shape, dtype=np.float32)
        self.arrays = {"q": draw(2, 4, 19, 16), "k": draw(2, 2, 33, 16), "v": draw(2, 2, 33, 16)}
        self.o, self.lse = np.full((2, 4, 19, 16), np.nan, np.float32), np.full((2, 4, 19), np.nan, np.float32)

    def launch(self, **changes):
        values = dict(self.arrays, cap=0.5, o=self.o, lse=self.lse)
        values.update(changes)
        fa_mlir.compile(TEXT).launch(**values)

    def test_workspace(self):
        program = fa_mlir.compile(TEXT, standard=True)
        values = dict(self.arrays, cap=0.5, o=self.o, lse=self.lse)
        needed = program.workspace_size(**values)
        self.assertGreater(needed, 64)
        memory = np.zeros(needed + 4096, np.uint8)
        first = -memory.ctypes.data % 64
        memory[:] = 7
        program.launch(workspace=memory[first:first + needed], **values)
        self.assertLess(np.abs(self.o - attend(cap=0.5, **self.arrays)[0]).max(), 1e-5)
        self.assertTrue((memory[first + needed:] == 7).all())
        for dtype in (np.uint8, np.float32):
            small = memory[first:first + 64].view(dtype)
            with self.assertRaisesRegex(fa_mlir.Error, "%d bytes of workspace.* got 64" % needed):
                program.launch(workspace=small, **values)
        self.assertTrue((memory[first + needed:] == 7).all())
        fixed = memory[first:first + needed]
        fixed.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "'workspace' is readonly"):
            program.launch(workspace=fixed, **values)
        with self.assertRaisesRegex(ValueError, "'workspace' has gaps"):
            program.launch(workspace=memory[::2], **values)
        with self.assertRaisesRegex(TypeError, "'workspace' is a int"):
            program.launch(workspace=64, **values)
        with self.assertRaisesRegex(TypeError, "takes a stream's address"):
            program.launch(stream="1", **values)

    def test_texts_with_zeros(self):
        with self.assertRaisesRegex(ValueError, "target has a character of number 0"):
            fa_mlir.compile(TEXT, target="cpu\0x")
        with self.assertRaisesRegex(TypeError, "takes the name of a device"):
            fa_mlir.device_info("cpu\0x")

    def test_computes(self):
        for cap in (0.5, 1.5, np.float32(0.75), np.float64(0.75), np.array(0.75), np.int8(1)):
            self.launch(cap=cap)
            o, lse = attend(cap=cap, **self.arrays)
            np.testing.assert_allclose(self.o, o, atol=2e-6)
            np.testing.assert_allclose(self.lse, lse, atol=2e-6)

    def test_takes_strides(self):
        laid_out = {name: x.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3) for name, x in self.arrays.items()}
        self.launch(**laid_out)
        np.testing.assert_allclose(self.o, attend(cap=0.5, **self.arrays)[0], atol=2e-6)

    def test_is_compiled_once(self):
        self.assertIs(fa_mlir.compile(TEXT), fa_mlir.compile(TEXT))
        self.assertIsNot(fa_mlir.compile(TEXT), fa_mlir.compile(TEXT, threads=1))

    def test_copies_are_itself(self):
        program = fa_mlir.compile(TEXT)
        self.assertIs(copy.copy(program), program)
        self.assertIs(copy.deepcopy([program])[0], program)
        with self.assertRaisesRegex(TypeError, "a program cannot be pickled; pickle its text and target"):
            pickle.dumps(program)

    def test_describes_itself(self):
        program = fa_mlir.compile(TEXT)
        self.assertEqual(program.names, ["q", "k", "v", "cap", "o", "lse"])
        self.assertEqual(program.dtypes, ["f32"] * 6)
        self.assertEqual(program.target, "cpu")

    def test_refuses(self):
        reversed_columns = self.arrays["q"][..., ::-1]
        cases = [
            (dict(q=reversed_columns), fa_mlir.Error, "'q' has stride -4|'q' has stride -1, expected"),
            (dict(q=self.arrays["q"].astype(np.float64)), fa_mlir.Error, "'q' has dtype f64, expected f32"),
            (dict(q=self.arrays["q"][0]), fa_mlir.Error, "'q' has rank 3, expected 4"),
            (dict(x=1), TypeError, "no argument 'x'; it has q, k, v, cap, o, lse"),
            (dict(q=[1.0]), TypeError, "'q' is a list; give an array of NumPy or a tensor of PyTorch"),
            (dict(q=self.arrays["q"].astype(np.complex64)), TypeError, "'q' has elements of type <c8"),
            (dict(cap="1"), TypeError, "'cap' is a number; give one, not a str"),
            (dict(cap=self.arrays["q"]), TypeError, "'cap' is a number; give one, not a ndarray"),
        ]
        for changes, error, words in cases:
            with self.subTest(words), self.assertRaisesRegex(error, words):
                self.launch(**changes)
        with self.assertRaisesRegex(ValueError, "'(q|o)' and '(q|o)' share memory.*give the output memory of its own"):
            self.launch(o=self.arrays["q"])
        # The second half of one is the first half of the other; in the gaps of an input an output may lie.
        memory = np.zeros((3, *self.arrays["q"].shape[1:]), np.float32)
        with self.assertRaisesRegex(ValueError, "'(q|o)' and '(q|o)' share memory"):
            self.launch(q=memory[:2], o=memory[1:])
        both = np.zeros((*self.arrays["q"].shape[:-1], 2, self.arrays["q"].shape[-1]), np.float32)
        both[..., 0, :] = self.arrays["q"]
        self.launch(q=both[..., 0, :], o=both[..., 1, :])
        self.launch()
        np.testing.assert_array_equal(both[..., 1, :], self.o)
        self.o.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "'o' is an output and cannot be written"):
            self.launch()

    def test_checks_integers(self):
        text = TEXT.replace("%cap: f32", "%cap: i64").replace("%c: f32", "%c: i64").replace(
            "%x = arith.minimumf %s, %c : f32", "%f = arith.sitofp %c : i64 to f32\n      %x = arith.minimumf %s, %f : f32")
        text = text.replace("x?x?x16xf32>, f32)", "x?x?x16xf32>, i64)")
        values = dict(self.arrays, o=self.o, lse=self.lse)
        for cap in (1, np.int32(1), np.uint8(1), True):
            fa_mlir.compile(text).launch(**values, cap=cap)
            np.testing.assert_allclose(self.o, attend(cap=1, **self.arrays)[0], atol=2e-6)
        for cap, error in [(2**64, ValueError), (-2**63 - 1, ValueError), (1.0, TypeError), (np.float32(1), TypeError)]:
            with self.subTest(cap), self.assertRaisesRegex(error, "'cap' is"):
                fa_mlir.compile(text).launch(**values, cap=cap)

    def test_says_what_is_missing(self):
        words = "argument 'lse' of entry @causal is not bound; pass each of q, k, v, cap, o, lse"
        with self.assertRaisesRegex(fa_mlir.Error, words):
            fa_mlir.compile(TEXT).launch(**self.arrays, cap=1.0, o=self.o)

    def test_prepared_launches(self):
        from fa_mlir._program import Prepared
        program = fa_mlir.compile(TEXT)
        tensors = [*self.arrays.values(), self.o, self.lse]
        prepared = Prepared(program, [("f32", x.shape, None) for x in tensors])
        for cap in (0.25, 2.0):
            prepared.launch(None, prepared.pack_addresses(*[x.ctypes.data for x in tensors]),
                            prepared.pack_numbers(cap), None)
            np.testing.assert_allclose(self.o, attend(cap=cap, **self.arrays)[0], atol=2e-6)
        with self.assertRaisesRegex(fa_mlir.Error, "'q' has no data"):
            prepared.launch(None, prepared.pack_addresses(*[0] * 5), prepared.pack_numbers(1.0), None)


# Inputs by name: floats, those of a part of them, integers and bools.
_random = np.random.default_rng(17)
INPUTS = {"x": (_random.random(64, np.float32) - np.float32(0.5)) * 5, "y": _random.random(64, np.float32) * 2 + np.float32(0.1),
          "m": _random.integers(-40, 40, 64), "n": _random.integers(1, 9, 64), "p": _random.random(64) > 0.5,
          "r": _random.random(64) > 0.5}
INPUTS.update(u=INPUTS["x"] / 3, w=1 + INPUTS["y"])
_erf = np.vectorize(math.erf, otypes=[np.float64])
# A row of the tables -> names of inputs, each a case, and what NumPy computes of them in float64 or int64.
ROWS = {
    "add": (["xy", "mn"], np.add), "sub": (["xy", "mn"], np.subtract), "mul": (["xy", "mn"], np.multiply),
    "minimum": (["xy", "mn", "pr"], np.minimum), "maximum": (["xy", "mn", "pr"], np.maximum),
    "floor_divide": (["xy", "mn"], np.floor_divide), "remainder": (["xy", "mn"], np.mod), "fmod": (["xy", "mn"], np.fmod),
    "abs": (["x", "m"], np.abs), "neg": (["x", "m"], np.negative), "sign": (["x", "m"], np.sign), "sgn": (["x", "m"], np.sign),
    "relu": (["x", "m"], lambda a: np.maximum(a, 0)), "clamp_min": (["xy", "mn"], np.maximum),
    "clamp_max": (["xy", "mn"], np.minimum), "fmax": (["xy", "mn"], np.fmax), "fmin": (["xy", "mn"], np.fmin),
    **{name: (["mn", "pr"], f) for names, f in ((("bitwise_and", "__and__"), np.bitwise_and),
                                                (("bitwise_or", "__or__"), np.bitwise_or),
                                                (("bitwise_xor", "__xor__"), np.bitwise_xor)) for name in names},
    **{name: (["mn"], np.left_shift) for name in ("__lshift__", "bitwise_left_shift")},
    **{name: (["mn"], np.right_shift) for name in ("__rshift__", "bitwise_right_shift")},
    "sigmoid": (["x"], lambda a: 1 / (1 + np.exp(-a))), "reciprocal": (["y"], np.reciprocal), "round": (["x"], np.rint),
    "pow": (["yx"], np.power), "atan2": (["xy"], np.arctan2), "copysign": (["yx"], np.copysign), "hypot": (["xy"], np.hypot), "div": (["xy"], np.divide),
    "rsqrt": (["y"], lambda a: a ** -0.5), "erf": (["x"], _erf), "erfc": (["x"], lambda a: 1 - _erf(a)),
    **{name: (["x"], getattr(np, name)) for name in ("exp", "exp2", "expm1", "tanh", "sin", "cos", "tan", "sinh", "cosh",
                                                     "floor", "ceil", "trunc")},
    **{name: (["y"], getattr(np, name)) for name in ("log", "log2", "log10", "log1p", "sqrt")},
    **{"a" + name: ([given], getattr(np, "arc" + name)) for name, given in (
        ("sin", "u"), ("cos", "u"), ("tan", "x"), ("sinh", "x"), ("cosh", "w"), ("tanh", "u"))},
    "eq": (["xy", "mn"], np.equal), "ne": (["xy", "mn"], np.not_equal), "lt": (["xy", "mn"], np.less),
    "le": (["xy", "mn"], np.less_equal), "gt": (["xy", "mn"], np.greater), "ge": (["xy", "mn"], np.greater_equal),
    "logical_and": (["pr"], np.logical_and), "logical_or": (["pr"], np.logical_or), "logical_xor": (["pr"], np.logical_xor),
}


class Translations(unittest.TestCase):
    """Each row of the translator's tables as a score: with one key lse is the score. Needs no PyTorch."""

    def evaluate(self, cases):
        """Return what a program computes of (row, inputs), one a head."""
        from fa_mlir import _table, _text
        text, operands = _text.Text("f32", 16, 16), {}
        region = text.score
        translator = _table.Translator(region)

        def read(name):
            if name not in operands:
                operands[name] = text.tensor({"f": "f32", "i": "i64", "b": "i1"}[INPUTS[name].dtype.kind], 1)
            return translator.read(_table.Read(operands[name], [_table.Value("%i", "index", range=_table.POSITIONS)], 1))
        result = translator.constant(0, "f32")
        for head, (row, inputs) in enumerate(cases):
            values = [read(name) for name in inputs]
            names, kind = [value.name for value in values], values[0].type
            if row in _table.COMPARISONS or row in _table.LOGIC:
                value = _table.Value(region.add(translator.compare(kind, row, *names)), "i1")
            else:
                op = _table.ARITHMETIC.get(row) or _table.FUNCTIONS[row]
                value = _table.Value(region.add(op(translator, kind, *names)), kind)
            value = translator.convert(value, "f32")
            is_head = region.add("arith.cmpi eq, %%h, %s : index" % translator.constant(head, "index").name)
            result = _table.Value(region.add("arith.select %s, %s, %s : f32" % (is_head, value.name, result.name)), "f32")
        text.scored = result.name
        zeros = lambda rows: np.zeros((1, len(cases), rows, 16), np.float32)
        lse = np.full((1, len(cases), 64), np.nan, np.float32)
        fa_mlir.compile(text.render(), threads=1).launch(
            q=zeros(64), k=zeros(1), v=zeros(1), o=zeros(64), lse=lse, **{x.name: INPUTS[name] for name, x in operands.items()})
        return lse[0]

    def test_every_row(self):
        from fa_mlir import _table
        rows = {*_table.ARITHMETIC, *_table.FUNCTIONS, *_table.COMPARISONS, *_table.LOGIC}
        self.assertEqual(sorted(rows), sorted(ROWS))
        cases = [(row, inputs) for row in sorted(ROWS) for inputs in ROWS[row][0]]
        wide = {name: x.astype(np.float64) if x.dtype.kind == "f" else x for name, x in INPUTS.items()}
        for first in range(0, len(cases), 12):
            part = cases[first:first + 12]
            for (row, inputs), result in zip(part, self.evaluate(part)):
                with self.subTest(row, inputs=inputs):
                    expected = ROWS[row][1](*[wide[name] for name in inputs]).astype(np.float64)
                    np.testing.assert_allclose(result, expected, rtol=2e-6, atol=2e-6)

    def test_needs_no_torch(self):
        code = "import sys; sys.modules['torch'] = None; import fa_mlir._table, fa_mlir._text"
        subprocess.run([sys.executable, "-c", code], check=True)


FORKED = """
import os, signal, sys
import numpy as np
import fa_mlir
sys.path.insert(0, sys.argv[1])
from test_numpy import TEXT, OnArrays
test = OnArrays("test_is_compiled_once")
test.setUp()
program = fa_mlir.compile(TEXT, threads=int(sys.argv[2]))

def work():
    program.launch(**test.arrays, cap=0.5, o=np.empty_like(test.o), lse=np.empty_like(test.lse))
work()
if os.fork() == 0:
    signal.alarm(60)
    try:
        work()
        print("computed", flush=True)
    except fa_mlir.Error as error:
        print(error, flush=True)
    os._exit(0)
print(os.wait()[1])
"""

WORK = """
import sys, threading
import numpy as np
import fa_mlir
sys.path.insert(0, sys.argv[1])
from test_numpy import TEXT, OnArrays
test = OnArrays("test_is_compiled_once")
test.setUp()
results = []

def work():
    o, lse = np.full_like(test.o, np.nan), np.full_like(test.lse, np.nan)
    fa_mlir.compile(TEXT, threads=1).launch(**test.arrays, cap=0.5, o=o, lse=lse)
    results.append(o.tobytes())
threads = [threading.Thread(target=work) for _ in range(2)]
print("ready", flush=True)
sys.stdin.readline()
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(set(results)), len(results), hash(results[0]))
"""


def read_key(path):
    """Return the key of an entry of the cache on disk, as runtime/lib/DiskCache.cpp writes it."""
    with open(path, "rb") as file:
        magic, _, size = struct.unpack("<8s16sQ", file.read(32))
        return file.read(size) if magic == b"FACACHE\1" else b""


class Processes(unittest.TestCase):
    def test_forked(self):
        """A forked process has no threads of its parent's: it says so, and works where there were none."""
        for threads, words in ((2, "forked from one .*spawn"), (1, "computed")):
            run = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED, os.path.dirname(os.path.abspath(__file__)), str(threads)],
                                 capture_output=True, text=True, timeout=120)
            with self.subTest(threads=threads):
                self.assertRegex(run.stdout, "(?s)%s.*\n0\n" % words, run.stderr)

    def test_share_a_cache(self):
        """Eight processes of two threads compile one program at once, in one cache on disk."""
        self.run_eight(WORK, "1 2 ", 1)

    def test_share_a_cache_on_a_gpu(self):
        from support import skip_without, torch
        if not torch:
            self.skipTest("needs PyTorch >= 2.6")
        skip_without(self, "cuda")
        self.run_eight(WORK_ON_GPU, "", 2)

    def run_eight(self, work, begin, programs):
        here = os.path.dirname(os.path.abspath(__file__))
        with tempfile.TemporaryDirectory() as cache:
            environment = dict(os.environ, FA_CACHE_DIR=cache, PYTHONHASHSEED="0")
            processes = [subprocess.Popen([sys.executable, "-c", work, here], env=environment, text=True, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(8)]
            for process in processes:
                self.assertEqual(process.stdout.readline(), "ready\n")
            for process in processes:
                process.stdin.write("\n")
                process.stdin.flush()
            outputs = [process.communicate() for process in processes]
            self.assertEqual([process.returncode for process in processes], [0] * 8, outputs)
            self.assertEqual(len({output for output, _ in outputs}), 1, outputs)
            self.assertTrue(outputs[0][0].startswith(begin), outputs[0])
            facts = subprocess.run([sys.executable, "-m", "fa_mlir"], env=environment, text=True, stdout=subprocess.PIPE).stdout
            keys = [read_key(os.path.join(cache, name)) for name in os.listdir(cache)]
            # What a ptxas made of a program's images stands beside it: the program's key is behind two lines on the ptxas.
            of_ptxas = [key.split(b"\n", 2)[2] for key in keys if key.startswith(b"cubin ")]
            self.assertEqual(len(keys) - len(of_ptxas), programs, keys)
            self.assertLessEqual(set(of_ptxas), set(keys))
            self.assertIn("entries: %d, %d of this build, 0 damaged, 0 unfinished" % (len(keys), len(keys)), facts)


WORK_ON_GPU = """
import sys
import torch
from fa_mlir.flash_attn import flash_attn_func
torch.manual_seed(3)
q, k, v = (torch.randn(1, 300, 2, 72, device="cuda", dtype=torch.float16, requires_grad=True) for _ in range(3))
print("ready", flush=True)
sys.stdin.readline()
o = flash_attn_func(q, k, v, causal=True, deterministic=True)
print(*[hash(x.detach().cpu().numpy().tobytes()) for x in (o, *torch.autograd.grad(o.float().square().sum(), [q, k, v]))])
"""


class Errors(unittest.TestCase):
    def test_text(self):
        with self.assertRaisesRegex(fa_mlir.Error, r"mine:2:\d+: error: .*fa.nothing"):
            fa_mlir.compile("func.func @f() {\n  fa.nothing\n}", source_name="mine")
        with self.assertRaisesRegex(TypeError, "takes MLIR text, got int"):
            fa_mlir.compile(3)

    def test_options(self):
        for options, words in [(dict(threads=2**40), "threads is 1099511627776, expected a number of 32 bits"),
                               (dict(warps=4), "warps is for GPUs, and the target is a CPU")]:
            with self.subTest(words), self.assertRaisesRegex((ValueError, fa_mlir.Error), words):
                fa_mlir.compile(TEXT, **options)
        with self.assertRaisesRegex(TypeError, "no option 'row'; it has target, entry, threads"):
            fa_mlir.compile(TEXT, row=3)
        with self.assertRaisesRegex(TypeError, r"gradients is \['q'\], expected text; names have commas between"):
            fa_mlir.compile(TEXT, backward=True, gradients=["q"])
        with self.assertRaisesRegex(TypeError, "deterministic is 'yes', expected True, False or a number"):
            fa_mlir.compile(TEXT, backward=True, deterministic="yes")
        with self.assertRaisesRegex(fa_mlir.Error, "target"):
            fa_mlir.compile(TEXT, target="vax")

    def import_with(self, library, *places):
        """Return what an import says that finds this library, and packages of other places first."""
        path = os.pathsep.join([*places, *sys.path])
        run = subprocess.run([sys.executable, "-c", "import fa_mlir"], text=True, stderr=subprocess.PIPE,
                             env=dict(os.environ, FA_MLIR_LIBRARY=library, PYTHONPATH=path))
        self.assertEqual(run.returncode, 1)
        return run.stderr

    def test_no_library(self):
        self.assertIn("set FA_MLIR_LIBRARY to the path of a libfa.so", self.import_with("/nonexistent/libfa.so"))

    def test_library_of_another_version(self):
        with tempfile.TemporaryDirectory() as place:
            # The package of a version that there is not, with the library of this one.
            shutil.copytree(os.path.dirname(fa_mlir.__file__), os.path.join(place, "fa_mlir"),
                            ignore=shutil.ignore_patterns("lib", "__pycache__"))
            information = os.path.join(place, "fa_mlir-99.1.dist-info")
            os.mkdir(information)
            with open(os.path.join(information, "METADATA"), "w") as file:
                file.write("Metadata-Version: 2.1\nName: fa-mlir\nVersion: 99.1\n")
            words = self.import_with(fa_mlir.library_path(), place)
        self.assertRegex(words, r"ImportError: fa_mlir is version 99\.1, but its library .*libfa\.so is version %s; unset "
                         "FA_MLIR_LIBRARY, or install the wheel of that version" % re.escape(fa_mlir.__version__))

    def test_another_library(self):
        words = self.import_with("libm.so.6")
        self.assertRegex(words, "ImportError: libm.so.6 has no function fa_version, so it is of another version .* unset "
                         "FA_MLIR_LIBRARY")


class WithoutTorch(unittest.TestCase):
    def test_says_what_needs_it(self):
        code = ("import sys; sys.modules['torch'] = None; import fa_mlir\n"
                "for name in ('attention', 'flex_attention', 'flash_attn', 'transformers'):\n"
                "    try: getattr(fa_mlir, name)\n"
                "    except ImportError as error: print(error)")
        run = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, check=True)
        for name in ("attention", "flex_attention", "flash_attn", "transformers"):
            self.assertIn("fa_mlir.%s works on tensors of PyTorch, which is not installed; install torch >= 2.6" % name,
                          run.stdout)


class Command(unittest.TestCase):
    def test_prints(self):
        run = subprocess.run([sys.executable, "-m", "fa_mlir"], text=True, stdout=subprocess.PIPE, check=True)
        for line in ("fa_mlir +" + re.escape(fa_mlir.__version__), "library +.*libfa.so", "device +cpu",
                     "device +cuda", "torch +", "cache +"):
            self.assertRegex(run.stdout, "(?m)^" + line)


class Wheel(unittest.TestCase):
    def setUp(self):
        self.path = os.environ.get("FA_MLIR_WHEEL")
        if not self.path:
            self.skipTest("needs FA_MLIR_WHEEL, the path of the wheel: scripts/test_python.py sets it")

    def test_contents(self):
        name = os.path.basename(self.path)
        self.assertEqual(name, "fa_mlir-%s-py3-none-manylinux_2_36_x86_64.whl" % fa_mlir.__version__)
        self.assertLess(os.path.getsize(self.path), 45 << 20)
        with zipfile.ZipFile(self.path) as wheel:
            names = set(wheel.namelist())
            for file in ("lib/libfa.so", "include/fa/fa_c.h", "include/fa/fa.h", "py.typed", "__main__.py",
                         "flash_attn.py"):
                self.assertIn("fa_mlir/" + file, names)
            for license in ("LICENSE", "NOTICE"):
                self.assertTrue(any(file.endswith("/" + license) for file in names), license)
            self.assertFalse([file for file in names if "__pycache__" in file])
            tags = next(wheel.read(file).decode() for file in names if file.endswith("/WHEEL"))
            self.assertIn("Tag: py3-none-manylinux_2_36_x86_64", tags)
            self.assertIn("Root-Is-Purelib: false", tags)
            root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))).encode()
            for file in names:
                data = wheel.read(file)
                for folder in (root, b"/tmp", b"/root", b"/home"):
                    self.assertFalse(folder + b"/" in data, "%s has %s" % (file, folder))

    def test_is_made_in_time(self):
        seconds = os.environ.get("FA_MLIR_WHEEL_SECONDS")
        if not seconds:
            self.skipTest("needs FA_MLIR_WHEEL_SECONDS, what the wheel took: scripts/test_python.py sets it")
        self.assertLess(float(seconds), 120)

    def test_finds_its_seed(self):
        """The library in the wheel, without its symbols, is still the build that the seed beside it is of."""
        if os.environ.get("FA_MLIR_WHEEL_SEED", "0") == "0":
            self.skipTest("needs a seed of the cache in the wheel: make wheel, where there is a ptxas, leaves one in the build")
        seed = os.path.join(os.path.dirname(fa_mlir.library_path()), "fa.seed")
        self.assertRegex(fa_mlir.cache_info(), r"(?m)^seed: +%s, [1-9]\d* entries of this build$" % re.escape(seed))

    def test_needs_the_system_only(self):
        readelf = "/usr/lib/llvm-22/bin/llvm-readelf"
        if not os.path.exists(readelf):
            self.skipTest("needs llvm-readelf")
        run = subprocess.run([readelf, "-d", fa_mlir.library_path()], text=True, stdout=subprocess.PIPE, check=True)
        needed = set(re.findall(r"Shared library: \[(.*?)\]", run.stdout))
        self.assertLessEqual(needed, {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2",
                                      "ld-linux-x86-64.so.2"})

    def test_is_the_installed_one(self):
        self.assertNotIn("python/fa_mlir", fa_mlir.__file__)
        self.assertTrue(fa_mlir.library_path().startswith(os.path.dirname(fa_mlir.__file__)))


if __name__ == "__main__":
    unittest.main()
