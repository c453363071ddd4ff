# medley_add_plugin(NAME SOURCE... | SOURCES SOURCE... [LIBRARIES ...] [DEFINITIONS ...]
#                   [CHECK_CONFIG RUN] [MODEL_PY FILE] [DESTINATION DIR] [WITHOUT_PRECOMPILED_HEADER])
#
# A plugin NAME.so with the tasks of its one MEDLEY_PLUGIN line. It is built into <build>/lib/medley/plugins-N, N being
# the number of the API, where the medley of the same build tree finds it, and installed to <libdir>/medley/plugins-N; by a project outside
# that is configured without CMAKE_INSTALL_PREFIX, to the user's own plugins. With DESTINATION it is built there instead and not installed
# (tests), and WITHOUT_PRECOMPILED_HEADER with flags of its own. Outside, the installed medley reads the plugin's note after linking,
# and where enable_testing() came before, the test NAME.check is `medley plugins check`, with the model and options of the run config
# CHECK_CONFIG; skipped where it needs one and has none. medley's own tasks have tests of their own. MODEL_PY: its models in plain torch,
# which lies as NAME.py beside the plugin, and which `medley export` gives away with them.
#
# medley_add_plugin_library(NAME SOURCE...)
#
# What a plugin and its tests share: a static library with the includes of its folder, for the LIBRARIES of medley_add_plugin.
include_guard(GLOBAL)
include(GNUInstallDirs)

# Whatever the umask, here and below: medley refuses a plugin that others may write to, and one in such a directory.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# The directory of the user that medley searches, where the project was given no prefix; else that below the prefix.
function(medley_plugin_destination variable)
  set(destination ${CMAKE_INSTALL_LIBDIR}/medley/plugins-${MEDLEY_PLUGIN_API})
  if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT AND TARGET medley::medley)
    if(IS_ABSOLUTE "$ENV{XDG_DATA_HOME}")
      set(destination $ENV{XDG_DATA_HOME}/medley/plugins-${MEDLEY_PLUGIN_API})
    elseif(IS_ABSOLUTE "$ENV{HOME}")
      set(destination $ENV{HOME}/.local/share/medley/plugins-${MEDLEY_PLUGIN_API})
    endif()
  endif()
  set(${variable} ${destination} PARENT_SCOPE)
endfunction()

function(_medley_compile_for_plugins name)
  target_compile_features(${name} PUBLIC cxx_std_20)
  # Two plugins must not share a static by accident (unique symbols).
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${name} PRIVATE -Wno-restrict)  # cries wolf at "text" + string (GCC bug 105329)
  endif()
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

function(medley_add_plugin_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC medley::medley)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  _medley_compile_for_plugins(${name})
endfunction()

function(medley_add_plugin name)
  cmake_parse_arguments(arg "WITHOUT_PRECOMPILED_HEADER" "CHECK_CONFIG;DESTINATION;MODEL_PY" "SOURCES;LIBRARIES;DEFINITIONS" ${ARGN})
  add_library(${name} MODULE ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  if(TARGET medley::medley)
    target_link_libraries(${name} PRIVATE medley::medley ${arg_LIBRARIES})
  else()
    target_link_libraries(${name} PRIVATE medley ${arg_LIBRARIES})
  endif()
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  _medley_compile_for_plugins(${name})
  if(TARGET medley_plugin_header AND NOT arg_WITHOUT_PRECOMPILED_HEADER)
    set_target_properties(${name} PROPERTIES DEFINE_SYMBOL "")
    target_precompile_headers(${name} REUSE_FROM medley_plugin_header)
  endif()
  # Nor may plugins call into each other: one symbol goes out, also none of those that headers of the standard library force
  # to be visible.
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/medley_plugin.exports)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: medley_plugin_v${MEDLEY_PLUGIN_API}; local: *; };\n" @ONLY)
  target_link_options(${name} PRIVATE
    -Wl,-z,defs -Wl,-z,now -Wl,--exclude-libs,ALL -Wl,--version-script=${exports})
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so" LINK_DEPENDS ${exports} INSTALL_RPATH "$ORIGIN/../..")
  if(arg_DESTINATION)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${arg_DESTINATION})
  else()
    set_target_properties(${name} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/medley/plugins-${MEDLEY_PLUGIN_API})
    medley_plugin_destination(destination)
    install(TARGETS ${name} LIBRARY DESTINATION ${destination})
  endif()
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND chmod go-w $<TARGET_FILE:${name}> $<TARGET_FILE_DIR:${name}>)
  if(arg_MODEL_PY)
    cmake_path(ABSOLUTE_PATH arg_MODEL_PY BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${arg_MODEL_PY})
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM
      COMMAND ${CMAKE_COMMAND} -E copy ${arg_MODEL_PY} $<TARGET_FILE_DIR:${name}>/${name}.py)
    if(NOT arg_DESTINATION)
      install(FILES ${arg_MODEL_PY} DESTINATION ${destination} RENAME ${name}.py)
    endif()
  endif()
  if(arg_DESTINATION OR NOT EXISTS "${MEDLEY_COMMAND}" OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${MEDLEY_COMMAND} plugins show --verify $<TARGET_FILE:${name}>)
  if(CMAKE_TESTING_ENABLED)
    set(config "")
    if(arg_CHECK_CONFIG)
      cmake_path(ABSOLUTE_PATH arg_CHECK_CONFIG BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      set(config --config ${arg_CHECK_CONFIG})
    endif()
    add_test(NAME ${name}.check COMMAND ${MEDLEY_COMMAND} plugins check ${config} $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.check PROPERTIES SKIP_RETURN_CODE 3)
  endif()
endfunction()
