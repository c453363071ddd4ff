# Finds libtorch, checks it, and defines medley::torch and
#   MEDLEY_TORCH_ROOT         the directory with include/
#   MEDLEY_TORCH_LIBRARY_DIR  the directory with libtorch_cpu.so
#   MEDLEY_TORCH_VERSION, MEDLEY_TORCH_BUILD ("2.11.0+cu130"), MEDLEY_TORCH_SOURCE, MEDLEY_TORCH_ABI, MEDLEY_TORCH_BLAS,
#   MEDLEY_TORCH_CUDA
# The first that is usable wins: what the user names, the active Python's (located without importing it), the project's
# .venv, the system's. What was named and cannot be used is an error; anything else is passed over with the reason.
include(MedleyTorchTargets)

set(MEDLEY_TORCH_MINIMUM 2.11.0)  # the version that tools/setup installs and the tests run with
set(_medley_fix "Run tools/setup (it makes .venv with torch ${MEDLEY_TORCH_MINIMUM}), or name another libtorch:
  cmake -DMEDLEY_TORCH_ROOT=<folder with include/ and lib/> ...")
set(_medley_passed_over "")

# Sets `reason` to why libtorch in `root` cannot be used; "" where it can, and then `library_dir` too.
function(_medley_check_torch root reason library_dir)
  set(${reason} "" PARENT_SCOPE)
  find_library(found torch_cpu PATHS ${root}/lib ${root}/lib64 ${root}/lib/${CMAKE_LIBRARY_ARCHITECTURE}
               NO_DEFAULT_PATH NO_CACHE)
  medley_torch_header_version(${root} version)
  if(NOT found OR NOT version)
    set(${reason} "there is no libtorch with headers" PARENT_SCOPE)
    return()
  endif()
  get_filename_component(dir ${found} DIRECTORY)
  set(${library_dir} ${dir} PARENT_SCOPE)
  file(STRINGS ${dir}/libc10.so new_abi REGEX "__cxx11" LIMIT_COUNT 1)
  if(version VERSION_LESS MEDLEY_TORCH_MINIMUM)
    set(${reason} "it is ${version}, medley needs ${MEDLEY_TORCH_MINIMUM} or newer" PARENT_SCOPE)
  elseif(NOT new_abi)
    set(${reason} "it was built with the old C++ ABI (_GLIBCXX_USE_CXX11_ABI=0), medley needs 1" PARENT_SCOPE)
  endif()
endfunction()

# Takes the first usable root of ARGN unless one was taken before.
macro(_medley_try where)
  foreach(_root ${ARGN})
    if(NOT _medley_root)
      get_filename_component(_root "${_root}" ABSOLUTE)
      _medley_check_torch("${_root}" _reason _dir)
      if(_reason)
        string(APPEND _medley_passed_over "  ${_root} (${where}): ${_reason}\n")
      else()
        set(_medley_root ${_root})
        set(MEDLEY_TORCH_LIBRARY_DIR ${_dir})
        set(_medley_where "${where}")
      endif()
    endif()
  endforeach()
endmacro()

# What the user names. A wrong name is an error; a prefix path is there for other packages too.
set(_medley_root "")
if(MEDLEY_TORCH_ROOT)
  _medley_try("MEDLEY_TORCH_ROOT" ${MEDLEY_TORCH_ROOT})
elseif(Torch_DIR)
  _medley_try("Torch_DIR" ${Torch_DIR}/../../.. ${Torch_DIR}/../../../..)
endif()
if((MEDLEY_TORCH_ROOT OR Torch_DIR) AND NOT _medley_root)
  message(FATAL_ERROR "The libtorch that was asked for cannot be used:\n${_medley_passed_over}${_medley_fix}")
endif()
string(REPLACE ":" ";" _prefixes "$ENV{CMAKE_PREFIX_PATH}")
foreach(_prefix ${CMAKE_PREFIX_PATH} ${_prefixes})
  string(REGEX REPLACE "/share/cmake(/Torch)?/?$" "" _prefix "${_prefix}")  # torch.utils.cmake_prefix_path
  if(EXISTS ${_prefix}/include/ATen)
    _medley_try("CMAKE_PREFIX_PATH" ${_prefix})
  endif()
endforeach()

# A build directory keeps the libtorch that it began with, whatever Python is active later.
if(NOT _medley_root AND EXISTS "${MEDLEY_TORCH_FOUND}")
  _medley_try("${MEDLEY_TORCH_FOUND_WHERE}" ${MEDLEY_TORCH_FOUND})
endif()
if(NOT _medley_root)
  execute_process(COMMAND python3 -c "import importlib.util as u; s = u.find_spec('torch')
print(s.submodule_search_locations[0] if s else '')"
                  OUTPUT_VARIABLE _python_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _ignored)
  _medley_try("the active Python" ${_python_torch})
endif()
if(NOT _medley_root)
  file(GLOB _venv_torch ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  _medley_try("the project's .venv" ${_venv_torch})
endif()
foreach(_prefix /usr/local /usr /opt/libtorch)
  if(EXISTS ${_prefix}/include/ATen)
    _medley_try("the system" ${_prefix})
  endif()
endforeach()
if(NOT _medley_root)
  message(FATAL_ERROR "No usable libtorch.\n${_medley_passed_over}${_medley_fix}")
endif()
if(_medley_passed_over)
  message(STATUS "Passed over:\n${_medley_passed_over}")
endif()
set(MEDLEY_TORCH_ROOT ${_medley_root})
set(MEDLEY_TORCH_FOUND ${_medley_root} CACHE INTERNAL "")
set(MEDLEY_TORCH_FOUND_WHERE ${_medley_where} CACHE INTERNAL "")
medley_torch_header_version(${MEDLEY_TORCH_ROOT} MEDLEY_TORCH_VERSION)

# What the library says of itself, and whether a program that uses it runs. Once for each library.
file(TIMESTAMP ${MEDLEY_TORCH_LIBRARY_DIR}/libtorch_cpu.so _stamp)
set(_key "${MEDLEY_TORCH_LIBRARY_DIR} ${_stamp}")
if(NOT MEDLEY_TORCH_PROBED STREQUAL _key)
  message(STATUS "Checking libtorch: ${MEDLEY_TORCH_ROOT}")
  unset(MEDLEY_TORCH_PROBE_RUN CACHE)
  unset(MEDLEY_TORCH_PROBE_BUILT CACHE)
  try_run(MEDLEY_TORCH_PROBE_RUN MEDLEY_TORCH_PROBE_BUILT
    ${CMAKE_BINARY_DIR}/CMakeFiles/medley_torch_probe ${CMAKE_CURRENT_LIST_DIR}/medley_torch_probe.cc
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${MEDLEY_TORCH_ROOT}/include;${MEDLEY_TORCH_ROOT}/include/torch/csrc/api/include"
    LINK_LIBRARIES ${MEDLEY_TORCH_LIBRARY_DIR}/libtorch_cpu.so ${MEDLEY_TORCH_LIBRARY_DIR}/libc10.so
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    COMPILE_OUTPUT_VARIABLE _built RUN_OUTPUT_VARIABLE _said)
  if(NOT MEDLEY_TORCH_PROBE_BUILT)
    message(FATAL_ERROR "A ten-line program cannot be linked to ${MEDLEY_TORCH_ROOT}:\n${_built}\n${_medley_fix}")
  elseif(NOT MEDLEY_TORCH_PROBE_RUN STREQUAL "0")
    message(FATAL_ERROR "A program linked to ${MEDLEY_TORCH_ROOT} does not run:\n${_said}\n"
      "A CUDA wheel needs its nvidia-cuda-runtime and nvidia-cuda-cupti packages even on the CPU. ${_medley_fix}")
  endif()
  string(REGEX REPLACE "[\n;]" " " _said "${_said}")  # a cache entry is one line
  set(MEDLEY_TORCH_PROBED "${_key}" CACHE INTERNAL "")
  set(MEDLEY_TORCH_SAID "${_said}" CACHE INTERNAL "")
endif()

string(REGEX MATCH "TORCH_VERSION=([0-9.]+)" _ignored "${MEDLEY_TORCH_SAID}")
if(CMAKE_MATCH_1 AND NOT CMAKE_MATCH_1 STREQUAL MEDLEY_TORCH_VERSION)
  message(FATAL_ERROR "libtorch's headers in ${MEDLEY_TORCH_ROOT} are ${MEDLEY_TORCH_VERSION}, its library is ${CMAKE_MATCH_1}: "
    "two versions are mixed. ${_medley_fix}")
endif()
string(REGEX MATCH "BLAS_INFO=([A-Za-z0-9_]+)" _ignored "${MEDLEY_TORCH_SAID}")
set(MEDLEY_TORCH_BLAS "${CMAKE_MATCH_1}")
if(MEDLEY_TORCH_BLAS STREQUAL "")
  set(MEDLEY_TORCH_BLAS unknown)
endif()
set(MEDLEY_TORCH_ABI 1)
set(MEDLEY_TORCH_CUDA false)
if(EXISTS ${MEDLEY_TORCH_LIBRARY_DIR}/libtorch_cuda.so)
  set(MEDLEY_TORCH_CUDA true)
endif()

set(MEDLEY_TORCH_BUILD ${MEDLEY_TORCH_VERSION})
set(MEDLEY_TORCH_SOURCE archive)
if(EXISTS ${MEDLEY_TORCH_ROOT}/version.py)
  file(STRINGS ${MEDLEY_TORCH_ROOT}/version.py _line REGEX "^__version__ = ")
  string(REGEX REPLACE "^__version__ = '(.*)'$" "\\1" MEDLEY_TORCH_BUILD "${_line}")
  set(MEDLEY_TORCH_SOURCE wheel)
elseif(EXISTS ${MEDLEY_TORCH_ROOT}/build-version)
  file(STRINGS ${MEDLEY_TORCH_ROOT}/build-version MEDLEY_TORCH_BUILD LIMIT_COUNT 1)
elseif(_medley_where STREQUAL "the system" OR MEDLEY_TORCH_ROOT STREQUAL "$ENV{CONDA_PREFIX}")
  set(MEDLEY_TORCH_SOURCE distribution)
endif()
if(NOT MEDLEY_TORCH_VERSION VERSION_EQUAL MEDLEY_TORCH_MINIMUM)
  message(WARNING "libtorch ${MEDLEY_TORCH_VERSION} is newer than ${MEDLEY_TORCH_MINIMUM}, which medley is tested with.")
endif()
message(STATUS "libtorch ${MEDLEY_TORCH_BUILD}: ${MEDLEY_TORCH_ROOT} (${_medley_where}; BLAS ${MEDLEY_TORCH_BLAS})")
medley_define_torch(${MEDLEY_TORCH_ROOT} ${MEDLEY_TORCH_LIBRARY_DIR})
