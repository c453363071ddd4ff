#include <medley/model/model.h>

namespace medley {

ForwardContext::~ForwardContext() = default;

at::Tensor ForwardContext::Layer(std::string_view, int, const at::Tensor& x,
                                 const std::function<at::Tensor(const at::Tensor&)>& fn) {
  return fn(x);
}

at::Tensor ForwardContext::Shared(const std::string&, const Fn& fn) { return fn(); }

std::uint64_t ForwardContext::Seed(std::string_view) { return 0; }

Model::~Model() = default;

}  // namespace medley
