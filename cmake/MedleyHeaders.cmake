# The headers that are installed: those that whoever writes a plugin includes, and those of a program that trains with medley,
# with those that they include. Sets
#   MEDLEY_INSTALLED_HEADERS  their paths below core/
#   MEDLEY_PLUGIN_API         the number of the contract
# and makes include/medley_headers.h in the build tree: medley's version, and a digest of the plugins' headers without their
# comments (MedleyHeadersDigest), which every plugin carries; and medley_headers.sha256, the sum of each, of which that is the sum.
include(MedleyHeadersDigest)
set(_medley_public
  base/version.h
  data/class_names.h
  data/conversation_json.h
  data/csv_file.h
  data/item_hash.h
  data/item_stream.h
  data/jsonl_file.h
  data/splits.h
  data/tensor_file.h
  model/blocks/footprint.h
  model/blocks/language.h
  model/blocks/language_spec.h
  model/blocks/reply.h
  model/blocks/tower.h
  model/blocks/tower_footprint.h
  model/blocks/tower_spec.h
  model/blocks/transformer_layer.h
  model/language_fields.h
  model/mlp_model.h
  model/parameter_model.h
  model/parameter_set.h
  model/tower_fields.h
  task/drawings.h
  task/drivers/carry_task.h
  task/drivers/chat_task.h
  task/drivers/classify_task.h
  task/drivers/labels.h
  task/drivers/picture_task.h
  task/drivers/preference_task.h
  task/drivers/question_task.h
  task/drivers/regress_task.h
  task/drivers/reply_task.h
  task/losses.h
  task/plugin.h
  task/tensors.h
  task/text_rows.h
  testing/checks.h
  testing/gradients.h
  testing/made_model.h
  testing/training_context.h
  weights/safetensors.h)

set(_medley_embedding base/interrupt.h base/stop_signal.h session/session.h)

# Appends to `found` the headers below core/ that are reached from `header`, itself too.
function(_medley_reach header found)
  set(reached ${${found}})
  if(header IN_LIST reached)
    return()
  endif()
  list(APPEND reached ${header})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/${header})
  file(STRINGS ${PROJECT_SOURCE_DIR}/core/${header} lines REGEX "^#include <medley/")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include <medley/([^>]*)>.*$" "\\1" next "${line}")
    _medley_reach(${next} reached)
  endforeach()
  set(${found} ${reached} PARENT_SCOPE)
endfunction()

set(_medley_of_plugins "")
foreach(_header ${_medley_public})
  _medley_reach(${_header} _medley_of_plugins)
endforeach()
list(SORT _medley_of_plugins)
set(MEDLEY_INSTALLED_HEADERS ${_medley_of_plugins})
foreach(_header ${_medley_embedding})
  _medley_reach(${_header} MEDLEY_INSTALLED_HEADERS)
endforeach()

set(_medley_sums "")
foreach(_header ${_medley_of_plugins})
  medley_sum_of_header(${PROJECT_SOURCE_DIR}/core/${_header} _sum)
  string(APPEND _medley_sums "${_sum}  ${_header}\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/medley_headers.sha256 CONTENT "${_medley_sums}" @ONLY)
string(SHA256 MEDLEY_HEADERS_DIGEST "${_medley_sums}")
string(SUBSTRING ${MEDLEY_HEADERS_DIGEST} 0 16 MEDLEY_HEADERS_DIGEST)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/medley_headers.h @ONLY CONTENT "#pragma once
#define MEDLEY_HEADERS_VERSION \"@PROJECT_VERSION@\"
#define MEDLEY_HEADERS_DIGEST \"@MEDLEY_HEADERS_DIGEST@\"
")

file(STRINGS ${PROJECT_SOURCE_DIR}/core/task/abi.h MEDLEY_PLUGIN_API REGEX "^#define MEDLEY_PLUGIN_API ")
string(REGEX REPLACE "[^0-9]" "" MEDLEY_PLUGIN_API "${MEDLEY_PLUGIN_API}")
