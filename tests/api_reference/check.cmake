# SPDX-License-Identifier: Apache-2.0
#
# Builds the reference, and fails where doxygen warns: where a docstring is wrong, or a public entity has none and its
# name is not in the lists below.
#
# usage: cmake -D doxygen=PROGRAM -D doxyfile=FILE -D output=FOLDER -D headers=INCLUDE_FOLDER -P check.cmake

# Names that mean the same wherever they are: copying, comparing and iterating.
set(understood "operator|begin|end|size|empty|data")
# Names that one file describes for all classes that have them: ROOM:NAMES:FILE. The file must have the name, in a
# comment or as a member with a docstring.
set(described
  "base:share|AllGather|Broadcast|Wait:base/ranks/communicator.h"
  "base:num_workers|Run:base/threads/executor.h"
  "base:k[A-Z][A-Za-z]*|low|high|codes|scales|offsets|scale|minimum|minima|both|unused:base/numbers/group_types.h"
  "distributed:share|AllGather|Broadcast|Wait:base/ranks/communicator.h"
  "families:k[A-Z][A-Za-z0-9]*|Layers|Spec:families/config/model_config.h"
  "families:[a-z_]+:families/config/short_form.h"
  "kernels:[A-Z][A-Za-z]*:kernels/args.h"
  "kernels:[a-z_]*(begin|end|stride|heads|dim|epsilon)|rows|cols|channels|width|padded_k|groups|tables|geometry|runs|num_runs|state_offset:kernels/args.h"
  "layers:Pieces:layers/run/scratch_pieces.h"
  "layers:kName|VisitFields|WhyImpossible|Weights:layers/spec/component.h"
  "layers:ListParameters|ScratchFloats|Run|State|Replay|StateOfOther|PerLayerDim|Carried|InputDim|VisitAxes|OfRank|AxesOfState:layers/spec/layer_spec.h"
  "store:Has|Get|Put|Drop|List|Front:store/chunks/chunk_store.h"
  "store:Write|Read:store/snapshots/byte_io.h")

file(MAKE_DIRECTORY ${output})
execute_process(COMMAND ${doxygen} ${doxyfile} RESULT_VARIABLE failed ERROR_VARIABLE warnings OUTPUT_QUIET)
if(failed)
  message(FATAL_ERROR "doxygen failed: ${failed}\n${warnings}")
endif()

# Sets `result` to whether an entity of a room needs no docstring of its own.
function(is_described room name warning result)
  set(${result} TRUE PARENT_SCOPE)
  # Moves are constructors and assignments.
  if(name MATCHES "^(${understood})$" OR warning MATCHES "Member [A-Za-z]+\\([A-Za-z]+ &&[a-z]*\\)")
    return()
  endif()
  foreach(rule IN LISTS described)
    string(REPLACE ":" ";" rule ${rule})
    list(GET rule 0 its_room)
    list(GET rule 1 names)
    list(GET rule 2 file)
    if(room STREQUAL its_room AND name MATCHES "^(${names})$")
      file(READ ${headers}/skald/${file} text)
      if(text MATCHES "(//[^\n]*[^A-Za-z0-9_]${name}|struct ${name}Args)[^A-Za-z0-9_]"
         OR text MATCHES " ${name} = [^\n]*///<")
        return()
      endif()
    endif()
  endforeach()
  set(${result} FALSE PARENT_SCOPE)
endfunction()

string(REPLACE ";" "," warnings "${warnings}")
string(REGEX REPLACE "[][]" " " warnings "${warnings}")
string(REPLACE "\n" ";" warnings "${warnings}")
set(problems "")
foreach(warning IN LISTS warnings)
  set(has_words FALSE)
  if(warning MATCHES "/include/skald/([a-z]+)/.* warning: (Member|Compound) (([A-Za-z0-9_]+(<[^:]*>)?::)*)([A-Za-z0-9_]+).* is not documented\\.$")
    is_described(${CMAKE_MATCH_1} ${CMAKE_MATCH_6} "${warning}" has_words)
  endif()
  if(warning AND NOT has_words)
    string(APPEND problems "${warning}\n")
  endif()
endforeach()
if(problems)
  message(FATAL_ERROR "${problems}")
endif()
message(STATUS "${output}/html/index.html")
