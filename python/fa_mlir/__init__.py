"""Flash attention, compiled: write a mask, a score modification and dropout of your own, get a fast kernel.

Without PyTorch: `compile` takes MLIR text and gives a program that is launched on arrays. With it: `attention`,
`flex_attention`, and the modules `flash_attn`, `flash_attn_3` and `transformers`, which have those packages' own
functions. docs/python.md describes all of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._library import Error, cache_info, device_info, find as library_path, version as __version__
from ._program import Program, compile

_OF_TORCH = {"attention": "._attention", "explain": "._attention", "to_mlir": "._attention",
             "flex_attention": "._flex"}
_MODULES = ("flash_attn", "flash_attn_3", "transformers")

__all__ = ["Error", "Program", "__version__", "attention", "cache_info", "compile", "device_info", "explain",
           "flash_attn", "flash_attn_3", "flex_attention", "library_path", "to_mlir", "transformers"]

if TYPE_CHECKING:
    from . import flash_attn, flash_attn_3, transformers
    from ._attention import attention, explain, to_mlir
    from ._flex import flex_attention


def __getattr__(name: str) -> Any:
    if name not in _OF_TORCH and name not in _MODULES:
        raise AttributeError("module 'fa_mlir' has no attribute '%s'" % name)
    try:
        module = importlib.import_module(_OF_TORCH.get(name, "." + name), __name__)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError("fa_mlir.%s works on tensors of PyTorch, which is not installed; install torch >= 2.6, or use "
                          "fa_mlir.compile on arrays" % name) from None
    if name in _MODULES:
        return module
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
