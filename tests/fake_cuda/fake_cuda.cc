// A GPU for tests, on machines that have none: put in the place of libtorch_cuda.so, it gives the process one
// device "cuda" whose memory is the host's and whose operators are the CPU's. Stricter than a GPU in one
// thing: an operator that is handed tensors of both devices fails at once, where some kernels of a GPU read
// the host's memory as theirs. It has a limit that is kept (per_process_memory_fraction of 4 GiB), libtorch's
// own thread for the backward of a device, a generator and page-locked memory of its own, and nothing
// asynchronous. It counts what it is asked for (counters.h).

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attention.h"
#include "counters.h"

namespace {

using medley::fake_cuda::Add;
using medley::fake_cuda::Count;
using medley::fake_cuda::InsideOperator;
using medley::fake_cuda::OnHost;

const at::Device kDevice(at::kCUDA, 0);
constexpr std::int64_t kTotal = std::int64_t{4} << 30;

// Memory of the device: the host's, counted and limited.
class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    const std::scoped_lock lock(mutex_);
    initialized_ = true;
    const auto bytes = static_cast<std::int64_t>(size);
    if (stats_.requested_bytes[0].current + bytes > limit_) {
      ++stats_.num_ooms;
      TORCH_CHECK_WITH(OutOfMemoryError, false, "the fake GPU is out of memory: ", size, " bytes of ", limit_,
                       ", of which ", stats_.requested_bytes[0].current, " are in use");
    }
    void* const memory = std::aligned_alloc(512, (size + 511) / 512 * 512);
    if (size > 0) TORCH_CHECK(memory != nullptr, "the host is out of memory");
    Hold(bytes);
    if (size > 0) Add(Count::kAllocations, "all");
    sizes_[memory] = bytes;
    return {memory, memory, &Free, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

  bool initialized() override { return initialized_; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    const std::scoped_lock lock(mutex_);
    return stats_;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {
    medley::fake_cuda::WriteCounts();
    const std::scoped_lock lock(mutex_);
    for (auto* bytes : {&stats_.requested_bytes, &stats_.reserved_bytes, &stats_.allocated_bytes})
      (*bytes)[0].reset_peak();
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
    const std::scoped_lock lock(mutex_);
    return {static_cast<std::size_t>(kTotal - stats_.reserved_bytes[0].current), kTotal};
  }

  void Limit(double fraction) {
    const std::scoped_lock lock(mutex_);
    limit_ = static_cast<std::int64_t>(fraction * static_cast<double>(kTotal));
  }
  static Allocator& Get() {
    static auto* const allocator = new Allocator;  // tensors of other libraries outlive this one's statics
    return *allocator;
  }

 private:
  void Hold(std::int64_t bytes) {
    for (auto* of : {&stats_.requested_bytes, &stats_.reserved_bytes, &stats_.allocated_bytes}) {
      if (bytes > 0) (*of)[0].increase(static_cast<std::size_t>(bytes));
      if (bytes < 0) (*of)[0].decrease(static_cast<std::size_t>(-bytes));
    }
  }
  static void Free(void* memory) {
    if (memory == nullptr) return;
    Allocator& self = Get();
    const std::scoped_lock lock(self.mutex_);
    const auto found = self.sizes_.find(memory);
    self.Hold(-found->second);
    self.sizes_.erase(found);
    std::free(memory);
  }

  std::mutex mutex_;
  std::map<void*, std::int64_t> sizes_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
  std::int64_t limit_ = kTotal;
  bool initialized_ = false;
};

// One stream, on which everything is done when it is asked for.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  Guard() = default;
  explicit Guard(c10::DeviceType) {}
  c10::DeviceType type() const override { return at::kCUDA; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() <= 0, "the fake GPU is the only one");
  }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return c10::Stream(c10::Stream::DEFAULT, kDevice); }
  c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return getStream(device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void* getStreamNativeHandle(const c10::Stream) const override { return nullptr; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override { Add(Count::kWaits, "synchronizeStream"); }
  void synchronizeDevice(c10::DeviceIndex) const override { Add(Count::kWaits, "synchronizeDevice"); }
  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override { Add(Count::kWaits, "synchronizeEvent"); }
  void destroyEvent(void*, c10::DeviceIndex) const noexcept override {}
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}
};

