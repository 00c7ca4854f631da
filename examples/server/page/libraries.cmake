# SPDX-License-Identifier: Apache-2.0
#
# The libraries of the page: releases of npm packages, pinned by their hashes. They do not come from the system, whose
# versions are several major releases apart: the page is tested with one set, and relies on it to keep markup harmless.
#
#   skald_page_libraries(<folder>)     fills <folder>/libraries with what is served under /libraries/, the licences
#                                      included; leaves it empty where the packages cannot be had
#   cmake -P libraries.cmake           downloads the packages to build/deps/page, for builds without a network
cmake_minimum_required(VERSION 3.20...3.31)
get_filename_component(skald_page_downloads ${CMAKE_CURRENT_LIST_DIR}/../../../build/deps/page ABSOLUTE)

# Package, version, SHA-256, and the files of it: SERVED_NAME=FILE. Those of which only the licence is named are part of
# markdown-it.
set(skald_page_packages
  "markdown-it 15.0.3 98a7453983ab0e268c17dbd5260bf7190ba46b4cca912327fc1c1a2578e4b56d LICENSE \
    markdown-it.js=dist/browser/markdown-it.esm.min.mjs"
  "entities 8.1.0 e9a27d66db0d0a6f2d76454219d94f5729ae2a29f08ab06c92e5f6eaa37cbe68 LICENSE"
  "linkify-it 6.1.0 780a9e8232ea7e4c9f04348e2e2a567485c34abed805a15cfff8fff2029076b8 LICENSE"
  "mdurl 2.1.0 23fc27c3d70e776c3aa40ec019c2be21ef43ed33b73f8476ada8715c5aabd11d LICENSE"
  "punycode.js 2.3.1 8768d89aa6359164220014ba575e1464e3ddff11bedff1cc268e39a21f7324a8 LICENSE-MIT.txt"
  "uc.micro 3.0.0 23a2704905d2f7a773f89c97be1102a4a2eb3a69b58c0e8c326a649c75552981 LICENSE.txt"
  "dompurify 3.4.18 8b86f79c6481fec23dd81d4de32179422668912ed033c0c47e786a6e70cb3379 LICENSE \
    purify.js=dist/purify.es.mjs"
  "@highlightjs/cdn-assets 11.12.0 b8a006d30f45afe783072569f3d69c5b60c0e7b9ca28cd474e12f2584e2a3bd9 LICENSE \
    highlight.js=es/highlight.min.js"
  "katex 0.19.1 24da5a599eb2fcede2e270b99a6ff48bca816beecc95feeb84e8cccbd1bb34fd LICENSE \
    katex.js=dist/katex.min.js katex.css=dist/katex.min.css fonts=dist/fonts/*.woff2")

# Sets `file` to the package, downloaded unless it is there, or to nothing.
function(skald_page_package name version hash folder file)
  get_filename_component(base ${name} NAME)
  set(package ${folder}/${base}-${version}.tgz)
  set(${file} ${package} PARENT_SCOPE)
  if(EXISTS ${package})
    file(SHA256 ${package} found)
    if(found STREQUAL hash)
      return()
    endif()
  endif()
  file(DOWNLOAD https://registry.npmjs.org/${name}/-/${base}-${version}.tgz ${package}.part STATUS status TIMEOUT 60)
  set(found "")
  if(EXISTS ${package}.part)
    file(SHA256 ${package}.part found)
  endif()
  if(found STREQUAL hash)
    file(RENAME ${package}.part ${package})
    return()
  endif()
  file(REMOVE ${package}.part)
  message(STATUS "${name} ${version} could not be downloaded: ${status}")
  set(${file} "" PARENT_SCOPE)
endfunction()

function(skald_page_libraries folder)
  set(downloads ${skald_page_downloads})
  if(NOT EXISTS ${downloads})
    set(downloads ${folder}/packages)
  endif()
  set(out ${folder}/libraries)
  string(SHA256 state "${skald_page_packages}")
  if(EXISTS ${folder}/state-${state})
    return()
  endif()
  file(REMOVE_RECURSE ${out})
  set(licences "What the page is made of beside Skald.\n")
  foreach(line IN LISTS skald_page_packages)
    separate_arguments(line UNIX_COMMAND "${line}")
    list(POP_FRONT line name version hash licence)
    skald_page_package(${name} ${version} ${hash} ${downloads} package)
    if(NOT package)
      file(REMOVE_RECURSE ${out})
      return()
    endif()
    set(unpacked ${folder}/unpacked)
    file(REMOVE_RECURSE ${unpacked})
    file(ARCHIVE_EXTRACT INPUT ${package} DESTINATION ${unpacked})
    foreach(entry IN LISTS line)
      string(REPLACE "=" ";" entry ${entry})
      list(POP_FRONT entry served pattern)
      file(GLOB files ${unpacked}/package/${pattern})
      if(pattern MATCHES "\\*")
        file(COPY ${files} DESTINATION ${out}/${served})
      else()
        configure_file(${files} ${out}/${served} COPYONLY)
      endif()
    endforeach()
    file(READ ${unpacked}/package/${licence} text)
    string(APPEND licences "\n=== ${name} ${version}\n\n${text}")
    file(REMOVE_RECURSE ${unpacked})
  endforeach()
  file(WRITE ${out}/LICENSES.txt "${licences}")
  file(TOUCH ${folder}/state-${state})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  foreach(line IN LISTS skald_page_packages)
    separate_arguments(line UNIX_COMMAND "${line}")
    list(POP_FRONT line name version hash)
    skald_page_package(${name} ${version} ${hash} ${skald_page_downloads} package)
    if(NOT package)
      message(FATAL_ERROR "there is no ${name} ${version}")
    endif()
  endforeach()
endif()
