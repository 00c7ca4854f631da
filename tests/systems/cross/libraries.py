# SPDX-License-Identifier: Apache-2.0
"""The libraries of tokenizers and stores, built for other systems from the sources of this distribution.

Sources come from the archive that this machine's apt uses, by lists and folders of our own: its configuration stays as it
is. They are unpacked once, in build/cross/sources, and built once for each system, in build/cross/SYSTEM/libraries.
"""
import dataclasses
import os
import shutil
import stat
import subprocess

from build import WORK, call
from systems import Missing, needed

SOURCES = WORK / "sources"
ZIG_OPENSSL = {"x86_64-linux-musl": "linux-x86_64", "aarch64-linux-musl": "linux-aarch64", "x86_64-macos": "darwin64-x86_64-cc",
               "aarch64-macos": "darwin64-arm64-cc"}


@dataclasses.dataclass
class Library:
    package: str       # of sources
    archive: str       # what is linked
    headers: str       # their folder, in the sources
    options: list      # of CMake; None for OpenSSL, which has a script of its own
    target: str = ""
    cmake: str = "."   # folder of its CMakeLists.txt
    defines: tuple = ()  # of sources that include its headers


LIBRARIES = {
    "sentencepiece": Library("sentencepiece", "libsentencepiece.a", "src",
                             ["-DSPM_ENABLE_SHARED=OFF", "-DSPM_ENABLE_TCMALLOC=OFF"], "sentencepiece-static"),
    "onig": Library("libonig", "libonig.a", "src", ["-DBUILD_TEST=OFF", "-DBUILD_SHARED_LIBS=OFF"], "onig",
                    defines=("-DONIG_STATIC",)),
    "utf8proc": Library("utf8proc", "libutf8proc.a", ".", ["-DBUILD_SHARED_LIBS=OFF"], "utf8proc",
                        defines=("-DUTF8PROC_STATIC",)),
    "zstd": Library("libzstd", "libzstd.a", "lib",
                    ["-DZSTD_BUILD_PROGRAMS=OFF", "-DZSTD_BUILD_SHARED=OFF", "-DZSTD_BUILD_TESTS=OFF"], "libzstd_static",
                    "build/cmake"),
    "xxhash": Library("xxhash", "libxxhash.a", ".", ["-DXXHASH_BUILD_XXHSUM=OFF", "-DBUILD_SHARED_LIBS=OFF"], "xxhash",
                      "cmake_unofficial"),
    "crypto": Library("openssl", "libcrypto.a", "include", None),
}
OF_TOKENIZERS = ["sentencepiece", "onig", "utf8proc"]
OF_STORES = ["crypto", "zstd", "xxhash"]

# Algorithms that hashes and authentication codes do not need, as far as OpenSSL can do without them.
OPENSSL_WITHOUT = ("asm async shared module dso engine legacy tests cms ct ts ocsp srp psk comp idea seed camellia aria sm2 sm3 "
                   "sm4 rc2 rc4 bf cast mdc2 md4 rmd160 whirlpool blake2 siphash scrypt ec dh dsa gost ocb siv chacha poly1305 "
                   "cmp secure-memory afalgeng ui-console").split()


def archives():
    """Lines of deb-src for the archives of Debian or Ubuntu that apt knows, as they were released: mirrors have those."""
    fields = "$(ORIGIN)|$(REPO_URI)|$(CODENAME)|$(COMPONENT)"
    listed = call(["apt-get", "indextargets", "--format", fields, "Created-By: Packages"]).splitlines()
    lines = []
    for origin, uri, codename, component in (line.split("|") for line in listed if line.count("|") == 3):
        if origin in ("Debian", "Ubuntu") and component in ("main", "universe") and codename and "-" not in codename:
            lines.append(f"deb-src {uri} {codename} {component}")
    return sorted(set(lines))


def apply_patches(patches, tree):
    """The distribution's changes, as this system's own package has them, but for one that leaves static libraries out."""
    series = (patches / "series").read_text() if (patches / "series").exists() else ""
    for line in series.splitlines():
        if line and not line.startswith("#") and "disable-static" not in line:
            call(["patch", "-p1", "--quiet", "-i", patches / line.split()[0]], folder=tree)