// Page-locked memory: the host's, known by its place.
class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    const std::scoped_lock lock(mutex_);
    void* const memory = std::malloc(size > 0 ? size : 1);
    sizes_[memory] = size;
    return {memory, memory, &Free, at::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }
  bool Has(const void* place) {
    const std::scoped_lock lock(mutex_);
    auto found = sizes_.upper_bound(const_cast<void*>(place));
    if (found == sizes_.begin()) return false;
    --found;
    return static_cast<const char*>(place) <= static_cast<const char*>(found->first) + found->second;
  }
  static PinnedAllocator& Get() {
    static auto* const allocator = new PinnedAllocator;
    return *allocator;
  }

 private:
  static void Free(void* memory) {
    const std::scoped_lock lock(Get().mutex_);
    Get().sizes_.erase(memory);
    std::free(memory);
  }

  std::mutex mutex_;
  std::map<void*, std::size_t> sizes_;
};

struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(at::DeviceIndex) const override { return true; }
  at::DeviceIndex deviceCount() const override { return 1; }
  int getNumGPUs() const override { return 1; }
  at::DeviceIndex current_device() const override { return 0; }
  at::DeviceIndex getCurrentDevice() const override { return 0; }
  const at::Generator& getDefaultGenerator(at::DeviceIndex) const override {
    static const at::Generator generator = at::detail::createCPUGenerator();
    return generator;
  }
  at::Generator getNewGenerator(at::DeviceIndex) const override { return at::detail::createCPUGenerator(); }
  bool isPinnedPtr(const void* place) const override { return PinnedAllocator::Get().Has(place); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &PinnedAllocator::Get(); }
  at::Allocator* getCUDADeviceAllocator() const override { return &Allocator::Get(); }
  at::Device getDeviceFromPtr(void*) const override { return kDevice; }
  std::string showConfig() const override { return "a fake GPU"; }
  void deviceSynchronize(at::DeviceIndex) const override { Add(Count::kWaits, "deviceSynchronize"); }
};

// Operators that take indices of the host for a tensor of the device.
bool TakesBoth(const std::string& name) {
  return name == "aten::index" || name == "aten::index_put_" || name == "aten::_index_put_impl_";
}

// The arguments of one call of an operator, lent to the host's, and what that gives back.
class Call {
 public:
  // Throws c10::Error where tensors of both devices meet.
  void Lend(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
    for (std::size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
      c10::IValue& value = stack[i];
      if (value.isTensor()) value = Lend(value.toTensor());
      if (value.isDevice()) value = at::Device(at::kCPU), device_ = true;
      if (value.isTensorList()) value = Lend(value.toTensorVector());
      if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> lent;
        for (const std::optional<at::Tensor>& one : value.toOptionalTensorVector())
          lent.push_back(one ? std::optional(Lend(*one)) : std::nullopt);
        value = lent;
      }
    }
    TORCH_CHECK(
        !host_ || !device_ || TakesBoth(op.schema().name()),
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (",
        op.schema().name(), ")");
  }

  void GiveBack(const c10::OperatorHandle& op, torch::jit::Stack& stack) const {
    for (const auto& [theirs, ours] : lent_) {
      if (theirs.data_ptr() == ours.data_ptr()) continue;
      ours.resize_(theirs.sizes());
      std::memcpy(ours.data_ptr(), theirs.contiguous().data_ptr(), theirs.nbytes());
    }
    for (std::size_t i = stack.size() - op.schema().returns().size(); i < stack.size(); ++i) {
      c10::IValue& value = stack[i];
      if (value.isTensor()) value = Own(value.toTensor());
      if (!value.isTensorList()) continue;
      std::vector<at::Tensor> owned = value.toTensorVector();
      for (at::Tensor& one : owned) one = Own(one);
      value = owned;
    }
  }

