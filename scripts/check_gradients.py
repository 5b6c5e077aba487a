#!/usr/bin/env python3
"""Gradients beside those of PyTorch's autograd in float64.

    check_gradients.py PREFIX

PREFIX is a build or an unpacked package. Five attentions in f32, on the CPU and, where PyTorch
finds a GPU, there: the gradient of every input and captured tensor, of outputs and lse together.
The last line counts: `N passed, N failed, N skipped`.
"""

import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))

from gpu_cases import Case, program  # noqa: E402

SIZES = {"B": 2, "Hq": 4, "Hk": 2, "Sq": 61, "Sk": 93}
D = 40
SHIFT = SIZES["Sk"] - SIZES["Sq"]  # the last query stands at the last key
LIMIT = 1e-4  # of the largest element of a gradient

# A branch, a captured tensor that is read twice, and a derivative that is NaN where it is not taken.
REGION = """captures(%gain, %shift) with [document(%ids)]
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
       %gain: tensor<?xf32>, %shift: tensor<?x?xf32>):
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %gain_h = tensor.extract %gain[%h] : tensor<?xf32>
    %shift_j = tensor.extract %shift[%b, %j] : tensor<?x?xf32>
    %positive = arith.cmpf ogt, %s, %zero : f32
    %x = scf.if %positive -> (f32) {
      %more = arith.addf %s, %one : f32
      %root = math.sqrt %more : f32
      %scaled = arith.mulf %root, %gain_h : f32
      scf.yield %scaled : f32
    } else {
      %sine = math.sin %s : f32
      %product = arith.mulf %sine, %shift_j : f32
      scf.yield %product : f32
    }
    %y = math.tanh %shift_j : f32
    %z = arith.addf %x, %y : f32
    fa.yield %z : f32
  }"""


def region(c):
    def score(s, b, h, i, j):
        import torch
        positive = s > 0
        root = (torch.where(positive, s, 0) + 1).sqrt()
        return torch.where(positive, root * c["gain"][h], s.sin() * c["shift"][b, j]) + c["shift"][b, j].tanh()
    return score


CASES = {
    "causal, grouped heads": Case("with [causal]", mask=lambda c: lambda b, h, i, j: j <= i + SHIFT),
    "ALiBi": Case("with [causal, alibi(%slopes)]", types={"slopes": ("tensor<?xf32>", ["Hq"])},
                  mask=lambda c: lambda b, h, i, j: j <= i + SHIFT,
                  score=lambda c: lambda s, b, h, i, j: s - c["slopes"][h] * (i + SHIFT - j).abs()),
    "softcap and window": Case("with [softcap<2.0>, window<20, 10>]",
                               mask=lambda c: lambda b, h, i, j: (j >= i + SHIFT - 20) & (j <= i + SHIFT + 10),
                               score=lambda c: lambda s, b, h, i, j: 2 * (s / 2).tanh()),
    "bias of all sequences": Case("with [bias(%bias)]", types={"bias": ("tensor<?x?x?xf32>", ["Hq", "Sq", "Sk"])},
                                  score=lambda c: lambda s, b, h, i, j: s + c["bias"][h, i, j]),
    "documents and a region": Case(REGION, types={"gain": ("tensor<?xf32>", ["Hq"]),
                                                  "shift": ("tensor<?x?xf32>", ["B", "Sk"]),
                                                  "ids": ("tensor<?x?xi32>", ["B", "Sk"])},
                                   mask=lambda c: lambda b, h, i, j: c["ids"][b, i] == c["ids"][b, j], score=region),
}


def draw(torch, case):
    """-> {name: tensor} of the inputs, and what flows back"""
    def normal(*names):
        return torch.randn([SIZES.get(name, D) for name in names])
    torch.manual_seed(1)
    inputs = {"q": normal("B", "Hq", "Sq", "D"), "k": normal("B", "Hk", "Sk", "D"), "v": normal("B", "Hk", "Sk", "D")}
    for name, (kind, dims) in case.types.items():
        inputs[name] = normal(*dims)
        if "xi32" in kind:
            inputs[name] = (torch.arange(SIZES[dims[-1]], dtype=torch.int32) // 17).expand(SIZES[dims[0]], -1).contiguous()
    return inputs, {"do": normal("B", "Hq", "Sq", "D"), "dlse": normal("B", "Hq", "Sq")}


def differentiate(torch, case, inputs, adjoints):
    """-> {name: gradient} by autograd, in float64"""
    c = {name: x.double().requires_grad_() if x.is_floating_point() else x for name, x in inputs.items()}
    b, h, i, j = (torch.arange(SIZES[name]).reshape([-1] + [1] * (3 - axis))
                  for axis, name in enumerate(("B", "Hq", "Sq", "Sk")))
    k, v = (c[name].repeat_interleave(SIZES["Hq"] // SIZES["Hk"], 1) for name in "kv")
    x = c["q"] @ k.transpose(2, 3) / math.sqrt(D)
    if case.score:
        x = case.score(c)(x, b, h, i, j)
    if case.mask:
        x = x.masked_fill(~case.mask(c)(b, h, i, j), -math.inf)
    loss = (torch.softmax(x, -1) @ v * adjoints["do"]).sum() + (torch.logsumexp(x, -1) * adjoints["dlse"]).sum()
    names = [name for name in c if c[name].requires_grad]
    return dict(zip(names, torch.autograd.grad(loss, [c[name] for name in names])))


def launch(torch, library, device, case, inputs, adjoints):
    """-> {name: gradient} of ours"""
    tensors = {name: x.to(device) for name, x in inputs.items()}
    empty = lambda x: torch.full_like(x, math.nan, device=device)
    tensors.update(o=empty(adjoints["do"]), lse=empty(adjoints["dlse"]))
    stream = torch.cuda.current_stream().cuda_stream if device == "cuda" else None
    text = program(case, D, lse=True, dtype="f32")
    library.launcher(library.compile(text, target=device), tensors, stream)()
    gradients = {"d" + name: empty(x) for name, x in inputs.items() if x.is_floating_point()}
    tensors.update({name: x.to(device) for name, x in adjoints.items()}, **gradients)
    library.launcher(library.compile(text, target=device, backward=1, dlse=1, deterministic=1), tensors, stream)()
    if device == "cuda":
        torch.cuda.synchronize()
    return {name[1:]: x.cpu() for name, x in gradients.items()}


def check(torch, library, device, case):
    """-> what is wrong; empty where nothing is"""
    inputs, adjoints = draw(torch, case)
    expected = differentiate(torch, case, inputs, adjoints)
    got = launch(torch, library, device, case, inputs, adjoints)
    problems = []
    for name, gradient in expected.items():
        error = ((got[name] - gradient).abs().max() / gradient.abs().max()).item()
        if not error < LIMIT:
            problems.append("d%s differs by %.1e of its largest element, expected %.0e" % (name, error, LIMIT))
    return "; ".join(problems)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        import torch
    except ImportError as error:
        print("check_gradients.py: skipped: " + str(error))
        print("0 passed, 0 failed, %d skipped" % len(CASES))
        return
    import fa_ctypes
    library = fa_ctypes.Library(os.path.join(os.path.abspath(sys.argv[1]), "lib", "libfa.so"))
    failed = passed = 0
    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        for name, case in CASES.items():
            try:
                problem = check(torch, library, device, case)
            except RuntimeError as error:
                problem = str(error)
            print("%s on %s: %s" % (name, device, problem or "passed"))
            failed += bool(problem)
            passed += not problem
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
