"""Build of the Cython extensions; all else about the package stands in pyproject.toml.

PODHERD_CYTHON_DEBUG=1 builds with bounds checks and writes the annotated HTML beside each .pyx.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("PODHERD_CYTHON_DEBUG") == "1"
NATIVE = Path("src/podherd/native")

extensions = [
    Extension(
        f"podherd.native.{source.stem}",
        [str(source)],
        extra_compile_args=["-O3", "-g0"] if not DEBUG else ["-O0", "-g"],
    )
    for source in sorted(NATIVE.glob("*.pyx"))
]

setup(
    ext_modules=cythonize(
        extensions,
        annotate=DEBUG,
        quiet=not DEBUG,
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "wraparound": False,
            "initializedcheck": DEBUG,
            "freethreading_compatible": False,
        },
    )
)
