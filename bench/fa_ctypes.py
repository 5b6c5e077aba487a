"""The C API of fa-mlir (fa_c.h) through ctypes, for the comparisons in this folder."""

import ctypes

DTYPES = {"float16": 0, "bfloat16": 1, "float32": 2, "int32": 6, "int64": 7, "bool": 8}


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Argument(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("tensor", ctypes.POINTER(Tensor)),
                ("f", ctypes.c_double), ("i", ctypes.c_int64)]


class Options(ctypes.Structure):
    _fields_ = ([("size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("entry", ctypes.c_char_p)]
                + [(name, ctypes.c_int32) for name in ("threads", "standard", "no_mask_analysis",
                                                       "no_canonicalize", "rows", "keys")]
                + [("device", ctypes.c_char_p), ("warps", ctypes.c_int32),
                   ("leave_out", ctypes.c_char_p), ("source_name", ctypes.c_char_p),
                   ("no_cache", ctypes.c_int32), ("stages", ctypes.c_int32),
                   ("aligned_only", ctypes.c_int32), ("gradients", ctypes.c_char_p),
                   ("backward", ctypes.c_int32), ("dlse", ctypes.c_int32), ("deterministic", ctypes.c_int32),
                   ("fused", ctypes.c_int32), ("order", ctypes.c_int32)])


class Library:
    def __init__(self, path):
        self.fa = ctypes.CDLL(path)
        self.fa.fa_compile_options_default.restype = Options
        for name in ("fa_compile", "fa_program_launch", "fa_program_workspace_size",
                     "fa_program_wait"):
            getattr(self.fa, name).restype = ctypes.c_void_p
        self.fa.fa_program_wait.argtypes = [ctypes.c_void_p]
        self.fa.fa_program_workspace_size.argtypes = [
            ctypes.c_void_p, ctypes.POINTER(Argument), ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_uint64)]
        self.fa.fa_program_launch.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Argument), ctypes.c_size_t,
            ctypes.c_void_p, ctypes.c_uint64]
        self.fa.fa_error_message.restype = ctypes.c_char_p
        self.fa.fa_error_message.argtypes = [ctypes.c_void_p]

    def check(self, error):
        if error:
            raise RuntimeError(self.fa.fa_error_message(error).decode())

    def compile(self, text, **choices):
        options = self.fa.fa_compile_options_default()
        for name, value in choices.items():
            setattr(options, name, value.encode() if isinstance(value, str) else value)
        program, text = ctypes.c_void_p(), text.encode()
        self.check(self.fa.fa_compile(text, ctypes.c_size_t(len(text)), ctypes.byref(options),
                                      ctypes.byref(program)))
        # So that no thread of the driver's runs while something is timed.
        self.check(self.fa.fa_program_wait(program))
        return program

    def launcher(self, program, tensors, stream=None):
        """A function that launches once, on tensors of PyTorch and numbers by name."""
        keep, arguments = [], (Argument * len(tensors))()
        for i, (name, x) in enumerate(tensors.items()):
            if isinstance(x, (int, float)):
                arguments[i] = Argument(name.encode(), None, x, int(x))
                continue
            shape = (ctypes.c_int64 * x.dim())(*x.shape)
            strides = (ctypes.c_int64 * x.dim())(*x.stride())
            dtype = DTYPES[str(x.dtype).removeprefix("torch.")]
            tensor = Tensor(x.data_ptr(), dtype, x.dim(), shape, strides, 0)
            keep.append((shape, strides, tensor, x))
            arguments[i] = Argument(name.encode(), ctypes.pointer(tensor), 0, 0)

        needed = ctypes.c_uint64()
        self.check(self.fa.fa_program_workspace_size(program, arguments, len(tensors),
                                                     ctypes.byref(needed)))
        workspace, size = None, needed.value
        if size:
            # PyTorch aligns its memory to more than the 64 bytes that are asked for.
            keep.append(x.new_empty((size + x.element_size() - 1) // x.element_size()))
            workspace = keep[-1].data_ptr()

        def launch():
            self.check(self.fa.fa_program_launch(program, stream, arguments, len(tensors),
                                                 workspace, size))
        launch.keep = keep
        return launch
