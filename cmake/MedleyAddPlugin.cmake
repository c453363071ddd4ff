# medley_add_plugin(NAME SOURCE... | SOURCES SOURCE... [LIBRARIES ...] [DEFINITIONS ...]
#                   [DESTINATION DIR])
#
# A plugin NAME.so with the tasks of its one MEDLEY_PLUGIN line. It is built into <build>/lib/medley/plugins-N, N being
# the number of the API, where the medley of the same build tree finds it, and installed to <libdir>/medley/plugins-N. With DESTINATION it is
# built there instead and not installed (tests).
include_guard(GLOBAL)
include(GNUInstallDirs)

# Whatever the umask, here and below: medley refuses a plugin that others may write to, and one in such a directory.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

function(medley_add_plugin name)
  cmake_parse_arguments(arg "" "DESTINATION" "SOURCES;LIBRARIES;DEFINITIONS" ${ARGN})
  add_library(${name} MODULE ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  if(TARGET medley::medley)
    target_link_libraries(${name} PRIVATE medley::medley ${arg_LIBRARIES})
  else()
    target_link_libraries(${name} PRIVATE medley ${arg_LIBRARIES})
  endif()
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  # Two plugins must not share a static by accident (unique symbols), nor call into each other: one symbol goes out,
  # also none of those that headers of the standard library force to be visible.
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/medley_plugin.exports)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: medley_plugin_v${MEDLEY_PLUGIN_API}; local: *; };\n" @ONLY)
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${name} PRIVATE -Wno-restrict)  # cries wolf at "text" + string (GCC bug 105329)
  endif()
  target_link_options(${name} PRIVATE
    -Wl,-z,defs -Wl,-z,now -Wl,--exclude-libs,ALL -Wl,--version-script=${exports})
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so" CXX_EXTENSIONS OFF LINK_DEPENDS ${exports}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    INSTALL_RPATH "$ORIGIN/../..")
  if(arg_DESTINATION)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${arg_DESTINATION})
  else()
    set_target_properties(${name} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/medley/plugins-${MEDLEY_PLUGIN_API})
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/medley/plugins-${MEDLEY_PLUGIN_API})
  endif()
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND chmod go-w $<TARGET_FILE:${name}> $<TARGET_FILE_DIR:${name}>)
endfunction()
