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
set(_medley_cmake ${CMAKE_CURRENT_LIST_DIR})

# Sets `reason` to why a program cannot use libtorch in `root`, "" where it can, and caches what the library says of itself.
# A library is asked once.
function(_medley_probe_torch root library_dir version reason)
  set(${reason} "" PARENT_SCOPE)
  file(TIMESTAMP ${library_dir}/libtorch_cpu.so stamp)
  if(MEDLEY_TORCH_PROBED STREQUAL "${library_dir} ${stamp}")
    return()
  endif()
  message(STATUS "Checking libtorch: ${root}")
  unset(MEDLEY_TORCH_PROBE_RUN CACHE)
  unset(MEDLEY_TORCH_PROBE_BUILT CACHE)
  try_run(MEDLEY_TORCH_PROBE_RUN MEDLEY_TORCH_PROBE_BUILT
    ${CMAKE_BINARY_DIR}/CMakeFiles/medley_torch_probe ${_medley_cmake}/medley_torch_probe.cc
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${root}/include;${root}/include/torch/csrc/api/include"
    LINK_LIBRARIES ${library_dir}/libtorch_cpu.so ${library_dir}/libc10.so
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    COMPILE_OUTPUT_VARIABLE built RUN_OUTPUT_VARIABLE said)
  string(REGEX MATCH "TORCH_VERSION=([0-9.]+)" ignored "${said}")
  if(NOT MEDLEY_TORCH_PROBE_BUILT)
    set(${reason} "a ten-line program cannot be linked to it:\n${built}" PARENT_SCOPE)
  elseif(NOT MEDLEY_TORCH_PROBE_RUN STREQUAL "0")
    set(${reason} "a program linked to it does not run (a CUDA wheel needs its nvidia-cuda-runtime and nvidia-cuda-cupti \
packages even on the CPU):\n${said}" PARENT_SCOPE)
  elseif(CMAKE_MATCH_1 AND NOT CMAKE_MATCH_1 STREQUAL version)
    set(${reason} "its headers are ${version}, its library is ${CMAKE_MATCH_1}: two versions are mixed" PARENT_SCOPE)
  else()
    string(REGEX REPLACE "[\n;]" " " said "${said}")  # a cache entry is one line
    set(MEDLEY_TORCH_PROBED "${library_dir} ${stamp}" CACHE INTERNAL "")
    set(MEDLEY_TORCH_SAID "${said}" CACHE INTERNAL "")
  endif()
endfunction()

# Sets `reason` to why libtorch in `root` cannot be used; "" where it can, and then `library_dir` too.
function(_medley_check_torch root reason library_dir)
  medley_torch_library_dir(${root} dir)
  medley_torch_header_version(${root} version)
  if(NOT dir OR NOT version OR NOT EXISTS ${dir}/libc10.so)
    set(${reason} "there is no libtorch with headers" PARENT_SCOPE)
    return()
  endif()
  set(${library_dir} ${dir} PARENT_SCOPE)
  file(STRINGS ${dir}/libc10.so new_abi REGEX "__cxx11" LIMIT_COUNT 1)
  if(version VERSION_LESS MEDLEY_TORCH_MINIMUM)
    set(why "it is ${version}, medley needs ${MEDLEY_TORCH_MINIMUM} or newer")
  elseif(NOT new_abi)
    set(why "it was built with the old C++ ABI (_GLIBCXX_USE_CXX11_ABI=0), medley needs 1")
  else()
    _medley_probe_torch(${root} ${dir} ${version} why)
  endif()
  set(${reason} "${why}" PARENT_SCOPE)
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