 private:
  at::Tensor Lend(const at::Tensor& ours) {
    if (!ours.defined()) return ours;
    device_ = device_ || ours.is_cuda();
    host_ = host_ || (ours.is_cpu() && ours.dim() > 0);
    if (!ours.is_cuda()) return ours;
    return lent_.emplace_back(OnHost(ours), ours).first;
  }
  std::vector<at::Tensor> Lend(std::vector<at::Tensor> tensors) {
    for (at::Tensor& one : tensors) one = Lend(one);
    return tensors;
  }

  at::Tensor Own(const at::Tensor& theirs) const {
    if (!theirs.defined()) return theirs;
    for (const auto& [lent, ours] : lent_) {
      if (lent.is_same(theirs)) return ours;
      TORCH_CHECK(!lent.is_alias_of(theirs), "the fake GPU knows no such view");
    }
    return theirs.to(kDevice);
  }

  std::vector<std::pair<at::Tensor, at::Tensor>> lent_;
  bool host_ = false, device_ = false;
};

// Whether the host needs a number of the device before it can go on: the value, or how large the result is.
bool Waits(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  static const std::set<std::string> always{"aten::_local_scalar_dense", "aten::nonzero",
                                            "aten::masked_select", "aten::equal"};
  const std::string& name = op.schema().name();
  if (always.contains(name)) return true;
  if (name == "aten::repeat_interleave") return stack.back().isNone();
  const auto picks = [](const c10::IValue& value) {  // by bools, which are counted first
    if (!value.isOptionalTensorList()) return false;
    const auto indices = value.toOptionalTensorVector();
    return std::any_of(indices.begin(), indices.end(), [](const std::optional<at::Tensor>& one) {
      return one && one->defined() && one->is_cuda() && one->scalar_type() == at::kBool;
    });
  };
  return TakesBoth(name) && std::any_of(stack.begin(), stack.end(), picks);
}

void CountCall(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const std::string& name = op.schema().name();
  if (Waits(op, stack)) Add(Count::kWaits, name);
  if (name != "aten::_local_scalar_dense") Add(Count::kOperators, name);  // a copy, and no launch
}

void CountCopy(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  if (to.numel() == 0) return;
  if (to.is_cuda() && from.is_cuda()) return Add(Count::kOperators, "a copy within the device");
  const bool pageable = to.is_cuda() && !PinnedAllocator::Get().Has(from.const_data_ptr());
  if (pageable) Add(Count::kPageable, "a copy to the device");
  if (pageable || !non_blocking)
    Add(Count::kWaits, to.is_cuda() ? "a copy to the device" : "a copy to the host");
}

// Some operators hand others a result that is too small, of which libtorch warns wherever that is.
class Silent final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

void Compute(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  static Silent silent;
  const c10::WarningUtils::WarningHandlerGuard nothing_said(&silent);
  const at::AutoDispatchBelowADInplaceOrView below;
  CountCall(op, *stack);
  const InsideOperator inside;
  Call call;
  call.Lend(op, *stack);
  op.callBoxed(stack);
  call.GiveBack(op, *stack);
}

at::Tensor& Copy(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  const at::AutoDispatchBelowADInplaceOrView below;
  CountCopy(to, from, non_blocking);
  const InsideOperator inside;
  at::Tensor host = OnHost(to);
  host.copy_(OnHost(from));
  return to;
}

at::Tensor CopyFrom(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  at::Tensor target = to;
  Copy(target, from, non_blocking);
  return to;
}

at::Tensor CopyFromAndResize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) to.resize_(from.sizes());
  return CopyFrom(from, to, false);
}

at::Tensor Empty(at::IntArrayRef sizes, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, &Allocator::Get(), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   c10::dtype_or_default(type), format);
}

at::Tensor EmptyStrided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> type,
                        std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(sizes, strides, &Allocator::Get(),
                                           c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           c10::dtype_or_default(type));
}

