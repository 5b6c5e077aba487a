"""Prints version, library, devices and cache."""

from __future__ import annotations

import sys

from . import Error, __version__, cache_info, device_info, library_path


def main() -> None:
    print("fa_mlir   " + __version__)
    print("library   " + library_path())
    print("device    cpu: %s" % device_info("cpu")[0])
    for ordinal in range(64):
        name = "cuda:%d" % ordinal
        try:
            device, (major, minor), driver = device_info(name)
        except Error as error:
            if ordinal == 0:
                print("device    cuda: none: %s" % error)
            break
        print("device    %s: %s, compute capability %d.%d, driver of CUDA %d.%d" % (
            name, device, major, minor, driver // 1000, driver % 1000 // 10))
    if "torch" in sys.modules or _has_torch():
        import torch
        print("torch     " + torch.__version__)
    else:
        print("torch     none: functions on tensors need PyTorch >= 2.6")
    print("cache     " + cache_info().strip().replace("\n", "\n          "))


def _has_torch() -> bool:
    import importlib.util
    return importlib.util.find_spec("torch") is not None


if __name__ == "__main__":
    main()
