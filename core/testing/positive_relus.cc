#include <medley/testing/positive_relus.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/threshold_backward.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

namespace medley::check {
namespace {

// The dispatch key that libtorch keeps for tests. Not RecordFunction: its layout depends on NDEBUG, and the
// published libtorch is built with it.
constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

std::int64_t positive = 0;

at::Tensor CountAndGoOn(const at::Tensor& gradient, const at::Tensor& result, const at::Scalar& threshold) {
  const c10::impl::ExcludeDispatchKeyGuard go_on(kKey);
  positive += result.gt(0).sum().item<std::int64_t>();
  return at::threshold_backward(gradient, result, threshold);
}

}  // namespace

PositiveRelus::PositiveRelus() : was_included_(c10::impl::tls_is_dispatch_key_included(kKey)) {
  c10::impl::tls_set_dispatch_key_included(kKey, true);
  positive = 0;
}

PositiveRelus::~PositiveRelus() { c10::impl::tls_set_dispatch_key_included(kKey, was_included_); }

std::int64_t PositiveRelus::count() const { return positive; }

}  // namespace medley::check

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericMode, library) {
  library.impl("threshold_backward", &medley::check::CountAndGoOn);
}
