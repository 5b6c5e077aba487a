"""Programs: compiled text, launched on arrays of NumPy, tensors of PyTorch or what else describes its memory."""

from __future__ import annotations

import ctypes
import math
import operator
import struct
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from . import _library
from ._library import DTYPE_NAMES, DTYPES, OUTPUT, SCALAR, Argument, Error, Tensor, check, fa

# `__array_interface__` has the kind and the bytes of an element.
_INTERFACE = {"f2": "f16", "f4": "f32", "f8": "f64", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "b1": "i1"}


class _Memory:
    """Memory of a tensor: address, dtype, sizes, strides in elements, device."""
    __slots__ = ("address", "dtype", "shape", "strides", "device")

    def __init__(self, address: int, dtype: str, shape: Sequence[int], strides: Sequence[int] | None,
                 device: str) -> None:
        self.address, self.dtype, self.device = address, dtype, device
        self.shape, self.strides = tuple(shape), strides and tuple(strides)


def _describe(name: str, value: Any, writable: bool) -> _Memory:
    if hasattr(value, "data_ptr"):  # PyTorch's
        if value.is_neg():
            raise ValueError("'%s' is a view of memory with the other sign (is_neg()), which kernels would not "
                             "see; give its .resolve_neg()" % name)
        dtype = str(value.dtype).replace("torch.", "")
        dtype = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "bool": "i1"}.get(
            dtype, dtype.replace("int", "i"))
        return _Memory(value.data_ptr(), dtype, value.shape, value.stride(), str(value.device))
    interface = getattr(value, "__array_interface__", None)
    if interface is None:
        raise TypeError("'%s' is a %s; give an array of NumPy or a tensor of PyTorch" % (name, type(value).__name__))
    kind = interface["typestr"]
    element = _INTERFACE.get(kind[1:])
    if str(getattr(value, "dtype", "")) == "bfloat16":  # NumPy's extension of ml_dtypes
        element = "bf16"
    if element is None or kind[0] == ">":
        raise TypeError("'%s' has elements of type %s; give one of %s" % (name, kind, ", ".join(DTYPES)))
    address, readonly = interface["data"]
    if writable and readonly:
        raise ValueError("'%s' is an output and cannot be written; give memory that can" % name)
    size, strides = int(kind[2:]), interface.get("strides")
    if strides is not None:
        if any(stride % size for stride in strides):
            raise ValueError("the strides of '%s' are no multiples of its elements; copy it" % name)
        strides = [stride // size for stride in strides]
    return _Memory(address, element, interface["shape"], strides, "cpu")


def _describe_workspace(value: Any) -> tuple[int, int, str]:
    """Return address, bytes and device of memory whose elements may be of any type."""
    if hasattr(value, "data_ptr"):
        if not value.is_contiguous():
            raise ValueError("'workspace' has gaps; give contiguous memory")
        return value.data_ptr(), value.numel() * value.element_size(), str(value.device)
    interface = getattr(value, "__array_interface__", None)
    if interface is None:
        raise TypeError("'workspace' is a %s; give an array of NumPy or a tensor of PyTorch" % type(value).__name__)
    address, readonly = interface["data"]
    if readonly or interface.get("strides") is not None:
        raise ValueError("'workspace' %s; give contiguous memory that can be written" % ("is readonly" if readonly else "has gaps"))
    return address, int(interface["typestr"][2:]) * math.prod(interface["shape"]), "cpu"


def _as_integer(name: str, value: Any) -> int:
    """Return a number of up to 64 bits, signed or not, such as NumPy's."""
    if hasattr(value, "data_ptr") or not hasattr(value, "__index__"):
        raise TypeError("'%s' is an integer; give a number, not a %s" % (name, type(value).__name__))
    integer = operator.index(value)
    if not -2**63 <= integer < 2**64:
        raise ValueError("'%s' is %d, expected an integer of 64 bits" % (name, integer))
    return integer


def _as_float(name: str, value: Any) -> float:
    # A tensor's value may have to be waited for.
    if hasattr(value, "data_ptr") or not hasattr(value, "__float__") or getattr(value, "ndim", 0) > 0:
        raise TypeError("'%s' is a number; give one, not a %s" % (name, type(value).__name__))
    return float(value)


class Program:
    """A compiled program. Any number of threads may launch one."""

    def __init__(self, text: str, choices: dict[str, Any], handle: ctypes.c_void_p) -> None:
        self.text, self.choices, self._handle = text, choices, handle
        infos = [fa.fa_program_argument(handle, i) for i in range(fa.fa_program_num_arguments(handle))]
        self.names: list[str] = [info.name.decode() for info in infos]
        self.kinds: list[int] = [info.kind for info in infos]
        self.dtypes: list[str] = [DTYPE_NAMES[info.dtype] for info in infos]
        self.ranks: list[int] = [info.rank for info in infos]
        info = fa.fa_program_get_info(handle)
        self.target, self.device = info.target.decode(), info.device.decode()
        self.on_cpu = self.device == "cpu"
        target: str = choices["target"]
        place = target if target.startswith("cuda") else choices.get("device") or "cuda"
        self._place = "cpu" if self.on_cpu else place if ":" in place else place + ":0"

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and fa is not None:
            fa.fa_program_free(self._handle)

    def __copy__(self) -> "Program":
        """Return the program itself, which never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Program":
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a program cannot be pickled; pickle its text and target, and compile these again")

    def __repr__(self) -> str:
        return "<fa_mlir.Program for %s: %s>" % (self.target, ", ".join(self.names))

    def wait(self) -> None:
        """Wait until every variant is loaded, and kept on disk; raise where the driver cannot load one."""
        check(fa.fa_program_wait(self._handle))

    def _arguments(self, values: dict[str, Any]) -> tuple[Any, list[Any]]:
        """Return fa_arguments of values by name, and what they point to."""
        unknown = [name for name in values if name not in self.names]
        if unknown:
            raise TypeError("the program has no argument '%s'; it has %s" % (unknown[0], ", ".join(self.names)))
        arguments, keep = (Argument * len(values))(), list[Any]()
        for argument, (name, value) in zip(arguments, values.items()):
            argument.name = name.encode()
            number = self.names.index(name)
            if self.kinds[number] == SCALAR:
                integral = DTYPES[self.dtypes[number]] > DTYPES["f64"]
                argument.f, argument.i = (0, _as_integer(name, value)) if integral else (_as_float(name, value), 0)
                continue
            memory = _describe(name, value, self.kinds[number] == OUTPUT)
            self._check_device(name, memory.device)
            tensor, sizes = make_tensor(memory.address, memory.dtype, memory.shape, memory.strides)
            keep += [tensor, sizes]
            argument.tensor = ctypes.pointer(tensor)
        return arguments, keep

    def _check_device(self, name: str, device: str) -> None:
        if device != self._place:
            raise ValueError("'%s' is on %s, but the program was compiled for %s; compile it for the device of its "
                             "tensors" % (name, device, self.target if self.on_cpu else self._place))

    def _refuse_shared(self, arguments: Any) -> None:
        """Refuse an output in memory of another argument: kernels read what they have not written yet. Of tensors with gaps only
        their first elements are compared, as others may lie in the gaps."""
        known: list[tuple[str, int, int, bool]] = []
        for argument in arguments:
            tensor = argument.tensor.contents if argument.tensor else None
            if tensor is None or not tensor.data or 0 in tensor.shape[:tensor.rank]:
                continue
            name, first = argument.name.decode(), tensor.data
            bytes_, dense = _count_bytes(tensor)
            for other, start, size, whole in known:
                shared = first < start + size and start < first + bytes_ if dense and whole else first == start
                if shared and OUTPUT in (self.kinds[self.names.index(name)], self.kinds[self.names.index(other)]):
                    raise ValueError("'%s' and '%s' share memory, but a launch reads what it has not written yet; give the output "
                                     "memory of its own" % (other, name))
            known.append((name, first, bytes_, dense))

    def workspace_size(self, **values: Any) -> int:
        """Return the bytes of workspace that a launch needs."""
        arguments, _keep = self._arguments(values)
        size = ctypes.c_uint64()
        check(fa.fa_program_workspace_size(self._handle, arguments, len(arguments), ctypes.byref(size)))
        return size.value

    def launch(self, *, stream: int | None = None, workspace: Any = None, **values: Any) -> None:
        """Read the inputs and write the outputs, all given by name: arrays, tensors or numbers.

        On a GPU the kernels are put on `stream` (an address, None for the default one) and `workspace` is a tensor
        there of at least `workspace_size` bytes, of any type.
        """
        if stream is not None and not isinstance(stream, int):
            raise TypeError("launch() takes a stream's address, such as torch.cuda.current_stream().cuda_stream, got %r" % (stream,))
        arguments, _keep = self._arguments(values)
        self._refuse_shared(arguments)
        size = ctypes.c_uint64()
        check(fa.fa_program_workspace_size(self._handle, arguments, len(arguments), ctypes.byref(size)))
        address, bytes_ = None, size.value
        if workspace is not None:
            address, bytes_, device = _describe_workspace(workspace)
            self._check_device("workspace", device)
        elif bytes_ and not self.on_cpu:
            raise ValueError("the launch needs %d bytes of workspace; give a tensor of the device" % bytes_)
        elif bytes_:
            memory = ctypes.create_string_buffer(bytes_ + 64)
            address = (ctypes.addressof(memory) + 63) // 64 * 64
        check(fa.fa_program_launch(self._handle, stream, arguments, len(arguments), address, bytes_))


def _count_bytes(tensor: Any) -> tuple[int, bool]:
    """Return the bytes from a tensor's first element to its last one, and whether there are no gaps between."""
    shape, strides = tensor.shape[:tensor.rank], tensor.strides[:tensor.rank] if tensor.strides else None
    count = math.prod(shape)
    span = count if strides is None else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    size = max(1, int(DTYPE_NAMES[tensor.dtype].lstrip("bfi")) // 8)
    return span * size, span == count and (strides is None or min(strides, default=1) > 0)


def make_tensor(address: int | None, dtype: str, shape: Sequence[int],
                strides: Sequence[int] | None) -> tuple[Tensor, Any]:
    """Return an fa_tensor, and the memory of its sizes, which must live as long."""
    if dtype not in DTYPES:
        raise TypeError("no program takes elements of type %s; give one of %s" % (dtype, ", ".join(DTYPES)))
    rank = len(shape)
    sizes = (ctypes.c_int64 * (2 * rank or 1))(*shape, *(strides or ()))
    pointer = ctypes.POINTER(ctypes.c_int64)
    base = ctypes.addressof(sizes)
    at = lambda index: ctypes.cast(base + 8 * index, pointer)
    return Tensor(address, DTYPES[dtype], rank, at(0), at(rank) if strides is not None else None, 0), sizes


class Prepared:
    """A launch whose dtypes, sizes and strides were checked beforehand: tensors by address, in the program's order."""
    __slots__ = ("program", "workspace_bytes", "pack_addresses", "pack_numbers", "handle")

    def __init__(self, program: Program, tensors: Iterable[tuple[str, Sequence[int], Sequence[int] | None]]) -> None:
        """`tensors`: (dtype, sizes, strides) of each argument that is no scalar, in the program's order."""
        arguments, keep, rest = (Argument * len(program.names))(), [], iter(tensors)
        codes = ""
        for argument, name, kind, dtype in zip(arguments, program.names, program.kinds, program.dtypes):
            argument.name = name.encode()
            if kind == SCALAR:  # fa_number
                codes += "q" if DTYPES[dtype] > DTYPES["f64"] else "d"
                continue
            tensor, sizes = make_tensor(None, *next(rest))
            keep += [tensor, sizes]
            argument.tensor = ctypes.pointer(tensor)
        handle = ctypes.c_void_p()
        check(fa.fa_prepare(program._handle, arguments, len(arguments), ctypes.byref(handle)))
        # Each launch gives them: as ctypes' own objects they are not converted again.
        self.program, self.handle = program, handle
        self.workspace_bytes = ctypes.c_uint64(fa.fa_prepared_workspace_size(handle))
        self.pack_addresses = struct.Struct("=%dQ" % (len(arguments) - len(codes))).pack
        self.pack_numbers = struct.Struct("=" + codes).pack

    def __del__(self) -> None:
        if getattr(self, "handle", None) and fa is not None:
            fa.fa_prepared_free(self.handle)

    def launch(self, stream: int | None, addresses: bytes, numbers: bytes, workspace: int | None) -> None:
        """Launch on addresses and numbers, each packed in the program's order."""
        error = fa.fa_prepared_launch(self.handle, stream, addresses, numbers, workspace, self.workspace_bytes)
        if error:
            check(error)


# The most programs, and texts, that are found again here; all are forgotten at once, and come from the library's cache.
MOST = 4096
_programs: dict[tuple[Any, ...], Program] = {}
_lock = threading.Lock()


def compile(text: str, target: str = "cpu", **options: Any) -> Program:
    """Compile MLIR text for a target: "cpu", "cuda", "cuda:N", or code such as "sm_90a", and load it.

    Code for GPUs is loaded on a device, so that it needs one and its driver; `fa-opt --target` compiles without.
    `options` are the fields of fa_compile_options (docs/api.md). What was compiled before is found again, here and
    in the library's cache. Errors of the text are `Error`s with lines and columns.
    """
    key = (text, target, tuple(sorted(options.items())))
    try:
        program = _programs.get(key)
    except TypeError:  # of no hash, so none of an option; told of below
        program = None
    if program is not None:
        return program
    if not isinstance(text, str):
        raise TypeError("compile() takes MLIR text, got %s" % type(text).__name__)
    choices = _library.make_options(target=target, **options)
    handle, data = ctypes.c_void_p(), text.encode()
    check(fa.fa_compile(data, len(data), ctypes.byref(choices), ctypes.byref(handle)))
    program = Program(text, dict(options, target=target), handle)
    with _lock:
        if len(_programs) >= MOST:
            _programs.clear()
        return _programs.setdefault(key, program)


__all__ = ["Error", "Prepared", "Program", "compile"]
