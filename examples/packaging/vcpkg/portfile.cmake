# SPDX-License-Identifier: Apache-2.0
#
# An overlay port, made from this clone: vcpkg install skald --overlay-ports=examples/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES tokenizer SKALD_TOKENIZER store SKALD_STORE)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${feature_options} -DSKALD_MPI=OFF -DSKALD_INSTALL=ON
  -DSKALD_BUILD_TESTS=OFF -DSKALD_BUILD_EXAMPLES=OFF -DSKALD_BUILD_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/skald)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
