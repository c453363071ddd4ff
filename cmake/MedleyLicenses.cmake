# The licences of what medley is linked to, and of headers that are compiled into it: their texts go along wherever medley does, be it
# installed, in Debian's package, in a wheel or in the bundle for a GPU, beside medley's own. Each is what Debian says of the copyright of the
# package that has the headers. tools/check-licenses holds the list against what an installation is linked to, licenses_test.py against
# what the sources include.
# Boost is not in it: of programs its licence asks nothing. Nor is valijson, which the tests alone have, nor what comes with torch.
set(_medley_licenses  # a library without its version, or a name: the package
  libcrypto:libssl-dev
  libfmt:libfmt-dev
  libjpeg:libjpeg62-turbo-dev
  libpcre2-8:libpcre2-dev
  libpng16:libpng-dev
  libsentencepiece:libsentencepiece-dev
  libsentencepiece_train:libsentencepiece-dev
  libspdlog:libspdlog-dev
  libutf8proc:libutf8proc-dev
  libxxhash:libxxhash-dev
  libz:zlib1g-dev
  CLI11:libcli11-dev
  nlohmann_json:nlohmann-json3-dev
  protozero:libprotozero-dev)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSES/Apache-2.0.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSES/0BSD.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.templates)
set(_missing "")
foreach(_license IN LISTS _medley_licenses)
  string(REPLACE ":" ";" _license ${_license})
  list(GET _license 0 _name)
  list(GET _license 1 _package)
  get_filename_component(_text /usr/share/doc/${_package}/copyright REALPATH)  # a link would be installed as one
  if(EXISTS ${_text})
    install(FILES ${_text} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME ${_name})
  else()
    string(APPEND _missing " ${_name}")
  endif()
endforeach()
# Its headers are in every library of medley's.
file(GLOB _text ${MEDLEY_TORCH_ROOT}/../torch-*.dist-info/licenses/LICENSE ${MEDLEY_TORCH_ROOT}/LICENSE)
if(_text)
  list(GET _text 0 _text)
  install(FILES ${_text} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME torch)
endif()
if(_missing)
  message(STATUS "No text of the licence of${_missing}: this is no Debian. Whoever gives away what is built adds them")
endif()
