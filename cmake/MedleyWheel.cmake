# What a wheel has beside the installation, as the component `wheel`: nlohmann's headers behind a prefix of their own, so that a plugin needs
# no package of a distribution, and the launcher, for the scripts. As `arranged_wheel` everything is then put where a Python package has it
# (cmake/wheel/arrange.py).
# `pip install .` builds and installs this tree so; tools/wheel installs a build tree that there is (cmake/wheel/CMakeLists.txt).
get_target_property(_medley_json nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
list(GET _medley_json 0 _medley_json)
install(DIRECTORY ${_medley_json}/nlohmann DESTINATION nlohmann/include COMPONENT wheel EXCLUDE_FROM_ALL)
install(DIRECTORY ${nlohmann_json_DIR}/ DESTINATION nlohmann/share/cmake/nlohmann_json COMPONENT wheel EXCLUDE_FROM_ALL)
find_package(Python3 QUIET COMPONENTS Interpreter)
install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/cmake/wheel/arrange.py\" \"\${CMAKE_INSTALL_PREFIX}\"
  --torch \"${MEDLEY_TORCH_ROOT}\" --scripts \"${SKBUILD_SCRIPTS_DIR}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT arranged_wheel EXCLUDE_FROM_ALL)