const at::Tensor& Resize(const at::Tensor& self, at::IntArrayRef sizes, std::optional<at::MemoryFormat>) {
  at::TensorImpl* const tensor = self.unsafeGetTensorImpl();
  tensor->set_sizes_contiguous(sizes);
  const std::size_t bytes = tensor->dtype().itemsize() * (static_cast<std::size_t>(tensor->numel()) +
                                                          static_cast<std::size_t>(tensor->storage_offset()));
  at::StorageImpl* const storage = tensor->unsafe_storage().unsafeGetStorageImpl();
  if (bytes <= storage->nbytes()) return self;
  c10::DataPtr memory = Allocator::Get().allocate(bytes);
  if (storage->nbytes() > 0) Allocator::Get().copy_data(memory.get(), storage->data(), storage->nbytes());
  storage->set_data_ptr_noswap(std::move(memory));
  storage->set_nbytes(bytes);
  return self;
}

void AddAttention(torch::Library& library) {
  library.impl("scaled_dot_product_attention", &medley::fake_cuda::Attend);
  library.impl("_fused_sdp_choice", &medley::fake_cuda::Choose);
  library.impl("_scaled_dot_product_flash_attention", &medley::fake_cuda::Flash);
  library.impl("_efficient_attention_forward", &medley::fake_cuda::Efficient);
}

// Products of half types in float, which the host does not have.
at::Tensor WideProduct(const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
  Add(Count::kOperators, "aten::mm");
  const InsideOperator inside;
  return OnHost(a).to(type).mm(OnHost(b).to(type)).to(kDevice);
}
at::Tensor& AddWideProduct(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
                           at::ScalarType type, const at::Scalar& beta, const at::Scalar& alpha,
                           at::Tensor& out) {
  Add(Count::kOperators, "aten::addmm");
  const InsideOperator inside;
  TORCH_CHECK(self.is_same(out) && out.scalar_type() == type, "the fake GPU adds to the sum itself only");
  OnHost(out).addmm_(OnHost(a).to(type), OnHost(b).to(type), beta, alpha);
  return out;
}

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&Compute>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", &Empty);
  library.impl("empty_strided", &EmptyStrided);
  library.impl("copy_", &Copy);
  library.impl("_copy_from", &CopyFrom);
  library.impl("_copy_from_and_resize", &CopyFromAndResize);
  library.impl("resize_", &Resize);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", &at::native::view);
  library.impl("view.dtype", &at::native::view_dtype);
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("unfold", &at::native::unfold);
  library.impl("set_.source_Storage_storage_offset", &at::native::set_storage_cpu_);
  library.impl("mm.dtype", &WideProduct);
  library.impl("addmm.dtype_out", &AddWideProduct);
  // Which of its kernels libtorch would take is asked of CUDA itself.
  AddAttention(library);
}

TORCH_LIBRARY_IMPL(aten, AutogradCUDA, library) { AddAttention(library); }

// What is one operator on a GPU and made of others elsewhere: those that native_functions.yaml gives kernels
// of CUDA's beside CompositeExplicitAutograd.
TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  for (const c10::OperatorName& op : c10::Dispatcher::singleton().getAllOpNames()) {
    if (op.name == "aten::native_layer_norm" || op.name == "aten::native_group_norm" ||
        op.name.starts_with("aten::_foreach_"))
      library.impl(toString(op).c_str(), torch::CppFunction::makeFromBoxedFunction<&Compute>());
  }
}

const bool registered = [] {
  c10::SetAllocator(at::kCUDA, &Allocator::Get());
  c10::CachingAllocator::AcceleratorAllocatorConfig::registerDeviceConfigParserHook(
      [](const std::string& settings) {
        const std::string key = "per_process_memory_fraction:";
        const auto at = settings.find(key);
        if (at != std::string::npos) Allocator::Get().Limit(std::stod(settings.substr(at + key.size())));
      },
      {"per_process_memory_fraction"});
  return true;
}();

}  // namespace

at::Tensor medley::fake_cuda::OnHost(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda()) return tensor;
  return at::for_blob(tensor.data_ptr(), tensor.sizes())
      .strides(tensor.strides())
      .options(at::TensorOptions(tensor.dtype()))
      .resizeable_storage()
      .allocator(c10::GetAllocator(at::kCPU))
      .make_tensor();
}

namespace at {
REGISTER_CUDA_HOOKS(CUDAHooks);
}
C10_REGISTER_GUARD_IMPL(CUDA, Guard)
