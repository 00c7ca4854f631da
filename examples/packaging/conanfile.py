# SPDX-License-Identifier: Apache-2.0
"""Skald's headers as a package of Conan 2, made from this clone: conan create examples/packaging

The options `tokenizer` and `store` bring the libraries that those parts need, but for SentencePiece, which Conan's own
repository lacks: programs with SentencePiece tokenizers link the system's.
"""

import pathlib
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load


class Skald(ConanFile):
    name = "skald"
    description = "Language models on the CPU"
    license = "Apache-2.0"
    topics = ("language-models", "inference", "simd", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"tokenizer": [True, False], "store": [True, False]}
    default_options = {"tokenizer": True, "store": True}
    no_copy_source = True

    @property
    def _root(self):
        return pathlib.Path(self.recipe_folder).parents[1]

    def set_version(self):
        text = load(self, str(self._root / "include/skald/base/version.h"))
        self.version = ".".join(re.findall(r"#define SKALD_VERSION_[A-Z]+ (\d+)", text))

    def export_sources(self):
        copy(self, "include/*", self._root, self.export_sources_folder)
        copy(self, "LICENSE", self._root, self.export_sources_folder)

    def requirements(self):
        self.requires("highway/[>=1.2 <2]")
        self.requires("tl-expected/[>=1.0]")
        self.requires("nlohmann_json/[>=3.9 <4]")
        if self.options.tokenizer:
            self.requires("oniguruma/[>=6.9 <7]")
            self.requires("utf8proc/[>=2.8 <3]")
        if self.options.store:
            self.requires("openssl/[>=3 <4]")
            self.requires("zstd/[>=1.5 <2]")
            self.requires("xxhash/[>=0.8 <0.9]")
            self.requires("hiredis/[>=1 <2]")

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def package_id(self):
        self.info.clear()

    def package(self):
        copy(self, "*.h", pathlib.Path(self.source_folder) / "include", pathlib.Path(self.package_folder) / "include")
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        # One answer on every SIMD target: the compiler may not fuse a multiplication and an addition by itself.
        if self.settings.compiler in ("gcc", "clang", "apple-clang"):
            self.cpp_info.cxxflags = ["-ffp-contract=off"]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
