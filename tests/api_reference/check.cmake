# SPDX-License-Identifier: Apache-2.0
#
# Builds the reference, and fails where doxygen warns.
#
# usage: cmake -D doxygen=PROGRAM -D doxyfile=FILE -D output=FOLDER -P check.cmake

# The rooms of include/skald whose every public entity has a docstring. In the others an entity may lack one; what a
# docstring says is checked everywhere.
set(documented_rooms open templates sampling)

file(MAKE_DIRECTORY ${output})
execute_process(COMMAND ${doxygen} ${doxyfile} RESULT_VARIABLE failed ERROR_VARIABLE warnings OUTPUT_QUIET)
if(failed)
  message(FATAL_ERROR "doxygen failed: ${failed}\n${warnings}")
endif()
list(JOIN documented_rooms "|" documented_rooms)
string(REPLACE ";" "," warnings "${warnings}")
string(REGEX REPLACE "[][]" "" warnings "${warnings}")
string(REPLACE "\n" ";" warnings "${warnings}")
set(problems "")
set(undocumented 0)
foreach(warning IN LISTS warnings)
  if(warning MATCHES "is not documented\\.$" AND NOT warning MATCHES "/include/skald/(${documented_rooms})/")
    math(EXPR undocumented "${undocumented} + 1")
  elseif(warning)
    string(APPEND problems "${warning}\n")
  endif()
endforeach()
message(STATUS "${output}/html/index.html; ${undocumented} entities of other rooms have no docstring")
if(problems)
  message(FATAL_ERROR "${problems}")
endif()