def unpack(package):
    """The folder of a source package."""
    folder = SOURCES / package
    if folder.exists():
        return folder
    needed("apt-get", "apt")
    work = SOURCES / f"{package}.new"
    shutil.rmtree(work, ignore_errors=True)
    (work / "tree").mkdir(parents=True)
    lists = SOURCES / "apt"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources = SOURCES / "sources.list"
    sources.write_text("\n".join(archives()) + "\n")
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=/dev/null", "-o",
           f"Dir::State::lists={lists}", "-o", f"Dir::Cache={lists}", "-o", "APT::Sandbox::User=root"]
    for words in [[*apt, "update"], [*apt, "source", "--download-only", "--only-source", package]]:
        done = subprocess.run(words, cwd=work, capture_output=True, text=True)
        if done.returncode != 0:
            raise Missing(f"the source of {package} cannot be had: {done.stderr.strip()[-200:]}")
    original = [path for path in work.glob("*.orig.tar.*") if path.suffix != ".asc"]
    call(["tar", "-xf", original[0], "-C", work / "tree", "--strip-components=1"])
    call(["tar", "-xf", next(work.glob("*.debian.tar.*")), "-C", work])
    apply_patches(work / "debian" / "patches", work / "tree")
    (work / "tree").rename(folder)
    shutil.rmtree(work)
    return folder


def tools(build):
    """Programs by the names that a library's own build calls."""
    folder = build.folder / "tools"
    folder.mkdir(exist_ok=True)
    for name, words in {"cc": build.system.c_compiler, "c++": build.system.compiler, "ar": build.system.archiver,
                        "ranlib": [*build.system.archiver, "s"]}.items():
        path = folder / name
        path.write_text("#!/bin/sh\nexec " + " ".join(str(word) for word in words) + ' "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


def name_for_cmake(system):
    # Of macOS CMake wants tools that only a Mac has; as a plain Unix its libraries are the same.
    return "Windows" if system.is_windows else "Linux"


def build_by_cmake(build, library, source, into):
    folder = tools(build)
    call(["cmake", "-S", source / library.cmake, "-B", into, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_POLICY_VERSION_MINIMUM=3.5",
          f"-DCMAKE_SYSTEM_NAME={name_for_cmake(build.system)}", f"-DCMAKE_SYSTEM_PROCESSOR={build.system.name.split('-')[0]}",
          *(f"-DCMAKE_{name}={folder / tool}" for name, tool in
            {"C_COMPILER": "cc", "CXX_COMPILER": "c++", "AR": "ar", "RANLIB": "ranlib"}.items()),
          "-DCMAKE_FIND_ROOT_PATH=/nowhere", "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
          *library.options])
    call(["cmake", "--build", into, "--parallel", jobs(), "--target", library.target])


def jobs():
    return str(os.cpu_count())


def build_crypto(build, source, into):
    folder = tools(build)
    system = ZIG_OPENSSL.get(build.system.name, "mingw64" if build.system.is_windows else "")
    if not system:
        raise Missing(f"OpenSSL's name for {build.system.name} is not known here")
    environment = {**os.environ, "CC": str(folder / "cc"), "AR": str(folder / "ar"), "RANLIB": str(folder / "ranlib"),
                   "RC": "false"}
    into.mkdir(parents=True, exist_ok=True)
    call([source / "Configure", system, "-O1", *(f"no-{word}" for word in OPENSSL_WITHOUT)], folder=into, env=environment)
    call(["make", "-j", jobs(), "build_generated", "libcrypto.a"], folder=into)


def use(build, names):
    """Builds libraries. Returns flags of sources, and what is linked, in this order."""
    flags, links = [], []
    for name in names:
        library = LIBRARIES[name]
        source, into = unpack(library.package), build.folder / "libraries" / name
        if not list(into.rglob(library.archive)):
            if library.options is None:
                build_crypto(build, source, into)
            else:
                build_by_cmake(build, library, source, into)
        if name == "crypto":
            flags += ["-isystem", into / "include"]
        flags += ["-isystem", source / library.headers, *library.defines]
        links += list(into.rglob(library.archive))
    return flags, links
