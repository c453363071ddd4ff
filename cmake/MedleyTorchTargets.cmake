# medley::torch, an imported target of our own: two include folders, libtorch_cpu and libc10, nothing else. Used by medley's
# build and by the installed package. libtorch's own TorchConfig.cmake would ask for a CUDA toolkit when the wheel has CUDA.
function(medley_define_torch root library_dir)
  if(TARGET medley::torch)
    return()
  endif()
  foreach(name torch_cpu c10)
    add_library(medley::${name} SHARED IMPORTED GLOBAL)
    set_target_properties(medley::${name} PROPERTIES IMPORTED_LOCATION ${library_dir}/lib${name}.so)
  endforeach()
  set(includes ${root}/include)
  if(EXISTS ${root}/include/torch/csrc/api/include)
    list(APPEND includes ${root}/include/torch/csrc/api/include)
  endif()
  add_library(medley::torch INTERFACE IMPORTED GLOBAL)
  set_target_properties(medley::torch PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${includes}"
                        INTERFACE_LINK_LIBRARIES "medley::torch_cpu;medley::c10")
endfunction()

# The version that the headers in `root` state, "" where there are none.
function(medley_torch_header_version root result)
  set(version "")
  foreach(file torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(NOT version AND EXISTS ${root}/include/${file})
      file(STRINGS ${root}/include/${file} lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
      string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
      list(JOIN numbers "." version)
    endif()
  endforeach()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# The directory with libtorch_cpu.so of `root`, "" where there is none.
function(medley_torch_library_dir root result)
  set(${result} "" PARENT_SCOPE)
  unset(found)  # else nothing is looked for
  find_library(found torch_cpu PATHS ${root}/lib ${root}/lib64 ${root}/lib/${CMAKE_LIBRARY_ARCHITECTURE}
               NO_DEFAULT_PATH NO_CACHE)
  if(found)
    get_filename_component(dir ${found} DIRECTORY)
    set(${result} ${dir} PARENT_SCOPE)
  endif()
endfunction()
