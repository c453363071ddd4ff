#include <c10/util/Exception.h>

#include <string>
#include <string_view>

#include <medley/base/error.h>

#include "tools/medley/process.h"
#include "tools/medley/python_process.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

int RunTensorVerb(std::string_view verb, [[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
#define MEDLEY_VERB(name, function) \
  if (verb == #name) return function(argc, argv);
#include MEDLEY_VERB_TABLE
#undef MEDLEY_VERB
  throw InputError("this medley was built without the verb '" + std::string(verb) + "'");
}

// Never ended: see EndProcess.
void BecomePythonWhereNeeded(int argc, char** argv) {
  if (TheHostOfPython() == nullptr) SetPythonHost(new PythonProcess({argv, argv + argc}));
}

}  // namespace
}  // namespace medley

// libtorch's errors carry pages of C++ stack: the command shows the message alone.
extern "C" [[gnu::visibility("default")]] int medley_run_tensor_verb(const char* verb, int argc,
                                                                     char** argv) {
  medley::BecomePythonWhereNeeded(argc, argv);
  try {
    return medley::RunTensorVerb(verb, argc, argv);
  } catch (const c10::OutOfMemoryError& error) {
    throw medley::Error(std::string("out of memory: ") + error.what_without_backtrace(),
                        medley::ExitCode::kDoesNotFit);
  } catch (const c10::Error& error) {
    throw medley::Error(std::string("libtorch: ") + error.what_without_backtrace());
  }
}

extern "C" [[gnu::visibility("default")]] void medley_end_as_command(const char* verb, int argc,
                                                                     char** argv) {
  medley::BeginProcess();
  medley::EndProcess([&] {
    medley::HandleSignals(verb);
    medley::BlockRunSignals(false);
    return medley_run_tensor_verb(verb, argc, argv);
  });
}
