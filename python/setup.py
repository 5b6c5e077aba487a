"""Builds the wheel, in the folder that scripts/make_wheel.py lays out."""

import os

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class WithLibrary(Distribution):
    """Has code of one machine, so that it is installed among such packages."""

    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    """One wheel for every Python: libfa.so is loaded by ctypes and knows none of Python's ABI."""

    def get_tag(self):
        return "py3", "none", "manylinux_2_36_x86_64"


setup(version=os.environ["FA_MLIR_VERSION"], distclass=WithLibrary, cmdclass={"bdist_wheel": Wheel})
