# The installed package: find_package(medley) gives medley::medley, medley::medley_base and medley_add_plugin. Targets are
# installed where they are made.
include(CMakePackageConfigHelpers)
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/medley)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/medleyConfig.cmake.in ${CMAKE_BINARY_DIR}/medleyConfig.cmake
                              INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/medleyConfigVersion.cmake COMPATIBILITY ExactVersion)
install(EXPORT medleyTargets NAMESPACE medley:: DESTINATION ${_package})
install(FILES ${CMAKE_BINARY_DIR}/medleyConfig.cmake ${CMAKE_BINARY_DIR}/medleyConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/MedleyTorchTargets.cmake ${PROJECT_SOURCE_DIR}/cmake/MedleyAddPlugin.cmake
        DESTINATION ${_package})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/medley)
