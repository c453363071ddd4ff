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
              ${PROJECT_SOURCE_DIR}/cmake/MedleyHeadersDigest.cmake
        DESTINATION ${_package})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs ${PROJECT_SOURCE_DIR}/tools/templates
        DESTINATION ${CMAKE_INSTALL_DATADIR}/medley)
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/medley.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# A Debian package, by `cpack --config build/release/CPackConfig.cmake` or tools/package. libtorch is no package of Debian's:
# the one that medley was built with is used where it still lies there, else what MEDLEY_TORCH_ROOT names.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME medley)
set(CPACK_PACKAGE_CONTACT "the medley authors <medley@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Trains one model on a medley of tasks")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "libc6, libgcc-s1, libstdc++6, libgomp1, libjpeg62-turbo, libpcre2-8-0, libpng16-16, libsentencepiece0, libspdlog1.10, libssl3, libutf8proc2, libxxhash0")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "cmake, g++, nlohmann-json3-dev")  # for plugins
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
include(CPack)
