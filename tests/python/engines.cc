// What engines_test.py does of medley's in C++, without the package: so torch may be imported before this is
// opened, after, or between two steps.
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/report/console.h>
#include <medley/session/session.h>
#include <medley/step/passes/saved_variables.h>

namespace medley {
namespace {

// torch's object of a tensor, as far as it is read here.
struct PythonsTensor {
  void* head[2];
  at::Tensor tensor;
};

struct OpenSession {
  OpenSession(const BeginRequest& request, const std::string& directory)
      : file(std::tmpfile()), console(file), session(Session::Begin(request, directory, console)) {}
  std::FILE* file;
  Console console;
  Session session;
};
std::optional<OpenSession> session;
std::optional<CountSavedBytes> counter;
std::string said;

const char* SayError(const std::function<void()>& fn) {
  try {
    fn();
    return nullptr;
  } catch (const std::exception& error) {
    said = error.what();
  }
  return said.c_str();
}

std::vector<std::string> Words(const char* text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace
}  // namespace medley

using namespace medley;

// Each returns what was thrown, or null. The caller has let go of the GIL, as ctypes does.
#define MEDLEY_TEST_FUNCTION extern "C" __attribute__((visibility("default")))

MEDLEY_TEST_FUNCTION const char* begin_session(const char* config, const char* overrides, const char* run) {
  return SayError(
      [&] { session.emplace(BeginRequest{.config = config, .overrides = Words(overrides)}, run); });
}
MEDLEY_TEST_FUNCTION const char* train_until(std::int64_t step) {
  return SayError([&] { session->session.Train(step); });
}
MEDLEY_TEST_FUNCTION void end_session() { session.reset(); }

MEDLEY_TEST_FUNCTION void begin_counting() { counter.emplace(); }
MEDLEY_TEST_FUNCTION std::int64_t end_counting() {
  const std::int64_t bytes = counter->bytes();
  counter.reset();
  return bytes;
}

MEDLEY_TEST_FUNCTION const char* go_backward(PythonsTensor* loss) {
  return SayError([&] { torch::autograd::backward({loss->tensor}); });
}
