// The one source that sees c10d's Gloo. PyTorch installs ProcessGroupGloo.hpp, but not Gloo's own headers;
// the few names that it needs of them are in gloo_stand_in. They must not become code: GlooStore's table of
// virtual functions would be the wrong one, and win over libtorch's. So nothing of Gloo is named here, and
// tests/cluster/gloo_object_test looks at the object file.
#define USE_C10D_GLOO
#include <medley/cluster/gloo_backend.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace medley {

constexpr unsigned kThreads = 2;  // that run collectives; libtorch's own default

const std::array<std::size_t, 2> kGlooSizes = {sizeof(c10d::ProcessGroupGloo),
                                               sizeof(c10d::ProcessGroupGloo::Options)};

c10::intrusive_ptr<c10d::Backend> MakeGlooBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                  int size, const std::string& host,
                                                  std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(host, /*lazyInit=*/false));
  options->threads = kThreads;
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options);
}

}  // namespace medley
