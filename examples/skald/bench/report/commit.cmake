# SPDX-License-Identifier: Apache-2.0
#
# Writes the commit of SOURCE_DIR into the header OUTPUT: each build runs it, and nothing is compiled again unless the
# commit is another. Sources without git, or in another project's repository, have none.
set(commit unknown)
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} rev-parse --show-toplevel
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(here ${SOURCE_DIR} REALPATH)
  if(top STREQUAL here)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} describe --always --dirty --exclude=*
      OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(described)
      set(commit ${described})
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define SKALD_COMMIT \"${commit}\"\n")
