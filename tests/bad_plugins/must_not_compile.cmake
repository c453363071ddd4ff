# cmake -DCOMPILER=... -DFLAGS=... -DFILE=... -P must_not_compile.cmake: the compiler must refuse FILE with the message of
# its first line.
file(STRINGS ${FILE} first LIMIT_COUNT 1)
string(REGEX REPLACE "^// expect: " "" expected "${first}")
execute_process(COMMAND ${COMPILER} ${FLAGS} -fsyntax-only ${FILE}
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${FILE} compiles, and must not")
endif()
string(FIND "${output}" "${expected}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${FILE}: expected the message\n  ${expected}\ngot\n${output}")
endif()
