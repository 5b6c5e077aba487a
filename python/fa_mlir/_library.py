"""libfa.so through ctypes: what `fa/fa_c.h` declares, and errors as exceptions."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
from typing import Any

# The codes of fa_dtype, by the names that MLIR has for them.
DTYPES = {"f16": 0, "bf16": 1, "f32": 2, "f64": 3, "i8": 4, "i16": 5, "i32": 6, "i64": 7, "i1": 8}
DTYPE_NAMES = {code: name for name, code in DTYPES.items()}
INPUT, OUTPUT, SCALAR = range(3)


class Error(RuntimeError):
    """What the library refused, in its words: what was wrong, what was expected and what to do."""


class Tensor(ctypes.Structure):
    """fa_tensor"""
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Argument(ctypes.Structure):
    """fa_argument"""
    _fields_ = [("name", ctypes.c_char_p), ("tensor", ctypes.POINTER(Tensor)), ("f", ctypes.c_double),
                ("i", ctypes.c_int64)]


class ArgumentInfo(ctypes.Structure):
    """fa_argument_info"""
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("dtype", ctypes.c_int),
                ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64))]


class Options(ctypes.Structure):
    """fa_compile_options"""
    _fields_ = [("size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("entry", ctypes.c_char_p),
                *[(name, ctypes.c_int32) for name in ("threads", "standard", "no_mask_analysis",
                                                      "no_canonicalize", "rows", "keys")],
                ("device", ctypes.c_char_p), ("warps", ctypes.c_int32), ("leave_out", ctypes.c_char_p),
                ("source_name", ctypes.c_char_p), ("no_cache", ctypes.c_int32), ("stages", ctypes.c_int32),
                ("aligned_only", ctypes.c_int32), ("gradients", ctypes.c_char_p),
                ("backward", ctypes.c_int32), ("dlse", ctypes.c_int32), ("deterministic", ctypes.c_int32),
                ("fused", ctypes.c_int32), ("order", ctypes.c_int32)]


class ProgramInfo(ctypes.Structure):
    """fa_program_info"""
    _fields_ = [("target", ctypes.c_char_p), ("device", ctypes.c_char_p), ("load_seconds", ctypes.c_double)]


class DeviceInfo(ctypes.Structure):
    """fa_device_info"""
    _fields_ = [("name", ctypes.c_char_p), ("major", ctypes.c_int32), ("minor", ctypes.c_int32),
                ("multiprocessors", ctypes.c_int32), ("driver_version", ctypes.c_int32),
                ("shared_bytes", ctypes.c_int64)]


class Reason(ctypes.Structure):
    """fa_reason"""
    _fields_ = [("kind", ctypes.c_int), ("what", ctypes.c_char_p), ("remedy", ctypes.c_char_p)]


_POINTER, _SIZE, _U64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
_PLACE = ctypes.POINTER(ctypes.c_void_p)
_ARGUMENTS = ctypes.POINTER(Argument)
# name -> (result, arguments). Functions whose result is a pointer to an error are told apart by `_ERROR`.
_ERROR = ctypes.c_void_p
_FUNCTIONS = {
    "fa_version": (ctypes.c_char_p, []),
    "fa_cache_info": (ctypes.c_char_p, []),
    "fa_error_message": (ctypes.c_char_p, [_POINTER]),
    "fa_error_free": (None, [_POINTER]),
    "fa_compile_options_default": (Options, []),
    "fa_compile": (_ERROR, [ctypes.c_char_p, _SIZE, ctypes.POINTER(Options), _PLACE]),
    "fa_program_free": (None, [_POINTER]),
    "fa_program_wait": (_ERROR, [_POINTER]),
    "fa_program_num_arguments": (_SIZE, [_POINTER]),
    "fa_program_argument": (ArgumentInfo, [_POINTER, _SIZE]),
    "fa_program_get_info": (ProgramInfo, [_POINTER]),
    "fa_program_workspace_size": (_ERROR, [_POINTER, _ARGUMENTS, _SIZE, ctypes.POINTER(_U64)]),
    "fa_program_launch": (_ERROR, [_POINTER, _POINTER, _ARGUMENTS, _SIZE, _POINTER, _U64]),
    "fa_prepare": (_ERROR, [_POINTER, _ARGUMENTS, _SIZE, _PLACE]),
    "fa_prepared_free": (None, [_POINTER]),
    "fa_prepared_workspace_size": (_U64, [_POINTER]),
    "fa_prepared_launch": (_ERROR, [_POINTER, _POINTER, _POINTER, _POINTER, _POINTER, _U64]),
    "fa_explain": (_POINTER, [ctypes.c_char_p, _SIZE, ctypes.POINTER(Options)]),
    "fa_reasons_count": (_SIZE, [_POINTER]),
    "fa_reasons_get": (Reason, [_POINTER, _SIZE]),
    "fa_reasons_free": (None, [_POINTER]),
    "fa_device_open": (_ERROR, [ctypes.c_char_p, _PLACE]),
    "fa_device_close": (None, [_POINTER]),
    "fa_device_get_info": (DeviceInfo, [_POINTER]),
}


def find() -> str:
    """Return the path of libfa.so: $FA_MLIR_LIBRARY, or the one that was installed with this package."""
    return os.environ.get("FA_MLIR_LIBRARY") or os.path.join(os.path.dirname(__file__), "lib", "libfa.so")


def _load() -> tuple[ctypes.CDLL, str]:
    path = find()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError("fa_mlir cannot load its library: %s; install the wheel again, or set FA_MLIR_LIBRARY to "
                          "the path of a libfa.so" % error) from None
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError("%s has no function %s, so it is of another version than this package; unset "
                              "FA_MLIR_LIBRARY, or build both from one source" % (path, name)) from None
        function.restype, function.argtypes = result, arguments
    version = library.fa_version().decode()
    try:
        own = importlib.metadata.version("fa-mlir")
    except importlib.metadata.PackageNotFoundError:
        own = version  # the source tree
    if own != version:
        raise ImportError("fa_mlir is version %s, but its library %s is version %s; unset FA_MLIR_LIBRARY, or install "
                          "the wheel of that version" % (own, path, version))
    return library, version


fa, version = _load()


def check(error: int | None) -> None:
    """Raise an error of the library, which is freed."""
    if error:
        message = fa.fa_error_message(error).decode()
        fa.fa_error_free(error)
        raise Error(message)


def make_options(**choices: Any) -> Options:
    """Return fa_compile_options with these fields set."""
    options: Options = fa.fa_compile_options_default()
    known = {field[0]: field[1] for field in Options._fields_[1:]}
    for name, value in choices.items():
        if name not in known:
            raise TypeError("compile() has no option '%s'; it has %s" % (name, ", ".join(known)))
        is_text = known[name] is ctypes.c_char_p
        if value is None:
            continue
        if is_text != isinstance(value, str) or not is_text and not hasattr(value, "__index__"):
            raise TypeError("compile(): %s is %r, expected %s" % (name, value, "text; names have commas between" if is_text
                                                                   else "True, False or a number"))
        if is_text and "\0" in value:
            raise ValueError("compile(): %s has a character of number 0, %r" % (name, value))
        if not is_text and not -2**31 <= int(value) < 2**31:
            raise ValueError("compile(): %s is %d, expected a number of 32 bits" % (name, value))
        setattr(options, name, value.encode() if isinstance(value, str) else int(value))
    return options


def cache_info() -> str:
    """Return what the library says of its cache on disk."""
    text: bytes = fa.fa_cache_info()
    return text.decode()


def device_info(name: str) -> tuple[str, tuple[int, int], int]:
    """Return (name, compute capability, driver's CUDA version) of "cpu", "cuda" or "cuda:N"; raise Error without."""
    if not isinstance(name, str) or "\0" in name:
        raise TypeError("device_info() takes the name of a device, 'cpu', 'cuda' or 'cuda:N', got %r" % (name,))
    device = ctypes.c_void_p()
    check(fa.fa_device_open(name.encode(), ctypes.byref(device)))
    info = fa.fa_device_get_info(device)
    facts = info.name.decode(), (info.major, info.minor), info.driver_version
    fa.fa_device_close(device)
    return facts


def explain(text: str | None = None, **options: Any) -> list[tuple[str, str, str]]:
    """Return (kind, what, remedy) of all that is refused, or slower than it could be, for a text or a device."""
    kinds = ("refused", "refused at launch", "slower", "slower to start")
    data = text.encode() if text is not None else None
    choices = make_options(**options)
    reasons = fa.fa_explain(data, len(data or b""), ctypes.byref(choices))
    try:
        found = [fa.fa_reasons_get(reasons, i) for i in range(fa.fa_reasons_count(reasons))]
        return [(kinds[reason.kind], reason.what.decode(), reason.remedy.decode()) for reason in found]
    finally:
        fa.fa_reasons_free(reasons)
