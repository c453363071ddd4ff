# Run by every build: writes the git revision into OUTPUT, and touches it only where it changed.
set(revision unknown)
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE out RESULT_VARIABLE failed
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT failed)
  execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD RESULT_VARIABLE edited ERROR_QUIET)
  if(edited)
    string(APPEND out "+")
  endif()
  set(revision ${out})
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once\n#define MEDLEY_GIT_REVISION \"${revision}\"\n" @ONLY)
