#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the files of examples/packaging/ to the library: packaging.py VERSION WORK [CONAN]

The vcpkg port must have the version and only features that CMakeLists.txt knows. With Conan the package is made, without
network: its dependencies count as installed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
PACKAGING = ROOT / "examples/packaging"
INSTALLED = ("highway/1.2.0", "tl-expected/1.1.0", "nlohmann_json/3.11.3", "oniguruma/6.9.8", "utf8proc/2.8.0", "openssl/3.0.0",
             "zstd/1.5.4", "xxhash/0.8.1", "hiredis/1.1.0")


def check_vcpkg(version):
    port = json.loads((PACKAGING / "vcpkg/vcpkg.json").read_text())
    assert port["version"] == version, f"vcpkg.json is of version {port['version']}, the library of {version}"
    build = (ROOT / "CMakeLists.txt").read_text()
    text = (PACKAGING / "vcpkg/portfile.cmake").read_text()
    for feature in port["features"]:
        assert feature in port["default-features"], feature
        assert f"{feature} SKALD_{feature.upper()}" in text, f"the port does not pass {feature} on"
        assert f"option(SKALD_{feature.upper()} " in build, f"there is no option of the feature {feature}"


def check_conan(version, work, conan):
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    environment = os.environ | {"CONAN_HOME": str(work / "home")}
    subprocess.run([conan, "profile", "detect"], env=environment, check=True, capture_output=True)
    profile = work / "profile"
    profile.write_text("include(default)\n[settings]\ncompiler.cppstd=20\n[platform_requires]\n" + "\n".join(INSTALLED) + "\n")
    subprocess.run([conan, "create", PACKAGING, "--profile", profile, "--no-remote"], env=environment, check=True)
    packages = list((work / "home/p").glob("**/p/include/skald/skald.h"))
    assert packages, "the package has no headers"
    headers = {path.relative_to(ROOT / "include") for path in (ROOT / "include").rglob("*.h")}
    packed = {path.relative_to(packages[0].parents[1]) for path in packages[0].parents[1].rglob("*.h")}
    assert packed == headers, f"the package lacks {headers - packed}"
    assert (packages[0].parents[2] / "licenses/LICENSE").exists(), "the package has no licence"
    listed = subprocess.run([conan, "list", f"skald/{version}"], env=environment, capture_output=True, text=True).stdout
    assert f"skald/{version}" in listed and "not found" not in listed, listed


def main():
    version, work, *conan = sys.argv[1:]
    check_vcpkg(version)
    if conan:
        check_conan(version, pathlib.Path(work), conan[0])
    else:
        print("The Conan recipe was not tried: there is no conan here")


if __name__ == "__main__":
    main()
